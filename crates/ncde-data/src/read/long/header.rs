//! The header of a csv file, and the cells below it.
//!
//! Comments before the header (`# ...`) and the line `sep=;` of spreadsheets are skipped. The separator is the one that cuts
//! the header and the rows below it into as many cells.

use std::borrow::Cow;

use super::super::Input;
use super::names;
use crate::Error;
use crate::error::{Location, at_field, at_line, shown};
use crate::text::cells::cells;
use crate::text::lines::{Lines, utf8};

/// What to try if quotes are wrong.
const QUOTES: &str = "write a quote inside quotes as `\"\"`, and keep a cell on one line";

/// What the first line should be.
const WANTED: &str = "wanted a header that names the columns, such as `id,time,x,label`";

/// What may stand between two cells; of two that do as well, the first.
const SEPARATORS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Rows that are looked at to find the separator.
const LOOKED_AT: usize = 20;

/// The first line that counts.
#[derive(Debug, Clone)]
pub(in super::super) struct Header {
    pub(in super::super) separator: u8,
    pub(in super::super) names: Vec<String>,
    /// Its line, counted from 1.
    pub(in super::super) line: u64,
}

impl Header {
    /// Reads the header of a file.
    pub(in super::super) fn of(input: &Input<'_>) -> Result<Self, Error> {
        if let Some(table) = input.table() {
            let header = Self { separator: b',', names: table.names().to_vec(), line: 1 };
            check(&header.names, || at_line(input.file(), 0))?;
            return Ok(header);
        }
        let mut lines = Lines::new(input.open()?)?;
        let file = lines.file().to_string();
        let mut stated = None;
        let mut first: Vec<(u64, Vec<u8>)> = Vec::new();
        while let Some(line) = lines.next()? {
            let text = line.text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if first.is_empty() && text.len() == 5 && text[..4].eq_ignore_ascii_case(b"sep=") {
                stated = Some(text[4]);
                continue;
            }
            first.push((line.number, line.text.to_vec()));
            let comments = first.iter().filter(|(_, text)| is_comment(text)).count();
            if first.len() - comments > LOOKED_AT {
                break;
            }
        }
        let comments = first.iter().take_while(|(_, text)| is_comment(text)).count();
        // The last comment is the header if it has the cells of the rows: `#time,x`.
        let count = |text: &[u8]| SEPARATORS.map(|separator| text.iter().filter(|&&byte| byte == separator).count());
        let is_header =
            |i: usize| first.get(i + 1).is_some_and(|(_, below)| count(below) == count(&first[i].1) && count(below) != [0; 4]);
        let start = if comments > 0 && is_header(comments - 1) { comments - 1 } else { comments };
        let Some((line, text)) = first.get(start) else {
            let wanted = "a header `id,time,...` and rows below it";
            return Err(Error::Empty { file, seen: "holds blank lines only", wanted });
        };
        let text = text.trim_ascii_start().strip_prefix(b"#").unwrap_or(text);
        let below: Vec<&[u8]> = first[start + 1..].iter().map(|(_, text)| text.as_slice()).collect();
        let separator = stated.unwrap_or_else(|| separator(text, &below));
        let header = Self::from_line(&file, *line, text, separator)?;
        if header.is_a_row(&below) {
            return Err(Error::header(at_line(&file, *line), "the first line holds values, as those below it do", WANTED));
        }
        Ok(header)
    }

    /// Whether it is a row like those below it: some of its cells are numbers, and a text is there again in its own column.
    fn is_a_row(&self, below: &[&[u8]]) -> bool {
        let rows: Vec<_> = below.iter().filter_map(|row| cells(row, self.separator).ok()).collect();
        let again = |column: usize, name: &str| {
            rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.trim_ascii() == name.as_bytes()))
        };
        let mut texts = self.names.iter().enumerate().filter(|(_, name)| !name.is_empty() && !names::is_number(name));
        self.names.iter().any(|name| names::is_number(name)) && texts.any(|(column, name)| again(column, name))
    }

    pub(in super::super) fn from_line(file: &str, line: u64, text: &[u8], separator: u8) -> Result<Self, Error> {
        let at = || at_line(file, line);
        let found = cells(text, separator).map_err(|seen| Error::Quotes { at: at(), seen, fix: QUOTES })?;
        let mut names: Vec<String> = Vec::with_capacity(found.len());
        for cell in &found {
            names.push(utf8(cell, at)?.trim().to_string());
        }
        check(&names, at)?;
        Ok(Self { separator, names, line })
    }

    /// The separator of a header of which nothing else is known yet.
    pub(in super::super) fn separator_of(text: &[u8]) -> u8 {
        separator(text, &[])
    }

    /// Calls `each` with the line and the cells of every row. How many there were.
    pub(in super::super) fn rows(
        &self,
        input: &Input<'_>,
        each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let rows = match input.table() {
            Some(table) => table.each(each)?,
            None => self.lines(input, each)?,
        };
        if rows == 0 {
            return Err(Error::Empty { file: input.file().into(), seen: "has a header but no rows", wanted: "rows below it" });
        }
        Ok(rows)
    }

    fn lines(&self, input: &Input<'_>, mut each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<u64, Error> {
        let mut lines = Lines::new(input.open()?)?;
        let file = lines.file().to_string();
        let mut rows = 0;
        while let Some(line) = lines.next()? {
            if line.number <= self.line || line.text.trim_ascii().is_empty() {
                continue;
            }
            let cells = self.cells(&file, line.number, line.text)?;
            each(line.number, &cells)?;
            rows += 1;
        }
        Ok(rows)
    }

    /// The cells of a row, one for each column.
    pub(in super::super) fn cells<'a>(&self, file: &str, line: u64, text: &'a [u8]) -> Result<Vec<Cow<'a, [u8]>>, Error> {
        let cells = cells(text, self.separator).map_err(|seen| Error::Quotes { at: at_line(file, line), seen, fix: QUOTES })?;
        if cells.len() == self.names.len() {
            return Ok(cells);
        }
        Err(Error::Count {
            at: at_line(file, line),
            seen: cells.len(),
            unit: "cells",
            wanted: self.names.len(),
            because: "one for each column of the header",
            fix: "leave a cell blank where nothing is known, and put text with commas in quotes",
        })
    }

    pub(in super::super) fn at(&self, file: &str, line: u64, column: usize) -> Location {
        at_field(file, line, format!("column `{}`", self.names[column]))
    }
}

fn is_comment(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"#")
}

/// The separator that gives the header the most cells, and the rows below it as many.
fn separator(header: &[u8], below: &[&[u8]]) -> u8 {
    let count = |text: &[u8], separator: u8| cells(text, separator).map_or(0, |cells| cells.len());
    let fits = |separator: u8| {
        let columns = count(header, separator);
        columns > 1 && below.iter().all(|row| count(row, separator) == columns)
    };
    // Of equals the first: `max_by_key` would take the last.
    let best =
        SEPARATORS.into_iter().rev().filter(|&separator| fits(separator)).max_by_key(|&separator| count(header, separator));
    best.or_else(|| SEPARATORS.into_iter().find(|separator| header.contains(separator))).unwrap_or(b',')
}

fn check(names: &[String], at: impl Fn() -> Location) -> Result<(), Error> {
    if names.iter().all(|name| names::is_number(name)) {
        return Err(Error::header(at(), "the first line holds numbers", WANTED));
    }
    for (i, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(before) = names[..i].iter().position(|other| other == name) {
            let seen = format!("columns {} and {} are both called `{}`", before + 1, i + 1, shown(name));
            return Err(Error::header(at(), seen, "names must differ"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> (char, Vec<String>, u64) {
        let header = Header::of(&Input::bytes("test", text.as_bytes())).unwrap();
        (char::from(header.separator), header.names, header.line)
    }

    #[test]
    fn rows_tell_the_separator() {
        assert_eq!(header("time;temp, C;x\n0;1,5;2\n"), (';', vec!["time".into(), "temp, C".into(), "x".into()], 1));
        assert_eq!(header("time,x\n0,1\n").0, ',');
        assert_eq!(header("time|x\n0|1\n").0, '|');
        assert_eq!(header("time\tx;y\n0\t1\n").0, '\t');
        assert_eq!(header("x\n1\n2\n"), (',', vec!["x".into()], 1));
        assert_eq!(header("a;b,c\n1,2\n").0, ',');
    }

    #[test]
    fn comments_and_the_line_of_spreadsheets_are_skipped() {
        assert_eq!(header("sep=;\na;b\n1;2\n"), (';', vec!["a".into(), "b".into()], 2));
        assert_eq!(header("# made by hand\n\n# twice\ntime,x\n0,1\n"), (',', vec!["time".into(), "x".into()], 4));
        assert_eq!(header("# made by hand\n#time,x\n0,1\n"), (',', vec!["time".into(), "x".into()], 2));
    }
}
