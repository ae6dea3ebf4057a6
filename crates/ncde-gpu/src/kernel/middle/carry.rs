//! From chunk to chunk, a block of a series a team.

use cubecl::prelude::*;

use super::{TEAM, TURN, dot, lines, member};
use crate::kernel::unit::fetch;
use crate::sizes::Sizes;

/// How many products a team reads at once, so that it waits for all of them together.
const DEEP: usize = 128 / TEAM;

/// The state at the beginning of every chunk, or in reverse the gradient at the end of every chunk, in place of what the chunk itself contributes.
///
/// Teams: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    ends: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
    #[comptime] back: bool,
) {
    let unit = UNIT_POS as usize;
    let of = member(sizes.units, b);
    let r = of.row;
    let is_there = of.is_there;
    let block = of.team % sizes.count;
    let column = of.team / sizes.count % sizes.columns;
    let series = of.team / (sizes.count * sizes.columns);
    let mut shared = lines();
    let mut h = f32::new(0.0);
    if comptime!(!back) {
        if is_there {
            h = initial[(series * sizes.columns + column) * sizes.hidden + sizes.at + block * b + r];
        }
    }
    let mut p = Array::<f32>::new(comptime!(DEEP * b));
    let mut q = Array::<f32>::new(comptime!(DEEP));
    let mut row = Array::<f32>::new(b);
    let mut turn = 0usize;
    let mut done = 0usize;
    while done < sizes.chunks {
        #[unroll]
        for i in 0..comptime!(DEEP) {
            let at = min(done + i, sizes.chunks - 1);
            let mut chunk = at;
            if comptime!(back) {
                chunk = sizes.chunks - 1 - at;
            }
            let place = series * sizes.chunks + chunk;
            let base = place * (b + sizes.columns) * sizes.count * b + block * b + r;
            // The last chunk has no product (the first, in reverse), and needs none.
            let has_product = is_there && at + 1 < sizes.chunks;
            #[unroll]
            for c in 0..b {
                p[i * b + c] = f32::new(0.0);
            }
            q[i] = f32::new(0.0);
            if has_product {
                #[unroll]
                for c in 0..b {
                    p[i * b + c] = products[base + c * sizes.count * b];
                }
                if comptime!(affine) {
                    q[i] = products[base + (b + column) * sizes.count * b];
                }
            }
            if comptime!(back) {
                if is_there {
                    q[i] = ends[((place * sizes.columns + column) * sizes.count + block) * b + r];
                }
            }
        }
        #[unroll]
        for i in 0..comptime!(DEEP) {
            let at = done + i;
            if is_there && at < sizes.chunks {
                let mut chunk = at;
                if comptime!(back) {
                    chunk = sizes.chunks - 1 - at;
                }
                let place = series * sizes.chunks + chunk;
                ends[((place * sizes.columns + column) * sizes.count + block) * b + r] = h;
            }
            fetch(&p, i * b, &mut row, b);
            shared[turn * TURN + unit] = h;
            sync_cube();
            h = q[i] + dot(&row, &shared, turn * TURN + of.first, b);
            turn = 1 - turn;
        }
        done += comptime!(DEEP);
    }
}
