//! How a call is cut: a pure function of shapes and of what the device is.

use super::{Acts, Cube};

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// What a kernel is compiled for.
    pub(crate) cube: Cube,
    /// Steps of all series whose numbers are in memory at once.
    pub(crate) slab: usize,
}

/// What a device can do: units and bytes of shared memory of a cube, bytes of a slab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) units: usize,
    pub(crate) shared: usize,
    pub(crate) slab: usize,
}

/// The most units of a cube, and the most states that one of them has.
const MOST: usize = 512;
const EACH: usize = 16;

impl Cut {
    /// Nothing where a cube has no room for the state of a series. A step of the batch takes so many numbers.
    pub(crate) fn new(acts: Acts, hidden: usize, (numbers, length): (usize, usize), room: Room) -> Option<Self> {
        // A unit of a transform has four states.
        let wanted = if acts == Acts::Hadamard { hidden.div_ceil(4) } else { hidden };
        let cube = Cube { acts, hidden, units: wanted.next_multiple_of(32).min(MOST).min(room.units) };
        let slab = (room.slab / (numbers * size_of::<f32>()).max(1)).clamp(1, length.max(1));
        (cube.units > 0 && cube.bytes() <= room.shared && cube.each() <= EACH).then_some(Self { cube, slab })
    }

    /// The slabs: the first step, and how many.
    pub(crate) fn slabs(self, length: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        (0..length.div_ceil(self.slab)).map(move |i| (i * self.slab, self.slab.min(length - i * self.slab)))
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
                    let cut = Cut::new(Acts::Hadamard, 64, (numbers, length), Room { slab, ..ROOM }).unwrap();
                    let mut next = 0;
                    for (first, count) in cut.slabs(length) {
                        assert!(first == next && count > 0);
                        next += count;
                    }
                    assert_eq!(next, length);
                    assert!(cut.slab * numbers * 4 <= slab || cut.slab == 1, "{cut:?}");
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
        assert_eq!([cube(Acts::Hadamard, 1024, 1024).each(), cube(Acts::Sparse, 900, 256).each()], [4, 4]);
    }

    #[test]
    fn states_beyond_a_cube_have_no_cut() {
        let fits = |hidden, room| Cut::new(Acts::Hadamard, hidden, (1, 1), room).is_some();
        assert!(fits(8192, ROOM) && !fits(16384, ROOM));
        assert!(!fits(1024, Room { shared: 2 << 10, ..ROOM }) && !fits(1024, Room { units: 32, ..ROOM }));
    }
}
