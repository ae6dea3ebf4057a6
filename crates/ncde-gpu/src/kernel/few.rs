//! Few channels: a unit makes the generators of its block on the way, from coefficients that all its neighbours read too, and sums up its part of
//! `dA` in registers. Generators never reach memory.
//!
//! ```text
//! dA^k = sum_t lambda_{t,k} dOmega_t,   dlambda_{t,k} = sum over blocks of <dOmega_t, A^k>
//! ```
//!
//! The sum over blocks is one over the units of a plane, and then over the planes of a step.

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::small::{build, read, state_before};
use crate::kernel::step::reverse;
use crate::kernel::unit::{add, copy, fetch, fetch_apart, fill, put, put_apart, put_sum, unit_below, zeros};
use crate::sizes::Sizes;

/// The most numbers of `A` that a unit keeps.
pub(crate) const MAX_COEFFICIENTS: usize = 128;

/// Numbers that are summed over a plane together, and the size of planes that this is written for.
const GROUP: usize = 8;
pub(crate) const PLANE: usize = 32;

/// All gradients of one column of the state, from those at the end of each chunk: in affine inputs, each plane's part of those in the
/// coefficients, `[batch, length, few, planes]`, and the part of some chunks of those in `A`, `[splits, few, b b, blocks]`.
///
/// A plane has blocks of one split: their number is a multiple of its size. Where units cannot be summed over, a plane is one of them.
///
/// Units: `[splits, blocks]`, where a split are `per_unit` chunks of one series.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    coefficients: &Array<f32>,
    a: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    states: &Array<f32>,
    gradient: &Array<f32>,
    lambda: &mut Array<f32>,
    d_coefficients: &mut Array<f32>,
    d_a: &mut Array<f32>,
    d_beta: &mut Array<f32>,
    column: usize,
    per_unit: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] few: usize,
    #[comptime] of_coefficients: bool,
    #[comptime] plane: usize,
) {
    let unit = unit_below(sizes.units);
    let block = unit % sizes.count;
    let split = unit / sizes.count;
    let splits = (sizes.chunks + per_unit - 1) / per_unit;
    let series = split / splits;
    let planes = sizes.count / plane;
    let stride = sizes.columns * sizes.hidden;
    let within = column * sizes.hidden + sizes.at + block * b;
    let base = series * sizes.length * stride + within;
    let mut matrices = Array::<f32>::new(comptime!(few * b * b));
    let mut sum = zeros(comptime!(few * b * b));
    let mut lambda_t = Array::<f32>::new(few);
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut dm = Array::<f32>::new(comptime!(b * b));
    let mut l = Array::<f32>::new(b);
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    let mut d_added = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(few);
    let mut next_gradient = Array::<f32>::new(b);
    let mut next_x = Array::<f32>::new(b);
    let at_sum = split * comptime!(few * b * b) * sizes.count + block;
    if column > 0 {
        fetch_apart(d_a, at_sum, sizes.count, &mut sum, comptime!(few * b * b));
    }
    let length = lengths[series] as usize;
    let first = split % splits * per_unit;
    let count = min(per_unit, sizes.chunks - first);
    for turn in 0..count {
        let chunk = first + count - 1 - turn;
        let end = (((series * sizes.chunks + chunk) * sizes.columns + column) * sizes.count + block) * b;
        fetch(lambda, end, &mut l, b);
        // Nothing comes after the only chunk.
        if sizes.chunks == 1 {
            fill(&mut l, f32::new(0.0), b);
        }
        let t_0 = chunk * sizes.chunk;
        let steps = min(sizes.chunk, sizes.length - t_0);
        let step = series * sizes.length + t_0;
        read(coefficients, 0usize, step + steps - 1, block, sizes.count, &mut next, few, b);
        fetch(gradient, base + (t_0 + steps - 1) * stride, &mut next_gradient, b);
        state_before(states, initial, t_0 + steps - 1, base, series * stride + within, stride, &mut next_x, b);
        for k in 0..steps {
            let s = steps - 1 - k;
            let t = t_0 + s;
            fill(&mut dm, f32::new(0.0), comptime!(b * b));
            copy(&next, &mut lambda_t, few);
            fill(&mut d_added, f32::new(0.0), b);
            add(&mut l, &next_gradient, b);
            copy(&next_x, &mut x, b);
            let then = max(s, 1) - 1;
            read(coefficients, 0usize, step + then, block, sizes.count, &mut next, few, b);
            fetch(gradient, base + (t_0 + then) * stride, &mut next_gradient, b);
            state_before(states, initial, t_0 + then, base, series * stride + within, stride, &mut next_x, b);
            // Read again at every step: there are not registers for A and for the sum of its gradient. (From shared memory it was four times as slow.)
            fetch_apart(a, block, sizes.count, &mut matrices, comptime!(few * b * b));
            if t < length {
                build(&lambda_t, &matrices, &mut m, few, b);
                if comptime!(flow.is_inside()) {
                    fetch(beta, base + t * stride, &mut added, b);
                }
                reverse(&m, &x, &added, &mut l, &mut dm, &mut d_added, b, flow);
            }
            if comptime!(flow.is_affine()) {
                put(&d_added, d_beta, base + t * stride, b);
            }
            #[unroll]
            for k in 0..few {
                #[unroll]
                for e in 0..comptime!(b * b) {
                    sum[k * comptime!(b * b) + e] += lambda_t[k] * dm[e];
                }
            }
            if comptime!(of_coefficients) {
                let to = (step + s) * few * planes + block / plane;
                #[unroll]
                for group in 0..comptime!(few.div_ceil(GROUP)) {
                    let mut parts = Array::<f32>::new(GROUP);
                    #[unroll]
                    for i in 0..GROUP {
                        let k = comptime!(group * GROUP + i);
                        parts[i] = f32::new(0.0);
                        if comptime!(k < few) {
                            #[unroll]
                            for e in 0..comptime!(b * b) {
                                parts[i] += matrices[k * comptime!(b * b) + e] * dm[e];
                            }
                        }
                    }
                    if comptime!(plane == PLANE) {
                        sum_over_plane(&mut parts);
                        let k = comptime!(group * GROUP) + UNIT_POS_PLANE as usize / comptime!(PLANE / GROUP);
                        if UNIT_POS_PLANE as usize % comptime!(PLANE / GROUP) == 0 && k < few {
                            put_sum(parts[0], d_coefficients, to + k * planes, column > 0);
                        }
                    } else {
                        #[unroll]
                        for i in 0..GROUP {
                            let k = comptime!(group * GROUP + i);
                            if comptime!(k < few) {
                                put_sum(parts[i], d_coefficients, to + k * planes, column > 0);
                            }
                        }
                    }
                }
            }
        }
        put(&l, lambda, end, b);
    }
    put_apart(&sum, d_a, at_sum, sizes.count, comptime!(few * b * b));
}

/// The sums of [`GROUP`] numbers over the units of a plane. Afterwards every fourth unit has one of them, in order: at each turn a unit keeps half of the
/// numbers and hands on the other half, so that 9 exchanges are enough where one sum after the other takes 40.
#[cube]
fn sum_over_plane(parts: &mut Array<f32>) {
    let unit = UNIT_POS_PLANE;
    #[unroll]
    for turn in 0..3usize {
        let half = comptime!(GROUP >> (turn + 1));
        let mask = comptime!((PLANE >> (turn + 1)) as u32);
        let is_upper = unit & mask != 0u32;
        #[unroll]
        for i in 0..half {
            let low = parts[i];
            let high = parts[i + half];
            let retained = select(is_upper, high, low);
            let send = select(is_upper, low, high);
            parts[i] = retained + plane_shuffle_xor(send, mask);
        }
    }
    parts[0] += plane_shuffle_xor(parts[0], 2u32);
    parts[0] += plane_shuffle_xor(parts[0], 1u32);
}

/// The sum over planes, added to what other runs have part in.
///
/// Units: one for each coefficient.
#[cube(launch_unchecked)]
pub(crate) fn join(parts: &Array<f32>, out: &mut Array<f32>, planes: usize, add: u32, units: usize) {
    let unit = unit_below(units);
    let mut sum = f32::new(0.0);
    for plane in 0..planes {
        sum += parts[unit * planes + plane];
    }
    put_sum(sum, out, unit, add == 1u32);
}
