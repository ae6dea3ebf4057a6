//! A table of cells in memory: what is not a row an observation as it is read, such as JSON.

use std::borrow::Cow;

use crate::Error;

/// Cells by row, each with the line that it is told to be in.
#[derive(Debug, Clone, Default)]
pub(super) struct Grid {
    pub(super) names: Vec<String>,
    bytes: Vec<u8>,
    /// Where each cell ends.
    ends: Vec<usize>,
    /// The line of each row, and its last cell; a row may have fewer cells than there are names.
    rows: Vec<(u64, usize)>,
}

impl Grid {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    pub(super) fn push<'a>(&mut self, line: u64, cells: impl IntoIterator<Item = &'a [u8]>) {
        for cell in cells {
            self.bytes.extend_from_slice(cell);
            self.ends.push(self.bytes.len());
        }
        self.rows.push((line, self.ends.len()));
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Calls `each` with the line and the cells of every row.
    pub(super) fn each(&self, mut each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<(), Error> {
        let (mut start, mut first) = (0, 0);
        for &(line, last) in &self.rows {
            let mut cells: Vec<Cow<'_, [u8]>> = Vec::with_capacity(self.names.len());
            for &end in &self.ends[first..last] {
                cells.push(Cow::Borrowed(&self.bytes[start..end]));
                start = end;
            }
            first = last;
            cells.resize(self.names.len(), Cow::Borrowed(b""));
            each(line, &cells)?;
        }
        Ok(())
    }
}
