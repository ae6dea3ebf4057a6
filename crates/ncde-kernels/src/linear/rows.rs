//! A few long rows `m_1, ..., m_n` and a vector: all `m_i . x`, and `sum_i a_i m_i`, four rows at a time; several such sums at once.

use ncde_simd::{Float, Number, Simd};

/// `out_i = m_i . x`.
#[inline(always)]
pub(crate) fn dots<T: Float, S: Simd>(simd: S, m: &[T], x: &[T], out: &mut [T]) {
    let n = x.len();
    let mut fours = m.chunks_exact(4 * n);
    let mut i = 0;
    for rows in fours.by_ref() {
        out[i..i + 4].copy_from_slice(&dot_rows::<T, S, 4>(simd, rows, x));
        i += 4;
    }
    for row in fours.remainder().chunks_exact(n) {
        out[i] = T::dot(simd, row, x);
        i += 1;
    }
}

#[inline(always)]
fn dot_rows<T: Float, S: Simd, const N: usize>(simd: S, m: &[T], x: &[T]) -> [T; N] {
    let n = x.len();
    let (whole, rest) = T::split::<S>(x);
    let zero = T::broadcast(simd, T::ZERO);
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    let mut rows: [&[T::V<S>]; N] = [&[]; N];
    let mut out = [T::ZERO; N];
    for i in 0..N {
        let (row, row_rest) = T::split::<S>(&m[i * n..(i + 1) * n]);
        rows[i] = &row[..whole.len()];
        for (&a, &b) in row_rest.iter().zip(rest) {
            out[i] = a.fma(simd, b, out[i]);
        }
    }
    let pairs = whole.len() / 2 * 2;
    for j in (0..pairs).step_by(2) {
        for i in 0..N {
            even[i] = T::multiply_add(simd, rows[i][j], whole[j], even[i]);
            odd[i] = T::multiply_add(simd, rows[i][j + 1], whole[j + 1], odd[i]);
        }
    }
    if pairs < whole.len() {
        for i in 0..N {
            even[i] = T::multiply_add(simd, rows[i][pairs], whole[pairs], even[i]);
        }
    }
    for i in 0..N {
        out[i] += <T as ncde_simd::Vector>::total(simd, T::plus(simd, even[i], odd[i]));
    }
    out
}

/// `out += sum_i a_i m_i`.
#[inline(always)]
pub(crate) fn add<T: Float, S: Simd>(simd: S, m: &[T], a: &[T], out: &mut [T]) {
    let n = out.len();
    let (mut fours, mut factors) = (m.chunks_exact(4 * n), a.chunks_exact(4));
    for (rows, a) in fours.by_ref().zip(factors.by_ref()) {
        add_rows::<T, S, 4>(simd, rows, a, out);
    }
    for (row, &a) in fours.remainder().chunks_exact(n).zip(factors.remainder()) {
        T::axpy(simd, out, a, row);
    }
}

#[inline(always)]
fn add_rows<T: Float, S: Simd, const N: usize>(simd: S, m: &[T], a: &[T], out: &mut [T]) {
    let n = out.len();
    let (whole, rest) = T::split_mut::<S>(out);
    let mut rows: [&[T::V<S>]; N] = [&[]; N];
    let mut factors = [T::broadcast(simd, T::ZERO); N];
    for i in 0..N {
        let (row, row_rest) = T::split::<S>(&m[i * n..(i + 1) * n]);
        rows[i] = &row[..whole.len()];
        factors[i] = T::broadcast(simd, a[i]);
        for (out, &x) in rest.iter_mut().zip(row_rest) {
            *out = x.fma(simd, a[i], *out);
        }
    }
    for (j, out) in whole.iter_mut().enumerate() {
        let mut sum = *out;
        for i in 0..N {
            sum = T::multiply_add(simd, rows[i][j], factors[i], sum);
        }
        *out = sum;
    }
}

/// `out_i += sum_j a_ji m_j`, with `n` numbers a row and `a_ji` at `j stride + i`.
#[inline(always)]
pub(crate) fn add_products<T: Float, S: Simd>(simd: S, m: &[T], (a, stride): (&[T], usize), out: &mut [T], n: usize) {
    let mut fours = out.chunks_exact_mut(4 * n);
    let mut i = 0;
    for rows in fours.by_ref() {
        products::<T, S, 4>(simd, m, (&a[i.min(a.len())..], stride), rows);
        i += 4;
    }
    for row in fours.into_remainder().chunks_exact_mut(n) {
        products::<T, S, 1>(simd, m, (&a[i.min(a.len())..], stride), row);
        i += 1;
    }
}

#[inline(always)]
fn products<T: Float, S: Simd, const N: usize>(simd: S, m: &[T], factors: (&[T], usize), out: &mut [T]) {
    let n = out.len() / N;
    let whole = T::split::<S>(&out[..n]).0.len();
    let mut c = 0;
    while c + 4 <= whole {
        tile::<T, S, N, 4>(simd, m, factors, out, c);
        c += 4;
    }
    while c < whole {
        tile::<T, S, N, 1>(simd, m, factors, out, c);
        c += 1;
    }
    let rest = n - T::split::<S>(&out[..n]).1.len();
    for i in 0..N {
        for (j, m) in m.chunks_exact(n).enumerate() {
            let a = factors.0[j * factors.1 + i];
            for (out, &x) in out[i * n + rest..(i + 1) * n].iter_mut().zip(&m[rest..]) {
                *out = x.fma(simd, a, *out);
            }
        }
    }
}

/// `N` rows of `C` registers, from register `c` on.
#[inline(always)]
fn tile<T: Float, S: Simd, const N: usize, const C: usize>(
    simd: S,
    m: &[T],
    (a, stride): (&[T], usize),
    out: &mut [T],
    c: usize,
) {
    let n = out.len() / N;
    let mut sums = [[T::broadcast(simd, T::ZERO); C]; N];
    for i in 0..N {
        sums[i].copy_from_slice(&T::split::<S>(&out[i * n..(i + 1) * n]).0[c..c + C]);
    }
    for (j, m) in m.chunks_exact(n).enumerate() {
        let x = &T::split::<S>(m).0[c..c + C];
        let a = &a[j * stride..j * stride + N];
        for i in 0..N {
            let factor = T::broadcast(simd, a[i]);
            for k in 0..C {
                sums[i][k] = T::multiply_add(simd, x[k], factor, sums[i][k]);
            }
        }
    }
    for i in 0..N {
        T::split_mut::<S>(&mut out[i * n..(i + 1) * n]).0[c..c + C].copy_from_slice(&sums[i]);
    }
}
