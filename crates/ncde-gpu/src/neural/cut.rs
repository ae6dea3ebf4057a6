//! How a solve is cut: a pure function of shapes and of what the device is.
//!
//! | piece | what | why |
//! | --- | --- | --- |
//! | cube | a series | steps follow each other; nothing is launched between them |
//! | unit | four columns of a weight and a piece of its rows | neighbouring units read neighbouring numbers, and each weight is always the same unit's |
//! | slab | steps that are differentiated together | what their stages leave is in memory at once |

use super::MAX_LAYERS;
use super::shape::{FOUR, Shape};

/// Units of a cube: few, so that each has registers for many weights.
const UNITS: usize = 256;

/// Fours of shared memory for parts of sums, where there is room: more of them are more units at work on a layer, but more to add up.
const ROOM: usize = 1536;

/// Fours of weights that a unit keeps in registers through all steps. A unit has 255 numbers in all, and needs about 90 to compute.
const REGISTERS: usize = 40;

/// Fours of shared memory that are left free: arrays begin at multiples of some bytes.
const SPARE: usize = 32;

/// The most bytes of a slab: what stages leave for their reverse pass.
const SLAB: usize = 1 << 28;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// Units of a cube.
    pub(crate) units: usize,
    /// Fours for parts of sums.
    pub(crate) room: usize,
    /// Fours of weights in shared memory, forwards and back.
    pub(crate) near: [usize; 2],
}

/// Which way weights are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// `x W`.
    Forward,
    /// `z W^T`.
    Back,
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
    pub(crate) per_piece: usize,
}

/// Where the weights of a layer are: of its steps a unit has the first ones in registers, the next in shared memory, and reads the others each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Hold {
    /// Steps in registers, and the first of their fours.
    pub(crate) registers: usize,
    pub(crate) register: usize,
    /// Steps in shared memory, and the first of their fours.
    pub(crate) near: usize,
    pub(crate) place: usize,
}

impl Sum {
    /// `most` vectors at a time have room.
    fn new(lanes: usize, steps: usize, vectors: usize, most: usize, cut: Cut) -> Self {
        let most = (cut.units / lanes).min(cut.room / (most * lanes)).min(steps).max(1);
        let per_piece = steps.div_ceil(most);
        Self { lanes, steps, vectors, splits: steps.div_ceil(per_piece), per_piece }
    }

    /// So many vectors through layer `l`. Values and tangents are cut alike, so that a weight is always the same unit's.
    pub(crate) fn of(shape: &Shape, way: Way, l: usize, vectors: usize, cut: Cut) -> Self {
        let most = if l < shape.top { shape.tangents().max(1) } else { 1 };
        match way {
            Way::Forward => Self::new(shape.outputs(l), shape.inputs(l), vectors, most, cut),
            // Tangents of the last layer meet the block of their channel, and so do the blocks of values.
            Way::Back if l == shape.top && shape.brackets => Self::new(shape.channels * shape.inputs(l), shape.h(), 1, 1, cut),
            Way::Back => Self::new(shape.inputs(l), shape.outputs(l), vectors, most, cut),
        }
    }

    /// The same parts, those of all blocks of a column added.
    pub(crate) fn over_blocks(self, blocks: usize) -> Self {
        Self { lanes: self.lanes / blocks, splits: self.splits * blocks, ..self }
    }

    /// Fours of results.
    pub(crate) fn results(&self) -> usize {
        self.lanes * self.vectors
    }

    /// Units that have something to do.
    pub(crate) fn tasks(&self) -> usize {
        self.lanes * self.splits
    }
}

impl Hold {
    /// Where the weights of each layer are: those of hidden layers, which all tangents use, in registers as far as there are any; then the last layer in shared memory, then what is left of the others.
    pub(crate) fn all(shape: &Shape, way: Way, cut: Cut) -> [Self; MAX_LAYERS + 1] {
        let mut all = [Self::default(); MAX_LAYERS + 1];
        let sum = |l: usize| Sum::of(shape, way, l, 1, cut);
        // Where units have several pieces, none is held.
        let layers = || (0..=shape.top).rev().filter(|&l| sum(l).tasks() <= cut.units);
        let mut register = 0;
        for l in layers().filter(|&l| l < shape.top) {
            let registers = sum(l).per_piece.min((REGISTERS - register) / FOUR);
            all[l] = Self { registers, register, ..Self::default() };
            register += FOUR * registers;
        }
        let mut place = 0;
        for l in layers() {
            let near = (sum(l).per_piece - all[l].registers).min((cut.near(way) - place) / (FOUR * sum(l).tasks()));
            all[l] = Self { near, place, ..all[l] };
            place += FOUR * near * sum(l).tasks();
        }
        all
    }

    /// Fours of registers of all layers.
    pub(crate) fn registers(shape: &Shape, way: Way, cut: Cut) -> usize {
        FOUR * Self::all(shape, way, cut).iter().map(|hold| hold.registers).sum::<usize>()
    }
}

impl Cut {
    /// None where a cube has no room for a series. Limits: units and bytes of a cube.
    pub(crate) fn new(shape: &Shape, units: usize, shared: usize) -> Option<Self> {
        let (units, fours) = (UNITS.min(units) / 32 * 32, shared / (FOUR * size_of::<f32>()));
        let needed = |room: usize| [walk(shape, room), back(shape, room)];
        let fits = |room: &usize| needed(*room).into_iter().all(|needed| needed <= fours);
        let room = [ROOM.max(least(shape)), least(shape)].into_iter().find(fits)?;
        let near = needed(room).map(|needed| (fours - needed).min(shape.weights()));
        (units > 0).then_some(Self { units, room, near })
    }

    /// Fours of weights in shared memory.
    pub(crate) fn near(&self, way: Way) -> usize {
        self.near[usize::from(way == Way::Back)]
    }

    /// Bytes of the least shared memory that a series needs.
    pub(crate) fn least(shape: &Shape) -> usize {
        walk(shape, least(shape)).max(back(shape, least(shape))) * FOUR * size_of::<f32>()
    }

    /// Steps of a slab.
    pub(crate) fn slab(shape: &Shape, batch: usize, steps: usize, most: usize) -> usize {
        (SLAB.min(most) / (shape.bytes() * shape.stages * batch).max(1)).clamp(1, steps.max(1))
    }

    /// Steps of a slab whose stages one cube computes again: as many as leave a cube for each multiprocessor.
    pub(crate) fn steps(batch: usize, count: usize, multiprocessors: usize) -> usize {
        count.div_ceil((multiprocessors / batch).max(1))
    }
}

/// Fours of the largest result of a product.
fn least(shape: &Shape) -> usize {
    shape.all().max(shape.tangents().max(1) * shape.widest())
}

/// Fours of shared memory of the way forwards: values, tangents, `f`, slopes, biases, stages and state, coefficients, the method.
fn walk(shape: &Shape, room: usize) -> usize {
    let tangents = shape.tangents() * shape.widest() + shape.hidden_outputs();
    room + shape.widest() + tangents + shape.all() + shape.biases() + (shape.stages + 1) * shape.h() + small(shape)
}

/// Fours of shared memory of the way back: the record, gradients of values and tangents, what tangents add, biases, stages, coefficients, the method.
fn back(shape: &Shape, room: usize) -> usize {
    let tangents = 2 * shape.tangents() * shape.widest() + shape.hidden_outputs();
    let values = shape.record() + shape.widest().max(shape.all()) + shape.biases();
    room + values + tangents + (shape.stages + 2) * shape.h() + small(shape)
}

/// Fours of coefficients and of the method, and what is left free.
fn small(shape: &Shape) -> usize {
    let &Shape { channels, stages, .. } = shape;
    (channels * (channels + 1) + stages * (stages + 1)).div_ceil(FOUR) + SPARE
}

#[cfg(test)]
mod tests {
    use super::super::shape::tests::shape;
    use super::*;

    const WAYS: [Way; 2] = [Way::Forward, Way::Back];

    #[test]
    fn every_step_of_a_sum_is_in_one_piece_and_pieces_have_room() {
        for shape in [
            shape(64, 6, &[128, 128, 128], true),
            shape(5, 3, &[7, 11], true),
            shape(1, 1, &[], false),
            shape(17, 20, &[190, 3], true),
            shape(300, 9, &[70], false),
        ] {
            for (units, shared) in [(1024, 227 << 10), (32, 227 << 10), (1024, 96 << 10)] {
                let cut = Cut::new(&shape, units, shared).unwrap();
                for way in WAYS {
                    for l in 0..=shape.top {
                        let vectors = if l < shape.top { shape.tangents().max(1) } else { 1 };
                        let [one, all] = [1, vectors].map(|vectors| Sum::of(&shape, way, l, vectors, cut));
                        assert!(
                            all.splits * all.per_piece >= all.steps && (all.splits - 1) * all.per_piece < all.steps,
                            "{all:?}"
                        );
                        assert!(all.splits * all.results() <= cut.room, "{all:?}");
                        assert!(all.splits == 1 || all.tasks() <= cut.units, "{all:?}");
                        assert_eq!((one.per_piece, one.tasks()), (all.per_piece, all.tasks()));
                    }
                }
            }
        }
    }

    #[test]
    fn weights_are_held_once_and_within_limits() {
        for shape in [shape(64, 6, &[128, 128, 128], true), shape(64, 6, &[128, 128, 128], false), shape(5, 3, &[], true)] {
            for shared in [48 << 10, 100 << 10, 227 << 10] {
                let cut = Cut::new(&shape, 1024, shared).unwrap();
                for way in WAYS {
                    let all = Hold::all(&shape, way, cut);
                    let (mut registers, mut near) = (0, 0);
                    for (l, hold) in all.iter().enumerate().take(shape.top + 1) {
                        let sum = Sum::of(&shape, way, l, 1, cut);
                        assert!(hold.registers + hold.near <= sum.per_piece, "{hold:?}");
                        registers += FOUR * hold.registers;
                        near += FOUR * hold.near * sum.tasks();
                    }
                    assert!(registers <= REGISTERS && registers == Hold::registers(&shape, way, cut));
                    assert!(near <= cut.near(way), "{near} {cut:?}");
                }
            }
        }
    }

    /// The shape of the thesis's Log-NCDEs on a large GPU: no weight is read twice forwards, and few are back.
    #[test]
    fn large_devices_hold_all_weights_near() {
        let shape = shape(64, 6, &[128, 128, 128], true);
        let cut = Cut::new(&shape, 1024, 227 << 10).unwrap();
        let missing = |way, l| {
            let hold = Hold::all(&shape, way, cut)[l];
            Sum::of(&shape, way, l, 1, cut).per_piece - hold.registers - hold.near
        };
        assert_eq!([0, 1, 2, 3].map(|l| missing(Way::Forward, l)), [0; 4]);
        assert_eq!([0, 1, 2].map(|l| missing(Way::Back, l)), [0; 3]);
        assert!(missing(Way::Back, 3) <= 3, "{}", missing(Way::Back, 3));
    }

    #[test]
    fn shared_memory_decides() {
        let large = shape(64, 6, &[128, 128, 128], true);
        assert_eq!(Cut::new(&large, 1024, 227 << 10).unwrap().room, 1536);
        let small = Cut::new(&large, 128, 34 << 10).unwrap();
        assert_eq!((small.units, small.room), (128, 192));
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
        assert_eq!([Cut::steps(32, 100, 132), Cut::steps(1000, 100, 132), Cut::steps(1, 7, 132)], [25, 100, 1]);
    }
}
