//! The two number types everything is computed in.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

mod sealed {
    use crate::number::{Lanes, Number};
    use crate::simd::Vector;

    /// Closes [`super::Float`] and carries what kernels need of it.
    pub trait Sealed: Vector {
        /// A 64-byte vector register of it.
        type Register: Number<Real = Self>;
        /// `self * a + b`, rounded once.
        fn mul_add(self, a: Self, b: Self) -> Self;
    }
    impl Sealed for f32 {
        type Register = Lanes<f32, 16>;
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            self.mul_add(a, b)
        }
    }
    impl Sealed for f64 {
        type Register = Lanes<f64, 8>;
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            self.mul_add(a, b)
        }
    }
}

/// `f32` or `f64`.
pub trait Float:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Rounds an `f64`.
    fn from_f64(x: f64) -> Self;
    /// Widens to `f64`.
    fn to_f64(self) -> f64;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// NaN, our mark of a missing value.
    fn is_nan(self) -> bool;
    /// Absolute value.
    fn abs(self) -> Self;
}

macro_rules! float {
    ($t:ty) => {
        impl Float for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
        }
    };
}

float!(f32);
float!(f64);
