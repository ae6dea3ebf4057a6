//! A cell of a table: a text, and whether it is set in bold.

/// A text, and whether it is set in bold.
///
/// ```
/// use ncde_report::Cell;
/// assert_eq!(Cell::from("dense".to_owned()), Cell { text: "dense".into(), bold: false });
/// assert!(Cell::bold("99.1").bold);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Whether it is set in bold, as the best of its column.
    pub bold: bool,
}

impl Cell {
    /// In bold.
    pub fn bold(text: impl Into<String>) -> Self {
        Self { text: text.into(), bold: true }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, bold: false }
    }
}

pub(crate) fn cells<C: Into<Cell>>(rows: Vec<Vec<C>>) -> Vec<Vec<Cell>> {
    rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect()
}
