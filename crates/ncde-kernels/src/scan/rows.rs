//! One step of a row: the same formula on every register, and on the part of one that is left over.

use ncde_simd::{Float, Simd};

use super::Numbers;

/// A formula on registers. Its second array goes in as it was and out as it will be.
trait Formula<T: Float, const IN: usize, const OUT: usize> {
    fn apply<S: Simd>(simd: S, x: [T::V<S>; IN], y: [T::V<S>; OUT]) -> [T::V<S>; OUT];
}

/// Applies a formula along rows of the same length.
#[inline(always)]
fn along<T: Float, S: Simd, F: Formula<T, IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    _: F,
    inputs: [&[T]; IN],
    outputs: [&mut [T]; OUT],
) {
    let zero = T::broadcast(simd, T::ZERO);
    let mut xs: [&[T::V<S>]; IN] = [&[]; IN];
    let mut x_rests: [&[T]; IN] = [&[]; IN];
    let mut ys: [&mut [T::V<S>]; OUT] = std::array::from_fn(|_| Default::default());
    let mut y_rests: [&mut [T]; OUT] = std::array::from_fn(|_| Default::default());
    let mut whole = usize::MAX;
    for (i, input) in inputs.into_iter().enumerate() {
        (xs[i], x_rests[i]) = T::split::<S>(input);
        whole = whole.min(xs[i].len());
    }
    for (i, output) in outputs.into_iter().enumerate() {
        (ys[i], y_rests[i]) = T::split_mut::<S>(output);
        whole = whole.min(ys[i].len());
    }
    for j in 0..whole {
        let (mut x, mut y) = ([zero; IN], [zero; OUT]);
        for i in 0..IN {
            x[i] = xs[i][j];
        }
        for i in 0..OUT {
            y[i] = ys[i][j];
        }
        let y = F::apply(simd, x, y);
        for i in 0..OUT {
            ys[i][j] = y[i];
        }
    }
    if !y_rests[0].is_empty() {
        let (mut x, mut y) = ([zero; IN], [zero; OUT]);
        for i in 0..IN {
            x[i] = T::load(simd, x_rests[i]);
        }
        for i in 0..OUT {
            y[i] = T::load(simd, y_rests[i]);
        }
        let y = F::apply(simd, x, y);
        for i in 0..OUT {
            T::store(simd, y_rests[i], y[i]);
        }
    }
}

/// `a h + b` on registers: real and imaginary parts.
#[inline(always)]
fn complex<T: Float, S: Simd>(simd: S, a: [T::V<S>; 2], h: [T::V<S>; 2], b: [T::V<S>; 2]) -> [T::V<S>; 2] {
    let minus = T::times(simd, a[1], T::broadcast(simd, -T::ONE));
    let real = T::multiply_add(simd, minus, h[1], T::multiply_add(simd, a[0], h[0], b[0]));
    let imaginary = T::multiply_add(simd, a[1], h[0], T::multiply_add(simd, a[0], h[1], b[1]));
    [real, imaginary]
}

/// `conj(a) h` on registers.
#[inline(always)]
fn conjugate_times<T: Float, S: Simd>(simd: S, a: [T::V<S>; 2], h: [T::V<S>; 2]) -> [T::V<S>; 2] {
    let zero = T::broadcast(simd, T::ZERO);
    let minus = T::times(simd, a[1], T::broadcast(simd, -T::ONE));
    complex::<T, S>(simd, [a[0], minus], h, [zero, zero])
}

/// `out = a h + b`.
#[inline(always)]
pub(super) fn advance<T: Float, S: Simd>(simd: S, numbers: Numbers, [a, h, b]: [&[T]; 3], out: &mut [T]) {
    match numbers {
        Numbers::Real => along(simd, Advance, [a, h, b], [out]),
        Numbers::Complex => {
            let ([ar, ai], [hr, hi], [br, bi], [or, oi]) = (parts(a), parts(h), parts(b), parts_mut(out));
            along(simd, Advance, [ar, ai, hr, hi, br, bi], [or, oi]);
        }
    }
}

struct Advance;

impl<T: Float> Formula<T, 3, 1> for Advance {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [a, h, b]: [T::V<S>; 3], _: [T::V<S>; 1]) -> [T::V<S>; 1] {
        [T::multiply_add(simd, a, h, b)]
    }
}

impl<T: Float> Formula<T, 6, 2> for Advance {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [ar, ai, hr, hi, br, bi]: [T::V<S>; 6], _: [T::V<S>; 2]) -> [T::V<S>; 2] {
        complex::<T, S>(simd, [ar, ai], [hr, hi], [br, bi])
    }
}

/// `h = a h + b`, `p = a p`.
#[inline(always)]
pub(super) fn gather<T: Float, S: Simd>(simd: S, numbers: Numbers, [a, b]: [&[T]; 2], [h, p]: [&mut [T]; 2]) {
    match numbers {
        Numbers::Real => along(simd, Gather, [a, b], [h, p]),
        Numbers::Complex => {
            let ([ar, ai], [br, bi], [hr, hi], [pr, pi]) = (parts(a), parts(b), parts_mut(h), parts_mut(p));
            along(simd, Gather, [ar, ai, br, bi], [hr, hi, pr, pi]);
        }
    }
}

struct Gather;

impl<T: Float> Formula<T, 2, 2> for Gather {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [a, b]: [T::V<S>; 2], [h, p]: [T::V<S>; 2]) -> [T::V<S>; 2] {
        [T::multiply_add(simd, a, h, b), T::times(simd, a, p)]
    }
}

impl<T: Float> Formula<T, 4, 4> for Gather {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [ar, ai, br, bi]: [T::V<S>; 4], [hr, hi, pr, pi]: [T::V<S>; 4]) -> [T::V<S>; 4] {
        let zero = T::broadcast(simd, T::ZERO);
        let [hr, hi] = complex::<T, S>(simd, [ar, ai], [hr, hi], [br, bi]);
        let [pr, pi] = complex::<T, S>(simd, [ar, ai], [pr, pi], [zero, zero]);
        [hr, hi, pr, pi]
    }
}

/// `g = w + r`, `db = g`, `da = g conj(h)`, `r = conj(a) g`.
#[inline(always)]
pub(super) fn retreat<T: Float, S: Simd>(simd: S, numbers: Numbers, [w, a, h]: [&[T]; 3], [r, da, db]: [&mut [T]; 3]) {
    match numbers {
        Numbers::Real => along(simd, Retreat, [w, a, h], [r, da, db]),
        Numbers::Complex => {
            let ([wr, wi], [ar, ai], [hr, hi]) = (parts(w), parts(a), parts(h));
            let ([rr, ri], [dar, dai], [dbr, dbi]) = (parts_mut(r), parts_mut(da), parts_mut(db));
            along(simd, Retreat, [wr, wi, ar, ai, hr, hi], [rr, ri, dar, dai, dbr, dbi]);
        }
    }
}

struct Retreat;

impl<T: Float> Formula<T, 3, 3> for Retreat {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [w, a, h]: [T::V<S>; 3], [r, _, _]: [T::V<S>; 3]) -> [T::V<S>; 3] {
        let g = T::plus(simd, w, r);
        [T::times(simd, a, g), T::times(simd, h, g), g]
    }
}

impl<T: Float> Formula<T, 6, 6> for Retreat {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [wr, wi, ar, ai, hr, hi]: [T::V<S>; 6], [rr, ri, ..]: [T::V<S>; 6]) -> [T::V<S>; 6] {
        let g = [T::plus(simd, wr, rr), T::plus(simd, wi, ri)];
        let [rr, ri] = conjugate_times::<T, S>(simd, [ar, ai], g);
        let [dar, dai] = conjugate_times::<T, S>(simd, [hr, hi], g);
        [rr, ri, dar, dai, g[0], g[1]]
    }
}

/// `r = conj(a) (w + r)`, `p = conj(a) p`.
#[inline(always)]
pub(super) fn gather_back<T: Float, S: Simd>(simd: S, numbers: Numbers, [w, a]: [&[T]; 2], [r, p]: [&mut [T]; 2]) {
    match numbers {
        Numbers::Real => along(simd, GatherBack, [w, a], [r, p]),
        Numbers::Complex => {
            let ([wr, wi], [ar, ai], [rr, ri], [pr, pi]) = (parts(w), parts(a), parts_mut(r), parts_mut(p));
            along(simd, GatherBack, [wr, wi, ar, ai], [rr, ri, pr, pi]);
        }
    }
}

struct GatherBack;

impl<T: Float> Formula<T, 2, 2> for GatherBack {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [w, a]: [T::V<S>; 2], [r, p]: [T::V<S>; 2]) -> [T::V<S>; 2] {
        [T::times(simd, a, T::plus(simd, w, r)), T::times(simd, a, p)]
    }
}

impl<T: Float> Formula<T, 4, 4> for GatherBack {
    #[inline(always)]
    fn apply<S: Simd>(simd: S, [wr, wi, ar, ai]: [T::V<S>; 4], [rr, ri, pr, pi]: [T::V<S>; 4]) -> [T::V<S>; 4] {
        let g = [T::plus(simd, wr, rr), T::plus(simd, wi, ri)];
        let [rr, ri] = conjugate_times::<T, S>(simd, [ar, ai], g);
        let [pr, pi] = conjugate_times::<T, S>(simd, [ar, ai], [pr, pi]);
        [rr, ri, pr, pi]
    }
}

/// Real and imaginary parts.
#[inline(always)]
fn parts<T>(row: &[T]) -> [&[T]; 2] {
    let (real, imaginary) = row.split_at(row.len() / 2);
    [real, imaginary]
}

#[inline(always)]
fn parts_mut<T>(row: &mut [T]) -> [&mut [T]; 2] {
    let (real, imaginary) = row.split_at_mut(row.len() / 2);
    [real, imaginary]
}
