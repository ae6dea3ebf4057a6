//! What can go wrong with a matrix function.

/// The error of every function of this module.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Matrices without rows.
    #[error("{operation}: the matrices have size 0; at least 1 is needed")]
    Empty {
        /// What was computed.
        operation: &'static str,
    },

    /// An array that does not hold whole matrices.
    #[error("{operation}: {what} holds {seen} numbers, which is no whole number of {n} x {n} matrices")]
    Size {
        /// What was computed.
        operation: &'static str,
        /// Which array.
        what: &'static str,
        /// Its length.
        seen: usize,
        /// The size of a matrix.
        n: usize,
    },

    /// Two arrays of different length.
    #[error("{operation}: {what} holds {seen} numbers, but the matrices hold {wanted}; one is needed for each")]
    Mismatch {
        /// What was computed.
        operation: &'static str,
        /// Which array.
        what: &'static str,
        /// Its length.
        seen: usize,
        /// The length of the matrices.
        wanted: usize,
    },

    /// A number that is NaN or infinite in the input.
    #[error("{operation}: {what} holds {value} at matrix {matrix}, row {row}, column {column}; remove or fill such values first")]
    NotFinite {
        /// What was computed.
        operation: &'static str,
        /// Which array.
        what: &'static str,
        /// What was found.
        value: f64,
        /// The matrix, counted from 0.
        matrix: usize,
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
    },

    /// A finite matrix whose result is too large for the number type.
    #[error("{operation}: the result for matrix {matrix}, of norm {norm:.3e}, overflows; scale it down, or compute in f64")]
    Overflow {
        /// What was computed.
        operation: &'static str,
        /// The matrix, counted from 0.
        matrix: usize,
        /// Its largest sum of absolute values in a row.
        norm: f64,
    },
}
