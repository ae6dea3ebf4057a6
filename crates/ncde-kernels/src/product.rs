//! Matrix products `C = A B` and `C += A^T B` on one core, `A` of single numbers, `B` and `C` of registers.
//!
//! ```text
//! C[i, j] (+)= sum_l A[i, l] B[l, j]
//! ```
//!
//! A tile of `C`, six rows by four registers where the machine has 32 registers, stays in registers while `l` runs: per step four
//! loads and six broadcasts for 24 multiply-adds. `B` may be packed into panels of four registers, so that it streams.
//! [`Dots`] is for few columns: `C[i, k] = sum_j A[i, j] B[k, j]`, both along registers.

use ncde_simd::{Float, Kernel, Number, Simd, call};

/// Registers of a panel.
const PANEL: usize = 4;

/// Rows of a tile.
const TILE: usize = 6;

/// `B`, `[inner, width]`, rearranged: panels of [`PANEL`] columns, the last one as wide as what is left.
#[derive(Debug, Clone)]
pub(crate) struct Panels<R> {
    values: Vec<R>,
    inner: usize,
    width: usize,
}

impl<R: Number> Panels<R> {
    pub(crate) fn new(b: &[R], inner: usize, width: usize) -> Self {
        let mut values = Vec::with_capacity(inner * width);
        for first in (0..width).step_by(PANEL) {
            let end = width.min(first + PANEL);
            for l in 0..inner {
                values.extend_from_slice(&b[l * width + first..l * width + end]);
            }
        }
        Self { values, inner, width }
    }

    /// `C = A B`, with `A` by rows of numbers and `C` by rows of registers.
    #[inline(always)]
    pub(crate) fn multiply<S: Simd>(&self, simd: S, a: &[R::Real], out: &mut [R]) {
        let a = Left { values: a, stride: self.inner, rows: a.len() / self.inner, inner: self.inner };
        for first in (0..self.width).step_by(PANEL) {
            let wide = PANEL.min(self.width - first);
            let b = Right { values: &self.values[first * self.inner..][..wide * self.inner], stride: wide, wide };
            call(simd, Strip::<R, false> { a, b, out: &mut out[first..], stride: self.width });
        }
    }
}

/// `C += A^T B` with `A` by rows of `rows` numbers (`A^T[i, l]` at `l rows + i`), and `B` and `C` by rows of `width` registers.
#[inline(always)]
pub(crate) fn add_product<S: Simd, R: Number>(simd: S, a: &[R::Real], rows: usize, b: &[R], width: usize, out: &mut [R]) {
    let a = Left { values: a, stride: rows, rows, inner: a.len() / rows };
    for first in (0..width).step_by(PANEL) {
        let b = Right { values: &b[first..], stride: width, wide: PANEL.min(width - first) };
        call(simd, Strip::<R, true> { a, b, out: &mut out[first..], stride: width });
    }
}

/// The numbers of the left factor: `i stride + l` for row `i`, or `l stride + i` where its transpose is meant.
#[derive(Debug, Clone, Copy)]
struct Left<'a, T> {
    values: &'a [T],
    stride: usize,
    rows: usize,
    inner: usize,
}

/// A few columns of `B`: `wide` registers every `stride`.
#[derive(Debug, Clone, Copy)]
struct Right<'a, R> {
    values: &'a [R],
    stride: usize,
    wide: usize,
}

/// All rows of `C`, those few columns: `C = A B`, or `C += A^T B`.
struct Strip<'a, R: Number, const TRANSPOSED: bool> {
    a: Left<'a, R::Real>,
    b: Right<'a, R>,
    out: &'a mut [R],
    stride: usize,
}

impl<R: Number, const TRANSPOSED: bool> Kernel for Strip<'_, R, TRANSPOSED> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { a, b, out, stride } = self;
        if const { S::REGISTER_COUNT >= 32 } {
            match b.wide {
                4 => rows::<S, R, 4, TRANSPOSED>(simd, a, b, out, stride),
                3 => rows::<S, R, 3, TRANSPOSED>(simd, a, b, out, stride),
                2 => rows::<S, R, 2, TRANSPOSED>(simd, a, b, out, stride),
                _ => rows::<S, R, 1, TRANSPOSED>(simd, a, b, out, stride),
            }
        } else {
            // With 16 registers, of half the size each, a tile is one column wide.
            for first in 0..b.wide {
                let b = Right { values: &b.values[first..], ..b };
                rows::<S, R, 1, TRANSPOSED>(simd, a, b, &mut out[first..], stride);
            }
        }
    }
}

#[inline(always)]
fn rows<S: Simd, R: Number, const N: usize, const TRANSPOSED: bool>(
    simd: S,
    a: Left<'_, R::Real>,
    b: Right<'_, R>,
    out: &mut [R],
    stride: usize,
) {
    let mut i = 0;
    while i < a.rows {
        let own = Left { values: if TRANSPOSED { &a.values[i..] } else { &a.values[i * a.stride..] }, ..a };
        let out = &mut out[i * stride..];
        if S::IS_SCALAR {
            i += tile::<S, R, 1, N, TRANSPOSED>(simd, own, b, out, stride);
            continue;
        }
        i += match a.rows - i {
            TILE.. => tile::<S, R, TILE, N, TRANSPOSED>(simd, own, b, out, stride),
            4 | 5 => tile::<S, R, 4, N, TRANSPOSED>(simd, own, b, out, stride),
            2 | 3 => tile::<S, R, 2, N, TRANSPOSED>(simd, own, b, out, stride),
            _ => tile::<S, R, 1, N, TRANSPOSED>(simd, own, b, out, stride),
        };
    }
}

/// `M` rows by `N` registers; returns `M`.
#[inline(always)]
fn tile<S: Simd, R: Number, const M: usize, const N: usize, const TRANSPOSED: bool>(
    simd: S,
    a: Left<'_, R::Real>,
    b: Right<'_, R>,
    out: &mut [R],
    stride: usize,
) -> usize {
    let mut sums = const { [[R::ZEROS; N]; M] };
    let mut at = 0;
    if TRANSPOSED {
        for l in 0..a.inner {
            if let (Some(a), Some(b)) = (a.values[l * a.stride..].first_chunk::<M>(), b.values[at..].first_chunk::<N>()) {
                for i in 0..M {
                    let x = R::splat(simd, a[i]);
                    for j in 0..N {
                        sums[i][j] = b[j].fma(simd, x, sums[i][j]);
                    }
                }
            }
            at += b.stride;
        }
    } else {
        let mut rows: [&[R::Real]; M] = [&[]; M];
        for i in 0..M {
            rows[i] = &a.values[i * a.stride..][..a.inner];
        }
        for l in 0..a.inner {
            if let Some(b) = b.values[at..].first_chunk::<N>() {
                for i in 0..M {
                    let x = R::splat(simd, rows[i][l]);
                    for j in 0..N {
                        sums[i][j] = b[j].fma(simd, x, sums[i][j]);
                    }
                }
            }
            at += b.stride;
        }
    }
    for i in 0..M {
        let out = &mut out[i * stride..][..N];
        for j in 0..N {
            out[j] = if TRANSPOSED { sums[i][j].plus(simd, out[j]) } else { sums[i][j] };
        }
    }
    M
}

/// `C[i, k] = sum_j A[i, j] B[k, j]` along registers, `A` and `B` by rows of `width`, `C` by rows of `columns` numbers.
pub(crate) struct Dots<'a, T, R> {
    pub(crate) a: &'a [R],
    pub(crate) b: &'a [R],
    pub(crate) width: usize,
    pub(crate) columns: usize,
    pub(crate) out: &'a mut [T],
}

/// Registers of a row that are worked on at once: a few rows of so many stay in the first-level cache.
const SPAN: usize = 64;

/// Rows of `C` whose partial sums are kept at once.
const ROWS: usize = 8;

/// The most columns of [`Dots`].
pub(crate) const MOST_COLUMNS: usize = 8;

impl<T: Float, R: Number<Real = T>> Kernel for Dots<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { a, b, width, columns, out } = self;
        for (a, out) in a.chunks(ROWS * width).zip(out.chunks_mut(ROWS * columns)) {
            let rows = out.len() / columns;
            let mut sums = const { [[R::ZEROS; MOST_COLUMNS]; ROWS] };
            for first in (0..width).step_by(SPAN) {
                let span = SPAN.min(width - first);
                for i in (0..rows).step_by(4) {
                    for k in (0..columns).step_by(4) {
                        let tile = Span { a: &a[i * width + first..], b: &b[k * width + first..], width, span };
                        match ((rows - i).min(4), (columns - k).min(4)) {
                            (4, 4) => tile.add::<S, 4, 4>(simd, &mut sums, i, k),
                            (4, 3) => tile.add::<S, 4, 3>(simd, &mut sums, i, k),
                            (m, n) => {
                                for i in i..i + m {
                                    for k in k..k + n {
                                        let tile = Span { a: &a[i * width + first..], b: &b[k * width + first..], width, span };
                                        tile.add::<S, 1, 1>(simd, &mut sums, i, k);
                                    }
                                }
                            }
                        }
                    }
                }
            }
            for (out, sums) in out.chunks_exact_mut(columns).zip(&sums) {
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = sum.total(simd);
                }
            }
        }
    }
}

/// Some registers of a few rows of `A` and `B`.
struct Span<'a, R> {
    a: &'a [R],
    b: &'a [R],
    width: usize,
    span: usize,
}

impl<R: Number> Span<'_, R> {
    /// Adds the products of `M` rows with `N` rows to the sums from row `i` and column `k` on.
    #[inline(always)]
    fn add<S: Simd, const M: usize, const N: usize>(self, simd: S, sums: &mut [[R; MOST_COLUMNS]; ROWS], i: usize, k: usize) {
        let (mut left, mut right): ([&[R]; M], [&[R]; N]) = ([&[]; M], [&[]; N]);
        let mut own = const { [[R::ZEROS; N]; M] };
        for m in 0..M {
            left[m] = &self.a[m * self.width..][..self.span];
            own[m].copy_from_slice(&sums[i + m][k..k + N]);
        }
        for n in 0..N {
            right[n] = &self.b[n * self.width..][..self.span];
        }
        for j in 0..self.span {
            for m in 0..M {
                for n in 0..N {
                    own[m][n] = left[m][j].fma(simd, right[n][j], own[m][n]);
                }
            }
        }
        for m in 0..M {
            sums[i + m][k..k + N].copy_from_slice(&own[m]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_simd::{Lanes, dispatch};

    type R = Lanes<f32, 16>;

    fn numbers(n: usize, seed: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * seed).sin()).collect()
    }

    fn registers(x: &[f32]) -> Vec<R> {
        let pack = |x: &[f32]| {
            let mut r = R::ZEROS;
            x.iter().enumerate().for_each(|(i, &x)| r.set_lane(i, x));
            r
        };
        x.chunks_exact(16).map(pack).collect()
    }

    struct All<'a>(&'a [f32], &'a [f32], [usize; 3], &'a mut [R], &'a mut [R]);

    impl Kernel for All<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self(a, b, [rows, inner, width], out, sums) = self;
            let b = registers(b);
            Panels::new(&b, inner, width).multiply(simd, a, out);
            // The same numbers read by columns are the transpose: [inner, rows].
            assert_eq!(a.len(), rows * inner);
            add_product(simd, a, inner, out, width, sums);
        }
    }

    #[test]
    fn products_are_sums() {
        for (rows, inner, width) in [(1, 1, 1), (6, 5, 4), (7, 3, 5), (11, 9, 7), (23, 2, 9)] {
            let (a, b) = (numbers(rows * inner, 0.7), numbers(inner * width * 16, 1.3));
            let (mut out, mut sums) = (vec![R::ZEROS; rows * width], vec![R::ONES; inner * width]);
            dispatch(All(&a, &b, [rows, inner, width], &mut out, &mut sums));
            let c = |i: usize, j: usize| out[i * width + j / 16].lane(j % 16);
            for j in 0..width * 16 {
                for i in 0..rows {
                    let sum: f32 = (0..inner).map(|l| a[i * inner + l] * b[l * width * 16 + j]).sum();
                    assert!((c(i, j) - sum).abs() < 1e-5, "{rows} {inner} {width}: {i} {j}");
                }
                for l in 0..inner {
                    let sum: f32 = (0..rows).map(|i| a[i * inner + l] * c(i, j)).sum::<f32>() + 1.0;
                    assert!((sums[l * width + j / 16].lane(j % 16) - sum).abs() < 1e-5, "{rows} {inner} {width}: {l} {j}");
                }
            }
        }
    }

    #[test]
    fn dots_are_sums() {
        for (rows, columns, width) in [(1, 1, 1), (4, 7, 3), (9, 3, 2), (5, 6, 1)] {
            let (a, b) = (numbers(rows * width * 16, 0.3), numbers(columns * width * 16, 0.9));
            let mut out = vec![0.0; rows * columns];
            dispatch(Dots { a: &registers(&a), b: &registers(&b), width, columns, out: &mut out });
            for i in 0..rows {
                for k in 0..columns {
                    let n = width * 16;
                    let sum: f32 = (0..n).map(|j| a[i * n + j] * b[k * n + j]).sum();
                    assert!((out[i * columns + k] - sum).abs() < 1e-5, "{rows} {columns} {width}: {i} {k}");
                }
            }
        }
    }
}
