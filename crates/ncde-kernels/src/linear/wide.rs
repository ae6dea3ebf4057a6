//! Steps of one large block: rows are lanes, columns follow each other. The series as in `lanes`.

use ncde_simd::{Float, Kernel, Number, Simd, call};

use super::closed::{Chunk, Reverse};
use super::layout::Class;
use super::taylor::Series;

/// `out = a M x + b`, or with `M^T`; `M` by columns of `g` registers.
struct Apply<'a, T, R, const TRANSPOSED: bool> {
    m: &'a [R],
    x: &'a [R],
    a: T,
    b: Option<&'a [R]>,
    out: &'a mut [R],
}

impl<T: Float, R: Number<Real = T>> Kernel for Apply<'_, T, R, false> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { m, x, a, b, out } = self;
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
    }
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
                let x = R::splat(simd, x[(c + u) / R::WIDTH].lane((c + u) % R::WIDTH));
                for j in 0..N {
                    sums[u][j] = column[j].fma(simd, x, sums[u][j]);
                }
            }
        }
        c += U;
    }
    for column in together.remainder().chunks_exact(g) {
        if let Some(column) = column[first..].first_chunk::<N>() {
            let x = R::splat(simd, x[c / R::WIDTH].lane(c % R::WIDTH));
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

impl<T: Float, R: Number<Real = T>> Kernel for Apply<'_, T, R, true> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { m, x, a, b, out } = self;
        let g = x.len();
        let columns = m.len() / g;
        let mut c = 0;
        while c < columns {
            let n = if columns - c >= 4 { 4 } else { 1 };
            let totals =
                if n == 4 { totals::<S, T, R, 4>(simd, &m[c * g..], x) } else { totals::<S, T, R, 1>(simd, &m[c * g..], x) };
            for (i, &total) in totals[..n].iter().enumerate() {
                let (register, lane) = ((c + i) / R::WIDTH, (c + i) % R::WIDTH);
                let rest = if let Some(b) = b { b[register].lane(lane) } else { T::ZERO };
                out[register].set_lane(lane, total * a + rest);
            }
            c += n;
        }
    }
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
struct Outer<'a, R> {
    m: &'a mut [R],
    add: bool,
    g: usize,
    z: &'a [R],
    x: &'a [R],
}

impl<T: Float, R: Number<Real = T>> Kernel for Outer<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { m, add, g, z, x } = self;
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
                        let x = R::splat(simd, x[(c + i) / R::WIDTH].lane((c + i) % R::WIDTH));
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
                R::axpy(simd, column, R::splat(simd, x[c / R::WIDTH].lane(c % R::WIDTH)), z);
            }
            c += 1;
        }
    }
}

/// The Frobenius norm.
#[inline(always)]
fn norm<S: Simd, T: Float, R: Number<Real = T>>(simd: S, m: &[R]) -> f64 {
    R::dot(simd, m, m).total(simd).to_f64().sqrt()
}

/// All steps of a chunk, of one block.
pub(crate) struct Forward<'a, R> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    /// States before the first and after every step, `[steps + 1, columns, states]`.
    pub(crate) h: &'a mut [R],
    /// Vectors.
    pub(crate) trail: &'a mut Vec<R>,
}

impl<T: Float, R: Number<Real = T>> Kernel for Forward<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, h, trail } = self;
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
        call(simd, Apply::<T, R, false> { m, x: state, a: T::ONE, b: beta, out: &mut *v });
        s.copy_from_slice(v);
        for k in (1..terms).rev() {
            let term = &mut stage[k * g..(k + 1) * g];
            term.copy_from_slice(s);
            let a = T::from_f64(1.0 / ((k + 1) * stages) as f64);
            call(simd, Apply::<T, R, false> { m, x: term, a, b: Some(v), out: &mut *s });
        }
        R::axpy(simd, state, R::splat(simd, T::from_f64(1.0 / stages as f64)), s);
    }
    if stages == 0 {
        state.fill(R::splat(simd, T::from_f64(f64::NAN)));
    }
}

/// The reverse of [`Forward`].
pub(crate) struct Backward<'a, R> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    pub(crate) reverse: &'a mut Reverse<R>,
}

impl<T: Float, R: Number<Real = T>> Kernel for Backward<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, reverse } = self;
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
                        call(simd, Apply::<T, R, true> { m, x: factored, a: T::ONE, b: None, out: &mut *next });
                        now.copy_from_slice(next);
                        R::axpy(simd, dv, one, now);
                    }
                    call(simd, Outer { m: &mut *d_omega, add, g, z: sums, x: stage });
                    add = true;
                    let dv = &sums[..g];
                    if chunk.beta.is_some() && chunk.inside {
                        R::axpy(simd, &mut d_beta[row.clone()], one, dv);
                    }
                    call(simd, Apply::<T, R, true> { m, x: dv, a: T::ONE, b: Some(carry), out: &mut *next });
                    carry.copy_from_slice(next);
                }
                if count == 0 {
                    carry.fill(R::splat(simd, T::from_f64(f64::NAN)));
                }
            }
        }
    }
}
