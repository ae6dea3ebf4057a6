//! How a call is cut: a pure function of shapes and of what the device is.

use super::PermutationDiagonal;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Units of a series.
    pub(crate) units: usize,
    /// Rows whose `M` is in memory at once.
    pub(crate) slab: usize,
}

/// The most units of a series: more states than that share them.
const MOST: usize = 512;

impl Cut {
    /// Nothing where a cube has no room for the states of a series. Limits: units and bytes of a cube, bytes of a slab.
    pub(crate) fn new(of: &PermutationDiagonal, rows: usize, units: usize, shared: usize, slab: usize) -> Option<Self> {
        let matrix = of.hidden * of.hidden * size_of::<f32>();
        let cut = Self {
            units: of.hidden.next_multiple_of(32).min(MOST).min(units),
            slab: (slab / matrix.max(1)).clamp(1, rows.max(1)),
        };
        (Self::bytes(of) <= shared && matrix <= u32::MAX as usize && cut.units > 0).then_some(cut)
    }

    /// Bytes of shared memory of a series: what states send, and where to, twice.
    pub(crate) fn bytes(of: &PermutationDiagonal) -> usize {
        2 * (of.width() + of.hidden) * size_of::<f32>()
    }

    /// The slabs: the first row, and how many.
    pub(crate) fn slabs(self, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..rows.div_ceil(self.slab)).map(move |i| (i * self.slab, self.slab.min(rows - i * self.slab)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Diagonal;
    use super::*;

    fn of(hidden: usize) -> PermutationDiagonal {
        PermutationDiagonal { hidden, matrices: 8, diagonal: Diagonal::Complex, input: true }
    }

    #[test]
    fn every_row_is_in_one_slab_that_memory_holds() {
        for hidden in [1, 5, 128, 512] {
            for rows in [1, 40, 10_240, 1_310_720] {
                for slab in [1, 1 << 16, 1 << 28] {
                    let cut = Cut::new(&of(hidden), rows, 1024, 48 << 10, slab).unwrap();
                    let mut next = 0;
                    for (first, count) in cut.slabs(rows) {
                        assert!(first == next && count > 0);
                        next += count;
                    }
                    assert_eq!(next, rows);
                    assert!(cut.slab * hidden * hidden * 4 <= slab || cut.slab == 1, "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn units_follow_states_and_the_device() {
        let units = |hidden, most| Cut::new(&of(hidden), 1, most, 48 << 10, 1 << 28).unwrap().units;
        assert_eq!([units(1, 1024), units(33, 1024), units(1500, 1024), units(512, 256)], [32, 64, 512, 256]);
    }

    #[test]
    fn states_beyond_shared_memory_have_no_cut() {
        assert!(Cut::new(&of(1024), 1, 1024, 24 << 10, 1 << 28).is_some());
        assert!(Cut::new(&of(1025), 1, 1024, 24 << 10, 1 << 28).is_none());
    }
}
