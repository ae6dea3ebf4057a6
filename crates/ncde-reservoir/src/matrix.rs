//! Products of matrices and Cholesky factors in blocks that stay in the cache, with the widest instructions of the machine.
//!
//! ```text
//! product   C += A B^T             tiles of 6 rows and two registers of columns, depth by depth
//! factor    L_jj = chol(A_jj - L_j L_j^T),   L_ij = (A_ij - L_i L_j^T) L_jj^-T       column block by column block
//! invert    X_ii = L_ii^-1,   X_ij = -X_ii sum_k L_ik X_kj                           row block by row block
//! ```
//!
//! How work is cut depends on sizes alone: results are the same on any number of threads.

use ncde_simd::{Kernel, Number, Simd, Vector, dispatch, kernel};
use rayon::prelude::*;

/// Rows of a tile: with two registers of columns, all sums stay in registers.
const ROWS: usize = 6;
/// Columns of `A` and `B` that are multiplied before sums are added in `f64`.
const DEPTH: usize = 256;
/// Rows of `B` that are packed at once.
const PANEL: usize = 240;
/// Rows of `C` that a thread takes at once.
const CHUNK: usize = 96;
/// The size of a block of a factor.
const BLOCK: usize = 48;

/// A matrix in a slice: entry `(i, k)` is at `from + i strides[0] + k strides[1]`.
#[derive(Clone, Copy)]
struct View<'a, E> {
    of: &'a [E],
    from: usize,
    rows: usize,
    strides: [usize; 2],
}

impl<E: Copy + Default> View<'_, E> {
    /// Rows from `first` on, side by side for each of the columns from `k` to `end`; 0 beyond the last row.
    fn pack(&self, first: usize, width: usize, k: usize, end: usize, out: &mut Vec<E>) {
        let start = out.len();
        out.resize(start + width * (end - k), E::default());
        let rows = first..self.rows.min(first + width);
        if self.strides[0] == 1 {
            for (out, k) in out[start..].chunks_exact_mut(width).zip(k..end) {
                let from = self.from + k * self.strides[1];
                out[..rows.len()].copy_from_slice(&self.of[from + rows.start..from + rows.end]);
            }
            return;
        }
        for (r, i) in rows.enumerate() {
            let from = self.from + i * self.strides[0];
            let row = self.of[from + k * self.strides[1]..].iter().step_by(self.strides[1]);
            out[start + r..].iter_mut().step_by(width).zip(row).for_each(|(out, x)| *out = *x);
        }
    }
}

/// Adds `A B^T` to `out`, `[rows of A, rows of B]`, where `depth` columns count. Of tiles wholly above the diagonal nothing is computed if row `i` of `A` is row `diagonal + i` of `B`.
struct Product<'a, E> {
    a: View<'a, E>,
    b: View<'a, E>,
    depth: usize,
    diagonal: Option<usize>,
    out: &'a mut [f64],
}

impl<E: Vector + Default + Into<f64>> Kernel for Product<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { a, b, depth, diagonal, out } = self;
        let lanes = size_of::<E::V<S>>() / size_of::<E>();
        let width = 2 * lanes;
        let (mut packed, mut rows, mut tile) = (Vec::new(), Vec::new(), vec![E::default(); ROWS * width]);
        for j0 in (0..b.rows).step_by(PANEL) {
            let j1 = b.rows.min(j0 + PANEL);
            for k in (0..depth).step_by(DEPTH) {
                let end = depth.min(k + DEPTH);
                packed.clear();
                (j0..j1).step_by(width).for_each(|j| b.pack(j, width, k, end, &mut packed));
                for i in (0..a.rows).step_by(ROWS) {
                    let last = diagonal.map_or(b.rows, |diagonal| (diagonal + i + ROWS).min(b.rows));
                    if last <= j0 {
                        continue;
                    }
                    rows.clear();
                    a.pack(i, ROWS, k, end, &mut rows);
                    let count = ROWS.min(a.rows - i);
                    for (j, packed) in (j0..j1.min(last)).step_by(width).zip(packed.chunks_exact(width * (end - k))) {
                        tile_product::<S, E>(simd, &rows, packed, &mut tile);
                        let width_here = width.min(j1 - j);
                        for (r, tile) in tile.chunks_exact(width).take(count).enumerate() {
                            let out = &mut out[(i + r) * b.rows + j..][..width_here];
                            out.iter_mut().zip(tile).for_each(|(out, &x)| *out += x.into());
                        }
                    }
                }
            }
        }
    }
}

/// The sums of a tile: of `ROWS` packed numbers and two packed registers, depth by depth.
#[inline(always)]
fn tile_product<S: Simd, E: Vector + Default>(simd: S, rows: &[E], columns: &[E], out: &mut [E]) {
    let mut sums = [[E::broadcast(simd, E::default()); 2]; ROWS];
    let columns = E::split::<S>(columns).0.chunks_exact(2);
    for (row, pair) in rows.chunks_exact(ROWS).zip(columns) {
        for (sums, &x) in sums.iter_mut().zip(row) {
            let x = E::broadcast(simd, x);
            sums[0] = E::multiply_add(simd, x, pair[0], sums[0]);
            sums[1] = E::multiply_add(simd, x, pair[1], sums[1]);
        }
    }
    for (out, sum) in E::split_mut::<S>(out).0.chunks_exact_mut(2).zip(sums) {
        out.copy_from_slice(&sum);
    }
}

/// `X X^T` of `n` rows, `[n, n]`.
pub fn products(x: &[f32], n: usize) -> Vec<f64> {
    let depth = x.len() / n.max(1);
    let mut k = vec![0.0; n * n];
    let all = View { of: x, from: 0, rows: n, strides: [depth, 1] };
    k.par_chunks_mut((CHUNK * n).max(1)).enumerate().for_each(|(chunk, out)| {
        let first = chunk * CHUNK;
        let rows = out.len() / n;
        let a = View { from: first * depth, rows, ..all };
        dispatch(Product { a, b: all, depth, diagonal: Some(first), out });
    });
    for i in 0..n {
        for j in 0..i {
            k[j * n + i] = k[i * n + j];
        }
    }
    k
}

/// The lower Cholesky factor of a symmetric matrix, of which the lower half is read, in place; the upper half keeps old values. Returns `false` if the matrix is not positive
/// definite to rounding.
pub fn factor(a: &mut [f64], n: usize) -> bool {
    for j in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - j);
        let left: Vec<f64> = (j..j + width).flat_map(|i| a[i * n..i * n + j].iter().copied()).collect();
        // Rows of `columns` from here on, less what the columns before explain.
        let product = |rows: &[f64], from: usize, b: View<'_, f64>, depth: usize| {
            let count = rows.len() / n;
            let mut sums = vec![0.0; count * width];
            let a = View { of: rows, from, rows: count, strides: [n, 1] };
            dispatch(Product { a, b, depth, diagonal: None, out: &mut sums });
            sums
        };
        let rest = &mut a[j * n..];
        rest.par_chunks_mut(CHUNK * n).for_each(|rows| {
            let sums = product(rows, 0, View { of: &left, from: 0, rows: width, strides: [j, 1] }, j);
            for (row, sums) in rows.chunks_exact_mut(n).zip(sums.chunks_exact(width)) {
                row[j..j + width].iter_mut().zip(sums).for_each(|(x, sum)| *x -= sum);
            }
        });
        let mut block: Vec<f64> = rest.chunks_exact(n).take(width).flat_map(|row| row[j..j + width].iter().copied()).collect();
        if !factor_small(&mut block, width) {
            return false;
        }
        for (row, own) in rest.chunks_exact_mut(n).zip(block.chunks_exact(width)) {
            row[j..j + width].copy_from_slice(own);
        }
        invert_small(&mut block, width);
        rest[width * n..].par_chunks_mut(CHUNK * n).for_each(|rows| {
            let solved = product(rows, j, View { of: &block, from: 0, rows: width, strides: [width, 1] }, width);
            for (row, own) in rows.chunks_exact_mut(n).zip(solved.chunks_exact(width)) {
                row[j..j + width].copy_from_slice(own);
            }
        });
    }
    true
}

/// The inverse of the lower Cholesky factor of a symmetric matrix, in place; the upper half is 0. Returns `false` as [`factor`] does.
pub fn invert(a: &mut [f64], n: usize) -> bool {
    if !factor(a, n) {
        return false;
    }
    (0..n).for_each(|i| a[i * n + i + 1..(i + 1) * n].fill(0.0));
    for i in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - i);
        let (done, rest) = a.split_at_mut(i * n);
        let rows = &mut rest[..width * n];
        let mut block: Vec<f64> = rows.chunks_exact(n).flat_map(|row| row[i..i + width].iter().copied()).collect();
        invert_small(&mut block, width);
        let left = &*rows;
        let columns = |j: usize| -> Vec<f64> {
            let count = PANEL.min(i - j);
            // What is above the diagonal of the rows that are done is 0.
            let a = View { of: left, from: j, rows: width, strides: [n, 1] };
            let b = View { of: &*done, from: j * n + j, rows: count, strides: [1, n] };
            let mut sums = vec![0.0; width * count];
            dispatch(Product { a, b, depth: i - j, diagonal: None, out: &mut sums });
            let mut out = vec![0.0; width * count];
            let a = View { of: &block, from: 0, rows: width, strides: [width, 1] };
            let b = View { of: &sums, from: 0, rows: count, strides: [1, count] };
            dispatch(Product { a, b, depth: width, diagonal: None, out: &mut out });
            out
        };
        let starts: Vec<usize> = (0..i).step_by(PANEL).collect();
        let all: Vec<Vec<f64>> = starts.par_iter().map(|&j| columns(j)).collect();
        for (row, (r, own)) in rows.chunks_exact_mut(n).zip(block.chunks_exact(width).enumerate()) {
            for (&j, columns) in starts.iter().zip(&all) {
                let count = columns.len() / width;
                row[j..j + count].iter_mut().zip(&columns[r * count..]).for_each(|(x, y)| *x = -y);
            }
            row[i..i + width].copy_from_slice(own);
        }
    }
    true
}

kernel! {
    /// [`factor`] of a block, row by row.
    dispatch fn factor_small<'a, S: Simd>(simd: S, a: &'a mut [f64], n: usize) -> bool {
        for i in 0..n {
            let (done, row) = a.split_at_mut(i * n);
            let row = &mut row[..n];
            for j in 0..i {
                let other = &done[j * n..j * n + j + 1];
                row[j] = (row[j] - f64::dot(simd, &row[..j], &other[..j])) / other[j];
            }
            let rest = row[i] - f64::dot(simd, &row[..i], &row[..i]);
            if rest.is_nan() || rest <= 0.0 {
                return false;
            }
            row[i] = rest.sqrt();
        }
        true
    }
}

kernel! {
    /// The inverse of a lower factor, in place; the upper half becomes 0.
    dispatch fn invert_small<'a, S: Simd>(simd: S, a: &'a mut [f64], n: usize) {
        // Row i of the inverse: -1/L_ii sum_j L_ij (row j of the inverse), then 1/L_ii.
        let mut sum = vec![0.0; n];
        for i in 0..n {
            let (done, row) = a.split_at_mut(i * n);
            sum[..i].fill(0.0);
            for j in 0..i {
                f64::axpy(simd, &mut sum[..j + 1], row[j], &done[j * n..j * n + j + 1]);
            }
            let pivot = 1.0 / row[i];
            row[..i].iter_mut().zip(&sum).for_each(|(x, sum)| *x = -sum * pivot);
            row[i] = pivot;
            row[i + 1..n].fill(0.0);
        }
    }
}
