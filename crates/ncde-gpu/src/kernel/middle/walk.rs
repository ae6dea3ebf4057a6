//! A team through a slab: states, sums of what is added, gradients pulled to the beginning of chunks.

use cubecl::prelude::*;

use super::{advance, lines, member, read};
use crate::flow::Flow;
use crate::kernel::place::{begin, offset_of};
use crate::kernel::unit::copy;
use crate::kernel::wide::Purpose;
use crate::sizes::{Sizes, row_of};

/// A walk through a slab of every chunk. `ends` are the states at the beginnings of chunks, or what a walk goes on from and ends with; `rows` the states to be
/// written, or their gradient to be added.
///
/// Teams: `[batch, chunks, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn walk(
    m: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    ends: &mut Array<f32>,
    rows: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] purpose: Purpose,
) {
    let lane = member(sizes.units, b);
    let r = lane.row;
    let is_there = lane.is_there;
    let at = offset_of(lane.team, 0usize, sizes.columns, lengths, sizes, b, purpose);
    let stride = at.stride;
    let base = at.base + r;
    let mut x = f32::new(0.0);
    if is_there {
        x = begin(&at, r, ends, rows, sizes, purpose);
    }
    let mut shared = lines();
    let mut turn = 0usize;
    let mut row = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    let mut next_number = f32::new(0.0);
    // What comes first is read before it begins, and so is the rest, a step ahead.
    let mut s = 0usize;
    if comptime!(purpose == Purpose::Pull) {
        s = sizes.steps - 1;
    }
    let first_row = row_of(at.chunk, sizes);
    read(m, ((first_row + s) * sizes.count + at.block) * comptime!(b * b) + r, is_there && at.t_0 + s < at.length, &mut next, b);
    if comptime!(purpose == Purpose::Pull) {
        if is_there && at.t_0 + s < sizes.length {
            next_number = rows[base + (at.t_0 + s) * stride];
        }
    } else if comptime!(flow.is_affine()) {
        if is_there && at.t_0 + s < at.length {
            next_number = beta[base + (at.t_0 + s) * stride];
        }
    }
    for k in 0..sizes.steps {
        let t = at.t_0 + s;
        copy(&next, &mut row, b);
        let number = next_number;
        let mut is_next = is_there && k + 1 < sizes.steps;
        if comptime!(purpose == Purpose::Pull) {
            s = max(s, 1) - 1;
        } else {
            s += 1;
        }
        let then = at.t_0 + s;
        is_next = is_next && then < sizes.length;
        let from = ((first_row + s) * sizes.count + at.block) * comptime!(b * b) + r;
        read(m, from, is_next && then < at.length, &mut next, b);
        next_number = f32::new(0.0);
        if comptime!(purpose == Purpose::Pull) {
            if is_next {
                next_number = rows[base + then * stride];
            }
            x += number;
        } else if comptime!(flow.is_affine()) {
            if is_next && then < at.length {
                next_number = beta[base + then * stride];
            }
        }
        let (after, next_turn) = advance(&row, x, number, &mut shared, turn, b, flow);
        x = after;
        turn = next_turn;
        if comptime!(purpose == Purpose::Replay) {
            if is_there && t < sizes.length {
                rows[base + t * stride] = x;
            }
        }
    }
    if comptime!(purpose != Purpose::Replay) {
        if is_there {
            ends[at.end + r] = x;
        }
    }
}
