//! Generators of Log-ODE windows of depth 2 from the matrices of their increments, block by block.
//!
//! ```text
//! Omega = sum_k M_k + c sum_l (M_l P_l - P_l M_l),   P_l = M_1 + ... + M_{l-1}
//! beta = sum_k v_k + c sum_l (M_l p_l - P_l v_l),   p_l = v_1 + ... + v_{l-1}
//! dM_k = dOmega + sum_{l>k} dP_l + c (dOmega P_k^T - P_k^T dOmega + dbeta p_k^T),   dP_l = c (M_l^T dOmega - dOmega M_l^T - dbeta v_l^T)
//! dv_k = dbeta + sum_{l>k} dp_l - c P_k^T dbeta,   dp_l = c M_l^T dbeta
//! ```
//!
//! `beta` is what an input term adds where the driving path is the input: the last column of the same formula for `[[M, v], [0, 0]]`.

use ncde_kernels::Float;
use rayon::prelude::*;

/// The sizes of a call. A row holds all blocks one after the other and then, with an input term, the vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Short {
    /// The size of blocks.
    pub block: usize,
    /// How many increments a window has.
    pub steps: usize,
    /// Whether there is an input term.
    pub vectors: bool,
    /// `c`: a half, divided by what increments were multiplied with.
    pub factor: f64,
}

/// Windows that one task takes at a time.
const WINDOWS: usize = 64;

/// Sums over the increments of a window: of matrices and of vectors, of one block.
struct Sums<T> {
    matrix: Vec<T>,
    vector: Vec<T>,
}

impl<T: Float> Sums<T> {
    fn new(short: Short, count: usize) -> Self {
        let b = short.block;
        Self { matrix: vec![T::ZERO; count * b * b], vector: vec![T::ZERO; if short.vectors { count * b } else { 0 }] }
    }

    fn clear(&mut self) {
        self.matrix.fill(T::ZERO);
        self.vector.fill(T::ZERO);
    }
}

impl Short {
    /// How many numbers go with one block.
    pub(super) fn each(self) -> usize {
        self.block * self.block + if self.vectors { self.block } else { 0 }
    }

    /// Where the matrix and the vector of a block lie in a row of `numbers`.
    fn places(self, numbers: usize, block: usize) -> [std::ops::Range<usize>; 2] {
        let (b, size) = (self.block, self.block * self.block);
        let vectors = numbers / self.each() * size;
        let own = if self.vectors { vectors + block * b..vectors + (block + 1) * b } else { vectors..vectors };
        [block * size..(block + 1) * size, own]
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    pub(super) fn forward<T: Float>(self, numbers: usize, each: &[T]) -> Vec<T> {
        let (b, factor) = (self.block, T::from_f64(self.factor));
        let mut omega = vec![T::ZERO; each.len() / self.steps];
        omega.par_chunks_mut(WINDOWS * numbers).zip(each.par_chunks(WINDOWS * self.steps * numbers)).for_each(|(out, each)| {
            let (mut sum, mut area) = (Sums::new(self, 1), Sums::new(self, 1));
            for (out, window) in out.chunks_exact_mut(numbers).zip(each.chunks_exact(self.steps * numbers)) {
                for block in 0..numbers / self.each() {
                    let [matrix, vector] = self.places(numbers, block);
                    sum.clear();
                    area.clear();
                    for row in window.chunks_exact(numbers) {
                        let (m, v) = (&row[matrix.clone()], &row[vector.clone()]);
                        product(b, T::ONE, (m, false), (&sum.matrix, false), &mut area.matrix);
                        product(b, -T::ONE, (&sum.matrix, false), (m, false), &mut area.matrix);
                        action(T::ONE, (m, false), &sum.vector, &mut area.vector);
                        action(-T::ONE, (&sum.matrix, false), v, &mut area.vector);
                        add(&mut sum.matrix, m);
                        add(&mut sum.vector, v);
                    }
                    let combine = |out: &mut [T], sum: &[T], area: &[T]| {
                        out.iter_mut().zip(sum.iter().zip(area)).for_each(|(out, (&sum, &area))| *out = sum + factor * area);
                    };
                    combine(&mut out[matrix], &sum.matrix, &area.matrix);
                    combine(&mut out[vector], &sum.vector, &area.vector);
                }
            }
        });
        omega
    }

    /// From the gradient in the generators, `[windows, numbers]`, to that in the matrices.
    pub(super) fn backward<T: Float>(self, numbers: usize, each: &[T], gradient: &[T]) -> Vec<T> {
        let (b, size) = (self.block, self.block * self.block);
        let factor = T::from_f64(self.factor);
        let mut out = vec![T::ZERO; each.len()];
        let chunk = WINDOWS * self.steps * numbers;
        let tasks = out.par_chunks_mut(chunk).zip(each.par_chunks(chunk)).zip(gradient.par_chunks(WINDOWS * numbers));
        tasks.for_each(|((out, each), gradient)| {
            let (mut before, mut later) = (Sums::new(self, self.steps), Sums::new(self, 1));
            let windows = out.chunks_exact_mut(self.steps * numbers).zip(each.chunks_exact(self.steps * numbers));
            for ((out, window), gradient) in windows.zip(gradient.chunks_exact(numbers)) {
                for block in 0..numbers / self.each() {
                    let [matrix, vector] = self.places(numbers, block);
                    let (g, h) = (&gradient[matrix.clone()], &gradient[vector.clone()]);
                    before.clear();
                    for (k, row) in window.chunks_exact(numbers).take(self.steps - 1).enumerate() {
                        next(&mut before.matrix, k, &row[matrix.clone()]);
                        next(&mut before.vector, k, &row[vector.clone()]);
                    }
                    later.clear();
                    for k in (0..self.steps).rev() {
                        let row = &window[k * numbers..(k + 1) * numbers];
                        let out = &mut out[k * numbers..(k + 1) * numbers];
                        let (m, v) = (&row[matrix.clone()], &row[vector.clone()]);
                        let (p, q) = (&before.matrix[k * size..(k + 1) * size], &before.vector[k * v.len()..(k + 1) * v.len()]);
                        let sum = |out: &mut [T], g: &[T], later: &[T]| {
                            out.iter_mut().zip(g.iter().zip(later)).for_each(|(out, (&g, &later))| *out = g + later);
                        };
                        sum(&mut out[matrix.clone()], g, &later.matrix);
                        sum(&mut out[vector.clone()], h, &later.vector);
                        let of_m = &mut out[matrix.clone()];
                        product(b, factor, (g, false), (p, true), of_m);
                        product(b, -factor, (p, true), (g, false), of_m);
                        outer(factor, h, q, of_m);
                        action(-factor, (p, true), h, &mut out[vector.clone()]);
                        product(b, factor, (m, true), (g, false), &mut later.matrix);
                        product(b, -factor, (g, false), (m, true), &mut later.matrix);
                        outer(-factor, h, v, &mut later.matrix);
                        action(factor, (m, true), h, &mut later.vector);
                    }
                }
            }
        });
        out
    }
}

fn add<T: Float>(sum: &mut [T], x: &[T]) {
    sum.iter_mut().zip(x).for_each(|(sum, &x)| *sum += x);
}

/// `sums[k + 1] = sums[k] + x`.
fn next<T: Float>(sums: &mut [T], k: usize, x: &[T]) {
    let (before, own) = sums.split_at_mut((k + 1) * x.len());
    let before = &before[k * x.len()..];
    own.iter_mut().zip(before.iter().zip(x)).for_each(|(own, (&before, &x))| *own = before + x);
}

/// `out += s X v`, or `s X^T v`; nothing where there are no vectors.
fn action<T: Float>(s: T, (x, turned): (&[T], bool), v: &[T], out: &mut [T]) {
    let b = out.len();
    for (i, out) in out.iter_mut().enumerate() {
        for (k, &v) in v.iter().enumerate() {
            *out += s * if turned { x[k * b + i] } else { x[i * b + k] } * v;
        }
    }
}

/// `out += s u v^T`; nothing where there are no vectors.
fn outer<T: Float>(s: T, u: &[T], v: &[T], out: &mut [T]) {
    for (i, &u) in u.iter().enumerate() {
        out[i * v.len()..(i + 1) * v.len()].iter_mut().zip(v).for_each(|(out, &v)| *out += s * u * v);
    }
}

/// `out += s x y`, of blocks that are transposed where it says so; the usual sizes are known to the compiler.
fn product<T: Float>(b: usize, s: T, x: (&[T], bool), y: (&[T], bool), out: &mut [T]) {
    match b {
        2 => product_of(2, s, x, y, out),
        4 => product_of(4, s, x, y, out),
        8 => product_of(8, s, x, y, out),
        _ => product_of(b, s, x, y, out),
    }
}

#[inline(always)]
fn product_of<T: Float>(b: usize, s: T, (x, x_turned): (&[T], bool), (y, y_turned): (&[T], bool), out: &mut [T]) {
    let (x, y, out) = (&x[..b * b], &y[..b * b], &mut out[..b * b]);
    for i in 0..b {
        for k in 0..b {
            let x = s * if x_turned { x[k * b + i] } else { x[i * b + k] };
            for j in 0..b {
                out[i * b + j] += x * if y_turned { y[j * b + k] } else { y[k * b + j] };
            }
        }
    }
}
