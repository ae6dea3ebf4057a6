//! The equations of the cells, 16 numbers at once, and their gradients.
//!
//! ```text
//! LSTM    c = sigmoid(f) c' + sigmoid(i) tanh(g),   h = sigmoid(o) tanh(c)                      where a letter of a gate stands for x + u
//! GRU     n = tanh(x_n + sigmoid(r) u_n),   h = n + sigmoid(z) (h' - n)
//! sLSTM   m = max(i, ln sigmoid(f) + m'),   k = exp(ln sigmoid(f) + m' - m),   e = exp(i - m)
//!         c = k c' + e tanh(z),   n = k n' + e,   y = sigmoid(o) c / n
//! ```
//!
//! The `m` of an sLSTM is data: `c` and `n` of any `m` have the same `y`, so that no gradient comes from it.

use ncde_simd::Float;

use crate::neural::activation::{Function, Softplus, Tanh};

/// How many numbers of a head a cell takes at once.
pub(super) const LANES: usize = 16;

/// So many of each of `N` parts.
pub(super) type Parts<T, const N: usize> = [[T; LANES]; N];

/// A cell of `G` gates and `S` states, `h` first.
pub(super) trait Equations<const G: usize, const S: usize> {
    /// The states before the first row.
    const FIRST: [f64; S];

    /// The states after a row, from what the row and the states before it bring to the gates and from those states.
    fn next<T: Float>(x: &Parts<T, G>, u: &Parts<T, G>, before: &Parts<T, S>, after: &mut Parts<T, S>);

    /// From the gradient in the states after a row to that in the states before it, the way through `u` left out. `x` and `u` become the gradients in them.
    fn reverse<T: Float>(x: &mut Parts<T, G>, u: &mut Parts<T, G>, before: &Parts<T, S>, gradient: &mut Parts<T, S>);
}

pub(super) struct Lstm;
pub(super) struct Gru;
pub(super) struct Slstm;

#[inline(always)]
fn sigmoid<T: Float>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}

#[inline(always)]
fn tanh<T: Float>(x: T) -> T {
    let [tanh, _, _] = Tanh::at(x);
    tanh
}

#[inline(always)]
fn log_sigmoid<T: Float>(x: T) -> T {
    let [softplus, _, _] = Softplus::at(-x);
    -softplus
}

impl Equations<4, 2> for Lstm {
    const FIRST: [f64; 2] = [0.0; 2];

    #[inline(always)]
    fn next<T: Float>(x: &Parts<T, 4>, u: &Parts<T, 4>, [_, c]: &Parts<T, 2>, [h, next]: &mut Parts<T, 2>) {
        for l in 0..LANES {
            let [i, f, o] = [sigmoid(x[0][l] + u[0][l]), sigmoid(x[1][l] + u[1][l]), sigmoid(x[3][l] + u[3][l])];
            next[l] = f * c[l] + i * tanh(x[2][l] + u[2][l]);
            h[l] = o * tanh(next[l]);
        }
    }

    #[inline(always)]
    fn reverse<T: Float>(x: &mut Parts<T, 4>, u: &mut Parts<T, 4>, [_, c]: &Parts<T, 2>, [dh, dc]: &mut Parts<T, 2>) {
        let one = T::ONE;
        for l in 0..LANES {
            let [i, f, o] = [sigmoid(x[0][l] + u[0][l]), sigmoid(x[1][l] + u[1][l]), sigmoid(x[3][l] + u[3][l])];
            let g = tanh(x[2][l] + u[2][l]);
            let shown = tanh(f * c[l] + i * g);
            let d = dc[l] + dh[l] * o * (one - shown * shown);
            x[0][l] = d * g * i * (one - i);
            x[1][l] = d * c[l] * f * (one - f);
            x[2][l] = d * i * (one - g * g);
            x[3][l] = dh[l] * shown * o * (one - o);
            (dh[l], dc[l]) = (T::ZERO, d * f);
        }
        *u = *x;
    }
}

impl Equations<3, 1> for Gru {
    const FIRST: [f64; 1] = [0.0];

    #[inline(always)]
    fn next<T: Float>(x: &Parts<T, 3>, u: &Parts<T, 3>, [h]: &Parts<T, 1>, [next]: &mut Parts<T, 1>) {
        for l in 0..LANES {
            let [r, z] = [sigmoid(x[0][l] + u[0][l]), sigmoid(x[1][l] + u[1][l])];
            let n = tanh(x[2][l] + r * u[2][l]);
            next[l] = n + z * (h[l] - n);
        }
    }

    #[inline(always)]
    fn reverse<T: Float>(x: &mut Parts<T, 3>, u: &mut Parts<T, 3>, [h]: &Parts<T, 1>, [dh]: &mut Parts<T, 1>) {
        let one = T::ONE;
        for l in 0..LANES {
            let [r, z] = [sigmoid(x[0][l] + u[0][l]), sigmoid(x[1][l] + u[1][l])];
            let n = tanh(x[2][l] + r * u[2][l]);
            let dn = dh[l] * (one - z) * (one - n * n);
            x[0][l] = dn * u[2][l] * r * (one - r);
            x[1][l] = dh[l] * (h[l] - n) * z * (one - z);
            x[2][l] = dn;
            (u[0][l], u[1][l], u[2][l]) = (x[0][l], x[1][l], dn * r);
            dh[l] = dh[l] * z;
        }
    }
}

/// How much of `c` and `n` stays and how much a row fills in, and the next `m`.
#[inline(always)]
fn stabilised<T: Float>(i: T, f: T, m: T) -> [T; 3] {
    let stay = log_sigmoid(f) + m;
    let most = if i > stay { i } else { stay };
    [(stay - most).exp(), (i - most).exp(), most]
}

impl Equations<4, 4> for Slstm {
    // Next to nothing is in the memory before the first row, so that its `m` is `i`.
    const FIRST: [f64; 4] = [0.0, 0.0, 0.0, -1e30];

    #[inline(always)]
    fn next<T: Float>(x: &Parts<T, 4>, u: &Parts<T, 4>, [_, c, n, m]: &Parts<T, 4>, after: &mut Parts<T, 4>) {
        for l in 0..LANES {
            let [stay, fill, most] = stabilised(x[0][l] + u[0][l], x[1][l] + u[1][l], m[l]);
            let (c, n) = (stay * c[l] + fill * tanh(x[2][l] + u[2][l]), stay * n[l] + fill);
            let y = sigmoid(x[3][l] + u[3][l]) * c / n;
            (after[0][l], after[1][l], after[2][l], after[3][l]) = (y, c, n, most);
        }
    }

    #[inline(always)]
    fn reverse<T: Float>(x: &mut Parts<T, 4>, u: &mut Parts<T, 4>, before: &Parts<T, 4>, gradient: &mut Parts<T, 4>) {
        let (one, [_, before_c, before_n, m], [dy, dc, dn, dm]) = (T::ONE, before, gradient);
        for l in 0..LANES {
            let f = x[1][l] + u[1][l];
            let [stay, fill, _] = stabilised(x[0][l] + u[0][l], f, m[l]);
            let (z, o) = (tanh(x[2][l] + u[2][l]), sigmoid(x[3][l] + u[3][l]));
            let n = stay * before_n[l] + fill;
            let mean = (stay * before_c[l] + fill * z) / n;
            let of_c = dc[l] + dy[l] * o / n;
            let of_n = dn[l] - dy[l] * o * mean / n;
            x[0][l] = fill * (of_c * z + of_n);
            x[1][l] = stay * (of_c * before_c[l] + of_n * before_n[l]) * sigmoid(-f);
            x[2][l] = of_c * fill * (one - z * z);
            x[3][l] = dy[l] * mean * o * (one - o);
            (dy[l], dc[l], dn[l], dm[l]) = (T::ZERO, stay * of_c, stay * of_n, T::ZERO);
        }
        *u = *x;
    }
}
