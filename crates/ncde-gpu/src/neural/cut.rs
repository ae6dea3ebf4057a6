//! How a solve is cut: a pure function of shapes and of what the device is.

use super::shape::{FOUR, Shape};

/// Units of a cube, which has one series: enough that all weights of a layer are on their way at once.
const UNITS: usize = 512;

/// Fours of shared memory for parts of sums, where there is room: more of them are more units at work on a layer, but more to add up.
const ROOM: usize = 1536;

/// The most bytes of a slab: what stages leave for their reverse pass.
const SLAB: usize = 1 << 28;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// Units of a cube.
    pub(crate) units: usize,
    /// Fours for parts of sums.
    pub(crate) room: usize,
}

/// How a product of a few vectors with a matrix is cut among the units of a cube: a unit has a column of fours and some steps of the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    /// Columns, in fours.
    pub(crate) lanes: usize,
    /// Steps of the sum, in fours.
    pub(crate) steps: usize,
    /// Vectors that share the matrix.
    pub(crate) vectors: usize,
    /// Pieces of the sum.
    pub(crate) splits: usize,
    /// Steps of a piece.
    pub(crate) each: usize,
}

impl Sum {
    pub(crate) fn new(lanes: usize, steps: usize, vectors: usize, cut: Cut) -> Self {
        let most = (cut.units / lanes).min(cut.room / (vectors * lanes)).min(steps).max(1);
        let each = steps.div_ceil(most);
        Self { lanes, steps, vectors, splits: steps.div_ceil(each), each }
    }

    /// Fours of results.
    pub(crate) fn results(&self) -> usize {
        self.lanes * self.vectors
    }
}

impl Cut {
    /// Nothing where a cube has no room for a series. Limits: units and bytes of a cube.
    pub(crate) fn new(shape: &Shape, units: usize, shared: usize) -> Option<Self> {
        let units = UNITS.min(units) / 32 * 32;
        let own = |room: usize| walk(shape, room).max(back(shape, room)) * FOUR * size_of::<f32>();
        let least = least(shape);
        let room = [ROOM.max(least), least].into_iter().find(|&room| own(room) <= shared)?;
        (units > 0).then_some(Self { units, room })
    }

    /// Bytes of the least shared memory that a series needs.
    pub(crate) fn least(shape: &Shape) -> usize {
        walk(shape, least(shape)).max(back(shape, least(shape))) * FOUR * size_of::<f32>()
    }

    /// Steps of a slab.
    pub(crate) fn slab(shape: &Shape, batch: usize, steps: usize, most: usize) -> usize {
        (SLAB.min(most) / (shape.bytes() * shape.stages * batch).max(1)).clamp(1, steps.max(1))
    }
}

/// Fours of the largest result of a product.
fn least(shape: &Shape) -> usize {
    shape.all().max(shape.tangents().max(1) * shape.widest())
}

/// Fours of shared memory of the way forwards: values, tangents, `f`, slopes, stages and state, coefficients, the method.
fn walk(shape: &Shape, room: usize) -> usize {
    let &Shape { channels, stages, .. } = shape;
    let small = (channels * (channels + 1) + stages * (stages + 1)).div_ceil(FOUR) + 2;
    let tangents = shape.tangents() * shape.widest() + shape.hidden_outputs() + 2;
    room + shape.widest() + tangents + shape.all() + (stages + 1) * shape.h() + small
}

/// Fours of shared memory of the way back: the record, gradients of values and tangents, what tangents add, biases, stages, coefficients, the method.
fn back(shape: &Shape, room: usize) -> usize {
    let &Shape { channels, stages, .. } = shape;
    let small = (channels * (channels + 1) + stages * (stages + 1)).div_ceil(FOUR) + 2;
    let tangents = 2 * shape.tangents() * shape.widest() + shape.hidden_outputs() + 3;
    room + shape.record() + shape.widest().max(shape.all()) + tangents + shape.biases() + (stages + 2) * shape.h() + small
}

#[cfg(test)]
mod tests {
    use super::super::shape::tests::shape;
    use super::*;

    #[test]
    fn every_step_of_a_sum_is_in_one_piece_and_pieces_have_room() {
        for (lanes, steps, vectors) in [(1, 1, 1), (32, 32, 6), (96, 32, 1), (32, 96, 1), (16, 32, 7), (700, 33, 1), (3, 2, 3)] {
            for cut in [Cut { units: 512, room: 1536 }, Cut { units: 32, room: 1536 }, Cut { units: 512, room: 700 }] {
                let sum = Sum::new(lanes, steps, vectors, cut);
                assert!(sum.splits * sum.each >= steps && (sum.splits - 1) * sum.each < steps, "{sum:?}");
                assert!(sum.splits == 1 || (sum.splits * sum.results() <= cut.room && sum.splits * lanes <= cut.units), "{sum:?}");
            }
        }
        assert_eq!(Sum::new(32, 32, 1, Cut { units: 512, room: 1536 }).splits, 16);
        assert_eq!(Sum::new(32, 32, 6, Cut { units: 512, room: 1536 }).splits, 8);
    }

    #[test]
    fn shared_memory_decides() {
        let large = shape(64, 6, &[128, 128, 128], true);
        let wide = Cut::new(&large, 1024, 227 << 10).unwrap();
        assert_eq!((wide.units, wide.room), (512, 1536));
        assert_eq!(Cut::new(&large, 256, 32 << 10).unwrap(), Cut { units: 256, room: 192 });
        assert!(Cut::new(&large, 256, 16 << 10).is_none() && Cut::least(&large) > 16 << 10);
        assert!(Cut::new(&shape(64, 6, &[128, 128, 128], false), 256, 16 << 10).is_some());
    }

    #[test]
    fn slabs_have_a_step_at_least_and_all_at_most() {
        let large = shape(64, 6, &[128, 128, 128], true);
        assert_eq!(Cut::slab(&large, 32, 500, 1), 1);
        assert_eq!(Cut::slab(&large, 1, 20, usize::MAX), 20);
        let slab = Cut::slab(&large, 32, 500, usize::MAX);
        assert!((50..200).contains(&slab) && slab * 2 * 32 * large.bytes() <= SLAB, "{slab}");
    }
}
