//! Numbers with a reverse pass for free: `R[e_1, ..., e_k] / (e_i^2)` is its own dual.
//!
//! ```text
//! <a, b> = the coefficient of e_1 ... e_k in a b,        y = g(x):   <y', dy> = <y', g'(x) dx> = <g'(x) y', dx>
//! ```
//!
//! So gradients with respect to all parts of a nested [`Dual`] are one such number, and the way back through `y = g(x)` is `x' = g'(x) y'`,
//! what it is for reals, with these numbers put in. No tape is needed: a field's own reverse pass is written once, over [`Jet`].
//! A real `w` that multiplies has the gradient `<x, y'>`.

use super::{Dual, Scalar};

/// A real, or duals around one.
///
/// ```
/// use ncde_solve::scalar::{Dual, Jet};
/// let (a, b) = (Dual::new(2.0, 3.0), Dual::new(5.0, 7.0));
/// assert_eq!(a.pair(b), (a * b).tangent);
/// assert_eq!(a.scaled(2.0), Dual::new(4.0, 6.0));
/// ```
pub trait Jet: Scalar {
    /// How many reals it has: `2^k`. Part `p` goes with the product of those `e_i` whose bit is set in `p`, so that in [`pair`](Self::pair)
    /// part `p` meets part `PARTS - 1 - p`.
    const PARTS: usize;

    /// The number whose part `p` is entry `p * stride`: products with weights run along planes of parts.
    fn read(planes: &[Self::Real], stride: usize) -> Self;

    /// The way back of [`read`](Self::read).
    fn write(self, planes: &mut [Self::Real], stride: usize);

    /// The product with a number that does not move.
    fn scaled(self, factor: Self::Real) -> Self;

    /// The coefficient of all `e_i` together in the product; for reals the product.
    fn pair(self, other: Self) -> Self::Real;
}

macro_rules! jet {
    ($t:ty) => {
        impl Jet for $t {
            const PARTS: usize = 1;

            #[inline]
            fn read(planes: &[Self], _: usize) -> Self {
                planes[0]
            }

            #[inline]
            fn write(self, planes: &mut [Self], _: usize) {
                planes[0] = self;
            }

            #[inline]
            fn scaled(self, factor: Self) -> Self {
                self * factor
            }

            #[inline]
            fn pair(self, other: Self) -> Self {
                self * other
            }
        }
    };
}

jet!(f32);
jet!(f64);

impl<N: Jet> Jet for Dual<N> {
    const PARTS: usize = 2 * N::PARTS;

    #[inline]
    fn read(planes: &[N::Real], stride: usize) -> Self {
        Self { value: N::read(planes, stride), tangent: N::read(&planes[N::PARTS * stride..], stride) }
    }

    #[inline]
    fn write(self, planes: &mut [N::Real], stride: usize) {
        self.value.write(planes, stride);
        self.tangent.write(&mut planes[N::PARTS * stride..], stride);
    }

    #[inline]
    fn scaled(self, factor: N::Real) -> Self {
        Self { value: self.value.scaled(factor), tangent: self.tangent.scaled(factor) }
    }

    #[inline]
    fn pair(self, other: Self) -> N::Real {
        self.value.pair(other.tangent) + self.tangent.pair(other.value)
    }
}
