//! Shards: consecutive parts of a batch with a gradient sum of their own. They depend on sizes alone, and sums are added in order, so that
//! results do not depend on the number of threads.

use std::ops::Range;

/// The most shards of a batch, and the most bytes of all their sums.
const MAX_SHARDS: usize = 16;
const MAX_BYTES: usize = 1 << 28;

/// The shards of `count` items, where the gradient sum of a shard takes `bytes`.
pub(crate) fn shards(count: usize, bytes: usize) -> Vec<Range<usize>> {
    ranges(count, (MAX_BYTES / bytes.max(1)).clamp(1, MAX_SHARDS).min(count))
}

/// `0..count` as `pieces` consecutive ranges of nearly equal lengths.
pub(crate) fn ranges(count: usize, pieces: usize) -> Vec<Range<usize>> {
    (0..pieces).map(|i| count * i / pieces..count * (i + 1) / pieces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_the_batch_once() {
        for (batch, bytes) in [(1, 8), (5, 8), (100, 8), (7, 1 << 26), (7, 1 << 27), (7, 1 << 40)] {
            let shards = shards(batch, bytes);
            assert_eq!(shards.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..batch).collect::<Vec<_>>());
            assert!(shards.len() <= MAX_SHARDS && (shards.len() == 1 || shards.len() * bytes <= MAX_BYTES));
        }
    }
}
