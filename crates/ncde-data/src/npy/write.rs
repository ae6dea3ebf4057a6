//! Arrays as numpy writes them: little endian, in C order.

use std::io::{self, Write};

use super::{Array, Data, MAGIC};

/// Numbers are converted in blocks of so many.
const BLOCK: usize = 1 << 14;

/// Writes an array.
///
/// # Errors
///
/// If writing fails.
pub fn write(array: &Array, out: &mut impl Write) -> io::Result<()> {
    let longest = match &array.data {
        Data::Text(entries) => entries.iter().map(|entry| entry.chars().count()).max().unwrap_or(0).max(1),
        _ => 0,
    };
    let descr = match array.data {
        Data::F32(_) => "<f4".into(),
        Data::F64(_) => "<f8".into(),
        Data::Int(_) => "<i8".into(),
        Data::Text(_) => format!("<U{longest}"),
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
        Data::F32(entries) => encode(entries, f32::to_le_bytes, out),
        Data::F64(entries) => encode(entries, f64::to_le_bytes, out),
        Data::Int(entries) => encode(entries, i64::to_le_bytes, out),
        Data::Text(entries) => entries.iter().try_for_each(|entry| {
            let codes = entry.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            out.write_all(&codes.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
        }),
    }
}

fn encode<const N: usize, T: Copy>(entries: &[T], convert: impl Fn(T) -> [u8; N], out: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK.min(entries.len()) * N);
    for block in entries.chunks(BLOCK) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|&x| convert(x)));
        out.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn what_is_written_is_aligned_and_comes_back() {
        for (size, data) in [
            (4, Data::F32(vec![1.0, -2.5, 3.0, 1e-30])),
            (8, Data::F64(vec![1.0, -2.5, 3.0, 1e-300])),
            (8, Data::Int(vec![1, -2, i64::MAX, i64::MIN])),
            (12, Data::Text(vec!["a".into(), String::new(), "\u{e9}\u{1f600}".into(), "abc".into()])),
        ] {
            let array = Array { shape: vec![2, 1, 2], data };
            let mut bytes = Vec::new();
            write(&array, &mut bytes).unwrap();
            assert_eq!((bytes.len() - 4 * size) % 64, 0, "the header fills whole lines of 64 bytes");
            assert_eq!(read("test", bytes.as_slice(), Some(bytes.len() as u64)).unwrap(), array);
        }
    }
}
