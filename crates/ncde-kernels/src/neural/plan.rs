//! The groups of samples that are solved together: a function of the shapes alone, so that results do not depend on the number of threads.

use std::ops::Range;

use super::Depth;
use crate::shards::ranges;

/// The most samples that are solved together: enough rows for the matrix products, few enough that their arrays and the weights stay in
/// the second-level cache. At depth 2 each sample brings a row for each channel; with many channels the last layer no
/// longer fits, and more samples should share each pass over it.
fn together(depth: Depth, channels: usize) -> usize {
    match depth {
        Depth::Two if channels <= MAX_CHANNELS_OF_SMALL_GROUPS => 8,
        _ => 16,
    }
}

/// The most channels for which 8 samples are solved together at depth 2.
const MAX_CHANNELS_OF_SMALL_GROUPS: usize = 16;

/// The least samples of a batch that is cut into at least two groups.
const MIN_SAMPLES_TO_CUT: usize = 8;

/// Consecutive samples that are solved together.
pub(crate) fn groups(batch: usize, depth: Depth, channels: usize) -> Vec<Range<usize>> {
    let least = if batch >= MIN_SAMPLES_TO_CUT { 2 } else { 1 };
    ranges(batch, batch.div_ceil(together(depth, channels)).max(least))
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
            }
        }
        assert_eq!(groups(32, Depth::One, 6), [0..16, 16..32]);
        assert_eq!([groups(32, Depth::Two, 6).len(), groups(32, Depth::Two, 62).len()], [4, 2]);
    }
}
