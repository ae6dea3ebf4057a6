//! From chunk to chunk: `h_{c+1} = P_c h_c + q_c`, and in reverse `lambda_{c-1} = P_c^T lambda_c + r_c`.
//!
//! The only part that goes through time one chunk after the other. Products are read ahead of where they are needed.

use cubecl::prelude::*;

use crate::sizes::Sizes;

/// The state at the beginning of every chunk.
///
/// Units: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    starts: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let series = unit / (sizes.count * sizes.columns);
    let mut h = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    let mut p = Array::<f32>::new(comptime!(b * b));
    let from = (series * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
    #[unroll]
    for r in 0..b {
        h[r] = initial[from + r];
    }
    for chunk in 0..sizes.chunks {
        let place = series * sizes.chunks + chunk;
        let to = ((place * sizes.columns + column) * sizes.count + block) * b;
        #[unroll]
        for r in 0..b {
            starts[to + r] = h[r];
        }
        if chunk + 1 < sizes.chunks {
            let base = place * (b + sizes.columns) * sizes.count * b;
            #[unroll]
            for c in 0..b {
                #[unroll]
                for r in 0..b {
                    p[c * b + r] = products[base + (c * sizes.count + block) * b + r];
                }
            }
            #[unroll]
            for r in 0..b {
                next[r] = f32::new(0.0);
                if comptime!(affine) {
                    next[r] = products[base + ((b + column) * sizes.count + block) * b + r];
                }
                #[unroll]
                for c in 0..b {
                    next[r] += p[c * b + r] * h[c];
                }
            }
            #[unroll]
            for r in 0..b {
                h[r] = next[r];
            }
        }
    }
}

/// The gradient at the end of every chunk, in place of what each chunk itself contributes; and the gradient in the initial state, if
/// there is more than one chunk.
///
/// Units: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry_back(products: &Array<f32>, lambda: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let series = unit / (sizes.count * sizes.columns);
    let mut l = Array::<f32>::new(b);
    let mut next = Array::<f32>::new(b);
    let mut p = Array::<f32>::new(comptime!(b * b));
    #[unroll]
    for r in 0..b {
        l[r] = f32::new(0.0);
    }
    for k in 0..sizes.chunks {
        let chunk = sizes.chunks - 1 - k;
        let place = series * sizes.chunks + chunk;
        let to = ((place * sizes.columns + column) * sizes.count + block) * b;
        #[unroll]
        for r in 0..b {
            next[r] = lambda[to + r];
        }
        #[unroll]
        for r in 0..b {
            lambda[to + r] = l[r];
        }
        if k > 0 {
            let base = place * (b + sizes.columns) * sizes.count * b;
            #[unroll]
            for c in 0..b {
                #[unroll]
                for r in 0..b {
                    p[c * b + r] = products[base + (c * sizes.count + block) * b + r];
                }
            }
            #[unroll]
            for c in 0..b {
                #[unroll]
                for r in 0..b {
                    next[c] += p[c * b + r] * l[r];
                }
            }
        }
        #[unroll]
        for r in 0..b {
            l[r] = next[r];
        }
    }
}

/// The gradient in the initial state: what is left of `lambda` at the beginning of the first chunk.
///
/// Units: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn first(lambda: &Array<f32>, out: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let series = unit / (sizes.count * sizes.columns);
    let from = ((series * sizes.chunks * sizes.columns + column) * sizes.count + block) * b;
    let to = (series * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
    #[unroll]
    for r in 0..b {
        out[to + r] = lambda[from + r];
    }
}
