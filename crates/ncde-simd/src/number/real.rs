//! Real numbers: loops along words, a register at a time, the rest last.

use crate::Float;
use crate::number::{Number, Term};
use crate::simd::{Simd, Vector};

/// Rows split into whole registers and a rest.
type SplitRows<'a, T, S, const G: usize> = ([&'a [<T as Vector>::V<S>]; G], [&'a [T]; G]);

/// Up to this length a scalar loop is faster than a partly filled register.
const MIN_VECTOR_LEN: usize = 4;

impl<T: Float> Number for T {
    type Real = T;
    const WIDTH: usize = 1;
    const ZEROS: Self = T::ZERO;
    const ONES: Self = T::ONE;
    #[inline(always)]
    fn splat<S: Simd>(_: S, x: T) -> Self {
        x
    }
    #[inline(always)]
    fn lane(&self, _: usize) -> T {
        *self
    }
    #[inline(always)]
    fn set_lane(&mut self, _: usize, x: T) {
        *self = x;
    }
    #[inline(always)]
    fn fma<S: Simd>(self, _: S, a: Self, b: Self) -> Self {
        if S::IS_SCALAR { self * a + b } else { self.mul_add(a, b) }
    }
    #[inline(always)]
    fn read(x: &[T]) -> Self {
        x.first().copied().unwrap_or_default()
    }
    #[inline(always)]
    fn write(&self, x: &mut [T]) {
        if let Some(first) = x.first_mut() {
            *first = *self;
        }
    }
    #[inline(always)]
    fn columns<const B: usize>(rows: &[[T; B]]) -> [Self; B] {
        rows.first().copied().unwrap_or([T::ZERO; B])
    }
    #[inline(always)]
    fn rows<const B: usize>(columns: &[Self; B], rows: &mut [[T; B]]) {
        if let Some(first) = rows.first_mut() {
            *first = *columns;
        }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Float::exp(self)
    }
    #[inline(always)]
    fn total<S: Simd>(self, _: S) -> T {
        self
    }
    #[inline(always)]
    fn axpy<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]) {
        if const { S::IS_SCALAR } {
            return scalar::axpy(y, a, x);
        }
        if y.len() <= MIN_VECTOR_LEN {
            for (y, x) in y.iter_mut().zip(x) {
                *y = x.fma(simd, a, *y);
            }
            return;
        }
        let a = T::broadcast(simd, a);
        let ((y, y_rest), (x, x_rest)) = (T::split_mut::<S>(y), T::split::<S>(x));
        for (y, &x) in y.iter_mut().zip(x) {
            *y = T::multiply_add(simd, x, a, *y);
        }
        if !y_rest.is_empty() {
            let sum = T::multiply_add(simd, T::load(simd, x_rest), a, T::load(simd, y_rest));
            T::store(simd, y_rest, sum);
        }
    }
    #[inline(always)]
    fn add_outer<S: Simd, const TERMS: usize>(
        simd: S,
        y: &mut [Self],
        b: Option<&[Self]>,
        x: [&[Self]; TERMS],
        t: [&[Self]; TERMS],
    ) {
        let (d, n) = (x[0].len(), t[0].len());
        let mut first = 0;
        while first < d {
            let letters = (d - first).min(4);
            let part = first * n..(first + letters) * n;
            let (y, b) = (&mut y[part.clone()], b.map(|b| &b[part]));
            let mut rest = x;
            for x in &mut rest {
                *x = &x[first..];
            }
            match letters {
                1 => add_outer_group::<S, T, TERMS, 1>(simd, y, b, rest, t),
                2 => add_outer_group::<S, T, TERMS, 2>(simd, y, b, rest, t),
                3 => add_outer_group::<S, T, TERMS, 3>(simd, y, b, rest, t),
                _ => add_outer_group::<S, T, TERMS, 4>(simd, y, b, rest, t),
            }
            first += letters;
        }
    }
    #[inline(always)]
    fn add_two_group<S: Simd, const TERMS: usize, const G: usize>(
        simd: S,
        [z, y]: [&mut [Self]; 2],
        half: Self,
        terms: [Term<'_, Self>; TERMS],
        offset: usize,
        (first, last): (usize, bool),
    ) {
        let (n, all, zero) = (terms[0].t.len(), y.len(), T::broadcast(simd, T::ZERO));
        let stride = all / terms[0].x.len();
        let mut letters = [[zero; G]; TERMS];
        let (mut ts, mut t_rests): SplitRows<'_, T, S, TERMS> = ([&[]; TERMS], [&[]; TERMS]);
        let (mut us, mut u_rests): SplitRows<'_, T, S, TERMS> = ([&[]; TERMS], [&[]; TERMS]);
        for (term, &Term { x, t, u }) in terms.iter().enumerate() {
            (ts[term], t_rests[term]) = T::split::<S>(&t[..n]);
            (us[term], u_rests[term]) = T::split::<S>(&u[..n]);
            for b in 0..G {
                letters[term][b] = T::broadcast(simd, x[first + b]);
            }
        }
        let whole = ts[0].len();
        for term in 0..TERMS {
            (ts[term], us[term]) = (&ts[term][..whole], &us[term][..whole]);
        }
        for (a, y) in y.chunks_exact_mut(stride).enumerate() {
            let (mut once, mut twice) = ([zero; TERMS], [zero; TERMS]);
            for term in 0..TERMS {
                let x = terms[term].x[a];
                (once[term], twice[term]) = (T::broadcast(simd, x), T::broadcast(simd, x * half));
            }
            let (y, y_rest) = T::split_mut::<S>(&mut y[offset..offset + n]);
            let mut zs: [&mut [T::V<S>]; G] = std::array::from_fn(|_| Default::default());
            let mut z_rests: [&mut [T]; G] = std::array::from_fn(|_| Default::default());
            for (b, z) in z.chunks_exact_mut(all).enumerate() {
                let (row, rest) = T::split_mut::<S>(&mut z[a * stride + offset..][..n]);
                (zs[b], z_rests[b]) = (&mut row[..whole], rest);
            }
            for (i, y) in y[..whole].iter_mut().enumerate() {
                let (mut sum, mut sums) = (*y, [zero; G]);
                for b in 0..G {
                    sums[b] = zs[b][i];
                }
                for term in 0..TERMS {
                    let risen = T::multiply_add(simd, ts[term][i], twice[term], sum);
                    sum = T::multiply_add(simd, us[term][i], once[term], sum);
                    for b in 0..G {
                        sums[b] = T::multiply_add(simd, risen, letters[term][b], sums[b]);
                    }
                }
                for b in 0..G {
                    zs[b][i] = sums[b];
                }
                if last {
                    *y = sum;
                }
            }
            if !y_rest.is_empty() {
                let (mut sum, mut sums) = (T::load(simd, y_rest), [zero; G]);
                for b in 0..G {
                    sums[b] = T::load(simd, z_rests[b]);
                }
                for term in 0..TERMS {
                    let risen = T::multiply_add(simd, T::load(simd, t_rests[term]), twice[term], sum);
                    sum = T::multiply_add(simd, T::load(simd, u_rests[term]), once[term], sum);
                    for b in 0..G {
                        sums[b] = T::multiply_add(simd, risen, letters[term][b], sums[b]);
                    }
                }
                for b in 0..G {
                    T::store(simd, z_rests[b], sums[b]);
                }
                if last {
                    T::store(simd, y_rest, sum);
                }
            }
        }
    }
    #[inline(always)]
    fn axpb<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self], b: &[Self]) {
        if const { S::IS_SCALAR } {
            return scalar::axpb(y, a, x, b);
        }
        let a = T::broadcast(simd, a);
        let ((y, y_rest), (x, x_rest), (b, b_rest)) = (T::split_mut::<S>(y), T::split::<S>(x), T::split::<S>(b));
        for ((y, &x), &b) in y.iter_mut().zip(x).zip(b) {
            *y = T::multiply_add(simd, x, a, b);
        }
        if !y_rest.is_empty() {
            let sum = T::multiply_add(simd, T::load(simd, x_rest), a, T::load(simd, b_rest));
            T::store(simd, y_rest, sum);
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]) {
        if const { S::IS_SCALAR } {
            return scalar::scale(y, a, x);
        }
        if y.len() <= MIN_VECTOR_LEN {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = x * a;
            }
            return;
        }
        let a = T::broadcast(simd, a);
        let ((y, y_rest), (x, x_rest)) = (T::split_mut::<S>(y), T::split::<S>(x));
        for (y, &x) in y.iter_mut().zip(x) {
            *y = T::times(simd, x, a);
        }
        if !y_rest.is_empty() {
            T::store(simd, y_rest, T::times(simd, T::load(simd, x_rest), a));
        }
    }
    #[inline(always)]
    fn dot<S: Simd>(simd: S, a: &[Self], b: &[Self]) -> Self {
        if const { S::IS_SCALAR } {
            return scalar::dot(a, b);
        }
        let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
        let mut sums = [T::multiply_add(simd, T::load(simd, a_rest), T::load(simd, b_rest), T::broadcast(simd, T::ZERO)); 4];
        sums[1] = T::broadcast(simd, T::ZERO);
        sums[2] = sums[1];
        sums[3] = sums[1];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        for (a, b) in a.iter().zip(b) {
            sums[0] = T::multiply_add(simd, a[0], b[0], sums[0]);
            sums[1] = T::multiply_add(simd, a[1], b[1], sums[1]);
            sums[2] = T::multiply_add(simd, a[2], b[2], sums[2]);
            sums[3] = T::multiply_add(simd, a[3], b[3], sums[3]);
        }
        for (&a, &b) in a_rest.iter().zip(b_rest) {
            sums[1] = T::multiply_add(simd, a, b, sums[1]);
        }
        let (even, odd) = (T::plus(simd, sums[0], sums[2]), T::plus(simd, sums[1], sums[3]));
        <T as Vector>::total(simd, T::plus(simd, even, odd))
    }
    #[inline(always)]
    fn contract<S: Simd>(simd: S, g: &[Self], [x, t]: [&[Self]; 2], factor: Self, below: &mut [Self], dx: &mut [Self]) {
        below.fill(T::ZERO);
        let (n, whole) = (t.len(), x.len() / 4 * 4);
        for (a, g) in g.chunks_exact(4 * n).enumerate() {
            contract_group::<S, T, 4>(simd, g, &x[4 * a..], t, factor, below, &mut dx[4 * a..]);
        }
        let (g, x, dx) = (&g[whole * n..], &x[whole..], &mut dx[whole..]);
        match x.len() {
            1 => contract_group::<S, T, 1>(simd, g, x, t, factor, below, dx),
            2 => contract_group::<S, T, 2>(simd, g, x, t, factor, below, dx),
            3 => contract_group::<S, T, 3>(simd, g, x, t, factor, below, dx),
            _ => (),
        }
    }
    #[inline(always)]
    fn gather<S: Simd>(_: S, rows: &[&[T]], out: &mut [Self]) {
        for row in rows {
            out.copy_from_slice(&row[..out.len()]);
        }
    }
}

/// The loops without vector instructions. They are not inlined, to keep the code small.
mod scalar {
    use crate::Float;

    #[inline(never)]
    pub(super) fn axpy<T: Float>(y: &mut [T], a: T, x: &[T]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = x * a + *y;
        }
    }

    #[inline(never)]
    pub(super) fn axpb<T: Float>(y: &mut [T], a: T, x: &[T], b: &[T]) {
        for ((y, &x), &b) in y.iter_mut().zip(x).zip(b) {
            *y = x * a + b;
        }
    }

    #[inline(never)]
    pub(super) fn scale<T: Float>(y: &mut [T], a: T, x: &[T]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = x * a;
        }
    }

    /// In independent partial sums, as with registers.
    #[inline(never)]
    pub(super) fn dot<T: Float>(a: &[T], b: &[T]) -> T {
        let mut sums = [T::ZERO; 8];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
        for (a, b) in a.iter().zip(b) {
            for i in 0..8 {
                sums[i] = a[i] * b[i] + sums[i];
            }
        }
        for ((&a, &b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
            *sum = a * b + *sum;
        }
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
    }
}

/// `G` letters of [`Number::add_outer`] in one pass: each register of `t` is loaded once for all of them.
#[inline(always)]
fn add_outer_group<S: Simd, T: Float, const TERMS: usize, const G: usize>(
    simd: S,
    mut y: &mut [T],
    b: Option<&[T]>,
    x: [&[T]; TERMS],
    t: [&[T]; TERMS],
) {
    let n = t[0].len();
    let (mut ts, mut t_rests): SplitRows<'_, T, S, TERMS> = ([&[]; TERMS], [&[]; TERMS]);
    let zero = T::broadcast(simd, T::ZERO);
    let mut letters = [[zero; G]; TERMS];
    for term in 0..TERMS {
        (ts[term], t_rests[term]) = T::split::<S>(&t[term][..n]);
        for a in 0..G {
            letters[term][a] = T::broadcast(simd, x[term][a]);
        }
    }
    let whole = ts[0].len();
    for term in 0..TERMS {
        ts[term] = &ts[term][..whole];
    }
    let mut ys: [&mut [T::V<S>]; G] = std::array::from_fn(|_| Default::default());
    let mut y_rests: [&mut [T]; G] = std::array::from_fn(|_| Default::default());
    let (mut bs, mut b_rests): SplitRows<'_, T, S, G> = ([&[]; G], [&[]; G]);
    for a in 0..G {
        let (row, rest) = y.split_at_mut(n);
        y = rest;
        let (row, rest) = T::split_mut::<S>(row);
        (ys[a], y_rests[a]) = (&mut row[..whole], rest);
        if let Some(b) = b {
            let (row, rest) = T::split::<S>(&b[a * n..(a + 1) * n]);
            (bs[a], b_rests[a]) = (&row[..whole], rest);
        }
    }
    let given = b.is_some();
    for i in 0..whole {
        let (mut factors, mut sums) = ([zero; TERMS], [zero; G]);
        for term in 0..TERMS {
            factors[term] = ts[term][i];
        }
        for a in 0..G {
            sums[a] = if given { bs[a][i] } else { ys[a][i] };
            for term in 0..TERMS {
                sums[a] = T::multiply_add(simd, factors[term], letters[term][a], sums[a]);
            }
        }
        for a in 0..G {
            ys[a][i] = sums[a];
        }
    }
    if !t_rests[0].is_empty() {
        for a in 0..G {
            let mut sum = T::load(simd, if given { b_rests[a] } else { y_rests[a] });
            for term in 0..TERMS {
                sum = T::multiply_add(simd, T::load(simd, t_rests[term]), letters[term][a], sum);
            }
            T::store(simd, y_rests[a], sum);
        }
    }
}

/// `G` letters of [`Number::contract`] in one pass, their sums in registers.
#[inline(always)]
fn contract_group<S: Simd, T: Float, const G: usize>(
    simd: S,
    g: &[T],
    x: &[T],
    t: &[T],
    factor: T,
    below: &mut [T],
    dx: &mut [T],
) {
    let n = t.len();
    let (mut rows, mut rests): SplitRows<'_, T, S, G> = ([&[]; G], [&[]; G]);
    for a in 0..G {
        (rows[a], rests[a]) = T::split::<S>(&g[a * n..(a + 1) * n]);
    }
    let ((t, t_rest), (below, below_rest)) = (T::split::<S>(t), T::split_mut::<S>(below));
    let mut letters = [T::broadcast(simd, T::ZERO); G];
    for a in 0..G {
        letters[a] = T::broadcast(simd, x[a]);
    }
    let mut sums = [T::broadcast(simd, T::ZERO); G];
    for (i, (below, &t)) in below.iter_mut().zip(t).enumerate() {
        let mut sum = *below;
        for a in 0..G {
            let g = rows[a][i];
            sum = T::multiply_add(simd, g, letters[a], sum);
            sums[a] = T::multiply_add(simd, g, t, sums[a]);
        }
        *below = sum;
    }
    if !t_rest.is_empty() {
        let (t, mut sum) = (T::load(simd, t_rest), T::load(simd, below_rest));
        for a in 0..G {
            let g = T::load(simd, rests[a]);
            sum = T::multiply_add(simd, g, letters[a], sum);
            sums[a] = T::multiply_add(simd, g, t, sums[a]);
        }
        T::store(simd, below_rest, sum);
    }
    for a in 0..G {
        dx[a] = <T as Vector>::total(simd, sums[a]).fma(simd, factor, dx[a]);
    }
}
