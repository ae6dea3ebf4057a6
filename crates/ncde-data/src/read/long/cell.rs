//! One cell of a column with values: a number, or the number of its word. Files and streams read through here.

use super::texts::Texts;
use crate::Error;
use crate::error::{Location, listed, shown};
use crate::schema::{Cells, Column, Role};
use crate::text::lines::utf8;
use crate::text::marks::Marks;
use crate::text::number::{self, Cell};
use crate::text::time::TimeFormat;
use crate::text::unit;
use crate::vocabulary::Words;

/// A column of values.
#[derive(Debug)]
pub(in super::super) struct Value {
    pub(in super::super) name: String,
    pub(in super::super) role: Role,
    pub(in super::super) kind: Kind,
}

/// What a column holds.
#[derive(Debug)]
pub(in super::super) enum Kind {
    /// Numbers with these marks, and a unit if it is not empty.
    Numbers(Marks, String),
    /// Texts that are numbered as they come.
    Texts(Texts),
    /// Categories, each one of these words.
    Categories(Words),
    /// Tokens of this vocabulary.
    Tokens(Words),
}

impl Value {
    /// A column as the layout has it; words of texts are not known yet.
    pub(in super::super) fn new(column: &Column, unknown: bool) -> Self {
        let kind = match &column.cells {
            Cells::Number { marks, unit } => Kind::Numbers(*marks, unit.clone()),
            Cells::Category { words } => Kind::Categories(Words::new(words, unknown.then_some(words.len()))),
            Cells::Text | Cells::Time { .. } => Kind::Texts(Texts::default()),
        };
        Self { name: column.name.clone(), role: column.role, kind }
    }

    /// The number of a cell, or of its text; `is_only` of the only column with values.
    pub(in super::super) fn read(&mut self, cell: &[u8], is_only: bool, at: impl Fn() -> Location) -> Result<f64, Error> {
        // In a column of tokens only a blank cell is missing.
        let is_missing = if self.role == Role::Token { cell.trim_ascii().is_empty() } else { number::is_missing(cell) };
        if is_missing {
            return Ok(f64::NAN);
        }
        match &mut self.kind {
            Kind::Numbers(marks, unit) => match unit::cell(*marks, unit, cell) {
                Cell::Number(x) => Ok(x),
                Cell::Missing => Ok(f64::NAN),
                Cell::Other if str::from_utf8(cell).is_err() => Err(Error::NotUtf8 { at: at() }),
                Cell::Other => Err(Error::NotANumber { at: at(), seen: shown(cell), fix: not_a_number(cell, is_only) }),
            },
            Kind::Texts(texts) => Ok(texts.number(utf8(cell, &at)?.trim(), at) as f64),
            Kind::Categories(words) => {
                let text = utf8(cell, &at)?.trim();
                find(words, &number::category(text), text, at, "take it for none of these")
            }
            Kind::Tokens(words) => {
                let text = utf8(cell, &at)?.trim();
                find(words, text, text, at, "allow others")
            }
        }
    }

    /// What becomes of a number that was read: itself, or whether it is each of the words.
    pub(in super::super) fn expand(&self, x: f64, into: &mut Vec<f64>) {
        match &self.kind {
            Kind::Categories(Words { words, .. }) => {
                into.extend((0..words.len()).map(|i| if x.is_nan() { x } else { f64::from(u8::from(x == i as f64)) }));
            }
            Kind::Numbers(..) | Kind::Texts(_) | Kind::Tokens(_) => into.push(x),
        }
    }
}

/// The number of a word by its `key`; `text` is how it is written, and `to` what training with unknown words would do.
fn find(words: &Words, key: &str, text: &str, at: impl FnOnce() -> Location, to: &str) -> Result<f64, Error> {
    words.find(key).map(|number| number as f64).ok_or_else(|| Error::UnknownCategory {
        at: at(),
        seen: shown(text),
        known: listed(&words.words),
        fix: words.fix(text, format!("correct it, or train with `--set unknown=true` to {to}")),
    })
}

fn not_a_number(cell: &[u8], is_only: bool) -> &'static str {
    if number::is_infinite(cell) {
        return "it is infinite: say `--missing inf,-inf` to take such cells for missing, or write numbers";
    }
    match (cell.contains(&b','), is_only) {
        (true, _) => "other cells have a decimal point: write numbers in one way, or say which mark they have (`--decimal`)",
        (false, true) => {
            "other cells are numbers: write one, leave it blank where it is missing, or name the column as that of tokens"
        }
        (false, false) => "other cells are numbers: write one, or leave it blank where it is missing",
    }
}

impl Column {
    /// Whether the time in a cell is one of the clocks where it was made.
    pub(in super::super) fn is_local(&self, cell: &[u8]) -> bool {
        matches!(self.cells, Cells::Time { format, .. } if format.is_local(cell))
    }

    /// The time in a cell of this column.
    pub(in super::super) fn time(&self, cell: &[u8], at: impl FnOnce() -> Location) -> Result<f64, Error> {
        match self.cells {
            Cells::Time { format, marks, offset } => format.cell(cell, marks, offset, at),
            _ => TimeFormat::Number.cell(cell, Marks::PLAIN, false, at),
        }
    }
}
