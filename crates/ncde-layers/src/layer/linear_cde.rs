//! A structured Linear NCDE; see [`ncde_runtime::layer::LinearCde`].
//!
//! Cost: that of the recurrence in `ncde-kernels`. Memory: `O(batch x rows x H)`.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};
use ncde_kernels::Commutators;
use ncde_runtime::layer::{Contractive, Drive, Initial, InputTerm, LinearCde, Prepared, Signal, Values};

use super::rows::{clear_padding, integers, part};
use super::{Batch, Context, Error, FieldNorm, LayerBackend, LayerWeights, Rows};
use crate::dense;
use crate::linear::{Arguments, generators, matrices, recurrence, vectors};
use crate::operation::put;

#[derive(Debug)]
pub(super) struct LinearCdeBatch {
    spec: LinearCde,
    prepared: Prepared,
}

/// What moves states from row to row: `[batch, steps, ...]`.
struct Moves<B: Backend> {
    lambda: Tensor<B, 3>,
    /// What goes with the vectors that are added.
    mu: Option<Tensor<B, 3>>,
}

/// The weights, as the recurrence takes them.
struct Flow<B: Backend> {
    a: Tensor<B, 1>,
    /// `[vectors, H]`.
    vectors: Option<Tensor<B, 2>>,
}

impl LinearCdeBatch {
    pub(super) fn new(spec: &LinearCde, input: &Signal, fixed: &mut Values) -> Result<Self, Error> {
        let mask = spec.structure.entries(spec.hidden)?.map(|_| fixed.take("mask")).transpose()?;
        Ok(Self { spec: spec.clone(), prepared: spec.prepare(input, mask.as_deref())? })
    }

    /// Whether the first row moves the state, too.
    fn first_drives(&self) -> bool {
        self.spec.drive == (Drive::Tokens {}) && self.spec.initial != Initial::First
    }

    /// `h_0`: `[batch, 1, H]`.
    fn start<B: LayerBackend>(
        &self,
        rows: &Rows<B>,
        weights: &LayerWeights<'_, B>,
        context: &Context<B>,
    ) -> Result<Tensor<B, 3>, Error> {
        let first = &self.prepared.first;
        begin((self.spec.initial, self.spec.hidden), rows, (first.start, first.len()), weights, context)
    }

    /// What the rows of the trunk, or branches after the rows before them, do to states.
    fn moves<B: LayerBackend>(
        &self,
        rows: Tensor<B, 3>,
        before: Option<Tensor<B, 3>>,
        dt: Option<Tensor<B, 3>>,
    ) -> Result<Moves<B>, Error> {
        let driving = &self.prepared.driving;
        let x = part(rows, 2, driving.start, driving.len());
        let with_time = |time: bool, dt: Tensor<B, 3>, x: Tensor<B, 3>| if time { Tensor::cat(vec![dt, x], 2) } else { x };
        let omega = match (self.spec.drive, before.clone(), dt.clone()) {
            (Drive::Increments { time }, Some(before), Some(dt)) => with_time(time, dt, x - before),
            (Drive::Values { time }, Some(before), Some(dt)) => with_time(time, dt.clone(), spread(dt, &before) * before),
            (Drive::Time {}, _, Some(dt)) => dt,
            _ => x,
        };
        let xi = match (self.spec.input, before, dt) {
            (InputTerm::Values, Some(before), Some(dt)) => Some(spread(dt, &before) * before),
            _ => None,
        };
        // One pass, also where nothing is scaled: windows are part of longer rows, and Burn copies such parts number by number.
        let ahead = (self.spec.drive == (Drive::Tokens {})).then_some(self.spec.scale);
        let omega = dense::scaled(omega, self.spec.scale, ahead)?;
        let Some(plan) = &self.prepared.plan else { return Ok(Moves { lambda: omega, mu: None }) };
        let mu = match self.spec.input {
            InputTerm::None => None,
            InputTerm::Path => Some(chosen(omega.clone(), plan.vector_places())),
            InputTerm::Values => xi,
        };
        let lambda = part(omega, 2, 0, plan.coefficients());
        Ok(Moves { lambda, mu })
    }

    /// The matrices and vectors that coordinates multiply.
    fn flow<B: LayerBackend>(&self, weights: &LayerWeights<'_, B>) -> Result<Flow<B>, Error> {
        let a = weights.weight::<2>("a")?;
        let a = match &self.prepared.contractive {
            Some(contractive) => contracting(contractive, a)?,
            None => a,
        };
        let a = a.flatten::<1>(0, 1);
        let b = if self.spec.input == InputTerm::None { None } else { Some(weights.weight::<2>("b")?) };
        let Some(plan) = &self.prepared.plan else {
            // The kernel has entry after entry, and the blocks side by side.
            let block = self.prepared.commutators.map_or(1, |commutators| commutators.block);
            let (channels, blocks) = (self.prepared.field.channels(), self.spec.hidden / block);
            let mut columns = vec![side_by_side(a.reshape([channels, blocks, block * block]))];
            columns.extend(b.map(|b| side_by_side(b.reshape([channels, blocks, block]))));
            let all = Tensor::cat(columns, 1);
            let count = all.shape().num_elements();
            return Ok(Flow { a: all.reshape([count]), vectors: None });
        };
        let vectors = match (b, plan.vector_brackets()) {
            (Some(b), Some(brackets)) => Some(vectors(brackets, a.clone(), b)?),
            (b, _) => b,
        };
        let a = match plan.brackets() {
            Some(brackets) => matrices(brackets, a)?,
            None => a,
        };
        Ok(Flow { a, vectors })
    }

    /// States after each step, from `initial`, `[batch, 1, H]`: `[batch, steps, H]`. Past the length of a series its last state is repeated.
    fn run<B: LayerBackend>(
        &self,
        flow: &Flow<B>,
        initial: Tensor<B, 3>,
        moves: Moves<B>,
        lengths: &[usize],
    ) -> Result<Tensor<B, 3>, Error> {
        // A series without steps takes one that does nothing.
        let idle = lengths.contains(&0);
        let clear = |values: Tensor<B, 3>| {
            let steps = values.dims()[1];
            if idle { clear_padding(values, lengths, steps) } else { values }
        };
        let (lambda, mu) = (clear(moves.lambda), moves.mu.map(clear));
        let [batch, steps, _] = lambda.dims();
        let (a, coefficients, affine) = match self.prepared.commutators {
            Some(commutators) => self.generators_of(commutators, flow, lambda)?,
            None => {
                let affine = match (&flow.vectors, mu) {
                    (Some(vectors), Some(mu)) => {
                        let places = mu.dims()[2];
                        let beta = dense::product(mu.reshape([batch * steps, places]), vectors.clone())?;
                        Some(beta.reshape([batch, steps, 1, self.spec.hidden]))
                    }
                    _ => None,
                };
                (flow.a.clone(), lambda, affine)
            }
        };
        let lengths: Arc<[usize]> = lengths.iter().map(|&length| length.max(1)).collect();
        let all = lengths.iter().all(|&length| length == steps);
        let arguments = Arguments { a, coefficients, initial, affine, lengths: if all { None } else { Some(lengths) } };
        Ok(recurrence(&self.prepared.recurrence, arguments)?.reshape([batch, steps, self.spec.hidden]))
    }

    /// The generators of windows from their increments, without log-signature or bracket: coefficients of unit matrices.
    ///
    /// ```text
    /// Omega = sum_k M_k + 1/2 sum_l (M_l P_l - P_l M_l),   M_k = sum_i x_k^i A^i,   P_l = M_1 + ... + M_{l-1}
    /// ```
    ///
    /// The second level of the log-signature of a path with increments `x_1, ..., x_s` is half the sum of `x_k ⊗ x_l - x_l ⊗ x_k` over `k < l`. With the
    /// matrices `A^j A^i - A^i A^j` of its brackets that is the sum above, from `s d` coefficients a window instead of `d (d + 1) / 2`.
    /// Where the path is also added to the state, the same formula holds for `[[A^i, B^i], [0, 0]]`.
    #[expect(clippy::type_complexity, reason = "the arguments of the recurrence")]
    fn generators_of<B: LayerBackend>(
        &self,
        commutators: Commutators,
        flow: &Flow<B>,
        increments: Tensor<B, 3>,
    ) -> Result<(Tensor<B, 1>, Tensor<B, 3>, Option<Tensor<B, 4>>), Error> {
        let ([batch, windows, _], channels) = (increments.dims(), self.prepared.field.channels());
        let (count, numbers, hidden) = (batch * windows, self.prepared.field.channel(0).len(), self.spec.hidden);
        let row = flow.a.dims()[0] / channels;
        let matrices =
            dense::product(increments.reshape([count * commutators.steps, channels]), flow.a.clone().reshape([channels, row]))?;
        let made = generators(commutators, matrices.reshape([count, commutators.steps, row]))?;
        let units = LinearCde::units(commutators.block, numbers);
        let units = Tensor::<B, 1>::from_data(TensorData::new(units, [numbers * numbers]), &flow.a.device());
        let affine = commutators.vectors.then(|| {
            let beta = made.clone().narrow(1, numbers, hidden).reshape([count, commutators.block, hidden / commutators.block]);
            side_by_side(beta).reshape([batch, windows, 1, hidden])
        });
        let lambda = made.narrow(1, 0, numbers).reshape([batch, windows, numbers]);
        Ok((units.cast(flow.a.dtype()), lambda, affine))
    }
}

/// `h_0`, `[batch, 1, H]`: where states begin. `first`: where in the first row the numbers are that set it, and how many.
pub(super) fn begin<B: LayerBackend>(
    (initial, hidden): (Initial, usize),
    rows: &Rows<B>,
    first: (usize, usize),
    weights: &LayerWeights<'_, B>,
    context: &Context<B>,
) -> Result<Tensor<B, 3>, Error> {
    let same = match initial {
        Initial::First => return first_state(rows, first, weights, context),
        Initial::Learned => weights.weight::<1>("start")?,
        Initial::One => put(Initial::one(hidden), [hidden], (&rows.values.device(), rows.values.dtype())),
    };
    Ok(same.reshape([1, 1, hidden]).repeat_dim(0, rows.values.dims()[0]))
}

/// `h_0 = L (x_0, statics) + c` from the numbers of the first row that begin at `start`: `[batch, 1, H]`.
pub(super) fn first_state<B: LayerBackend>(
    rows: &Rows<B>,
    (start, count): (usize, usize),
    weights: &LayerWeights<'_, B>,
    context: &Context<B>,
) -> Result<Tensor<B, 3>, Error> {
    let first = part(dense::some_rows(rows.values.clone(), 0, 1)?, 2, start, count);
    let first = match &context.statics {
        Some(statics) => Tensor::cat(vec![first, statics.clone().unsqueeze_dim(1)], 2),
        None => first,
    };
    Ok(dense::affine(first, weights.weight("first")?, weights.weight("start")?)?)
}

/// A column spread over as many as another tensor has.
fn spread<B: Backend>(column: Tensor<B, 3>, like: &Tensor<B, 3>) -> Tensor<B, 3> {
    column.repeat_dim(2, like.dims()[2])
}

/// `[n, x, y]` to `[n, y x]`.
fn side_by_side<B: Backend>(numbers: Tensor<B, 3>) -> Tensor<B, 2> {
    numbers.swap_dims(1, 2).flatten(1, 2)
}

/// The matrices of free weights `[channels, parameters]`, as [`Contractive::matrices`].
fn contracting<B: LayerBackend>(contractive: &Contractive, a: Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
    let ([channels, count], device, dtype) = (a.dims(), a.device(), a.dtype());
    let mask =
        |values: Vec<f32>| Tensor::<B, 1>::from_data(TensorData::new(values, [count]), &device).cast(dtype).unsqueeze::<2>();
    let transposed = |m: Tensor<B, 2>| {
        let places = integers(contractive.transposed().iter().map(|&place| place as i64).collect(), &device);
        m.select(1, places)
    };
    let time = a.clone().narrow(0, 0, 1);
    let upper = time.clone() * mask(contractive.where_below(|below| below < 0));
    let lower = time * mask(contractive.where_below(|below| below >= 0));
    let squares = contractive.runs().iter().map(|(b, places)| {
        let l = lower.clone().narrow(1, places.start, places.len());
        Ok(gram(l.reshape([places.len() / (b * b), *b, *b]))?.reshape([1, places.len()]))
    });
    let squares = squares.collect::<Result<Vec<Tensor<B, 2>>, Error>>()?;
    let rates = mask(contractive.where_below(|below| below == 0)) * contractive.rate();
    let time = upper.clone() - transposed(upper) - Tensor::cat(squares, 1) - rates;
    if channels == 1 {
        return Ok(time);
    }
    let others = a.narrow(0, 1, channels - 1);
    Ok(Tensor::cat(vec![time, (others.clone() - transposed(others)) * 0.5], 0))
}

/// `L L^T` of each block, `[blocks, b, b]`. Burn's products may be of rounded numbers on a GPU, which a flow over thousands of steps does not forgive: of one block it is ours, of many small ones a sum.
fn gram<B: LayerBackend>(l: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    let [blocks, b, _] = l.dims();
    if blocks == 1 {
        let l = l.reshape([b, b]);
        return Ok(dense::product(l.clone(), l.transpose())?.unsqueeze());
    }
    let pairs: Tensor<B, 4> = l.clone().unsqueeze_dim::<4>(2) * l.unsqueeze_dim::<4>(1);
    Ok(pairs.sum_dim(3).squeeze_dim(3))
}

/// These places of each row; nothing is copied where they are all of them, in order.
fn chosen<B: Backend>(all: Tensor<B, 3>, wanted: &[usize]) -> Tensor<B, 3> {
    if wanted.iter().copied().eq(0..all.dims()[2]) {
        return all;
    }
    let wanted = integers(wanted.iter().map(|&place| place as i64).collect(), &all.device());
    all.select(2, wanted)
}

impl<B: LayerBackend> Batch<B> for LinearCdeBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let (start, flow) = (self.start(&rows, weights, context)?, self.flow(weights)?);
        let (trunk, first) = (rows.trunk(), usize::from(!self.first_drives()));
        let [batch, length, _] = trunk.dims();
        let back = self.spec.drive.looks_back();
        let spans = back.then(|| {
            let all = rows.places.count() - 1;
            rows.constant(rows.places.spans(), [batch, all, 1])
        });
        let states = if length > first {
            let steps = length - first;
            let before = back.then(|| trunk.clone().narrow(1, 0, steps));
            let dt = spans.clone().map(|spans| spans.narrow(1, 0, steps));
            let moves = self.moves(dense::some_rows(trunk, first, steps)?, before, dt)?;
            let lengths: Vec<usize> = rows.places.lengths.iter().map(|length| length - first).collect();
            Some(self.run(&flow, start.clone(), moves, &lengths)?)
        } else {
            None
        };
        let states = match states {
            Some(states) if first == 1 => dense::join_rows(start, states)?,
            states => states.unwrap_or(start),
        };
        let Some((branches, from)) = rows.branches(&states) else { return Ok(rows.with(states)) };
        let [_, count, width] = branches.dims();
        let single_rows = |x: Tensor<B, 3>| {
            let width = x.dims()[2];
            x.reshape([batch * count, 1, width])
        };
        let before = back.then(|| rows.branches(&rows.trunk()).map(|(_, before)| single_rows(before))).flatten();
        let dt = spans.map(|spans| single_rows(spans.narrow(1, length - 1, count)));
        let moves = self.moves(branches.reshape([batch * count, 1, width]), before, dt)?;
        let ends = self.run(&flow, single_rows(from), moves, &vec![1; batch * count])?;
        Ok(rows.with(Tensor::cat(vec![states, ends.reshape([batch, count, self.spec.hidden])], 1)))
    }

    fn penalty(&self, weights: &LayerWeights<'_, B>, norm: FieldNorm) -> Option<Tensor<B, 1>> {
        let squares = weights.weight::<2>("a").ok()?.square().sum_dim(1).squeeze_dim::<1>(1);
        Some(norm.of_squares(squares))
    }
}
