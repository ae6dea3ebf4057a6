//! Steps of one large block: rows are lanes, columns follow each other. The series as in `lanes`.

use ncde_simd::{Float, Number, Simd, outlined};

use super::closed::{Backward, Forward, Reverse, Steps};
use super::layout::{number, set_number};
use super::taylor::Series;

/// `out = a M x + b`; `M` by columns of `g` registers.
#[inline(always)]
fn apply<S: Simd, T: Float, R: Number<Real = T>>(simd: S, m: &[R], x: &[R], (a, b): (T, Option<&[R]>), out: &mut [R]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let g = out.len();
            let mut first = 0;
            while first < g {
                first += match g - first {
                    8.. => strip::<S, T, R, 8, 1>(simd, m, x, (a, b), out, first),
                    4..=7 => strip::<S, T, R, 4, 2>(simd, m, x, (a, b), out, first),
                    2 | 3 => strip::<S, T, R, 2, 4>(simd, m, x, (a, b), out, first),
                    _ => strip::<S, T, R, 1, 8>(simd, m, x, (a, b), out, first),
                };
            }
        },
    );
}

/// `N` registers of rows, from register `first` on, `U` columns at once so that multiply-adds do not wait for each other; returns `N`.
#[inline(always)]
fn strip<S: Simd, T: Float, R: Number<Real = T>, const N: usize, const U: usize>(
    simd: S,
    m: &[R],
    x: &[R],
    (a, b): (T, Option<&[R]>),
    out: &mut [R],
    first: usize,
) -> usize {
    let g = out.len();
    let mut sums = const { [[R::ZEROS; N]; U] };
    let mut c = 0;
    let mut together = m.chunks_exact(U * g);
    for columns in together.by_ref() {
        for u in 0..U {
            if let Some(column) = columns[u * g + first..].first_chunk::<N>() {
                let x = R::splat(simd, number(x, c + u));
                for j in 0..N {
                    sums[u][j] = column[j].fma(simd, x, sums[u][j]);
                }
            }
        }
        c += U;
    }
    for column in together.remainder().chunks_exact(g) {
        if let Some(column) = column[first..].first_chunk::<N>() {
            let x = R::splat(simd, number(x, c));
            for j in 0..N {
                sums[0][j] = column[j].fma(simd, x, sums[0][j]);
            }
        }
        c += 1;
    }
    for j in 0..N {
        let mut sum = sums[0][j];
        for partial in &sums[1..] {
            sum = sum.plus(simd, partial[j]);
        }
        let rest = if let Some(b) = b { b[first + j] } else { R::ZEROS };
        out[first + j] = sum.fma(simd, R::splat(simd, a), rest);
    }
    N
}

/// `out = M^T x`, or that plus `b`.
#[inline(always)]
fn apply_transposed<S: Simd, T: Float, R: Number<Real = T>>(simd: S, m: &[R], x: &[R], b: Option<&[R]>, out: &mut [R]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let g = x.len();
            let columns = m.len() / g;
            let mut c = 0;
            while c < columns {
                let n = if columns - c >= 4 { 4 } else { 1 };
                let totals =
                    if n == 4 { totals::<S, T, R, 4>(simd, &m[c * g..], x) } else { totals::<S, T, R, 1>(simd, &m[c * g..], x) };
                for (i, &total) in totals[..n].iter().enumerate() {
                    let rest = if let Some(b) = b { number(b, c + i) } else { T::ZERO };
                    set_number(out, c + i, total + rest);
                }
                c += n;
            }
        },
    );
}

/// The products of `N` columns with `x`.
#[inline(always)]
fn totals<S: Simd, T: Float, R: Number<Real = T>, const N: usize>(simd: S, m: &[R], x: &[R]) -> [T; 4] {
    let g = x.len();
    let mut sums = const { [R::ZEROS; N] };
    let mut columns: [&[R]; N] = [&[]; N];
    for i in 0..N {
        columns[i] = &m[i * g..][..g];
    }
    for j in 0..g {
        for i in 0..N {
            sums[i] = columns[i][j].fma(simd, x[j], sums[i]);
        }
    }
    let mut out = [T::ZERO; 4];
    for i in 0..N {
        out[i] = sums[i].total(simd);
    }
    out
}

/// `M += sum_k z_k x_k^T`, or without what `M` was; `z` and `x` by rows of `g` registers.
#[inline(always)]
fn outer<S: Simd, T: Float, R: Number<Real = T>>(simd: S, (m, add): (&mut [R], bool), g: usize, z: &[R], x: &[R]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let mut columns = m.chunks_exact_mut(4 * g);
            let mut c = 0;
            for four in columns.by_ref() {
                for j in 0..g {
                    let mut sums = const { [R::ZEROS; 4] };
                    if add {
                        for i in 0..4 {
                            sums[i] = four[i * g + j];
                        }
                    }
                    for (z, x) in z.chunks_exact(g).zip(x.chunks_exact(g)) {
                        for i in 0..4 {
                            let x = R::splat(simd, number(x, c + i));
                            sums[i] = z[j].fma(simd, x, sums[i]);
                        }
                    }
                    for i in 0..4 {
                        four[i * g + j] = sums[i];
                    }
                }
                c += 4;
            }
            for column in columns.into_remainder().chunks_exact_mut(g) {
                if !add {
                    column.fill(R::ZEROS);
                }
                for (z, x) in z.chunks_exact(g).zip(x.chunks_exact(g)) {
                    R::axpy(simd, column, R::splat(simd, number(x, c)), z);
                }
                c += 1;
            }
        },
    );
}

/// The Frobenius norm.
#[inline(always)]
fn norm<S: Simd, T: Float, R: Number<Real = T>>(simd: S, m: &[R]) -> f64 {
    R::dot(simd, m, m).total(simd).to_f64().sqrt()
}

/// One large block.
pub(crate) struct Wide;

impl<T: Float, R: Number<Real = T>> Steps<R> for Wide {
    #[inline(always)]
    fn forward<S: Simd>(simd: S, pass: Forward<'_, R>) {
        let Forward { chunk, class, h, trail } = pass;
        let state_len = chunk.columns * chunk.states;
        for t in 0..chunk.steps {
            let m = &chunk.omega[t * chunk.padded + class.entry..][..class.entries()];
            let mut series = chunk.series[t];
            if chunk.is_rough(series) {
                series = chunk.refine(t, norm(simd, m));
            }
            let (before, after) = h[t * state_len..(t + 2) * state_len].split_at_mut(state_len);
            for column in 0..chunk.columns {
                let states = column * chunk.states + class.state..column * chunk.states + class.state + class.g;
                let mut beta = None;
                if let Some(all) = chunk.beta {
                    beta = Some(&all[t * state_len..(t + 1) * state_len][states.clone()]);
                }
                let inside = if chunk.inside { beta } else { None };
                stages(simd, m, &before[states.clone()], inside, series, trail);
                let g = class.g;
                let (after, last) = (&mut after[states], trail.len() - g);
                after.copy_from_slice(&trail[last..]);
                if let (Some(beta), false) = (beta, chunk.inside) {
                    R::axpy(simd, after, R::ONES, beta);
                }
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, pass: Backward<'_, R>) {
        let Backward { chunk, class, reverse } = pass;
        let Reverse { h, gradient, carry, d_omega, d_beta, trail, z } = reverse;
        let (g, state_len, one) = (class.g, chunk.columns * chunk.states, R::ONES);
        for t in (0..chunk.steps).rev() {
            let entries = t * chunk.padded + class.entry..t * chunk.padded + class.entry + class.entries();
            let (m, d_omega) = (&chunk.omega[entries.clone()], &mut d_omega[entries]);
            let mut series = chunk.series[t];
            if chunk.is_rough(series) {
                series = chunk.refine(t, norm(simd, m));
            }
            let Series { stages: count, terms } = series;
            let mut add = false;
            for column in 0..chunk.columns {
                let states = column * chunk.states + class.state..column * chunk.states + class.state + g;
                let row = t * state_len + states.start..t * state_len + states.end;
                let mut inside = None;
                if let (Some(beta), true) = (chunk.beta, chunk.inside) {
                    inside = Some(&beta[row.clone()]);
                }
                stages(simd, m, &h[row.clone()], inside, series, trail);
                let carry = &mut carry[states];
                R::axpy(simd, carry, one, &gradient[row.clone()]);
                if chunk.beta.is_some() {
                    let d = &mut d_beta[row.clone()];
                    if chunk.inside { d.fill(R::ZEROS) } else { d.copy_from_slice(carry) }
                }
                // z_1, ..., z_{m-1} with their factors, then dv; in front of them z and a scratch vector.
                z.resize((terms + 2) * g, R::ZEROS);
                for stage in trail[..count * terms * g].chunks_exact(terms * g).rev() {
                    let (scratch, sums) = z.split_at_mut(2 * g);
                    let (now, next) = scratch.split_at_mut(g);
                    R::scale(simd, now, R::splat(simd, T::from_f64(1.0 / count as f64)), carry);
                    // dv belongs to h, the first vector of a stage.
                    let (dv, factored) = sums.split_at_mut(g);
                    dv.copy_from_slice(now);
                    for (k, factored) in factored.chunks_exact_mut(g).enumerate() {
                        let factor = T::from_f64(1.0 / ((k + 2) * count) as f64);
                        R::scale(simd, factored, R::splat(simd, factor), now);
                        apply_transposed(simd, m, factored, None, next);
                        now.copy_from_slice(next);
                        R::axpy(simd, dv, one, now);
                    }
                    outer(simd, (d_omega, add), g, sums, stage);
                    add = true;
                    let dv = &sums[..g];
                    if chunk.beta.is_some() && chunk.inside {
                        R::axpy(simd, &mut d_beta[row.clone()], one, dv);
                    }
                    apply_transposed(simd, m, dv, Some(carry), next);
                    carry.copy_from_slice(next);
                }
                if count == 0 {
                    carry.fill(R::splat(simd, T::from_f64(f64::NAN)));
                }
            }
        }
    }
}

/// Fills the trail: for each stage `h, s_2, ..., s_m` (times `s`), then two vectors of scratch, and at the end the new state.
#[inline(always)]
fn stages<S: Simd, T: Float, R: Number<Real = T>>(
    simd: S,
    m: &[R],
    h: &[R],
    beta: Option<&[R]>,
    Series { stages, terms }: Series,
    trail: &mut Vec<R>,
) {
    let g = h.len();
    let vectors = stages * terms;
    trail.resize((vectors + 3) * g, R::ZEROS);
    let (stored, scratch) = trail.split_at_mut(vectors * g);
    let (v, rest) = scratch.split_at_mut(g);
    let (s, state) = rest.split_at_mut(g);
    state.copy_from_slice(h);
    for stage in stored.chunks_exact_mut(terms * g) {
        stage[..g].copy_from_slice(state);
        apply(simd, m, state, (T::ONE, beta), v);
        s.copy_from_slice(v);
        for k in (1..terms).rev() {
            let term = &mut stage[k * g..(k + 1) * g];
            term.copy_from_slice(s);
            let a = T::from_f64(1.0 / ((k + 1) * stages) as f64);
            apply(simd, m, term, (a, Some(v)), s);
        }
        R::axpy(simd, state, R::splat(simd, T::from_f64(1.0 / stages as f64)), s);
    }
    if stages == 0 {
        state.fill(R::splat(simd, T::from_f64(f64::NAN)));
    }
}
