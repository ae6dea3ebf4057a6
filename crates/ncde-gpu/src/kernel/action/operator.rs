//! `y = Omega x`, and in reverse `y = Omega^T z` with the gradient of `factor z . Omega w` in the numbers of Omega.
//!
//! ```text
//! Walsh-Hadamard   Omega x = T (delta x),                Omega^T z = delta (T z),              d delta_j = (T z)_j w_j
//! sparse           (Omega x)_r = sum_k o_rk x_c(r, k),   (Omega^T z)_c = sum_k o_ck z_r(c, k),   d o_ck = z_r(c, k) w_c
//! ```
//!
//! `T` is symmetric. A sparse matrix has its numbers by rows forwards and by columns in reverse, `k` apart by `H`, so that neighbouring units read neighbouring
//! numbers; a row or column with fewer than others has zeros, and its gradients there are not read. Units have the states `unit, unit + units, ...` in registers.

use cubecl::prelude::*;

use super::hadamard::transform;
use crate::action::{Acts, Cube};
use crate::kernel::unit::put_sum;

/// The states of this unit into shared memory, when no unit reads what was there any more.
#[cube]
fn share(x: &Array<f32>, from: usize, shared: &mut SharedMemory<f32>, #[comptime] of: Cube) {
    sync_cube();
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = UNIT_POS as usize + comptime!(e * of.units);
        if j < comptime!(of.hidden) {
            shared[j] = x[from + e];
        }
    }
    sync_cube();
}

/// `y = Omega x`, with `x` from a place in its array on.
#[cube]
pub(super) fn apply(
    numbers: &Array<f32>,
    row: usize,
    table: &Array<u32>,
    deep: usize,
    x: &Array<f32>,
    from: usize,
    y: &mut Array<f32>,
    shared: &mut SharedMemory<f32>,
    #[comptime] of: Cube,
) {
    let hidden = comptime!(of.hidden);
    let at = row * deep * hidden;
    if comptime!(of.acts == Acts::Hadamard) {
        // No other unit reads the places of this unit after the last transform.
        #[unroll]
        for e in 0..comptime!(of.per_unit()) {
            let j = UNIT_POS as usize + comptime!(e * of.units);
            if j < hidden {
                shared[j] = numbers[at + j] * x[from + e];
            }
        }
        transform(shared, hidden, comptime!(of.units));
    } else {
        share(x, from, shared, of);
    }
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = UNIT_POS as usize + comptime!(e * of.units);
        if j < hidden {
            let mut sum = f32::new(0.0);
            if comptime!(of.acts == Acts::Hadamard) {
                sum = shared[j] * comptime!(of.scale());
            } else {
                for k in 0..deep {
                    sum += numbers[at + k * hidden + j] * shared[table[k * hidden + j] as usize];
                }
            }
            y[e] = sum;
        }
    }
}

/// `y = Omega^T z`; the gradient is written to `d` where it is `fresh`, else added. The table of columns begins at `table_at`.
#[cube]
pub(super) fn pull(
    numbers: &Array<f32>,
    row: usize,
    table: &Array<u32>,
    table_at: usize,
    deep: usize,
    z: &Array<f32>,
    w: &Array<f32>,
    from: usize,
    factor: f32,
    fresh: bool,
    y: &mut Array<f32>,
    d: &mut Array<f32>,
    shared: &mut SharedMemory<f32>,
    #[comptime] of: Cube,
) {
    let hidden = comptime!(of.hidden);
    let at = row * deep * hidden;
    share(z, 0usize, shared, of);
    if comptime!(of.acts == Acts::Hadamard) {
        transform(shared, hidden, comptime!(of.units));
    }
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = UNIT_POS as usize + comptime!(e * of.units);
        if j < hidden {
            let mut sum = f32::new(0.0);
            let slope = factor * w[from + e];
            for k in 0..deep {
                let place = at + k * hidden + j;
                let mut other = shared[j] * comptime!(of.scale());
                if comptime!(of.acts == Acts::Sparse) {
                    other = shared[table[table_at + k * hidden + j] as usize];
                }
                sum += numbers[place] * other;
                put_sum(slope * other, d, place, !fresh);
            }
            y[e] = sum;
        }
    }
}
