//! The diagonal of a step, from free numbers:
//!
//! ```text
//! D = m e^{i phi},   ln m = -softplus(-z) dt,   phi = 2 pi sigmoid(y) dt
//! ```

use std::f64::consts::TAU;

use ncde_simd::Float;

use crate::neural::activation::{Function, Softplus};
use crate::scan::Numbers;

/// The range of the diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Diagonal {
    /// Ones: maps alone.
    One,
    /// Between 0 and 1.
    Real,
    /// In the complex unit disc.
    #[default]
    Complex,
}

impl Diagonal {
    /// Whether the numbers of a state are real or complex.
    pub fn numbers(self) -> Numbers {
        match self {
            Self::One | Self::Real => Numbers::Real,
            Self::Complex => Numbers::Complex,
        }
    }

    /// The number of free numbers for `hidden` entries.
    pub fn raw(self, hidden: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Real => hidden,
            Self::Complex => 2 * hidden,
        }
    }

    /// `D` from its free numbers, over the time `dt`.
    #[inline(always)]
    pub(super) fn scale<T: Float>(self, raw: &[T], dt: f64, out: &mut [T]) {
        let span = T::from_f64(dt);
        let modulus = |z: T| (-(span * Softplus::at(-z)[0])).exp();
        match self {
            Self::One => out.fill(T::ONE),
            Self::Real => out.iter_mut().zip(raw).for_each(|(out, &z)| *out = modulus(z)),
            Self::Complex => {
                let hidden = raw.len() / 2;
                let ((z, y), (re, im)) = (raw.split_at(hidden), out.split_at_mut(hidden));
                for ((re, im), (&z, &y)) in re.iter_mut().zip(im).zip(z.iter().zip(y)) {
                    let (m, (sin, cos)) = (modulus(z), (TAU * dt * sigmoid(y).to_f64()).sin_cos());
                    (*re, *im) = (m * T::from_f64(cos), m * T::from_f64(sin));
                }
            }
        }
    }

    /// The gradient in the free numbers, from `D` and its gradient.
    #[inline(always)]
    pub(super) fn scale_back<T: Float>(self, raw: &[T], dt: f64, [d, g]: [&[T]; 2], out: &mut [T]) {
        let span = T::from_f64(dt);
        // The derivative of `ln m`.
        let rate = |z: T| span * Softplus::at(-z)[1];
        match self {
            Self::One => {}
            Self::Real => {
                let entries = d.iter().zip(g).zip(raw);
                out.iter_mut().zip(entries).for_each(|(out, ((&d, &g), &z))| *out = rate(z) * d * g);
            }
            Self::Complex => {
                let hidden = raw.len() / 2;
                let turn = T::from_f64(TAU * dt);
                for j in 0..hidden {
                    let (re, im) = (j, hidden + j);
                    let q = sigmoid(raw[im]);
                    out[re] = rate(raw[re]) * (g[re] * d[re] + g[im] * d[im]);
                    out[im] = turn * q * (T::ONE - q) * (g[im] * d[re] - g[re] * d[im]);
                }
            }
        }
    }
}

#[inline(always)]
fn sigmoid<T: Float>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}
