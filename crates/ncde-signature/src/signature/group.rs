//! A few intervals computed side by side, one per lane of a [`Number`]: gather, compute, scatter.
//!
//! With one lane this is simply one interval. Shorter neighbours are padded with zero increments at their end, which change
//! nothing: `exp(0) = 1`.

use crate::algebra::series::{self, Series};
use crate::algebra::{LieBasis, Shape};
use crate::number::Number;
use crate::signature::flow::{self, Backwards, Checkpoints, Increments};
use crate::signature::step;
use crate::signature::{Interval, Paths};
use crate::simd::Kernel;

/// What leaves the tensor algebra: the signature itself, or coordinates of its logarithm.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) shape: Shape,
    pub(crate) log: Option<LieBasis>,
}

impl Output {
    pub(crate) fn len(&self) -> usize {
        self.log.as_ref().map_or(self.shape.len(), LieBasis::len)
    }
}

/// The memory of one thread.
#[derive(Debug)]
pub(crate) struct Scratch<E> {
    increments: Vec<E>,
    state: Vec<E>,
    pub(crate) step: Vec<E>,
    log: Vec<E>,
    stages: Vec<E>,
    adjoints: Vec<E>,
    lyndon: Vec<E>,
    pub(crate) out: Vec<E>,
    adjoint: Vec<E>,
}

impl<E: Number> Scratch<E> {
    pub(crate) fn new(output: &Output, pass: Pass) -> Self {
        let shape = &output.shape;
        let zeros = |n: usize| vec![E::zero(); n];
        let (of_step, of_adjoint) = match pass {
            Pass::Forward => (step::scratch(shape), 0),
            Pass::Backward => (step::scratch_backward(shape), shape.len()),
        };
        let log = |n: usize| if output.log.is_some() { n } else { 0 };
        let stages = log(series::scratch(shape));
        Self {
            increments: Vec::new(),
            state: zeros(shape.len()),
            step: zeros(of_step),
            log: zeros(log(shape.len())),
            stages: zeros(stages),
            adjoints: zeros(if pass == Pass::Backward { stages } else { 0 }),
            lyndon: zeros(output.log.as_ref().map_or(0, LieBasis::scratch)),
            out: zeros(output.len()),
            adjoint: zeros(of_adjoint),
        }
    }
}

/// Which way a scratch will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
}

/// `scratch.out` = output of a state.
#[inline(always)]
pub(crate) fn emit<E: Number, const FUSED: bool>(output: &Output, state: &[E], scratch: &mut Emit<'_, E>) {
    match &output.log {
        None => scratch.out.copy_from_slice(state),
        Some(basis) => {
            series::forward::<E, FUSED>(&output.shape, Series::Log, state, scratch.stages, scratch.log);
            basis.project_into::<E, FUSED>(scratch.log, scratch.lyndon, scratch.out);
        }
    }
}

/// `adjoint +=` the gradient of `state`, given that of the output in `scratch.out`.
#[inline(always)]
pub(crate) fn emit_backward<E: Number, const FUSED: bool>(output: &Output, state: &[E], scratch: &mut Emit<'_, E>, adjoint: &mut [E]) {
    match &output.log {
        None => {
            for (adjoint, &g) in adjoint.iter_mut().zip(&*scratch.out) {
                *adjoint = adjoint.add(g);
            }
        }
        Some(basis) => {
            series::forward::<E, FUSED>(&output.shape, Series::Log, state, scratch.stages, scratch.log);
            basis.project_backward::<E, FUSED>(scratch.out, scratch.lyndon, scratch.log);
            series::backward::<E, FUSED>(&output.shape, Series::Log, state, scratch.stages, scratch.log, scratch.adjoints, adjoint);
        }
    }
}

/// The part of a scratch that [`emit`] and its reverse use.
pub(crate) struct Emit<'a, E> {
    pub(crate) out: &'a mut [E],
    log: &'a mut [E],
    stages: &'a mut [E],
    adjoints: &'a mut [E],
    lyndon: &'a mut [E],
}

impl<E> Scratch<E> {
    /// The state, the memory of steps, and that of [`emit`], to be used side by side.
    pub(crate) fn parts(&mut self) -> (&mut Vec<E>, &mut [E], &mut [E], &mut [E], Emit<'_, E>) {
        let emit = Emit {
            out: &mut self.out,
            log: &mut self.log,
            stages: &mut self.stages,
            adjoints: &mut self.adjoints,
            lyndon: &mut self.lyndon,
        };
        (&mut self.increments, &mut self.state, &mut self.step, &mut self.adjoint, emit)
    }
}

/// `increments[t, channel].lane(l)` = the increment after observation `t` of the `l`-th interval.
#[inline(always)]
pub(crate) fn gather<E: Number>(paths: &Paths<'_, E::Real>, intervals: &[Interval], increments: &mut Vec<E>) {
    let d = paths.channels();
    let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
    increments.clear();
    increments.resize(steps * d, E::zero());
    for (l, interval) in intervals.iter().enumerate() {
        let rows = &paths.path(interval.path)[interval.start * d..(interval.end + 1) * d];
        for (x, (now, next)) in increments.iter_mut().zip(rows.iter().zip(&rows[d..])) {
            x.set_lane(l, *next - *now);
        }
    }
}

/// Outputs of up to `E::WIDTH` intervals.
pub(crate) struct Forward<'a, E: Number> {
    pub(crate) output: &'a Output,
    pub(crate) paths: &'a Paths<'a, E::Real>,
    pub(crate) intervals: &'a [Interval],
    pub(crate) scratch: &'a mut Scratch<E>,
    /// `[intervals, output]`.
    pub(crate) out: &'a mut [E::Real],
}

impl<E: Number> Kernel for Forward<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (increments, state, memory, _, mut emitting) = self.scratch.parts();
        for (intervals, out) in self.intervals.chunks(E::WIDTH).zip(self.out.chunks_mut(E::WIDTH * self.output.len())) {
            gather(self.paths, intervals, increments);
            let x = Increments { values: increments.as_slice(), order: Backwards };
            flow::forward::<E, _, FUSED>(&self.output.shape, x, state, memory, |_, _| ());
            emit::<E, FUSED>(self.output, state, &mut emitting);
            for (l, out) in out.chunks_exact_mut(self.output.len()).enumerate() {
                for (out, x) in out.iter_mut().zip(&*emitting.out) {
                    *out = x.lane(l);
                }
            }
        }
    }
}

/// The reverse pass of [`Forward`].
pub(crate) struct Backward<'a, 'o, E: Number> {
    pub(crate) output: &'a Output,
    pub(crate) paths: &'a Paths<'a, E::Real>,
    pub(crate) intervals: &'a [Interval],
    pub(crate) scratch: &'a mut Scratch<E>,
    /// `[intervals, output]`: the gradient of the outputs.
    pub(crate) gradient: &'a [E::Real],
    /// For each interval `[steps, channels]`: the gradient of its increments.
    pub(crate) out: &'a mut [&'o mut [E::Real]],
}

impl<E: Number> Kernel for Backward<'_, '_, E> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (d, len) = (self.paths.channels(), self.output.len());
        let (increments, _, memory, adjoint, mut emitting) = self.scratch.parts();
        let mut dx: Vec<E> = Vec::new();
        let groups = self.intervals.chunks(E::WIDTH).zip(self.gradient.chunks(E::WIDTH * len)).zip(self.out.chunks_mut(E::WIDTH));
        for ((intervals, gradient), out) in groups {
            gather(self.paths, intervals, increments);
            let steps = increments.len() / d;
            let mut kept = Checkpoints::new(&self.output.shape, steps);
            dx.clear();
            dx.resize(steps * d, E::zero());
            let x = Increments { values: increments.as_slice(), order: Backwards };
            flow::backward::<E, _, FUSED>(&self.output.shape, x, &mut kept, adjoint, &mut dx, memory, |tau, state, adjoint| {
                if tau + 1 == steps {
                    for (l, gradient) in gradient.chunks_exact(len).enumerate() {
                        for (out, &g) in emitting.out.iter_mut().zip(gradient) {
                            out.set_lane(l, g);
                        }
                    }
                    emit_backward::<E, FUSED>(self.output, state, &mut emitting, adjoint);
                }
            });
            for (l, out) in out.iter_mut().enumerate() {
                for (out, dx) in out.iter_mut().zip(&dx) {
                    *out = dx.lane(l);
                }
            }
        }
    }
}
