//! How a batch of intervals is cut into tasks: a pure function of shapes, so that results never depend on threads.
//!
//! Lanes pay when the state of all lanes stays in a core's cache; beyond that, one path at a time does, with its loops along
//! words. Both give the same values to the last bit; reverse passes sum in different orders, so gradients agree to rounding.

use ncde_simd::Float;

/// The most bytes of a state in lanes, a part of a core's cache.
const LANES_BYTES: usize = 1 << 17;

/// The same for a forward pass, which reads most of the state once in four steps, if there are at least [`FORWARD_GROUPS`] groups of lanes.
const FORWARD_BYTES: usize = 1 << 19;
const FORWARD_GROUPS: usize = 4;

/// The least multiply-adds of a task: smaller tasks cost more to schedule than they gain.
const TASK_WORK: usize = 1 << 18;

/// One number per element, or several paths side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Words,
    Lanes,
}

/// The layout for `intervals` intervals with `len` coordinates.
pub(crate) fn layout<T: Float>(intervals: usize, len: usize) -> Layout {
    let lanes = 64 / size_of::<T>();
    if intervals >= lanes / 2 && len * lanes * size_of::<T>() <= LANES_BYTES { Layout::Lanes } else { Layout::Words }
}

/// The same for a forward pass that stores only the last state.
pub(crate) fn forward_layout<T: Float>(intervals: usize, len: usize) -> Layout {
    let lanes = 64 / size_of::<T>();
    let fits = intervals >= FORWARD_GROUPS * lanes && len * lanes * size_of::<T>() <= FORWARD_BYTES;
    if fits { Layout::Lanes } else { layout::<T>(intervals, len) }
}

/// The number of intervals of a task, a multiple of `width`.
pub(crate) fn task(intervals: usize, width: usize, steps: usize, len: usize) -> usize {
    let one = (2 * steps * len).max(1);
    let wanted = TASK_WORK.div_ceil(one).min(intervals.max(1));
    wanted.div_ceil(width) * width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shapes_go_in_lanes_and_large_ones_do_not() {
        assert_eq!(layout::<f32>(32 * 1499, 56), Layout::Lanes);
        assert_eq!(layout::<f32>(128, 5460), Layout::Words);
        assert_eq!(layout::<f64>(3, 6), Layout::Words);
        assert_eq!(forward_layout::<f32>(128, 5460), Layout::Lanes);
        assert_eq!(forward_layout::<f32>(63, 5460), Layout::Words);
        assert_eq!(forward_layout::<f64>(128, 19607), Layout::Words);
        assert_eq!(forward_layout::<f32>(8, 56), Layout::Lanes);
    }

    #[test]
    fn tasks_are_whole_groups() {
        assert_eq!(task(48_000, 16, 12, 56) % 16, 0);
        assert_eq!(task(128, 1, 255, 5460), 1);
        assert_eq!(task(0, 16, 0, 6), 16);
    }
}
