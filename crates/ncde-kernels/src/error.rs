//! The errors of this crate: what was found, what was expected and what to try.

use ncde_simd::Float;
use rayon::prelude::*;

/// The numbers that one task checks.
const PIECE: usize = 1 << 15;

/// The error of every fallible function of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A structure that does not exist.
    #[error("{structure}: {problem}")]
    Structure {
        /// Which structure.
        structure: &'static str,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// An array of the wrong size.
    #[error("{operation}: {what} holds {seen} numbers, but {wanted} = {meaning} are needed")]
    Size {
        /// What was computed.
        operation: &'static str,
        /// Which array.
        what: &'static str,
        /// Its length.
        seen: usize,
        /// The length it should have.
        wanted: usize,
        /// How that is made up.
        meaning: String,
    },

    /// A batch without steps.
    #[error("{operation}: the batch has {what} 0; at least 1 is needed")]
    Empty {
        /// What was computed.
        operation: &'static str,
        /// Which size.
        what: &'static str,
    },

    /// A length outside the batch.
    #[error("{operation}: series {series} has length {length}, but lengths lie between 1 and {longest}, the length of the batch")]
    Length {
        /// What was computed.
        operation: &'static str,
        /// The series, counted from 0.
        series: usize,
        /// Its length.
        length: usize,
        /// The length of the batch.
        longest: usize,
    },

    /// A number that is NaN or infinite in the input.
    #[error("{operation}: {what} holds {value} at {place}; remove or fill such values first")]
    NotFinite {
        /// What was computed.
        operation: &'static str,
        /// Which array.
        what: &'static str,
        /// What was found.
        value: f64,
        /// Where.
        place: String,
    },

    /// Finite input whose state is too large for the number type.
    #[error(
        "the state of the {structure} recurrence overflows at step {step} of series {series}; \
         scale the input or A down, use smaller steps, or compute in f64"
    )]
    Exploded {
        /// Which structure.
        structure: &'static str,
        /// The first step without a finite state, counted from 0.
        step: usize,
        /// The series, counted from 0.
        series: usize,
    },

    /// Finite input and states, but a gradient that is too large.
    #[error(
        "the gradient of the {structure} recurrence overflows, in series {series}; scale the loss, the input or A down, or compute in f64"
    )]
    GradientExploded {
        /// Which structure.
        structure: &'static str,
        /// The series, counted from 0.
        series: usize,
    },

    /// A stage of a neural solve that reads a row its control does not have.
    #[error(
        "{operation}: stage {stage} of step {step} of series {series} reads row {row}, but controls have {rows} rows, counted from 0; \
         give more rows, or point steps of length 0 at row 0"
    )]
    Row {
        /// What was computed.
        operation: &'static str,
        /// The series, counted from 0.
        series: usize,
        /// The step, counted from 0.
        step: usize,
        /// The stage, counted from 0.
        stage: usize,
        /// The row it reads.
        row: usize,
        /// How many there are.
        rows: usize,
    },

    /// Outputs of a neural solve after a step that does not exist, or in the wrong order.
    #[error(
        "{operation}: output {place} of series {series} is wanted after step {step}; outputs must be ascending, and there are {steps} \
         steps, counted from 0"
    )]
    Output {
        /// What was computed.
        operation: &'static str,
        /// The series, counted from 0.
        series: usize,
        /// Which of its outputs, counted from 0.
        place: usize,
        /// The step it asks for.
        step: usize,
        /// How many steps there are.
        steps: usize,
    },

    /// Finite input whose state is too large for the number type.
    #[error(
        "the state of series {series} overflows in step {step} of the neural solve, driven by row {row} of its control; \
         scale the control or the parameters down, use smaller steps, bound the field with a last tanh, or compute in f64"
    )]
    SolveExploded {
        /// The series, counted from 0.
        series: usize,
        /// The first step without a finite state, counted from 0.
        step: usize,
        /// The row of the control that its first stage reads: where in time it happened.
        row: usize,
    },

    /// Finite input and states, but a gradient that is too large.
    #[error(
        "the gradient of the neural solve overflows{}; scale the loss or the control down, use smaller steps, or compute in f64",
        .series.map(|series| format!(" in series {series}")).unwrap_or_default()
    )]
    SolveGradientExploded {
        /// The first series with such a gradient, counted from 0, if it shows in one.
        series: Option<usize>,
    },

    /// A parallel scan over products that leave the structure.
    #[error(
        "{structure} matrices are not closed under products, so their flows cannot be scanned in parallel; \
         use mode `recurrent` or `auto`"
    )]
    NotClosed {
        /// Which structure.
        structure: &'static str,
    },

    /// An operation that these structures or settings do not have.
    #[error("{operation}: {problem}")]
    Unsupported {
        /// What was asked for.
        operation: &'static str,
        /// Why not, and what to try.
        problem: String,
    },
}

/// Checks the length of an array.
pub(crate) fn want(
    operation: &'static str,
    what: &'static str,
    seen: usize,
    wanted: usize,
    meaning: impl FnOnce() -> String,
) -> Result<(), Error> {
    if seen == wanted { Ok(()) } else { Err(Error::Size { operation, what, seen, wanted, meaning: meaning() }) }
}

/// Checks the length of an array, the product of its sizes; `#` in the name of a size stands for the number.
pub(crate) fn want_shape(operation: &'static str, what: &'static str, seen: usize, shape: &[(&str, usize)]) -> Result<(), Error> {
    let meaning = || shape.iter().map(|(name, size)| name.replace('#', &size.to_string())).collect::<Vec<_>>().join(" x ");
    want(operation, what, seen, shape.iter().map(|(_, size)| size).product(), meaning)
}

/// Refuses sizes of 0.
pub(crate) fn want_some(operation: &'static str, sizes: &[(&'static str, usize)]) -> Result<(), Error> {
    sizes.iter().find(|(_, size)| *size == 0).map_or(Ok(()), |&(what, _)| Err(Error::Empty { operation, what }))
}

/// Checks the lengths of the series of a batch.
pub(crate) fn want_lengths(
    operation: &'static str,
    lengths: Option<&[usize]>,
    batch: usize,
    longest: usize,
) -> Result<(), Error> {
    let Some(lengths) = lengths else { return Ok(()) };
    want_shape(operation, "the list of lengths", lengths.len(), &[("batch #", batch)])?;
    match lengths.iter().position(|&length| length == 0 || length > longest) {
        None => Ok(()),
        Some(series) => Err(Error::Length { operation, series, length: lengths[series], longest }),
    }
}

/// Refuses states that are not finite, `[batch, length, width]`.
pub(crate) fn finite_states<T: Float>(structure: &'static str, states: &[T], length: usize, width: usize) -> Result<(), Error> {
    first_not_finite(states).map_or(Ok(()), |i| {
        let row = i / width;
        Err(Error::Exploded { structure, step: row % length, series: row / length })
    })
}

/// Refuses gradients that are not finite, one row for each series.
pub(crate) fn finite_gradients<T: Float>(structure: &'static str, batch: usize, gradients: &[&[T]]) -> Result<(), Error> {
    let series_of = |array: &&[T]| first_not_finite(array).map(|i| i / (array.len() / batch));
    let series = gradients.iter().filter_map(series_of).min();
    series.map_or(Ok(()), |series| Err(Error::GradientExploded { structure, series }))
}

/// Refuses NaN and infinities.
pub(crate) fn finite<T: Float>(
    operation: &'static str,
    what: &'static str,
    values: &[T],
    place: impl Fn(usize) -> String,
) -> Result<(), Error> {
    let Some(first) = first_not_finite(values) else { return Ok(()) };
    Err(Error::NotFinite { operation, what, value: values[first].to_f64(), place: place(first) })
}

pub(crate) fn first_not_finite<T: Float>(values: &[T]) -> Option<usize> {
    // A step of a stream has few numbers: starting other threads would take longer than checking them.
    let piece = match values.len() {
        ..=PIECE if row_is_finite(values) => return None,
        ..=PIECE => 0,
        _ => values.par_chunks(PIECE).position_first(|piece| !row_is_finite(piece))? * PIECE,
    };
    values[piece..].iter().position(|x| !x.is_finite()).map(|i| piece + i)
}

pub(crate) fn all_finite<T: Float>(values: &[T]) -> bool {
    values.par_chunks(PIECE).all(row_is_finite)
}

pub(crate) fn row_is_finite<T: Float>(row: &[T]) -> bool {
    // Without a short cut the test vectorises.
    row.iter().fold(true, |all, x| all & x.is_finite())
}
