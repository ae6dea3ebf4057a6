//! Which axis of an array is time: `[cases, length, channels]`, or `[cases, channels, length]` as many sets of series have it.
//!
//! What the caller says, else what other arrays leave open: times, names of channels, lengths and labels of observations have the
//! size of one of the two. If they leave both open, the last axis is time where it is much longer.

use super::super::ReadOptions;
use super::Arrays;
use crate::Warning;
use crate::npy::{Array, Data};

/// A last axis so much longer than the one before it, and as long, is time.
const RATIO: usize = 8;
const MIN_LENGTH: usize = 64;

/// Brings the values into the order `[cases, length, channels]`; what was guessed.
pub(super) fn arrange(arrays: &mut Arrays, options: &ReadOptions) -> Option<Warning> {
    let [cases, middle, last] = arrays.values.1.shape[..] else { return None };
    let said = options.columns.channels_first;
    let (as_is, turned) = (fits(arrays, cases, middle, last), fits(arrays, cases, last, middle));
    let is_longer = last >= MIN_LENGTH && last / RATIO >= middle;
    let channels_first = said.unwrap_or(match (as_is, turned) {
        (true, false) | (false, false) => false,
        (false, true) => true,
        (true, true) => is_longer,
    });
    if !channels_first {
        return None;
    }
    arrays.values.1 = turned_over(&arrays.values.1, [cases, middle, last]);
    let name = if arrays.values.0.is_empty() { "the array".into() } else { format!("array `{}`", arrays.values.0) };
    let seen = format!("{name} of shape [{cases}, {middle}, {last}] is read as [cases, channels, length]");
    let fix = "say so with `--channels-first true`, or `--channels-first false` if it is [cases, length, channels]";
    said.is_none().then(|| Warning::new(seen, fix))
}

/// Whether the other arrays have the sizes of so many observations and channels.
fn fits(arrays: &Arrays, cases: usize, length: usize, channels: usize) -> bool {
    let shape = |array: Option<&(String, Array)>| array.map(|(_, array)| array.shape.clone());
    let times = match shape(arrays.times.as_ref()).as_deref() {
        Some(&[of_times] | &[_, of_times]) => of_times == length,
        _ => true,
    };
    let labels = match shape(arrays.labels.as_ref()).as_deref() {
        Some(&[of_cases, 1]) if of_cases == cases => true,
        Some(&[_, of_labels]) => of_labels == length,
        _ => true,
    };
    let names = arrays.channels.as_ref().is_none_or(|names| names.len() == channels);
    let lengths = arrays.lengths.as_ref().is_none_or(|lengths| match &lengths.data {
        Data::Int(lengths) => lengths.iter().all(|&of_case| usize::try_from(of_case).is_ok_and(|of_case| of_case <= length)),
        _ => true,
    });
    times && labels && names && lengths
}

/// The last two axes in the other order.
fn turned_over(array: &Array, [cases, middle, last]: [usize; 3]) -> Array {
    fn turned<T: Clone>(entries: &[T], [cases, middle, last]: [usize; 3]) -> Vec<T> {
        let places =
            (0..cases).flat_map(|case| (0..last).flat_map(move |k| (0..middle).map(move |i| (case * middle + i) * last + k)));
        places.map(|place| entries[place].clone()).collect()
    }
    let sizes = [cases, middle, last];
    let data = match &array.data {
        Data::F32(entries) => Data::F32(turned(entries, sizes)),
        Data::F64(entries) => Data::F64(turned(entries, sizes)),
        Data::Int(entries) => Data::Int(turned(entries, sizes)),
        Data::Text(entries) => Data::Text(turned(entries, sizes)),
    };
    Array { shape: vec![cases, last, middle], data }
}
