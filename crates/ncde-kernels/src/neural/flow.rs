//! The loop over time for a group of samples, forwards and in reverse.
//!
//! ```text
//! y_s = h + dt sum_{r<s} a_sr k_r,   k_s = F(y_s),   h <- h + dt sum_s b_s k_s
//! k_s' = dt (b_s h' + sum_{r>s} a_rs y_r'),   y_s' = DF(y_s)^T k_s',   h' <- h' + sum_s y_s'
//! ```
//!
//! The reverse pass computes the stages of a step again from the state before it. A sample whose `dt` is zero stands still: the field
//! is evaluated for it, at zero and driven by nothing, as leaving rows out would cost more than it saves.

use std::ops::Range;

use ncde_simd::{Buffer, Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::activation::Order;
use super::collect::{Collect, SlotRows, Weights};
use super::field::{Part, Stage, evaluate};
use super::packed::{Packed, Passes};
use super::reverse::{Adjoint, Reverse};
use super::tape::{Drive, Sizes, Tape};
use super::{Controls, Depth, Gradients, Input, Outputs, Solve, plan};
use crate::chunks::add;
use crate::error::row_is_finite;
use crate::pool;
use crate::shards::shards;

/// The first state that is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exploded {
    pub(crate) step: usize,
    pub(crate) series: usize,
}

/// The working memory of a thread.
#[derive(Debug, Default)]
struct Workspace<T: Float> {
    tape: Tape<T>,
    drive: Drive<T>,
    /// `h` and, in reverse, `h'`: `[B, H]`.
    state: Buffer<T>,
    gradient: Buffer<T>,
    /// `k_s` and, in reverse, `y_s'`: `[stages, B, H]`.
    stages: Buffer<T>,
    /// `k_s'`: `[B, H]`.
    seed: Buffer<T>,
    adjoint: Adjoint<T>,
    weights: Weights<T>,
    /// For each sample the next output (in reverse: the number of outputs left).
    waiting: Vec<usize>,
}

/// [`Solve::forward_into`] on arrays that have been checked: the first state that is not finite, if any.
pub(crate) fn forward<T: Float>(solve: &Solve, input: &Input<'_, T>, outputs: Outputs<'_>, states: &mut [T]) -> Option<Exploded> {
    let packed = Packed::new(solve.network(), solve.depth(), input.parameters, Passes::Forward);
    let state_len = outputs.count(input) * solve.network().hidden();
    let groups = plan::groups(input.batch, solve.depth(), solve.network().channels());
    let mut rest = states;
    let part = |group: Range<usize>| (group.clone(), rest.split_off_mut(..group.len() * state_len).unwrap_or_default());
    let items: Vec<_> = groups.into_iter().map(part).collect();
    let solved = items.into_par_iter().map(|(group, states)| {
        let sizes = Sizes::new::<T>(solve, group.len());
        let mut memory = pool::borrow::<Workspace<T>>();
        let job = Job { solve, input, outputs, packed: &packed, sizes: &sizes, group };
        dispatch_for::<T, _>(Forward { job, memory: &mut memory, states })
    });
    solved.collect::<Vec<_>>().into_iter().flatten().min_by_key(|exploded| (exploded.step, exploded.series))
}

/// [`Solve::backward`] on arrays that have been checked.
pub(crate) fn backward<T: Float>(
    solve: &Solve,
    input: &Input<'_, T>,
    states: &[T],
    outputs: Outputs<'_>,
    gradient: &[T],
    gradients: &mut Gradients<T>,
) {
    let network = solve.network();
    let packed = Packed::new(network, solve.depth(), input.parameters, Passes::Both);
    let groups = plan::groups(input.batch, solve.depth(), network.channels());
    let control = if solve.controls() == Controls::Variable { input.control * solve.coefficients() } else { 0 };
    let mut initial = gradients.initial.as_mut_slice();
    let mut coefficients = gradients.coefficients.as_deref_mut().unwrap_or_default();
    let mut part = |group: &Range<usize>| {
        let of_initial = initial.split_off_mut(..group.len() * network.hidden()).unwrap_or_default();
        let of_coefficients = coefficients.split_off_mut(..group.len() * control).unwrap_or_default();
        (group.clone(), of_initial, of_coefficients)
    };
    let shards = shards(groups.len(), network.parameters() * size_of::<T>());
    let items: Vec<Vec<_>> = shards.into_iter().map(|shard| groups[shard].iter().map(&mut part).collect()).collect();
    let sums = items.into_par_iter().map(|groups| {
        let mut memory = pool::borrow::<Workspace<T>>();
        for (i, (group, initial, coefficients)) in groups.into_iter().enumerate() {
            let sizes = Sizes::new::<T>(solve, group.len());
            if i == 0 {
                memory.weights.reset(&sizes);
            }
            let job = Job { solve, input, outputs, packed: &packed, sizes: &sizes, group };
            dispatch_for::<T, _>(Backward { job, memory: &mut memory, states, gradient, initial, coefficients });
        }
        let mut sum = vec![T::ZERO; network.parameters()];
        unpack(solve, &memory.weights, &mut sum);
        sum
    });
    for sum in sums.collect::<Vec<_>>() {
        add(&mut gradients.parameters, &sum);
    }
}

/// From padded matrices to the flat array of parameters.
fn unpack<T: Float>(solve: &Solve, weights: &Weights<T>, out: &mut [T]) {
    let network = solve.network();
    for l in 0..network.layers() {
        let layer = network.layer(l);
        // The last layer consists of one padded block for each channel.
        let block = if l + 1 == network.layers() { network.hidden() } else { layer.outputs };
        let wide = super::packed::padded::<T>(block);
        let row = layer.outputs / block * wide;
        let (weight, bias) = (weights.weight[l].chunks_exact(row), weights.bias[l].chunks_exact(row));
        for (out, row) in out[layer.weight.start..layer.bias.end].chunks_exact_mut(layer.outputs).zip(weight.chain(bias)) {
            for (out, row) in out.chunks_exact_mut(block).zip(row.chunks_exact(wide)) {
                out.copy_from_slice(&row[..block]);
            }
        }
    }
}

/// The arguments shared by the forward and the reverse pass.
struct Job<'a, T: Float> {
    solve: &'a Solve,
    input: &'a Input<'a, T>,
    outputs: Outputs<'a>,
    packed: &'a Packed<T>,
    sizes: &'a Sizes,
    group: Range<usize>,
}

impl<T: Float> Job<'_, T> {
    /// The length of step `n` of sample `i` of the group.
    #[inline(always)]
    fn dt(&self, i: usize, n: usize) -> T {
        self.input.dt[(self.group.start + i) * self.input.steps + n]
    }

    /// Whether no sample moves in step `n`.
    #[inline(always)]
    fn still(&self, n: usize) -> bool {
        (0..self.sizes.b).all(|i| self.dt(i, n) == T::ZERO)
    }

    /// Writes `y_s` into its slot and evaluates there.
    #[inline(always)]
    fn stage<S: Simd>(
        &self,
        simd: S,
        (n, s): (usize, usize),
        slot: usize,
        (order, part): (Order, Part),
        memory: &mut Workspace<T>,
    ) {
        let &Sizes { b, h, rows, .. } = self.sizes;
        let tableau = self.solve.method().tableau();
        let (done, rest) = memory.stages.split_at_mut(s * b * h);
        for i in 0..b {
            let y = &mut memory.tape.x[0][(slot * rows + i) * h..][..h];
            let dt = self.dt(i, n);
            if dt == T::ZERO {
                y.fill(T::ZERO);
                continue;
            }
            y.copy_from_slice(&memory.state[i * h..][..h]);
            for (r, &a) in tableau.row(s).iter().enumerate() {
                T::axpy(simd, y, dt * T::from_f64(a), &done[(r * b + i) * h..][..h]);
            }
        }
        memory.drive.load(self.sizes, self.input, self.group.start, n, s);
        let (sizes, packed, network) = (self.sizes, self.packed, self.solve.network());
        let stage = Stage { sizes, packed, network, drive: &memory.drive, slot };
        evaluate(simd, stage, (order, part), &mut memory.tape, &mut rest[..b * h]);
    }
}

struct Forward<'a, T: Float> {
    job: Job<'a, T>,
    memory: &'a mut Workspace<T>,
    states: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = Option<Exploded>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<Exploded> {
        let Self { job, memory, states } = self;
        let &Sizes { b, h, stages, .. } = job.sizes;
        let (hidden, count) = (job.solve.network().hidden(), job.outputs.count(job.input));
        memory.tape.reset(job.sizes, 1);
        memory.drive.reset(job.sizes);
        memory.state.reset(b * h);
        memory.stages.reset(stages * b * h);
        super::tape::refill(&mut memory.waiting, b, 0);
        let initial = &job.input.initial[job.group.start * hidden..job.group.end * hidden];
        for (state, initial) in memory.state.chunks_exact_mut(h).zip(initial.chunks_exact(hidden)) {
            state[..hidden].copy_from_slice(initial);
        }
        let order = if job.solve.depth() == Depth::Two { Order::First } else { Order::Value };
        let tableau = job.solve.method().tableau();
        for n in 0..job.input.steps {
            if !job.still(n) {
                for s in 0..stages {
                    job.stage(simd, (n, s), 0, (order, Part::All), memory);
                }
                for i in 0..b {
                    let (dt, state) = (job.dt(i, n), &mut memory.state[i * h..][..h]);
                    if dt == T::ZERO {
                        continue;
                    }
                    for (s, &weight) in tableau.b[..stages].iter().enumerate() {
                        T::axpy(simd, state, dt * T::from_f64(weight), &memory.stages[(s * b + i) * h..][..h]);
                    }
                    if !row_is_finite(state) {
                        return Some(Exploded { step: n, series: job.group.start + i });
                    }
                }
            }
            for i in 0..b {
                let next = &mut memory.waiting[i];
                while *next < count && job.outputs.step(job.input, job.group.start + i, *next) == n {
                    states[(i * count + *next) * hidden..][..hidden].copy_from_slice(&memory.state[i * h..][..hidden]);
                    *next += 1;
                }
            }
        }
        None
    }
}

struct Backward<'a, T: Float> {
    job: Job<'a, T>,
    memory: &'a mut Workspace<T>,
    states: &'a [T],
    gradient: &'a [T],
    initial: &'a mut [T],
    coefficients: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let &Sizes { b, h, stages, slots, .. } = self.job.sizes;
        let hidden = self.job.solve.network().hidden();
        let memory = &mut *self.memory;
        memory.tape.reset(self.job.sizes, slots);
        memory.drive.reset(self.job.sizes);
        memory.adjoint.reset(self.job.sizes, self.job.solve.controls());
        for array in [&mut memory.state, &mut memory.gradient, &mut memory.seed] {
            array.reset(b * h);
        }
        memory.stages.reset(stages * b * h);
        super::tape::refill(&mut memory.waiting, b, self.job.outputs.count(self.job.input));
        let mut slot = 0;
        for n in (0..self.job.input.steps).rev() {
            self.seed(n);
            if self.job.still(n) {
                continue;
            }
            self.step(simd, n, slot);
            slot += stages;
            if slot == slots {
                self.collect(simd, slot);
                slot = 0;
            }
        }
        if slot > 0 {
            self.collect(simd, slot);
        }
        for (out, gradient) in self.initial.chunks_exact_mut(hidden).zip(self.memory.gradient.chunks_exact(h)) {
            out.copy_from_slice(&gradient[..hidden]);
        }
    }
}

impl<T: Float> Backward<'_, T> {
    /// Adds the loss's gradient in the states after step `n`.
    #[inline(always)]
    fn seed(&mut self, n: usize) {
        let Job { input, outputs, sizes, group, solve, .. } = &self.job;
        let (hidden, count) = (solve.network().hidden(), outputs.count(input));
        for i in 0..sizes.b {
            let left = &mut self.memory.waiting[i];
            while *left > 0 && outputs.step(input, group.start + i, *left - 1) == n {
                *left -= 1;
                let seed = &self.gradient[((group.start + i) * count + *left) * hidden..][..hidden];
                self.memory.gradient[i * sizes.h..].iter_mut().zip(seed).for_each(|(g, &x)| *g += x);
            }
        }
    }

    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, slots: usize) {
        let Workspace { tape, adjoint, weights, .. } = &mut *self.memory;
        let rows_of_slot = if self.job.sizes.at_once() { SlotRows::All } else { SlotRows::Values };
        call(simd, Collect { sizes: self.job.sizes, slots: 0..slots, rows_of_slot, tape, adjoint, weights });
    }

    /// Step `n`, its stages in the slots from `slot` on.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, n: usize, slot: usize) {
        let job = &self.job;
        let &Sizes { b, h, stages, .. } = job.sizes;
        let (hidden, memory) = (job.solve.network().hidden(), &mut *self.memory);
        for i in 0..b {
            let series = job.group.start + i;
            let before = match n {
                0 => &job.input.initial[series * hidden..],
                _ => &self.states[(series * job.input.steps + n - 1) * hidden..],
            };
            memory.state[i * h..][..hidden].copy_from_slice(&before[..hidden]);
        }
        let order = if job.solve.depth() == Depth::Two { Order::Second } else { Order::First };
        for s in 0..stages {
            // The last F is not used; tangents that do not fit the tape are computed in the reverse pass.
            let part = if s + 1 == stages && !job.sizes.at_once() { Part::Values } else { Part::All };
            job.stage(simd, (n, s), slot + s, (order, part), memory);
        }
        let tableau = job.solve.method().tableau();
        for s in (0..stages).rev() {
            for i in 0..b {
                let (dt, state) = (job.dt(i, n), i * h..(i + 1) * h);
                let seed = &mut memory.seed[state.clone()];
                T::scale(simd, seed, dt * T::from_f64(tableau.b[s]), &memory.gradient[state]);
                for r in s + 1..stages {
                    T::axpy(simd, seed, dt * T::from_f64(tableau.row(r)[s]), &memory.stages[(r * b + i) * h..][..h]);
                }
            }
            memory.drive.load(job.sizes, job.input, job.group.start, n, s);
            let Workspace { tape, drive, seed, adjoint, weights, .. } = &mut *memory;
            let (sizes, packed, network) = (job.sizes, job.packed, job.solve.network());
            let stage = Stage { sizes, packed, network, drive, slot: slot + s };
            call(simd, Reverse { stage, tape, adjoint, weights, gradient: seed });
            memory.stages[s * b * h..][..b * h].copy_from_slice(&memory.adjoint.z[0][..b * h]);
            if job.solve.controls() == Controls::Variable {
                controls(simd, job, memory, n, s, slot + s, self.coefficients);
            }
        }
        for i in 0..b {
            if job.dt(i, n) == T::ZERO {
                continue;
            }
            for s in 0..stages {
                let d_stage = &memory.stages[(s * b + i) * h..][..h];
                T::axpy(simd, &mut memory.gradient[i * h..][..h], T::ONE, d_stage);
            }
        }
    }
}

/// Gradients of the rows that drove a stage: `c_i' = g . f_i` and `c_[i,j]' = f_i . v_j' - f_j . v_i'`.
#[inline(always)]
fn controls<S: Simd, T: Float>(simd: S, job: &Job<'_, T>, memory: &Workspace<T>, n: usize, s: usize, slot: usize, out: &mut [T]) {
    let &Sizes { b, d, h, stages, outputs, .. } = job.sizes;
    let width = job.solve.coefficients();
    for i in 0..b {
        if job.dt(i, n) == T::ZERO {
            continue;
        }
        let row = job.input.rows[((job.group.start + i) * job.input.steps + n) * stages + s];
        let out = &mut out[(i * job.input.control + row) * width..][..width];
        let f = &memory.tape.f[(slot * b + i) * outputs..][..outputs];
        let (letters, brackets) = out.split_at_mut(d);
        let g = &memory.seed[i * h..][..h];
        for (letter, f) in letters.iter_mut().zip(f.chunks_exact(h)) {
            *letter += T::dot(simd, g, f);
        }
        let mut bracket = brackets.iter_mut();
        let pairs = memory.adjoint.pairs.get(i * d * d..(i + 1) * d * d).unwrap_or_default();
        for p in 0..d {
            for q in p + 1..d {
                if let Some(bracket) = bracket.next() {
                    *bracket += pairs[p * d + q] - pairs[q * d + p];
                }
            }
        }
    }
}
