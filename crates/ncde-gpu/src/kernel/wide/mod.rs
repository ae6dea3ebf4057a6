//! Large blocks: a cube has the state of one block of one chunk, or some columns of it, in shared memory, and goes through time.
//!
//! A step is `y = M x` with `M` laid out so that neighbouring units, which have neighbouring entries of `y`, read neighbouring numbers:
//! `m[k, out]`. Forwards these are the columns of Omega, in reverse its rows; else the two directions are the same code.
//! The series of the exponential is that of `step`; a term takes the norm from the same numbers as the first product.

pub(crate) mod adjoints;
pub(crate) mod ahead;
pub(crate) mod carry;
pub(crate) mod differentiate;
pub(crate) mod products;
pub(crate) mod walk;

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::step::{MAX_NORM, REACH, SMALL, TERMS, overflow, shrunk};
use crate::kernel::unit::fetch_apart;

/// Units of a cube that walks with vectors.
pub(crate) const WALKERS: usize = 128;
/// Units of a cube of [`products`], in both directions.
pub(crate) const SIDE: usize = 16;
/// Rows of a generator that [`products`] has in shared memory at once.
const DEEP: usize = 8;

/// The most numbers that a kernel for a block of this size has in shared memory: those of [`products`], with the fewest columns.
pub(crate) fn numbers(b: usize) -> usize {
    b.next_multiple_of(SIDE) * (2 * SIDE + 16) + 512
}

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// From the state at the beginning of a chunk to all of its states.
    Replay,
    /// What affine inputs add up to in a chunk that begins with zero.
    Sum,
    /// From the end of a chunk to its beginning, adding the gradients of its states.
    Pull,
    /// The same from the gradient at the end of a chunk on, with all that is met on the way.
    Adjoints,
}

impl Purpose {
    /// Whether it goes from the end.
    pub(crate) fn is_back(self) -> bool {
        matches!(self, Self::Pull | Self::Adjoints)
    }
}

/// Numbers of a matrix that a unit has on their way from memory at once: one after the other, each would wait for its answer.
const AHEAD: usize = 16;

/// `sum_k m[at + k * stride] x[from + k]` over `b` numbers, as two sums that do not wait for each other.
#[cube]
fn entry(m: &Array<f32>, at: usize, stride: usize, x: &SharedMemory<f32>, from: usize, #[comptime] b: usize) -> f32 {
    let mut even = f32::new(0.0);
    let mut odd = f32::new(0.0);
    let whole = comptime!(b / AHEAD * AHEAD);
    for first in range_stepped(0usize, whole, AHEAD) {
        let mut read = Array::<f32>::new(AHEAD);
        fetch_apart(m, at + first * stride, stride, &mut read, AHEAD);
        #[unroll]
        for k in 0..comptime!(AHEAD / 2) {
            even += read[comptime!(2 * k)] * x[from + first + comptime!(2 * k)];
            odd += read[comptime!(2 * k + 1)] * x[from + first + comptime!(2 * k + 1)];
        }
    }
    #[unroll]
    for k in whole..b {
        even += m[at + k * stride] * x[from + k];
    }
    even + odd
}

/// A vector in shared memory to a place of another array there. Units wait for each other afterwards.
#[cube]
fn copy(from: &SharedMemory<f32>, to: &mut SharedMemory<f32>, at: usize, #[comptime] b: usize) {
    for r in range_stepped(UNIT_POS as usize, b, WALKERS) {
        to[at + r] = from[r];
    }
    sync_cube();
}

/// The largest sum of absolute values over `k` of `m[k, out]`. All so many units of the cube get it.
#[cube]
fn norm(m: &Array<f32>, at: usize, #[comptime] b: usize, #[comptime] units: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let mut parts = SharedMemory::<f32>::new(units);
    let mut most = f32::new(0.0);
    for out in range_stepped(unit, b, units) {
        let mut sum = f32::new(0.0);
        for k in 0..b {
            sum += f32::abs(m[at + k * b + out]);
        }
        most = max(most, sum);
    }
    sync_cube();
    parts[unit] = most;
    sync_cube();
    let mut all = f32::new(0.0);
    for i in 0..units {
        all = max(all, parts[i]);
    }
    sync_cube();
    all
}

/// How many stages a norm takes; one and NaN beyond what can be right.
#[cube]
fn stages(norm: f32) -> u32 {
    let mut stages = u32::cast_from(norm / REACH) + 1u32;
    if norm > MAX_NORM {
        stages = 1u32;
    }
    stages
}

/// One step of a vector of `b` numbers in `x`.
#[cube]
fn advance(
    m: &Array<f32>,
    at: usize,
    x: &mut SharedMemory<f32>,
    beta: &SharedMemory<f32>,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = UNIT_POS as usize;
    let mut w = SharedMemory::<f32>::new(comptime!(2 * b));
    if comptime!(!flow.exact) {
        copy(x, &mut w, 0usize, b);
        multiply(m, at, &mut w, 0usize, b, f32::new(1.0), b);
        sync_cube();
        for out in range_stepped(unit, b, WALKERS) {
            x[out] += w[b + out];
        }
    } else {
        let norm = norm(m, at, b, WALKERS);
        let stages = stages(norm);
        let part = 1.0 / f32::cast_from(stages);
        for _ in 0..stages {
            // w_{j-1} and w_j take turns in the two halves of w.
            copy(x, &mut w, 0usize, b);
            let mut left = f32::new(1.0);
            let mut j = 1usize;
            while left > SMALL && j <= TERMS {
                let factor = part / f32::cast_from(j as u32);
                let to = j % 2 * b;
                multiply(m, at, &mut w, b - to, to, factor, b);
                for out in range_stepped(unit, b, WALKERS) {
                    if comptime!(flow.is_inside()) {
                        if j == 1 {
                            w[to + out] += part * beta[out];
                        }
                    }
                    x[out] += w[to + out];
                }
                sync_cube();
                left = shrunk(left, factor * norm, j == 1, comptime!(flow.is_inside()));
                j += 1;
            }
        }
        if unit == 0 {
            x[0] += overflow(norm);
        }
    }
    if comptime!(flow.is_affine() && !flow.is_inside()) {
        for out in range_stepped(unit, b, WALKERS) {
            x[out] += beta[out];
        }
    }
    sync_cube();
}

/// `factor M` times one part of an array, into another part of it.
#[cube]
fn multiply(m: &Array<f32>, at: usize, w: &mut SharedMemory<f32>, from: usize, to: usize, factor: f32, #[comptime] b: usize) {
    let unit = UNIT_POS as usize;
    for out in range_stepped(unit, b, WALKERS) {
        w[to + out] = factor * entry(m, at + out, b.runtime(), w, from, b);
    }
}
