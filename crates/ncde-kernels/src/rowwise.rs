//! What layers do with rows beside their recurrences, one pass over memory forward and one in reverse. `x` and `y` are `[batch, length, width]`, `p(i)` is the part of a row that number `i` is in.
//!
//! ```text
//! convolution   z_t = sum_{first <= j < size} w_j * x_{t-j+first} (+ b),   y = z, or z / (1 + e^-z);   rows before the first are 0
//! gain          y_i = g_i x_i
//! offset        y_i = x_i + b_i
//! spread        y_i = s_p(i) x_i,   a number s for each part of each row
//! normalised    y_i = g_i f x_i / sqrt(sum over the part of x^2 + e),   gains g of a part, the same for all, or none
//! ```
//!
//! Each takes two arrays, rows and what they are put together with. Series, or pieces of so many rows, are tasks; their sums are added in order, whatever the number of threads.

use ncde_simd::{Float as Real, Kernel, Number, Simd, dispatch_for};
use rayon::prelude::*;

use crate::error::{want, want_some};
use crate::{Error, Float};

/// The numbers of one task.
const PIECE: usize = 1 << 14;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// A causal convolution of each number of rows by itself, with weights `[size (+ 1), width]`, the last row of them `b`.
    Convolution {
        /// How many rows it sees, those left out included.
        size: usize,
        /// The first of them that counts; it is that of the row itself.
        first: usize,
        /// Whether there is `b`.
        bias: bool,
        /// Whether `y = z / (1 + e^-z)`.
        silu: bool,
    },
    /// Times `g`, `[width]`.
    Gain,
    /// And `b`, `[width]`.
    Offset,
    /// Times `s`, `[batch, length, parts]`.
    Spread {
        /// How many parts a row has.
        parts: usize,
    },
    /// Parts divided by their lengths, with gains `[width / parts]`, or one number that nobody reads.
    Normalised {
        /// How many parts a row has.
        parts: usize,
        /// `f`.
        factor: f64,
        /// `e`.
        epsilon: f64,
        /// Whether there are gains.
        gains: bool,
    },
}

/// An operation on rows.
///
/// ```
/// use ncde_kernels::rowwise::{Operation, Rowwise};
/// let all = |operation| Rowwise { operation, batch: 1, length: 3, width: 1 };
/// let sums = all(Operation::Convolution { size: 2, first: 0, bias: false, silu: false });
/// assert_eq!(sums.forward(&[1.0, 2.0, 3.0], &[10.0, 1.0])?, [10.0, 21.0, 32.0]);
/// assert_eq!(all(Operation::Gain).forward(&[1.0, 2.0, 3.0], &[2.0])?, [2.0, 4.0, 6.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rowwise {
    /// What is done.
    pub operation: Operation,
    /// How many series.
    pub batch: usize,
    /// Rows of each.
    pub length: usize,
    /// Numbers of a row.
    pub width: usize,
}

impl Rowwise {
    /// The numbers of the second array.
    fn others(&self) -> usize {
        let Self { operation, batch, length, width } = *self;
        match operation {
            Operation::Convolution { size, bias, .. } => (size + usize::from(bias)) * width,
            Operation::Gain | Operation::Offset => width,
            Operation::Spread { parts } => batch * length * parts,
            Operation::Normalised { gains: false, .. } => 1,
            Operation::Normalised { parts, .. } => width / parts,
        }
    }

    fn check<T>(&self, operation: &'static str, x: &[T], other: &[T]) -> Result<(), Error> {
        let Self { batch, length, width, .. } = *self;
        let parts = match self.operation {
            Operation::Spread { parts } | Operation::Normalised { parts, .. } => parts,
            _ => 1,
        };
        want_some(operation, &[("size", batch), ("length", length), ("width", width), ("number of parts", parts)])?;
        want(operation, "the rows", x.len(), batch * length * width, || format!("batch {batch} x length {length} x {width}"))?;
        want(operation, "a row", width, width / parts * parts, || format!("{parts} parts of as many"))?;
        want(operation, "the second array", other.len(), self.others(), || format!("those of {:?}", self.operation))
    }

    /// `y`.
    ///
    /// # Errors
    /// If an array has the wrong size.
    pub fn forward<T: Float>(&self, x: &[T], other: &[T]) -> Result<Vec<T>, Error> {
        self.check("an operation on rows", x, other)?;
        Ok(T::rowwise_forward(self, x, other))
    }

    /// The gradients in both arrays, from that in `y`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<T: Float>(&self, x: &[T], other: &[T], gradient: &[T]) -> Result<[Vec<T>; 2], Error> {
        let operation = "the reverse pass of an operation on rows";
        self.check(operation, x, other)?;
        want(operation, "the gradient", gradient.len(), x.len(), || "batch x length x width".into())?;
        Ok(T::rowwise_backward(self, x, other, gradient))
    }

    /// The rows of one task: a series where rows see each other.
    fn rows(&self) -> usize {
        match self.operation {
            Operation::Convolution { .. } => self.length,
            _ => (PIECE / self.width).max(1),
        }
    }

    /// The part of the second array that belongs to a task.
    fn own<'a, T>(&self, other: &'a [T], task: usize, numbers: usize) -> &'a [T] {
        match self.operation {
            Operation::Spread { parts } => &other[task * self.rows() * parts..][..numbers / self.width * parts],
            _ => other,
        }
    }
}

/// `y` of all rows.
pub(crate) fn forward_all<T: Real>(of: &Rowwise, x: &[T], other: &[T]) -> Vec<T> {
    let (mut y, piece) = (vec![T::ZERO; x.len()], of.rows() * of.width);
    y.par_chunks_mut(piece).zip(x.par_chunks(piece)).enumerate().for_each(|(task, (y, x))| {
        dispatch_for::<T, _>(Forward { of, x, other: of.own(other, task, x.len()), y });
    });
    y
}

/// The gradients in all rows and in the second array.
pub(crate) fn backward_all<T: Real>(of: &Rowwise, x: &[T], other: &[T], gradient: &[T]) -> [Vec<T>; 2] {
    let (mut dx, piece) = (vec![T::ZERO; x.len()], of.rows() * of.width);
    let tasks = dx.par_chunks_mut(piece).zip(x.par_chunks(piece)).zip(gradient.par_chunks(piece)).enumerate();
    let parts: Vec<Vec<f64>> = tasks
        .map(|(task, ((dx, x), dy))| dispatch_for::<T, _>(Backward { of, x, other: of.own(other, task, x.len()), dy, dx }))
        .collect();
    let sum = match of.operation {
        Operation::Spread { .. } => parts.concat(),
        _ => {
            let mut sum = vec![0.0; other.len()];
            parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, own)| *sum += own));
            sum
        }
    };
    [dx, sum.into_iter().map(T::from_f64).collect()]
}

/// `sum + a * b` for rows.
#[inline(always)]
fn sum_product<T: Real>(sum: &mut [f64], a: &[T], b: &[T]) {
    sum.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a.to_f64() * b.to_f64());
}

/// `a + b * c` for rows.
#[inline(always)]
fn add_product<T: Real>(a: &mut [T], b: &[T], c: &[T]) {
    a.iter_mut().zip(b).zip(c).for_each(|((a, &b), &c)| *a += b * c);
}

/// The rows that row `t` is made of, and the weights of each.
#[inline(always)]
fn seen(t: usize, [first, size]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    (first..size.min(t + first + 1)).map(move |j| (t + first - j, j))
}

/// `z` of row `t`.
#[inline(always)]
fn convolve<T: Real>(z: &mut [T], x: &[T], w: &[T], t: usize, sees: [usize; 2], bias: bool) {
    let width = z.len();
    match bias {
        true => z.copy_from_slice(&w[w.len() - width..]),
        false => z.fill(T::ZERO),
    }
    for (row, j) in seen(t, sees) {
        add_product(z, &w[j * width..][..width], &x[row * width..][..width]);
    }
}

/// `1 / (1 + e^-z)`. In double precision, as sums of what follows from it cancel.
#[inline(always)]
fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + Real::exp(-z))
}

/// `sum x^2 + e` and `f` over its root.
#[inline(always)]
fn shrinks<S: Simd, T: Real>(simd: S, x: &[T], factor: f64, epsilon: f64) -> [f64; 2] {
    let sum = T::dot(simd, x, x).to_f64() + epsilon;
    [sum, factor / sum.sqrt()]
}

struct Forward<'a, T> {
    of: &'a Rowwise,
    x: &'a [T],
    other: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { of, x, other, y } = self;
        let width = of.width;
        let rows = || x.chunks_exact(width);
        match of.operation {
            Operation::Convolution { size, first, bias, silu } => {
                for (t, y) in y.chunks_exact_mut(width).enumerate() {
                    convolve(y, x, other, t, [first, size], bias);
                    if silu {
                        y.iter_mut().for_each(|z| *z = T::from_f64(z.to_f64() * sigmoid(z.to_f64())));
                    }
                }
            }
            Operation::Gain => y.chunks_exact_mut(width).zip(rows()).for_each(|(y, x)| {
                y.iter_mut().zip(x).zip(other).for_each(|((y, &x), &g)| *y = x * g);
            }),
            Operation::Offset => y.chunks_exact_mut(width).zip(rows()).for_each(|(y, x)| {
                y.iter_mut().zip(x).zip(other).for_each(|((y, &x), &b)| *y = x + b);
            }),
            Operation::Spread { parts } => {
                let size = width / parts;
                for ((y, x), &s) in y.chunks_exact_mut(size).zip(x.chunks_exact(size)).zip(other) {
                    y.iter_mut().zip(x).for_each(|(y, &x)| *y = x * s);
                }
            }
            Operation::Normalised { parts, factor, epsilon, gains } => {
                let size = width / parts;
                for (y, x) in y.chunks_exact_mut(size).zip(x.chunks_exact(size)) {
                    let [_, by] = shrinks(simd, x, factor, epsilon).map(T::from_f64);
                    y.iter_mut().zip(x).for_each(|(y, &x)| *y = x * by);
                    if gains {
                        y.iter_mut().zip(other).for_each(|(y, &g)| *y *= g);
                    }
                }
            }
        }
    }
}

struct Backward<'a, T> {
    of: &'a Rowwise,
    x: &'a [T],
    other: &'a [T],
    dy: &'a [T],
    dx: &'a mut [T],
}

impl<T: Real> Kernel for Backward<'_, T> {
    /// The gradient in the second array, in double precision: numbers of many rows are added, and may cancel.
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f64> {
        let Self { of, x, other, dy, dx } = self;
        let width = of.width;
        let mut sum = vec![0.0; other.len()];
        match of.operation {
            Operation::Convolution { size, first, bias, silu } => {
                let mut dz = vec![T::ZERO; width];
                for (t, dy) in dy.chunks_exact(width).enumerate() {
                    if silu {
                        convolve(&mut dz, x, other, t, [first, size], bias);
                        dz.iter_mut().zip(dy).for_each(|(z, &dy)| {
                            let (own, s) = (z.to_f64(), sigmoid(z.to_f64()));
                            *z = T::from_f64(dy.to_f64() * s * (1.0 + own * (1.0 - s)));
                        });
                    } else {
                        dz.copy_from_slice(dy);
                    }
                    for (row, j) in seen(t, [first, size]) {
                        let (at, w) = (row * width, j * width);
                        add_product(&mut dx[at..at + width], &dz, &other[w..w + width]);
                        sum_product(&mut sum[w..w + width], &dz, &x[at..at + width]);
                    }
                    if bias {
                        sum[size * width..].iter_mut().zip(&dz).for_each(|(sum, dz)| *sum += dz.to_f64());
                    }
                }
            }
            Operation::Gain => {
                let rows = dx.chunks_exact_mut(width).zip(dy.chunks_exact(width)).zip(x.chunks_exact(width));
                rows.for_each(|((dx, dy), x)| {
                    dx.iter_mut().zip(dy).zip(other).for_each(|((dx, &dy), &g)| *dx = dy * g);
                    sum_product(&mut sum, dy, x);
                });
            }
            Operation::Offset => {
                dx.copy_from_slice(dy);
                dy.chunks_exact(width).for_each(|dy| sum.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy.to_f64()));
            }
            Operation::Spread { parts } => {
                let size = width / parts;
                let all = dx.chunks_exact_mut(size).zip(dy.chunks_exact(size)).zip(x.chunks_exact(size));
                for (((dx, dy), x), (&s, sum)) in all.zip(other.iter().zip(&mut sum)) {
                    dx.iter_mut().zip(dy).for_each(|(dx, &dy)| *dx = dy * s);
                    *sum = T::dot(simd, dy, x).to_f64();
                }
            }
            Operation::Normalised { parts, factor, epsilon, gains } => {
                let size = width / parts;
                let all = dx.chunks_exact_mut(size).zip(dy.chunks_exact(size)).zip(x.chunks_exact(size));
                for ((dx, dy), x) in all {
                    let [square, by] = shrinks(simd, x, factor, epsilon);
                    dx.copy_from_slice(dy);
                    if gains {
                        dx.iter_mut().zip(other).for_each(|(dx, &g)| *dx *= g);
                        sum.iter_mut().zip(dy).zip(x).for_each(|((sum, dy), x)| *sum += dy.to_f64() * x.to_f64() * by);
                    }
                    // What is along `x` is taken away: little may be left.
                    let along = dx.iter().zip(x).fold(0.0, |sum, (dx, x)| sum + dx.to_f64() * x.to_f64()) / square;
                    dx.iter_mut().zip(x).for_each(|(dx, x)| *dx = T::from_f64(by * (dx.to_f64() - along * x.to_f64())));
                }
            }
        }
        sum
    }
}
