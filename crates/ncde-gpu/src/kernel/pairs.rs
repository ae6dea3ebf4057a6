//! Brackets of two letters at most, straight from the matrices and vectors of channels: a launch for each result.
//!
//! ```text
//! A_[p,q] = A^q A^p - A^p A^q,   c_[p,q] = A^q B^p - A^p B^q
//! ```
//!
//! The first elements are the channels in order. Tables: `pairs` has `(p, q)` for each bracket; `uses` has for each channel where its list begins (one more at the
//! end), then the lists of `(m, other channel, is plus)`: plus where the channel is `q`.

use cubecl::prelude::*;

use super::brackets::{Place, commutator, commutator_back, transposed};

/// All matrices. Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_matrices(
    a: &Array<f32>,
    out: &mut Array<f32>,
    pairs: &Array<u32>,
    channels: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let m = unit / place.entries;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let to = m * place.parameters + place.entry + e;
    if m < channels {
        out[to] = a[to];
    } else {
        let base = place.entry + e / size * size;
        let p = pairs[(m - channels) * 2] as usize * place.parameters + base;
        let q = pairs[(m - channels) * 2 + 1] as usize * place.parameters + base;
        out[to] = commutator(a, p, q, e % size / b, e % b, b);
    }
}

/// The gradient in the matrices of channels. Units: `[channels, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_matrices_back(
    a: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    uses: &Array<u32>,
    channels: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let channel = unit / place.entries;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let base = place.entry + e / size * size;
    let r = e % size / b;
    let c = e % b;
    let at = channel * place.parameters + place.entry + e;
    let mut total = g[at];
    for using in uses[channel]..uses[channel + 1] {
        let i = channels + 1 + using as usize * 3;
        let m = uses[i] as usize * place.parameters + base;
        let y = uses[i + 1] as usize * place.parameters + base;
        let sum = commutator_back(a, g, m, y, r, c, b);
        if uses[i + 2] == 1u32 {
            total += sum;
        } else {
            total -= sum;
        }
    }
    out[at] = total;
}

/// All vectors. Units: `[elements, states]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_vectors(
    a: &Array<f32>,
    v: &Array<f32>,
    out: &mut Array<f32>,
    pairs: &Array<u32>,
    channels: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let m = unit / place.states;
    let s = unit % place.states;
    let mut sum = f32::new(0.0);
    if m < channels {
        sum = v[m * place.hidden + place.at + s];
    } else {
        let row = place.entry + s / b * comptime!(b * b) + s % b * b;
        let state = place.at + s / b * b;
        let p = pairs[(m - channels) * 2] as usize;
        let q = pairs[(m - channels) * 2 + 1] as usize;
        for k in 0..b {
            sum += a[q * place.parameters + row + k] * v[p * place.hidden + state + k];
            sum -= a[p * place.parameters + row + k] * v[q * place.hidden + state + k];
        }
    }
    out[m * place.hidden + place.at + s] = sum;
}

/// The gradient in the vectors of channels. Units: `[channels, states]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_vectors_back(
    a: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    uses: &Array<u32>,
    channels: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let channel = unit / place.states;
    let s = unit % place.states;
    let column = place.entry + s / b * comptime!(b * b) + s % b;
    let state = place.at + s / b * b;
    let at = channel * place.hidden + place.at + s;
    let mut total = g[at];
    for using in uses[channel]..uses[channel + 1] {
        let i = channels + 1 + using as usize * 3;
        let m = uses[i] as usize * place.hidden + state;
        let y = uses[i + 1] as usize * place.parameters + column;
        let sum = transposed(a, g, y, m, b);
        // A channel that is p has plus here, and minus in the matrices.
        if uses[i + 2] == 1u32 {
            total -= sum;
        } else {
            total += sum;
        }
    }
    out[at] = total;
}

/// The gradient of vectors in the matrices of channels. Units: `[channels, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_outer(
    v: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    uses: &Array<u32>,
    channels: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let channel = unit / place.entries;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let state = place.at + e / size * b;
    let r = e % size / b;
    let c = e % b;
    let mut total = f32::new(0.0);
    for using in uses[channel]..uses[channel + 1] {
        let i = channels + 1 + using as usize * 3;
        let own = g[uses[i] as usize * place.hidden + state + r] * v[uses[i + 1] as usize * place.hidden + state + c];
        if uses[i + 2] == 1u32 {
            total += own;
        } else {
            total -= own;
        }
    }
    out[channel * place.parameters + place.entry + e] = total;
}
