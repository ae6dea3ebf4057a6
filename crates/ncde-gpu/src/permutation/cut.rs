//! How a call is cut: a pure function of shapes and of what the device is.

use super::PermutationDiagonal;
use crate::kernel::permutation::entries::lines_per_unit;
use crate::kernel::permutation::lines::{STEPS, bytes, together};
use crate::plan::Limits;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Units of a series.
    pub(crate) units: usize,
    /// Lines that a cube mixes for its steps.
    pub(crate) lines: usize,
    /// Steps of a part of the gradient of the dictionary.
    pub(crate) steps: usize,
}

/// The most units of a series: more states than that share them.
const MAX_UNITS: usize = 512;

/// A part of the gradient of the dictionary has at least so many steps.
const SHORTEST: usize = 16;

impl Cut {
    /// None where a cube has no room for the states of a series, or for four entries of all matrices. The last two: units and bytes of a cube.
    pub(crate) fn new(of: &PermutationDiagonal, steps: usize, limits: Limits, units: usize, shared: usize) -> Option<Self> {
        let dictionary = of.dictionary() * size_of::<f32>();
        // Units that work for half the device: the other half are those that wait for memory meanwhile.
        let busy = limits.units / 2;
        let together = together(*of);
        let groups = (busy / (steps.div_ceil(STEPS) * STEPS).max(1)).clamp(1, of.hidden.max(1));
        let of_split = of.hidden * of.hidden.div_ceil(lines_per_unit(*of));
        let most = (limits.slab / dictionary.max(1)).min(steps.div_ceil(SHORTEST)).max(1);
        let splits = busy.div_ceil(of_split.max(1)).clamp(1, most);
        let cut = Self {
            units: of.hidden.next_multiple_of(32).min(MAX_UNITS).min(units),
            // Rounded down: with more lines for each cube there would be too few cubes to keep the device busy.
            lines: (of.hidden / groups / together * together).max(together),
            steps: steps.div_ceil(splits).max(1),
        };
        (Self::bytes(of) <= shared && units >= STEPS).then_some(cut)
    }

    /// Bytes of shared memory: what states send, and where to, twice; or entries of all matrices.
    pub(crate) fn bytes(of: &PermutationDiagonal) -> usize {
        (2 * (of.width() + of.hidden) * size_of::<f32>()).max(bytes(*of))
    }

    /// Groups of lines.
    pub(crate) fn groups(self, of: &PermutationDiagonal) -> usize {
        of.hidden.div_ceil(self.lines)
    }

    /// Parts of the gradient of the dictionary.
    pub(crate) fn splits(self, steps: usize) -> usize {
        steps.div_ceil(self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Diagonal, OneHot};
    use super::*;

    fn of(hidden: usize) -> PermutationDiagonal {
        PermutationDiagonal { hidden, matrices: 8, diagonal: Diagonal::Complex, one_hot: OneHot::Columns, input: true }
    }

    #[test]
    fn every_line_and_step_is_in_one_part_that_memory_holds() {
        for hidden in [1, 5, 128, 512] {
            for steps in [1, 40, 10_240, 1_310_720] {
                for (units, slab) in [(1, 1), (1 << 12, 1 << 22), (132 << 11, 1 << 28)] {
                    let of = of(hidden);
                    let cut = Cut::new(&of, steps, Limits { units, slab }, 1024, 48 << 10).unwrap();
                    let (groups, splits) = (cut.groups(&of), cut.splits(steps));
                    assert!(groups * cut.lines >= hidden && (groups - 1) * cut.lines < hidden, "{cut:?}");
                    assert!(splits * cut.steps >= steps && (splits - 1) * cut.steps < steps, "{cut:?}");
                    assert!(splits * of.dictionary() * 4 <= slab || splits == 1, "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn a_large_device_is_kept_busy_by_a_batch_of_tokens() {
        let (of, steps) = (of(128), 256 * 40);
        let cut = Cut::new(&of, steps, Limits { units: 132 << 11, slab: 1 << 28 }, 1024, 48 << 10).unwrap();
        assert!(steps * cut.groups(&of) >= 128 << 10, "{cut:?}");
        assert!(cut.splits(steps) * 128 * 128 / lines_per_unit(of) >= 128 << 10, "{cut:?}");
    }

    #[test]
    fn units_follow_states_and_the_device() {
        let units = |hidden, most| Cut::new(&of(hidden), 1, Limits::default(), most, 48 << 10).unwrap().units;
        assert_eq!([units(1, 1024), units(33, 1024), units(1500, 1024), units(512, 256)], [32, 64, 512, 256]);
    }

    #[test]
    fn states_beyond_shared_memory_have_no_cut() {
        assert!(Cut::new(&of(1024), 1, Limits::default(), 1024, 24 << 10).is_some());
        assert!(Cut::new(&of(1025), 1, Limits::default(), 1024, 24 << 10).is_none());
    }
}
