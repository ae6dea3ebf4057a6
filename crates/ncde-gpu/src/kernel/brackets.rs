//! Matrices and vectors of brackets, block by block.
//!
//! ```text
//! A_[P,Q] = A_Q A_P - A_P A_Q,   c_[P,Q] = A_Q c_P - A_P c_Q
//! ```
//!
//! An element reads elements of lower levels, so that a level is a launch, in place. Kernels named `pair_...` need one launch for all elements: they are for brackets of two letters at most, and read
//! the matrices and vectors of channels, which are the first elements, in order. In reverse an element gathers from all brackets that it is part of: nothing is added to by two units.
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
    /// Elements that are channels, and where the records of a launch begin in the table.
    pub(crate) channels: usize,
    pub(crate) first: usize,
    pub(crate) units: usize,
}

/// An entry of a matrix of one of several items.
#[derive(CubeType)]
struct Entry {
    item: usize,
    /// The record of the item, where each has one.
    record: usize,
    at: usize,
    /// The first entry of its block, and its row and column there.
    block: usize,
    r: usize,
    c: usize,
    /// Numbers of a whole matrix.
    parameters: usize,
    /// The first state of its block.
    state: usize,
}

/// That of this unit, of `[items, entries]`.
#[cube]
fn entry_of(place: &Place, #[comptime] b: usize) -> Entry {
    let unit = unit_below(place.units);
    let e = unit % place.entries;
    let size = comptime!(b * b);
    let item = unit / place.entries;
    let at = place.entry + e;
    let record = place.first + item * 3;
    let parameters = place.parameters;
    let block = place.entry + e / size * size;
    let r = e % size / b;
    let c = e % b;
    let state = place.at + e / size * b;
    Entry { item, record, at, block, r, c, parameters, state }
}

/// An entry of a vector of one of several items.
#[derive(CubeType)]
struct State {
    item: usize,
    record: usize,
    at: usize,
    /// The first state of its block.
    block: usize,
    /// The first entries of its row and of its column in the matrix.
    row: usize,
    column: usize,
    /// Numbers of a whole matrix, and of a whole vector.
    parameters: usize,
    hidden: usize,
}

/// That of this unit, of `[items, states]`.
#[cube]
fn state_of(place: &Place, #[comptime] b: usize) -> State {
    let unit = unit_below(place.units);
    let s = unit % place.states;
    let item = unit / place.states;
    let at = place.at + s;
    let record = place.first + item * 3;
    let parameters = place.parameters;
    let hidden = place.hidden;
    let block = place.at + s / b * b;
    let row = place.entry + s / b * comptime!(b * b) + s % b * b;
    let column = place.entry + s / b * comptime!(b * b) + s % b;
    State { item, record, at, block, row, column, parameters, hidden }
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

/// The entry of `A_q A_p - A_p A_q` for the bracket of a record.
#[cube]
fn commutator(all: &Array<f32>, table: &Array<u32>, record: usize, entry: &Entry, #[comptime] b: usize) -> f32 {
    let p = table[record + 1] as usize * entry.parameters + entry.block;
    let q = table[record + 2] as usize * entry.parameters + entry.block;
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += all[q + entry.r * b + k] * all[p + k * b + entry.c];
        sum -= all[p + entry.r * b + k] * all[q + k * b + entry.c];
    }
    sum
}

/// The entry of `g_X + sum sign (G_m Y^T - Y^T G_m)` over the uses of the element of a record.
#[cube]
fn commutator_back(all: &Array<f32>, g: &Array<f32>, table: &Array<u32>, entry: &Entry, #[comptime] b: usize) -> f32 {
    let mut total = g[table[entry.record] as usize * entry.parameters + entry.at];
    for using in table[entry.record + 1]..table[entry.record + 2] {
        let at = using as usize * 3;
        let m = table[at] as usize * entry.parameters + entry.block;
        let y = table[at + 1] as usize * entry.parameters + entry.block;
        let mut sum = f32::new(0.0);
        for k in 0..b {
            sum += g[m + entry.r * b + k] * all[y + entry.c * b + k];
            sum -= all[y + k * b + entry.r] * g[m + k * b + entry.c];
        }
        total = add(total, sum, table[at + 2] == 1u32);
    }
    total
}

/// The entry of `A_q v_p - A_p v_q` for the bracket of a record.
#[cube]
fn vector(all: &Array<f32>, v: &Array<f32>, table: &Array<u32>, record: usize, state: &State, #[comptime] b: usize) -> f32 {
    let p = table[record + 1] as usize;
    let q = table[record + 2] as usize;
    let mut sum = f32::new(0.0);
    for k in 0..b {
        sum += all[q * state.parameters + state.row + k] * v[p * state.hidden + state.block + k];
        sum -= all[p * state.parameters + state.row + k] * v[q * state.hidden + state.block + k];
    }
    sum
}

/// The entry of `g_X + sum sign A_Y^T g_m` over the uses of the element of a record; the sign is the other one of [`commutator_back`].
#[cube]
fn vector_back(all: &Array<f32>, g: &Array<f32>, table: &Array<u32>, state: &State, #[comptime] b: usize) -> f32 {
    let mut total = g[table[state.record] as usize * state.hidden + state.at];
    for using in table[state.record + 1]..table[state.record + 2] {
        let at = using as usize * 3;
        let m = table[at] as usize * state.hidden + state.block;
        let y = table[at + 1] as usize * state.parameters + state.column;
        let mut sum = f32::new(0.0);
        for k in 0..b {
            sum += all[y + k * b] * g[m + k];
        }
        total = add(total, sum, table[at + 2] != 1u32);
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

/// The matrices of a level. Units: `[brackets, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn matrices(all: &mut Array<f32>, table: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let entry = entry_of(place, b);
    let value = commutator(all, table, entry.record, &entry, b);
    let at = table[entry.record] as usize * place.parameters + entry.at;
    all[at] = value;
}

/// All matrices from those of channels. Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_matrices(a: &Array<f32>, out: &mut Array<f32>, table: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let entry = entry_of(place, b);
    let to = entry.item * place.parameters + entry.at;
    if entry.item < place.channels {
        out[to] = a[to];
    } else {
        out[to] = commutator(a, table, place.first + (entry.item - place.channels) * 3, &entry, b);
    }
}

/// The gradient in the matrices of elements, with the uses of a level. Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn matrices_back(all: &Array<f32>, g: &mut Array<f32>, table: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let entry = entry_of(place, b);
    let total = commutator_back(all, g, table, &entry, b);
    let at = table[entry.record] as usize * place.parameters + entry.at;
    g[at] = total;
}

/// The gradient in the matrices of channels. Units: `[channels, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_matrices_back(
    a: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    place: &Place,
    #[comptime] b: usize,
) {
    let entry = entry_of(place, b);
    out[entry.item * place.parameters + entry.at] = commutator_back(a, g, table, &entry, b);
}

/// The vectors of a level. Units: `[brackets, states]`.
#[cube(launch_unchecked)]
pub(crate) fn vectors(all: &Array<f32>, v: &mut Array<f32>, table: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let state = state_of(place, b);
    let value = vector(all, v, table, state.record, &state, b);
    let at = table[state.record] as usize * place.hidden + state.at;
    v[at] = value;
}

/// All vectors from those of channels. Units: `[elements, states]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_vectors(
    a: &Array<f32>,
    v: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    place: &Place,
    #[comptime] b: usize,
) {
    let state = state_of(place, b);
    let to = state.item * place.hidden + state.at;
    if state.item < place.channels {
        out[to] = v[to];
    } else {
        out[to] = vector(a, v, table, place.first + (state.item - place.channels) * 3, &state, b);
    }
}

/// The gradient in the vectors of elements, with the uses of a level. Units: `[elements, states]`.
#[cube(launch_unchecked)]
pub(crate) fn vectors_back(all: &Array<f32>, g: &mut Array<f32>, table: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let state = state_of(place, b);
    let total = vector_back(all, g, table, &state, b);
    let at = table[state.record] as usize * place.hidden + state.at;
    g[at] = total;
}

/// The gradient in the vectors of channels. Units: `[channels, states]`.
#[cube(launch_unchecked)]
pub(crate) fn pair_vectors_back(
    a: &Array<f32>,
    g: &Array<f32>,
    out: &mut Array<f32>,
    table: &Array<u32>,
    place: &Place,
    #[comptime] b: usize,
) {
    let state = state_of(place, b);
    out[state.item * place.hidden + state.at] = vector_back(a, g, table, &state, b);
}

/// The gradient in matrices of that in vectors, with all uses at once: `sum sign g_m v_Y^T`; 0 for elements that are part of nothing. Units: `[elements, entries]`.
#[cube(launch_unchecked)]
pub(crate) fn outer(v: &Array<f32>, g: &Array<f32>, da: &mut Array<f32>, uses: &Array<u32>, place: &Place, #[comptime] b: usize) {
    let entry = entry_of(place, b);
    let mut total = f32::new(0.0);
    for using in uses[entry.record + 1]..uses[entry.record + 2] {
        let at = using as usize * 3;
        let m = uses[at] as usize * place.hidden + entry.state;
        let y = uses[at + 1] as usize * place.hidden + entry.state;
        total = add(total, g[m + entry.r] * v[y + entry.c], uses[at + 2] == 1u32);
    }
    let at = uses[entry.record] as usize * place.parameters + entry.at;
    da[at] = total;
}
