//! The pages of a Parquet file, before anything is unpacked: none may claim more bytes than its packing can make of those it
//! has.
//!
//! A header is a structure of Thrift's compact protocol: fields of an id and a type, the number of bytes packed and unpacked
//! among them.

use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::packing;
use crate::error::shown;

/// Types of the protocol that a header is made of.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// Structures in structures: a header has three levels.
const DEEPEST: usize = 8;

/// Refuses a file of which a page claims what cannot be there.
pub(super) fn check(bytes: &[u8], file: &ParquetMetaData) -> Result<(), String> {
    for chunk in file.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let Some(most) = most_of_a_byte(chunk.compression()) else {
            continue;
        };
        let (start, length) = chunk.byte_range();
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len() - start);
        let (mut rest, mut values) = (&bytes[start..start + length], 0_i64);
        while !rest.is_empty() {
            let place = || {
                let column = shown(chunk.column_path().string());
                format!("column `{column}`, byte {}", start + length - rest.len())
            };
            let mut fields = Fields { rest };
            let Some(page) = fields.page() else {
                // Behind its values a column may have anything.
                if values >= chunk.num_values() {
                    break;
                }
                return Err(format!("{}: this is no header of a page", place()));
            };
            let claimed = usize::try_from(page.unpacked).unwrap_or(usize::MAX);
            let packed = usize::try_from(page.packed).ok().filter(|packed| *packed <= fields.rest.len());
            let Some(packed) = packed else {
                return Err(format!("{}: a page claims {} bytes, but {} are left", place(), page.packed, fields.rest.len()));
            };
            if claimed > packed.saturating_mul(most) {
                let (place, name, unpacked) = (place(), chunk.compression(), page.unpacked);
                let seen = format!("{place}: a page of {packed} bytes claims to hold {unpacked}");
                return Err(format!("{seen}, but {name} makes at most {most} of each"));
            }
            values = values.saturating_add(i64::from(page.values));
            rest = &fields.rest[packed..];
        }
    }
    Ok(())
}

/// What a packing makes of a byte, at most; of what is not packed, or not read, no claim is believed.
fn most_of_a_byte(of: Compression) -> Option<usize> {
    match of {
        Compression::SNAPPY => Some(packing::SNAPPY),
        Compression::LZ4 | Compression::LZ4_RAW => Some(packing::LZ4),
        Compression::GZIP(_) => Some(packing::GZIP),
        Compression::ZSTD(_) => Some(packing::ZSTD),
        _ => None,
    }
}

/// What a header says.
struct Page {
    packed: i32,
    unpacked: i32,
    /// None of a dictionary.
    values: i32,
}

/// Bytes from which fields are taken. `None`: there are none such.
struct Fields<'a> {
    rest: &'a [u8],
}

impl Fields<'_> {
    /// One header: its sizes, and the number of values of a page of data.
    fn page(&mut self) -> Option<Page> {
        let (mut packed, mut unpacked, mut values) = (None, None, 0);
        let mut last = 0;
        while let Some((id, kind)) = self.field(&mut last)? {
            match id {
                1 | 4 if kind == I32 => drop(self.number()?),
                2 if kind == I32 => unpacked = Some(self.number()?),
                3 if kind == I32 => packed = Some(self.number()?),
                5 | 8 if kind == STRUCT => values = self.first_number()?,
                6 | 7 if kind == STRUCT => self.skip(kind, DEEPEST)?,
                1..=8 => return None,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        Some(Page { packed: packed?, unpacked: unpacked?, values })
    }

    /// The field 1 of a structure.
    fn first_number(&mut self) -> Option<i32> {
        let (mut number, mut last) = (None, 0);
        while let Some((id, kind)) = self.field(&mut last)? {
            match id {
                1 if kind == I32 => number = Some(self.number()?),
                1 => return None,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        number
    }

    /// The id and the type of the next field, if the structure has another.
    #[expect(clippy::option_option, reason = "the end of a structure is not the end of the bytes")]
    fn field(&mut self, last: &mut i16) -> Option<Option<(i16, u8)>> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 15);
        if kind == 0 {
            return (step == 0).then_some(None);
        }
        *last = match step {
            0 => i16::try_from(self.number()?).ok()?,
            _ => last.checked_add(i16::from(step))?,
        };
        Some(Some((*last, kind)))
    }

    fn skip(&mut self, kind: u8, deepest: usize) -> Option<()> {
        let deeper = deepest.checked_sub(1)?;
        match kind {
            TRUE | FALSE => {}
            I8 => drop(self.byte()?),
            I16 | I32 | I64 => drop(self.varint()?),
            DOUBLE => self.take(8)?,
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length)?;
            }
            LIST | SET => {
                let byte = self.byte()?;
                let length = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                for _ in 0..length {
                    match byte & 15 {
                        TRUE | FALSE => drop(self.byte()?),
                        kind => self.skip(kind, deeper)?,
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, deeper)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// A number that may be negative: 0, -1, 1, -2 and so on.
    fn number(&mut self) -> Option<i32> {
        let bits = u32::try_from(self.varint()?).ok()?;
        Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn take(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }
}
