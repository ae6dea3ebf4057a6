//! The header: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.

use std::io::Read;

use super::{Error, MAGIC};
use crate::error::shown;

/// A header longer than this is none.
const LONGEST: usize = 1 << 16;

/// What an array is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of its entries, as numpy writes it.
    pub dtype: String,
    /// Whether the first index runs fastest, and not the last.
    pub fortran_order: bool,
    /// Its sizes.
    pub shape: Vec<usize>,
}

/// The header, and how many bytes it takes.
pub(super) fn read(file: &str, reader: &mut impl Read) -> Result<(Header, u64), Error> {
    let broken = |seen: String| Error::Header { file: file.into(), seen };
    let short = |_| broken("the file ends inside it".into());
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(short)?;
    if !start.starts_with(MAGIC) {
        return Err(broken("it does not start with the npy magic".into()));
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
        version => return Err(broken(format!("version {version} is not known; versions 1 to 3 are"))),
    };
    if length > LONGEST {
        return Err(broken(format!("it claims to be {length} bytes long")));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(short)?;
    let header = parse(&String::from_utf8_lossy(&text)).map_err(broken)?;
    Ok((header, before + length as u64))
}

fn parse(text: &str) -> Result<Header, String> {
    let descr = value(text, "descr")?;
    let dtype = match descr.chars().next() {
        Some(quote @ ('\'' | '"')) => descr[1..].split(quote).next().unwrap_or("").to_string(),
        _ => shown(descr.split('}').next().unwrap_or("").trim_end_matches([' ', ',']).as_bytes()),
    };
    let order = value(text, "fortran_order")?;
    let fortran_order = order.starts_with("True");
    if !fortran_order && !order.starts_with("False") {
        return Err("`fortran_order` is neither True nor False".into());
    }
    let shape = value(text, "shape")?;
    let inside = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or("`shape` is not a tuple")?;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    let size = |text: &str| {
        let digits = text.trim_end_matches('L');
        digits.parse().map_err(|_| format!("`shape` holds `{}`, which is not a size", shown(text)))
    };
    Ok(Header { dtype, fortran_order, shape: sizes.map(size).collect::<Result<_, _>>()? })
}

/// What follows `'key':`.
fn value<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    ['\'', '"']
        .iter()
        .find_map(|quote| text.split_once(&format!("{quote}{key}{quote}:")))
        .map(|(_, value)| value.trim_start())
        .ok_or_else(|| format!("`{key}` is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let header = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!(header, Header { dtype: "<f8".into(), fortran_order: false, shape: vec![3, 4] });
        let header = parse("{'descr': '>i4', 'fortran_order': True, 'shape': (5L,), }").unwrap();
        assert_eq!(header, Header { dtype: ">i4".into(), fortran_order: true, shape: vec![5] });
        let record = parse("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (), }").unwrap();
        assert!(record.dtype.starts_with("[('a'") || record.dtype.starts_with("[(\\'a"), "{record:?}");
        assert!(parse("{'descr': '<f8', 'shape': (3, 4), }").is_err());
        assert!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4), }").is_err());
    }
}
