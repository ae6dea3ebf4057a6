//! The gradients in the numbers of `K` entries, once `u_t = S_{t-1} a_t` and `z_t = G_t c_t` are known:
//!
//! ```text
//! forward in time    da_t = S^T z_t,   S <- S diag(w_t) + u_t c_t^T + v_t k_t^T,   dq_t = S^T do_t
//! back in time       G <- G diag(w_{t+1}) + z_{t+1} a_{t+1}^T + do_t q_t^T,   dk_t = G^T v_t,   dc_t = G^T u_t,   dw_t = sum_v (G * S_{t-1})[v]
//! ```
//!
//! Columns never meet, nor do chunks, whose first states are stored: a unit has a column of a chunk, tile after tile of its values. For `dw` the states before all steps of the chunk are
//! in local memory.

use cubecl::prelude::*;

use super::{Sizes, first_row};
use crate::kernel::unit::{put_sum, unit_below, zeros};
use crate::matrix_state::Decay;
use crate::matrix_state::cut::{CHUNK, Cut};

/// The number `j` of a tile that begins with value `first`; 0 past the last.
#[cube]
fn number(from: &Array<f32>, at: usize, first: usize, j: usize, #[comptime] cut: Cut) -> f32 {
    let mut number = f32::new(0.0);
    if comptime!(cut.is_ragged()) {
        if first + j < cut.of.values {
            number = from[at + j];
        }
    } else {
        number = from[at + j];
    }
    number
}

/// A tile of a column of a stored state.
#[cube]
fn begin(from: &Array<f32>, chunk: usize, key: usize, first: usize, x: &mut Array<f32>, #[comptime] cut: Cut) {
    #[unroll]
    for j in 0..comptime!(cut.tile) {
        x[j] = f32::new(0.0);
        if first + j < cut.of.values {
            x[j] = from[(chunk * cut.of.values + first + j) * cut.of.keys + key];
        }
    }
}

/// `w` of a row and key.
#[cube]
fn decay_of(w: &Array<f32>, row: usize, key: usize, #[comptime] cut: Cut) -> f32 {
    let mut factor = f32::new(1.0);
    if comptime!(cut.of.decay == Decay::Scalar) {
        factor = w[row];
    }
    if comptime!(cut.of.decay == Decay::Vector) {
        factor = w[row * cut.of.keys + key];
    }
    factor
}

/// Where the decay is one number, `dw` is `[K, rows]`; the sum over keys is yet to come.
///
/// Units: `[batch, heads, chunks, K]`.
#[cube(launch_unchecked)]
pub(crate) fn columns(
    w: &Array<f32>,
    a: &Array<f32>,
    c: &Array<f32>,
    k: &Array<f32>,
    q: &Array<f32>,
    v: &Array<f32>,
    gradient: &Array<f32>,
    u: &Array<f32>,
    z: &Array<f32>,
    states: &Array<f32>,
    backs: &Array<f32>,
    dw: &mut Array<f32>,
    da: &mut Array<f32>,
    dc: &mut Array<f32>,
    dk: &mut Array<f32>,
    dq: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] cut: Cut,
) {
    let unit = unit_below(sizes.count);
    let (keys, values, delta, tile) = comptime!((cut.of.keys, cut.of.values, cut.of.delta, cut.tile));
    let decays = comptime!(cut.of.decay != Decay::None);
    let key = unit % keys;
    let chunk = unit / keys;
    let first_step = chunk % sizes.chunks * CHUNK;
    let count = min(CHUNK, sizes.length - first_step);
    let first_row = first_row(chunk / sizes.chunks, sizes) + first_step * sizes.heads;
    let mut x = zeros(tile);
    let mut before = Array::<f32>::new(comptime!(if decays { CHUNK * tile } else { 1 }));
    for turn in 0..comptime!(cut.tiles()) {
        let first = turn * tile;
        let adds = turn > 0;
        begin(states, chunk, key, first, &mut x, cut);
        for i in 0..count {
            let row = first_row + i * sizes.heads;
            let (at, from) = (row * keys + key, row * values + first);
            let k_t = k[at];
            let w_t = decay_of(w, row, key, cut);
            let mut c_t = f32::new(0.0);
            if comptime!(delta) {
                c_t = c[at];
            }
            let mut sum_a = f32::new(0.0);
            let mut sum_q = f32::new(0.0);
            #[unroll]
            for j in 0..tile {
                let mut s = x[j];
                if comptime!(decays) {
                    before[i * tile + j] = s;
                    s *= w_t;
                }
                if comptime!(delta) {
                    sum_a += number(z, from, first, j, cut) * x[j];
                    s += c_t * number(u, from, first, j, cut);
                }
                s += k_t * number(v, from, first, j, cut);
                x[j] = s;
                sum_q += number(gradient, from, first, j, cut) * s;
            }
            if comptime!(delta) {
                put_sum(sum_a, da, at, adds);
            }
            put_sum(sum_q, dq, at, adds);
        }
        begin(backs, chunk, key, first, &mut x, cut);
        for back in 0..count {
            let i = count - 1 - back;
            let row = first_row + i * sizes.heads;
            let (at, from) = (row * keys + key, row * values + first);
            // After the last step `G` is 0, and nothing is read.
            let has_next = first_step + i + 1 < sizes.length;
            let mut next = row;
            if has_next {
                next = row + sizes.heads;
            }
            let w_t = decay_of(w, next, key, cut);
            let mut a_t = f32::new(0.0);
            if comptime!(delta) {
                if has_next {
                    a_t = a[next * keys + key];
                }
            }
            let q_t = q[at];
            let mut sum_k = f32::new(0.0);
            let mut sum_c = f32::new(0.0);
            let mut sum_w = f32::new(0.0);
            #[unroll]
            for j in 0..tile {
                let mut g = x[j];
                if comptime!(decays) {
                    g *= w_t;
                }
                if comptime!(delta) {
                    g += a_t * number(z, next * values + first, first, j, cut);
                }
                g += q_t * number(gradient, from, first, j, cut);
                x[j] = g;
                sum_k += number(v, from, first, j, cut) * g;
                if comptime!(delta) {
                    sum_c += number(u, from, first, j, cut) * g;
                }
                if comptime!(decays) {
                    sum_w += before[i * tile + j] * g;
                }
            }
            put_sum(sum_k, dk, at, adds);
            if comptime!(delta) {
                put_sum(sum_c, dc, at, adds);
            }
            if comptime!(cut.of.decay == Decay::Vector) {
                put_sum(sum_w, dw, at, adds);
            }
            if comptime!(cut.of.decay == Decay::Scalar) {
                put_sum(sum_w, dw, key * sizes.rows + row, adds);
            }
        }
    }
}
