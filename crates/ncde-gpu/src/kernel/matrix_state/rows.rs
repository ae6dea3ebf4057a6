//! Rows of matrix-valued states through time:
//!
//! ```text
//! forward    S <- S diag(w_t) + u c_t^T + v_t k_t^T,               o_t = S q_t,    u <- S a_{t+1}
//! back       G <- G diag(w_{t+1}) + z a_{t+1}^T + do_t q_t^T,     dv_t = G k_t,    z <- G c_t
//! ```
//!
//! Both are `X <- X diag(w) + y added^T + value key^T, out = X query, y <- X next`. Rows never meet: a cube has a block of them, and each unit a piece of a row in its registers.
//! What the next part of steps needs is on its way to registers while the steps of this part are taken.

use cubecl::prelude::*;

use super::{Sizes, first_row};
use crate::kernel::unit::{cube_below, zeros};
use crate::matrix_state::Decay;
use crate::matrix_state::cut::{CHUNK, Cut};

/// Which steps a cube reads: those from `first` on of the head whose first row this is, or `ahead` of them.
#[derive(CubeType, Clone, Copy)]
struct Part {
    row: usize,
    first: usize,
    length: usize,
    heads: usize,
}

/// What a unit reads of an array for the steps of a part: `padded` numbers from `offset` on of rows of `width`, 0 past the end of rows and series.
#[cube]
fn fetch(
    from: &Array<f32>,
    to: &mut Array<f32>,
    part: &Part,
    offset: usize,
    #[comptime] cut: Cut,
    #[comptime] widths: (usize, usize),
    #[comptime] ahead: bool,
) {
    let (width, padded) = comptime!(widths);
    #[unroll]
    for turn in 0..comptime!(cut.turns(padded)) {
        let at = UNIT_POS as usize + comptime!(turn * cut.units());
        let mut t = part.first + at / padded;
        if comptime!(ahead) {
            t += 1;
        }
        let number = offset + at % padded;
        to[turn] = f32::new(0.0);
        if number < width {
            if t < part.length {
                to[turn] = from[(part.row + t * part.heads) * width + number];
            }
        }
    }
}

/// From registers to shared memory.
#[cube]
fn share(from: &Array<f32>, to: &mut SharedMemory<f32>, #[comptime] cut: Cut, #[comptime] padded: usize) {
    #[unroll]
    for turn in 0..comptime!(cut.turns(padded)) {
        let at = UNIT_POS as usize + comptime!(turn * cut.units());
        if at < comptime!(cut.steps * padded) {
            to[at] = from[turn];
        }
    }
}

/// The sum of what the units of a row have.
#[cube]
fn over_pieces(parts: &SharedMemory<f32>, at: usize, #[comptime] cut: Cut) -> f32 {
    let mut sum = f32::new(0.0);
    #[unroll]
    for piece in 0..comptime!(cut.pieces) {
        sum += parts[at + comptime!(piece * cut.rows)];
    }
    sum
}

/// All steps; `out` and `u`: `[batch, length, heads, V]`; `states`: those before each chunk, in the order of the walk, `[batch, heads, chunks, V, K]`.
///
/// Cubes: `[batch, heads, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn rows(
    w: &Array<f32>,
    added: &Array<f32>,
    key: &Array<f32>,
    query: &Array<f32>,
    next: &Array<f32>,
    value: &Array<f32>,
    out: &mut Array<f32>,
    u: &mut Array<f32>,
    states: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] cut: Cut,
    #[comptime] back: bool,
) {
    let cube = cube_below(sizes.count);
    let unit = UNIT_POS as usize;
    let (keys, values, delta, decay) = comptime!((cut.of.keys, cut.of.values, cut.of.delta, cut.of.decay));
    let (steps, padded, units) = comptime!((cut.steps, cut.padded(), cut.units()));
    let decays = comptime!(cut.decays());
    let of_delta = comptime!(if delta { steps * padded } else { 1 });
    let blocks = comptime!(cut.blocks());
    let head = cube / blocks;
    let first_value = cube % blocks * cut.rows;
    let row = unit % cut.rows;
    let first_key = unit / cut.rows * cut.per_piece;
    let v = first_value + row;

    let mut w_s = SharedMemory::<f32>::new(comptime!((steps * decays).max(1)));
    let mut added_s = SharedMemory::<f32>::new(of_delta);
    let mut next_s = SharedMemory::<f32>::new(of_delta);
    let mut key_s = SharedMemory::<f32>::new(comptime!(steps * padded));
    let mut query_s = SharedMemory::<f32>::new(comptime!(steps * padded));
    let mut value_s = SharedMemory::<f32>::new(comptime!(steps * cut.rows));
    let mut out_s = SharedMemory::<f32>::new(comptime!(2 * units));
    let mut u_s = SharedMemory::<f32>::new(comptime!(if delta { 2 * units } else { 1 }));

    let mut w_r = Array::<f32>::new(comptime!(cut.turns(decays).max(1)));
    let mut added_r = Array::<f32>::new(comptime!(cut.turns(padded)));
    let mut next_r = Array::<f32>::new(comptime!(cut.turns(padded)));
    let mut key_r = Array::<f32>::new(comptime!(cut.turns(padded)));
    let mut query_r = Array::<f32>::new(comptime!(cut.turns(padded)));
    let mut value_r = Array::<f32>::new(comptime!(cut.turns(cut.rows)));

    let mut x = zeros(cut.per_piece);
    let mut y = f32::new(0.0);
    let first_row = first_row(head, sizes);
    let parts = (sizes.length + comptime!(steps - 1)) / steps;
    // The first turn only reads, the last one only computes.
    for turn in 0..parts + 1 {
        if turn > 0 {
            sync_cube();
            if comptime!(decay != Decay::None) {
                share(&w_r, &mut w_s, cut, decays);
            }
            if comptime!(delta) {
                share(&added_r, &mut added_s, cut, padded);
                share(&next_r, &mut next_s, cut, padded);
            }
            share(&key_r, &mut key_s, cut, padded);
            share(&query_r, &mut query_s, cut, padded);
            share(&value_r, &mut value_s, cut, comptime!(cut.rows));
            sync_cube();
        }
        if turn < parts {
            let mut index = turn;
            if comptime!(back) {
                index = parts - 1 - turn;
            }
            let part = Part { row: first_row, first: index * steps, length: sizes.length, heads: sizes.heads };
            if comptime!(decay == Decay::Scalar) {
                fetch(w, &mut w_r, &part, 0usize, cut, (1usize, 1usize), back);
            }
            if comptime!(decay == Decay::Vector) {
                fetch(w, &mut w_r, &part, 0usize, cut, (keys, padded), back);
            }
            if comptime!(delta) {
                fetch(added, &mut added_r, &part, 0usize, cut, (keys, padded), back);
                fetch(next, &mut next_r, &part, 0usize, cut, (keys, padded), comptime!(!back));
            }
            fetch(key, &mut key_r, &part, 0usize, cut, (keys, padded), false);
            fetch(query, &mut query_r, &part, 0usize, cut, (keys, padded), false);
            fetch(value, &mut value_r, &part, first_value, cut, (values, cut.rows), false);
        }
        if turn > 0 {
            let mut index = turn - 1;
            if comptime!(back) {
                index = parts - turn;
            }
            let first = index * steps;
            let count = min(steps, sizes.length - first);
            let mut starts_chunk = first % CHUNK == 0;
            if comptime!(back) {
                starts_chunk = turn == 1 || (first + steps) % CHUNK == 0;
            }
            if starts_chunk {
                if v < values {
                    let at = ((head * sizes.chunks + first / CHUNK) * values + v) * keys;
                    #[unroll]
                    for j in 0..comptime!(cut.per_piece) {
                        if first_key + j < keys {
                            states[at + first_key + j] = x[j];
                        }
                    }
                }
            }
            for s in 0..count {
                let mut i = s;
                if comptime!(back) {
                    i = count - 1 - s;
                }
                let at = i * padded + first_key;
                let to = (first_row + (first + i) * sizes.heads) * values + v;
                let is_written = first_key == 0 && v < values;
                if comptime!(delta && !back) {
                    if is_written {
                        u[to] = y;
                    }
                }
                let value_t = value_s[i * cut.rows + row];
                let mut o = f32::new(0.0);
                let mut read = f32::new(0.0);
                #[unroll]
                for j in 0..comptime!(cut.per_piece) {
                    let mut s_j = x[j];
                    if comptime!(decay == Decay::Scalar) {
                        s_j *= w_s[i];
                    }
                    if comptime!(decay == Decay::Vector) {
                        s_j *= w_s[at + j];
                    }
                    if comptime!(delta) {
                        s_j += added_s[at + j] * y;
                    }
                    s_j += key_s[at + j] * value_t;
                    x[j] = s_j;
                    o += query_s[at + j] * s_j;
                    if comptime!(delta) {
                        read += next_s[at + j] * s_j;
                    }
                }
                if comptime!(cut.pieces > 1) {
                    // The halves take turns, so that a unit that is ahead writes to none that others read.
                    let half = s % 2 * units;
                    out_s[half + unit] = o;
                    if comptime!(delta) {
                        u_s[half + unit] = read;
                    }
                    sync_cube();
                    if is_written {
                        o = over_pieces(&out_s, half + row, cut);
                    }
                    if comptime!(delta) {
                        read = over_pieces(&u_s, half + row, cut);
                    }
                }
                y = read;
                if is_written {
                    out[to] = o;
                    if comptime!(delta && back) {
                        u[to] = y;
                    }
                }
            }
        }
    }
}
