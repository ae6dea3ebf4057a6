//! Records of JSON as rows of cells: a column a key, a row for each entry of the lists of a series.

use std::collections::HashMap;

use super::super::grid::Grid;
use super::super::long::is_id;
use super::{Value, WANTED};
use crate::Error;
use crate::error::{at_line, shown};

/// So many cells for each byte of a file, and some more, are believed: records of which each has keys of its own are no table.
const CELLS_A_BYTE: usize = 32;
const FEW_CELLS: usize = 1 << 16;

/// The rows, so far.
pub(super) struct Rows {
    file: String,
    most: usize,
    places: HashMap<String, usize>,
    grid: Grid,
    records: usize,
    /// Whether series are told apart by their objects alone.
    counts: bool,
}

/// The cells of a row, by name.
type Cells = Vec<(String, String)>;

impl Rows {
    pub(super) fn new(file: &str, bytes: usize) -> Self {
        let most = bytes.saturating_mul(CELLS_A_BYTE).saturating_add(FEW_CELLS);
        Self { file: file.into(), most, places: HashMap::new(), grid: Grid::default(), records: 0, counts: false }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn finish(self) -> Result<Grid, Error> {
        if self.grid.names.is_empty() {
            return Err(Error::header(at_line(&self.file, 0), "there are no records", WANTED));
        }
        Ok(self.grid)
    }

    /// A row, or all rows of a series.
    pub(super) fn record(&mut self, line: u64, record: Value) -> Result<(), Error> {
        let Value::Object(members) = record else {
            return Err(Error::header(at_line(&self.file, line), "a record is no object", WANTED));
        };
        self.records += 1;
        let (mut cells, mut lists) = (Cells::new(), vec![]);
        flatten("", members, &mut cells, &mut lists);
        if lists.is_empty() {
            return self.push(line, &cells);
        }
        if self.records == 1 {
            self.counts = !cells.iter().any(|(name, _)| is_id(name));
        }
        if self.counts {
            cells.insert(0, ("id".into(), self.records.to_string()));
        }
        let length = lists[0].1.len();
        if let Some((other, list)) = lists.iter().find(|(_, list)| list.len() != length) {
            let (first, name, count) = (shown(&lists[0].0), shown(other), list.len());
            let seen = format!("`{first}` has {length} values, but `{name}` has {count}");
            return Err(Error::header(at_line(&self.file, line), seen, "give all lists of a series one value an observation"));
        }
        let whole = cells.len();
        let mut lists: Vec<(String, std::vec::IntoIter<Value>)> =
            lists.into_iter().map(|(name, list)| (name, list.into_iter())).collect();
        for _ in 0..length {
            cells.truncate(whole);
            for (name, entries) in &mut lists {
                entry(name, entries.next(), &mut cells);
            }
            self.push(line, &cells)?;
        }
        Ok(())
    }

    /// Columns side by side.
    pub(super) fn columns(&mut self, columns: Vec<(String, Vec<Value>)>) -> Result<(), Error> {
        self.counts = false;
        let length = columns.first().map_or(0, |(_, list)| list.len());
        if let Some((name, list)) = columns.iter().find(|(_, list)| list.len() != length) {
            let (first, name, count) = (shown(&columns[0].0), shown(name), list.len());
            let seen = format!("column `{first}` has {length} values, but `{name}` has {count}");
            return Err(Error::header(at_line(&self.file, 0), seen, "give all columns one value a row"));
        }
        let mut columns: Vec<(String, std::vec::IntoIter<Value>)> =
            columns.into_iter().map(|(name, list)| (name, list.into_iter())).collect();
        for _ in 0..length {
            let mut cells = Cells::new();
            columns.iter_mut().for_each(|(name, entries)| entry(name, entries.next(), &mut cells));
            self.push(0, &cells)?;
        }
        Ok(())
    }

    fn push(&mut self, line: u64, cells: &Cells) -> Result<(), Error> {
        for (name, _) in cells {
            let next = self.grid.names.len();
            if *self.places.entry(name.clone()).or_insert(next) == next {
                self.grid.names.push(name.clone());
            }
        }
        let last = cells.iter().map(|(name, _)| self.places[name] + 1).max().unwrap_or(0);
        if self.grid.len().saturating_add(last) > self.most {
            let seen = format!("its records have {} different keys, and few of them each", self.grid.names.len());
            return Err(Error::header(at_line(&self.file, line), seen, WANTED));
        }
        let mut row: Vec<&[u8]> = vec![b""; last];
        for (name, cell) in cells {
            row[self.places[name]] = cell.as_bytes();
        }
        self.grid.push(line, row);
        Ok(())
    }
}

/// Cells and lists of an object; those of an object inside it by both names.
fn flatten(above: &str, members: Vec<(String, Value)>, cells: &mut Cells, lists: &mut Vec<(String, Vec<Value>)>) {
    for (name, value) in members {
        let name = if above.is_empty() { name.trim().to_owned() } else { format!("{above}.{}", name.trim()) };
        match value {
            Value::Cell(cell) => cells.push((name, cell)),
            Value::List(list) => lists.push((name, list)),
            Value::Object(members) => flatten(&name, members, cells, lists),
        }
    }
}

/// The cells of an entry of a list: of a list of lists a column each, of a list of objects a column a key.
fn entry(name: &str, entry: Option<Value>, cells: &mut Cells) {
    match entry {
        None => {}
        Some(Value::Cell(cell)) => cells.push((name.to_owned(), cell)),
        Some(Value::List(list)) => {
            let values = list.into_iter().enumerate().map(|(k, value)| (format!("{name}_{}", k + 1), value));
            flatten("", values.collect(), cells, &mut vec![]);
        }
        Some(Value::Object(members)) => flatten("", members, cells, &mut vec![]),
    }
}
