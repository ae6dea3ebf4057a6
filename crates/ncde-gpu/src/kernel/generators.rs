//! Generators and their gradients as matrix products over the rows of a slab.
//!
//! ```text
//! Omega = lambda A,   dlambda = dOmega A^T,   dA = lambda^T dOmega
//! ```
//!
//! Rows of a slab are `[batch, chunks, steps]`; a row past the longest series is never read. Entries of a row are in one of three orders, so
//! that neighbouring units of a kernel read neighbouring numbers: `A` is permuted once, and its gradient back.

use cubecl::prelude::*;

use crate::kernel::team::over_lanes;
use crate::kernel::unit::{cube_below, cube_number, fetch_apart, put_sum, unit_below, zeros};
use crate::sizes::{Sizes, row_of};

/// Rows that one unit of [`form`] computes.
pub(crate) const ROWS: usize = 8;
/// Entries of each.
pub(crate) const ENTRIES: usize = 4;
/// Channels that one unit of the other two has in registers.
pub(crate) const CHANNELS: usize = 8;
/// Rows that a cube of [`contract`] reads at once.
pub(crate) const TALL: usize = 4;
/// Units of such a cube.
pub(crate) const TEAM: usize = 128;

/// The order of the entries of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// `[b b, blocks]`, rows of each block: for units that have a block each.
    Interleaved,
    /// `[blocks, b b]`, rows of each block: as the parameters are.
    Rows,
    /// `[blocks, b b]`, columns of each block.
    Columns,
}

/// Where entry `i` of a row lies among the parameters of a channel, from the first of the run on.
#[cube]
fn place(i: usize, count: usize, #[comptime] b: usize, #[comptime] order: Order) -> usize {
    let mut at = i;
    if comptime!(order == Order::Interleaved) {
        at = i % count * comptime!(b * b) + i / count;
    }
    if comptime!(order == Order::Columns) {
        at = i / comptime!(b * b) * comptime!(b * b) + i % b * b + i / b % b;
    }
    at
}

/// `A` in an order of ours: `[d, entries]` from the parameters of all runs, `[d, parameters]`.
#[cube(launch_unchecked)]
pub(crate) fn permute(
    a: &Array<f32>,
    out: &mut Array<f32>,
    entry: usize,
    parameters: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] order: Order,
) {
    let unit = unit_below(sizes.units);
    let columns = sizes.count * comptime!(b * b);
    out[unit] = a[unit / columns * parameters + entry + place(unit % columns, sizes.count, b, order)];
}

/// Where the steps of a chunk that are in the slab begin among all steps of all series, and how many of them there are.
#[cube]
fn steps_of(place: usize, sizes: &Sizes) -> (usize, usize) {
    let t = place % sizes.chunks * sizes.chunk + sizes.first;
    let mut count = 0usize;
    if t < sizes.length {
        count = min(sizes.steps, sizes.length - t);
    }
    (place / sizes.chunks * sizes.length + t, count)
}

/// The coefficients of a slab, row after row, zeros past the end of a series.
///
/// Units: `[batch, chunks, steps, coefficients]`.
#[cube(launch_unchecked)]
pub(crate) fn coefficients_of(coefficients: &Array<f32>, out: &mut Array<f32>, sizes: &Sizes) {
    let unit = unit_below(sizes.units);
    let row = unit / sizes.width;
    let step = row % sizes.steps;
    let (from, count) = steps_of(row / sizes.steps, sizes);
    let mut value = f32::new(0.0);
    if step < count {
        value = coefficients[(from + step) * sizes.width + unit % sizes.width];
    }
    out[unit] = value;
}

/// `Omega`, eight rows of some entries a unit: entries that are a quarter of a row apart, so that neighbouring units write side by side.
///
/// Units: `[batch, chunks, steps / 8, entries / 4]`.
#[cube(launch_unchecked)]
pub(crate) fn form(coefficients: &Array<f32>, a: &Array<f32>, omega: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize) {
    let unit = unit_below(sizes.units);
    let columns = sizes.count * comptime!(b * b);
    let quarter = (columns + comptime!(ENTRIES - 1)) / ENTRIES;
    let groups = (sizes.steps + comptime!(ROWS - 1)) / ROWS;
    let column = unit % quarter;
    let row = unit / quarter;
    let first = row % groups * ROWS;
    let place = row / groups;
    let (from, count) = steps_of(place, sizes);
    if first < count {
        let mut sum = zeros(comptime!(ROWS * ENTRIES));
        let mut at = Array::<usize>::new(ROWS);
        let mut entry = Array::<usize>::new(ENTRIES);
        #[unroll]
        for r in 0..ROWS {
            at[r] = (from + min(first + r, count - 1)) * sizes.width;
        }
        #[unroll]
        for c in 0..ENTRIES {
            entry[c] = min(column + c * quarter, columns - 1);
        }
        for k in 0..sizes.width {
            let mut value = Array::<f32>::new(ENTRIES);
            #[unroll]
            for c in 0..ENTRIES {
                value[c] = a[k * columns + entry[c]];
            }
            #[unroll]
            for r in 0..ROWS {
                let lambda = coefficients[at[r] + k];
                #[unroll]
                for c in 0..ENTRIES {
                    sum[r * ENTRIES + c] += lambda * value[c];
                }
            }
        }
        let to = (row_of(place, sizes) + first) * columns;
        #[unroll]
        for r in 0..ROWS {
            #[unroll]
            for c in 0..ENTRIES {
                if first + r < count && column + c * quarter < columns {
                    omega[to + r * columns + column + c * quarter] = sum[r * ENTRIES + c];
                }
            }
        }
    }
}

/// `dlambda`: a cube sums over the entries of four rows, for eight channels.
///
/// Cubes: `[batch, chunks, steps / 4]` in x and y, `[channels / 8]` in z.
#[cube(launch_unchecked)]
pub(crate) fn contract(d_omega: &Array<f32>, a: &Array<f32>, dl: &mut Array<f32>, add: u32, sizes: &Sizes, #[comptime] b: usize) {
    let cube = cube_below(sizes.units);
    let columns = sizes.count * comptime!(b * b);
    let groups = (sizes.steps + comptime!(TALL - 1)) / TALL;
    let first = cube % groups * TALL;
    let place = cube / groups;
    let channel = CUBE_POS_Z as usize * CHANNELS;
    let unit = UNIT_POS as usize;
    let (from, count) = steps_of(place, sizes);
    let mut sum = zeros(comptime!(TALL * CHANNELS));
    let mut row = Array::<usize>::new(TALL);
    #[unroll]
    for r in 0..TALL {
        row[r] = (row_of(place, sizes) + min(first + r, max(count, 1) - 1)) * columns;
    }
    let mut at = Array::<usize>::new(CHANNELS);
    #[unroll]
    for k in 0..CHANNELS {
        at[k] = min(channel + k, sizes.width - 1) * columns;
    }
    for column in range_stepped(unit, columns, TEAM) {
        let mut d_rows = Array::<f32>::new(TALL);
        #[unroll]
        for r in 0..TALL {
            d_rows[r] = d_omega[row[r] + column];
        }
        #[unroll]
        for k in 0..CHANNELS {
            let value = a[at[k] + column];
            #[unroll]
            for r in 0..TALL {
                sum[r * CHANNELS + k] += d_rows[r] * value;
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
    let per_part = comptime!(TALL * CHANNELS);
    let number = unit % per_part;
    let part = unit / per_part;
    let mut total = f32::new(0.0);
    for i in 0..per_part {
        // Begun at another place by every unit, or all would ask one bank of memory.
        total += shared[number * TEAM + part * per_part + (i + unit) % per_part];
    }
    parts[unit] = total;
    sync_cube();
    if unit < per_part {
        let mut total = f32::new(0.0);
        #[unroll]
        for i in 0..comptime!(TEAM / (TALL * CHANNELS)) {
            total += parts[i * per_part + unit];
        }
        let r = first + unit / CHANNELS;
        let k = channel + unit % CHANNELS;
        if r < count && k < sizes.width {
            put_sum(total, dl, (from + r) * sizes.width + k, add == 1u32);
        }
    }
}

/// `dA` of some chunks: `[splits, d, entries]`, an entry and eight channels a unit.
///
/// Units: `[splits, d / 8, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn gather(
    coefficients: &Array<f32>,
    d_omega: &Array<f32>,
    out: &mut Array<f32>,
    places: usize,
    per_split: usize,
    add: u32,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = unit_below(sizes.units);
    let columns = sizes.count * comptime!(b * b);
    let column = unit % columns;
    let groups = (sizes.width + comptime!(CHANNELS - 1)) / CHANNELS;
    let channel = unit / columns % groups * CHANNELS;
    let split = unit / (columns * groups);
    let mut sum = zeros(CHANNELS);
    let mut last = Array::<usize>::new(CHANNELS);
    #[unroll]
    for k in 0..CHANNELS {
        last[k] = min(channel + k, sizes.width - 1);
    }
    let end = min((split + 1) * per_split, places);
    for place in split * per_split..end {
        let (from, count) = steps_of(place, sizes);
        let rows = row_of(place, sizes) * columns + column;
        // Four rows at once, so that their reads are under way together.
        let whole = count / 4 * 4;
        for quarter in 0..count / 4 {
            let s = quarter * 4;
            let mut value = Array::<f32>::new(4usize);
            fetch_apart(d_omega, rows + s * columns, columns, &mut value, 4usize);
            #[unroll]
            for i in 0..4usize {
                let at = (from + s + i) * sizes.width;
                #[unroll]
                for k in 0..CHANNELS {
                    sum[k] += coefficients[at + last[k]] * value[i];
                }
            }
        }
        for s in whole..count {
            let value = d_omega[rows + s * columns];
            let at = (from + s) * sizes.width;
            #[unroll]
            for k in 0..CHANNELS {
                sum[k] += coefficients[at + last[k]] * value;
            }
        }
    }
    #[unroll]
    for k in 0..CHANNELS {
        if channel + k < sizes.width {
            put_sum(sum[k], out, (split * sizes.width + channel + k) * columns + column, add == 1u32);
        }
    }
}

/// Entries that a cube of [`collect`] sums, and units for each.
pub(crate) const SUMS: usize = 32;
pub(crate) const LANES: usize = 16;

/// The sum over splits, in the order of the parameters: `[d, parameters]`.
///
/// Cubes: `[d entries / 32]`.
#[cube(launch_unchecked)]
pub(crate) fn collect(
    parts: &Array<f32>,
    out: &mut Array<f32>,
    splits: usize,
    entry: usize,
    parameters: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] order: Order,
) {
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let at = cube * SUMS + unit % SUMS;
    let columns = sizes.count * comptime!(b * b);
    let total = over_lanes(parts, at, sizes.width * columns, splits, at < sizes.units, SUMS, LANES);
    if unit < SUMS && at < sizes.units {
        out[at / columns * parameters + entry + place(at % columns, sizes.count, b, order)] = total;
    }
}
