//! Full matrices of words, from those of letters, and gradients back:
//!
//! ```text
//! M_{u k} = A^k M_u,   dM_u += sum_k (A^k)^T dM_{u k},   dA^k = sum_u dM_{u k} M_u^T
//! ```
//!
//! All words lie one after the other, `[words, H, H]`, by length, then in lexicographic order: letters first.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Words of some length: the first of them, the first of those with a letter more, and how many letters and states there are.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) first: usize,
    pub(crate) longer: usize,
    pub(crate) letters: usize,
    pub(crate) hidden: usize,
    /// Units that have work.
    pub(crate) units: usize,
}

/// Words of a letter more. Units: `[words, letters, H, H]`.
#[cube(launch_unchecked)]
pub(crate) fn longer(all: &mut Array<f32>, of: &Level) {
    let unit = unit_below(of.units);
    let hidden = of.hidden;
    let (r, c) = (unit / hidden % hidden, unit % hidden);
    let word = unit / (hidden * hidden);
    let (u, k) = (of.first + word / of.letters, word % of.letters);
    let mut sum = f32::new(0.0);
    for s in 0..hidden {
        sum += all[(k * hidden + r) * hidden + s] * all[(u * hidden + s) * hidden + c];
    }
    all[of.longer * hidden * hidden + unit] = sum;
}

/// What words of a letter more add to the gradient of these. Units: `[words, H, H]`.
#[cube(launch_unchecked)]
pub(crate) fn shorter(all: &Array<f32>, gradient: &mut Array<f32>, of: &Level) {
    let unit = unit_below(of.units);
    let hidden = of.hidden;
    let (s, c) = (unit / hidden % hidden, unit % hidden);
    let at = of.longer + unit / (hidden * hidden) * of.letters;
    let mut sum = gradient[of.first * hidden * hidden + unit];
    for k in 0..of.letters {
        for r in 0..hidden {
            sum += all[(k * hidden + r) * hidden + s] * gradient[((at + k) * hidden + r) * hidden + c];
        }
    }
    gradient[of.first * hidden * hidden + unit] = sum;
}

/// What words of a letter more add to the gradient of their last letter; `begins` where there is nothing yet, `ends` adds what letters have as words. Units: `[letters, H, H]`.
#[cube(launch_unchecked)]
pub(crate) fn last_letters(
    all: &Array<f32>,
    gradient: &Array<f32>,
    out: &mut Array<f32>,
    words: usize,
    of: &Level,
    #[comptime] begins: bool,
    #[comptime] ends: bool,
) {
    let unit = unit_below(of.units);
    let hidden = of.hidden;
    let (k, r, s) = (unit / (hidden * hidden), unit / hidden % hidden, unit % hidden);
    let mut sum = f32::new(0.0);
    if comptime!(!begins) {
        sum = out[unit];
    }
    for u in 0..words {
        let from = ((of.longer + u * of.letters + k) * hidden + r) * hidden;
        let with = ((of.first + u) * hidden + s) * hidden;
        for c in 0..hidden {
            sum += gradient[from + c] * all[with + c];
        }
    }
    if comptime!(ends) {
        sum += gradient[unit];
    }
    out[unit] = sum;
}

/// `A^k = (H_n / sqrt n) D` in full, Sylvester's order. Units: `[channels, H, H]`.
#[cube(launch_unchecked)]
pub(crate) fn hadamard(a: &Array<f32>, out: &mut Array<f32>, scale: f32, hidden: usize, units: usize, #[comptime] bounded: bool) {
    let unit = unit_below(units);
    let mut d = a[unit / (hidden * hidden) * hidden + unit % hidden];
    if comptime!(bounded) {
        d = f32::tanh(d);
    }
    out[unit] = sign(unit / hidden % hidden, unit % hidden) * scale * d;
}

/// The gradient in the parameters of `D` from that in full matrices. Units: `[channels, H]`.
#[cube(launch_unchecked)]
pub(crate) fn diagonal(
    a: &Array<f32>,
    dense: &Array<f32>,
    out: &mut Array<f32>,
    factor: f32,
    hidden: usize,
    units: usize,
    #[comptime] bounded: bool,
) {
    let unit = unit_below(units);
    let (at, c) = (unit / hidden * hidden * hidden, unit % hidden);
    let mut sum = f32::new(0.0);
    for r in 0..hidden {
        sum += sign(r, c) * dense[at + r * hidden + c];
    }
    sum *= factor;
    if comptime!(bounded) {
        let t = f32::tanh(a[unit]);
        sum *= 1.0 - t * t;
    }
    out[unit] = sum;
}

/// An entry of a Hadamard matrix.
#[cube]
fn sign(r: usize, c: usize) -> f32 {
    let both = (r & c) as u32;
    1.0 - 2.0 * f32::cast_from(both.count_ones() & 1u32)
}
