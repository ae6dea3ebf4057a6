//! Matrices and vectors of brackets, block by block.
//!
//! ```text
//! A_[P,Q] = A_Q A_P - A_P A_Q,   c_[P,Q] = A_Q c_P - A_P c_Q
//! ```
//!
//! An element reads elements of lower levels, so that a level is a launch. In reverse an element gathers from all brackets of a level that it is part
//! of: nothing is added to by two units.

use cubecl::prelude::*;

/// Where a run of blocks lies.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Place {
    /// The first entry of a matrix, and how many.
    pub(crate) entry: usize,
    pub(crate) entries: usize,
    /// The first state, and how many.
    pub(crate) at: usize,
    pub(crate) states: usize,
    /// Numbers of a whole matrix, and of a whole vector.
    pub(crate) parameters: usize,
    pub(crate) hidden: usize,
    pub(crate) units: usize,
}

/// Entry `(r, c)` of `Q P - P Q`, blocks that begin at `p` and `q`.
#[cube]
pub(super) fn commutator(all: &Array<f32>, p: usize, q: usize, r: usize, c: usize, #[comptime] b: usize) -> f32 {
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += all[q + r * b + k] * all[p + k * b + c];
        sum -= all[p + r * b + k] * all[q + k * b + c];
    }
    sum
}

/// Entry `(r, c)` of `G Y^T - Y^T G`, blocks that begin at `m` and `y`.
#[cube]
pub(super) fn commutator_back(
    all: &Array<f32>,
    g: &Array<f32>,
    m: usize,
    y: usize,
    r: usize,
    c: usize,
    #[comptime] b: usize,
) -> f32 {
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += g[m + r * b + k] * all[y + c * b + k];
        sum -= all[y + k * b + r] * g[m + k * b + c];
    }
    sum
}

/// Entry of `A_Y^T g`: a column of a block that begins at `y`, and `g` from `m` on.
#[cube]
pub(super) fn transposed(all: &Array<f32>, g: &Array<f32>, y: usize, m: usize, #[comptime] b: usize) -> f32 {
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += all[y + k * b] * g[m + k];
    }
    sum
}

/// Rows of `from` to rows of `to`, all of the same width: `table` has pairs `(to, from)`. Units: `[pairs, width]`.
#[cube(launch_unchecked)]
pub(crate) fn copy(from: &Array<f32>, to: &mut Array<f32>, table: &Array<u32>, first: usize, width: usize, units: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= units {
        terminate!();
    }
    let pair = first + unit / width * 2;
    let c = unit % width;
    let row = table[pair] as usize;
    to[row * width + c] = from[table[pair + 1] as usize * width + c];
}

/// The matrices of a level: `table` has `(m, p, q)`. Units: `[brackets, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn matrices(all: &mut Array<f32>, table: &Array<u32>, first: usize, place: &Place, #[comptime] b: usize) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let bracket = first + unit / place.entries * 3;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let base = place.entry + e / size * size;
    let r = e % size / b;
    let c = e % b;
    let p = table[bracket + 1] as usize * place.parameters + base;
    let q = table[bracket + 2] as usize * place.parameters + base;
    let sum = commutator(all, p, q, r, c, b);
    let m = table[bracket] as usize;
    all[m * place.parameters + place.entry + e] = sum;
}

/// `g_X += sum sign (G Y^T - Y^T G)` over the brackets of a level that `X` is part of, `Y` the other part. `table` has `(X, first, end)`, and from there on
/// uses `(m, Y, is plus)`.
///
/// Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn matrices_back(
    all: &Array<f32>,
    g: &mut Array<f32>,
    table: &Array<u32>,
    first: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let element = first + unit / place.entries * 3;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let base = place.entry + e / size * size;
    let r = e % size / b;
    let c = e % b;
    let to = table[element] as usize * place.parameters + place.entry + e;
    let mut total = g[to];
    for using in table[element + 1]..table[element + 2] {
        let at = using as usize * 3;
        let m = table[at] as usize * place.parameters + base;
        let y = table[at + 1] as usize * place.parameters + base;
        let sum = commutator_back(all, g, m, y, r, c, b);
        if table[at + 2] == 1u32 {
            total += sum;
        } else {
            total -= sum;
        }
    }
    g[to] = total;
}

/// The vectors of a level: `table` has `(m, p, q)`. Units: `[brackets, states]`.
#[cube(launch_unchecked)]
pub(crate) fn vectors(
    all: &Array<f32>,
    of: &mut Array<f32>,
    table: &Array<u32>,
    first: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let bracket = first + unit / place.states * 3;
    let s = unit % place.states;
    let row = place.entry + s / b * comptime!(b * b) + s % b * b;
    let state = place.at + s / b * b;
    let p = table[bracket + 1] as usize;
    let q = table[bracket + 2] as usize;
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += all[q * place.parameters + row + k] * of[p * place.hidden + state + k];
        sum -= all[p * place.parameters + row + k] * of[q * place.hidden + state + k];
    }
    let m = table[bracket] as usize;
    of[m * place.hidden + place.at + s] = sum;
}

/// `g_X += sum sign A_Y^T g_m` over the brackets of a level that `X` is part of; the sign is the other one of [`matrices_back`].
///
/// Units: `[elements, states]`.
#[cube(launch_unchecked)]
pub(crate) fn vectors_back(
    all: &Array<f32>,
    g: &mut Array<f32>,
    table: &Array<u32>,
    first: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let element = first + unit / place.states * 3;
    let s = unit % place.states;
    let column = place.entry + s / b * comptime!(b * b) + s % b;
    let state = place.at + s / b * b;
    let to = table[element] as usize * place.hidden + place.at + s;
    let mut total = g[to];
    for using in table[element + 1]..table[element + 2] {
        let at = using as usize * 3;
        let m = table[at] as usize * place.hidden + state;
        let y = table[at + 1] as usize * place.parameters + column;
        let sum = transposed(all, g, y, m, b);
        if table[at + 2] == 1u32 {
            total -= sum;
        } else {
            total += sum;
        }
    }
    g[to] = total;
}

/// The gradient in matrices of that in vectors, over all levels at once: `sum sign g_m c_Y^T`. Elements that are part of nothing have none.
///
/// Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn outer(
    of: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    first: usize,
    place: &Place,
    #[comptime] b: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit >= place.units {
        terminate!();
    }
    let element = first + unit / place.entries * 3;
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let state = place.at + e / size * b;
    let r = e % size / b;
    let c = e % b;
    let mut total = f32::new(0.0);
    for using in table[element + 1]..table[element + 2] {
        let at = using as usize * 3;
        let own = g[table[at] as usize * place.hidden + state + r] * of[table[at + 1] as usize * place.hidden + state + c];
        if table[at + 2] == 1u32 {
            total += own;
        } else {
            total -= own;
        }
    }
    let x = table[element] as usize;
    out[x * place.parameters + place.entry + e] = total;
}
