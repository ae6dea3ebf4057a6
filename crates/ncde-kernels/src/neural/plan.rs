//! How a batch is cut into pieces, by its shapes alone, so that results do not depend on the number of threads.

use std::ops::Range;

use super::Depth;

/// The most samples that are solved together: enough rows for the matrix products, few enough that all they need stays in the
/// second-level cache beside the weights. At depth 2 each sample brings a row for each channel; with many channels the last layer no
/// longer fits, and more samples should share each pass over it.
fn together(depth: Depth, channels: usize) -> usize {
    match depth {
        Depth::Two if channels <= MAX_CHANNELS_OF_SMALL_GROUPS => 8,
        _ => 16,
    }
}

/// The most channels for which 8 samples are solved together at depth 2.
const MAX_CHANNELS_OF_SMALL_GROUPS: usize = 16;

/// The most sums of gradients that are kept apart, and the most memory for them.
const MAX_SHARDS: usize = 16;
const MAX_BYTES: usize = 1 << 28;

/// The least samples of a batch that is cut into at least two groups.
const MIN_SAMPLES_TO_CUT: usize = 8;

/// Consecutive samples that are solved together.
pub(crate) fn groups(batch: usize, depth: Depth, channels: usize) -> Vec<Range<usize>> {
    let least = if batch >= MIN_SAMPLES_TO_CUT { 2 } else { 1 };
    cut(batch, batch.div_ceil(together(depth, channels)).max(least))
}

/// Consecutive groups whose gradients, of `bytes` each, are summed up together.
pub(crate) fn shards(groups: usize, bytes: usize) -> Vec<Range<usize>> {
    cut(groups, (MAX_BYTES / bytes.max(1)).clamp(1, MAX_SHARDS).min(groups))
}

fn cut(all: usize, pieces: usize) -> Vec<Range<usize>> {
    (0..pieces).map(|i| all * i / pieces..all * (i + 1) / pieces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_batch_once() {
        for depth in [Depth::One, Depth::Two] {
            for batch in [1, 2, 7, 8, 31, 32, 33, 1000] {
                let groups = groups(batch, depth, 6);
                assert_eq!(groups.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..batch).collect::<Vec<_>>());
                assert!(groups.iter().all(|group| !group.is_empty() && group.len() <= together(depth, 6)));
                for bytes in [8, 1 << 26, 1 << 40] {
                    let shards = shards(groups.len(), bytes);
                    assert_eq!(shards.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..groups.len()).collect::<Vec<_>>());
                    assert!(shards.len() == 1 || shards.len() * bytes <= MAX_BYTES);
                }
            }
        }
        assert_eq!(groups(32, Depth::One, 6), [0..16, 16..32]);
        assert_eq!([groups(32, Depth::Two, 6).len(), groups(32, Depth::Two, 62).len()], [4, 2]);
    }
}
