//! What a kernel computes with: one real number, or one real number for each of several paths side by side.
//!
//! Every kernel is written once, over [`Number`]. With `f32` or `f64` its inner loops run along words, which suits large
//! truncations; with [`Lanes`] each element already fills a vector register and holds the same coordinate of several paths,
//! which suits small ones. Both perform the same operations in the same order, so they agree to the last bit.

use crate::Float;

/// An element of a kernel's arrays.
pub trait Number: Copy + Send + Sync + 'static {
    /// The real numbers it is made of.
    type Real: Float;
    /// How many paths it holds.
    const WIDTH: usize;
    fn lane(&self, i: usize) -> Self::Real;
    fn set_lane(&mut self, i: usize, x: Self::Real);
    fn zero() -> Self;
    fn splat(x: Self::Real) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// `self * a + b`, rounded once if `FUSED` (only where the machine has the instruction), else twice.
    fn fma<const FUSED: bool>(self, a: Self, b: Self) -> Self;

    /// `sum_i a_i b_i`, in independent partial sums so that the additions do not wait for each other.
    fn dot<const FUSED: bool>(a: &[Self], b: &[Self]) -> Self;

    #[inline(always)]
    fn scale(self, x: Self::Real) -> Self {
        self.mul(Self::splat(x))
    }
}

/// `y += a x`.
#[inline(always)]
pub(crate) fn axpy<E: Number, const FUSED: bool>(y: &mut [E], a: E, x: &[E]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x.fma::<FUSED>(a, *y);
    }
}

/// `y = b + a x`.
#[inline(always)]
pub(crate) fn axpb<E: Number, const FUSED: bool>(y: &mut [E], a: E, x: &[E], b: &[E]) {
    for ((y, &x), &b) in y.iter_mut().zip(x).zip(b) {
        *y = x.fma::<FUSED>(a, b);
    }
}

macro_rules! real {
    ($t:ty) => {
        impl Number for $t {
            type Real = $t;
            const WIDTH: usize = 1;
            #[inline(always)]
            fn lane(&self, _: usize) -> $t {
                *self
            }
            #[inline(always)]
            fn set_lane(&mut self, _: usize, x: $t) {
                *self = x;
            }
            #[inline(always)]
            fn zero() -> Self {
                0.0
            }
            #[inline(always)]
            fn splat(x: $t) -> Self {
                x
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self - b
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn fma<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                if FUSED { self.mul_add(a, b) } else { self * a + b }
            }
            #[inline(always)]
            fn dot<const FUSED: bool>(a: &[Self], b: &[Self]) -> Self {
                const P: usize = 32;
                let mut sums = [0.0; P];
                let (a_chunks, a_rest) = a.as_chunks::<P>();
                let (b_chunks, b_rest) = b.as_chunks::<P>();
                for (a, b) in a_chunks.iter().zip(b_chunks) {
                    for i in 0..P {
                        sums[i] = a[i].fma::<FUSED>(b[i], sums[i]);
                    }
                }
                for ((a, b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
                    *sum = a.fma::<FUSED>(*b, *sum);
                }
                let mut width = P / 2;
                while width > 0 {
                    for i in 0..width {
                        sums[i] += sums[i + width];
                    }
                    width /= 2;
                }
                sums[0]
            }
        }
    };
}

real!(f32);
real!(f64);

/// Keeps the compiler from vectorising the loop around an operation on [`Lanes`]: the lanes are the vector. (It would
/// gather one lane of many elements instead, several times slower.) It costs no instruction.
#[inline(always)]
fn whole() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The same coordinate of `W` paths.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Lanes<T, const W: usize>([T; W]);

impl<T: Float, const W: usize> Number for Lanes<T, W> {
    type Real = T;
    const WIDTH: usize = W;
    #[inline(always)]
    fn lane(&self, i: usize) -> T {
        self.0[i]
    }
    #[inline(always)]
    fn set_lane(&mut self, i: usize, x: T) {
        self.0[i] = x;
    }
    #[inline(always)]
    fn zero() -> Self {
        Self([T::ZERO; W])
    }
    #[inline(always)]
    fn splat(x: T) -> Self {
        Self([x; W])
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        whole();
        Self(std::array::from_fn(|i| self.0[i] + b.0[i]))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        whole();
        Self(std::array::from_fn(|i| self.0[i] - b.0[i]))
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        whole();
        Self(std::array::from_fn(|i| self.0[i] * b.0[i]))
    }
    #[inline(always)]
    fn fma<const FUSED: bool>(self, a: Self, b: Self) -> Self {
        whole();
        Self(std::array::from_fn(|i| self.0[i].fma::<FUSED>(a.0[i], b.0[i])))
    }
    #[inline(always)]
    fn dot<const FUSED: bool>(a: &[Self], b: &[Self]) -> Self {
        const P: usize = 4;
        let mut sums = [Self::zero(); P];
        let (a_chunks, a_rest) = a.as_chunks::<P>();
        let (b_chunks, b_rest) = b.as_chunks::<P>();
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            for i in 0..P {
                sums[i] = a[i].fma::<FUSED>(b[i], sums[i]);
            }
        }
        for ((a, b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
            *sum = a.fma::<FUSED>(*b, *sum);
        }
        sums[0].add(sums[2]).add(sums[1].add(sums[3]))
    }
}
