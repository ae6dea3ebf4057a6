//! How many stages and terms of `exp(Omega) x = sum_j Omega^j x / j!` are enough, from a bound on the norm of Omega: one number a step, so that all steps are looked at at once.
//!
//! With `alpha = ||Omega|| / stages` at most [`REACH`], `alpha^j / j!` of the first term that is left out is below half a unit of rounding. Derivatives and `phi_1` lose a power each. The norms, of
//! Omega and of its transpose alike:
//!
//! ```text
//! Walsh-Hadamard   max |delta_j|      sparse   (sum o^2)^(1/2)
//! ```

use cubecl::prelude::*;

use crate::action::{Acts, TERMS};
use crate::kernel::step::{MAX_NORM, SMALL};
use crate::kernel::team;
use crate::kernel::unit::cube_number;

/// The largest norm of a stage: terms of different signs cancel less than a digit.
const REACH: f32 = 2.0;
/// Units that look at a step together, and how many such teams a cube has.
pub(crate) const TEAM: usize = 32;
/// See above.
pub(crate) const TEAMS: usize = 4;

/// Stages and terms of every row, no stages where the norm is beyond reason. `extra` terms are for derivatives and `phi_1`. Cubes: one for 4 rows.
#[cube(launch_unchecked)]
pub(crate) fn series(
    numbers: &Array<f32>,
    out: &mut Array<u32>,
    rows: usize,
    width: usize,
    #[comptime] acts: Acts,
    #[comptime] extra: usize,
) {
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let lane = unit % TEAM;
    let row = cube * TEAMS + unit / TEAM;
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * TEAMS));
    let mut partial = f32::new(0.0);
    if row < rows {
        let turns = (width + comptime!(TEAM - 1) - lane) / TEAM;
        for turn in 0..turns {
            let x = numbers[row * width + turn * TEAM + lane];
            if comptime!(acts == Acts::Hadamard) {
                partial = max(partial, f32::abs(x));
            } else {
                partial += x * x;
            }
        }
    }
    let norm = norm(&mut shared, partial, acts);
    if row < rows && lane == 0 {
        let mut stages = 0u32;
        let mut terms = 1u32;
        if norm <= MAX_NORM {
            stages = u32::cast_from(norm / REACH) + 1u32;
            let alpha = norm / f32::cast_from(stages);
            let mut j = 1u32;
            let mut left = alpha;
            while left > SMALL && j < comptime!(TERMS as u32 - 1) {
                j += 1u32;
                left *= alpha / f32::cast_from(j);
            }
            // The term that is small enough to be left out is the one after the last.
            terms = max(j + comptime!(extra as u32) - 1u32, 1u32);
        }
        out[2 * row] = stages;
        out[2 * row + 1] = terms;
    }
}

/// The norm from what the units of a team have seen.
#[cube]
fn norm(shared: &mut SharedMemory<f32>, partial: f32, #[comptime] acts: Acts) -> f32 {
    if comptime!(acts == Acts::Hadamard) {
        team::most(shared, partial, TEAM)
    } else {
        f32::sqrt(team::total(shared, partial, TEAM))
    }
}
