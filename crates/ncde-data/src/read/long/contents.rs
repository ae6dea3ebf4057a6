//! What the cells of a column hold: text, numbers with their marks, or times in their format.

use super::guess::{COUNTED_ROWS, Guess};
use crate::Error;
use crate::error::shown;
use crate::schema::{Cells, Role};
use crate::text::formats::Found;
use crate::text::marks::{Evidence, Marks};
use crate::text::time::TimeFormat;

impl Guess<'_> {
    /// The marks of all numbers of the file, together.
    pub(super) fn file_marks(&self) -> Evidence {
        let numeric = self.seen.facts.iter().filter(|facts| facts.is_numeric());
        numeric.fold(Evidence::default(), |all, facts| all.and(facts.marks))
    }

    fn marks(&self, column: usize, file: Evidence) -> Result<Marks, Error> {
        let marks = self.seen.facts[column].marks;
        marks.marks(file, self.seen.options.columns.decimal).ok_or_else(|| {
            let name = self.name(column);
            let seen = format!("column `{name}` has numbers such as `1,234` or `1.234`, of which the mark cannot be told");
            self.question(seen, "say which mark stands before fractions: `--decimal ,` or `--decimal .`")
        })
    }

    fn numbers(&self, column: usize, file: Evidence) -> Result<Cells, Error> {
        Ok(Cells::Number { marks: self.marks(column, file)?, unit: self.seen.facts[column].unit.clone() })
    }

    pub(super) fn cells(&mut self, column: usize, role: Role, file: Evidence) -> Result<Cells, Error> {
        let facts = &self.seen.facts[column];
        match role {
            Role::Id | Role::Group | Role::Token | Role::Ignored => Ok(Cells::Text),
            Role::Time => self.time_cells(column, file),
            Role::Label if facts.texts > 0 => Ok(Cells::Text),
            Role::Label => self.numbers(column, file),
            Role::Static | Role::Channel if facts.is_numeric() => self.numbers(column, file),
            Role::Static | Role::Channel => {
                let (name, is_set) = (self.name(column), self.overrides.is_set(column));
                let fix = format!("write numbers alone, or say `--ignore {name}`");
                let example = self.example(column);
                if facts.near_numbers * 2 > facts.texts && !is_set && facts.near_numbers > COUNTED_ROWS {
                    let seen = format!("column `{name}` holds texts such as `{example}`, which look like numbers");
                    let otherwise = "or `--channels` with it if they are categories";
                    return Err(self.question(seen, format!("{fix}, {otherwise}")));
                }
                if facts.numbers > 0 && !is_set {
                    let seen = format!("column `{name}` holds both texts such as `{example}` and numbers");
                    self.warn(format!("{seen}, and is taken for categories"), fix);
                }
                Ok(Cells::Text)
            }
        }
    }

    fn time_cells(&mut self, column: usize, file: Evidence) -> Result<Cells, Error> {
        let (name, times) = (self.name(column), self.seen.facts[column].times);
        let format = match (self.seen.options.columns.time_format, times.found()) {
            (Some(format), _) => format,
            (None, Found::One(format)) => format,
            (None, Found::None) => TimeFormat::Number,
            (None, Found::MonthOrDay) => {
                let example = self.example(column);
                let seen = format!("column `{name}` has dates such as `{example}`, of which month and day cannot be told apart");
                let fix = "say which stands first: `--time-format us` (month) or `--time-format european` (day)";
                return Err(self.question(seen, fix));
            }
        };
        if format == TimeFormat::Compact && self.seen.options.columns.time_format.is_none() {
            let seen = format!("column `{name}` holds whole numbers that are read as dates, yyyymmdd");
            self.warn(seen, "say so with `--time-format compact`, or `--time-format number`");
        }
        if times.offsets > 0 && times.plain > 0 {
            let seen = format!("column `{name}` has times with and without an offset from UTC; those without are taken as UTC");
            self.warn(seen, "write all of them in one way");
        }
        let is_number = matches!(format, TimeFormat::Number | TimeFormat::Unix | TimeFormat::UnixMs);
        let marks = if is_number { self.marks(column, file)? } else { Marks::PLAIN };
        Ok(Cells::Time { format, marks, offset: times.offsets > 0 && times.plain == 0 })
    }

    fn example(&self, column: usize) -> String {
        shown(self.seen.facts[column].example.as_deref().unwrap_or("").as_bytes())
    }
}
