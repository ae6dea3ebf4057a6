//! The matrix products of a network on one core: rows times packed weights, and sums of outer products of rows.
//!
//! `crate::product` is the product of block-diagonal structures. It has registers as outputs and does not split the inner dimension, so that
//! results would change if the two were merged.
//!
//! ```text
//! C[i, j] = sum_l A[i, l] B[l, j]       B is packed once a call: the same weights serve every step
//! C[i, j] = sum_l A[l, i] B[l, j]       gradients of weights: l runs over rows of the batch
//! ```
//!
//! A tile of `C`, 24 registers where the machine has 32, stays in registers while `l` runs: with six rows by four registers, four
//! loads and six broadcasts for 24 multiply-adds. Rows of `B` and `C` lie whole registers apart and start on a cache line.

use ncde_simd::{Float, Kernel, Number, Simd, outlined};

/// Registers of a panel.
const PANEL: usize = 4;

/// The most rows of a panel in one pass, so that it stays in the second-level cache for all rows of `A`.
const PANEL_ROWS: usize = 512;

/// The most rows of the batch in one pass over a gradient, so that those of `A` and `B` stay in the first-level cache.
const BATCH_ROWS: usize = 128;

/// Numbers of a row that are transposed at once, and the most rows.
const SPAN: usize = 32;
const MAX_LANES: usize = 16;

/// Whether results replace the numbers of the output or are added to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sum {
    /// They are replaced.
    Set,
    /// They are added to.
    Add,
}

/// Rows, `stride` numbers apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) stride: usize,
}

/// Rows to write to.
#[derive(Debug)]
pub(crate) struct RowsMut<'a, T> {
    pub(crate) values: &'a mut [T],
    pub(crate) stride: usize,
}

/// A matrix, `[inner, width]` registers, in panels of [`PANEL`] columns; the last one as wide as what is left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panels<R> {
    values: Vec<R>,
    inner: usize,
    width: usize,
}

impl<T: Float, R: Number<Real = T>> Panels<R> {
    /// Packs the matrix with entries `entry(l, j)`, filled up with zeros to whole registers.
    pub(crate) fn pack(&mut self, inner: usize, columns: usize, entry: impl Fn(usize, usize) -> T) {
        self.fill(inner, columns, |l, register| {
            let mut value = R::ZEROS;
            for lane in 0..R::WIDTH.min(columns - register * R::WIDTH) {
                value.set_lane(lane, entry(l, register * R::WIDTH + lane));
            }
            value
        });
    }

    /// Packs `inner` rows of `columns` numbers, whole registers at a time.
    pub(crate) fn rows(&mut self, inner: usize, columns: usize, rows: Rows<'_, T>) {
        self.fill(inner, columns, |l, register| R::read(&rows.values[l * rows.stride..][..columns][register * R::WIDTH..]));
    }

    /// Packs `[inner, columns]` numbers by registers of a row.
    fn fill(&mut self, inner: usize, columns: usize, value: impl Fn(usize, usize) -> R) {
        let width = columns.div_ceil(R::WIDTH);
        (self.inner, self.width) = (inner, width);
        self.values.clear();
        self.values.reserve(inner * width);
        for first in (0..width).step_by(PANEL) {
            for l in 0..inner {
                self.values.extend((first..width.min(first + PANEL)).map(|register| value(l, register)));
            }
        }
    }

    /// Packs the transpose of `columns` rows of `inner` numbers, whole registers at a time.
    #[inline(always)]
    pub(crate) fn transpose<S: Simd>(&mut self, simd: S, inner: usize, columns: usize, rows: Rows<'_, T>) {
        let width = columns.div_ceil(R::WIDTH);
        (self.inner, self.width) = (inner, width);
        self.values.resize(inner * width, R::ZEROS);
        // A column of registers at a time; in a panel of several it is spread out afterwards.
        let mut column = const { [R::ZEROS; SPAN] };
        for register in 0..width {
            let (first, count) = (register * R::WIDTH, R::WIDTH.min(columns - register * R::WIDTH));
            let panel = register / PANEL * PANEL;
            let wide = PANEL.min(width - panel);
            let values = &mut self.values[panel * inner..][..wide * inner];
            for from in (0..inner).step_by(SPAN) {
                let span = SPAN.min(inner - from);
                let mut lane_rows: [&[T]; MAX_LANES] = [&[]; MAX_LANES];
                for (lane, row) in lane_rows[..count].iter_mut().enumerate() {
                    *row = &rows.values[(first + lane) * rows.stride + from..];
                }
                R::gather(simd, &lane_rows[..count], &mut column[..span]);
                for (l, &x) in column[..span].iter().enumerate() {
                    values[(from + l) * wide + register - panel] = x;
                }
            }
        }
    }

    /// `C = A B` for the first `count` rows.
    #[inline(always)]
    pub(crate) fn multiply<S: Simd>(&self, simd: S, count: usize, a: Rows<'_, T>, c: RowsMut<'_, T>) {
        self.multiply_part(simd, count, a, 0, self.inner, c);
    }

    /// `C = A B` with rows `from..to` of `B` only; `A` has as many columns.
    #[inline(always)]
    pub(crate) fn multiply_part<S: Simd>(
        &self,
        simd: S,
        count: usize,
        a: Rows<'_, T>,
        from: usize,
        to: usize,
        c: RowsMut<'_, T>,
    ) {
        let RowsMut { values, stride } = c;
        for first in (0..self.width).step_by(PANEL) {
            let wide = PANEL.min(self.width - first);
            let panel = &self.values[first * self.inner..][from * wide..to * wide];
            for (i, b) in panel.chunks(PANEL_ROWS * wide).enumerate() {
                let a = Rows { values: &a.values[i * PANEL_ROWS..], ..a };
                let c = RowsMut { values: &mut values[first * R::WIDTH..], stride };
                let mut strip = Strip { count, a, b, wide, sum: if i == 0 { Sum::Set } else { Sum::Add }, c };
                outlined(
                    simd,
                    #[inline(always)]
                    move || strip.columns(simd, 0, wide),
                );
            }
        }
    }
}

/// A product that is computed tile by tile.
trait Tiles {
    /// The rows of `C`.
    fn count(&self) -> usize;

    /// `M` rows from row `i` on, by `N` registers from register `first` on; returns `M`.
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, i: usize, first: usize) -> usize;

    /// All rows, `wide` registers from register `first` on, at most [`PANEL`].
    #[inline(always)]
    fn columns<S: Simd>(&mut self, simd: S, first: usize, wide: usize) {
        if const { S::REGISTER_COUNT >= 32 } {
            match wide {
                4 => self.rows::<S, 6, 4, 4>(simd, first),
                3 => self.rows::<S, 8, 4, 3>(simd, first),
                2 => self.rows::<S, 12, 4, 2>(simd, first),
                _ => self.rows::<S, 16, 4, 1>(simd, first),
            }
        } else {
            // With 16 registers, of half the size each, a tile is one column wide.
            for first in first..first + wide {
                self.rows::<S, 6, 2, 1>(simd, first);
            }
        }
    }

    /// In tiles of `M` rows, then of `L`, then of one.
    #[inline(always)]
    fn rows<S: Simd, const M: usize, const L: usize, const N: usize>(&mut self, simd: S, first: usize) {
        let mut i = 0;
        while i < self.count() {
            i += match self.count() - i {
                _ if S::IS_SCALAR => self.tile::<S, 1, N>(simd, i, first),
                // Two equal halves are better than a full tile and a sliver.
                left if left >= M && left != 2 * L => self.tile::<S, M, N>(simd, i, first),
                left if left >= L => self.tile::<S, L, N>(simd, i, first),
                _ => self.tile::<S, 1, N>(simd, i, first),
            };
        }
    }
}

/// Some rows of `C`, a few columns.
struct Strip<'a, T, R> {
    count: usize,
    a: Rows<'a, T>,
    b: &'a [R],
    wide: usize,
    sum: Sum,
    c: RowsMut<'a, T>,
}

impl<T: Float, R: Number<Real = T>> Tiles for Strip<'_, T, R> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, i: usize, first: usize) -> usize {
        let inner = self.b.len() / self.wide;
        let mut rows: [&[T]; M] = [&[]; M];
        for m in 0..M {
            rows[m] = &self.a.values[(i + m) * self.a.stride..][..inner];
        }
        let mut sums = const { [[R::ZEROS; N]; M] };
        let mut at = first;
        for l in 0..inner {
            if let Some(b) = self.b[at..].first_chunk::<N>() {
                for m in 0..M {
                    let x = R::splat(simd, rows[m][l]);
                    for j in 0..N {
                        sums[m][j] = b[j].fma(simd, x, sums[m][j]);
                    }
                }
            }
            at += self.wide;
        }
        store(simd, &sums, self.sum, &mut self.c.values[i * self.c.stride + first * R::WIDTH..], self.c.stride);
        M
    }
}

/// Writes a tile.
#[inline(always)]
fn store<S: Simd, T: Float, R: Number<Real = T>, const M: usize, const N: usize>(
    simd: S,
    sums: &[[R; N]; M],
    sum: Sum,
    c: &mut [T],
    stride: usize,
) {
    for m in 0..M {
        let c = &mut c[m * stride..][..N * R::WIDTH];
        for j in 0..N {
            let c = &mut c[j * R::WIDTH..];
            let value = if sum == Sum::Add { sums[m][j].plus(simd, R::read(c)) } else { sums[m][j] };
            value.write(c);
        }
    }
}

/// `C[i, j] = sum_l A[l, i] B[l, j]`, `l` over `count` rows from each of several places in `A` and `B`.
#[derive(Debug)]
pub(crate) struct Outer<'a, T> {
    pub(crate) a: Rows<'a, T>,
    pub(crate) b: Rows<'a, T>,
    /// Where rows start, as places in the two arrays.
    pub(crate) starts: &'a [(usize, usize)],
    pub(crate) count: usize,
    /// Rows of `C`, as many as the rows of `A` have columns, and its columns in registers.
    pub(crate) shape: [usize; 2],
    pub(crate) sum: Sum,
    pub(crate) c: RowsMut<'a, T>,
}

impl<'a, T: Float> Kernel for Outer<'a, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // Rows from several places are few enough.
        let most = if self.starts.len() == 1 { BATCH_ROWS } else { self.count.max(1) };
        for first in (0..self.count).step_by(most) {
            let from = |rows: Rows<'a, T>| Rows { values: &rows.values[first * rows.stride..], ..rows };
            let c = RowsMut { values: &mut *self.c.values, stride: self.c.stride };
            let sum = if first == 0 { self.sum } else { Sum::Add };
            let mut part = Outer { a: from(self.a), b: from(self.b), count: most.min(self.count - first), sum, c, ..self };
            for register in (0..self.shape[1]).step_by(PANEL) {
                part.columns(simd, register, PANEL.min(self.shape[1] - register));
            }
        }
    }
}

impl<T: Float> Tiles for Outer<'_, T> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.shape[0]
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, i: usize, first: usize) -> usize {
        let lanes = T::Register::WIDTH;
        let mut sums = const { [[T::Register::ZEROS; N]; M] };
        for &(a, b) in self.starts {
            let (mut a, mut b) = (a + i, b + first * lanes);
            for _ in 0..self.count {
                if let (Some(x), y) = (self.a.values[a..].first_chunk::<M>(), &self.b.values[b..][..N * lanes]) {
                    for j in 0..N {
                        let y = T::Register::read(&y[j * lanes..]);
                        for m in 0..M {
                            sums[m][j] = y.fma(simd, T::Register::splat(simd, x[m]), sums[m][j]);
                        }
                    }
                }
                a += self.a.stride;
                b += self.b.stride;
            }
        }
        store(simd, &sums, self.sum, &mut self.c.values[i * self.c.stride + first * lanes..], self.c.stride);
        M
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_simd::everywhere;

    fn numbers<T: Float>(n: usize, seed: f64) -> Vec<T> {
        (0..n).map(|i| T::from_f64((i as f64 * seed).sin())).collect()
    }

    /// `A B`, with `B` packed and transposed, rows `from..` of `B` alone, and `A^T C` from all rows, then from two places: all into arrays with a gap between rows.
    struct Products<T> {
        sizes: [usize; 3],
        from: usize,
        a: Vec<T>,
        b: Vec<T>,
    }

    impl<T: Float> Kernel for Products<T> {
        type Output = [Vec<T>; 5];
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [Vec<T>; 5] {
            let Self { sizes: [rows, inner, columns], from, a, b } = self;
            let width = columns.next_multiple_of(T::Register::WIDTH);
            let stride = width + T::Register::WIDTH;
            let mut panels = Panels::<T::Register>::default();
            panels.pack(inner, columns, |l, j| b[l * columns + j]);
            let mut whole = vec![T::ONE; rows * stride];
            let rows_of_a = Rows { values: &a, stride: inner };
            panels.multiply(simd, rows, rows_of_a, RowsMut { values: &mut whole, stride });
            let columnwise: Vec<T> = (0..columns * inner).map(|i| b[i % inner * columns + i / inner]).collect();
            let mut transposed = Panels::<T::Register>::default();
            transposed.transpose(simd, inner, columns, Rows { values: &columnwise, stride: inner });
            let mut again = vec![T::ONE; rows * stride];
            transposed.multiply(simd, rows, rows_of_a, RowsMut { values: &mut again, stride });
            let mut part = vec![T::ONE; rows * stride];
            let rows_of_a = Rows { values: &a[from..], stride: inner };
            panels.multiply_part(simd, rows, rows_of_a, from, inner, RowsMut { values: &mut part, stride });
            let outer = |starts: &[(usize, usize)], count: usize, sum: Sum| {
                let mut out = vec![T::ONE; inner * stride];
                let (a, b) = (Rows { values: &a, stride: inner }, Rows { values: &whole, stride });
                let c = RowsMut { values: &mut out, stride };
                Outer { a, b, starts, count, shape: [inner, width / T::Register::WIDTH], sum, c }.run(simd);
                out
            };
            let set = outer(&[(0, 0)], rows, Sum::Set);
            let half = rows / 2;
            let added = outer(&[(0, 0), ((rows - half) * inner, (rows - half) * stride)], half, Sum::Add);
            [whole, again, part, set, added]
        }
    }

    fn check<T: Float>(sizes: [usize; 3], tolerance: f64) {
        let [rows, inner, columns] = sizes;
        let from = inner / 3;
        let (a, b): (Vec<T>, Vec<T>) = (numbers(rows * inner, 0.7), numbers(inner * columns, 1.3));
        let stride = columns.next_multiple_of(T::Register::WIDTH) + T::Register::WIDTH;
        let close = |what: &str, seen: T, right: f64| {
            assert!((seen.to_f64() - right).abs() < tolerance * (1.0 + right.abs()), "{what} {sizes:?}: {seen} {right}");
        };
        for [whole, again, part, set, added] in everywhere(|| Products { sizes, from, a: a.clone(), b: b.clone() }) {
            assert_eq!(again, whole);
            let a = |i: usize, l: usize| a[i * inner + l].to_f64();
            for j in 0..columns {
                let product = |i: usize, from: usize| (from..inner).map(|l| a(i, l) * b[l * columns + j].to_f64()).sum::<f64>();
                for i in 0..rows {
                    close("whole", whole[i * stride + j], product(i, 0));
                    close("part", part[i * stride + j], product(i, from));
                }
                let c = |i: usize| whole[i * stride + j].to_f64();
                for l in 0..inner {
                    close("set", set[l * stride + j], (0..rows).map(|i| a(i, l) * c(i)).sum());
                    let both = (0..rows / 2).chain(rows - rows / 2..rows).map(|i| a(i, l) * c(i)).sum::<f64>();
                    close("added", added[l * stride + j], 1.0 + both);
                }
            }
        }
    }

    #[test]
    fn products_are_sums() {
        let small = [[1, 1, 1], [2, 3, 17], [8, 6, 64], [13, 9, 33], [16, 12, 48], [7, 5, 80], [19, 23, 9]];
        // More than one pass over panels, and over the rows of a batch.
        for sizes in small.into_iter().chain([[5, PANEL_ROWS + 7, 20], [2 * BATCH_ROWS + 9, 7, 20]]) {
            check::<f32>(sizes, 2e-4);
            check::<f64>(sizes, 1e-12);
        }
    }
}
