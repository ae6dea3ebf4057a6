//! A whole interval: `S = exp(x_1) ... exp(x_m)`, and its reverse pass in memory `O(sqrt(m) |S|)`.
//!
//! The forward pass multiplies from the left, last increment first. The reverse pass needs every intermediate state (below the
//! last level): it keeps one in about `sqrt(m)`, and redoes the forward pass from one kept state to the next. (Stepping back with
//! `exp(-x)` would need no memory, but its rounding errors grow with the path.)

use crate::algebra::Shape;
use crate::signature::buffer::Buffer;
use crate::signature::step;
use ncde_simd::Number;
use ncde_simd::Simd;

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

/// Steps whose last level or two, most of the work, are read and written once for all of them.
const TOGETHER: usize = 4;

/// A state and what its steps need.
#[derive(Debug)]
pub(crate) struct Track<E> {
    pub(crate) state: Buffer<E>,
    scratch: Buffer<E>,
    chains: [Buffer<E>; TOGETHER],
}

impl<E: Number> Track<E> {
    /// How many numbers [`new`](Self::new) asks for.
    pub(crate) fn room(shape: &Shape) -> usize {
        shape.len() + step::scratch(shape) + TOGETHER * step::chain_len(shape)
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
pub(crate) fn forward<S: Simd, E: Number, O: Order>(simd: S, shape: &Shape, x: Increments<'_, E, O>, track: &mut Track<E>) {
    let d = shape.width();
    let steps = x.values.len() / d;
    track.state.fill(E::ZEROS);
    let Track { state, scratch, chains } = track;
    let (whole, waiting) = (steps / TOGETHER * TOGETHER, step::waiting::<E>(shape));
    for first in (0..whole).step_by(TOGETHER) {
        let own: [&[E]; TOGETHER] = std::array::from_fn(|i| x.step(first + i, d));
        for (x, chain) in own.iter().zip(&mut *chains) {
            match waiting {
                3 => step::advance_all_but::<S, E, 3>(simd, shape, state, x, scratch, chain),
                2 => step::advance_all_but::<S, E, 2>(simd, shape, state, x, scratch, chain),
                _ => step::advance(simd, shape, state, x, scratch, chain),
            }
        }
        match waiting {
            3 => step::finish_three(simd, shape, state, own, chains.each_mut().map(|chain| &mut **chain)),
            2 => step::finish_two(simd, shape, state, own, chains.each_ref().map(|chain| &**chain)),
            _ => step::finish_all(simd, shape, state, own, chains.each_ref().map(|chain| &**chain)),
        }
    }
    for tau in whole..steps {
        step::forward(simd, shape, state, x.step(tau, d), scratch, &mut chains[0]);
    }
}

/// The memory of a reverse pass: states below the last level, `kept` far apart and all in the `stretch` between two of those.
#[derive(Debug)]
pub(crate) struct Checkpoints<E> {
    lower: Shape,
    kept: Buffer<E>,
    stretch: Buffer<E>,
    track: Track<E>,
    adjoint: Buffer<E>,
    scratch: Buffer<E>,
    stride: usize,
    /// From one state to the next.
    row: usize,
}

impl<E: Number> Checkpoints<E> {
    /// How many numbers [`new`](Self::new) asks for, at most.
    pub(crate) fn room(shape: &Shape, steps: usize) -> usize {
        let states = stride(steps) + steps.div_ceil(stride(steps));
        let track = Track::<E>::room(shape);
        states.saturating_mul(step::chain_len(shape)).saturating_add(track + shape.len() + step::scratch_backward(shape))
    }

    /// Room for up to `steps` steps.
    pub(crate) fn new(shape: &Shape, steps: usize) -> Self {
        let lower = shape.lower();
        let stride = stride(steps);
        let row = step::chain_len(shape);
        Self {
            kept: Buffer::zeros(steps.div_ceil(stride) * row),
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

/// Where gradients enter a reverse pass. (A trait, because a closure would not be compiled for the kernel's instruction set.)
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
pub(crate) fn backward<S: Simd, E: Number, O: Order>(
    simd: S,
    shape: &Shape,
    x: Increments<'_, E, O>,
    checkpoints: &mut Checkpoints<E>,
    dx: &mut [E],
    seed: &mut impl Seed<E>,
) {
    let d = shape.width();
    let steps = x.values.len() / d;
    let Checkpoints { lower, kept, stretch, track, adjoint, scratch, stride, row } = checkpoints;
    let (stride, row, len) = (*stride, *row, lower.len());
    let Track { state, scratch: memory, chains: [chain, ..] } = track;
    state.fill(E::ZEROS);
    for tau in 0..steps {
        if tau.is_multiple_of(stride) {
            kept[tau / stride * row..][..len].copy_from_slice(&state[..len]);
        }
        step_lower(simd, lower, state, x.step(tau, d), memory, chain);
    }
    adjoint.fill(E::ZEROS);
    for first in (0..steps).step_by(stride).rev() {
        let last = (first + stride).min(steps);
        stretch[..len].copy_from_slice(&kept[first / stride * row..][..len]);
        for tau in first + 1..last {
            let (before, own) = stretch.split_at_mut((tau - first) * row);
            let own = &mut own[..len];
            own.copy_from_slice(&before[(tau - 1 - first) * row..][..len]);
            step_lower(simd, lower, own, x.step(tau - 1, d), memory, chain);
        }
        for tau in (first..last).rev() {
            let before = &stretch[(tau - first) * row..][..len];
            let after = if tau + 1 < last {
                &stretch[(tau + 1 - first) * row..][..len]
            } else if last < steps {
                &kept[last / stride * row..][..len]
            } else {
                &state[..len]
            };
            seed.add(simd, tau, after, adjoint);
            let place = x.order.place(tau, steps) * d;
            step::backward(simd, shape, before, x.step(tau, d), adjoint, &mut dx[place..place + d], scratch);
        }
    }
}
