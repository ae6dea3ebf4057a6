//! A few vectors in shared memory times a weight, in parts that are then added in order.
//!
//! ```text
//! parts[s, r, c] = sum over the k of piece s of x[r, k] w[k, c],   total[r, c] = sum_s parts[s, r, c]
//! ```
//!
//! A unit has four columns `c` of the weight and a piece `s` of the sum. What it has of the weight is always the same, so the first steps of its piece are in its registers from the beginning on, the next in shared memory; the
//! others it reads each time, neighbouring units neighbouring numbers. What it reads is used for all vectors `r`; where they are many, units that would be idle have the same piece, and some of the vectors each.

use cubecl::prelude::*;

use crate::kernel::unit::fill;
use crate::neural::cut::{Cut, Hold, Sum, Way};
use crate::neural::shape::Shape;

/// Steps of four rows that a unit reads before it computes: all of them are on their way at once.
const DEEP: usize = 2;

/// Pieces of so few reads are not a loop.
const UNROLLED: usize = 4;

/// Vectors whose sums a unit has in registers; more are other units', or go through the weight again.
const VECTORS: usize = 8;

/// Which block of the weight a column meets, and which vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Blocks {
    /// The whole weight, all vectors.
    Whole,
    /// Columns in blocks of so many fours: block `j` of columns meets vector `j` alone.
    Columns(usize),
    /// Rows in blocks, each of so many fours of columns: column `c` of block `j` meets vector `j` alone.
    Rows(usize),
}

/// A weight and how it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Weight {
    /// Where it begins.
    pub(crate) at: usize,
    pub(crate) sum: Sum,
    pub(crate) blocks: Blocks,
    pub(crate) hold: Hold,
    pub(crate) cut: Cut,
}

impl Weight {
    /// The weight of layer `l`, for so many vectors.
    pub(crate) fn new(shape: &Shape, way: Way, l: usize, vectors: usize, cut: Cut) -> Self {
        let by_blocks = way == Way::Back && l == shape.top && shape.brackets;
        let blocks = if by_blocks { Blocks::Rows(shape.inputs(l)) } else { Blocks::Whole };
        let sum = Sum::of(shape, way, l, vectors, cut);
        Self { at: shape.weight(l), sum, blocks, hold: Hold::all(shape, way, cut)[l], cut }
    }

    /// The last layer, of which tangents meet the columns of their channel.
    pub(crate) fn by_columns(shape: &Shape, cut: Cut) -> Self {
        Self { blocks: Blocks::Columns(shape.h()), ..Self::new(shape, Way::Forward, shape.top, 1, cut) }
    }

    /// Fours from one row to the next.
    fn row(&self) -> usize {
        if let Blocks::Rows(width) = self.blocks { width } else { self.sum.lanes }
    }

    /// Fours of columns of a block.
    fn width(&self) -> usize {
        match self.blocks {
            Blocks::Whole => self.sum.lanes,
            Blocks::Columns(width) | Blocks::Rows(width) => width,
        }
    }

    /// How many units have the same piece.
    fn alike(&self) -> usize {
        (self.cut.units / self.sum.tasks()).max(1)
    }

    /// Steps that are read before anything is computed.
    fn early(&self) -> usize {
        DEEP.min(self.sum.per_piece - self.hold.registers - self.hold.near)
    }

    /// Whether the last piece has fewer steps than the others.
    fn is_ragged(&self) -> bool {
        !self.sum.steps.is_multiple_of(self.sum.per_piece)
    }
}

/// Where a column begins.
#[cube]
fn column(lane: usize, #[comptime] of: Weight) -> usize {
    let mut column = lane + comptime!(of.at);
    if comptime!(matches!(of.blocks, Blocks::Rows(_))) {
        let width = comptime!(of.width());
        column = lane / width * comptime!(4 * of.sum.steps * of.width()) + lane % width + comptime!(of.at);
    }
    column
}

/// Four rows of a column, at step `k` or the last one.
#[cube]
fn rows<N: Size>(
    weights: &Array<Vector<f32, N>>,
    to: &mut Array<Vector<f32, N>>,
    #[comptime] first: usize,
    column: usize,
    k: usize,
    #[comptime] of: Weight,
) {
    let mut step = k;
    if comptime!(of.is_ragged()) {
        step = min(k, comptime!(of.sum.steps - 1).runtime());
    }
    #[unroll]
    for q in 0..4usize {
        to[first + q] = weights[column + (step * 4 + q) * comptime!(of.row())];
    }
}

/// Brings the steps that are held to registers and to shared memory.
#[cube]
pub(crate) fn hold<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &mut Array<Vector<f32, N>>,
    near: &mut SharedMemory<Vector<f32, N>>,
    #[comptime] of: Weight,
) {
    let tasks = comptime!(of.sum.tasks());
    let task = UNIT_POS as usize % tasks;
    if comptime!(of.hold.registers + of.hold.near > 0) {
        if (UNIT_POS as usize) < comptime!(of.sum.tasks() * of.alike()) {
            let column = column(task % comptime!(of.sum.lanes), of);
            let begin = task / comptime!(of.sum.lanes) * comptime!(of.sum.per_piece);
            #[unroll]
            for i in 0..comptime!(of.hold.registers) {
                rows::<N>(weights, held, comptime!(of.hold.register + 4 * i), column, begin + i, of);
            }
            for i in 0..comptime!(of.hold.near) {
                let mut four = Array::<Vector<f32, N>>::new(4usize);
                rows::<N>(weights, &mut four, 0usize, column, begin + comptime!(of.hold.registers) + i, of);
                #[unroll]
                for q in 0..4usize {
                    near[(i * 4 + q) * tasks + task + comptime!(of.hold.place)] = four[q];
                }
            }
        }
    }
}

/// The parts. Vectors lie `stride` fours apart. All units of the cube take part, and wait afterwards.
#[cube]
pub(crate) fn parts<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    #[comptime] stride: usize,
    #[comptime] of: Weight,
) {
    let tasks = comptime!(of.sum.tasks());
    let unit = UNIT_POS as usize;
    if comptime!(of.sum.tasks() <= of.cut.units) {
        if comptime!(of.sum.vectors > VECTORS && of.alike() > 1) {
            if unit < comptime!(of.sum.tasks() * of.alike()) {
                task::<N>(weights, held, near, x, out, unit % tasks, unit / tasks, stride, of);
            }
        } else if unit < tasks {
            task::<N>(weights, held, near, x, out, unit, 0usize, stride, of);
        }
    } else {
        for i in range_stepped(unit, tasks, comptime!(of.cut.units)) {
            task::<N>(weights, held, near, x, out, i, 0usize, stride, of);
        }
    }
    sync_cube();
}

/// The part of one unit, a few vectors at a time; of many those from group `share` on that are its held.
#[cube]
fn task<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    unit: usize,
    share: usize,
    #[comptime] stride: usize,
    #[comptime] of: Weight,
) {
    let lane = unit % comptime!(of.sum.lanes);
    let split = unit / comptime!(of.sum.lanes);
    let column = column(lane, of);
    let begin = split * comptime!(of.sum.per_piece);
    let mut vector = begin;
    if comptime!(of.blocks != Blocks::Whole) {
        vector = lane / comptime!(of.width()) * stride + begin;
    }
    // The first steps that are not held are read before anything is computed, and used last.
    let early = comptime!(of.early());
    let mut late = Array::<Vector<f32, N>>::new(comptime!((4 * of.early()).max(1)));
    #[unroll]
    for s in 0..early {
        rows::<N>(weights, &mut late, comptime!(4 * s), column, begin + comptime!(of.hold.registers + of.hold.near + s), of);
    }
    if comptime!(of.sum.vectors <= VECTORS) {
        group::<N>(weights, held, near, x, out, &late, (unit, column), (vector, 0usize), stride, of);
    } else {
        for g in range_stepped(share, comptime!(of.sum.vectors.div_ceil(VECTORS)), comptime!(of.alike())) {
            // The last group is a whole one, too: what it shares with the one before comes out the same twice.
            let first = min(g * VECTORS, comptime!(of.sum.vectors - VECTORS).runtime());
            group::<N>(weights, held, near, x, out, &late, (unit, column), (vector + first * stride, first), stride, of);
        }
    }
}

/// The part of one unit for some vectors. Places: the unit's number and its column; where the first vector begins, and which one it is.
#[cube]
fn group<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    late: &Array<Vector<f32, N>>,
    place: (usize, usize),
    vectors: (usize, usize),
    #[comptime] stride: usize,
    #[comptime] of: Weight,
) {
    let unit = place.0;
    let column = place.1;
    let from = vectors.0;
    let first = vectors.1;
    let lane = unit % comptime!(of.sum.lanes);
    let split = unit / comptime!(of.sum.lanes);
    let begin = split * comptime!(of.sum.per_piece);
    let left = comptime!(of.sum.steps).runtime() - begin;
    let registers = comptime!(of.hold.registers);
    let near_to = comptime!(of.hold.registers + of.hold.near);
    let per_piece = comptime!(of.sum.per_piece);
    let early = comptime!(of.early());
    let count = comptime!(VECTORS.min(of.sum.vectors));
    let mut sums = Array::<Vector<f32, N>>::new(count);
    fill(&mut sums, Vector::<f32, N>::new(0.0), count);
    #[unroll]
    for i in 0..registers {
        multiply::<N>(held, comptime!(of.hold.register + 4 * i), x, &mut sums, from, i.runtime(), left, stride, count, of);
    }
    #[unroll(near_to - registers <= UNROLLED)]
    for i in registers..near_to {
        let mut w = Array::<Vector<f32, N>>::new(4usize);
        #[unroll]
        for q in 0..4usize {
            w[q] = near[((i - registers) * 4 + q) * comptime!(of.sum.tasks()) + unit + comptime!(of.hold.place)];
        }
        multiply::<N>(&w, 0usize, x, &mut sums, from, i, left, stride, count, of);
    }
    #[unroll]
    for s in 0..early {
        multiply::<N>(late, comptime!(4 * s), x, &mut sums, from, comptime!(near_to + s).runtime(), left, stride, count, of);
    }
    let turns = comptime!((per_piece - near_to - early) / DEEP);
    #[unroll(turns <= UNROLLED)]
    for turn in 0..turns {
        let i = turn * DEEP + comptime!(near_to + early);
        deep::<N>(weights, x, &mut sums, column, begin, from, i, left, stride, count, DEEP, of);
    }
    if comptime!((per_piece - near_to - early) % DEEP > 0) {
        let i = comptime!(per_piece - 1).runtime();
        deep::<N>(weights, x, &mut sums, column, begin, from, i, left, stride, count, 1usize, of);
    }
    #[unroll]
    for r in 0..count {
        out[(split * comptime!(of.sum.vectors) + first + r) * comptime!(of.sum.lanes) + lane] = sums[r];
    }
}

/// A few steps whose weights come from global memory.
#[cube]
fn deep<N: Size>(
    weights: &Array<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    column: usize,
    begin: usize,
    from: usize,
    i: usize,
    left: usize,
    #[comptime] stride: usize,
    #[comptime] count: usize,
    #[comptime] steps: usize,
    #[comptime] of: Weight,
) {
    let mut w = Array::<Vector<f32, N>>::new(comptime!(4 * steps));
    #[unroll]
    for s in 0..steps {
        rows::<N>(weights, &mut w, comptime!(4 * s), column, begin + i + s, of);
    }
    #[unroll]
    for s in 0..steps {
        multiply::<N>(&w, comptime!(4 * s), x, sums, from, i + s, left, stride, count, of);
    }
}

/// Step `i` of a piece for some vectors: four rows of the weight times four numbers of each. Past the last of `left` steps there is nothing to add.
#[cube]
fn multiply<N: Size>(
    w: &Array<Vector<f32, N>>,
    #[comptime] first: usize,
    x: &SharedMemory<Vector<f32, N>>,
    sums: &mut Array<Vector<f32, N>>,
    from: usize,
    i: usize,
    left: usize,
    #[comptime] stride: usize,
    #[comptime] count: usize,
    #[comptime] of: Weight,
) {
    #[unroll]
    for r in 0..count {
        let mut four = Vector::<f32, N>::new(0.0);
        if comptime!(of.is_ragged()) {
            if i < left {
                four = x[from + comptime!(r * stride) + i];
            }
        } else {
            four = x[from + comptime!(r * stride) + i];
        }
        #[unroll]
        for q in 0..4usize {
            sums[r] += Vector::<f32, N>::new(four[q]) * w[first + q];
        }
    }
}

/// Result `e`, counted over vectors and columns, from its parts in order.
#[cube]
pub(crate) fn total<N: Size>(parts: &SharedMemory<Vector<f32, N>>, e: usize, #[comptime] sum: Sum) -> Vector<f32, N> {
    let mut all = parts[e];
    #[unroll]
    for s in 1..comptime!(sum.splits) {
        all += parts[e + comptime!(s * sum.results())];
    }
    all
}
