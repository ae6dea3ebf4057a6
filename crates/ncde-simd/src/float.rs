//! The two number types everything is computed in.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

mod sealed {
    use crate::number::{Lanes, Number};
    use crate::simd::Vector;

    /// Seals [`super::Float`] and holds the operations that only kernels use.
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
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Whether it is NaN, which marks a missing value.
    fn is_nan(self) -> bool;
    /// Absolute value.
    fn abs(self) -> Self;
    /// `e^x` to two rounding units, without branches: a loop over it becomes vector instructions.
    fn exp(self) -> Self;
    /// `e^x - 1` to a few rounding units also where `x` is near zero, without branches.
    fn exp_m1(self) -> Self;
}

/// The constants of [`Float::exp`] for one number type.
struct Exp<T, const TERMS: usize> {
    /// Beyond these the result is infinite, or zero.
    high: T,
    low: T,
    /// Adding it leaves no room for a fraction.
    magic: T,
    /// `ln 2` in two parts, the first with few enough bits that its multiples are exact.
    ln2: [T; 2],
    /// `1 / j!`, the last first.
    terms: [T; TERMS],
}

/// `1 / (N-1)!, ..., 1 / 1!, 1 / 0!`.
const fn inverse_factorials<const N: usize>() -> [f64; N] {
    let (mut terms, mut factorial, mut j) = ([0.0; N], 1.0, 0);
    while j < N {
        terms[N - 1 - j] = 1.0 / factorial;
        j += 1;
        factorial *= j as f64;
    }
    terms
}

const EXP_F32: Exp<f32, 8> = Exp {
    high: 88.722_84,
    low: -86.6,
    magic: 12_582_912.0,
    ln2: [0.693_359_4, -2.121_944_4e-4],
    terms: {
        let (exact, mut terms) = (inverse_factorials::<8>(), [0.0; 8]);
        let mut i = 0;
        while i < 8 {
            terms[i] = exact[i] as f32;
            i += 1;
        }
        terms
    },
};

const EXP_F64: Exp<f64, 14> = Exp {
    high: 709.782_712_893_384,
    low: -707.7,
    magic: 6_755_399_441_055_744.0,
    ln2: [0.693_145_751_953_125, 1.428_606_820_309_417_3e-6],
    terms: inverse_factorials(),
};

/// `2^n / 2` and `r` of a number `n ln 2 + r`. Half of `2^n`, since `2^n` itself may be out of range at the upper end.
macro_rules! reduced {
    ($t:ty, $exp:ident, $mantissa:literal, $bias:literal, $x:expr) => {{
        let x = if $x > $exp.high { $exp.high } else { $x };
        let x = if x < $exp.low { $exp.low } else { x };
        let shifted = x * (std::f64::consts::LOG2_E as $t) + $exp.magic;
        let n = shifted - $exp.magic;
        let r = (x - n * $exp.ln2[0]) - n * $exp.ln2[1];
        // The last bits of `shifted` hold n.
        (<$t>::from_bits(shifted.to_bits().wrapping_add($bias - 1) << $mantissa), r)
    }};
}

macro_rules! float {
    ($t:ty, $exp:ident, $mantissa:literal, $bias:literal) => {
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
            #[inline(always)]
            fn exp(self) -> Self {
                // e^x = 2^n e^r with n the integer nearest to x / ln 2, and e^r by its Taylor polynomial.
                let (half, r) = reduced!($t, $exp, $mantissa, $bias, self);
                let mut sum = 0.0;
                for c in $exp.terms {
                    sum = sum * r + c;
                }
                let result = if self > $exp.high { <$t>::INFINITY } else { (sum * half) * 2.0 };
                let result = if self < $exp.low { 0.0 } else { result };
                if self.is_nan() { self } else { result }
            }
            #[inline(always)]
            fn exp_m1(self) -> Self {
                // 2^n (e^r - 1) + (2^n - 1): where x is small n is zero and r is x, and no digit is lost.
                let (half, r) = reduced!($t, $exp, $mantissa, $bias, self);
                let (mut sum, terms) = (0.0, &$exp.terms);
                for c in &terms[..terms.len() - 1] {
                    sum = sum * r + c;
                }
                let result = if self > $exp.high { <$t>::INFINITY } else { (sum * r * half + (half - 0.5)) * 2.0 };
                let result = if self < $exp.low { -1.0 } else { result };
                if self.is_nan() { self } else { result }
            }
        }
    };
}

float!(f32, EXP_F32, 23, 127);
float!(f64, EXP_F64, 52, 1023);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_right_to_a_few_rounding_units() {
        for i in -8650..=8870_i32 {
            let x = f64::from(i) * 0.01 + 1e-3 * f64::from(i).sin();
            let (fast, exact) = (Float::exp(x as f32), f64::from(x as f32).exp());
            assert!((f64::from(fast) - exact).abs() <= 3e-7 * exact, "{x}: {fast} {exact}");
            for x in [x, 7.9 * x] {
                let (fast, exact) = (Float::exp(x), x.exp());
                assert!((fast - exact).abs() <= 1e-15 * exact, "{x}: {fast:e} {exact:e}");
            }
        }
        assert_eq!([f32::NEG_INFINITY, -0.0, f32::INFINITY].map(Float::exp), [0.0, 1.0, f32::INFINITY]);
        assert_eq!([-1e300, 0.0, 1e300].map(Float::exp), [0.0, 1.0, f64::INFINITY]);
        assert!(Float::exp(f32::NAN).is_nan() && Float::exp(f64::NAN).is_nan());
    }

    #[test]
    fn exp_m1_is_right_to_a_few_rounding_units_near_zero_too() {
        for i in -8650..=8870_i32 {
            let x = f64::from(i) * 0.01 + 1e-3 * f64::from(i).sin();
            for x in [x, 1e-2 * x, 1e-4 * x, 1e-9 * x] {
                let (fast, exact) = (Float::exp_m1(x as f32), f64::from(x as f32).exp_m1());
                assert!((f64::from(fast) - exact).abs() <= 4e-7 * exact.abs(), "{x}: {fast} {exact}");
                let (fast, exact) = (Float::exp_m1(x), x.exp_m1());
                assert!((fast - exact).abs() <= 1e-15 * exact.abs(), "{x}: {fast:e} {exact:e}");
            }
        }
        assert_eq!([f32::NEG_INFINITY, 0.0, f32::INFINITY].map(Float::exp_m1), [-1.0, 0.0, f32::INFINITY]);
        assert_eq!([-1e300, 0.0, 1e300].map(Float::exp_m1), [-1.0, 0.0, f64::INFINITY]);
        assert!(Float::exp_m1(f32::NAN).is_nan() && Float::exp_m1(f64::NAN).is_nan());
    }
}
