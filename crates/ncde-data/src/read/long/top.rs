//! What stands above the rows of a csv file: comments, a preamble, the header, names of a second level, units.
//!
//! Comments (`# ...`) and the line `sep=;` of spreadsheets are skipped. Lines above the header that have another number of cells,
//! or are mostly blank, are a preamble, if all lines below the header have its number. A row of words above columns of numbers is a second row of the
//! header: the names of a second level if names of the first repeat or are blank, else units, which are skipped.

use std::borrow::Cow;

use super::header::{Header, SEPARATORS, WANTED, count, fitting, separator};
use super::names;
use crate::Error;
use crate::error::{at_line, shown};
use crate::schema::Warning;
use crate::text::cells::{cells, is_open};
use crate::text::lines::Lines;
use crate::text::marks::{Evidence, Marks};
use crate::text::number;
use crate::text::time::TimeFormat;

/// Lines that are looked at.
const LOOKED_AT: usize = 60;

/// Rows below something that is no plain header, from which on it can be told.
const MIN_ROWS: usize = 2;

/// Numbers that rise from so many on may be names of columns.
const MIN_NUMBERED: usize = 8;

/// The first lines of a file.
pub(super) struct Top {
    /// What the line `sep=` says.
    separator: Option<u8>,
    /// The lines that are not blank, with their numbers.
    lines: Vec<(u64, Vec<u8>)>,
}

impl Top {
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, Error> {
        let mut top = Self { separator: None, lines: vec![] };
        let mut rows = 0;
        let is_going_on = |text: &[u8]| is_open(text, |byte| SEPARATORS.contains(&byte));
        while rows <= LOOKED_AT
            && let Some(line) = lines.record(is_going_on)?
        {
            let text = line.text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if top.lines.is_empty() && text.len() == 5 && text[..4].eq_ignore_ascii_case(b"sep=") {
                top.separator = Some(text[4]);
                continue;
            }
            rows += usize::from(!is_comment(text));
            top.lines.push((line.number, line.text.to_vec()));
        }
        Ok(top)
    }

    /// The lines below one.
    fn below(&self, line: usize) -> Vec<&[u8]> {
        self.lines.iter().skip(line + 1).map(|(_, text)| text.as_slice()).collect()
    }

    /// The cells of the lines below one.
    fn rows(&self, line: usize, separator: u8) -> Vec<Vec<Cow<'_, [u8]>>> {
        self.below(line).into_iter().filter_map(|row| cells(row, separator).ok()).collect()
    }

    /// The line of the header, and how many lines of a preamble stand above it.
    fn start(&self) -> (usize, usize) {
        let comments = self.lines.iter().take_while(|(_, text)| is_comment(text)).count();
        // The last comment is the header if it has the cells of the rows: `#time,x`.
        let marks = |text: &[u8]| SEPARATORS.map(|separator| text.iter().filter(|&&byte| byte == separator).count());
        let is_header = |i: usize| {
            let below = self.lines.get(i + 1).map(|(_, below)| marks(below));
            below.is_some_and(|below| below == marks(&self.lines[i].1) && below != [0; 4])
        };
        if comments > 0 && is_header(comments - 1) {
            return (comments - 1, 0);
        }
        let fits = |i: usize| match self.separator {
            Some(separator) => {
                let columns = count(&self.lines[i].1, separator);
                (columns > 1 && self.below(i).iter().all(|row| count(row, separator) == columns)).then_some(separator)
            }
            None => fitting(&self.lines[i].1, &self.below(i)),
        };
        let last = self.lines.len().saturating_sub(MIN_ROWS);
        let is_plain = |i: usize| fits(i).is_some_and(|separator| !is_padded(&self.lines[i].1, separator));
        if comments >= last || is_plain(comments) {
            return (comments, 0);
        }
        let is_below_preamble = |i: &usize| {
            fits(*i).is_some_and(|separator| {
                let columns = count(&self.lines[*i].1, separator);
                let is_other = |(_, text): &(u64, Vec<u8>)| count(text, separator) != columns || is_padded(text, separator);
                self.lines[comments..*i].iter().all(is_other)
                    && (are_names(&self.lines[*i].1, separator)
                        || are_levels(&self.lines[*i].1, &self.rows(*i, separator), separator))
            })
        };
        let start = (comments + 1..last).find(is_below_preamble).unwrap_or(comments);
        (start, start - comments)
    }
}

/// The header of a file that starts so.
pub(super) fn header(file: &str, top: &Top) -> Result<Header, Error> {
    let (start, preamble) = top.start();
    let Some((line, text)) = top.lines.get(start) else {
        let wanted = "a header `id,time,...` and rows below it";
        return Err(Error::Empty { file: file.into(), seen: "holds blank lines only", wanted });
    };
    let text = text.trim_ascii_start().strip_prefix(b"#").unwrap_or(text);
    let below = top.below(start);
    let separator = top.separator.unwrap_or_else(|| separator(text, &below));
    let rows = top.rows(start, separator);
    let mut header = match (is_second_row(&rows), cells(text, separator)) {
        (true, Ok(first)) => {
            let first: Vec<Cow<'_, str>> = first.iter().map(|cell| String::from_utf8_lossy(cell)).collect();
            let second: Vec<Cow<'_, str>> = rows[0].iter().map(|cell| String::from_utf8_lossy(cell)).collect();
            let mut header = if has_levels(&first) {
                Header::of_names(file, *line, joined(&first, &second), separator)?
            } else {
                Header::from_line(file, *line, text, separator)?
            };
            header.line = top.lines[start + 1].0;
            let example = shown(second.iter().find(|cell| !cell.trim().is_empty()).map_or("", |cell| cell.trim()));
            let what = if has_levels(&first) { "the second part of names" } else { "units, and is skipped" };
            let seen = format!("line {} (`{example}`) stands above columns of numbers: it is taken for {what}", header.line);
            header.warnings.push(Warning::new(seen, "remove it if it is a row, or write one line with the names"));
            header
        }
        _ => Header::from_line(file, *line, text, separator)?,
    };
    if preamble > 0 {
        let lines = if preamble == 1 { "line" } else { "lines" };
        let seen = format!("the header is taken to be line {line}, below {preamble} {lines} of something else");
        header.warnings.push(Warning::new(seen, "begin what stands above it with `#`, or remove it"));
    }
    if is_a_row(&header.names, &rows) {
        return Err(Error::header(at_line(file, *line), "the first line holds values, as those below it do", WANTED));
    }
    Ok(header)
}

fn is_comment(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"#")
}

/// Whether a line is the first of two with names, above these rows.
fn are_levels(text: &[u8], rows: &[Vec<Cow<'_, [u8]>>], separator: u8) -> bool {
    is_second_row(rows) && cells(text, separator).is_ok_and(|cells| !cells.iter().any(|cell| is_value(cell)))
}

/// Whether most of a line is blank, as spreadsheets write a line that has fewer cells than others.
fn is_padded(text: &[u8], separator: u8) -> bool {
    cells(text, separator)
        .is_ok_and(|cells| cells.len() > 2 && 2 * cells.iter().filter(|cell| !cell.is_empty()).count() <= cells.len())
}

/// Whether a line could name columns: words that differ, or numbers that rise, as in a table with a column a year.
fn are_names(text: &[u8], separator: u8) -> bool {
    let Ok(found) = cells(text, separator) else { return false };
    let numbers: Vec<f64> = found.iter().filter_map(|cell| number::cell(cell).number()).collect();
    let is_rising = numbers.is_empty() || (numbers.len() >= MIN_NUMBERED && numbers.windows(2).all(|two| two[0] < two[1]));
    let names: Vec<&Cow<'_, [u8]>> = found.iter().filter(|cell| !cell.is_empty()).collect();
    is_rising && 2 * names.len() > found.len() && names.iter().enumerate().all(|(i, name)| !names[..i].contains(name))
}

/// Whether names are a row like those below: some are numbers, and a text is there again in its own column.
fn is_a_row(found: &[String], rows: &[Vec<Cow<'_, [u8]>>]) -> bool {
    let again = |column: usize, name: &str| {
        rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.trim_ascii() == name.as_bytes()))
    };
    let mut texts = found.iter().enumerate().filter(|(_, name)| !name.is_empty() && !names::is_number(name));
    found.iter().any(|name| names::is_number(name)) && texts.any(|(column, name)| again(column, name))
}

/// A number in any way of writing, or a time.
fn is_value(cell: &[u8]) -> bool {
    Evidence::default().add(cell) || TimeFormat::ALL.into_iter().any(|(_, format)| format.time(cell, Marks::PLAIN).is_some())
}

fn is_gap(cell: &[u8]) -> bool {
    number::is_missing(cell) || number::is_placeholder(cell)
}

/// Whether the first of these rows is not one, but has words where all others have values.
fn is_second_row(rows: &[Vec<Cow<'_, [u8]>>]) -> bool {
    let Some((first, rows)) = rows.split_first().filter(|(_, rows)| rows.len() >= MIN_ROWS) else { return false };
    if first.iter().any(|cell| is_value(cell)) || rows.iter().any(|row| row.len() != first.len()) {
        return false;
    }
    let (mut named, mut unnamed) = (0, 0);
    for (i, cell) in first.iter().enumerate() {
        let mut below = rows.iter().map(|row| &row[i]).filter(|cell| !is_gap(cell)).peekable();
        let has_values = below.peek().is_some() && below.all(|cell| is_value(cell));
        match (has_values, is_gap(cell)) {
            (true, false) => named += 1,
            (true, true) => unnamed += 1,
            // A word of a row is there again.
            (false, false) if rows.iter().any(|row| row[i] == *cell) => return false,
            (false, _) => {}
        }
    }
    named > 0 && named >= unnamed
}

/// Whether names are those of a first level: some stand for several columns.
fn has_levels(names: &[Cow<'_, str>]) -> bool {
    let is_again = |i: usize| !names[i].is_empty() && names[..i].contains(&names[i]);
    (1..names.len()).any(is_again) || names.iter().filter(|name| name.is_empty()).count() >= 2
}

/// `temp_in` of `temp` above `in`; a blank name is that before it, as in merged cells.
fn joined(first: &[Cow<'_, str>], second: &[Cow<'_, str>]) -> Vec<String> {
    let mut above = "";
    let mut names = Vec::with_capacity(first.len());
    for (first, second) in first.iter().zip(second) {
        if !first.trim().is_empty() {
            above = first.trim();
        }
        names.push(match (above, second.trim()) {
            ("", name) | (name, "") => name.to_owned(),
            (above, second) => format!("{above}_{second}"),
        });
    }
    names
}
