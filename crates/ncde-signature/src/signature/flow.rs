//! A whole interval: `S = exp(x_1) ... exp(x_m)`, and its reverse pass in memory `O(sqrt(m) |S|)`.
//!
//! The forward pass multiplies from the left, last increment first. The reverse pass needs every intermediate state: it keeps
//! one in about `sqrt(m)`, and redoes the forward pass from one kept state to the next. (Stepping back with `exp(-x)` would need
//! no memory, but its rounding errors grow with the path.)

use crate::algebra::Shape;
use crate::number::Number;
use crate::signature::step;

/// Increments in the order in which the steps take them: `x(tau)` is that of step `tau`.
pub(crate) trait Order: Copy {
    fn place(self, step: usize, steps: usize) -> usize;
}

/// The last increment first: states are signatures of the path's tails.
#[derive(Clone, Copy)]
pub(crate) struct Backwards;

/// The first increment first: states are mirrored signatures of the path's prefixes.
#[derive(Clone, Copy)]
pub(crate) struct Forwards;

impl Order for Backwards {
    #[inline(always)]
    fn place(self, step: usize, steps: usize) -> usize {
        steps - 1 - step
    }
}

impl Order for Forwards {
    #[inline(always)]
    fn place(self, step: usize, _: usize) -> usize {
        step
    }
}

/// `[steps, width]` increments and their order.
#[derive(Clone, Copy)]
pub(crate) struct Increments<'a, E, O> {
    pub(crate) values: &'a [E],
    pub(crate) order: O,
}

impl<'a, E, O: Order> Increments<'a, E, O> {
    #[inline(always)]
    fn step(&self, tau: usize, width: usize) -> &'a [E] {
        let place = self.order.place(tau, self.values.len() / width);
        &self.values[place * width..][..width]
    }
}

/// The states a reverse pass keeps: `keep` apart, and all of the stretch between two kept ones.
#[derive(Debug)]
pub(crate) struct Checkpoints<E> {
    keep: Vec<E>,
    stretch: Vec<E>,
    state: Vec<E>,
    stride: usize,
}

impl<E: Number> Checkpoints<E> {
    pub(crate) fn new(shape: &Shape, steps: usize) -> Self {
        let stride = stride(steps);
        let rows = |n: usize| vec![E::zero(); n * shape.len()];
        Self { keep: rows(steps.div_ceil(stride)), stretch: rows(stride), state: rows(1), stride }
    }
}

fn stride(steps: usize) -> usize {
    steps.isqrt().max(1)
}

/// How many states a reverse pass over so many steps holds at once.
pub(crate) fn kept_states(steps: usize) -> usize {
    stride(steps) + steps.div_ceil(stride(steps)) + 1
}

/// `s = exp(x_1) ... exp(x_m)` in the usual layout ([`Backwards`]) or mirrored ([`Forwards`]); `after(tau, s)` sees every state.
#[inline(always)]
pub(crate) fn forward<E: Number, O: Order, const FUSED: bool>(
    shape: &Shape,
    x: Increments<'_, E, O>,
    s: &mut [E],
    scratch: &mut [E],
    mut after: impl FnMut(usize, &[E]),
) {
    s.fill(E::zero());
    for tau in 0..x.values.len() / shape.width() {
        step::forward::<E, FUSED>(shape, s, x.step(tau, shape.width()), scratch);
        after(tau, s);
    }
}

/// The reverse pass. `seed(tau, state after step tau, adjoint)` adds the gradient of that state to the adjoint, from the last
/// step to the first; `dx` gets the gradient of the increments, in their own places.
#[inline(always)]
pub(crate) fn backward<E: Number, O: Order, const FUSED: bool>(
    shape: &Shape,
    x: Increments<'_, E, O>,
    kept: &mut Checkpoints<E>,
    adjoint: &mut [E],
    dx: &mut [E],
    scratch: &mut [E],
    mut seed: impl FnMut(usize, &[E], &mut [E]),
) {
    let (d, len) = (shape.width(), shape.len());
    let steps = x.values.len() / d;
    let Checkpoints { keep, stretch, state, stride } = kept;
    adjoint.fill(E::zero());
    state.fill(E::zero());
    for tau in 0..steps {
        if tau.is_multiple_of(*stride) {
            keep[tau / *stride * len..][..len].copy_from_slice(state);
        }
        step::forward::<E, FUSED>(shape, state, x.step(tau, d), scratch);
    }
    for first in (0..steps).step_by(*stride).rev() {
        // `state` is the one at the end of this stretch.
        let last = (first + *stride).min(steps);
        stretch[..len].copy_from_slice(&keep[first / *stride * len..][..len]);
        for tau in first + 1..last {
            let (before, own) = stretch.split_at_mut((tau - first) * len);
            let own = &mut own[..len];
            own.copy_from_slice(&before[(tau - 1 - first) * len..]);
            step::forward::<E, FUSED>(shape, own, x.step(tau - 1, d), scratch);
        }
        for tau in (first..last).rev() {
            let row = |tau: usize| &stretch[(tau - first) * len..][..len];
            seed(tau, if tau + 1 < last { row(tau + 1) } else { state }, adjoint);
            let place = x.order.place(tau, steps) * d;
            step::backward::<E, FUSED>(shape, row(tau), x.step(tau, d), adjoint, &mut dx[place..place + d], scratch);
        }
        state.copy_from_slice(&stretch[..len]);
    }
}
