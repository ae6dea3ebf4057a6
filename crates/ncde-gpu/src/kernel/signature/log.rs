//! Logarithms of signatures and their coordinates, and the way back.
//!
//! ```text
//! log S (w) = sum_{w = u_1 ... u_k} (-1)^(k+1)/k S(u_1) ... S(u_k)          over all ways to cut w
//! d log S (a u b) / d S(u) = D(a, b) = sum_{p,q} (-1)^(p+q)/(p+q+1) s^p(a) s^q(b),   s = S - 1
//! ```
//!
//! A unit has a word: its powers `s^p` are made from the coordinates of its subwords, in registers. A coordinate of a basis is an integer combination of the logarithm at words of its degree.
//! The derivative does not depend on `u`: it is computed once for all `(a, b)` and then summed over them, by the unit that has `u`.

use cubecl::prelude::*;

use super::{part, power};
use crate::kernel::unit::{copy, unit_below};
use crate::signature::cut::Words;

/// `(-1)^(k+1) / k`.
fn coefficient(k: usize) -> f32 {
    let sign = if k.is_multiple_of(2) { -1.0 } else { 1.0 };
    sign / k as f32
}

/// The coordinates of letters `i..=j` of a word, at `n i + j`.
#[cube]
fn subwords(s: &Array<f32>, row: usize, word: usize, sub: &mut Array<f32>, #[comptime] n: usize, #[comptime] of: Words) {
    #[unroll]
    for i in 0..n {
        #[unroll]
        for j in 0..comptime!(n - i) {
            sub[comptime!(n * i + i + j)] = s[row + part(word, i, comptime!(i + j + 1), n, of)];
        }
    }
}

/// At a word of `n` letters, from the signature that begins at `row`.
#[cube]
fn logarithm(s: &Array<f32>, row: usize, word: usize, #[comptime] n: usize, #[comptime] of: Words) -> f32 {
    let mut sub = Array::<f32>::new(comptime!(n * n));
    subwords(s, row, word, &mut sub, n, of);
    // `s^p` at the first letters.
    let mut power = Array::<f32>::new(n);
    copy(&sub, &mut power, n);
    let mut sum = power[comptime!(n - 1)];
    #[unroll]
    for p in 2..comptime!(n + 1) {
        #[unroll]
        for up in 0..n {
            let i = comptime!(n - 1 - up);
            let mut next = f32::new(0.0);
            #[unroll]
            for j in 0..i {
                next += power[j] * sub[comptime!(n * (j + 1) + i)];
            }
            power[i] = next;
        }
        sum += f32::new(comptime!(coefficient(p))) * power[comptime!(n - 1)];
    }
    sum
}

/// At all words of `n` letters, in their places. Units: `[rows, words of n letters]`.
#[cube(launch_unchecked)]
pub(crate) fn expanded(s: &Array<f32>, out: &mut Array<f32>, units: usize, #[comptime] n: usize, #[comptime] of: Words) {
    let unit = unit_below(units);
    let words = comptime!(of.level(n));
    let row = unit / words * comptime!(of.len());
    out[row + comptime!(of.start(n)) + unit % words] = logarithm(s, row, unit % words, n, of);
}

/// The coordinates of degree `n`, `count` from the one at `first` on. Units: `[rows, count]`; `places` are `(coordinate, its first entry, the end of its entries)`, entries a word and a factor.
#[cube(launch_unchecked)]
pub(crate) fn coordinates(
    s: &Array<f32>,
    places: &Array<u32>,
    words: &Array<u32>,
    factors: &Array<f32>,
    out: &mut Array<f32>,
    first: usize,
    count: usize,
    width: usize,
    units: usize,
    #[comptime] n: usize,
    #[comptime] of: Words,
) {
    let unit = unit_below(units);
    let row = unit / count;
    let record = 3 * (first + unit % count);
    let mut sum = f32::new(0.0);
    for e in places[record + 1]..places[record + 2] {
        let e = e as usize;
        sum += factors[e] * logarithm(s, row * comptime!(of.len()), words[e] as usize, n, of);
    }
    let coordinate = places[record] as usize;
    out[row * width + coordinate] = sum;
}

/// From the gradient of coordinates to that of the logarithm at all words. Units: `[rows, words]`; the entries of word `f` are `starts[f]..starts[f + 1]`.
#[cube(launch_unchecked)]
pub(crate) fn spread(
    gradient: &Array<f32>,
    starts: &Array<u32>,
    coordinates: &Array<u32>,
    factors: &Array<f32>,
    out: &mut Array<f32>,
    width: usize,
    words: usize,
    units: usize,
) {
    let unit = unit_below(units);
    let (row, word) = (unit / words, unit % words);
    let mut sum = f32::new(0.0);
    for e in starts[word]..starts[word + 1] {
        let e = e as usize;
        sum += factors[e] * gradient[row * width + coordinates[e] as usize];
    }
    out[unit] = sum;
}

/// `D(a, b)` for all words `a b` of `t` letters, `[rows, t + 1, words]` from `slope(t)` on. Units: `[rows, words of t letters]`.
///
/// A row is the end of window `row % count` of `size` steps, `states` the signatures below the last level after each step.
#[cube(launch_unchecked)]
pub(crate) fn slopes(
    states: &Array<f32>,
    out: &mut Array<f32>,
    steps: usize,
    size: usize,
    count: usize,
    units: usize,
    #[comptime] t: usize,
    #[comptime] of: Words,
) {
    let unit = unit_below(units);
    let words = comptime!(of.level(t));
    let (row, word) = (unit / words, unit % words);
    let step = row / count * steps + min((row % count + 1) * size, steps) - 1;
    let mut sub = Array::<f32>::new(comptime!(t * t));
    subwords(states, step * comptime!(of.below()), word, &mut sub, t, of);
    // `s^p` at the first `i` letters and at all but the first `i`, at `(t + 1) p + i`.
    let mut left = Array::<f32>::new(comptime!((t + 1) * (t + 1)));
    let mut right = Array::<f32>::new(comptime!((t + 1) * (t + 1)));
    #[unroll]
    for i in 0..comptime!(t + 1) {
        #[unroll]
        for p in 0..comptime!(t + 1) {
            let mut before = f32::new(comptime!(if p == 0 && i == 0 { 1.0 } else { 0.0 }));
            let mut behind = f32::new(comptime!(if p == 0 && i == 0 { 1.0 } else { 0.0 }));
            if comptime!(p > 0) {
                #[unroll]
                for j in 0..i {
                    before += left[comptime!((t + 1) * (p - 1) + j)] * sub[comptime!(t * j + i - 1)];
                    behind += right[comptime!((t + 1) * (p - 1) + t - j)] * sub[comptime!(t * (t - i) + t - 1 - j)];
                }
            }
            left[comptime!((t + 1) * p + i)] = before;
            right[comptime!((t + 1) * p + t - i)] = behind;
        }
    }
    #[unroll]
    for i in 0..comptime!(t + 1) {
        let mut sum = f32::new(0.0);
        #[unroll]
        for p in 0..comptime!(i + 1) {
            #[unroll]
            for q in 0..comptime!(t - i + 1) {
                // No letters are no factor, and letters are at least one.
                if comptime!((p == 0) == (i == 0) && (q == 0) == (i == t)) {
                    let both = left[comptime!((t + 1) * p + i)] * right[comptime!((t + 1) * q + i)];
                    sum += f32::new(comptime!(coefficient(p + q + 1))) * both;
                }
            }
        }
        out[row * comptime!(of.slope(of.depth)) + comptime!(of.slope(t)) + i * words + word] = sum;
    }
}

/// From the gradient of the logarithm to that of the signature, at words of `m` letters: `dS(u) = sum_{a,b} g(a u b) D(a, b)`. Units: `[rows, words of m letters]`.
#[cube(launch_unchecked)]
pub(crate) fn gathered(
    g: &Array<f32>,
    slopes: &Array<f32>,
    out: &mut Array<f32>,
    channels: usize,
    units: usize,
    #[comptime] m: usize,
    #[comptime] of: Words,
) {
    let unit = unit_below(units);
    let words = comptime!(of.level(m));
    let (row, word) = (unit / words, unit % words);
    let at = row * comptime!(of.len());
    let target = at + comptime!(of.start(m)) + word;
    let mut sum = g[target];
    #[unroll]
    for before in 0..comptime!(of.depth - m + 1) {
        #[unroll]
        for behind in 0..comptime!(of.depth - m + 1 - before) {
            if comptime!(before + behind > 0) {
                let t = comptime!(before + behind);
                let inner = comptime!(of.level(behind));
                let slope = row * comptime!(of.slope(of.depth)) + comptime!(of.slope(t) + before * of.level(t));
                let from = at + comptime!(of.start(m + t)) + word * inner;
                // All words `a b`: the last letters of a place are those of `b`.
                for ab in 0..power(channels, t) {
                    sum += g[from + ab / inner * comptime!(of.level(m + behind)) + ab % inner] * slopes[slope + ab];
                }
            }
        }
    }
    out[target] = sum;
}
