//! The npy format: a magic, a version, a Python dictionary that names dtype, order and shape, then the numbers.
//!
//! Floats of either size and either endianness are read as they are, integers as `f64`, Fortran order is rearranged.

use std::io::{self, Read, Write};

use super::{Array, Data, Input, Origin, ReadError};
use crate::memory;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// A header longer than this is none.
const LONGEST_HEADER: usize = 1 << 16;

/// Numbers are converted in blocks of so many.
const BLOCK: usize = 1 << 16;

#[derive(Debug, PartialEq)]
struct Header {
    dtype: String,
    order: Order,
    shape: Vec<usize>,
}

#[derive(Debug, PartialEq)]
enum Order {
    C,
    Fortran,
}

/// Reads an npy file of which `bytes` bytes are there.
pub(super) fn read(file: &str, mut reader: impl Read, bytes: u64) -> Result<Input, ReadError> {
    let (text, start) = header_text(file, &mut reader)?;
    let header = parse(&text).map_err(|message| ReadError::Header { file: file.into(), message })?;
    let there = bytes.saturating_sub(start);
    let data = numbers(file, &mut reader, &header, there)?;
    let is_float = header.dtype.contains('f');
    let note = (!is_float).then(|| format!("`{file}` holds integers (`{}`); computing in f64", header.dtype));
    let data = match (header.order, data) {
        (Order::C, data) => data,
        (Order::Fortran, Data::F32(values)) => Data::F32(rearrange(&header.shape, &values)),
        (Order::Fortran, Data::F64(values)) => Data::F64(rearrange(&header.shape, &values)),
    };
    Ok(Input { name: file.into(), array: Array { shape: header.shape, data }, origin: Origin::Entries, note })
}

/// The dictionary, and where the numbers start.
fn header_text(file: &str, reader: &mut impl Read) -> Result<(String, u64), ReadError> {
    let broken = |message: &str| ReadError::Header { file: file.into(), message: message.into() };
    let short = |_| broken("the file ends inside it");
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(short)?;
    if !start.starts_with(MAGIC) {
        return Err(broken("it does not start with the npy magic"));
    }
    let (length, before) = match start[6] {
        1 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length).map_err(short)?;
            (usize::from(u16::from_le_bytes(length)), 10)
        }
        2 | 3 => {
            let mut length = [0; 4];
            reader.read_exact(&mut length).map_err(short)?;
            (u32::from_le_bytes(length) as usize, 12)
        }
        version => {
            return Err(broken(&format!("version {version} is not known; versions 1 to 3 are")));
        }
    };
    if length > LONGEST_HEADER {
        return Err(broken(&format!("it claims to be {length} bytes long")));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(short)?;
    Ok((String::from_utf8_lossy(&text).into_owned(), before + length as u64))
}

/// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str) -> Result<Header, String> {
    let descr = value(text, "descr")?;
    let dtype = match descr.chars().next() {
        Some(quote @ ('\'' | '"')) => descr[1..].split(quote).next().unwrap_or("").to_string(),
        _ => descr.split('}').next().unwrap_or("").trim_end_matches([' ', ',']).to_string(),
    };
    let order = value(text, "fortran_order")?;
    let order = if order.starts_with("False") {
        Order::C
    } else if order.starts_with("True") {
        Order::Fortran
    } else {
        return Err("`fortran_order` is neither True nor False".into());
    };
    let shape = value(text, "shape")?;
    let inside = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or("`shape` is not a tuple")?;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    let size = |text: &str| text.parse().map_err(|_| format!("`shape` holds `{text}`, which is not a size"));
    Ok(Header { dtype, order, shape: sizes.map(size).collect::<Result<_, _>>()? })
}

/// What follows `'key':`.
fn value<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    ['\'', '"']
        .iter()
        .find_map(|quote| text.split_once(&format!("{quote}{key}{quote}:")))
        .map(|(_, value)| value.trim_start())
        .ok_or_else(|| format!("`{key}` is missing"))
}

fn numbers(file: &str, reader: &mut impl Read, header: &Header, there: u64) -> Result<Data, ReadError> {
    let (sign, kind) = match header.dtype.split_at_checked(1) {
        Some((sign @ ("<" | ">" | "=" | "|"), kind)) => (sign, kind),
        _ => ("=", header.dtype.as_str()),
    };
    let is_big = sign == ">" || (sign == "=" && cfg!(target_endian = "big"));
    let block = Block { file, reader, shape: &header.shape, there };
    macro_rules! decode {
        ($from:ty => $to:ty) => {
            if is_big {
                block.decode(|bytes| <$from>::from_be_bytes(bytes) as $to).map(Data::from)
            } else {
                block.decode(|bytes| <$from>::from_le_bytes(bytes) as $to).map(Data::from)
            }
        };
    }
    match kind {
        "f4" => decode!(f32 => f32),
        "f8" => decode!(f64 => f64),
        "i1" => decode!(i8 => f64),
        "i2" => decode!(i16 => f64),
        "i4" => decode!(i32 => f64),
        "i8" => decode!(i64 => f64),
        "u1" => decode!(u8 => f64),
        "u2" => decode!(u16 => f64),
        "u4" => decode!(u32 => f64),
        "u8" => decode!(u64 => f64),
        _ => Err(ReadError::Dtype { file: file.into(), seen: header.dtype.clone() }),
    }
}

/// The numbers of a file, still to be read.
struct Block<'a, R> {
    file: &'a str,
    reader: R,
    shape: &'a [usize],
    there: u64,
}

impl<R: Read> Block<'_, R> {
    fn decode<const N: usize, T>(mut self, convert: impl Fn([u8; N]) -> T) -> Result<Vec<T>, ReadError> {
        let product = |product: u128, &size: &usize| product.saturating_mul(size as u128);
        let wanted = self.shape.iter().fold(N as u128, product);
        // Before any memory is asked for: a header can promise everything.
        let truncated = |seen| ReadError::Truncated { file: self.file.into(), wanted, seen };
        if wanted > u128::from(self.there) {
            return Err(truncated(self.there));
        }
        let memory = |shortage| ReadError::Memory { file: self.file.into(), shortage };
        if let Some(shortage) = memory::shortage(wanted) {
            return Err(memory(shortage));
        }
        let count = wanted as usize / N;
        let mut values = Vec::new();
        values.try_reserve_exact(count).map_err(|error| memory(error.to_string()))?;
        let mut bytes = vec![0; BLOCK.min(count) * N];
        while values.len() < count {
            let some = &mut bytes[..BLOCK.min(count - values.len()) * N];
            self.reader.read_exact(some).map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => truncated((values.len() * N) as u64),
                _ => ReadError::Io { file: self.file.into(), source },
            })?;
            values.extend(some.as_chunks::<N>().0.iter().map(|&bytes| convert(bytes)));
        }
        Ok(values)
    }
}

/// From Fortran order, first index fastest, to C order, last index fastest.
fn rearrange<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
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
    (0..values.len()).map(|i| values[place(i)]).collect()
}

/// Writes an array, little endian, in C order.
pub(super) fn write(array: &Array, out: &mut dyn Write) -> io::Result<()> {
    let descr = match array.data {
        Data::F32(_) => "<f4",
        Data::F64(_) => "<f8",
    };
    let sizes: String = array.shape.iter().map(|size| format!("{size},")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version, length, text and newline together fill a multiple of 64 bytes.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 11;
    let length = u16::try_from(padded + 1).map_err(|_| io::Error::other("the shape is too long for an npy header"))?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(format!("{text:padded$}\n").as_bytes())?;
    match &array.data {
        Data::F32(values) => encode(values, f32::to_le_bytes, out),
        Data::F64(values) => encode(values, f64::to_le_bytes, out),
    }
}

fn encode<const N: usize, T: Copy>(values: &[T], convert: impl Fn(T) -> [u8; N], out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK * N);
    for block in values.chunks(BLOCK) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|&x| convert(x)));
        out.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let header = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!(header, Header { dtype: "<f8".into(), order: Order::C, shape: vec![3, 4] });
        let header = parse("{'descr': '>i4', 'fortran_order': True, 'shape': (5,), }").unwrap();
        assert_eq!(header, Header { dtype: ">i4".into(), order: Order::Fortran, shape: vec![5] });
        let record = parse("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (), }").unwrap();
        assert!(record.dtype.starts_with("[('a'"), "{record:?}");
        assert!(parse("{'descr': '<f8', 'shape': (3, 4), }").is_err());
        assert!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4), }").is_err());
    }

    #[test]
    fn fortran_order_is_rearranged() {
        // numpy.arange(6).reshape(2, 3) in Fortran order.
        assert_eq!(rearrange(&[2, 3], &[0, 3, 1, 4, 2, 5]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_written_is_aligned_and_comes_back() {
        let array = Array { shape: vec![2, 1, 2], data: Data::F32(vec![1.0, -2.5, 3.0, 1e-30]) };
        let mut bytes = Vec::new();
        write(&array, &mut bytes).unwrap();
        assert_eq!(bytes.len() % 64, 16);
        let back = read("test", bytes.as_slice(), bytes.len() as u64).unwrap().array;
        assert_eq!(back.shape, array.shape);
        assert!(matches!(back.data, Data::F32(values) if values == [1.0, -2.5, 3.0, 1e-30]));
    }

    #[test]
    fn a_header_cannot_ask_for_the_world() {
        let header = Header { dtype: "<f8".into(), order: Order::C, shape: vec![usize::MAX, usize::MAX] };
        let error = numbers("test", &mut [0; 8].as_slice(), &header, 8).unwrap_err();
        assert!(matches!(error, ReadError::Truncated { seen: 8, .. }), "{error}");
    }
}
