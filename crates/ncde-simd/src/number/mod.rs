//! The numbers of a kernel: one real number, or one real number for each of several paths.
//!
//! Every kernel is written once, over [`Number`]. With `f32` or `f64` its inner loops run along words, which suits large
//! truncations; with [`Lanes`] each element already fills a vector register and holds the same coordinate of several paths,
//! which suits small ones. Elementwise, both perform the same operations in the same order.

mod lanes;
mod real;

use crate::Float;
use crate::simd::Simd;

pub use lanes::Lanes;

/// A term of [`Number::add_two`].
#[derive(Debug, Clone, Copy)]
pub struct Term<'a, E> {
    /// One factor for each letter.
    pub x: &'a [E],
    /// The array that is multiplied by two letters.
    pub t: &'a [E],
    /// The array that is multiplied by one letter.
    pub u: &'a [E],
}

/// An element of a kernel's arrays, and the loops over such arrays.
pub trait Number: std::fmt::Debug + Default + Copy + Send + Sync + 'static {
    /// The real numbers it is made of.
    type Real: Float;
    /// The number of paths it holds.
    const WIDTH: usize;
    /// Zero for every path. (A constant is copied, while `[x; N]` of anything else is a loop to the compiler.)
    const ZEROS: Self;
    /// One for every path.
    const ONES: Self;
    /// `x` for every path.
    fn splat<S: Simd>(simd: S, x: Self::Real) -> Self;
    /// The number of path `i`.
    fn lane(&self, i: usize) -> Self::Real;
    /// Sets the number of path `i`.
    fn set_lane(&mut self, i: usize, x: Self::Real);
    /// `self * a + b`.
    fn fma<S: Simd>(self, simd: S, a: Self, b: Self) -> Self;
    /// The first numbers of `x`, as many as it holds; missing ones are zero.
    fn read(x: &[Self::Real]) -> Self;
    /// Writes as many numbers as `x` has room for.
    fn write(&self, x: &mut [Self::Real]);
    /// `columns[i].lane(l) = rows[l][i]`; missing rows are zero.
    fn columns<const B: usize>(rows: &[[Self::Real; B]]) -> [Self; B];
    /// The reverse of [`columns`](Self::columns): `rows[l][i] = columns[i].lane(l)`, for as many rows as there are.
    fn rows<const B: usize>(columns: &[Self; B], rows: &mut [[Self::Real; B]]);
    /// `e^self`.
    fn exp(self) -> Self;
    /// The sum over all paths.
    fn total<S: Simd>(self, simd: S) -> Self::Real;
    /// `y += a x`. Here and below, arrays that are zipped have the same length.
    fn axpy<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]);
    /// `y[a, i] = b[a, i] + x_a t_i` for every pair of `x` and `t`; without `b` the sums are added to `y`.
    fn add_outer<S: Simd, const TERMS: usize>(
        simd: S,
        y: &mut [Self],
        b: Option<&[Self]>,
        x: [&[Self]; TERMS],
        t: [&[Self]; TERMS],
    );
    /// For every term in turn, with `t'_{a, i} = y_{a, i} + half x_a t_i`: `z[b, a, i] += x_b t'_{a, i}`, then `y[a, i] += x_a u_i`; for `i` from `offset` on, as many as `t` and `u` have.
    #[inline(always)]
    fn add_two<S: Simd, const TERMS: usize>(
        simd: S,
        [z, y]: [&mut [Self]; 2],
        half: Self,
        terms: [Term<'_, Self>; TERMS],
        offset: usize,
    ) {
        let (d, n) = (terms[0].x.len(), y.len());
        let mut first = 0;
        while first < d {
            let letters = (d - first).min(4);
            let z = &mut z[first * n..(first + letters) * n];
            let last = first + letters == d;
            match letters {
                1 => Self::add_two_group::<S, TERMS, 1>(simd, [z, y], half, terms, offset, (first, last)),
                2 => Self::add_two_group::<S, TERMS, 2>(simd, [z, y], half, terms, offset, (first, last)),
                3 => Self::add_two_group::<S, TERMS, 3>(simd, [z, y], half, terms, offset, (first, last)),
                _ => Self::add_two_group::<S, TERMS, 4>(simd, [z, y], half, terms, offset, (first, last)),
            }
            first += letters;
        }
    }
    /// `G` letters of [`add_two`](Self::add_two), from the `first` on, in one pass; `y` changes with the `last` of them.
    fn add_two_group<S: Simd, const TERMS: usize, const G: usize>(
        simd: S,
        z_and_y: [&mut [Self]; 2],
        half: Self,
        terms: [Term<'_, Self>; TERMS],
        offset: usize,
        first_and_last: (usize, bool),
    );
    /// `y = b + a x`.
    fn axpb<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self], b: &[Self]);
    /// `y = a x`.
    fn scale<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]);
    /// `sum_i a_i b_i`, in independent partial sums so that the additions do not wait for each other.
    fn dot<S: Simd>(simd: S, a: &[Self], b: &[Self]) -> Self;
    /// For the gradient `g[a, i]` of `x_a t_i`: `below[i] = sum_a x_a g[a, i]` and `dx_a += factor sum_i g[a, i] t_i`.
    fn contract<S: Simd>(simd: S, g: &[Self], x_and_t: [&[Self]; 2], factor: Self, below: &mut [Self], dx: &mut [Self]);
    /// `out[i].lane(l) = rows[l][i]` for as many `i` as `out` has; every row is at least that long, missing lanes are zero.
    fn gather<S: Simd>(simd: S, rows: &[&[Self::Real]], out: &mut [Self]);

    /// `self + b`.
    #[inline(always)]
    fn plus<S: Simd>(self, simd: S, b: Self) -> Self {
        b.fma(simd, Self::ONES, self)
    }

    /// `self * b`.
    #[inline(always)]
    fn times<S: Simd>(self, simd: S, b: Self) -> Self {
        self.fma(simd, b, Self::ZEROS)
    }
}
