//! The diagonal of a step, from free numbers:
//!
//! ```text
//! D = m e^{i phi},   ln m = -softplus(-z) dt,   phi = 2 pi sigmoid(y) dt
//! dz = sigmoid(-z) dt Re(conj(D) dD),   dy = 2 pi sigmoid'(y) dt Im(conj(D) dD)
//! ```

use std::f32::consts::TAU;

use cubecl::prelude::*;

use crate::kernel::rows::activation::{sigmoid, softplus};
use crate::permutation::{Diagonal, PermutationDiagonal};

/// The time that passes before a step.
#[cube]
pub(super) fn span(spans: &Array<f32>, row: usize, #[comptime] timed: bool) -> f32 {
    let mut dt = f32::new(1.0);
    if comptime!(timed) {
        dt = spans[row];
    }
    dt
}

/// Number `j` of `D`, from a row of control that begins `at`.
#[cube]
pub(super) fn entry(control: &Array<f32>, at: usize, j: usize, dt: f32, #[comptime] of: PermutationDiagonal) -> (f32, f32) {
    let mut re = f32::new(1.0);
    let mut im = f32::new(0.0);
    let raw = at + comptime!(of.matrices) + j;
    if comptime!(of.diagonal != Diagonal::One) {
        re = f32::exp(-(dt * softplus(-control[raw])));
    }
    if comptime!(of.diagonal == Diagonal::Complex) {
        let turns = dt * sigmoid(control[raw + comptime!(of.hidden)]);
        // Whole turns are left out while they are exact: what is left is at most half a turn.
        let phase = TAU * (turns - f32::floor(turns + 0.5));
        im = re * f32::sin(phase);
        re *= f32::cos(phase);
    }
    (re, im)
}

/// The gradient in what number `j` of `D` is made from, to a row of the gradient of control: from `D` and its gradient.
#[cube]
pub(super) fn entry_back(
    control: &Array<f32>,
    d_control: &mut Array<f32>,
    at: usize,
    j: usize,
    dt: f32,
    d: (f32, f32),
    dd: (f32, f32),
    #[comptime] of: PermutationDiagonal,
) {
    let raw = at + comptime!(of.matrices) + j;
    if comptime!(of.diagonal != Diagonal::One) {
        d_control[raw] = dt * sigmoid(-control[raw]) * (dd.0 * d.0 + dd.1 * d.1);
    }
    if comptime!(of.diagonal == Diagonal::Complex) {
        let q = sigmoid(control[raw + comptime!(of.hidden)]);
        d_control[raw + comptime!(of.hidden)] = TAU * dt * q * (1.0 - q) * (dd.1 * d.0 - dd.0 * d.1);
    }
}
