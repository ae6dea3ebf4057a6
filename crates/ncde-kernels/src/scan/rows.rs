//! One step of a row: the same formula on every register, and on the part of one that is left over.

use ncde_simd::{Float, Simd};

use super::Numbers;

/// A formula on numbers of `P` parts in registers: real ones, or real and imaginary parts. Its second array goes in as it was and out as it
/// will be.
pub(super) trait Formula<T: Float, const IN: usize, const OUT: usize> {
    fn apply<S: Simd, const P: usize>(simd: S, x: [[T::V<S>; P]; IN], y: [[T::V<S>; P]; OUT]) -> [[T::V<S>; P]; OUT];
}

/// Applies a formula along rows of the same length.
#[inline(always)]
pub(super) fn along<T: Float, S: Simd, F: Formula<T, IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    numbers: Numbers,
    formula: F,
    inputs: [&[T]; IN],
    outputs: [&mut [T]; OUT],
) {
    match numbers {
        Numbers::Real => along_parts::<T, S, F, 1, IN, OUT>(simd, formula, inputs, outputs),
        Numbers::Complex => along_parts::<T, S, F, 2, IN, OUT>(simd, formula, inputs, outputs),
    }
}

#[inline(always)]
fn along_parts<T: Float, S: Simd, F: Formula<T, IN, OUT>, const P: usize, const IN: usize, const OUT: usize>(
    simd: S,
    _: F,
    inputs: [&[T]; IN],
    outputs: [&mut [T]; OUT],
) {
    let zero = T::broadcast(simd, T::ZERO);
    let width = outputs[0].len() / P;
    let mut xs: [[&[T::V<S>]; P]; IN] = [[&[]; P]; IN];
    let mut x_rests: [[&[T]; P]; IN] = [[&[]; P]; IN];
    let mut ys: [[&mut [T::V<S>]; P]; OUT] = std::array::from_fn(|_| std::array::from_fn(|_| Default::default()));
    let mut y_rests: [[&mut [T]; P]; OUT] = std::array::from_fn(|_| std::array::from_fn(|_| Default::default()));
    let mut whole = usize::MAX;
    for (i, input) in inputs.into_iter().enumerate() {
        for p in 0..P {
            (xs[i][p], x_rests[i][p]) = T::split::<S>(&input[p * width..][..width]);
            whole = whole.min(xs[i][p].len());
        }
    }
    for (i, mut output) in outputs.into_iter().enumerate() {
        for p in 0..P {
            let (part, rest) = output.split_at_mut(width);
            output = rest;
            (ys[i][p], y_rests[i][p]) = T::split_mut::<S>(part);
            whole = whole.min(ys[i][p].len());
        }
    }
    for j in 0..whole {
        let (mut x, mut y) = ([[zero; P]; IN], [[zero; P]; OUT]);
        for p in 0..P {
            for i in 0..IN {
                x[i][p] = xs[i][p][j];
            }
            for i in 0..OUT {
                y[i][p] = ys[i][p][j];
            }
        }
        let y = F::apply(simd, x, y);
        for i in 0..OUT {
            for p in 0..P {
                ys[i][p][j] = y[i][p];
            }
        }
    }
    if !y_rests[0][0].is_empty() {
        let (mut x, mut y) = ([[zero; P]; IN], [[zero; P]; OUT]);
        for p in 0..P {
            for i in 0..IN {
                x[i][p] = T::load(simd, x_rests[i][p]);
            }
            for i in 0..OUT {
                y[i][p] = T::load(simd, y_rests[i][p]);
            }
        }
        let y = F::apply(simd, x, y);
        for i in 0..OUT {
            for p in 0..P {
                T::store(simd, y_rests[i][p], y[i][p]);
            }
        }
    }
}

/// `a h + b`.
#[inline(always)]
fn multiply_add<T: Float, S: Simd, const P: usize>(
    simd: S,
    a: [T::V<S>; P],
    h: [T::V<S>; P],
    mut b: [T::V<S>; P],
) -> [T::V<S>; P] {
    for p in 0..P {
        b[p] = T::multiply_add(simd, a[0], h[p], b[p]);
    }
    if P == 2 {
        b[0] = T::multiply_add(simd, negative::<T, S>(simd, a[1]), h[1], b[0]);
        b[1] = T::multiply_add(simd, a[1], h[0], b[1]);
    }
    b
}

/// `a h`.
#[inline(always)]
fn multiply<T: Float, S: Simd, const P: usize>(simd: S, a: [T::V<S>; P], mut h: [T::V<S>; P]) -> [T::V<S>; P] {
    if P == 2 {
        return multiply_add::<T, S, P>(simd, a, h, [T::broadcast(simd, T::ZERO); P]);
    }
    h[0] = T::times(simd, a[0], h[0]);
    h
}

/// `conj(a) h`.
#[inline(always)]
fn conjugate_multiply<T: Float, S: Simd, const P: usize>(simd: S, mut a: [T::V<S>; P], h: [T::V<S>; P]) -> [T::V<S>; P] {
    if P == 2 {
        a[1] = negative::<T, S>(simd, a[1]);
    }
    multiply::<T, S, P>(simd, a, h)
}

#[inline(always)]
fn add<T: Float, S: Simd, const P: usize>(simd: S, mut x: [T::V<S>; P], y: [T::V<S>; P]) -> [T::V<S>; P] {
    for p in 0..P {
        x[p] = T::plus(simd, x[p], y[p]);
    }
    x
}

#[inline(always)]
fn negative<T: Float, S: Simd>(simd: S, x: T::V<S>) -> T::V<S> {
    T::times(simd, x, T::broadcast(simd, -T::ONE))
}

/// `out = a h + b`.
pub(super) struct Advance;

impl<T: Float> Formula<T, 3, 1> for Advance {
    #[inline(always)]
    fn apply<S: Simd, const P: usize>(simd: S, [a, h, b]: [[T::V<S>; P]; 3], _: [[T::V<S>; P]; 1]) -> [[T::V<S>; P]; 1] {
        [multiply_add::<T, S, P>(simd, a, h, b)]
    }
}

/// `h = a h + b`, `p = a p`.
pub(super) struct Gather;

impl<T: Float> Formula<T, 2, 2> for Gather {
    #[inline(always)]
    fn apply<S: Simd, const P: usize>(simd: S, [a, b]: [[T::V<S>; P]; 2], [h, p]: [[T::V<S>; P]; 2]) -> [[T::V<S>; P]; 2] {
        [multiply_add::<T, S, P>(simd, a, h, b), multiply::<T, S, P>(simd, a, p)]
    }
}

/// `g = w + r`, `r = conj(a) g`, `da += conj(h) g`, `db = g`.
pub(super) struct Retreat;

impl<T: Float> Formula<T, 3, 3> for Retreat {
    #[inline(always)]
    fn apply<S: Simd, const P: usize>(
        simd: S,
        [w, a, mut h]: [[T::V<S>; P]; 3],
        [r, da, _]: [[T::V<S>; P]; 3],
    ) -> [[T::V<S>; P]; 3] {
        let g = add::<T, S, P>(simd, w, r);
        if P == 2 {
            h[1] = negative::<T, S>(simd, h[1]);
        }
        [conjugate_multiply::<T, S, P>(simd, a, g), multiply_add::<T, S, P>(simd, h, g, da), g]
    }
}

/// `r = conj(a) (w + r)`, `p = conj(a) p`.
pub(super) struct GatherBack;

impl<T: Float> Formula<T, 2, 2> for GatherBack {
    #[inline(always)]
    fn apply<S: Simd, const P: usize>(simd: S, [w, a]: [[T::V<S>; P]; 2], [r, p]: [[T::V<S>; P]; 2]) -> [[T::V<S>; P]; 2] {
        let g = add::<T, S, P>(simd, w, r);
        [conjugate_multiply::<T, S, P>(simd, a, g), conjugate_multiply::<T, S, P>(simd, a, p)]
    }
}
