//! Numbers for timings, by seed and place.

use ncde_runtime::random::Stream;

/// The `i`-th of a stream of standard normal numbers.
pub(super) fn normal(seed: u64, i: u64) -> f64 {
    Stream::from_key(seed).normal(i)
}

/// The `i`-th of a stream of uniform numbers.
pub(super) fn uniform(seed: u64, i: u64) -> f64 {
    Stream::from_key(seed).uniform(i)
}
