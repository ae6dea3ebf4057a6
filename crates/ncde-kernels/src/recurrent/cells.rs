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

use ncde_simd::{Float, Number, Simd};

use crate::neural::activation::{Function, Softplus, Tanh};

/// How many numbers of a head a cell takes at once.
pub(super) const LANES: usize = 16;

/// So many of each of `N` parts.
pub(super) type Parts<T, const N: usize> = [[T; LANES]; N];

/// A cell of `G` gates and `N` states, `h` first, whose reverse pass needs `K` numbers beside the states.
pub(super) trait Equations<const G: usize, const N: usize, const K: usize> {
    /// The states before the first row.
    const FIRST: [f64; N];
    /// Whether `x` and `u` are only added, so that their gradients are the same.
    const SUMS: bool = true;

    /// The states after a row, from what the row and the states before it bring to the gates and from those states; and what the reverse pass needs.
    fn next<S: Simd, T: Float>(
        simd: S,
        x_and_u: [&Parts<T, G>; 2],
        before: &Parts<T, N>,
        after: &mut Parts<T, N>,
        gates: &mut Parts<T, K>,
    );

    /// From the gradient in the states after a row to that in the states before it, the way through `u` left out; the gradients in `x` and, if they differ, in `u`.
    fn reverse<S: Simd, T: Float>(
        simd: S,
        gates: &Parts<T, K>,
        before: &Parts<T, N>,
        gradient: &mut Parts<T, N>,
        x_and_u: [&mut Parts<T, G>; 2],
    );
}

pub(super) struct Lstm;
pub(super) struct Gru;
pub(super) struct Slstm;

/// `tanh(x) = x P(x^2) / Q(x^2)`, the coefficients of the rational approximation in Eigen 3 (`generic_fast_tanh_float`), the highest power first.
const P: [f64; 7] = [
    -2.760_768_477_423_55e-16,
    2.000_187_904_824_77e-13,
    -8.604_671_522_137_35e-11,
    5.122_297_090_371_14e-8,
    1.485_722_357_179_79e-5,
    6.372_619_288_754_36e-4,
    4.893_524_558_917_86e-3,
];
const Q: [f64; 4] = [1.198_258_394_667_02e-6, 1.185_347_056_866_54e-4, 2.268_434_632_439e-3, 4.893_525_185_543_85e-3];

/// From here on it is 1.
const TANH_IS_ONE: f64 = 7.905_311_107_635_498;

/// In single precision to 4e-7, in half the instructions of an exponential.
#[inline(always)]
fn tanh<S: Simd, T: Float>(simd: S, x: T) -> T {
    if const { size_of::<T>() != size_of::<f32>() } {
        let [tanh, _, _] = Tanh::at(x);
        return tanh;
    }
    let most = T::from_f64(TANH_IS_ONE);
    let x = if x > most { most } else { x };
    let x = if x < -most { -most } else { x };
    let square = x * x;
    let (mut p, mut q) = (T::from_f64(P[0]), T::from_f64(Q[0]));
    for i in 1..P.len() {
        p = Number::fma(p, simd, square, T::from_f64(P[i]));
    }
    for i in 1..Q.len() {
        q = Number::fma(q, simd, square, T::from_f64(Q[i]));
    }
    x * p / q
}

#[inline(always)]
fn sigmoid<S: Simd, T: Float>(simd: S, x: T) -> T {
    let half = T::from_f64(0.5);
    Number::fma(tanh(simd, half * x), simd, half, half)
}

impl Equations<4, 2, 4> for Lstm {
    const FIRST: [f64; 2] = [0.0; 2];

    #[inline(always)]
    fn next<S: Simd, T: Float>(
        simd: S,
        [x, u]: [&Parts<T, 4>; 2],
        [_, c]: &Parts<T, 2>,
        [h, next]: &mut Parts<T, 2>,
        gates: &mut Parts<T, 4>,
    ) {
        for l in 0..LANES {
            let [i, f, o] =
                [sigmoid(simd, x[0][l] + u[0][l]), sigmoid(simd, x[1][l] + u[1][l]), sigmoid(simd, x[3][l] + u[3][l])];
            let g = tanh(simd, x[2][l] + u[2][l]);
            next[l] = f * c[l] + i * g;
            h[l] = o * tanh(simd, next[l]);
            (gates[0][l], gates[1][l], gates[2][l], gates[3][l]) = (i, f, g, o);
        }
    }

    #[inline(always)]
    fn reverse<S: Simd, T: Float>(
        simd: S,
        gates: &Parts<T, 4>,
        [_, c]: &Parts<T, 2>,
        [dh, dc]: &mut Parts<T, 2>,
        [x, _]: [&mut Parts<T, 4>; 2],
    ) {
        let one = T::ONE;
        for l in 0..LANES {
            let [i, f, g, o] = [gates[0][l], gates[1][l], gates[2][l], gates[3][l]];
            let shown = tanh(simd, f * c[l] + i * g);
            let d = dc[l] + dh[l] * o * (one - shown * shown);
            x[0][l] = d * g * i * (one - i);
            x[1][l] = d * c[l] * f * (one - f);
            x[2][l] = d * i * (one - g * g);
            x[3][l] = dh[l] * shown * o * (one - o);
            (dh[l], dc[l]) = (T::ZERO, d * f);
        }
    }
}

impl Equations<3, 1, 4> for Gru {
    const FIRST: [f64; 1] = [0.0];
    const SUMS: bool = false;

    #[inline(always)]
    fn next<S: Simd, T: Float>(
        simd: S,
        [x, u]: [&Parts<T, 3>; 2],
        [h]: &Parts<T, 1>,
        [next]: &mut Parts<T, 1>,
        gates: &mut Parts<T, 4>,
    ) {
        for l in 0..LANES {
            let [r, z] = [sigmoid(simd, x[0][l] + u[0][l]), sigmoid(simd, x[1][l] + u[1][l])];
            let n = tanh(simd, x[2][l] + r * u[2][l]);
            next[l] = n + z * (h[l] - n);
            (gates[0][l], gates[1][l], gates[2][l], gates[3][l]) = (r, z, n, u[2][l]);
        }
    }

    #[inline(always)]
    fn reverse<S: Simd, T: Float>(
        _: S,
        gates: &Parts<T, 4>,
        [h]: &Parts<T, 1>,
        [dh]: &mut Parts<T, 1>,
        [x, u]: [&mut Parts<T, 3>; 2],
    ) {
        let one = T::ONE;
        for l in 0..LANES {
            let [r, z, n, of_state] = [gates[0][l], gates[1][l], gates[2][l], gates[3][l]];
            let dn = dh[l] * (one - z) * (one - n * n);
            x[0][l] = dn * of_state * r * (one - r);
            x[1][l] = dh[l] * (h[l] - n) * z * (one - z);
            x[2][l] = dn;
            (u[0][l], u[1][l], u[2][l]) = (x[0][l], x[1][l], dn * r);
            dh[l] *= z;
        }
    }
}

impl Equations<4, 4, 5> for Slstm {
    // Next to nothing is in the memory before the first row, so that its `m` is `i`.
    const FIRST: [f64; 4] = [0.0, 0.0, 0.0, -1e30];

    #[inline(always)]
    fn next<S: Simd, T: Float>(
        _: S,
        [x, u]: [&Parts<T, 4>; 2],
        [_, c, n, m]: &Parts<T, 4>,
        after: &mut Parts<T, 4>,
        gates: &mut Parts<T, 5>,
    ) {
        for l in 0..LANES {
            let (i, f) = (x[0][l] + u[0][l], x[1][l] + u[1][l]);
            // ln sigmoid(f) = -softplus(-f), whose slope is sigmoid(-f).
            let [softplus, slope, _] = Softplus::at(-f);
            let stay = m[l] - softplus;
            let most = if i > stay { i } else { stay };
            let (stay, fill) = ((stay - most).exp(), (i - most).exp());
            // To the last digits: outputs are normalised, which can show a small difference as a large one.
            let ([z, _, _], o) = (Tanh::at(x[2][l] + u[2][l]), T::ONE / (T::ONE + (-x[3][l] - u[3][l]).exp()));
            let (c, n) = (stay * c[l] + fill * z, stay * n[l] + fill);
            (after[0][l], after[1][l], after[2][l], after[3][l]) = (o * c / n, c, n, most);
            (gates[0][l], gates[1][l], gates[2][l], gates[3][l], gates[4][l]) = (fill, stay, z, o, slope);
        }
    }

    #[inline(always)]
    fn reverse<S: Simd, T: Float>(
        _: S,
        gates: &Parts<T, 5>,
        [_, before_c, before_n, _]: &Parts<T, 4>,
        [dy, dc, dn, dm]: &mut Parts<T, 4>,
        [x, _]: [&mut Parts<T, 4>; 2],
    ) {
        let one = T::ONE;
        for l in 0..LANES {
            let [fill, stay, z, o] = [gates[0][l], gates[1][l], gates[2][l], gates[3][l]];
            let n = stay * before_n[l] + fill;
            let mean = (stay * before_c[l] + fill * z) / n;
            let of_mean = dy[l] * o / n;
            // z - mean = stay (n' z - c') / n and c' - mean n' = -fill (n' z - c') / n: the difference is taken once, of numbers that are not rounded yet.
            let apart = of_mean * (before_n[l] * z - before_c[l]) / n;
            x[0][l] = fill * (dc[l] * z + dn[l] + stay * apart);
            x[1][l] = stay * (dc[l] * before_c[l] + dn[l] * before_n[l] - fill * apart) * gates[4][l];
            let (of_c, of_n) = (dc[l] + of_mean, dn[l] - of_mean * mean);
            x[2][l] = of_c * fill * (one - z * z);
            x[3][l] = dy[l] * mean * o * (one - o);
            (dy[l], dc[l], dn[l], dm[l]) = (T::ZERO, stay * of_c, stay * of_n, T::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_simd::{Kernel, everywhere};

    struct Both(f32);

    impl Kernel for Both {
        type Output = [f32; 2];
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [f32; 2] {
            [tanh(simd, self.0), sigmoid(simd, self.0)]
        }
    }

    #[test]
    fn functions_are_right_to_a_few_rounding_units() {
        for i in -4000..=4000 {
            let x = f64::from(i) * 0.01 + 1e-3 * f64::from(i).cos();
            let x = f64::from(x as f32);
            for [tanh, sigmoid] in everywhere(|| Both(x as f32)) {
                assert!((f64::from(tanh) - x.tanh()).abs() <= 5e-7 * x.tanh().abs(), "{x}: {tanh}");
                assert!((f64::from(sigmoid) - 1.0 / (1.0 + (-x).exp())).abs() <= 3e-7, "{x}: {sigmoid}");
            }
        }
        assert!(everywhere(|| Both(f32::NAN)).iter().flatten().all(|y| y.is_nan()));
        assert!(everywhere(|| Both(f32::INFINITY)).iter().flatten().all(|&y| (y - 1.0).abs() < 3e-7));
    }
}
