//! The gradients of a slab, from the end of every chunk.

use cubecl::prelude::*;

use super::{Purpose, WALKERS, copy, multiply, norm, stages};
use crate::flow::Flow;
use crate::kernel::place::offset_of;
use crate::kernel::step::{SMALL, TERMS, overflow};
use crate::kernel::unit::{cube_below, put_sum};
use crate::sizes::{Sizes, row_of};

/// The gradients in generators and affine inputs of one column of the state, from those at the end of each chunk.
///
/// `m` are the columns of Omega, read only where the flow is exact; `rows_of` its rows.
///
/// Cubes: `[batch, chunks, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    m: &Array<f32>,
    rows_of: &Array<f32>,
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
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let of = offset_of(cube, column, 1usize, lengths, sizes, b, comptime!(Purpose::Adjoints));
    let base = of.base;
    let stride = of.stride;
    let length = of.length;
    let most_terms = comptime!(if flow.exact { TERMS } else { 1 });
    // lambda; the terms w_0, w_1, ...; v and the next v; the state; sums of dbeta.
    let mut l = SharedMemory::<f32>::new(b);
    let mut w = SharedMemory::<f32>::new(comptime!(most_terms * b));
    let mut v = SharedMemory::<f32>::new(comptime!((most_terms + 1) * b));
    let mut h = SharedMemory::<f32>::new(b);
    let mut added = SharedMemory::<f32>::new(b);
    let mut scratch = SharedMemory::<f32>::new(comptime!(2 * b));
    for r in range_stepped(unit, b, WALKERS) {
        l[r] = lambda[of.end + r];
        // Nothing comes after the only chunk.
        if sizes.chunks == 1 && sizes.first + sizes.steps == sizes.chunk {
            l[r] = f32::new(0.0);
        }
    }
    sync_cube();
    for turn in 0..sizes.steps {
        let s = sizes.steps - 1 - turn;
        let t = of.t_0 + s;
        let at = ((row_of(of.chunk, sizes) + s) * sizes.count + of.block) * comptime!(b * b);
        if t < sizes.length {
            for r in range_stepped(unit, b, WALKERS) {
                l[r] += gradient[base + t * stride + r];
                if t == 0 {
                    h[r] = initial[of.initial + r];
                } else {
                    h[r] = states[base + (t - 1) * stride + r];
                }
                if comptime!(flow.is_inside()) {
                    added[r] = beta[base + t * stride + r];
                }
                if comptime!(flow.is_affine()) {
                    let mut value = f32::new(0.0);
                    if t < length && comptime!(!flow.is_inside()) {
                        value = l[r];
                    }
                    d_beta[base + t * stride + r] = value;
                }
            }
            sync_cube();
        }
        if t < length {
            let mut most = f32::new(0.0);
            let mut stages_of = 1u32;
            if comptime!(flow.exact) {
                most = max(norm(m, at, b, WALKERS), norm(rows_of, at, b, WALKERS));
                stages_of = stages(most);
            }
            let part = 1.0 / f32::cast_from(stages_of);
            for stage in 0..stages_of {
                let mut terms = 1usize;
                if comptime!(flow.exact) {
                    copy(&h, &mut w, 0usize, b);
                    // The state before this stage: from that before the step, the stages before it.
                    for _ in 0..stages_of - 1 - stage {
                        copy(&w, &mut scratch, 0usize, b);
                        for k in 0..TERMS {
                            let j = k + 1;
                            let to = j % 2 * b;
                            multiply(m, at, &mut scratch, b - to, to, part / f32::cast_from(j as u32), b);
                            for r in range_stepped(unit, b, WALKERS) {
                                if comptime!(flow.is_inside()) {
                                    if j == 1 {
                                        scratch[to + r] += part * added[r];
                                    }
                                }
                                w[r] += scratch[to + r];
                            }
                            sync_cube();
                        }
                    }
                    // w_1, ..., w_{m-1}, as many as the series needs: a derivative loses a power, and so does phi_1.
                    let mut left = most * part;
                    while terms < TERMS && (left > SMALL || terms < 3) {
                        let j = terms;
                        let factor = part / f32::cast_from(j as u32);
                        multiply(m, at, &mut w, (j - 1) * b, j * b, factor, b);
                        if comptime!(flow.is_inside()) {
                            if j == 1 {
                                for r in range_stepped(unit, b, WALKERS) {
                                    w[b + r] += part * added[r];
                                }
                            }
                        }
                        sync_cube();
                        if j > 1 {
                            left *= factor * most;
                        }
                        terms += 1;
                    }
                } else {
                    copy(&h, &mut w, 0usize, b);
                }
                // v_m = lambda, down to v_0; v_j lies at j.
                copy(&l, &mut v, terms * b, b);
                for k in 0..terms {
                    let j = terms - k;
                    multiply(rows_of, at, &mut v, j * b, (j - 1) * b, part / f32::cast_from(j as u32), b);
                    for r in range_stepped(unit, b, WALKERS) {
                        v[(j - 1) * b + r] += l[r];
                    }
                    sync_cube();
                }
                // dOmega += sum_j v_j w_{j-1}^T / j.
                for c in range_stepped(unit, b, WALKERS) {
                    for r in 0..b {
                        let mut sum = f32::new(0.0);
                        for k in 0..terms {
                            sum += part / f32::cast_from(k as u32 + 1) * v[(k + 1) * b + r] * w[k * b + c];
                        }
                        put_sum(sum + overflow(most), d_omega, at + r * b + c, stage > 0 || column > 0);
                    }
                    if comptime!(flow.is_inside()) {
                        d_beta[base + t * stride + c] += part * v[b + c];
                    }
                }
                sync_cube();
                copy(&v, &mut l, 0usize, b);
            }
        } else if column == 0 && t < sizes.length {
            for c in range_stepped(unit, b, WALKERS) {
                for r in 0..b {
                    d_omega[at + r * b + c] = f32::new(0.0);
                }
            }
        }
    }
    for r in range_stepped(unit, b, WALKERS) {
        lambda[of.end + r] = l[r];
    }
}
