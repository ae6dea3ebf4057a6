//! `x + x' e` with `e^2 = 0`: a value and one directional derivative.
//!
//! `g(x + x' e) = g(x) + g'(x) x' e`. As the parts may be duals themselves, `k` layers hold all mixed derivatives in `k`
//! directions, and `e_1 ... e_k` is the last of `2^k` parts.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::{Scalar, Trace};

/// A value with one directional derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual<N> {
    /// `x`.
    pub value: N,
    /// `x'`.
    pub tangent: N,
}

impl<N> Dual<N> {
    /// `value + tangent e`.
    pub fn new(value: N, tangent: N) -> Self {
        Self { value, tangent }
    }
}

impl<N: Scalar> Dual<N> {
    /// `value`, which does not move.
    pub fn fixed(value: N) -> Self {
        Self { value, tangent: N::zero() }
    }

    /// `y + s x' e`, where `s = slope(x, y)`.
    fn chain(self, y: N, slope: impl Fn(N, N) -> N) -> Self {
        Self { value: y, tangent: slope(self.value, y).product_part(self.tangent) }
    }
}

impl<N: Scalar> Add for Dual<N> {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, tangent: self.tangent + other.tangent }
    }
}

impl<N: Scalar> AddAssign for Dual<N> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<N: Scalar> Sub for Dual<N> {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, tangent: self.tangent - other.tangent }
    }
}

impl<N: Scalar> Neg for Dual<N> {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self { value: -self.value, tangent: -self.tangent }
    }
}

impl<N: Scalar> Mul for Dual<N> {
    type Output = Self;

    #[inline]
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the product rule is a sum")]
    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value.product_part(other.value),
            tangent: self.value.product_part(other.tangent) + self.tangent.product_part(other.value),
        }
    }
}

impl<N: Scalar> Div for Dual<N> {
    type Output = Self;

    #[inline]
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        Self { value: quotient, tangent: (self.tangent - quotient.product_part(other.tangent)) / other.value }
    }
}

impl<N: Scalar> Scalar for Dual<N> {
    type Real = N::Real;

    const TRACE: Trace = N::TRACE;
    const LAYERS: usize = N::LAYERS + 1;

    fn constant(x: N::Real) -> Self {
        Self::fixed(N::constant(x))
    }

    fn value(self) -> N::Real {
        self.value.value()
    }

    chain_rule!(N);

    fn accumulate(self, n: usize, pair: impl Fn(usize) -> (Self, Self) + Copy) -> Self {
        let value = self.value.accumulate_part(n, |i| {
            let (a, b) = pair(i);
            (a.value, b.value)
        });
        // Both halves of the product rule, one after the other.
        let tangent = self.tangent.accumulate_part(2 * n, |i| {
            let (a, b) = pair(i / 2);
            if i % 2 == 0 { (a.value, b.tangent) } else { (a.tangent, b.value) }
        });
        Self { value, tangent }
    }

    #[inline]
    fn product_part(self, other: Self) -> Self {
        if Self::LAYERS == 1 { self * other } else { outlined_product(self, other) }
    }

    fn accumulate_part(self, n: usize, pair: impl Fn(usize) -> (Self, Self) + Copy) -> Self {
        let pair: &dyn Fn(usize) -> (Self, Self) = &pair;
        self.accumulate(n, pair)
    }
}

#[inline(never)]
fn outlined_product<N: Scalar>(a: Dual<N>, b: Dual<N>) -> Dual<N> {
    a * b
}
