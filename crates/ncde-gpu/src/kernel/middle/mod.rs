//! Blocks of 9 to 16: a team of units has the state of one block of one chunk, a row each, and goes through time.
//!
//! ```text
//! y_r = sum_k M[r, k] x_k:   row r of M in the registers of unit r, x in a line of shared memory
//! ```
//!
//! `M` is laid out as for large blocks, `m[k, out]`: neighbouring units have neighbouring rows and read neighbouring numbers, a step ahead of where they are
//! needed. Forwards these are the columns of Omega, in reverse its rows. The series of the exponential is that of `step`.
//!
//! A cube is a plane of units, so that waiting for each other costs little. Teams of a cube wait together: they take as many stages and terms as the one that needs most, and
//! a step past the end of a series is one with `M = 0`.

pub(crate) mod carry;
pub(crate) mod differentiate;
pub(crate) mod products;
pub(crate) mod walk;

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::step::{MAX_NORM, REACH, SMALL, TERMS, overflow, shrunk};
use crate::kernel::unit::{cube_number, fetch_apart, fill};

/// Units of a cube.
pub(crate) const CUBE: usize = 32;

/// Units of a team; the last of them may have no row.
pub(crate) const TEAM: usize = 16;

/// Teams of a cube.
pub(crate) const TEAMS: usize = CUBE / TEAM;

/// Numbers of a turn in [`lines`]: one of a vector and one of a norm for each unit.
const TURN: usize = 2 * CUBE;

/// Numbers that units exchange. Two turns: a unit writes to one while others still read the other.
#[cube]
fn lines() -> SharedMemory<f32> {
    // On borders of 16 bytes, so that numbers can be read four at a time.
    SharedMemory::<f32>::new_aligned(comptime!(2 * TURN), 16usize)
}

/// A unit as a member of a team. A team too many goes where the last one goes, and writes nothing.
#[derive(CubeType)]
struct Member {
    /// Which of the teams, at most the last that has work.
    team: usize,
    /// The row of the unit, and the unit that has row 0.
    row: usize,
    first: usize,
    /// Whether the team has work and the unit a row.
    is_there: bool,
}

/// This unit.
#[cube]
fn member(teams: usize, #[comptime] b: usize) -> Member {
    let unit = UNIT_POS as usize;
    let row = unit % comptime!(TEAM);
    let first = unit - row;
    let number = cube_number() * comptime!(TEAMS) + unit / comptime!(TEAM);
    let is_there = number < teams && row < b;
    let team = min(number, teams - 1);
    Member { team, row, first, is_there }
}

/// The row of a unit times a vector in shared memory.
#[cube]
fn dot(row: &Array<f32>, shared: &SharedMemory<f32>, from: usize, #[comptime] b: usize) -> f32 {
    // Four sums, or each would wait for the one before it.
    let mut sums = Array::<f32>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        sums[i] = row[i] * shared[from + i];
    }
    #[unroll]
    for k in 4..b {
        sums[comptime!(k % 4)] += row[k] * shared[from + k];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The row of a unit: `m[k, r]` for all `k`, or zeros.
#[cube]
fn read(m: &Array<f32>, at: usize, is_there: bool, row: &mut Array<f32>, #[comptime] b: usize) {
    fill(row, f32::new(0.0), b);
    if is_there {
        fetch_apart(m, at, b, row, b);
    }
}

/// The sum of absolute values of a row.
#[cube]
fn size(row: &Array<f32>, #[comptime] b: usize) -> f32 {
    let mut sum = f32::new(0.0);
    #[unroll]
    for k in 0..b {
        sum += f32::abs(row[k]);
    }
    sum
}

/// The norm that counts for the stages of a cube: 0 beyond [`MAX_NORM`], where the state has overflowed and becomes NaN.
#[cube]
fn finite_norm(norm: f32) -> f32 {
    let mut value = f32::new(0.0);
    if norm <= MAX_NORM {
        value = norm;
    }
    value
}

/// The largest number that a unit of the cube has written.
#[cube]
fn largest(shared: &SharedMemory<f32>, from: usize) -> f32 {
    let mut most = f32::new(0.0);
    #[unroll]
    for i in 0..CUBE {
        most = max(most, shared[from + i]);
    }
    most
}

/// How many stages a norm takes.
#[cube]
fn stages(norm: f32) -> u32 {
    u32::cast_from(norm / REACH) + 1u32
}

/// One step of a vector, of which each unit has one number: that number, and the turn that comes next.
#[cube]
fn advance(
    row: &Array<f32>,
    value: f32,
    beta: f32,
    shared: &mut SharedMemory<f32>,
    begin: usize,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) -> (f32, usize) {
    let unit = UNIT_POS as usize;
    let first = unit / comptime!(TEAM) * comptime!(TEAM);
    let mut turn = begin;
    let mut x = value;
    shared[turn * TURN + unit] = x;
    if comptime!(!flow.exact) {
        sync_cube();
        x += dot(row, shared, turn * TURN + first, b);
    } else {
        let row_norm = size(row, b);
        shared[turn * TURN + CUBE + unit] = finite_norm(row_norm);
        sync_cube();
        let norm = largest(shared, turn * TURN + CUBE);
        let stages = stages(norm);
        let part = 1.0 / f32::cast_from(stages);
        for stage in 0..stages {
            let mut left = f32::new(1.0);
            let mut j = 1u32;
            while left > SMALL && j <= comptime!(TERMS as u32) {
                let factor = part / f32::cast_from(j);
                let mut w = factor * dot(row, shared, turn * TURN + first, b);
                if comptime!(flow.is_inside()) {
                    if j == 1u32 {
                        w += part * beta;
                    }
                }
                x += w;
                left = shrunk(left, factor * norm, j == 1u32, comptime!(flow.is_inside()));
                j += 1u32;
                // The next term comes from this one, the next stage from the state.
                let is_last = left <= SMALL || j > comptime!(TERMS as u32);
                if is_last {
                    w = x;
                }
                if !is_last || stage + 1 < stages {
                    turn = 1 - turn;
                    shared[turn * TURN + unit] = w;
                    sync_cube();
                }
            }
        }
        x += overflow(row_norm);
    }
    if comptime!(flow.is_affine() && !flow.is_inside()) {
        x += beta;
    }
    (x, 1 - turn)
}
