//! From chunk to chunk: `h_{c+1} = P_c h_c + q_c`, and in reverse `lambda_{c-1} = P_c^T lambda_c + r_c`.
//!
//! The only part that goes through time one chunk after the other. Many chunks are joined in groups first ([`Walk::Fold`]), so that all
//! groups are worked on at once; the same two kernels then go from group to group, and within every group from chunk to chunk.

use cubecl::prelude::*;

use crate::kernel::unit::{copy, fetch, put, unit_below, zeros};
use crate::sizes::Sizes;

/// The chunks of one block and column of a series that are one group.
#[derive(CubeType)]
struct Group {
    block: usize,
    column: usize,
    /// Counted over all series.
    number: usize,
    /// The first chunk of the series, counted over all series.
    begin: usize,
    /// The first chunk of the group, and the end, counted within the series.
    first: usize,
    end: usize,
}

/// That of a unit of `[batch, groups, columns, blocks]`.
#[cube]
fn group_of(unit: usize, group: usize, columns: usize, sizes: &Sizes) -> Group {
    let groups = (sizes.chunks + group - 1) / group;
    let block = unit % sizes.count;
    let column = unit / sizes.count % columns;
    let number = unit / (sizes.count * columns);
    let begin = number / groups * sizes.chunks;
    let first = number % groups * group;
    let end = min(first + group, sizes.chunks);
    Group { block, column, number, begin, first, end }
}

/// Where a block of a column lies at the end of a chunk.
#[cube]
fn end_of(of: &Group, place: usize, sizes: &Sizes, #[comptime] b: usize) -> usize {
    ((place * sizes.columns + of.column) * sizes.count + of.block) * b
}

/// How many products a unit reads at once, so that it waits for all of them together.
const fn deep(b: usize) -> usize {
    if b > 4 {
        1
    } else if b > 2 {
        4
    } else {
        8
    }
}

/// What a walk from chunk to chunk begins with, and what it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Walk {
    /// From `h_0`, or from a gradient of 0, through all chunks of a series: the vector at each of them.
    Series,
    /// The same from the vector at the beginning (or the end) of a group of chunks.
    Group,
    /// From the unit vectors and 0 through a group: its product, what affine inputs add up to, or what its chunks contribute to the gradient.
    Fold,
}

/// The products of so many chunks from one on (or back from it), columns one after the other. Beyond the last that is needed it is read again.
#[cube]
fn load(
    products: &Array<f32>,
    first: usize,
    count: usize,
    block: usize,
    sizes: &Sizes,
    p: &mut Array<f32>,
    #[comptime] b: usize,
    #[comptime] back: bool,
) {
    #[unroll]
    for i in 0..comptime!(deep(b)) {
        let ahead = min(i.runtime(), count - 1);
        let mut place = first + ahead;
        if comptime!(back) {
            place = first - ahead;
        }
        let base = (place * (b + sizes.columns) * sizes.count + block) * b;
        #[unroll]
        for c in 0..b {
            #[unroll]
            for r in 0..b {
                p[(i * b + c) * b + r] = products[base + c * sizes.count * b + r];
            }
        }
    }
}

/// `x <- P x + q`, or `P^T x + q`, with one of the products that were read.
#[cube]
fn step(p: &Array<f32>, #[comptime] i: usize, q: &Array<f32>, x: &mut Array<f32>, #[comptime] b: usize, #[comptime] back: bool) {
    let mut next = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        next[r] = q[r];
        #[unroll]
        for c in 0..b {
            next[r] += p[comptime!(if back { (i * b + r) * b + c } else { (i * b + c) * b + r })] * x[c];
        }
    }
    copy(&next, x, b);
}

/// The state at the beginning of every chunk; or the products of groups of chunks, and what affine inputs add up to in them. (The last chunk of a series has no product and needs none.)
///
/// Units: `[batch, groups, columns, blocks]`; of a fold `[batch, groups, b + columns, blocks]`, without `columns` where nothing is added.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    out: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
    #[comptime] walk: Walk,
) {
    let unit = unit_below(sizes.units);
    let fold = comptime!(walk == Walk::Fold);
    let mut columns = sizes.columns;
    let mut first_sum = comptime!(0usize).runtime();
    if comptime!(fold) {
        first_sum = comptime!(b).runtime();
        columns = first_sum;
        if comptime!(affine) {
            columns += sizes.columns;
        }
    }
    let of = group_of(unit, group, columns, sizes);
    let mut x = zeros(b);
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    let mut q = zeros(b);
    let mut end = of.end;
    if comptime!(fold) {
        end = min(of.end, sizes.chunks - 1);
        #[unroll]
        for r in 0..b {
            if of.column == r {
                x[r] = f32::new(1.0);
            }
        }
    } else {
        let mut from = unit * b;
        if comptime!(walk == Walk::Series) {
            from = (of.begin / sizes.chunks * sizes.columns + of.column) * sizes.hidden + sizes.at + of.block * b;
        }
        fetch(initial, from, &mut x, b);
    }
    let mut chunk = of.first;
    while chunk < end {
        load(products, of.begin + chunk, end - chunk, of.block, sizes, &mut p, b, false);
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if chunk < end {
                let place = of.begin + chunk;
                if comptime!(!fold) {
                    put(&x, out, end_of(&of, place, sizes, b), b);
                }
                if fold || chunk + 1 < end {
                    if comptime!(affine) {
                        if of.column >= first_sum {
                            let column = b + of.column - first_sum;
                            fetch(products, ((place * (b + sizes.columns) + column) * sizes.count + of.block) * b, &mut q, b);
                        }
                    }
                    step(&p, i, &q, &mut x, b, false);
                }
                chunk += 1;
            }
        }
    }
    if comptime!(fold) {
        put(&x, out, ((of.number * (b + sizes.columns) + of.column) * sizes.count + of.block) * b, b);
    }
}

/// The gradient at the end of every chunk, in place of what each chunk itself contributes, `lambda`; or what the chunks of a group contribute to that at its beginning, to `ends`.
///
/// Units: `[batch, groups, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry_back(
    products: &Array<f32>,
    ends: &mut Array<f32>,
    lambda: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] walk: Walk,
) {
    let unit = unit_below(sizes.units);
    let of = group_of(unit, group, sizes.columns, sizes);
    let mut l = zeros(b);
    let mut r_c = Array::<f32>::new(b);
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    if comptime!(walk == Walk::Group) {
        fetch(ends, unit * b, &mut l, b);
    }
    let mut left = of.end - of.first;
    while left > 0 {
        let last = of.begin + of.first + left - 1;
        load(products, last, left, of.block, sizes, &mut p, b, true);
        let mut contributed = Array::<f32>::new(comptime!(deep(b) * b));
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            let from = end_of(&of, last - min(i.runtime(), left - 1), sizes, b);
            #[unroll]
            for r in 0..b {
                contributed[i * b + r] = lambda[from + r];
            }
        }
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if left > 0 {
                let chunk = of.first + left - 1;
                fetch(&contributed, i * b, &mut r_c, b);
                if comptime!(walk != Walk::Fold) {
                    put(&l, lambda, end_of(&of, of.begin + chunk, sizes, b), b);
                }
                // Of the last chunk there is no product; nothing comes after it.
                if chunk + 1 < sizes.chunks {
                    step(&p, i, &r_c, &mut l, b, true);
                } else {
                    copy(&r_c, &mut l, b);
                }
                left -= 1;
            }
        }
    }
    if comptime!(walk == Walk::Fold) {
        put(&l, ends, unit * b, b);
    }
}

/// The gradient in the initial state: what is left of `lambda` at the beginning of the first chunk.
///
/// Units: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn first(lambda: &Array<f32>, out: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize) {
    let unit = unit_below(sizes.units);
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let series = unit / (sizes.count * sizes.columns);
    let from = ((series * sizes.chunks * sizes.columns + column) * sizes.count + block) * b;
    let to = (series * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
    let mut l = Array::<f32>::new(b);
    fetch(lambda, from, &mut l, b);
    put(&l, out, to, b);
}
