//! Numbers from text: a row a line, a column a channel, `f64`.
//!
//! The first line is a header if none of its cells is a number. Empty cells, `NA` and `NaN` are missing: they become NaN, and
//! whoever uses the numbers decides what that means. Blank lines are skipped.

use std::borrow::Cow;
use std::io::BufRead;

use csv::{ReaderBuilder, StringRecord};

use super::{Array, Data, Input, Origin};
use crate::error::{Failure, refuse};

pub(super) fn read(file: &str, mut reader: impl BufRead) -> Result<Input, Failure> {
    let mut columns: Option<Vec<String>> = None;
    let mut values = Vec::new();
    let mut lines = Vec::new();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|e| super::read_failure(file, &e))? == 0 {
            break;
        }
        let Ok(text) = str::from_utf8(&bytes) else {
            refuse!("`{file}`, line {number}: this is not UTF-8 text; save the file as UTF-8")
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        let line = Line { file, number, cells: cells(file, number, text)? };
        let columns = match &columns {
            Some(columns) => columns,
            None => {
                let header = line.header()?;
                let is_header = header.is_some();
                let numbered = || (1..=line.cells.len()).map(|i| i.to_string()).collect();
                let columns = columns.insert(header.unwrap_or_else(numbered));
                if is_header {
                    continue;
                }
                columns
            }
        };
        line.numbers(columns, &mut values)?;
        lines.push(number);
    }
    let Some(columns) = columns else { refuse!("`{file}` is empty; wanted rows of numbers") };
    if lines.is_empty() {
        refuse!("`{file}` has a header row but no numbers below it");
    }
    let shape = vec![lines.len(), columns.len()];
    Ok(Input {
        name: file.into(),
        array: Array { shape, data: Data::F64(values) },
        origin: Origin::Text { lines, columns },
        note: None,
    })
}

/// The cells of a line. Numbers need no quotes, so most lines are only split.
///
/// Lines are found here and not by the csv reader, whose line numbers are off after `\r\n` and blank lines.
fn cells<'a>(file: &str, line: u64, text: &'a str) -> Result<Vec<Cow<'a, str>>, Failure> {
    if !text.contains('"') {
        return Ok(text.split(',').map(|cell| cell.trim().into()).collect());
    }
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    reader.read_record(&mut record).map_err(|e| Failure::Refused(format!("`{file}`, line {line}: {e}")))?;
    Ok(record.iter().map(|cell| Cow::Owned(cell.trim().into())).collect())
}

struct Line<'a> {
    file: &'a str,
    number: u64,
    cells: Vec<Cow<'a, str>>,
}

impl Line<'_> {
    /// The names of the columns if this, the first line, holds them.
    fn header(&self) -> Result<Option<Vec<String>>, Failure> {
        let Some(text) = self.cells.iter().position(|cell| number(cell).is_none()) else {
            return Ok(None);
        };
        if self.cells.iter().any(|cell| number(cell).is_some_and(|x| !x.is_nan())) {
            let hint = ", but other cells of the first line are: a header row holds names only";
            return Err(self.not_a_number(&(text + 1).to_string(), &self.cells[text], hint));
        }
        let names = self.cells.iter().enumerate();
        let name = |(i, cell): (usize, &Cow<'_, str>)| {
            if cell.is_empty() { (i + 1).to_string() } else { cell.to_string() }
        };
        Ok(Some(names.map(name).collect()))
    }

    fn numbers(&self, columns: &[String], values: &mut Vec<f64>) -> Result<(), Failure> {
        if self.cells.len() != columns.len() {
            let (file, line, cells, wanted) = (self.file, self.number, self.cells.len(), columns.len());
            refuse!(
                "`{file}`, line {line}: {cells} cells, but the lines before have {wanted}; every line needs a cell for each column"
            );
        }
        for (cell, column) in self.cells.iter().zip(columns) {
            let hint = if cell.contains([';', '\t']) { "; columns must be separated by commas" } else { "" };
            values.push(number(cell).ok_or_else(|| self.not_a_number(column, cell, hint))?);
        }
        Ok(())
    }

    fn not_a_number(&self, column: &str, cell: &str, hint: &str) -> Failure {
        let (file, line) = (self.file, self.number);
        Failure::Refused(format!("`{file}`, line {line}, column `{column}`: `{cell}` is not a number{hint}"))
    }
}

/// The number in a cell, NaN if it is missing.
fn number(cell: &str) -> Option<f64> {
    match cell {
        "" | "NA" => Some(f64::NAN),
        _ => cell.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<u64> {
        match read("test", text.as_bytes()).unwrap().origin {
            Origin::Text { lines, .. } => lines,
            Origin::Entries => Vec::new(),
        }
    }

    #[test]
    fn lines_are_those_of_the_file() {
        assert_eq!(lines("1,2\n3,4\n"), [1, 2]);
        assert_eq!(lines("a,b\r\n1,2\r\n3,4\r\n"), [2, 3]);
        assert_eq!(lines("a,b\n\n1,2\n\n3,4"), [3, 5]);
    }

    #[test]
    fn quotes_are_understood() {
        let input = read("test", "\"a,b\",\"c\"\n\"1\",2\n\"\",3\n".as_bytes()).unwrap();
        assert!(matches!(&input.origin, Origin::Text { columns, .. } if columns == &["a,b", "c"]));
        assert!(matches!(&input.array.data, Data::F64(x) if x[..2] == [1.0, 2.0] && x[2].is_nan() && x[3] == 3.0));
    }
}
