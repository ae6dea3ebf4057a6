//! Small blocks: a unit has one column of the state of one block of one chunk, in registers, and goes through time.
//!
//! Neighbouring units have neighbouring blocks, so that reads of generators and states are contiguous. Generators are read (`source` are those of
//! a slab), or made on the way from few channels, where all steps are one slab (`source` are the coefficients; see `few`).

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::place::{begin, offset_of};
use crate::kernel::step::{advance, reverse};
use crate::kernel::unit::{add, fetch, fetch_apart, fill, put, put_sum, unit_below, zeros};
use crate::kernel::wide::Purpose;
use crate::sizes::{Sizes, row_of};

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
        fetch_apart(source, row * comptime!(b * b) * count + block, count, out, comptime!(b * b));
    } else {
        fetch(source, step * few, out, few);
    }
}

/// The matrix from what was read, with few channels of the matrices `A^1, ..., A^few` of the block.
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

/// The products of the flows of every chunk but the last of each series, `per_unit` columns a unit (one, where generators are read), and what affine inputs add up to.
///
/// Units: `[batch, chunks - 1, b / per_unit + columns, blocks]`, without `columns` where nothing is added.
#[cube(launch_unchecked)]
pub(crate) fn products(
    source: &Array<f32>,
    a: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] few: usize,
    #[comptime] per_unit: usize,
) {
    let unit = unit_below(sizes.units);
    let block = unit % sizes.count;
    let parts = comptime!(b / per_unit);
    let mut wide = parts.runtime();
    if comptime!(flow.is_affine()) {
        wide += sizes.columns;
    }
    let part = unit / sizes.count % wide;
    let at_chunk = unit / (sizes.count * wide);
    let chunk = at_chunk % (sizes.chunks - 1);
    let series = at_chunk / (sizes.chunks - 1);
    let place = series * sizes.chunks + chunk;
    let mut matrices = Array::<f32>::new(comptime!(Ord::max(few * b * b, 1)));
    fetch_apart(a, block, sizes.count, &mut matrices, comptime!(few * b * b));
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut x = zeros(b);
    let mut added = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(comptime!(raw(few, b)));
    let first = chunk * sizes.chunk + sizes.first;
    let end = min(first + sizes.steps, lengths[series] as usize);
    let row = row_of(place, sizes);
    let step = series * sizes.length + first;
    read(source, row, step, block, sizes.count, &mut next, few, b);
    if part < parts {
        let at = ((place * (b + sizes.columns) + part * per_unit) * sizes.count + block) * b;
        let mut p = zeros(comptime!(per_unit * b));
        #[unroll]
        for c in 0..per_unit {
            #[unroll]
            for r in 0..b {
                if sizes.first > 0 {
                    p[c * b + r] = out[at + c * sizes.count * b + r];
                } else if part * per_unit + c == r {
                    p[c * b + r] = f32::new(1.0);
                }
            }
        }
        for t in first..end {
            build(&next, &matrices, &mut m, few, b);
            let then = min(t + 1, end - 1) - first;
            read(source, row + then, step + then, block, sizes.count, &mut next, few, b);
            #[unroll]
            for c in 0..per_unit {
                fetch(&p, c * b, &mut x, b);
                advance(&m, &mut x, &added, b, comptime!(flow.without_affine()));
                put(&x, &mut p, c * b, b);
            }
        }
        #[unroll]
        for c in 0..per_unit {
            #[unroll]
            for r in 0..b {
                out[at + c * sizes.count * b + r] = p[c * b + r];
            }
        }
    } else {
        let column = part - parts;
        let at = ((place * (b + sizes.columns) + b + column) * sizes.count + block) * b;
        if sizes.first > 0 {
            fetch(out, at, &mut x, b);
        }
        for t in first..end {
            build(&next, &matrices, &mut m, few, b);
            let then = min(t + 1, end - 1) - first;
            read(source, row + then, step + then, block, sizes.count, &mut next, few, b);
            let from = ((series * sizes.length + t) * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
            fetch(beta, from, &mut added, b);
            advance(&m, &mut x, &added, b, flow);
        }
        put(&x, out, at, b);
    }
}

/// A walk through a slab of every chunk: to the states after every step, or to the gradient at the beginning of every chunk of what its states contribute to the loss. `ends` are the states
/// at the beginnings of chunks, or what a walk goes on from and ends with; `rows` the states to be written, or their gradient to be added.
///
/// Units: `[batch, chunks, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn walk(
    source: &Array<f32>,
    a: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    ends: &mut Array<f32>,
    rows: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] few: usize,
    #[comptime] purpose: Purpose,
) {
    let unit = unit_below(sizes.units);
    let of = offset_of(unit, 0usize, sizes.columns, lengths, sizes, b, purpose);
    let back = comptime!(purpose.is_back());
    let mut matrices = Array::<f32>::new(comptime!(Ord::max(few * b * b, 1)));
    fetch_apart(a, of.block, sizes.count, &mut matrices, comptime!(few * b * b));
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut transpose = Array::<f32>::new(comptime!(b * b));
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        x[r] = begin(&of, r, ends, rows, sizes, purpose);
    }
    if of.t_0 < sizes.length {
        let steps = min(sizes.steps, sizes.length - of.t_0);
        let row = row_of(of.chunk, sizes);
        let step = of.chunk / sizes.chunks * sizes.length + of.t_0;
        let mut next = Array::<f32>::new(comptime!(raw(few, b)));
        let mut next_gradient = Array::<f32>::new(b);
        let mut s = 0usize;
        if comptime!(back) {
            s = steps - 1;
            fetch(rows, of.base + (of.t_0 + s) * of.stride, &mut next_gradient, b);
        }
        read(source, row + s, step + s, of.block, sizes.count, &mut next, few, b);
        for k in 0..steps {
            let t = of.t_0 + s;
            build(&next, &matrices, &mut m, few, b);
            if comptime!(back) {
                add(&mut x, &next_gradient, b);
                s = max(s, 1) - 1;
                fetch(rows, of.base + (of.t_0 + s) * of.stride, &mut next_gradient, b);
            } else {
                s = min(k + 1, steps - 1);
            }
            read(source, row + s, step + s, of.block, sizes.count, &mut next, few, b);
            if t < of.length {
                if comptime!(back) {
                    #[unroll]
                    for r in 0..b {
                        #[unroll]
                        for c in 0..b {
                            transpose[c * b + r] = m[r * b + c];
                        }
                    }
                    advance(&transpose, &mut x, &added, b, flow);
                } else {
                    if comptime!(flow.is_affine()) {
                        fetch(beta, of.base + t * of.stride, &mut added, b);
                    }
                    advance(&m, &mut x, &added, b, flow);
                }
            }
            if comptime!(!back) {
                put(&x, rows, of.base + t * of.stride, b);
            }
        }
    }
    if comptime!(back) {
        put(&x, ends, of.end, b);
    }
}

/// The state before step `t`. Steps and initial states begin `base` and `initial_base`.
#[cube]
pub(crate) fn state_before(
    states: &Array<f32>,
    initial: &Array<f32>,
    t: usize,
    base: usize,
    initial_base: usize,
    stride: usize,
    x: &mut Array<f32>,
    #[comptime] b: usize,
) {
    if t == 0 {
        fetch(initial, initial_base, x, b);
    } else {
        fetch(states, base + (t - 1) * stride, x, b);
    }
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
    let of = offset_of(unit, column, 1usize, lengths, sizes, b, comptime!(Purpose::Adjoints));
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
                state_before(states, initial, t, of.base, of.initial, of.stride, &mut x, b);
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
                put_sum(dm[e], d_omega, to + e * sizes.count, column > 0);
            }
        }
    }
    put(&l, lambda, of.end, b);
}
