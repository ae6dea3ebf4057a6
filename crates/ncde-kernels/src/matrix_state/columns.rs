//! The gradients in the numbers of `K` entries of a chunk, with keys along registers, once `u` and `z` are known:
//!
//! ```text
//! forward in time    da = S^T z,   S <- S diag(w) + u c^T + v k^T,   dq = S^T do
//! back in time       G <- G diag(w') + z' a'^T + do q^T,   dk = G^T v,   dc = G^T u,   dw = sum_v (G * S)[v]
//! ```
//!
//! Primes belong to the step after. Columns never meet, so that a tile of some columns goes through a chunk alone, `[V, tile]`. Going forward the states
//! before all steps are stored, for `dw`.

use ncde_simd::{Float, Kernel, Simd};

use super::pass::{Registers, lanes, read, write};

/// What a step of [`Columns`] has. Without delta, `a` and `c` are empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a, T> {
    pub(super) w: &'a [T],
    pub(super) a: &'a [T],
    pub(super) c: &'a [T],
    pub(super) k: &'a [T],
    pub(super) q: &'a [T],
    /// `V` entries each, as those below.
    pub(super) v: &'a [T],
    pub(super) gradient: &'a [T],
    /// Without delta empty.
    pub(super) u: &'a [T],
    pub(super) z: &'a [T],
}

/// The gradients of a chunk of steps.
pub(super) struct Columns<'a, 'b, T> {
    pub(super) keys: usize,
    pub(super) values: usize,
    /// The steps and, for `w`, `a` and `z`, the one after the last.
    pub(super) steps: &'a [Step<'a, T>],
    /// The state before the first step, `[V, K]`; empty for zero.
    pub(super) start: &'a [T],
    /// `G` of the step after the last, then of the first step, `[V, K]`.
    pub(super) back: &'a mut [T],
    /// Room for a tile of `G`, and of the states before each step and after the last.
    pub(super) scratch: &'a mut [T],
    /// `[steps, K]`.
    pub(super) dw: &'a mut [T],
    /// The rows of `da`, `dc`, `dk`, `dq`; the first two are empty without delta.
    pub(super) gradients: [&'a mut [&'b mut [T]]; 4],
}

/// Zero, or NaN if a gradient is not finite.
impl<T: Float> Kernel for Columns<'_, '_, T> {
    type Output = T;
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> T {
        let (mut first, mut check, delta) = (0, T::ZERO, !self.steps[0].u.is_empty());
        while first < self.keys {
            let wide = self.keys - first > lanes::<T, S>();
            check += match (wide, delta) {
                (true, true) => self.tile::<S, 2, true>(simd, first),
                (true, false) => self.tile::<S, 2, false>(simd, first),
                (false, true) => self.tile::<S, 1, true>(simd, first),
                (false, false) => self.tile::<S, 1, false>(simd, first),
            };
            first += if wide { 2 } else { 1 } * lanes::<T, S>();
        }
        check
    }
}

impl<T: Float> Columns<'_, '_, T> {
    /// All steps of the tile that starts with key `first`.
    #[inline(always)]
    fn tile<S: Simd, const N: usize, const DELTA: bool>(&mut self, simd: S, first: usize) -> T {
        let Self { keys, values, steps, start, back, scratch, dw, gradients: [da, dc, dk, dq] } = self;
        let (keys, values, width) = (*keys, *values, N * lanes::<T, S>());
        let (end, size) = (keys.min(first + width), values * width);
        let (tile, states) = scratch.split_at_mut(size);
        for (v, row) in tile.chunks_exact_mut(width).enumerate() {
            write(simd, read::<T, S, N>(simd, &back[v * keys..][first..end]), row);
        }
        for (v, row) in states[..size].chunks_exact_mut(width).enumerate() {
            let numbers = if start.is_empty() { &[] } else { &start[v * keys..][first..end] };
            write(simd, read::<T, S, N>(simd, numbers), row);
        }
        let (count, zero) = (steps.len() - 1, T::broadcast(simd, T::ZERO));
        let mut check = zero;
        for (t, step) in steps[..count].iter().enumerate() {
            let (before, after) = states[t * size..][..2 * size].split_at_mut(size);
            let [sum_a, sum_q] = forward::<T, S, N, DELTA>(simd, step, first..end, before, after);
            for j in 0..N {
                check = T::multiply_add(simd, zero, T::plus(simd, sum_a[j], sum_q[j]), check);
            }
            if DELTA {
                write(simd, sum_a, &mut da[t][first..end]);
            }
            write(simd, sum_q, &mut dq[t][first..end]);
        }
        for t in (0..count).rev() {
            let state = &states[t * size..][..size];
            let [sum_k, sum_c, sum_w] = backward::<T, S, N, DELTA>(simd, [&steps[t], &steps[t + 1]], first..end, tile, state);
            for j in 0..N {
                check = T::multiply_add(simd, zero, T::plus(simd, T::plus(simd, sum_k[j], sum_c[j]), sum_w[j]), check);
            }
            write(simd, sum_k, &mut dk[t][first..end]);
            if DELTA {
                write(simd, sum_c, &mut dc[t][first..end]);
            }
            write(simd, sum_w, &mut dw[t * keys..][first..end]);
        }
        for (v, row) in tile.chunks_exact(width).enumerate() {
            write(simd, read::<T, S, N>(simd, row), &mut back[v * keys..][first..end]);
        }
        T::total(simd, check)
    }
}

/// The state after a step, `da` and `dq`.
#[inline(always)]
fn forward<T: Float, S: Simd, const N: usize, const DELTA: bool>(
    simd: S,
    step: &Step<'_, T>,
    tile: std::ops::Range<usize>,
    before: &[T],
    after: &mut [T],
) -> [Registers<T, S, N>; 2] {
    let (before, after) = (T::split::<S>(before).0.as_chunks::<N>().0, T::split_mut::<S>(after).0.as_chunks_mut::<N>().0);
    let rows = before.len();
    let after = &mut after[..rows];
    let [w, k]: [Registers<T, S, N>; 2] = [read(simd, &step.w[tile.clone()]), read(simd, &step.k[tile.clone()])];
    let (v, gradient) = (&step.v[..rows], &step.gradient[..rows]);
    let (mut c, mut u, mut z) = (k, v, v);
    if DELTA {
        (c, u, z) = (read(simd, &step.c[tile]), &step.u[..rows], &step.z[..rows]);
    }
    let mut sums = [[T::broadcast(simd, T::ZERO); N]; 2];
    for i in 0..rows {
        let (v, gradient) = (T::broadcast(simd, v[i]), T::broadcast(simd, gradient[i]));
        let (u, z) = (T::broadcast(simd, u[i]), T::broadcast(simd, z[i]));
        for j in 0..N {
            let mut s = before[i][j];
            if DELTA {
                sums[0][j] = T::multiply_add(simd, z, s, sums[0][j]);
            }
            s = T::times(simd, w[j], s);
            if DELTA {
                s = T::multiply_add(simd, c[j], u, s);
            }
            s = T::multiply_add(simd, k[j], v, s);
            after[i][j] = s;
            sums[1][j] = T::multiply_add(simd, gradient, s, sums[1][j]);
        }
    }
    sums
}

/// `G` of a step from that of the step after, and `dk`, `dc`, `dw`.
#[inline(always)]
fn backward<T: Float, S: Simd, const N: usize, const DELTA: bool>(
    simd: S,
    [step, next]: [&Step<'_, T>; 2],
    tile: std::ops::Range<usize>,
    back: &mut [T],
    state: &[T],
) -> [Registers<T, S, N>; 3] {
    let (state, back) = (T::split::<S>(state).0.as_chunks::<N>().0, T::split_mut::<S>(back).0.as_chunks_mut::<N>().0);
    let rows = state.len();
    let back = &mut back[..rows];
    let [w, q]: [Registers<T, S, N>; 2] = [read(simd, &next.w[tile.clone()]), read(simd, &step.q[tile.clone()])];
    let (v, gradient) = (&step.v[..rows], &step.gradient[..rows]);
    let (mut a, mut u, mut z) = (q, v, v);
    if DELTA {
        (a, u, z) = (read(simd, &next.a[tile]), &step.u[..rows], &next.z[..rows]);
    }
    let mut sums = [[T::broadcast(simd, T::ZERO); N]; 3];
    for i in 0..rows {
        let (v, gradient) = (T::broadcast(simd, v[i]), T::broadcast(simd, gradient[i]));
        let (u, z) = (T::broadcast(simd, u[i]), T::broadcast(simd, z[i]));
        for j in 0..N {
            let mut g = T::times(simd, w[j], back[i][j]);
            if DELTA {
                g = T::multiply_add(simd, a[j], z, g);
            }
            g = T::multiply_add(simd, q[j], gradient, g);
            back[i][j] = g;
            sums[0][j] = T::multiply_add(simd, v, g, sums[0][j]);
            if DELTA {
                sums[1][j] = T::multiply_add(simd, u, g, sums[1][j]);
            }
            sums[2][j] = T::multiply_add(simd, state[i][j], g, sums[2][j]);
        }
    }
    sums
}
