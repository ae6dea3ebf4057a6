//! The numbers a vector field is written in: `x`, `x + x' e` with `e^2 = 0`, or a node of a tape.
//!
//! A field is written once, over [`Scalar`]. Evaluated in
//!
//! | type | it gives | cost, against one evaluation |
//! | --- | --- | --- |
//! | `f32`, `f64` | values | 1 |
//! | [`Dual<N>`] | values and one directional derivative | about 3 |
//! | `Dual<Dual<N>>`, ... | mixed second derivatives, and so on | about 3 for each layer |
//! | [`Var`] | values, and later the gradient in everything that went in | about 4, and memory for each operation |
//! | `Dual<Var>` | the gradient of something that holds a directional derivative | both |

/// The functions of a [`Scalar`] around a number of type `$n`, by the chain rule: each with its slope, made of `x` and the value `y`.
macro_rules! chain_rule {
    ($n:ident) => {
        chain_rule! { $n,
            exp: |_, y| y,
            ln: |x, _| $n::of(1.0) / x,
            sqrt: |_, y| $n::of(0.5) / y,
            sin: |x, _| Scalar::cos(x),
            cos: |x, _| -Scalar::sin(x),
            tanh: |_, y| $n::of(1.0) - y.product_part(y),
            sigmoid: |_, y| y.product_part($n::of(1.0) - y),
            softplus: |x, _| x.sigmoid(),
        }
    };
    ($n:ident, $($g:ident: $slope:expr,)*) => {
        $(fn $g(self) -> Self {
            self.chain(Scalar::$g(self.value), $slope)
        })*
    };
}

mod dual;
mod jet;
mod real;
mod tape;

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

pub use dual::Dual;
pub use jet::Jet;
pub use real::Real;
pub(crate) use real::axpy;
pub use tape::{Sensitivities, Tape, Var};

/// Whether an operation leaves a record besides its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    None,
    /// A record, so that one large operation is better than many small ones.
    Record,
}

/// A number that knows the functions fields are made of.
///
/// ```
/// use ncde_solve::scalar::{Dual, Scalar};
/// fn cubic<N: Scalar>(x: N) -> N {
///     x * x * x - N::of(2.0) * x
/// }
/// assert_eq!(cubic(3.0), 21.0);
/// assert_eq!(cubic(Dual::new(3.0, 1.0)).tangent, 25.0); // 3 x^2 - 2
/// ```
pub trait Scalar:
    Copy + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self> + AddAssign
{
    /// The number without derivatives: `f32` or `f64`.
    type Real: Real;

    /// Whether operations are recorded.
    const TRACE: Trace;

    /// How many layers of duals it has.
    const LAYERS: usize;

    /// A constant: its derivatives are zero.
    fn constant(x: Self::Real) -> Self;

    /// The value, without derivatives.
    fn value(self) -> Self::Real;

    /// `e^x`.
    fn exp(self) -> Self;

    /// The natural logarithm.
    fn ln(self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The sine.
    fn sin(self) -> Self;

    /// The cosine.
    fn cos(self) -> Self;

    /// The hyperbolic tangent.
    fn tanh(self) -> Self;

    /// `1 / (1 + e^(-x))`, without overflow.
    fn sigmoid(self) -> Self;

    /// `ln(1 + e^x)`, without overflow.
    fn softplus(self) -> Self;

    /// A constant given as `f64`.
    fn of(x: f64) -> Self {
        Self::constant(real::rounded(x))
    }

    /// 0.
    fn zero() -> Self {
        Self::of(0.0)
    }

    /// `x sigmoid(x)`.
    fn silu(self) -> Self {
        self * self.sigmoid()
    }

    /// `|x|`, with derivative 1 at 0.
    fn abs(self) -> Self {
        if self.value() < real::rounded(0.0) { -self } else { self }
    }

    /// `x^n`, by squaring.
    ///
    /// ```
    /// use ncde_solve::scalar::{Dual, Scalar};
    /// let x = Dual::new(2.0, 1.0);
    /// assert_eq!((x.powi(5).value, x.powi(5).tangent, x.powi(-2).tangent), (32.0, 80.0, -0.25));
    /// // The sine and its slope, and the size of a number below 0.
    /// assert_eq!((x.sin().tangent, (-x).abs().tangent), (2.0_f64.cos(), 1.0));
    /// ```
    fn powi(self, n: i32) -> Self {
        let (mut power, mut rest, mut square) = (Self::of(1.0), n.unsigned_abs(), self);
        while rest > 0 {
            if rest % 2 == 1 {
                power = power * square;
            }
            square = square * square;
            rest /= 2;
        }
        if n < 0 { Self::of(1.0) / power } else { power }
    }

    /// `max(x, 0)`, with derivative 0 at 0.
    fn relu(self) -> Self {
        if self.value() > real::rounded(0.0) { self } else { Self::zero() }
    }

    /// `self + sum_{i < n} a_i b_i`, where `pair(i)` is `(a_i, b_i)`.
    ///
    /// One call for a whole sum lets a tape record one node instead of two for each term.
    fn accumulate(self, n: usize, pair: impl Fn(usize) -> (Self, Self) + Copy) -> Self {
        let mut sum = self;
        for i in 0..n {
            let (a, b) = pair(i);
            sum += a * b;
        }
        sum
    }

    /// The product, for a number that has this one as a part. A number with two layers or more makes it a function call: inlined, the code of a
    /// product would be three times as long with each layer.
    #[inline]
    fn product_part(self, other: Self) -> Self {
        self * other
    }

    /// [`accumulate`](Scalar::accumulate) for a number that has this one as a part. A number with parts of its own goes through a pointer to
    /// `pair`: the types of these functions would be twice as many with each layer.
    fn accumulate_part(self, n: usize, pair: impl Fn(usize) -> (Self, Self) + Copy) -> Self {
        self.accumulate(n, pair)
    }
}
