//! The `.ts` format of sktime and aeon: a header of `@` lines, then a line for each case.
//!
//! ```text
//! @problemName demo
//! @timeStamps false
//! @dimensions 2
//! @classLabel true up down
//! @data
//! 1.0,2.0,?:3.0,4.0,5.0:up
//! ```
//!
//! Dimensions are separated by `:`, values by `,`, and `?` is missing. With time stamps a dimension is `(t,v),(t,v)`, and its
//! times are its own. Lines are parsed in parallel, a block of whole lines at a time.

mod header;
mod stamped;

use header::Header;

use super::rows::{LabelKind, NUMBER, Parsed, Row, Rows};
use super::{Loaded, ReadOptions, refuse};
use crate::Error;
use crate::error::at_line;
use crate::text::lines::{Line, Lines, Source};

pub(super) fn read(source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    refuse(&source, "a .ts file", options)?;
    let mut lines = Lines::new(source)?;
    let header = header::read(&mut lines)?;
    let file = lines.file().to_string();
    let mut rows = Rows::new(&file, header.labels.clone(), header.dimensions);
    rows.take(&mut lines, |line| header.parse(&file, line))?;
    rows.finish(header.name.unwrap_or_else(|| name.into()), options)
}

impl Header {
    /// The case on a line; blank lines and comments hold none.
    fn parse(&self, file: &str, line: Line<'_>) -> Result<Option<Parsed>, Error> {
        let text = line.text.trim_ascii();
        if text.is_empty() || text[0] == b'#' {
            return Ok(None);
        }
        let fix = match self.labels {
            LabelKind::None => "write a number, or `?` where it is missing; a label needs `@classLabel true ...` in the header",
            _ => NUMBER,
        };
        let row = Row { file, line: line.number, fix };
        let (series, label) = match self.labels {
            LabelKind::None => (text, Vec::new()),
            _ => match text.iter().rposition(|&byte| byte == b':').filter(|&at| !text[at..].contains(&b')')) {
                Some(at) => (&text[..at], text[at + 1..].trim_ascii().to_vec()),
                None => {
                    let seen = "there is no `:` with a label after the series";
                    let fix = "end the line with `:label`, or say `@classLabel false`";
                    return Err(Error::header(at_line(file, line.number), seen, fix));
                }
            },
        };
        let parsed = if self.has_stamps {
            stamped::parse(&row, series, label)
        } else {
            row.plain(series.split(|&byte| byte == b':'), label)
        };
        parsed.map(Some)
    }
}
