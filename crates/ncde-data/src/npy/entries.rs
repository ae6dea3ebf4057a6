//! The entries of an array: from bytes to numbers and text, a block at a time.

use std::io::Read;

use super::{Array, Data, Error, Header};

/// Numbers are converted in blocks of so many.
const BLOCK: usize = 1 << 14;

/// Reads the entries; `there` is how many bytes are left where that is certain.
pub(super) fn read(file: &str, reader: impl Read, header: Header, there: Option<u64>) -> Result<Array, Error> {
    let is_c = !header.fortran_order || header.shape.len() < 2;
    let data = entries(Entries { file, reader, shape: &header.shape, there }, &header.dtype)?;
    let data = match data {
        data if is_c => data,
        Data::F32(entries) => Data::F32(rearranged(&header.shape, &entries)),
        Data::F64(entries) => Data::F64(rearranged(&header.shape, &entries)),
        Data::Int(entries) => Data::Int(rearranged(&header.shape, &entries)),
        Data::Text(entries) => Data::Text(rearranged(&header.shape, &entries)),
    };
    Ok(Array { shape: header.shape, data })
}

fn entries(entries: Entries<'_, impl Read>, dtype: &str) -> Result<Data, Error> {
    let (sign, kind) = match dtype.split_at_checked(1) {
        Some((sign @ ("<" | ">" | "=" | "|"), kind)) => (sign, kind),
        _ => ("=", dtype),
    };
    let is_big = sign == ">" || (sign == "=" && cfg!(target_endian = "big"));
    macro_rules! decode {
        ($from:ty => $to:expr) => {
            if is_big {
                entries.decode(|bytes| $to(<$from>::from_be_bytes(bytes)))
            } else {
                entries.decode(|bytes| $to(<$from>::from_le_bytes(bytes)))
            }
        };
    }
    match kind {
        "f4" => decode!(f32 => std::convert::identity).map(Data::F32),
        "f8" => decode!(f64 => std::convert::identity).map(Data::F64),
        "b1" | "?" => decode!(u8 => |x| i64::from(x != 0)).map(Data::Int),
        "i1" => decode!(i8 => i64::from).map(Data::Int),
        "i2" => decode!(i16 => i64::from).map(Data::Int),
        "i4" => decode!(i32 => i64::from).map(Data::Int),
        "i8" => decode!(i64 => std::convert::identity).map(Data::Int),
        "u1" => decode!(u8 => i64::from).map(Data::Int),
        "u2" => decode!(u16 => i64::from).map(Data::Int),
        "u4" => decode!(u32 => i64::from).map(Data::Int),
        // Half of them do not fit into an i64.
        "u8" => decode!(u64 => |x| x as f64).map(Data::F64),
        kind if kind.starts_with('O') => Err(Error::Objects { file: entries.file.into(), seen: dtype.into() }),
        kind => {
            let unit = match kind.split_at_checked(1) {
                Some(("U", _)) => Some(Unit::Utf32 { is_big }),
                Some(("S" | "a", _)) => Some(Unit::Byte),
                _ => None,
            };
            let length = kind.get(1..).and_then(|length| length.parse::<u32>().ok()).filter(|&length| length > 0);
            match (unit, length) {
                (Some(unit), Some(length)) => entries.text(unit, u64::from(length)).map(Data::Text),
                _ => Err(Error::Dtype { file: entries.file.into(), seen: dtype.into() }),
            }
        }
    }
}

/// What text is made of.
#[derive(Clone, Copy)]
enum Unit {
    Byte,
    Utf32 { is_big: bool },
}

/// The entries of a file, still to be read.
struct Entries<'a, R> {
    file: &'a str,
    reader: R,
    shape: &'a [usize],
    there: Option<u64>,
}

impl<R: Read> Entries<'_, R> {
    /// How many entries there should be. If it is known how much is left, too little of it is found out here.
    fn count(&self, size: u64) -> Result<u64, Error> {
        // More than 2^64 are never there: saturating keeps it an error.
        let count = match self.shape.contains(&0) {
            true => 0,
            false => self.shape.iter().fold(1_u64, |product, &size| product.saturating_mul(size as u64)),
        };
        match self.there {
            Some(there) if count.saturating_mul(size) > there => Err(self.truncated(count, size, there)),
            _ => Ok(count),
        }
    }

    fn truncated(&self, count: u64, size: u64, seen: u64) -> Error {
        Error::Truncated { file: self.file.into(), wanted: count.saturating_mul(size), seen }
    }

    /// Reads so many bytes, or as many as there are.
    fn fill(&mut self, bytes: &mut Vec<u8>, size: u64) -> Result<(), Error> {
        bytes.clear();
        let read = (&mut self.reader).take(size).read_to_end(bytes);
        read.map(drop).map_err(|source| Error::Read { file: self.file.into(), source })
    }

    fn decode<const N: usize, T>(mut self, convert: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
        let size = N as u64;
        let count = self.count(size)?;
        let memory = |count: usize| Error::Memory { file: self.file.into(), bytes: count as u64 * size_of::<T>() as u64 };
        let mut values = Vec::new();
        // Memory is asked for at once only if the bytes are there.
        if let (Some(_), Ok(count)) = (self.there, usize::try_from(count)) {
            values.try_reserve_exact(count).map_err(|_| memory(count))?;
        }
        let mut bytes = Vec::new();
        while (values.len() as u64) < count {
            let left = usize::try_from(count - values.len() as u64).unwrap_or(BLOCK);
            let wanted = BLOCK.min(left) * N;
            self.fill(&mut bytes, wanted as u64)?;
            if bytes.len() < wanted {
                return Err(self.truncated(count, size, values.len() as u64 * size + bytes.len() as u64));
            }
            let blocks = bytes.as_chunks::<N>().0;
            values.try_reserve(blocks.len()).map_err(|_| memory(values.len()))?;
            values.extend(blocks.iter().map(|&bytes| convert(bytes)));
        }
        Ok(values)
    }

    fn text(mut self, unit: Unit, length: u64) -> Result<Vec<String>, Error> {
        let size = match unit {
            Unit::Byte => length,
            Unit::Utf32 { .. } => 4 * length,
        };
        let count = self.count(size)?;
        let mut entries = Vec::new();
        let mut bytes = Vec::new();
        while (entries.len() as u64) < count {
            self.fill(&mut bytes, size)?;
            if (bytes.len() as u64) < size {
                return Err(self.truncated(count, size, entries.len() as u64 * size + bytes.len() as u64));
            }
            let text = match unit {
                Unit::Byte => String::from_utf8(bytes.clone()).ok(),
                Unit::Utf32 { is_big } => utf32(&bytes, is_big),
            };
            let text = text.ok_or_else(|| Error::Text { file: self.file.into(), entry: entries.len() })?;
            entries.push(text.trim_end_matches('\0').to_string());
        }
        Ok(entries)
    }
}

fn utf32(bytes: &[u8], is_big: bool) -> Option<String> {
    let code = |bytes: &[u8; 4]| if is_big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
    bytes.as_chunks::<4>().0.iter().map(|bytes| char::from_u32(code(bytes))).collect()
}

/// From Fortran order, first index fastest, to C order, last index fastest.
fn rearranged<T: Clone>(shape: &[usize], entries: &[T]) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let place = |mut i: usize| {
        let mut from = 0;
        for axis in (0..shape.len()).rev() {
            from += i % shape[axis] * strides[axis];
            i /= shape[axis];
        }
        from
    };
    (0..entries.len()).map(|i| entries[place(i)].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_rearranged() {
        // numpy.arange(6).reshape(2, 3) in Fortran order.
        assert_eq!(rearranged(&[2, 3], &[0, 3, 1, 4, 2, 5]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_header_cannot_ask_for_the_world() {
        for dtype in ["<f8", "<U1000000000"] {
            for there in [Some(8), None] {
                let header = Header { dtype: dtype.into(), fortran_order: false, shape: vec![usize::MAX, usize::MAX] };
                let error = read("test", [0; 8].as_slice(), header, there).unwrap_err();
                assert!(matches!(error, Error::Truncated { .. }), "{error}");
            }
        }
    }

    #[test]
    fn types_and_endianness() {
        let read = |dtype: &str, bytes: &[u8]| {
            let header = Header { dtype: dtype.into(), fortran_order: false, shape: vec![1] };
            read("test", bytes, header, Some(bytes.len() as u64)).map(|array| array.data)
        };
        assert_eq!(read(">i2", &[1, 2]).unwrap(), Data::Int(vec![258]));
        assert_eq!(read("<i2", &[1, 2]).unwrap(), Data::Int(vec![513]));
        assert_eq!(read("|b1", &[1]).unwrap(), Data::Int(vec![1]));
        assert_eq!(read(">f4", &[0x3f, 0x80, 0, 0]).unwrap(), Data::F32(vec![1.0]));
        assert_eq!(read("<u8", &[0xff; 8]).unwrap(), Data::F64(vec![18_446_744_073_709_551_615.0]));
        assert_eq!(read("<U2", &[b'a', 0, 0, 0, 0, 0, 0, 0]).unwrap(), Data::Text(vec!["a".into()]));
        assert_eq!(read("|S2", b"ab").unwrap(), Data::Text(vec!["ab".into()]));
        assert!(matches!(read("|O", &[0; 8]), Err(Error::Objects { .. })));
        for dtype in ["<c16", "<M8[ns]", "<U0", "<U", "[('a', '<f8')]", ""] {
            assert!(matches!(read(dtype, &[0; 16]), Err(Error::Dtype { .. })), "{dtype}");
        }
    }
}
