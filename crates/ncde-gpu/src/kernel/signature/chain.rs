//! Pieces of a path joined by Chen's identity, forwards or from the end.
//!
//! ```text
//! S_[0,c+1](w) = sum_{w = u v} S_[0,c](u) S_c(v),        S_[c,m](w) = sum_{w = u v} S_c(u) S_[c+1,m](v)
//! ```
//!
//! A unit has a word of the last level and goes from piece to piece with the coordinates of all its prefixes (or suffixes) in registers. Units: `[batch, words of N letters]`.

use cubecl::prelude::*;

use super::part;
use crate::kernel::unit::{unit_below, zeros};
use crate::signature::cut::Words;

/// What is before each piece (or behind it), `[batch, pieces, words]`, from the signatures of pieces in the same layout; and all of a path, `[batch, words]`.
#[cube(launch_unchecked)]
pub(crate) fn chained(
    pieces: &Array<f32>,
    others: &mut Array<f32>,
    whole: &mut Array<f32>,
    count: usize,
    units: usize,
    #[comptime] of: Words,
    #[comptime] behind: bool,
) {
    let unit = unit_below(units);
    let n = comptime!(of.depth);
    let len = comptime!(of.len());
    let word = unit % comptime!(of.level(of.depth));
    let series = unit / comptime!(of.level(of.depth));
    // Of `k + 1` letters: the first, or the last.
    let mut prefixes = zeros(n);
    for turn in 0..count {
        let mut c = turn;
        if comptime!(behind) {
            c = count - 1 - turn;
        }
        let row = (series * count + c) * len;
        write(&prefixes, others, row, word, of, behind);
        #[unroll]
        for up in 0..n {
            let k = comptime!(n - up);
            let (from, to) = comptime!(if behind { (n - k, n) } else { (0, k) });
            let mut sum = prefixes[comptime!(k - 1)] + pieces[row + part(word, from, to, n, of)];
            #[unroll]
            for j in 1..k {
                let (from, to) = comptime!(if behind { (n - k, n - j) } else { (j, k) });
                sum += prefixes[comptime!(j - 1)] * pieces[row + part(word, from, to, n, of)];
            }
            prefixes[comptime!(k - 1)] = sum;
        }
    }
    write(&prefixes, whole, series * len, word, of, behind);
}

/// Each word by the first unit that has it.
#[cube]
fn write(prefixes: &Array<f32>, out: &mut Array<f32>, row: usize, word: usize, #[comptime] of: Words, #[comptime] behind: bool) {
    #[unroll]
    for k in 1..comptime!(of.depth + 1) {
        let at = row + comptime!(of.start(k));
        if comptime!(behind) {
            if word < comptime!(of.level(k)) {
                out[at + word] = prefixes[comptime!(k - 1)];
            }
        } else {
            let rest = comptime!(of.level(of.depth - k));
            if word % rest == 0 {
                out[at + word / rest] = prefixes[comptime!(k - 1)];
            }
        }
    }
}
