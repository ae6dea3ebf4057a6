//! A few long rows `m_1, ..., m_n` and a vector: all `m_i . x`, and `sum_i a_i m_i`, four rows at a time.

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
