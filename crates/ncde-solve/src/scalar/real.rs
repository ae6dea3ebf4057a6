//! `f32` and `f64` as numbers: values and nothing else.

use ncde_signature::Float;

use super::{Jet, Scalar, Trace};

/// `f32` or `f64`: a number without derivatives.
pub trait Real: Jet<Real = Self> + Float {}

/// An `f64` in another precision.
pub(super) fn rounded<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {}

        impl Scalar for $t {
            type Real = Self;

            const TRACE: Trace = Trace::None;
            const LAYERS: usize = 0;

            #[inline]
            fn constant(x: Self) -> Self {
                x
            }

            #[inline]
            fn value(self) -> Self {
                self
            }

            #[inline]
            fn exp(self) -> Self {
                self.exp()
            }

            #[inline]
            fn ln(self) -> Self {
                self.ln()
            }

            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }

            #[inline]
            fn sin(self) -> Self {
                self.sin()
            }

            #[inline]
            fn cos(self) -> Self {
                self.cos()
            }

            #[inline]
            fn tanh(self) -> Self {
                self.tanh()
            }

            #[inline]
            fn sigmoid(self) -> Self {
                // The exponential of a number that is not positive cannot overflow.
                let e = (-self.abs()).exp();
                if self >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
            }

            #[inline]
            fn softplus(self) -> Self {
                self.max(0.0) + (-self.abs()).exp().ln_1p()
            }
        }
    };
}

real!(f32);
real!(f64);
