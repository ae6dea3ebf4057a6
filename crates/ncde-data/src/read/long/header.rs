//! The header of a csv file, and the cells below it.
//!
//! The separator is the one that cuts the header and the rows below it into as many cells. What may stand above the header,
//! and between it and the rows, is in `top`.

use std::borrow::Cow;

use super::super::Input;
use super::form::Form;
use super::names;
use super::top::{self, Top};
use crate::Error;
use crate::error::{Location, at_field, at_line, shown};
use crate::schema::Warning;
use crate::text::cells::{cells, is_open};
use crate::text::lines::{Lines, utf8};

/// What to try if quotes are wrong.
const QUOTES: &str = "write a quote inside quotes as `\"\"`, and close every quote";

/// What the first line should be.
pub(super) const WANTED: &str = "wanted a header that names the columns, such as `id,time,x,label`";

/// What may stand between two cells; of two that do as well, the first.
pub(super) const SEPARATORS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// The first line that counts.
#[derive(Debug, Clone)]
pub(in super::super) struct Header {
    pub(in super::super) separator: u8,
    pub(in super::super) names: Vec<String>,
    /// The line above the first row, counted from 1.
    pub(in super::super) line: u64,
    /// How its rows become observations; the names are those of observations.
    pub(super) form: Form,
    /// The columns of dates and of their times of day.
    pub(super) clock: Option<[usize; 2]>,
    /// How many cells a line has.
    width: usize,
    /// What was taken for something else than a header or a row.
    pub(super) warnings: Vec<Warning>,
}

impl Header {
    /// Reads the header of a file.
    pub(in super::super) fn of(input: &Input<'_>) -> Result<Self, Error> {
        if let Some(names) = input.names() {
            return Self::of_names(input.file(), 1, names.to_vec(), b',');
        }
        let mut lines = Lines::new(input.open()?)?;
        let file = lines.file().to_string();
        top::header(&file, &Top::read(&mut lines)?)
    }

    pub(in super::super) fn from_line(file: &str, line: u64, text: &[u8], separator: u8) -> Result<Self, Error> {
        let at = || at_line(file, line);
        let found = cells(text, separator).map_err(|seen| Error::Quotes { at: at(), seen, fix: QUOTES })?;
        let mut names: Vec<String> = Vec::with_capacity(found.len());
        for cell in &found {
            names.push(utf8(cell, at)?.trim().to_string());
        }
        Self::of_names(file, line, names, separator)
    }

    pub(super) fn of_names(file: &str, line: u64, names: Vec<String>, separator: u8) -> Result<Self, Error> {
        check(&names, || at_line(file, line))?;
        let width = names.len();
        Ok(Self { separator, names, line, form: Form::Long, clock: None, width, warnings: vec![] })
    }

    /// The separator of a header of which nothing else is known yet.
    pub(in super::super) fn separator_of(text: &[u8]) -> u8 {
        separator(text, &[])
    }

    /// Calls `each` with the line and the cells of every row. How many there were.
    pub(in super::super) fn rows(
        &self,
        input: &Input<'_>,
        mut each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let (mut rows, mut observations) = (0, 0);
        let mut counted = |line: u64, cells: &[Cow<'_, [u8]>]| {
            observations += 1;
            each(line, cells)
        };
        let mut row = |line: u64, cells: Vec<Cow<'_, [u8]>>| {
            rows += 1;
            self.observations(line, cells, rows, &mut counted)
        };
        match (&self.form, input.names()) {
            (Form::Melted(grid), _) => grid.each(|line, cells| row(line, cells.to_vec()))?,
            (_, Some(_)) => input.each(|line, cells| row(line, cells.to_vec()))?,
            (_, None) => self.lines(input, row)?,
        }
        let rows = observations;
        if rows == 0 {
            return Err(Error::Empty { file: input.file().into(), seen: "has a header but no rows", wanted: "rows below it" });
        }
        Ok(rows)
    }

    fn lines(&self, input: &Input<'_>, mut each: impl FnMut(u64, Vec<Cow<'_, [u8]>>) -> Result<(), Error>) -> Result<(), Error> {
        let mut lines = Lines::new(input.open()?)?;
        let file = lines.file().to_string();
        while let Some(line) = lines.record(|text| is_open(text, |byte| byte == self.separator))? {
            if line.number <= self.line || line.text.trim_ascii().is_empty() {
                continue;
            }
            each(line.number, self.cells(&file, line.number, line.text)?)?;
        }
        Ok(())
    }

    /// The cells of a row, one for each column.
    pub(in super::super) fn cells<'a>(&self, file: &str, line: u64, text: &'a [u8]) -> Result<Vec<Cow<'a, [u8]>>, Error> {
        let cells = cells(text, self.separator).map_err(|seen| Error::Quotes { at: at_line(file, line), seen, fix: QUOTES })?;
        if cells.len() == self.width {
            return Ok(cells);
        }
        Err(Error::Count {
            at: at_line(file, line),
            seen: cells.len(),
            unit: "cells",
            wanted: self.width,
            because: "one for each column of the header",
            fix: "leave a cell blank where nothing is known, and put text with commas in quotes",
        })
    }

    pub(in super::super) fn at(&self, file: &str, line: u64, column: usize) -> Location {
        at_field(file, line, format!("column `{}`", self.names[column]))
    }
}

/// The separator that gives the header the most cells, and the rows below it as many.
pub(super) fn separator(header: &[u8], below: &[&[u8]]) -> u8 {
    fitting(header, below).or_else(|| SEPARATORS.into_iter().find(|separator| header.contains(separator))).unwrap_or(b',')
}

/// The same, if there is one.
pub(super) fn fitting(header: &[u8], below: &[&[u8]]) -> Option<u8> {
    let fits = |separator: u8| {
        let columns = count(header, separator);
        columns > 1 && below.iter().all(|row| count(row, separator) == columns)
    };
    // Of equals the first: `max_by_key` would take the last.
    SEPARATORS.into_iter().rev().filter(|&separator| fits(separator)).max_by_key(|&separator| count(header, separator))
}

/// How many cells a line has.
pub(super) fn count(text: &[u8], separator: u8) -> usize {
    cells(text, separator).map_or(0, |cells| cells.len())
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
