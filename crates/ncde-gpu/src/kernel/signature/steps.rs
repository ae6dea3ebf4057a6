//! Signatures forwards in time: `S <- S exp(x)` for the increments `x` of a piece.
//!
//! ```text
//! S(i_1 ... i_k) += ((x_{i_1}/k + S(i_1)) x_{i_2}/(k-1) + S(i_1 i_2)) x_{i_3}/(k-2) + ... ) x_{i_k}        (Horner)
//! ```
//!
//! A unit has a prefix `p` of `N - 1` letters and some last letters `a`: it holds the coordinates of all prefixes of `p` and of the words `p a` in registers. What is below the last level is
//! computed by every unit that needs it, about `N / 2` numbers too many for each last letter, so that no unit waits for another at any depth. Units: `[batch, pieces, prefixes, tiles]`.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;
use crate::signature::cut::Words;

/// Where pieces lie, see `Pieces`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct PieceSizes {
    /// Observations of a path.
    pub(crate) length: usize,
    /// Steps of a piece, and pieces of a path.
    pub(crate) size: usize,
    pub(crate) count: usize,
    pub(crate) units: usize,
}

/// The signature of each piece, `[batch, pieces, words]`, or after each step, `[batch, steps, words]`; from `starts`, `[batch, pieces, words]`, or from nothing.
#[cube(launch_unchecked)]
pub(crate) fn signatures(
    path: &Array<f32>,
    starts: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &PieceSizes,
    #[comptime] of: Words,
    #[comptime] tile: usize,
    #[comptime] started: bool,
    #[comptime] every: bool,
) {
    let unit = unit_below(sizes.units);
    let d = comptime!(of.channels);
    let below = comptime!(of.depth - 1);
    let tiles = comptime!(of.channels.div_ceil(tile));
    let first_letter = unit % tiles * tile;
    let word = unit / tiles % comptime!(of.level(of.depth - 1));
    let piece = unit / comptime!(of.channels.div_ceil(tile) * of.level(of.depth - 1));
    let series = piece / sizes.count;
    let first = piece % sizes.count * sizes.size;
    let steps = sizes.length - 1;
    let count = min(sizes.size, steps - first);

    let mut letter = Array::<u32>::new(comptime!(below.max(1)));
    let mut was = Array::<f32>::new(comptime!(below.max(1)));
    let mut x = Array::<f32>::new(comptime!(below.max(1)));
    let mut lower = Array::<f32>::new(comptime!(below.max(1)));
    let mut last_was = Array::<f32>::new(tile);
    let mut last = Array::<f32>::new(tile);
    let from = (series * sizes.length + first) * d;
    #[unroll]
    for k in 0..below {
        let index = word / comptime!(of.level(below - 1 - k)) % d;
        letter[k] = index as u32;
        was[k] = path[from + index];
        lower[k] = f32::new(0.0);
        if comptime!(started) {
            lower[k] =
                starts[piece * comptime!(of.len()) + comptime!(of.start(k + 1)) + word / comptime!(of.level(below - 1 - k))];
        }
    }
    #[unroll]
    for e in 0..tile {
        last_was[e] = f32::new(0.0);
        last[e] = f32::new(0.0);
        if first_letter + e < d {
            last_was[e] = path[from + first_letter + e];
            if comptime!(started) {
                last[e] = starts[piece * comptime!(of.len()) + comptime!(of.below()) + word * d + first_letter + e];
            }
        }
    }
    for t in 0..count {
        let at = from + (t + 1) * d;
        #[unroll]
        for k in 0..below {
            let now = path[at + letter[k] as usize];
            x[k] = now - was[k];
            was[k] = now;
        }
        // The last level first: every level is made of what lower ones were before the step.
        let h = horner(&x, &lower, comptime!(below + 1));
        #[unroll]
        for e in 0..tile {
            if first_letter + e < d {
                let now = path[at + first_letter + e];
                last[e] += (now - last_was[e]) * h;
                last_was[e] = now;
            }
        }
        #[unroll]
        for up in 0..below {
            let k = comptime!(below - up);
            let h = horner(&x, &lower, k);
            lower[comptime!(k - 1)] += x[comptime!(k - 1)] * h;
        }
        if comptime!(every) {
            write(&lower, &last, out, series * steps + first + t, word, first_letter, of, tile);
        }
    }
    if comptime!(!every) {
        write(&lower, &last, out, piece, word, first_letter, of, tile);
    }
}

/// What the last letter of a word of `k` letters is multiplied with.
#[cube]
fn horner(x: &Array<f32>, lower: &Array<f32>, #[comptime] k: usize) -> f32 {
    let mut h = f32::new(1.0);
    #[unroll]
    for j in 0..comptime!(k - 1) {
        h = h * x[j] * f32::new(comptime!(1.0 / (k - j) as f32)) + lower[j];
    }
    h
}

/// The words of a unit; those below the last level by the first unit that has them.
#[cube]
fn write(
    lower: &Array<f32>,
    last: &Array<f32>,
    out: &mut Array<f32>,
    row: usize,
    word: usize,
    first_letter: usize,
    #[comptime] of: Words,
    #[comptime] tile: usize,
) {
    let d = comptime!(of.channels);
    let at = row * comptime!(of.len());
    #[unroll]
    for e in 0..tile {
        if first_letter + e < d {
            out[at + comptime!(of.below()) + word * d + first_letter + e] = last[e];
        }
    }
    if first_letter == 0 {
        #[unroll]
        for k in 1..comptime!(of.depth) {
            let rest = comptime!(of.level(of.depth - 1 - k));
            if word % rest == 0 {
                out[at + comptime!(of.start(k)) + word / rest] = lower[comptime!(k - 1)];
            }
        }
    }
}
