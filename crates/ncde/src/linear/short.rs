//! Generators of Log-ODE windows of depth 2 from the matrices of their increments, block by block.
//!
//! ```text
//! Omega = sum_k M_k + c sum_l (M_l P_l - P_l M_l),   P_l = M_1 + ... + M_{l-1}
//! dM_k = dOmega + sum_{l>k} dP_l + c (dOmega P_k^T - P_k^T dOmega),   dP_l = c (M_l^T dOmega - dOmega M_l^T)
//! ```

use ncde_kernels::Float;
use rayon::prelude::*;

/// The sizes of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Short {
    /// The size of blocks.
    pub block: usize,
    /// How many increments a window has.
    pub steps: usize,
    /// `c`: a half, divided by what increments were multiplied with.
    pub factor: f64,
}

/// Windows that one task takes at a time.
const WINDOWS: usize = 64;

impl Short {
    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    pub(super) fn forward<T: Float>(self, numbers: usize, each: &[T]) -> Vec<T> {
        let (b, size) = (self.block, self.block * self.block);
        let factor = T::from_f64(self.factor);
        let mut omega = vec![T::ZERO; each.len() / self.steps];
        omega.par_chunks_mut(WINDOWS * numbers).zip(each.par_chunks(WINDOWS * self.steps * numbers)).for_each(|(out, each)| {
            let (mut sum, mut area) = (vec![T::ZERO; size], vec![T::ZERO; size]);
            for (out, window) in out.chunks_exact_mut(numbers).zip(each.chunks_exact(self.steps * numbers)) {
                for (place, out) in out.chunks_exact_mut(size).enumerate() {
                    sum.fill(T::ZERO);
                    area.fill(T::ZERO);
                    for row in window.chunks_exact(numbers) {
                        let m = &row[place * size..(place + 1) * size];
                        product(b, T::ONE, (m, false), (&sum, false), &mut area);
                        product(b, -T::ONE, (&sum, false), (m, false), &mut area);
                        sum.iter_mut().zip(m).for_each(|(sum, &m)| *sum += m);
                    }
                    out.iter_mut().zip(sum.iter().zip(&area)).for_each(|(out, (&sum, &area))| *out = sum + factor * area);
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
            let (mut before, mut later) = (vec![T::ZERO; self.steps * size], vec![T::ZERO; size]);
            let windows = out.chunks_exact_mut(self.steps * numbers).zip(each.chunks_exact(self.steps * numbers));
            for ((out, window), gradient) in windows.zip(gradient.chunks_exact(numbers)) {
                for (place, g) in gradient.chunks_exact(size).enumerate() {
                    let own = |k: usize| k * numbers + place * size..k * numbers + (place + 1) * size;
                    before[..size].fill(T::ZERO);
                    for k in 1..self.steps {
                        for i in 0..size {
                            before[k * size + i] = before[(k - 1) * size + i] + window[own(k - 1)][i];
                        }
                    }
                    later.fill(T::ZERO);
                    for k in (0..self.steps).rev() {
                        let (m, p, out) = (&window[own(k)], &before[k * size..(k + 1) * size], &mut out[own(k)]);
                        out.iter_mut().zip(g.iter().zip(&later)).for_each(|(out, (&g, &later))| *out = g + later);
                        product(b, factor, (g, false), (p, true), out);
                        product(b, -factor, (p, true), (g, false), out);
                        product(b, factor, (m, true), (g, false), &mut later);
                        product(b, -factor, (g, false), (m, true), &mut later);
                    }
                }
            }
        });
        out
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
