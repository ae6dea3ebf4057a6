//! The functions between layers with their first two derivatives, number by number in vector instructions.
//!
//! | | `s(z)` | `s'(z)` | `s''(z)` |
//! | --- | --- | --- | --- |
//! | `SiLU`, `q = 1 / (1 + e^-z)` | `z q` | `q + s (1 - q)` | `q (1 - q) (2 + z (1 - 2q))` |
//! | `ReLU` | `max(z, 0)` | 1 if `z > 0`, else 0 | 0 |
//! | tanh | `t` | `1 - t^2` | `-2 t (1 - t^2)` |
//! | softplus | `max(z, 0) + ln(1 + e^-abs(z))`, less `ln 2` if shifted | `q` | `q (1 - q)` |
//! | identity | `z` | 1 | 0 |
//!
//! NaN stays NaN everywhere, so that it reaches the state and is found there.

use ncde_simd::{Float, Simd, outlined};

use super::network::{Activation, Last};

/// How many derivatives are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Value,
    First,
    Second,
}

/// `x <- s(x + bias)` row by row, and the derivatives there.
#[inline(always)]
pub(crate) fn activate<S: Simd, T: Float>(
    simd: S,
    (activation, order): (Activation, Order),
    bias: &[T],
    x: &mut [T],
    derivatives: [&mut [T]; 2],
) {
    outlined(
        simd,
        #[inline(always)]
        move || match activation {
            Activation::Silu => rows::<T, Silu>(order, T::ZERO, bias, x, derivatives),
            Activation::Relu => rows::<T, Relu>(order, T::ZERO, bias, x, derivatives),
            Activation::Tanh => rows::<T, Tanh>(order, T::ZERO, bias, x, derivatives),
            Activation::Identity => rows::<T, Identity>(order, T::ZERO, bias, x, derivatives),
            Activation::Softplus | Activation::ShiftedSoftplus => {
                let is_shifted = activation == Activation::ShiftedSoftplus;
                let shift = if is_shifted { T::from_f64(std::f64::consts::LN_2) } else { T::ZERO };
                rows::<T, Softplus>(order, shift, bias, x, derivatives);
            }
        },
    );
}

/// [`activate`], where `s` is `F` less `shift`.
#[inline(always)]
fn rows<T: Float, F: Function>(order: Order, shift: T, bias: &[T], x: &mut [T], [first, second]: [&mut [T]; 2]) {
    let n = bias.len();
    for (i, x) in x.chunks_exact_mut(n).enumerate() {
        let row = i * n..(i + 1) * n;
        match order {
            Order::Value => {
                for (x, &b) in x.iter_mut().zip(bias) {
                    let [s, _, _] = F::at(*x + b);
                    *x = s - shift;
                }
            }
            Order::First => {
                for ((x, &b), first) in x.iter_mut().zip(bias).zip(&mut first[row]) {
                    let s;
                    [s, *first, _] = F::at(*x + b);
                    *x = s - shift;
                }
            }
            Order::Second => {
                let derivatives = first[row.clone()].iter_mut().zip(&mut second[row]);
                for ((x, &b), (first, second)) in x.iter_mut().zip(bias).zip(derivatives) {
                    let s;
                    [s, *first, *second] = F::at(*x + b);
                    *x = s - shift;
                }
            }
        }
    }
}

/// `x <- tau(x + bias)` row by row.
#[inline(always)]
pub(crate) fn finish<S: Simd, T: Float>(simd: S, last: Last, bias: &[T], x: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            for x in x.chunks_exact_mut(bias.len()) {
                match last {
                    Last::Tanh => {
                        for (x, &b) in x.iter_mut().zip(bias) {
                            [*x, _, _] = Tanh::at(*x + b);
                        }
                    }
                    Last::Linear => {
                        for (x, &b) in x.iter_mut().zip(bias) {
                            *x += b;
                        }
                    }
                }
            }
        },
    );
}

/// A function with its derivatives; what is not used is not computed.
pub(crate) trait Function {
    fn at<T: Float>(z: T) -> [T; 3];
}

struct Silu;
struct Relu;
pub(crate) struct Tanh;
pub(crate) struct Softplus;
struct Identity;

impl Function for Silu {
    #[inline(always)]
    fn at<T: Float>(z: T) -> [T; 3] {
        let (one, two) = (T::ONE, T::ONE + T::ONE);
        let q = one / (one + (-z).exp());
        let (s, p) = (z * q, one - q);
        [s, q + s * p, q * p * (two + z * (p - q))]
    }
}

impl Function for Relu {
    #[inline(always)]
    fn at<T: Float>(z: T) -> [T; 3] {
        // Written so that NaN is not taken for a negative number.
        [if z < T::ZERO { T::ZERO } else { z }, if z > T::ZERO { T::ONE } else { T::ZERO }, T::ZERO]
    }
}

impl Function for Tanh {
    #[inline(always)]
    fn at<T: Float>(z: T) -> [T; 3] {
        let two = T::ONE + T::ONE;
        // tanh |z| = -e / (2 + e) with e = e^(-2 |z|) - 1: small numbers keep all their digits.
        let e = (-two * z.abs()).exp_m1();
        let t = -e / (two + e);
        let t = if z < T::ZERO { -t } else { t };
        let p = T::ONE - t * t;
        [t, p, -two * t * p]
    }
}

impl Function for Softplus {
    #[inline(always)]
    fn at<T: Float>(z: T) -> [T; 3] {
        let (one, two) = (T::ONE, T::ONE + T::ONE);
        let e = (-z.abs()).exp();
        let inverse = one / (one + e);
        let q = if z < T::ZERO { e * inverse } else { inverse };
        // ln(1 + e) = 2 artanh(e / (2 + e)), whose argument is at most 1/3.
        let a = e / (two + e);
        let (square, mut sum) = (a * a, T::ZERO);
        for k in (0..T::ARTANH_TERMS).rev() {
            sum = sum * square + T::from_f64(2.0 / (2 * k + 1) as f64);
        }
        let positive = if z < T::ZERO { T::ZERO } else { z };
        [positive + a * sum, q, q * (one - q)]
    }
}

impl Function for Identity {
    #[inline(always)]
    fn at<T: Float>(z: T) -> [T; 3] {
        [z, T::ONE, T::ZERO]
    }
}

/// Terms of the series of artanh up to 1/3 that the number type can tell from its sum.
trait Terms {
    const ARTANH_TERMS: usize;
}

impl<T> Terms for T {
    // The k-th term is 9^-k / (2k + 1) of the first.
    const ARTANH_TERMS: usize = if size_of::<T>() == 4 { 8 } else { 17 };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<F: Function>(name: &str, value: impl Fn(f64) -> f64) {
        for i in -4000..=4000 {
            // Not 0, where ReLU has no derivative.
            let z = f64::from(i) * 0.01 + 1e-3 * f64::from(i).cos();
            let [s, first, second] = F::at(z);
            let error = |seen: f64, right: f64| (seen - right).abs() / right.abs().max(1e-290);
            assert!(error(s, value(z)) < 4e-15, "{name} {z}: {s:e} {:e}", value(z));
            let single = F::at(z as f32)[0];
            let right = value(f64::from(z as f32));
            assert!(right.abs() < 1e-30 || error(f64::from(single), right) < 1e-6, "{name} {z}: {single:e} {right:e}");
            if z.abs() < 20.0 {
                let h = 1e-5;
                let [up, down] = [F::at(z + h), F::at(z - h)];
                assert!((first - (up[0] - down[0]) / (2.0 * h)).abs() < 2e-9, "{name} {z}: {first}");
                assert!((second - (up[1] - down[1]) / (2.0 * h)).abs() < 2e-9, "{name} {z}: {second}");
            }
        }
        assert!(F::at(f64::NAN)[0].is_nan() && F::at(f32::NAN)[0].is_nan());
    }

    #[test]
    fn functions_and_their_derivatives() {
        check::<Silu>("SiLU", |z| z / (1.0 + (-z).exp()));
        check::<Tanh>("tanh", f64::tanh);
        check::<Softplus>("softplus", |z| z.max(0.0) + (-z.abs()).exp().ln_1p());
        check::<Relu>("ReLU", |z| z.max(0.0));
        check::<Identity>("identity", |z| z);
        assert_eq!(Relu::at(0.0), [0.0, 0.0, 0.0]);
        // What a Log-NCDE starts from: tiny numbers with all their digits.
        assert_eq!(Tanh::at(1e-12_f32)[0], 1e-12);
        assert_eq!([Tanh::at(1e30_f32)[0], Tanh::at(f32::NEG_INFINITY)[0]], [1.0, -1.0]);
    }
}
