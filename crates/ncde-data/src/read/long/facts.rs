//! What all cells of a column say together: the first of two passes over a table.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::names;
use crate::text::formats::Formats;
use crate::text::marks::Evidence;
use crate::text::missing::Missing;
use crate::text::number::{self, Cell};
use crate::text::unit;

/// What is known of a column.
#[derive(Debug, Default)]
pub(in super::super) struct Facts {
    /// Cells that hold a number, in whatever way it is written.
    pub(super) numbers: u64,
    /// Cells that hold something else.
    pub(super) texts: u64,
    /// Texts that look like numbers with something beside them: `12 %`, `<0.1`.
    pub(super) near_numbers: u64,
    /// Whether the first cell that is not missing holds a number.
    pub(super) is_number_first: bool,
    /// Whether some numbers are not whole.
    pub(super) has_fractions: bool,
    pub(super) marks: Evidence,
    pub(super) times: Formats,
    /// Texts that are numbers with a unit, until [`Facts::settle`].
    measured: Measured,
    /// The unit of all numbers; empty if they have none.
    pub(super) unit: String,
    /// One of the texts.
    pub(super) example: Option<String>,
    /// Whether each cell is one more than that before it, from 0 or 1 on.
    counts: Counts,
    /// Different cells, of a column that may hold ids.
    different: Option<HashSet<u64>>,
}

/// Cells that are numbers with a unit.
#[derive(Debug, Default)]
struct Measured {
    unit: String,
    count: u64,
    is_mixed: bool,
    marks: Evidence,
    has_fractions: bool,
}

impl Measured {
    fn add(&mut self, cell: &[u8]) {
        let Some((unit, number)) = unit::split(cell).filter(|_| !self.is_mixed) else { return };
        if self.count == 0 {
            self.unit = unit.into();
        }
        self.count += 1;
        self.is_mixed = self.unit != unit;
        self.marks.add(&number);
        self.has_fractions |= !matches!(number::cell(&number), Cell::Number(x) if x.fract() == 0.0);
    }
}

/// Whether cells count rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Counts {
    #[default]
    Empty,
    Up(f64),
    No,
}

impl Facts {
    pub(super) fn new(name: &str) -> Self {
        let may_be_id = names::is_id(name) || names::suggests_id(name);
        Self { different: may_be_id.then(HashSet::new), ..Self::default() }
    }

    /// Takes a cell into account; whether it is text.
    pub(super) fn add(&mut self, cell: &[u8], missing: &Missing) -> bool {
        if let Some(different) = &mut self.different {
            let mut hasher = DefaultHasher::new();
            cell.trim_ascii().hash(&mut hasher);
            different.insert(hasher.finish());
        }
        let read = number::cell(cell);
        if read == Cell::Missing {
            self.counts = Counts::No;
            return true;
        }
        self.counts = match (self.counts, read) {
            (Counts::Empty, Cell::Number(x)) if x == 0.0 || x == 1.0 => Counts::Up(x),
            (Counts::Up(before), Cell::Number(x)) if x == before + 1.0 => Counts::Up(x),
            _ => Counts::No,
        };
        // A row may well be number 9999.
        if missing.is(cell) {
            return true;
        }
        let is_number = self.marks.add(cell);
        if self.numbers + self.texts == 0 {
            self.is_number_first = is_number;
        }
        self.times.add(cell, is_number);
        if is_number {
            self.numbers += 1;
            self.has_fractions |= !matches!(read, Cell::Number(x) if x.fract() == 0.0);
        } else if number::is_infinite(cell) {
            // A slip among numbers, and no word.
            self.numbers += 1;
        } else {
            self.texts += 1;
            self.measured.add(cell);
            self.near_numbers += u64::from(is_near_number(cell));
            let Ok(text) = str::from_utf8(cell) else { return false };
            if self.example.is_none() {
                self.example = Some(text.trim().to_string());
            }
        }
        true
    }

    /// After all cells: texts are numbers if each is one with the same unit. Plain numbers may stand among them if the unit is
    /// a symbol such as `$` or `%`.
    pub(super) fn settle(&mut self) {
        let measured = std::mem::take(&mut self.measured);
        let may_be_mixed = self.numbers == 0 || unit::is_symbol(&measured.unit);
        if measured.count == 0 || measured.is_mixed || measured.count != self.texts || !may_be_mixed {
            return;
        }
        self.numbers += self.texts;
        (self.texts, self.near_numbers, self.example) = (0, 0, None);
        self.marks = self.marks.and(measured.marks);
        self.marks.is_money = unit::is_money(&measured.unit);
        self.has_fractions |= measured.has_fractions;
        self.unit = measured.unit;
    }

    /// The cells that follow are of another file: rows count from the start there.
    pub(super) fn next_file(&mut self) {
        if let Counts::Up(_) = self.counts {
            self.counts = Counts::Empty;
        }
    }

    /// Cells that are not missing.
    pub(super) fn cells(&self) -> u64 {
        self.numbers + self.texts
    }

    /// Whether the column counts rows, of which there are some.
    pub(super) fn counts_rows(&self) -> bool {
        matches!(self.counts, Counts::Up(_)) && self.cells() > 1
    }

    /// How many different cells there are, of a column that may hold ids.
    pub(super) fn different(&self) -> Option<usize> {
        self.different.as_ref().map(HashSet::len)
    }

    /// Whether numbers are what the column is to hold, texts among them being slips.
    pub(super) fn is_numeric(&self) -> bool {
        self.texts == 0 || (self.numbers > 0 && (self.is_number_first || self.numbers > self.texts))
    }
}

/// `12 %`, `5kg`, `$5`, `<0.1`: a number with a few signs before or behind it.
fn is_near_number(cell: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(cell) else { return false };
    let start = text.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '.' | ','));
    let number = start.trim_end_matches(|c: char| !c.is_ascii_digit());
    !number.is_empty() && start.len() - number.len() <= 5 && Evidence::default().add(number.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, cells: &[&str]) -> Facts {
        let mut facts = Facts::new(name);
        assert!(cells.iter().all(|cell| facts.add(cell.as_bytes(), &Missing::default())));
        facts
    }

    #[test]
    fn columns_count_rows_or_not() {
        assert!(facts("a", &["0", "1", "2"]).counts_rows());
        assert!(facts("a", &["1", "2.0", "3"]).counts_rows());
        for cells in [&["0"][..], &["0", "1", "1"], &["2", "3"], &["0", "", "1"], &["1,0", "2"], &["a", "1"]] {
            assert!(!facts("a", cells).counts_rows(), "{cells:?}");
        }
    }

    #[test]
    fn numbers_and_texts_are_told_apart() {
        assert!(facts("a", &["1", "", "x"]).is_numeric() && facts("a", &["x", "1", "2"]).is_numeric());
        assert!(!facts("a", &["x", "1"]).is_numeric() && facts("a", &[]).is_numeric());
        // `€1,134` and `980` are numbers; `5 kg` and `5 g`, or `5 kg` and `5`, are not of one unit.
        let settled = |cells: &[&str]| {
            let mut facts = facts("a", cells);
            facts.settle();
            (facts.texts, facts.unit)
        };
        assert_eq!(settled(&["€1,134", "980", ""]), (0, "€".into()));
        assert_eq!(settled(&["5 kg", "7kg"]), (0, "kg".into()));
        assert_eq!((settled(&["5 kg", "5 g"]).0, settled(&["5 kg", "5"]).0, settled(&["5 kg", "heavy"]).0), (2, 1, 2));
        let near = facts("a", &["12 %", "5kg", "$5", "<0.1", "-3 °C"]);
        assert_eq!((near.texts, near.near_numbers), (5, 5));
        assert_eq!(facts("a", &["ward 5", "kg", "r2d2x", "a-1"]).near_numbers, 0);
        assert_eq!(facts("patient_id", &["a", "b", " a "]).different(), Some(2));
        assert!(facts("a", &["1", "1.5"]).has_fractions && !facts("a", &["1", "2.0"]).has_fractions);
    }
}
