//! `f32` and `f64` as numbers: values and nothing else.

use ncde_signature::Float;

use super::{Jet, Scalar, Trace};

/// `f32` or `f64`: a number without derivatives.
pub trait Real: Jet<Real = Self> + Float {}

/// An `f64` in another precision.
pub(super) fn rounded<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

/// `y += a x`.
pub(crate) fn axpy<T: Real>(y: &mut [T], a: T, x: &[T]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += a * x);
}

/// Functions that the standard library has.
macro_rules! functions_of_std {
    ($($g:ident)*) => {
        $(#[inline]
        fn $g(self) -> Self {
            Self::$g(self)
        })*
    };
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

            functions_of_std!(exp ln sqrt sin cos tanh);

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
