//! Rows of a csv file, gathered by case as they are read.
//!
//! What the first cell of a column that is not missing holds decides: a number makes a column of numbers, in which text is
//! an error (most likely a slip); text makes a column of texts, which are kept as numbers `0, 1, ...` until the end. In a column
//! that is asked for as tokens every cell is text, and only a blank one is missing.

use std::borrow::Cow;
use std::collections::HashMap;

use super::columns::{Columns, Role};
use super::texts::Texts;
use crate::Error;
use crate::dataset::Clock;
use crate::error::{Place, shown};
use crate::label::{Label, Labels};
use crate::text::cells::cells;
use crate::text::lines::{Lines, utf8};
use crate::text::number::{self, Cell};
use crate::text::time::{time_cell, written};

/// What to try if quotes are wrong.
pub(super) const QUOTES: &str = "write a quote inside quotes as `\"\"`, and keep a cell on one line";

/// How many rows a case may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Rule {
    /// Any number.
    Series,
    /// One: the file holds labels and statics.
    OneEach,
}

/// A column of values.
#[derive(Debug)]
pub(in super::super) struct Column {
    pub(in super::super) name: String,
    pub(in super::super) kind: ColumnKind,
}

/// What a column holds.
#[derive(Debug)]
pub(in super::super) enum ColumnKind {
    /// Only missing values so far.
    Empty,
    Numbers,
    Texts(Texts),
}

/// A case, so far.
#[derive(Debug)]
pub(in super::super) struct Raw {
    pub(in super::super) id: String,
    pub(in super::super) times: Vec<f64>,
    /// `[rows, columns]`; a text is its number.
    pub(in super::super) values: Vec<f64>,
    pub(in super::super) labels: Vec<Label>,
    /// The file and the line of its first row.
    pub(in super::super) file: usize,
    pub(in super::super) line: u64,
}

/// All cases, so far.
pub(in super::super) struct Table {
    rule: Rule,
    pub(in super::super) files: Vec<String>,
    pub(in super::super) columns: Vec<Column>,
    pub(in super::super) cases: Vec<Raw>,
    pub(in super::super) labels: Option<Labels>,
    pub(in super::super) clock: Option<Clock>,
    /// The column that is asked for as tokens.
    pub(in super::super) tokens: Option<usize>,
    has_times: bool,
    by_id: HashMap<String, usize>,
    current: usize,
}

impl Table {
    pub(in super::super) fn new(columns: &Columns, rule: Rule) -> Self {
        let kind = |k: usize| if columns.tokens == Some(k) { ColumnKind::Texts(Texts::default()) } else { ColumnKind::Empty };
        let column = |(k, name)| Column { name, kind: kind(k) };
        Self {
            rule,
            files: vec![],
            columns: columns.values().into_iter().enumerate().map(column).collect(),
            cases: vec![],
            labels: columns.of(Role::Label).map(Labels::new),
            clock: None,
            tokens: columns.tokens,
            has_times: columns.of(Role::Time).is_some(),
            by_id: HashMap::new(),
            current: 0,
        }
    }

    /// Reads all rows of a file. `id` is the case they belong to where there is no column of ids.
    pub(in super::super) fn take(&mut self, lines: &mut Lines<'_>, columns: &Columns, id: Option<&str>) -> Result<(), Error> {
        let before = self.cases.len();
        self.files.push(lines.file().to_string());
        if columns.of(Role::Id).is_none() {
            self.enter(id.unwrap_or("1"), 1)?;
        }
        let mut rows = 0_u64;
        while let Some(line) = lines.next()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            let row = Row { columns, line: line.number };
            let wrong = |seen| Error::Quotes { at: Place::line(self.file(), line.number), seen, fix: QUOTES };
            let cells = cells(line.text, columns.separator).map_err(wrong)?;
            self.push(&row, &cells)?;
            rows += 1;
        }
        if rows == 0 {
            self.cases.truncate(before);
            let file = self.file().to_string();
            return Err(Error::Empty { file, seen: "has a header but no rows", wanted: "rows below it" });
        }
        Ok(())
    }

    /// The file that is being read, or the last one.
    pub(super) fn file(&self) -> &str {
        self.files.last().map_or("", String::as_str)
    }

    /// A place in the file that is being read.
    fn at(&self, row: &Row<'_>, column: usize) -> Box<Place> {
        Place::field(self.file(), row.line, format!("column `{}`", row.columns.names[column]))
    }

    fn push(&mut self, row: &Row<'_>, cells: &[Cow<'_, [u8]>]) -> Result<(), Error> {
        if cells.len() != row.columns.names.len() {
            return Err(Error::Count {
                at: Place::line(self.file(), row.line),
                seen: cells.len(),
                unit: "cells",
                wanted: row.columns.names.len(),
                because: "one for each column of the header",
                fix: "leave a cell blank where nothing is known, and put text with commas in quotes",
            });
        }
        if let Some(i) = row.columns.roles.iter().position(|&role| role == Role::Id) {
            let id = utf8(&cells[i], || self.at(row, i))?.trim();
            if id.is_empty() {
                let seen = "the id is blank".into();
                return Err(Error::Header { at: self.at(row, i), seen, fix: "give every row the id of its case".into() });
            }
            self.enter(id, row.line)?;
        }
        if !self.has_times {
            let case = &mut self.cases[self.current];
            case.times.push(case.times.len() as f64);
        }
        // Columns of another file of a folder may come in another order.
        let width = self.columns.len();
        let start = self.cases[self.current].values.len();
        self.cases[self.current].values.resize(start + width, f64::NAN);
        for (i, cell) in cells.iter().enumerate() {
            match row.columns.roles[i] {
                Role::Id => {}
                Role::Time => self.time(row, i, cell)?,
                Role::Label => self.label(row, i, cell)?,
                Role::Value(k) => {
                    let x = self.value(row, i, k, cell)?;
                    self.cases[self.current].values[start + k] = x;
                }
            }
        }
        Ok(())
    }

    /// Makes the case with this id the one that rows go to.
    fn enter(&mut self, id: &str, line: u64) -> Result<(), Error> {
        let is_current = self.cases.get(self.current).is_some_and(|case| case.id == id);
        let found = if is_current { Some(self.current) } else { self.by_id.get(id).copied() };
        if let Some(found) = found {
            if self.rule == Rule::OneEach {
                let before = format!("line {}", self.cases[found].line);
                let id = shown(id.as_bytes());
                return Err(Error::RepeatedId { at: Place::line(self.file(), line), id, before });
            }
            self.current = found;
            return Ok(());
        }
        self.current = self.cases.len();
        self.by_id.insert(id.into(), self.current);
        let file = self.files.len() - 1;
        self.cases.push(Raw { id: id.into(), times: vec![], values: vec![], labels: vec![], file, line });
        Ok(())
    }

    fn time(&mut self, row: &Row<'_>, column: usize, cell: &[u8]) -> Result<(), Error> {
        let (t, clock) = time_cell(cell, self.clock, || self.at(row, column))?;
        self.clock = Some(clock);
        let case = &self.cases[self.current];
        if let Some(&before) = case.times.last()
            && before >= t
        {
            return Err(Error::TimeOrder {
                at: self.at(row, column),
                case: Some(shown(case.id.as_bytes())),
                before: written(before, clock),
                seen: written(t, clock),
                fix: if before == t {
                    "a time may stand once in a case: join the rows, or give another series another id"
                } else {
                    "sort the rows of a case by time, or give another series another id"
                },
            });
        }
        self.cases[self.current].times.push(t);
        Ok(())
    }

    fn label(&mut self, row: &Row<'_>, column: usize, cell: &[u8]) -> Result<(), Error> {
        let at = self.files.last().map_or("", String::as_str);
        let place = || Place::field(at, row.line, format!("column `{}`", row.columns.names[column]));
        if let Some(labels) = &mut self.labels {
            let label = labels.label(cell, place)?;
            self.cases[self.current].labels.push(label);
        }
        Ok(())
    }

    /// The number of a cell, or of its text.
    fn value(&mut self, row: &Row<'_>, column: usize, k: usize, cell: &[u8]) -> Result<f64, Error> {
        if self.tokens == Some(k) {
            return self.text(row, column, k, cell);
        }
        let read = number::cell(cell);
        if let ColumnKind::Empty = self.columns[k].kind {
            match read {
                Cell::Missing => {}
                Cell::Number(_) => self.columns[k].kind = ColumnKind::Numbers,
                Cell::Other => self.columns[k].kind = ColumnKind::Texts(Texts::default()),
            }
        }
        match (&self.columns[k].kind, read) {
            (_, Cell::Missing) => Ok(f64::NAN),
            (ColumnKind::Texts(_), _) => self.text(row, column, k, cell),
            (_, Cell::Number(x)) => Ok(x),
            (_, Cell::Other) => Err(Error::NotANumber {
                at: self.at(row, column),
                seen: shown(cell),
                fix: match (cell.contains(&b','), self.columns.len()) {
                    (true, _) => "write a decimal point, not a comma",
                    (false, 1) => {
                        "the cells above it are numbers: write one, leave it blank where it is missing, or name the column as that of tokens"
                    }
                    (false, _) => "the cells above it are numbers: write one, or leave it blank where it is missing",
                },
            }),
        }
    }

    fn text(&mut self, row: &Row<'_>, column: usize, k: usize, cell: &[u8]) -> Result<f64, Error> {
        let file = self.files.last().map_or("", String::as_str);
        let place = || Place::field(file, row.line, format!("column `{}`", row.columns.names[column]));
        let text = utf8(cell, place)?.trim();
        match &mut self.columns[k].kind {
            ColumnKind::Texts(texts) if !text.is_empty() => Ok(texts.number(text, place) as f64),
            _ => Ok(f64::NAN),
        }
    }
}

/// Where a row stands.
struct Row<'a> {
    columns: &'a Columns,
    line: u64,
}
