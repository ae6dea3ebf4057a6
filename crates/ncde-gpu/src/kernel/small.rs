//! Small blocks: a unit has one column of the state of one block of one chunk, in registers, and goes through time.
//!
//! Neighbouring units have neighbouring blocks, so that reads of generators and states are contiguous. Generators are read (`source` are those of
//! a slab), or made on the way from few channels (`source` are the coefficients; see `few`).

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::place::{column_of, place_of};
use crate::kernel::step::{advance, reverse};
use crate::kernel::unit::{add, fetch, fill, put, unit_below, zeros};
use crate::kernel::wide::Purpose;
use crate::sizes::{Sizes, row_of};

/// The matrices `A^1, ..., A^few` of a unit's block, where channels are so few that a unit keeps them.
#[cube]
pub(crate) fn load_matrices(
    a: &Array<f32>,
    block: usize,
    count: usize,
    matrices: &mut Array<f32>,
    #[comptime] few: usize,
    #[comptime] b: usize,
) {
    #[unroll]
    for e in 0..comptime!(few * b * b) {
        matrices[e] = a[e * count + block];
    }
}

/// Numbers that a unit reads for a generator.
pub(crate) const fn raw(few: usize, b: usize) -> usize {
    if few == 0 { b * b } else { few }
}

/// Reads what makes the matrix of a unit's block at a step: the matrix itself, from a row of generators, or, with few channels, the coefficients of the
/// step. A step ahead of where it is needed, so that the read is under way meanwhile.
#[cube]
pub(crate) fn read(
    source: &Array<f32>,
    row: usize,
    step: usize,
    block: usize,
    count: usize,
    out: &mut Array<f32>,
    #[comptime] few: usize,
    #[comptime] b: usize,
) {
    if comptime!(few == 0) {
        let base = row * comptime!(b * b) * count + block;
        #[unroll]
        for e in 0..comptime!(b * b) {
            out[e] = source[base + e * count];
        }
    } else {
        #[unroll]
        for k in 0..few {
            out[k] = source[step * few + k];
        }
    }
}

/// The matrix from what was read.
#[cube]
pub(crate) fn build(read: &Array<f32>, matrices: &Array<f32>, m: &mut Array<f32>, #[comptime] few: usize, #[comptime] b: usize) {
    #[unroll]
    for e in 0..comptime!(b * b) {
        if comptime!(few == 0) {
            m[e] = read[e];
        } else {
            m[e] = read[0] * matrices[e];
            #[unroll]
            for k in 1..few {
                m[e] += read[k] * matrices[k * comptime!(b * b) + e];
            }
        }
    }
}

/// The products of the flows of every chunk but the last of each series, and what affine inputs add up to.
///
/// Units: `[batch, chunks - 1, b + columns, blocks]`, without `columns` where nothing is added.
#[cube(launch_unchecked)]
pub(crate) fn products(
    omega: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = unit_below(sizes.units);
    let block = unit % sizes.count;
    let mut wide = b.runtime();
    if comptime!(flow.is_affine()) {
        wide += sizes.columns;
    }
    let column = unit / sizes.count % wide;
    let place = unit / (sizes.count * wide);
    let chunk = place % (sizes.chunks - 1);
    let series = place / (sizes.chunks - 1);
    let at = (((series * sizes.chunks + chunk) * (b + sizes.columns) + column) * sizes.count + block) * b;
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut x = Array::<f32>::new(b);
    let mut added = zeros(b);
    if sizes.first == 0 {
        #[unroll]
        for r in 0..b {
            x[r] = f32::new(0.0);
            if column == r {
                x[r] = f32::new(1.0);
            }
        }
    } else {
        fetch(out, at, &mut x, b);
    }
    let first = chunk * sizes.chunk + sizes.first;
    let end = min(first + sizes.steps, lengths[series] as usize);
    let row = row_of(series * sizes.chunks + chunk, sizes);
    let mut next = Array::<f32>::new(comptime!(b * b));
    read(omega, row, 0usize, block, sizes.count, &mut next, 0usize, b);
    for t in first..end {
        build(&next, &x, &mut m, 0usize, b);
        read(omega, row + min(t + 1, end - 1) - first, 0usize, block, sizes.count, &mut next, 0usize, b);
        if comptime!(flow.is_affine()) {
            if column >= b {
                let from = ((series * sizes.length + t) * sizes.columns + column - b) * sizes.hidden + sizes.at + block * b;
                fetch(beta, from, &mut added, b);
            }
        }
        advance(&m, &mut x, &added, b, flow);
    }
    put(&x, out, at, b);
}

/// The states after every step, from those at the beginning of each chunk.
///
/// Units: `[batch, chunks, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn replay(
    source: &Array<f32>,
    a: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    starts: &Array<f32>,
    states: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] few: usize,
) {
    let unit = unit_below(sizes.units);
    let of = place_of(unit, lengths, sizes, b, comptime!(Purpose::Replay));
    let stride = of.stride;
    let mut matrices = Array::<f32>::new(comptime!(Ord::max(few * b * b, 1)));
    load_matrices(a, of.block, sizes.count, &mut matrices, few, b);
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    if of.t_0 < sizes.length {
        if sizes.first == 0 {
            fetch(starts, of.end, &mut x, b);
        } else {
            fetch(states, of.base + (of.t_0 - 1) * stride, &mut x, b);
        }
        let step = of.chunk / sizes.chunks * sizes.length + of.t_0;
        let end = min(of.t_0 + sizes.steps, sizes.length);
        let mut next = Array::<f32>::new(comptime!(raw(few, b)));
        read(source, row_of(of.chunk, sizes), step, of.block, sizes.count, &mut next, few, b);
        for t in of.t_0..end {
            build(&next, &matrices, &mut m, few, b);
            let then = min(t + 1, end - 1);
            read(source, row_of(of.chunk, sizes) + then - of.t_0, step + then - of.t_0, of.block, sizes.count, &mut next, few, b);
            if t < of.length {
                if comptime!(flow.is_affine()) {
                    fetch(beta, of.base + t * stride, &mut added, b);
                }
                advance(&m, &mut x, &added, b, flow);
            }
            put(&x, states, of.base + t * stride, b);
        }
    }
}

/// The gradient at the beginning of every chunk but the first, of what its own states contribute to the loss.
///
/// Units: `[batch, chunks, columns, blocks]`. Slabs come last first, and `lambda` goes from one to the next.
#[cube(launch_unchecked)]
pub(crate) fn pull(
    source: &Array<f32>,
    a: &Array<f32>,
    gradient: &Array<f32>,
    lengths: &Array<u32>,
    lambda: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] few: usize,
) {
    let unit = unit_below(sizes.units);
    let of = place_of(unit, lengths, sizes, b, comptime!(Purpose::Pull));
    let stride = of.stride;
    let mut matrices = Array::<f32>::new(comptime!(Ord::max(few * b * b, 1)));
    load_matrices(a, of.block, sizes.count, &mut matrices, few, b);
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut back = Array::<f32>::new(comptime!(b * b));
    let mut l = Array::<f32>::new(b);
    let no_input = Array::<f32>::new(b);
    if sizes.first + sizes.steps == sizes.chunk {
        fill(&mut l, f32::new(0.0), b);
    } else {
        fetch(lambda, of.end, &mut l, b);
    }
    if of.t_0 < sizes.length {
        let steps = min(sizes.steps, sizes.length - of.t_0);
        let row = row_of(of.chunk, sizes);
        let step = of.chunk / sizes.chunks * sizes.length + of.t_0;
        let mut next = Array::<f32>::new(comptime!(raw(few, b)));
        let mut next_gradient = Array::<f32>::new(b);
        read(source, row + steps - 1, step + steps - 1, of.block, sizes.count, &mut next, few, b);
        fetch(gradient, of.base + (of.t_0 + steps - 1) * stride, &mut next_gradient, b);
        for k in 0..steps {
            let s = steps - 1 - k;
            build(&next, &matrices, &mut m, few, b);
            add(&mut l, &next_gradient, b);
            let then = max(s, 1) - 1;
            read(source, row + then, step + then, of.block, sizes.count, &mut next, few, b);
            fetch(gradient, of.base + (of.t_0 + then) * stride, &mut next_gradient, b);
            if of.t_0 + s < of.length {
                #[unroll]
                for r in 0..b {
                    #[unroll]
                    for c in 0..b {
                        back[c * b + r] = m[r * b + c];
                    }
                }
                // The flow of the transpose.
                advance(&back, &mut l, &no_input, b, comptime!(flow.without_affine()));
            }
        }
    }
    put(&l, lambda, of.end, b);
}

/// The gradients in generators and affine inputs of one column of the state, from those at the end of each chunk.
///
/// Units: `[batch, chunks, blocks]`. Slabs come last first, and `lambda` goes from one to the next.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    omega: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    states: &Array<f32>,
    gradient: &Array<f32>,
    lambda: &mut Array<f32>,
    d_omega: &mut Array<f32>,
    d_beta: &mut Array<f32>,
    column: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = unit_below(sizes.units);
    let of = column_of(unit, column, lengths, sizes, b);
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut dm = Array::<f32>::new(comptime!(b * b));
    let mut l = Array::<f32>::new(b);
    let mut dh = Array::<f32>::new(b);
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    let mut d_added = Array::<f32>::new(b);
    fetch(lambda, of.end, &mut l, b);
    // Nothing comes after the only chunk.
    if sizes.chunks == 1 && sizes.first + sizes.steps == sizes.chunk {
        fill(&mut l, f32::new(0.0), b);
    }
    for k in 0..sizes.steps {
        let s = sizes.steps - 1 - k;
        let t = of.t_0 + s;
        fill(&mut dm, f32::new(0.0), comptime!(b * b));
        fill(&mut d_added, f32::new(0.0), b);
        if t < sizes.length {
            fetch(gradient, of.base + t * of.stride, &mut dh, b);
            add(&mut l, &dh, b);
            if t < of.length {
                read(omega, row_of(of.chunk, sizes) + s, 0usize, of.block, sizes.count, &mut m, 0usize, b);
                if t == 0 {
                    fetch(initial, of.initial, &mut x, b);
                } else {
                    fetch(states, of.base + (t - 1) * of.stride, &mut x, b);
                }
                if comptime!(flow.is_inside()) {
                    fetch(beta, of.base + t * of.stride, &mut added, b);
                }
                reverse(&m, &x, &added, &mut l, &mut dm, &mut d_added, b, flow);
            }
            if comptime!(flow.is_affine()) {
                put(&d_added, d_beta, of.base + t * of.stride, b);
            }
            let to = (row_of(of.chunk, sizes) + s) * comptime!(b * b) * sizes.count + of.block;
            #[unroll]
            for e in 0..comptime!(b * b) {
                let mut value = dm[e];
                if column > 0 {
                    value += d_omega[to + e * sizes.count];
                }
                d_omega[to + e * sizes.count] = value;
            }
        }
    }
    put(&l, lambda, of.end, b);
}
