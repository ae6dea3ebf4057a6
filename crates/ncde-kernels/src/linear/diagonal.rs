//! Steps of diagonal matrices, elementwise: `h <- e^x h + phi_1(x) beta`, `phi_1(x) = (e^x - 1) / x`.
//!
//! Reverse: `dh = e^x g`, `dbeta = phi_1(x) g`, `dx = g (e^x h + phi_1'(x) beta)`.

use ncde_simd::{Float, Number, Simd};

use super::closed::{Backward, Forward, Reverse, Steps};

/// Diagonal matrices.
pub(crate) struct Diagonal;

impl<T: Float, R: Number<Real = T>> Steps<R> for Diagonal {
    #[inline(always)]
    fn forward<S: Simd>(simd: S, pass: Forward<'_, R>) {
        let Forward { chunk, class, h, .. } = pass;
        let state_len = chunk.columns * chunk.states;
        for t in 0..chunk.steps {
            let omega = &chunk.omega[t * chunk.padded + class.entry..][..class.g];
            let (before, after) = h[t * state_len..(t + 2) * state_len].split_at_mut(state_len);
            for column in 0..chunk.columns {
                let states = column * chunk.states + class.state..column * chunk.states + class.state + class.g;
                let (before, after) = (&before[states.clone()], &mut after[states.clone()]);
                for j in 0..class.g {
                    after[j] = omega[j].exp().times(simd, before[j]);
                }
                if let Some(beta) = chunk.beta {
                    let beta = &beta[t * state_len..(t + 1) * state_len][states];
                    for j in 0..class.g {
                        let factor = if chunk.inside { phi(omega[j]).0 } else { R::ONES };
                        after[j] = beta[j].fma(simd, factor, after[j]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, pass: Backward<'_, R>) {
        let Backward { chunk, class, reverse } = pass;
        let Reverse { h, gradient, carry, d_omega, d_beta, .. } = reverse;
        let state_len = chunk.columns * chunk.states;
        for t in (0..chunk.steps).rev() {
            let entries = t * chunk.padded + class.entry..t * chunk.padded + class.entry + class.g;
            let (omega, d_omega) = (&chunk.omega[entries.clone()], &mut d_omega[entries]);
            d_omega.fill(R::ZEROS);
            for column in 0..chunk.columns {
                let states = column * chunk.states + class.state..column * chunk.states + class.state + class.g;
                let row = t * state_len + states.start..t * state_len + states.end;
                let (h, gradient, carry) = (&h[row.clone()], &gradient[row.clone()], &mut carry[states]);
                for j in 0..class.g {
                    let g = carry[j].plus(simd, gradient[j]);
                    carry[j] = omega[j].exp().times(simd, g);
                    d_omega[j] = carry[j].fma(simd, h[j], d_omega[j]);
                    if let Some(beta) = chunk.beta {
                        let i = row.start + j;
                        if chunk.inside {
                            let (phi, derivative) = phi(omega[j]);
                            d_beta[i] = phi.times(simd, g);
                            d_omega[j] = g.times(simd, derivative).fma(simd, beta[i], d_omega[j]);
                        } else {
                            d_beta[i] = g;
                        }
                    }
                }
            }
        }
    }
}

/// `phi_1(x)` and `phi_1'(x) = (e^x - phi_1(x)) / x`; near zero, where those cancel, by their series
/// `sum x^j / (j+1)!` and `sum (j+1) x^j / (j+2)!`.
#[inline(always)]
fn phi<T: Float, R: Number<Real = T>>(x: R) -> (R, R) {
    let (mut value, mut derivative) = (R::ZEROS, R::ZEROS);
    for l in 0..R::WIDTH {
        let (v, d) = phi_of(x.lane(l));
        value.set_lane(l, v);
        derivative.set_lane(l, d);
    }
    (value, derivative)
}

#[inline(always)]
fn phi_of<T: Float>(x: T) -> (T, T) {
    if x.abs() > T::ONE {
        let e = x.exp();
        let v = (e - T::ONE) / x;
        return (v, (e - v) / x);
    }
    // 1 / 20! is below any rounding unit.
    let (mut v, mut d, mut inverse) = (T::ZERO, T::ZERO, T::from_f64(INVERSE_FACTORIAL));
    for j in (0..TERMS).rev() {
        // Here `inverse` is 1 / (j + 2)!.
        d = d * x + inverse * T::from_f64((j + 1) as f64);
        inverse *= T::from_f64((j + 2) as f64);
        v = v * x + inverse;
    }
    (v, d)
}

const TERMS: usize = 18;

/// `1 / (TERMS + 1)!`.
const INVERSE_FACTORIAL: f64 = {
    let (mut product, mut j) = (1.0, 2);
    while j <= TERMS + 1 {
        product /= j as f64;
        j += 1;
    }
    product
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phi_and_its_derivative() {
        for x in [-40.0_f64, -3.0, -1.0001, -1.0, -0.3, -1e-7, 0.0, 1e-3, 0.99, 1.0, 1.5, 20.0] {
            // Integrals of e^(x s) and s e^(x s) over [0, 1], by Gauss-Legendre on many pieces.
            let (mut v, mut d) = (0.0, 0.0);
            let n = 2000;
            for i in 0..n {
                for node in [-0.774_596_669_241_483_4, 0.0, 0.774_596_669_241_483_4_f64] {
                    let s = (f64::from(i) + 0.5 + 0.5 * node) / f64::from(n);
                    let weight = if node == 0.0 { 4.0 / 9.0 } else { 5.0 / 18.0 } / f64::from(n);
                    v += weight * (x * s).exp();
                    d += weight * s * (x * s).exp();
                }
            }
            let (fast, derivative) = phi_of(x);
            assert!((fast - v).abs() < 1e-13 * v && (derivative - d).abs() < 1e-12 * d, "{x}: {fast} {v}, {derivative} {d}");
        }
    }
}
