//! A walk through a slab as that of [`walk`](super::walk), for flows of first order: while a step is taken, the generator of the next one is on its way to registers.
//!
//! A unit has one entry of `y = M x` and a piece of its sum, `x` and the parts of sums are in shared memory. Where few series are worked on at once, the time of a step is that of
//! one answer from memory and no longer that of many, one after the other.

use cubecl::prelude::*;

use super::Purpose;
use crate::flow::Flow;
use crate::kernel::place::{begin, offset_of};
use crate::kernel::unit::{copy, cube_below};
use crate::sizes::{Sizes, row_of};

/// The most units of a cube.
const UNITS: usize = 512;

/// The most rows of a generator that a unit has in registers.
const MAX_PER_UNIT: usize = 32;

/// How a step is cut among units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pieces {
    /// The size of a block.
    b: usize,
    /// Pieces of a sum.
    pieces: usize,
    /// Rows of a piece.
    per_piece: usize,
}

impl Pieces {
    /// None where a cube of so many units at most has no room for a block.
    pub(crate) fn of(b: usize, units: usize) -> Option<Self> {
        let most = UNITS.min(units) / b;
        let per_piece = b.div_ceil(most.max(1));
        (most > 0 && per_piece <= MAX_PER_UNIT).then(|| Self { b, pieces: b.div_ceil(per_piece), per_piece })
    }

    /// Units of a cube.
    pub(crate) fn units(self) -> usize {
        self.b * self.pieces
    }

    /// Whether the last piece has fewer rows than the others.
    fn is_ragged(self) -> bool {
        self.pieces * self.per_piece > self.b
    }
}

/// See [`walk`](super::walk::walk), which has the same arguments.
#[cube(launch_unchecked)]
pub(crate) fn walk_ahead(
    m: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    ends: &mut Array<f32>,
    rows: &mut Array<f32>,
    adjoints: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] of: Pieces,
    #[comptime] flow: Flow,
    #[comptime] purpose: Purpose,
) {
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let b = comptime!(of.b);
    let per_piece = comptime!(of.per_piece);
    let out = unit % b;
    let first_row = unit / b * per_piece;
    let at = offset_of(cube, 0usize, sizes.columns, lengths, sizes, b, purpose);
    let stride = at.stride;
    let base = at.base + out;
    let mut x = SharedMemory::<f32>::new(comptime!(of.pieces * of.per_piece));
    let mut parts = SharedMemory::<f32>::new(comptime!(of.b * of.pieces));
    if unit < b {
        x[out] = begin(&at, out, ends, rows, sizes, purpose);
    }
    // Rows past the end of a ragged piece meet zeros.
    if comptime!(of.is_ragged()) {
        if unit + b < comptime!(of.pieces * of.per_piece) {
            x[unit + b] = f32::new(0.0);
        }
    }
    sync_cube();
    // What the next step needs: rows of its generator, what is added to the state after it or before it.
    let mut next = Array::<f32>::new(per_piece);
    let mut now = Array::<f32>::new(per_piece);
    let mut added = f32::new(0.0);
    let back = comptime!(purpose.is_back());
    // Steps of the slab that the longest series has.
    let mut steps = 0usize;
    if at.t_0 < sizes.length {
        steps = min(sizes.steps, sizes.length - at.t_0);
    }
    let from = (row_of(at.chunk, sizes) * sizes.count + at.block) * comptime!(of.b * of.b) + out;
    let row = sizes.count * comptime!(of.b * of.b);
    for k in 0..steps + 1 {
        // Read one step ahead: the first turn only reads, the last one only computes.
        copy(&next, &mut now, per_piece);
        let known = added;
        if k < steps {
            let mut s = k;
            if back {
                s = steps - 1 - k;
            }
            let t = at.t_0 + s;
            if t < at.length {
                #[unroll]
                for i in 0..per_piece {
                    let mut r = first_row + i;
                    if comptime!(of.is_ragged()) {
                        r = min(r, comptime!(of.b - 1).runtime());
                    }
                    next[i] = m[from + s * row + r * b];
                }
            }
            if unit < b {
                if back {
                    added = rows[base + t * stride];
                } else if comptime!(flow.is_affine()) {
                    added = beta[base + t * stride];
                }
            }
        }
        if k > 0 {
            let mut s = k - 1;
            if back {
                s = steps - k;
            }
            let t = at.t_0 + s;
            if back {
                if unit < b {
                    x[out] += known;
                    if comptime!(purpose == Purpose::Adjoints) {
                        let mut adjoint = x[out];
                        if t >= at.length {
                            adjoint = f32::new(0.0);
                        }
                        adjoints[base + t * stride] = adjoint;
                    }
                }
                sync_cube();
            }
            if t < at.length {
                let mut sum = f32::new(0.0);
                #[unroll]
                for i in 0..per_piece {
                    sum += now[i] * x[first_row + i];
                }
                parts[unit] = sum;
                sync_cube();
                if unit < b {
                    let mut all = x[out];
                    #[unroll]
                    for p in 0..comptime!(of.pieces) {
                        all += parts[out + comptime!(p * of.b)];
                    }
                    if comptime!(flow.is_affine()) {
                        all += known;
                    }
                    x[out] = all;
                }
                sync_cube();
            }
            if comptime!(purpose == Purpose::Replay) {
                if unit < b {
                    rows[base + t * stride] = x[out];
                }
            }
        }
    }
    if comptime!(purpose != Purpose::Replay) {
        if unit < b {
            ends[at.end + out] = x[out];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_piece() {
        for b in 17..=200 {
            for units in [16, 64, 128, 256, 512, 1024] {
                let Some(cut) = Pieces::of(b, units) else {
                    assert!(units.min(UNITS) < b.div_ceil(MAX_PER_UNIT) * b, "{b} {units}");
                    continue;
                };
                assert!(
                    cut.pieces * cut.per_piece >= b && (cut.pieces - 1) * cut.per_piece < b && cut.units() <= units,
                    "{cut:?}"
                );
            }
        }
        assert_eq!(Pieces::of(128, 1024), Some(Pieces { b: 128, pieces: 4, per_piece: 32 }));
    }
}
