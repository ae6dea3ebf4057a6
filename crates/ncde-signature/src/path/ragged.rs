//! Series of different lengths, one after the other.
//!
//! `values` is `[length_0 + length_1 + ..., channels]`, row-major: no padding, so no sample of one series can
//! be taken for one of another. O(total size).

use super::Series;
use crate::{Error, Float};

/// The values of all series, one series after the other, and the length of each.
///
/// Takes [`Series`] or [`Observed`](super::Observed) series. The times are not copied.
///
/// ```
/// use ncde_signature::path::{Series, flatten};
/// let series = [Series::regular(vec![1.0, 2.0], 1)?, Series::regular(vec![3.0], 1)?];
/// assert_eq!(flatten(&series)?, (vec![1.0, 2.0, 3.0], vec![2, 1]));
/// # Ok::<(), ncde_signature::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::EmptySeries`] if there is no series, [`Error::Size`] if they differ in their channels.
pub fn flatten<T: Float, S: AsRef<Series<T>>>(series: &[S]) -> Result<(Vec<T>, Vec<usize>), Error> {
    let first = series.first().ok_or(Error::EmptySeries)?.as_ref();
    let mut values = Vec::new();
    let mut lengths = Vec::with_capacity(series.len());
    for (index, series) in series.iter().map(AsRef::as_ref).enumerate() {
        if series.channels() != first.channels() {
            return Err(Error::Size {
                operation: "flatten",
                what: format!("an observation of series {index}"),
                seen: series.channels(),
                wanted: first.channels(),
            });
        }
        values.extend_from_slice(series.values());
        lengths.push(series.length());
    }
    Ok((values, lengths))
}

impl<T> AsRef<Series<T>> for Series<T> {
    fn as_ref(&self) -> &Series<T> {
        self
    }
}

impl<T> AsRef<Series<T>> for super::Observed<T> {
    fn as_ref(&self) -> &Series<T> {
        self
    }
}
