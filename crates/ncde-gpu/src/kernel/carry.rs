//! From chunk to chunk: `h_{c+1} = P_c h_c + q_c`, and in reverse `lambda_{c-1} = P_c^T lambda_c + r_c`.
//!
//! The only part that goes through time one chunk after the other. Many chunks are joined in groups first (`fold`, `fold_back`), so that all
//! groups are worked on at once; the same two kernels then go from group to group, and within every group from chunk to chunk.

use cubecl::prelude::*;

use crate::sizes::Sizes;

/// How many products a unit reads at once, so that it waits for all of them together.
const fn deep(b: usize) -> usize {
    if b > 4 {
        1
    } else if b > 2 {
        4
    } else {
        8
    }
}

/// The products of so many chunks from one on (or back from it), columns one after the other. Beyond the last that is needed it is read again.
#[cube]
fn load(
    products: &Array<f32>,
    first: usize,
    count: usize,
    block: usize,
    sizes: &Sizes,
    p: &mut Array<f32>,
    #[comptime] b: usize,
    #[comptime] back: bool,
) {
    #[unroll]
    for i in 0..comptime!(deep(b)) {
        let ahead = min(i.runtime(), count - 1);
        let mut place = first + ahead;
        if comptime!(back) {
            place = first - ahead;
        }
        let base = (place * (b + sizes.columns) * sizes.count + block) * b;
        #[unroll]
        for c in 0..b {
            #[unroll]
            for r in 0..b {
                p[(i * b + c) * b + r] = products[base + c * sizes.count * b + r];
            }
        }
    }
}

/// What affine inputs add up to in a chunk, in one column of the state.
#[cube]
fn load_sum(
    products: &Array<f32>,
    place: usize,
    column: usize,
    block: usize,
    sizes: &Sizes,
    q: &mut Array<f32>,
    #[comptime] b: usize,
) {
    let base = ((place * (b + sizes.columns) + b + column) * sizes.count + block) * b;
    #[unroll]
    for r in 0..b {
        q[r] = products[base + r];
    }
}

/// `h = P h + q` with one of the products that were read.
#[cube]
fn push(p: &Array<f32>, #[comptime] i: usize, q: &Array<f32>, h: &mut Array<f32>, #[comptime] b: usize) {
    let mut next = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        next[r] = q[r];
        #[unroll]
        for c in 0..b {
            next[r] += p[(i * b + c) * b + r] * h[c];
        }
    }
    #[unroll]
    for r in 0..b {
        h[r] = next[r];
    }
}

/// `l = P^T l + r` with one of the products that were read.
#[cube]
fn pull(p: &Array<f32>, #[comptime] i: usize, own: &Array<f32>, l: &mut Array<f32>, #[comptime] b: usize) {
    let mut next = Array::<f32>::new(b);
    #[unroll]
    for c in 0..b {
        next[c] = own[c];
        #[unroll]
        for r in 0..b {
            next[c] += p[(i * b + c) * b + r] * l[r];
        }
    }
    #[unroll]
    for r in 0..b {
        l[r] = next[r];
    }
}

/// The products of groups of chunks, and what affine inputs add up to in them. (The last chunk of a series has no product and needs none.)
///
/// Units: `[batch, groups, b + columns, blocks]`, without `columns` where nothing is added.
#[cube(launch_unchecked)]
pub(crate) fn fold(
    products: &Array<f32>,
    out: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let groups = (sizes.chunks + group - 1) / group;
    let block = unit % sizes.count;
    let mut wide = b.runtime();
    if comptime!(affine) {
        wide += sizes.columns;
    }
    let column = unit / sizes.count % wide;
    let own = unit / (sizes.count * wide);
    let series = own / groups;
    let first = own % groups * group;
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    let mut q = Array::<f32>::new(b);
    let mut x = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        q[r] = f32::new(0.0);
        x[r] = f32::new(0.0);
        if column == r {
            x[r] = f32::new(1.0);
        }
    }
    let end = min(first + group, sizes.chunks - 1);
    let mut chunk = first;
    while chunk < end {
        load(products, series * sizes.chunks + chunk, end - chunk, block, sizes, &mut p, b, false);
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if chunk < end {
                if comptime!(affine) {
                    if column >= b {
                        load_sum(products, series * sizes.chunks + chunk, column - b, block, sizes, &mut q, b);
                    }
                }
                push(&p, i, &q, &mut x, b);
                chunk += 1;
            }
        }
    }
    let to = ((own * (b + sizes.columns) + column) * sizes.count + block) * b;
    #[unroll]
    for r in 0..b {
        out[to + r] = x[r];
    }
}

/// What the chunks of a group contribute to the gradient at its beginning.
///
/// Units: `[batch, groups, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn fold_back(
    products: &Array<f32>,
    lambda: &Array<f32>,
    out: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let groups = (sizes.chunks + group - 1) / group;
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let own = unit / (sizes.count * sizes.columns);
    let series = own / groups;
    let first = own % groups * group;
    let count = min(group, sizes.chunks - first);
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    let mut r_c = Array::<f32>::new(b);
    let mut l = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        l[r] = f32::new(0.0);
    }
    let mut left = count;
    while left > 0 {
        let last = series * sizes.chunks + first + left - 1;
        load(products, last, left, block, sizes, &mut p, b, true);
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if left > 0 {
                let chunk = first + left - 1;
                let from = (((series * sizes.chunks + chunk) * sizes.columns + column) * sizes.count + block) * b;
                #[unroll]
                for r in 0..b {
                    r_c[r] = lambda[from + r];
                }
                // Of the last chunk there is no product; nothing comes after it.
                if chunk + 1 < sizes.chunks {
                    pull(&p, i, &r_c, &mut l, b);
                } else {
                    #[unroll]
                    for r in 0..b {
                        l[r] = r_c[r];
                    }
                }
                left -= 1;
            }
        }
    }
    #[unroll]
    for r in 0..b {
        out[unit * b + r] = l[r];
    }
}

/// The state at the beginning of every chunk, from that at the beginning of its group, or from `h_0`.
///
/// Units: `[batch, groups, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    starts: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
    #[comptime] grouped: bool,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let groups = (sizes.chunks + group - 1) / group;
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let own = unit / (sizes.count * sizes.columns);
    let series = own / groups;
    let first = own % groups * group;
    let mut h = Array::<f32>::new(b);
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    let mut q = Array::<f32>::new(b);
    let mut from = unit * b;
    if comptime!(!grouped) {
        from = (series * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
    }
    #[unroll]
    for r in 0..b {
        h[r] = initial[from + r];
        q[r] = f32::new(0.0);
    }
    let end = min(first + group, sizes.chunks);
    let mut chunk = first;
    while chunk < end {
        load(products, series * sizes.chunks + chunk, end - chunk, block, sizes, &mut p, b, false);
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if chunk < end {
                let place = series * sizes.chunks + chunk;
                let to = ((place * sizes.columns + column) * sizes.count + block) * b;
                #[unroll]
                for r in 0..b {
                    starts[to + r] = h[r];
                }
                if chunk + 1 < end {
                    if comptime!(affine) {
                        load_sum(products, place, column, block, sizes, &mut q, b);
                    }
                    push(&p, i, &q, &mut h, b);
                }
                chunk += 1;
            }
        }
    }
}

/// The gradient at the end of every chunk, in place of what each chunk itself contributes, from that at the end of its group, or from 0.
///
/// Units: `[batch, groups, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry_back(
    products: &Array<f32>,
    ends: &Array<f32>,
    lambda: &mut Array<f32>,
    group: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] grouped: bool,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let groups = (sizes.chunks + group - 1) / group;
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let own = unit / (sizes.count * sizes.columns);
    let series = own / groups;
    let first = own % groups * group;
    let count = min(group, sizes.chunks - first);
    let mut l = Array::<f32>::new(b);
    let mut r_c = Array::<f32>::new(b);
    let mut p = Array::<f32>::new(comptime!(deep(b) * b * b));
    #[unroll]
    for r in 0..b {
        l[r] = f32::new(0.0);
        if comptime!(grouped) {
            l[r] = ends[unit * b + r];
        }
    }
    let mut left = count;
    while left > 0 {
        let last = series * sizes.chunks + first + left - 1;
        load(products, last, left, block, sizes, &mut p, b, true);
        let mut own_r = Array::<f32>::new(comptime!(deep(b) * b));
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            let place = last - min(i.runtime(), left - 1);
            #[unroll]
            for r in 0..b {
                own_r[i * b + r] = lambda[((place * sizes.columns + column) * sizes.count + block) * b + r];
            }
        }
        #[unroll]
        for i in 0..comptime!(deep(b)) {
            if left > 0 {
                let chunk = first + left - 1;
                let to = (((series * sizes.chunks + chunk) * sizes.columns + column) * sizes.count + block) * b;
                #[unroll]
                for r in 0..b {
                    r_c[r] = own_r[i * b + r];
                    lambda[to + r] = l[r];
                }
                if chunk + 1 < sizes.chunks {
                    pull(&p, i, &r_c, &mut l, b);
                } else {
                    #[unroll]
                    for r in 0..b {
                        l[r] = r_c[r];
                    }
                }
                left -= 1;
            }
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
