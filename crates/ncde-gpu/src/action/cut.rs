//! How a call is cut: a pure function of shapes and of what the device is.

use super::{Acts, Cube, LowRank};
use crate::call::Slab;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// What a kernel is compiled for.
    pub(crate) cube: Cube,
    pub(crate) steps: Steps,
}

/// Steps of all series whose numbers are in memory at once: so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps(usize);

impl Steps {
    /// A step of the batch takes so many numbers.
    pub(crate) fn new(numbers: usize, length: usize, room: Room) -> Self {
        Self((room.slab / (numbers * size_of::<f32>()).max(1)).clamp(1, length.max(1)))
    }

    /// The slabs of a call.
    pub(crate) fn slabs(self, length: usize) -> impl DoubleEndedIterator<Item = Slab> {
        (0..length.div_ceil(self.0)).map(move |i| (i * self.0, self.0.min(length - i * self.0)))
    }
}

/// What a device can do: units and bytes of shared memory of a cube, bytes of a slab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) units: usize,
    pub(crate) shared: usize,
    pub(crate) slab: usize,
}

/// The most units of a cube, and the most states that one of them has.
const MAX_UNITS: usize = 512;
const EACH: usize = 16;

impl Cut {
    /// None where a cube has no room for the state of a series. A step of the batch takes so many numbers.
    pub(crate) fn new(acts: Acts, hidden: usize, (numbers, length): (usize, usize), room: Room) -> Option<Self> {
        // A unit of a transform has four states.
        let wanted = if acts == Acts::Hadamard { hidden.div_ceil(4) } else { hidden };
        let cube = Cube { acts, hidden, units: wanted.next_multiple_of(32).min(MAX_UNITS).min(room.units) };
        let steps = Steps::new(numbers, length, room);
        (cube.units > 0 && cube.bytes() <= room.shared && cube.per_unit() <= EACH).then_some(Self { cube, steps })
    }
}

impl LowRank {
    /// None where a cube has no room for the state of a series and its products with all `v`.
    pub(crate) fn new(hidden: usize, channels: usize, rank: usize, room: Room) -> Option<Self> {
        let units = hidden.max(channels * rank).next_multiple_of(32).min(MAX_UNITS).min(room.units);
        let low_rank = Self { hidden, channels, rank, units };
        (units > 0 && low_rank.bytes() <= room.shared && low_rank.per_unit() <= EACH).then_some(low_rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { units: 1024, shared: 48 << 10, slab: 1 << 28 };

    #[test]
    fn every_step_is_in_one_slab_that_memory_holds() {
        for length in [1, 40, 5120] {
            for numbers in [7, 256 * 1024, 256 * 16384] {
                for slab in [1, 1 << 16, 1 << 28] {
                    let steps = Steps::new(numbers, length, Room { slab, ..ROOM });
                    let mut next = 0;
                    for (first, count) in steps.slabs(length) {
                        assert!(first == next && count > 0);
                        next += count;
                    }
                    assert_eq!(next, length);
                    assert!(steps.0 * numbers * 4 <= slab || steps.0 == 1, "{steps:?}");
                }
            }
        }
    }

    #[test]
    fn units_follow_states_and_the_device() {
        let cube = |acts, hidden, units| Cut::new(acts, hidden, (1, 1), Room { units, ..ROOM }).unwrap().cube;
        let units = |acts, hidden, units| cube(acts, hidden, units).units;
        assert_eq!([units(Acts::Hadamard, 4, 1024), units(Acts::Hadamard, 1024, 1024)], [32, 256]);
        assert_eq!(
            [units(Acts::Sparse, 33, 1024), units(Acts::Sparse, 900, 1024), units(Acts::Sparse, 900, 256)],
            [64, 512, 256]
        );
        assert_eq!([cube(Acts::Hadamard, 1024, 1024).per_unit(), cube(Acts::Sparse, 900, 256).per_unit()], [4, 4]);
    }

    #[test]
    fn states_beyond_a_cube_have_no_cut() {
        let fits = |hidden, room| Cut::new(Acts::Hadamard, hidden, (1, 1), room).is_some();
        assert!(fits(8192, ROOM) && !fits(16384, ROOM));
        assert!(!fits(1024, Room { shared: 2 << 10, ..ROOM }) && !fits(1024, Room { units: 32, ..ROOM }));
    }

    #[test]
    fn units_of_low_rank_follow_the_longer_of_both_products() {
        let units = |hidden, channels, rank| LowRank::new(hidden, channels, rank, ROOM).map(|low_rank| low_rank.units);
        assert_eq!([units(30, 7, 1), units(30, 31, 4), units(205, 206, 8)], [Some(32), Some(128), Some(512)]);
        assert_eq!(units(205, 7000, 8), None);
    }
}
