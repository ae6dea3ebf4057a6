//! Matrices and vectors of brackets, block by block.
//!
//! ```text
//! A_[P,Q] = A_Q A_P - A_P A_Q,   c_[P,Q] = A_Q c_P - A_P c_Q
//! ```
//!
//! Both are `A_Q X_P - A_P X_Q`, `X` a matrix or a vector. An element reads elements of lower levels, so that a level is a launch, in place. Kernels named `pair...` need one launch
//! for all elements: they are for brackets of two letters at most, and read the matrices and vectors of channels, which are the first elements, in order. In reverse an element gathers from all brackets
//! that it is part of: nothing is added to by two units.
//!
//! | records of the table | meaning |
//! | --- | --- |
//! | `(m, p, q)` | element `m` is the bracket of `p` and `q` |
//! | `(X, first, end)` | the uses of element `X` |
//! | `(m, Y, is plus)` | a use: the parts of bracket `m` are `X` and `Y`; plus where `X` is the right one |

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Where a run of blocks lies.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct RunOffsets {
    /// The first entry of a matrix, and numbers of a whole one.
    pub(crate) entry: usize,
    pub(crate) parameters: usize,
    /// The first number of `X`, how many the run has, and numbers of a whole one.
    pub(crate) at: usize,
    pub(crate) numbers: usize,
    pub(crate) whole: usize,
    /// The first state, and numbers of a whole vector.
    pub(crate) state: usize,
    pub(crate) hidden: usize,
    /// Elements that are channels, and where the records of a launch begin in the table.
    pub(crate) channels: usize,
    pub(crate) first: usize,
    pub(crate) units: usize,
}

/// Columns of `X`.
const fn width(b: usize, vectors: bool) -> usize {
    if vectors { 1 } else { b }
}

/// A number of `X` of one of several items.
#[derive(CubeType)]
struct Number {
    item: usize,
    /// The record of the item, where each has one.
    record: usize,
    at: usize,
    /// The first number of its block in `X`, in matrices and in vectors, and its row and column there.
    block: usize,
    matrix: usize,
    state: usize,
    r: usize,
    c: usize,
}

/// That of this unit, of `[items, numbers]`.
#[cube]
fn number_of(place: &RunOffsets, #[comptime] b: usize, #[comptime] vectors: bool) -> Number {
    let unit = unit_below(place.units);
    let width = comptime!(width(b, vectors));
    let e = unit % place.numbers;
    let size = comptime!(b * width);
    let item = unit / place.numbers;
    let record = place.first + item * 3;
    let at = place.at + e;
    let block = place.at + e / size * size;
    let matrix = place.entry + e / size * comptime!(b * b);
    let state = place.state + e / size * b;
    let r = e % size / width;
    let c = e % width;
    Number { item, record, at, block, matrix, state, r, c }
}

/// `total + value`, or less it.
#[cube]
fn add(total: f32, value: f32, plus: bool) -> f32 {
    let mut sum = total;
    if plus {
        sum += value;
    } else {
        sum -= value;
    }
    sum
}

/// The number of `A_q X_p - A_p X_q` for the bracket of a record.
#[cube]
fn bracket(
    a: &Array<f32>,
    x: &Array<f32>,
    table: &Array<u32>,
    record: usize,
    of: &Number,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) -> f32 {
    let width = comptime!(width(b, vectors));
    let p = table[record + 1] as usize;
    let q = table[record + 2] as usize;
    let row = of.matrix + of.r * b;
    let column = of.block + of.c;
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += a[q * place.parameters + row + k] * x[p * place.whole + column + k * width];
        sum -= a[p * place.parameters + row + k] * x[q * place.whole + column + k * width];
    }
    sum
}

/// The number of `g_X + sum sign (G_m Y^T - Y^T G_m)` over the uses of the element of a record; of vectors without the first product, which is the gradient in matrices (see [`outer`]).
#[cube]
fn bracket_back(
    a: &Array<f32>,
    g: &Array<f32>,
    table: &Array<u32>,
    of: &Number,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) -> f32 {
    let width = comptime!(width(b, vectors));
    let mut total = g[table[of.record] as usize * place.whole + of.at];
    for using in table[of.record + 1]..table[of.record + 2] {
        let at = using as usize * 3;
        let m = table[at] as usize * place.whole + of.block;
        let y = table[at + 1] as usize * place.parameters + of.matrix;
        let mut sum = f32::new(0.0);
        for k in 0..b {
            if comptime!(!vectors) {
                sum += g[m + of.r * b + k] * a[y + of.c * b + k];
            }
            sum -= a[y + k * b + of.r] * g[m + k * width + of.c];
        }
        total = add(total, sum, table[at + 2] == 1u32);
    }
    total
}

/// Rows of `from` to rows of `to`, all of the same width: `table` has pairs `(to, from)`. Units: `[pairs, width]`.
#[cube(launch_unchecked)]
pub(crate) fn copy(from: &Array<f32>, to: &mut Array<f32>, table: &Array<u32>, first: usize, width: usize, units: usize) {
    let unit = unit_below(units);
    let pair = first + unit / width * 2;
    let c = unit % width;
    let row = table[pair] as usize;
    to[row * width + c] = from[table[pair + 1] as usize * width + c];
}

/// The elements of a level, in place; `a` are the matrices where `x` are vectors, else they are not read. Units: `[brackets, numbers]`.
#[cube(launch_unchecked)]
pub(crate) fn level(
    a: &Array<f32>,
    x: &mut Array<f32>,
    table: &Array<u32>,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let of = number_of(place, b, vectors);
    let value = if comptime!(vectors) {
        bracket(a, x, table, of.record, &of, place, b, vectors)
    } else {
        bracket(x, x, table, of.record, &of, place, b, vectors)
    };
    let at = table[of.record] as usize * place.whole + of.at;
    x[at] = value;
}

/// All elements from those of channels. Units: `[elements, numbers]`.
#[cube(launch_unchecked)]
pub(crate) fn pairs(
    a: &Array<f32>,
    x: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let of = number_of(place, b, vectors);
    let to = of.item * place.whole + of.at;
    if of.item < place.channels {
        out[to] = x[to];
    } else {
        out[to] = bracket(a, x, table, place.first + (of.item - place.channels) * 3, &of, place, b, vectors);
    }
}

/// The gradient in elements, with the uses of a level, in place. Units: `[elements, numbers]`.
#[cube(launch_unchecked)]
pub(crate) fn level_back(
    a: &Array<f32>,
    g: &mut Array<f32>,
    table: &Array<u32>,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let of = number_of(place, b, vectors);
    let total = bracket_back(a, g, table, &of, place, b, vectors);
    let at = table[of.record] as usize * place.whole + of.at;
    g[at] = total;
}

/// The gradient in channels. Units: `[channels, numbers]`.
#[cube(launch_unchecked)]
pub(crate) fn pairs_back(
    a: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    place: &RunOffsets,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let of = number_of(place, b, vectors);
    out[of.item * place.whole + of.at] = bracket_back(a, g, table, &of, place, b, vectors);
}

/// The gradient in matrices of that in vectors, with all uses at once: `sum sign g_m v_Y^T`; 0 for elements that are part of nothing. Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn outer(
    v: &Array<f32>,
    g: &Array<f32>,
    da: &mut Array<f32>,
    uses: &Array<u32>,
    place: &RunOffsets,
    #[comptime] b: usize,
) {
    let of = number_of(place, b, false);
    let mut total = f32::new(0.0);
    for using in uses[of.record + 1]..uses[of.record + 2] {
        let at = using as usize * 3;
        let m = uses[at] as usize * place.hidden + of.state;
        let y = uses[at + 1] as usize * place.hidden + of.state;
        total = add(total, g[m + of.r] * v[y + of.c], uses[at + 2] == 1u32);
    }
    let at = uses[of.record] as usize * place.whole + of.at;
    da[at] = total;
}
