//! Matrix products `C = A B` and `C += A^T B` on one core, `A` of single numbers, `B` and `C` of registers.
//!
//! ```text
//! C[i, j] (+)= sum_l A[i, l] B[l, j]
//! ```
//!
//! A tile of `C`, six rows by four registers where the machine has 32 registers, stays in registers while `l` runs: per step four
//! loads and six broadcasts for 24 multiply-adds. Smaller tiles have too few sums to hide how long one takes, so rows and columns that
//! do not fill whole tiles are cut into nearly equal ones. `B` is in panels of four registers, so that it streams: its rows are often a
//! power of two long, and would take each other's places in the first-level cache.
//! [`Dots`] is for few columns: `C[i, k] = sum_j A[i, j] B[k, j]`, both along registers.

use ncde_simd::{Float, Kernel, Number, Simd, call};

/// Registers of a panel.
const PANEL: usize = 4;

/// Rows of a tile.
const TILE: usize = 6;

/// Up to this many rows, copying a panel costs more than it gains.
const MAX_UNCOPIED_ROWS: usize = 2 * TILE;

/// The next of `left` things, cut into as few nearly equal parts of at most `most` as there can be.
#[inline(always)]
const fn part(left: usize, most: usize) -> usize {
    left.div_ceil(left.div_ceil(most))
}

/// `B`, `[inner, width]`, rearranged: panels of at most [`PANEL`] columns.
#[derive(Debug, Clone)]
pub(crate) struct Panels<R> {
    values: Vec<R>,
    inner: usize,
    width: usize,
}

impl<R: Number> Panels<R> {
    pub(crate) fn new(b: &[R], inner: usize, width: usize) -> Self {
        let mut values = Vec::with_capacity(inner * width);
        let mut first = 0;
        while first < width {
            let end = first + part(width - first, PANEL);
            for l in 0..inner {
                values.extend_from_slice(&b[l * width + first..l * width + end]);
            }
            first = end;
        }
        Self { values, inner, width }
    }

    /// `C = A B`, with `A` by rows of numbers and `C` by rows of registers.
    #[inline(always)]
    pub(crate) fn multiply<S: Simd>(&self, simd: S, a: &[R::Real], out: &mut [R]) {
        let a = Left { values: a, stride: self.inner, rows: a.len() / self.inner, inner: self.inner };
        let mut first = 0;
        while first < self.width {
            let wide = part(self.width - first, PANEL);
            let panel = &self.values[first * self.inner..][..wide * self.inner];
            call(
                simd,
                Strip::<R, false> {
                    a,
                    b: Right { values: panel, stride: wide, first: 0, wide },
                    out: &mut out[first..],
                    stride: self.width,
                },
            );
            first += wide;
        }
    }
}

/// `C += A^T B` with `A` by rows of `rows` numbers (`A^T[i, l]` at `l rows + i`), and `B` and `C` by rows of `width` registers. `panel` is
/// memory for a part of `B`.
#[inline(always)]
pub(crate) fn add_product<S: Simd, R: Number>(
    simd: S,
    a: &[R::Real],
    rows: usize,
    (b, width): (&[R], usize),
    out: &mut [R],
    panel: &mut Vec<R>,
) {
    let a = Left { values: a, stride: rows, rows, inner: a.len() / rows };
    let mut first = 0;
    while first < width {
        let wide = part(width - first, PANEL);
        let mut right = Right { values: b, stride: width, first, wide };
        if rows > MAX_UNCOPIED_ROWS {
            panel.clear();
            for row in b.chunks_exact(width) {
                panel.extend_from_slice(&row[first..first + wide]);
            }
            right = Right { values: panel, stride: wide, first: 0, wide };
        }
        call(simd, Strip::<R, true> { a, b: right, out: &mut out[first..], stride: width });
        first += wide;
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

/// A few columns of `B`: `wide` registers of each row of `stride`, from `first` on.
#[derive(Debug, Clone, Copy)]
struct Right<'a, R> {
    values: &'a [R],
    stride: usize,
    first: usize,
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
        if const { S::REGISTER_COUNT >= 32 } {
            match self.b.wide {
                4 => self.rows::<S, 4>(simd),
                3 => self.rows::<S, 3>(simd),
                2 => self.rows::<S, 2>(simd),
                _ => self.rows::<S, 1>(simd),
            }
        } else {
            // With 16 registers, of half the size each, a tile is one column wide.
            let Self { a, b, out, stride } = self;
            for first in 0..b.wide {
                let b = Right { first: b.first + first, ..b };
                Strip::<R, TRANSPOSED> { a, b, out: &mut out[first..], stride }.rows::<S, 1>(simd);
            }
        }
    }
}

impl<R: Number, const TRANSPOSED: bool> Strip<'_, R, TRANSPOSED> {
    #[inline(always)]
    fn rows<S: Simd, const N: usize>(self, simd: S) {
        let Self { a, b, out, stride } = self;
        let mut i = 0;
        while i < a.rows {
            let left = Left { values: if TRANSPOSED { &a.values[i..] } else { &a.values[i * a.stride..] }, ..a };
            let strip = Strip::<R, TRANSPOSED> { a: left, b, out: &mut out[i * stride..], stride };
            i += match if S::IS_SCALAR { 1 } else { part(a.rows - i, TILE) } {
                6 => strip.tile::<S, 6, N>(simd),
                5 => strip.tile::<S, 5, N>(simd),
                4 => strip.tile::<S, 4, N>(simd),
                3 => strip.tile::<S, 3, N>(simd),
                2 => strip.tile::<S, 2, N>(simd),
                _ => strip.tile::<S, 1, N>(simd),
            };
        }
    }

    /// `M` rows by `N` registers; returns `M`.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(self, simd: S) -> usize {
        let Self { a, b, out, stride } = self;
        let mut sums = const { [[R::ZEROS; N]; M] };
        let panel = b.values.chunks_exact(b.stride);
        if TRANSPOSED {
            for (l, row) in (0..a.inner).zip(panel) {
                if let (Some(a), Some(b)) = (a.values[l * a.stride..].first_chunk::<M>(), row[b.first..].first_chunk::<N>()) {
                    for i in 0..M {
                        let x = R::splat(simd, a[i]);
                        for j in 0..N {
                            sums[i][j] = b[j].fma(simd, x, sums[i][j]);
                        }
                    }
                }
            }
        } else {
            let mut rows: [&[R::Real]; M] = [&[]; M];
            for i in 0..M {
                rows[i] = &a.values[i * a.stride..][..a.inner];
            }
            for (l, row) in (0..a.inner).zip(panel) {
                if let Some(b) = row[b.first..].first_chunk::<N>() {
                    for i in 0..M {
                        let x = R::splat(simd, rows[i][l]);
                        for j in 0..N {
                            sums[i][j] = b[j].fma(simd, x, sums[i][j]);
                        }
                    }
                }
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
}

/// `C[i, k] = sum_j A[i, j] B[k, j]` along registers, `A` and `B` by rows of `width`, `C` by rows of `columns` numbers.
pub(crate) struct Dots<'a, T, R> {
    pub(crate) a: &'a [R],
    pub(crate) b: &'a [R],
    pub(crate) width: usize,
    pub(crate) columns: usize,
    pub(crate) out: &'a mut [T],
}

/// The registers of a row in one pass, so that a few such rows stay in the first-level cache.
const SPAN: usize = 64;

/// The rows of `C` whose partial sums are computed together.
const ROWS: usize = 8;

/// The most columns of [`Dots`].
pub(crate) const MAX_COLUMNS: usize = 16;

impl<T: Float, R: Number<Real = T>> Kernel for Dots<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { a, b, width, columns, out } = self;
        for (a, out) in a.chunks(ROWS * width).zip(out.chunks_mut(ROWS * columns)) {
            let rows = out.len() / columns;
            let mut sums = const { [[R::ZEROS; MAX_COLUMNS]; ROWS] };
            let mut first = 0;
            while first < width {
                let span = part(width - first, SPAN);
                for i in (0..rows).step_by(4) {
                    let mut k = 0;
                    while k < columns {
                        let n = part(columns - k, 4);
                        let tile = Span { a: &a[i * width + first..], b: &b[k * width + first..], width, span };
                        match ((rows - i).min(4), n) {
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
                        k += n;
                    }
                }
                first += span;
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
    fn add<S: Simd, const M: usize, const N: usize>(self, simd: S, sums: &mut [[R; MAX_COLUMNS]; ROWS], i: usize, k: usize) {
        let (mut left, mut right): ([&[R]; M], [&[R]; N]) = ([&[]; M], [&[]; N]);
        let mut tile = const { [[R::ZEROS; N]; M] };
        for m in 0..M {
            left[m] = &self.a[m * self.width..][..self.span];
            tile[m].copy_from_slice(&sums[i + m][k..k + N]);
        }
        for n in 0..N {
            right[n] = &self.b[n * self.width..][..self.span];
        }
        for j in 0..self.span {
            for m in 0..M {
                for n in 0..N {
                    tile[m][n] = left[m][j].fma(simd, right[n][j], tile[m][n]);
                }
            }
        }
        for m in 0..M {
            sums[i + m][k..k + N].copy_from_slice(&tile[m]);
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
            add_product(simd, a, inner, (out, width), sums, &mut Vec::new());
        }
    }

    #[test]
    fn products_are_sums() {
        for (rows, inner, width) in [(1, 1, 1), (6, 5, 4), (7, 3, 5), (11, 9, 7), (23, 2, 9), (13, 17, 2), (3, 10, 6), (40, 4, 9)]
        {
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
        for (rows, columns, width) in [(1, 1, 1), (4, 7, 3), (9, 3, 2), (5, 6, 1), (13, 13, 65), (4, 16, 33), (5, 9, 3)] {
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
