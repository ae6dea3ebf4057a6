//! From the gradient of signatures to that of increments, backwards in time, and to that of the path.
//!
//! ```text
//! A_{t-1}(w) = sum_q C^q(w) / q!,                 C^0 = A_t,   C^q(w) = sum_a x_a C^{q-1}(w a)
//! dx_i       = sum_u sum_q V_q(u) C^q(u i),       V_q(u) = sum_{u = v y} S_{t-1}(v) x_y / (|y| + q + 1)!,   x_y the product over the letters of y
//! ```
//!
//! with the adjoint `A_t` of `S_t = S_{t-1} exp(x)`. A window, or a chunk of a long path, has a cube, words below the last level lie in shared memory, and a unit has some of them. The last level never
//! changes on the way through a window: it is the gradient itself, and stays where it is. States are those of the forward pass made again, so that nothing is divided out and errors do not grow with the path.
//!
//! Every increment has one owner; an observation then takes from the two increments that it ends and begins.

use cubecl::prelude::*;

use super::power;
use super::steps::PieceSizes;
use crate::kernel::unit::{cube_below, unit_below, zeros};
use crate::signature::cut::{Cut, Words};

/// What adjoints begin with, and where their last level is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Begin {
    /// The gradient of each window, `[batch, windows, words]`.
    Windows,
    /// Those of chunks, `[batch, chunks, words below the last level]` in `other`, and the last level of the gradient of each path, `[batch, words]`.
    Chunks,
    /// The gradient after each step, `[batch, steps, words]`, which is added on the way; its last level summed up in `other`, `[batch, steps, words of N letters]`.
    Every,
}

/// `1 / n!`.
fn inverse_factorial(n: usize) -> f32 {
    (1.0 / (1..=n).map(|i| i as f64).product::<f64>()) as f32
}

/// `sum_a x_a y(w a)`, where `y(w 1)` is at `from`.
#[cube]
fn contracted(x: &SharedMemory<f32>, y: &SharedMemory<f32>, from: usize, #[comptime] d: usize) -> f32 {
    let mut sum = f32::new(0.0);
    for i in 0..d {
        sum += x[i] * y[from + i];
    }
    sum
}

/// `V_q(u)` for all `q`, in their places: from the word at `f` up through its prefixes.
#[cube]
fn factors(
    states: &Array<f32>,
    before: usize,
    is_first: bool,
    x: &SharedMemory<f32>,
    v: &mut SharedMemory<f32>,
    f: usize,
    #[comptime] of: Words,
) {
    let d = comptime!(of.channels);
    let n = comptime!(of.depth);
    let mut v_u = zeros(n);
    let mut at = f;
    let mut product = f32::new(1.0);
    let mut is_over = false;
    #[unroll]
    for j in 0..comptime!(n - 1) {
        if !is_over {
            let mut s = f32::new(0.0);
            if !is_first {
                s = states[before + at] * product;
            }
            product *= x[at % d];
            is_over = at < d;
            let mut end = f32::new(0.0);
            if is_over {
                end = product;
            } else {
                at = at / d - 1;
            }
            #[unroll]
            for q in 0..comptime!(n - 1) {
                v_u[q] += s * f32::new(comptime!(inverse_factorial(j + q + 1)));
                v_u[q] += end * f32::new(comptime!(inverse_factorial(j + q + 2)));
            }
        }
    }
    #[unroll]
    for q in 0..comptime!(n - 1) {
        if f < comptime!(of.upto(n - 1 - q)) {
            v[comptime!(of.factor(q)) + f] = v_u[q];
        }
    }
}

/// The gradient of increments, `[batch, steps, channels]`. Cubes: `[batch, pieces]`; `states` are signatures below the last level after each step.
#[cube(launch_unchecked)]
pub(crate) fn increments(
    path: &Array<f32>,
    states: &Array<f32>,
    gradient: &Array<f32>,
    other: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &PieceSizes,
    #[comptime] of: Words,
    #[comptime] cut: Cut,
    #[comptime] begin: Begin,
) {
    let piece = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let parts = comptime!(cut.parts);
    let d = comptime!(of.channels);
    let n = comptime!(of.depth);
    let below = comptime!(of.below());
    let len = comptime!(of.len());
    let series = piece / sizes.count;
    let first = piece % sizes.count * sizes.size;
    let steps = sizes.length - 1;
    let count = min(sizes.size, steps - first);

    let mut x = SharedMemory::<f32>::new(d);
    let mut a = SharedMemory::<f32>::new(comptime!(below.max(1)));
    let mut c = SharedMemory::<f32>::new(comptime!(of.contraction(n).max(1)));
    let mut v = SharedMemory::<f32>::new(comptime!(of.factor(n - 1).max(1)));
    let mut sums = SharedMemory::<f32>::new(comptime!(d * parts));
    for f in range_stepped(unit, below, units) {
        if comptime!(begin == Begin::Chunks) {
            a[f] = other[piece * below + f];
        } else if comptime!(begin == Begin::Every) {
            a[f] = gradient[(series * steps + first + count - 1) * len + f];
        } else {
            a[f] = gradient[piece * len + f];
        }
    }
    for turn in 0..count {
        let t = first + count - 1 - turn;
        let row = series * steps + t;
        let mut top = piece * len + below;
        if comptime!(begin == Begin::Chunks) {
            top = series * len + below;
        }
        if comptime!(begin == Begin::Every) {
            top = row * comptime!(of.level(n));
        }
        let mut is_first = t == first;
        if comptime!(begin == Begin::Chunks) {
            is_first = t == 0;
        }
        let at = (series * sizes.length + t) * d;
        for i in range_stepped(unit, d, units) {
            x[i] = path[at + d + i] - path[at + i];
        }
        sync_cube();
        for f in range_stepped(unit, below, units) {
            let child = d * (f + 1);
            if child < below {
                c[f] = contracted(&x, &a, child, d);
            } else {
                let mut sum = f32::new(0.0);
                for i in 0..d {
                    sum += x[i] * last(gradient, other, top + child - below + i, begin);
                }
                c[f] = sum;
            }
            // Of the state before; the first has none, and reads nothing.
            let mut before = row * below;
            if !is_first {
                before -= below;
            }
            factors(states, before, is_first, &x, &mut v, f, of);
        }
        sync_cube();
        #[unroll]
        for q in 2..n {
            for f in range_stepped(unit, comptime!(of.upto(n - q)), units) {
                c[comptime!(of.contraction(q)) + f] = contracted(&x, &c, comptime!(of.contraction(q - 1)) + d * (f + 1), d);
            }
            sync_cube();
        }
        for job in range_stepped(unit, comptime!(d * parts), units) {
            let (part, i) = (job / d, job % d);
            let mut sum = f32::new(0.0);
            if part == 0 {
                // Of no letters.
                if comptime!(n == 1) {
                    sum = last(gradient, other, top + i, begin);
                } else {
                    sum = a[i];
                }
                #[unroll]
                for q in 1..n {
                    sum += c[comptime!(of.contraction(q)) + i] * f32::new(comptime!(inverse_factorial(q + 1)));
                }
            }
            for f in range_stepped(part, below, parts) {
                let child = d * (f + 1) + i;
                if child < below {
                    sum += v[f] * a[child];
                } else {
                    sum += v[f] * last(gradient, other, top + child - below, begin);
                }
                #[unroll]
                for q in 1..comptime!((n - 1).max(1)) {
                    if f < comptime!(of.upto(n - 1 - q)) {
                        sum += v[comptime!(of.factor(q)) + f] * c[comptime!(of.contraction(q)) + child];
                    }
                }
            }
            sums[job] = sum;
        }
        sync_cube();
        for i in range_stepped(unit, d, units) {
            let mut sum = sums[i];
            for part in 1..parts {
                sum += sums[part * d + i];
            }
            out[row * d + i] = sum;
        }
        for f in range_stepped(unit, below, units) {
            let mut sum = a[f];
            #[unroll]
            for q in 1..n {
                if f < comptime!(of.upto(n - q)) {
                    sum += c[comptime!(of.contraction(q)) + f] * f32::new(comptime!(inverse_factorial(q)));
                }
            }
            if comptime!(begin == Begin::Every) {
                if t > 0 {
                    sum += gradient[(row - 1) * len + f];
                }
            }
            a[f] = sum;
        }
    }
}

/// An adjoint of the last level.
#[cube]
fn last(gradient: &Array<f32>, other: &Array<f32>, at: usize, #[comptime] begin: Begin) -> f32 {
    if comptime!(begin == Begin::Every) { other[at] } else { gradient[at] }
}

/// Adjoints at the end of each chunk, below the last level: `A(w) = sum_b G(w b) S(b)` with the signature of what is behind it. Units: `[batch, chunks, words below the last level]`.
#[cube(launch_unchecked)]
pub(crate) fn ends(
    gradient: &Array<f32>,
    behind: &Array<f32>,
    out: &mut Array<f32>,
    count: usize,
    channels: usize,
    units: usize,
    #[comptime] of: Words,
) {
    let unit = unit_below(units);
    let d = comptime!(of.channels);
    let below = comptime!(of.below());
    let len = comptime!(of.len());
    let piece = unit / below;
    let row = piece / count * len;
    let mut from = unit % below;
    let mut sum = gradient[row + from];
    #[unroll]
    for j in 1..comptime!(of.depth) {
        from = d * (from + 1);
        if from < len {
            for b in 0..power(channels, j) {
                sum += gradient[row + from + b] * behind[piece * below + comptime!(of.start(j)) + b];
            }
        }
    }
    out[unit] = sum;
}

/// The last level of the gradient after each step, summed up from the end. Units: `[batch, words of N letters]`.
#[cube(launch_unchecked)]
pub(crate) fn summed(gradient: &Array<f32>, out: &mut Array<f32>, steps: usize, units: usize, #[comptime] of: Words) {
    let unit = unit_below(units);
    let words = comptime!(of.level(of.depth));
    let (series, word) = (unit / words, unit % words);
    let mut sum = f32::new(0.0);
    for turn in 0..steps {
        let row = series * steps + steps - 1 - turn;
        sum += gradient[row * comptime!(of.len()) + comptime!(of.below()) + word];
        out[row * words + word] = sum;
    }
}

/// The gradient of observations: an increment is the one it ends with less the one it begins with. Units: `[batch, length, channels]`.
#[cube(launch_unchecked)]
pub(crate) fn observations(dx: &Array<f32>, out: &mut Array<f32>, length: usize, channels: usize, units: usize) {
    let unit = unit_below(units);
    let t = unit / channels % length;
    // The increment that begins here.
    let from = unit - unit / (length * channels) * channels;
    let mut sum = f32::new(0.0);
    if t > 0 {
        sum += dx[from - channels];
    }
    if t + 1 < length {
        sum -= dx[from];
    }
    out[unit] = sum;
}
