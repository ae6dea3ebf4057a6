//! A whole interval: `S = exp(x_1) ... exp(x_m)`, and its reverse pass in memory `O(sqrt(m) |S|)`.
//!
//! The forward pass multiplies from the left, last increment first. The reverse pass needs every intermediate state (below the
//! last level): it stores one in about `sqrt(m)`, and repeats the forward pass from one stored state to the next. (Stepping back with
//! `exp(-x)` would need no memory, but its rounding errors grow with the path.)

use crate::algebra::Shape;
use crate::signature::step;
use ncde_simd::{Buffer, Number, Simd};

/// Increments in the order in which the steps take them: `x(tau)` is that of step `tau`.
pub(crate) trait StepOrder: Copy {
    fn position(self, step: usize, steps: usize) -> usize;
}

/// The last increment first: states are signatures of the path's tails.
#[derive(Clone, Copy)]
pub(crate) struct Backwards;

/// The first increment first: states are mirrored signatures of the path's prefixes.
#[derive(Clone, Copy)]
pub(crate) struct Forwards;

impl StepOrder for Backwards {
    #[inline(always)]
    fn position(self, step: usize, steps: usize) -> usize {
        steps - 1 - step
    }
}

impl StepOrder for Forwards {
    #[inline(always)]
    fn position(self, step: usize, _: usize) -> usize {
        step
    }
}

/// `[steps, width]` increments and their order.
#[derive(Clone, Copy)]
pub(crate) struct Increments<'a, E, O> {
    pub(crate) values: &'a [E],
    pub(crate) order: O,
}

impl<'a, E, O: StepOrder> Increments<'a, E, O> {
    #[inline(always)]
    fn step(&self, tau: usize, width: usize) -> &'a [E] {
        let position = self.order.position(tau, self.values.len() / width);
        &self.values[position * width..][..width]
    }
}

/// The number of steps whose last levels, most of the work, are read and written together.
const GROUPED_STEPS: usize = 4;

/// A state and what its steps need.
#[derive(Debug)]
pub(crate) struct Track<E> {
    pub(crate) state: Buffer<E>,
    scratch: Buffer<E>,
    chains: [Buffer<E>; GROUPED_STEPS],
}

impl<E: Number> Track<E> {
    /// The numbers that [`new`](Self::new) allocates.
    pub(crate) fn workspace_len(shape: &Shape) -> usize {
        shape.len() + step::scratch(shape) + GROUPED_STEPS * step::chain_len(shape)
    }

    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            state: Buffer::zeros(shape.len()),
            scratch: Buffer::zeros(step::scratch(shape)),
            chains: std::array::from_fn(|_| Buffer::zeros(step::chain_len(shape))),
        }
    }

    /// `state <- exp(x) state`.
    #[inline(always)]
    pub(crate) fn step<S: Simd>(&mut self, simd: S, shape: &Shape, x: &[E]) {
        step::forward(simd, shape, &mut self.state, x, &mut self.scratch, &mut self.chains[0]);
    }
}

/// `track.state = exp(x_1) ... exp(x_m)` in the usual layout ([`Backwards`]) or mirrored ([`Forwards`]).
#[inline(always)]
pub(crate) fn forward<S: Simd, E: Number, O: StepOrder>(simd: S, shape: &Shape, x: Increments<'_, E, O>, track: &mut Track<E>) {
    let d = shape.width();
    let steps = x.values.len() / d;
    track.state.fill(E::ZEROS);
    let Track { state, scratch, chains } = track;
    let (whole, waiting) = (steps / GROUPED_STEPS * GROUPED_STEPS, step::waiting::<E>(shape));
    for first in (0..whole).step_by(GROUPED_STEPS) {
        let xs: [&[E]; GROUPED_STEPS] = std::array::from_fn(|i| x.step(first + i, d));
        for (x, chain) in xs.iter().zip(&mut *chains) {
            match waiting {
                3 => step::advance_all_but::<S, E, 3>(simd, shape, state, x, scratch, chain),
                2 => step::advance_all_but::<S, E, 2>(simd, shape, state, x, scratch, chain),
                _ => step::advance(simd, shape, state, x, scratch, chain),
            }
        }
        match waiting {
            3 => step::finish_three(simd, shape, state, xs, chains.each_mut().map(|chain| &mut **chain)),
            2 => step::finish_two(simd, shape, state, xs, chains.each_ref().map(|chain| &**chain)),
            _ => step::finish(simd, shape, state, xs, chains.each_ref().map(|chain| &**chain)),
        }
    }
    for tau in whole..steps {
        step::forward(simd, shape, state, x.step(tau, d), scratch, &mut chains[0]);
    }
}

/// The memory of a reverse pass, without the last level of states: every `stride`-th state in `states`, and all states of one stretch in `stretch`.
#[derive(Debug)]
pub(crate) struct Checkpoints<E> {
    lower: Shape,
    states: Buffer<E>,
    stretch: Buffer<E>,
    track: Track<E>,
    adjoint: Buffer<E>,
    scratch: Buffer<E>,
    stride: usize,
    /// The distance from one state to the next.
    row: usize,
}

impl<E: Number> Checkpoints<E> {
    /// The most numbers that [`new`](Self::new) allocates.
    pub(crate) fn workspace_len(shape: &Shape, steps: usize) -> usize {
        let states = stride(steps) + steps.div_ceil(stride(steps));
        let track = Track::<E>::workspace_len(shape);
        states.saturating_mul(step::chain_len(shape)).saturating_add(track + shape.len() + step::scratch_backward(shape))
    }

    /// Memory for up to `steps` steps.
    pub(crate) fn new(shape: &Shape, steps: usize) -> Self {
        let lower = shape.lower();
        let stride = stride(steps);
        let row = step::chain_len(shape);
        Self {
            states: Buffer::zeros(steps.div_ceil(stride) * row),
            stretch: Buffer::zeros(stride * row),
            track: Track::new(if lower.depth() > 0 { &lower } else { shape }),
            adjoint: Buffer::zeros(shape.len()),
            scratch: Buffer::zeros(step::scratch_backward(shape)),
            lower,
            stride,
            row,
        }
    }
}

/// The gradients of states that enter a reverse pass. (A trait: a closure would not be compiled for the kernel's instruction set.)
pub(crate) trait Seed<E> {
    /// Adds the gradient of the state after step `tau` to `adjoint`; `state` is without its last level.
    fn add<S: Simd>(&mut self, simd: S, tau: usize, state: &[E], adjoint: &mut [E]);
}

/// A step of states without their last level. Those of depth 1 are empty.
#[inline(always)]
fn step_lower<S: Simd, E: Number>(simd: S, lower: &Shape, state: &mut [E], x: &[E], scratch: &mut [E], chain: &mut [E]) {
    if lower.depth() > 0 {
        step::forward(simd, lower, state, x, scratch, chain);
    }
}

fn stride(steps: usize) -> usize {
    steps.isqrt().max(1)
}

/// The reverse pass, from the last step to the first; `dx` gets the gradient of the increments, in their own places.
#[inline(always)]
pub(crate) fn backward<S: Simd, E: Number, O: StepOrder>(
    simd: S,
    shape: &Shape,
    x: Increments<'_, E, O>,
    checkpoints: &mut Checkpoints<E>,
    dx: &mut [E],
    seed: &mut impl Seed<E>,
) {
    let d = shape.width();
    let steps = x.values.len() / d;
    let Checkpoints { lower, states: checkpoints, stretch, track, adjoint, scratch, stride, row } = checkpoints;
    let (stride, row, len) = (*stride, *row, lower.len());
    let Track { state, scratch: memory, chains: [chain, ..] } = track;
    state.fill(E::ZEROS);
    for tau in 0..steps {
        if tau.is_multiple_of(stride) {
            checkpoints[tau / stride * row..][..len].copy_from_slice(&state[..len]);
        }
        step_lower(simd, lower, state, x.step(tau, d), memory, chain);
    }
    adjoint.fill(E::ZEROS);
    for first in (0..steps).step_by(stride).rev() {
        let last = (first + stride).min(steps);
        stretch[..len].copy_from_slice(&checkpoints[first / stride * row..][..len]);
        for tau in first + 1..last {
            let (before, rest) = stretch.split_at_mut((tau - first) * row);
            let state = &mut rest[..len];
            state.copy_from_slice(&before[(tau - 1 - first) * row..][..len]);
            step_lower(simd, lower, state, x.step(tau - 1, d), memory, chain);
        }
        for tau in (first..last).rev() {
            let before = &stretch[(tau - first) * row..][..len];
            let after = if tau + 1 < last {
                &stretch[(tau + 1 - first) * row..][..len]
            } else if last < steps {
                &checkpoints[last / stride * row..][..len]
            } else {
                &state[..len]
            };
            seed.add(simd, tau, after, adjoint);
            let start = x.order.position(tau, steps) * d;
            step::backward(simd, shape, before, x.step(tau, d), adjoint, &mut dx[start..start + d], scratch);
        }
    }
}
