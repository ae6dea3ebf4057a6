//! `C = A B` and `C += A B` for small square matrices, row by row.

use ncde_simd::{Float, Kernel, Number, Simd, call};

/// Rows of `C` that are kept in registers together.
const ROWS: usize = 4;

/// What happens to what is in `C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Set,
    Add,
}

/// `C = A B` or `C += A B`, as a function of its own.
#[inline(always)]
pub(super) fn multiply<T: Float, S: Simd>(simd: S, n: usize, a: &[T], b: &[T], c: &mut [T], target: Target) {
    call(simd, Multiply { n, a, b, c, target });
}

struct Multiply<'a, T> {
    n: usize,
    a: &'a [T],
    b: &'a [T],
    c: &'a mut [T],
    target: Target,
}

impl<T: Float> Kernel for Multiply<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { n, a, b, c, target } = self;
        if target == Target::Set {
            c.fill(T::ZERO);
        }
        if n <= 4 {
            return few(simd, n, a, b, c);
        }
        let whole = n / ROWS * ROWS;
        let (c_whole, c_rest) = c.split_at_mut(whole * n);
        for (a, c) in a.chunks_exact(ROWS * n).zip(c_whole.chunks_exact_mut(ROWS * n)) {
            rows::<T, S, ROWS>(simd, n, a, b, c);
        }
        for (a, c) in a[whole * n..].chunks_exact(n).zip(c_rest.chunks_exact_mut(n)) {
            rows::<T, S, 1>(simd, n, a, b, c);
        }
    }
}

/// `R` rows of `C += A B`.
#[inline(always)]
fn rows<T: Float, S: Simd, const R: usize>(simd: S, n: usize, a: &[T], b: &[T], c: &mut [T]) {
    let whole = T::split::<S>(&b[..n]).0.len();
    let zero = T::broadcast(simd, T::ZERO);
    for j in 0..whole {
        let mut sums = [zero; R];
        for r in 0..R {
            sums[r] = T::split::<S>(&c[r * n..(r + 1) * n]).0[j];
        }
        for (k, b) in b.chunks_exact(n).enumerate() {
            let b = T::split::<S>(b).0[j];
            for r in 0..R {
                sums[r] = T::multiply_add(simd, T::broadcast(simd, a[r * n + k]), b, sums[r]);
            }
        }
        for r in 0..R {
            T::split_mut::<S>(&mut c[r * n..(r + 1) * n]).0[j] = sums[r];
        }
    }
    if !T::split::<S>(&b[..n]).1.is_empty() {
        let mut sums = [zero; R];
        for r in 0..R {
            sums[r] = T::load(simd, T::split::<S>(&c[r * n..(r + 1) * n]).1);
        }
        for (k, b) in b.chunks_exact(n).enumerate() {
            let b = T::load(simd, T::split::<S>(b).1);
            for r in 0..R {
                sums[r] = T::multiply_add(simd, T::broadcast(simd, a[r * n + k]), b, sums[r]);
            }
        }
        for r in 0..R {
            T::store(simd, T::split_mut::<S>(&mut c[r * n..(r + 1) * n]).1, sums[r]);
        }
    }
}

/// `C += A B`, number by number: part of a register costs more.
#[inline(always)]
fn few<T: Float, S: Simd>(simd: S, n: usize, a: &[T], b: &[T], c: &mut [T]) {
    for (a, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c = a.fma(simd, b, *c);
            }
        }
    }
}
