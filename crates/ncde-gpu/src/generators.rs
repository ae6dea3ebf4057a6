//! Generators and their gradients as matrix products over the rows of a slab.
//!
//! ```text
//! Omega = lambda A,   dlambda = dOmega A^T,   dA = lambda^T dOmega
//! ```
//!
//! Rows of a slab are `[batch, chunks, steps]`; a row past the end of its series is zero. Columns are `[b b, blocks]`, so that neighbouring
//! units read neighbouring numbers: `A` is permuted once, and its gradient back.

use cubecl::prelude::*;

use crate::sizes::Sizes;

/// Rows that one unit of [`form`] computes.
pub(crate) const ROWS: usize = 8;
/// Channels that one unit of the other two has in registers.
pub(crate) const CHANNELS: usize = 8;
/// Rows that a cube of [`contract`] reads at once.
pub(crate) const TALL: usize = 4;
/// Units of such a cube.
pub(crate) const TEAM: usize = 128;

/// `A` with columns as above: `[d, b b, blocks]` from the parameters of all runs, `[d, parameters]`.
#[cube(launch_unchecked)]
pub(crate) fn permute(a: &Array<f32>, out: &mut Array<f32>, entry: usize, parameters: usize, sizes: &Sizes, #[comptime] b: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let e = unit / sizes.count % comptime!(b * b);
    let k = unit / (sizes.count * comptime!(b * b));
    out[unit] = a[k * parameters + entry + block * comptime!(b * b) + e];
}

/// The row of coefficients of a row of the slab, and whether there is one.
#[cube]
fn source(row: usize, sizes: &Sizes) -> (usize, bool) {
    let s = row % sizes.steps;
    let place = row / sizes.steps;
    let t = place % sizes.chunks * sizes.chunk + sizes.first + s;
    (place / sizes.chunks * sizes.length + t, t < sizes.length)
}

/// `Omega`, eight rows of one column a unit.
///
/// Units: `[rows / 8, b b, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn form(coefficients: &Array<f32>, a: &Array<f32>, omega: &mut Array<f32>, rows: usize, sizes: &Sizes, #[comptime] b: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let columns = sizes.count * comptime!(b * b);
    let column = unit % columns;
    let first = unit / columns * ROWS;
    let mut sum = Array::<f32>::new(ROWS);
    let mut from = Array::<usize>::new(ROWS);
    #[unroll]
    for r in 0..ROWS {
        sum[r] = f32::new(0.0);
        from[r] = 0;
        if first + r < rows {
            let (at, is_there) = source(first + r, sizes);
            if is_there {
                from[r] = at * sizes.width;
            }
        }
    }
    for k in 0..sizes.width {
        let value = a[k * columns + column];
        #[unroll]
        for r in 0..ROWS {
            sum[r] += coefficients[from[r] + k] * value;
        }
    }
    #[unroll]
    for r in 0..ROWS {
        if first + r < rows {
            omega[(first + r) * columns + column] = sum[r];
        }
    }
}

/// `dlambda`: a cube sums over the columns of four rows, for eight channels.
///
/// Cubes: `[rows / 4]` in x and y, `[channels / 8]` in z.
#[cube(launch_unchecked)]
pub(crate) fn contract(
    d_omega: &Array<f32>,
    a: &Array<f32>,
    out: &mut Array<f32>,
    rows: usize,
    add: u32,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let columns = sizes.count * comptime!(b * b);
    let first = (CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize) * TALL;
    let channel = CUBE_POS_Z as usize * CHANNELS;
    let unit = UNIT_POS as usize;
    let mut sum = Array::<f32>::new(comptime!(TALL * CHANNELS));
    #[unroll]
    for i in 0..comptime!(TALL * CHANNELS) {
        sum[i] = f32::new(0.0);
    }
    let mut row = Array::<usize>::new(TALL);
    #[unroll]
    for r in 0..TALL {
        row[r] = min(first + r, rows - 1) * columns;
    }
    let mut at = Array::<usize>::new(CHANNELS);
    #[unroll]
    for k in 0..CHANNELS {
        at[k] = min(channel + k, sizes.width - 1) * columns;
    }
    let turns = (columns + comptime!(TEAM - 1)) / TEAM;
    for turn in 0..turns {
        let column = turn * TEAM + unit;
        if column < columns {
            let mut own = Array::<f32>::new(TALL);
            #[unroll]
            for r in 0..TALL {
                own[r] = d_omega[row[r] + column];
            }
            #[unroll]
            for k in 0..CHANNELS {
                let value = a[at[k] + column];
                #[unroll]
                for r in 0..TALL {
                    sum[r * CHANNELS + k] += own[r] * value;
                }
            }
        }
    }
    // The sum over the units of the cube: first 32 of them each, then the four parts.
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * TALL * CHANNELS));
    let mut parts = SharedMemory::<f32>::new(TEAM);
    #[unroll]
    for i in 0..comptime!(TALL * CHANNELS) {
        shared[i * TEAM + unit] = sum[i];
    }
    sync_cube();
    let number = unit % comptime!(TALL * CHANNELS);
    let part = unit / comptime!(TALL * CHANNELS);
    let mut total = f32::new(0.0);
    let each = comptime!(TALL * CHANNELS);
    for i in 0..each {
        // Begun at another place by every unit, or all would ask one bank of memory.
        total += shared[number * TEAM + part * each + (i + unit) % each];
    }
    parts[unit] = total;
    sync_cube();
    if unit < each {
        let mut total = f32::new(0.0);
        #[unroll]
        for i in 0..comptime!(TEAM / (TALL * CHANNELS)) {
            total += parts[i * each + unit];
        }
        let r = first + unit / CHANNELS;
        let k = channel + unit % CHANNELS;
        if r < rows && k < sizes.width {
            let (from, is_there) = source(r, sizes);
            if is_there {
                let to = from * sizes.width + k;
                if add == 1u32 {
                    out[to] += total;
                } else {
                    out[to] = total;
                }
            }
        }
    }
}

/// `dA` of some rows: `[splits, d, b b, blocks]`, a column and eight channels a unit.
///
/// Units: `[splits, d / 8, b b, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn gather(
    coefficients: &Array<f32>,
    d_omega: &Array<f32>,
    out: &mut Array<f32>,
    rows: usize,
    each: usize,
    add: u32,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let columns = sizes.count * comptime!(b * b);
    let column = unit % columns;
    let groups = (sizes.width + comptime!(CHANNELS - 1)) / CHANNELS;
    let channel = unit / columns % groups * CHANNELS;
    let split = unit / (columns * groups);
    let mut sum = Array::<f32>::new(CHANNELS);
    #[unroll]
    for k in 0..CHANNELS {
        sum[k] = f32::new(0.0);
    }
    let end = min((split + 1) * each, rows);
    for row in split * each..end {
        let (from, is_there) = source(row, sizes);
        if is_there {
            let value = d_omega[row * columns + column];
            #[unroll]
            for k in 0..CHANNELS {
                sum[k] += coefficients[from * sizes.width + min(channel + k, sizes.width - 1)] * value;
            }
        }
    }
    #[unroll]
    for k in 0..CHANNELS {
        if channel + k < sizes.width {
            let to = (split * sizes.width + channel + k) * columns + column;
            if add == 1u32 {
                out[to] += sum[k];
            } else {
                out[to] = sum[k];
            }
        }
    }
}

/// The sum over splits, with columns as the parameters have them: `[d, parameters]`.
///
/// Units: `[d, b b, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn collect(
    parts: &Array<f32>,
    out: &mut Array<f32>,
    splits: usize,
    entry: usize,
    parameters: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let e = unit / sizes.count % comptime!(b * b);
    let k = unit / (sizes.count * comptime!(b * b));
    let stride = sizes.width * sizes.count * comptime!(b * b);
    let mut sum = f32::new(0.0);
    for split in 0..splits {
        sum += parts[split * stride + unit];
    }
    out[k * parameters + entry + block * comptime!(b * b) + e] = sum;
}
