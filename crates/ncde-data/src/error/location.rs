//! Where in a file something is.

use std::fmt;

/// Where in a file something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from 1; 0 where the format has none.
    pub line: u64,
    /// The column, dimension or entry, in words; empty if it is the whole line.
    pub field: String,
}

/// Where something is, as errors carry it.
pub(crate) type Location = Box<SourceLocation>;

pub(crate) fn at_line(file: &str, line: u64) -> Location {
    at_field(file, line, "")
}

pub(crate) fn at_field(file: &str, line: u64, field: impl Into<String>) -> Location {
    Box::new(SourceLocation { file: file.into(), line, field: field.into() })
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line of a stream is told by who reads it.
        let mut parts = Vec::with_capacity(3);
        if !self.file.is_empty() {
            parts.push(format!("`{}`", self.file));
        }
        if self.line > 0 {
            parts.push(format!("line {}", self.line));
        }
        if !self.field.is_empty() {
            parts.push(self.field.clone());
        }
        f.write_str(if parts.is_empty() { "this line" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_well() {
        assert_eq!(at_line("a.ts", 3).to_string(), "`a.ts`, line 3");
        assert_eq!(at_field("a.csv", 3, "column `x`").to_string(), "`a.csv`, line 3, column `x`");
        assert_eq!(at_field("a.npz", 0, "array `y`").to_string(), "`a.npz`, array `y`");
    }
}
