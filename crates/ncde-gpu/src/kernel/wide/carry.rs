//! From chunk to chunk, a block of a series a cube.

use cubecl::prelude::*;

use super::{WALKERS, copy, entry};
use crate::kernel::unit::cube_below;
use crate::sizes::Sizes;

/// From chunk to chunk: the state at the beginning of every chunk, or in reverse the gradient at the end of every chunk, in place of what the
/// chunk itself contributes. In reverse products may be those of the forward pass, of which the transposes are meant.
///
/// Cubes: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    ends: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
    #[comptime] back: bool,
    #[comptime] turned: bool,
) {
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let block = cube % sizes.count;
    let column = cube / sizes.count % sizes.columns;
    let series = cube / (sizes.count * sizes.columns);
    let mut h = SharedMemory::<f32>::new(b);
    let mut next = SharedMemory::<f32>::new(b);
    for r in range_stepped(unit, b, WALKERS) {
        let mut value = f32::new(0.0);
        if comptime!(!back) {
            value = initial[(series * sizes.columns + column) * sizes.hidden + sizes.at + block * b + r];
        }
        h[r] = value;
    }
    sync_cube();
    for turn in 0..sizes.chunks {
        let mut chunk = turn;
        let mut has_product = turn + 1 < sizes.chunks;
        if comptime!(back) {
            chunk = sizes.chunks - 1 - turn;
            has_product = chunk > 0;
        }
        let place = series * sizes.chunks + chunk;
        let to = ((place * sizes.columns + column) * sizes.count + block) * b;
        let base = place * (b + sizes.columns) * sizes.count * b;
        for r in range_stepped(unit, b, WALKERS) {
            let mut sum = f32::new(0.0);
            if comptime!(back) {
                sum = ends[to + r];
            }
            ends[to + r] = h[r];
            if has_product {
                if comptime!(affine) {
                    sum = products[base + ((b + column) * sizes.count + block) * b + r];
                }
                let mut at = base + block * b + r;
                let mut stride = sizes.count * b;
                if comptime!(turned) {
                    at = base + (r * sizes.count + block) * b;
                    stride = 1usize.runtime();
                }
                sum += entry(products, at, stride, &h, 0usize, b);
            }
            next[r] = sum;
        }
        sync_cube();
        copy(&next, &mut h, 0usize, b);
    }
}
