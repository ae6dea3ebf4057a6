//! The gradients of a slab, from the end of every chunk.
//!
//! ```text
//! v_m = lambda,   dM += v_j w_{j-1}^T / j,   v_{j-1} = lambda + M^T v_j / j,   dbeta = v_1,   dx = v_0
//! ```
//!
//! Unit `c` has row `c` of `M` for the terms `w_j`, column `c` of it for the vectors `v_j`, and column `c` of `dM`: of `w` it needs only number `c`, of `v` those that
//! the product needs anyway.

use cubecl::prelude::*;

use super::{CUBE, TEAM, TEAMS, TURN, dot, finite_norm, largest, lines, member, read, size, stages};
use crate::flow::Flow;
use crate::kernel::place::offset_of;
use crate::kernel::step::{SMALL, TERMS, overflow, shrunk};
use crate::kernel::unit::put_sum;
use crate::kernel::wide::Purpose;
use crate::sizes::{Sizes, row_of};

/// How far apart rows of `M` lie in shared memory, so that both its rows and its columns are spread over all banks.
const APART: usize = TEAM + 1;

/// The state before a stage of the step from `value`: so many stages on.
#[cube]
fn onward(
    row: &Array<f32>,
    value: f32,
    beta: f32,
    count: u32,
    part: f32,
    norm: f32,
    shared: &mut SharedMemory<f32>,
    begin: usize,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) -> (f32, usize) {
    let unit = UNIT_POS as usize;
    let first = unit / comptime!(TEAM) * comptime!(TEAM);
    let mut turn = begin;
    let mut x = value;
    for _ in 0..count {
        let mut w = x;
        let mut left = f32::new(1.0);
        let mut j = 1u32;
        while left > SMALL && j <= comptime!(TERMS as u32) {
            let factor = part / f32::cast_from(j);
            shared[turn * TURN + unit] = w;
            sync_cube();
            w = factor * dot(row, shared, turn * TURN + first, b);
            if comptime!(flow.is_inside()) {
                if j == 1u32 {
                    w += part * beta;
                }
            }
            turn = 1 - turn;
            x += w;
            left = shrunk(left, factor * norm, j == 1u32, comptime!(flow.is_inside()));
            j += 1u32;
        }
    }
    (x, turn)
}

/// The gradients in generators and affine inputs of one column of the state, from those at the end of each chunk. `m` are the rows of Omega.
///
/// Teams: `[batch, chunks, blocks]`. Slabs come last first, and `lambda` goes from one to the next.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    m: &Array<f32>,
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
    let unit = UNIT_POS as usize;
    let lane = member(sizes.units, b);
    let c = lane.row;
    let first = lane.first;
    let is_there = lane.is_there;
    let of = offset_of(lane.team, column, 1usize, lengths, sizes, b, comptime!(Purpose::Adjoints));
    let base = of.base + c;
    let stride = of.stride;
    let t_0 = of.t_0;
    let length = of.length;
    let first_row = row_of(of.chunk, sizes);
    let most_terms = comptime!(if flow.exact { TERMS } else { 1 });
    let mut shared = lines();
    // w_0, w_1, ...
    let mut terms_of = SharedMemory::<f32>::new_aligned(comptime!(most_terms * CUBE), 16usize);
    let mut tile = SharedMemory::<f32>::new(comptime!(if flow.exact { TEAMS * b * APART } else { 1 }));
    let tile_of = unit / comptime!(TEAM) * comptime!(b * APART);
    let mut row = Array::<f32>::new(b);
    let mut by_column = Array::<f32>::new(b);
    let mut dm = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    let mut l = f32::new(0.0);
    // Nothing comes after the only chunk.
    if is_there && !(sizes.chunks == 1 && sizes.first + sizes.steps == sizes.chunk) {
        l = lambda[of.end + c];
    }
    let mut turn = 0usize;
    let mut s = sizes.steps - 1;
    read(m, ((first_row + s) * sizes.count + of.block) * comptime!(b * b) + c, is_there && t_0 + s < length, &mut next, b);
    for step in 0..sizes.steps {
        let t = t_0 + s;
        let at = ((first_row + s) * sizes.count + of.block) * comptime!(b * b) + c;
        let is_in = is_there && t < sizes.length;
        let has_step = is_there && t < length;
        let mut h = f32::new(0.0);
        let mut added = f32::new(0.0);
        if is_in {
            l += gradient[base + t * stride];
            if t == 0 {
                h = initial[of.initial + c];
            } else {
                h = states[base + (t - 1) * stride];
            }
            if comptime!(flow.is_inside()) {
                added = beta[base + t * stride];
            }
        }
        #[unroll]
        for k in 0..b {
            by_column[k] = next[k];
            dm[k] = f32::new(0.0);
        }
        s = max(s, 1) - 1;
        let then = t_0 + s;
        let from = ((first_row + s) * sizes.count + of.block) * comptime!(b * b) + c;
        read(m, from, is_there && step + 1 < sizes.steps && then < length, &mut next, b);
        let mut d_added = l;
        let mut norm = f32::new(0.0);
        let mut bad = f32::new(0.0);
        let mut stages_of = 1u32;
        if comptime!(flow.exact) {
            if c < b {
                #[unroll]
                for k in 0..b {
                    tile[tile_of + comptime!(k * APART) + c] = by_column[k];
                }
            }
            sync_cube();
            #[unroll]
            for k in 0..b {
                row[k] = tile[tile_of + min(c, comptime!(b - 1)) * comptime!(APART) + k];
            }
            let unit_norm = max(size(&row, b), size(&by_column, b));
            bad = overflow(unit_norm);
            shared[turn * TURN + CUBE + unit] = finite_norm(unit_norm);
            sync_cube();
            norm = largest(&shared, turn * TURN + CUBE);
            turn = 1 - turn;
            stages_of = stages(norm);
        }
        if comptime!(flow.is_inside()) {
            d_added = f32::new(0.0);
        }
        let part = 1.0 / f32::cast_from(stages_of);
        for stage in 0..stages_of {
            let mut w = h;
            let mut terms = 1u32;
            if comptime!(flow.exact) {
                let before = stages_of - 1 - stage;
                let (state, next_turn) = onward(&row, h, added, before, part, norm, &mut shared, turn, b, flow);
                w = state;
                turn = next_turn;
                terms_of[unit] = w;
                // As many as the series needs: a derivative loses a power, and so does phi_1.
                let mut left = norm * part;
                while terms < comptime!(TERMS as u32) && (left > SMALL || terms < 3u32) {
                    let factor = part / f32::cast_from(terms);
                    sync_cube();
                    w = factor * dot(&row, &terms_of, (terms as usize - 1) * CUBE + first, b);
                    if terms == 1u32 {
                        if comptime!(flow.is_inside()) {
                            w += part * added;
                        }
                    } else {
                        left *= factor * norm;
                    }
                    terms_of[terms as usize * CUBE + unit] = w;
                    terms += 1u32;
                }
            } else {
                terms_of[unit] = w;
            }
            let mut v = l;
            for k in 0..terms {
                let j = terms - k;
                let factor = part / f32::cast_from(j);
                shared[turn * TURN + unit] = v;
                sync_cube();
                if comptime!(flow.is_inside()) {
                    if j == 1u32 {
                        d_added += part * v;
                    }
                }
                let scaled_w = factor * terms_of[(j as usize - 1) * CUBE + unit];
                let mut sums = Array::<f32>::new(2usize);
                sums[0] = f32::new(0.0);
                sums[1] = f32::new(0.0);
                #[unroll]
                for r in 0..b {
                    let value = shared[turn * TURN + first + r];
                    sums[comptime!(r % 2)] += by_column[r] * value;
                    dm[r] += scaled_w * value;
                }
                v = l + factor * (sums[0] + sums[1]);
                turn = 1 - turn;
            }
            l = v;
        }
        l += bad;
        if is_in {
            #[unroll]
            for r in 0..b {
                let mut value = f32::new(0.0);
                if has_step {
                    value = dm[r] + bad;
                }
                put_sum(value, d_omega, at + r * b, column > 0);
            }
            if comptime!(flow.is_affine()) {
                if !has_step {
                    d_added = f32::new(0.0);
                }
                d_beta[base + t * stride] = d_added;
            }
        }
    }
    if is_there {
        lambda[of.end + c] = l;
    }
}
