//! Units of a cube that work on one row together: sums and maxima over them, in shared memory.
//!
//! Every unit of the cube takes part; teams lie one after the other.

use cubecl::prelude::*;

/// The sum of the numbers that the units of a team have.
#[cube]
pub(crate) fn total(shared: &mut SharedMemory<f32>, value: f32, #[comptime] team: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let first = unit / team * team;
    sync_cube();
    shared[unit] = value;
    sync_cube();
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..team {
        // Begun at another place by every unit, so that each asks another bank of memory.
        sum += shared[first + (i + unit) % team];
    }
    sum
}

/// The largest of the numbers that the units of a team have.
#[cube]
pub(crate) fn most(shared: &mut SharedMemory<f32>, value: f32, #[comptime] team: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let first = unit / team * team;
    sync_cube();
    shared[unit] = value;
    sync_cube();
    let mut most = value;
    #[unroll]
    for i in 0..team {
        most = max(most, shared[first + (i + unit) % team]);
    }
    most
}

/// The sum of so many numbers that lie `apart`, by a cube whose units are `[lanes, sums]`; none where it is not wanted. Units of the first lane get it.
#[cube]
pub(crate) fn over_lanes(
    from: &Array<f32>,
    at: usize,
    apart: usize,
    count: usize,
    is_wanted: bool,
    #[comptime] sums: usize,
    #[comptime] lanes: usize,
) -> f32 {
    let unit = UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(comptime!(sums * lanes));
    let mut part = f32::new(0.0);
    if is_wanted {
        for i in range_stepped(unit / sums, count, lanes) {
            part += from[at + i * apart];
        }
    }
    shared[unit] = part;
    sync_cube();
    let mut total = f32::new(0.0);
    if unit < sums {
        #[unroll]
        for i in 0..lanes {
            total += shared[i * sums + unit];
        }
    }
    total
}
