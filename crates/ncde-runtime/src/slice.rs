//! A structured Linear NCDE over Log-ODE windows, one knot at a time.
//!
//! ```text
//! h_0 = L (knot_0, statics) + c,   h_{k+1} = exp(Omega_k) h_k (+ phi_1(Omega_k) beta_k),   y = W g(h_n, u_n) + b,  or  W mean_k g(h_k, u_k) + b
//! ```
//!
//! The stored state is the one at the end of the last full window; the open window is held as its signature so far. An output in an open
//! window takes the stored state along the log-signature so far: what a series that ends here would give.

use std::sync::Arc;

use ncde_kernels::Recurrence;
use ncde_signature::{Memory, Online, Signature};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::flow::Flow;
use crate::head::{Layers, sizes};
use crate::plan::{Plan, plan};
use crate::random::Stream;
use crate::spec::{Input, Norm, Over, Skip, SliceSpec};
use crate::weights::Weights;

/// What is added to the variance of a state before it is divided by its root.
pub const NORM_EPSILON: f32 = 1e-5;

/// What bracket matrices may take.
pub const BRACKET_BYTES: usize = 256 << 20;

impl SliceSpec {
    /// What the coordinates of the log-signatures of `width` channels multiply, and that log-signature.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn plan(&self, width: usize) -> Result<(Plan, Arc<Signature>), Error> {
        if self.window == 0 {
            return Err(Error::Setting { setting: "window", problem: "a window of 0 observations; at least 1 is needed".into() });
        }
        let field = self.structure.field(self.hidden, width, &Stream::from_key(self.masks))?;
        let inputs = self.inputs(width);
        let plan = plan(&field, inputs, self.depth, BRACKET_BYTES)?;
        let transform = Signature::log(width + inputs, self.depth, plan.basis())?;
        Ok((plan, Arc::new(transform)))
    }

    /// How many channels are added to the state.
    pub fn inputs(&self, width: usize) -> usize {
        if self.input == Input::Path { width } else { 0 }
    }

    /// The joint path that log-signatures are taken of: a knot, twice if it is also added to the state.
    pub fn joint(&self, knot: &[f64]) -> Vec<f64> {
        if self.input == Input::Path { knot.repeat(2) } else { knot.to_vec() }
    }
}

/// The working parts of the model, shared by all series.
#[derive(Debug)]
pub(crate) struct SliceCore {
    spec: SliceSpec,
    flow: Flow<f32>,
    online: Online<f64>,
    /// `c`.
    start: Vec<f32>,
    /// `L`: `[knot and statics, H]`.
    first: Vec<f32>,
    layers: Layers,
    /// What coordinates are multiplied with on their way to the head, and which they are.
    skip: Vec<f32>,
    seen: Vec<usize>,
    /// How many channels a knot has.
    width: usize,
    open: Vec<f32>,
}

/// What is remembered of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SliceState {
    /// The state at the end of the last full window.
    state: Vec<f32>,
    /// `u` at the end of the last full window.
    skip: Vec<f32>,
    /// The sum of what the hidden layers made of the states at the ends of full windows, `h_0` included.
    sum: Vec<f64>,
    /// How many windows are full.
    windows: usize,
    /// How many observations the open one holds.
    steps: usize,
    last: Option<Vec<f64>>,
    signature: Vec<f64>,
}

impl SliceCore {
    pub(crate) fn new(spec: &SliceSpec, [width, statics, outputs]: [usize; 3], weights: &mut Weights) -> Result<Self, Error> {
        let (plan, transform) = spec.plan(width)?;
        let recurrence =
            Recurrence::new(plan.field().clone()).with_transition(spec.transition).with_contraction(plan.contraction())?;
        let field = spec.structure.field(spec.hidden, width, &Stream::from_key(spec.masks))?;
        let a = weights.take("a", &[field.parameters()])?;
        let b = (spec.input == Input::Path).then(|| weights.take("b", &[width, spec.hidden])).transpose()?;
        Ok(Self {
            flow: Flow::new(&plan, &recurrence, a, b, 1)?,
            seen: plan.matrix_places().to_vec(),
            width,
            online: Online::new(&transform),
            start: weights.take("start", &[1, spec.hidden])?,
            first: weights.take("first", &[width + statics, spec.hidden])?,
            layers: Layers::take(weights, &sizes(spec.head, spec.hidden + spec.skip.width(width), outputs))?,
            skip: match spec.skip {
                Skip::None => Vec::new(),
                Skip::Window { coordinates } if coordinates <= plan.matrix_places().len() => {
                    weights.take("skip", &[coordinates])?
                }
                Skip::Window { coordinates } => {
                    let problem = format!("{coordinates} coordinates, but a log-signature has {}", plan.matrix_places().len());
                    return Err(Error::Setting { setting: "skip", problem });
                }
            },
            open: vec![0.0; spec.hidden],
            spec: spec.clone(),
        })
    }

    pub(crate) fn fresh(&self) -> SliceState {
        let hidden = self.spec.hidden;
        let Memory { last, state } = self.online.fresh();
        SliceState {
            state: vec![0.0; hidden],
            skip: vec![0.0; self.spec.skip.width(self.width)],
            sum: vec![0.0; self.layers.features()],
            windows: 0,
            steps: 0,
            last,
            signature: state,
        }
    }

    pub(crate) fn check(&self, series: &SliceState) -> Result<(), Error> {
        let sizes = [
            ("hidden states", series.state.len(), self.spec.hidden),
            ("sums", series.sum.len(), self.layers.features()),
            ("features beside a state", series.skip.len(), self.spec.skip.width(self.width)),
            ("coordinates of a signature", series.signature.len(), self.online.fresh().state.len()),
        ];
        match sizes.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            Some((what, seen, wanted)) => Err(Error::State(format!("{seen} {what}, but the model has {wanted}"))),
            None if series.steps >= self.spec.window => Err(Error::State(format!(
                "an open window of {} observations, but the model has windows of {}",
                series.steps, self.spec.window
            ))),
            None => Ok(()),
        }
    }

    /// Takes the next knot; `statics` are scaled.
    pub(crate) fn push(&mut self, series: &mut SliceState, knot: &[f64], statics: &[f64]) -> Result<(), Error> {
        let first = series.last.is_none();
        self.exchange(series)?;
        let pushed = self.online.push(&self.spec.joint(knot)).map_err(Error::from);
        let full = pushed.is_ok() && !first && series.steps + 1 == self.spec.window;
        let value = if full { Some(self.online.value()) } else { None };
        if full {
            self.online.restart();
        }
        self.exchange(series)?;
        pushed?;
        if first {
            series.state.copy_from_slice(&self.start);
            for (&x, row) in knot.iter().chain(statics).zip(self.first.chunks_exact(self.spec.hidden)) {
                series.state.iter_mut().zip(row).for_each(|(h, &w)| *h += x as f32 * w);
            }
            self.beside(&[], knot, &mut series.skip);
            add(&mut series.sum, &self.features(&series.state, &series.skip));
            return Ok(());
        }
        let Some(value) = value else {
            series.steps += 1;
            return Ok(());
        };
        let value = narrow(&value?);
        self.flow.advance(&mut series.state, &value)?;
        series.steps = 0;
        series.windows += 1;
        self.beside(&value, knot, &mut series.skip);
        add(&mut series.sum, &self.features(&series.state, &series.skip));
        Ok(())
    }

    /// The outputs for what was pushed so far, at least one knot.
    pub(crate) fn outputs(&mut self, series: &mut SliceState) -> Result<Vec<f32>, Error> {
        self.open.copy_from_slice(&series.state);
        let mut beside = series.skip.clone();
        let open = series.steps > 0;
        if open {
            self.exchange(series)?;
            let value = self.online.value();
            self.exchange(series)?;
            let value = narrow(&value?);
            self.flow.advance(&mut self.open, &value)?;
            self.beside(&value, series.last.as_deref().unwrap_or_default(), &mut beside);
        }
        if self.spec.over != Over::Mean {
            return Ok(self.layers.last(&self.features(&self.open, &beside)));
        }
        let mut sum = series.sum.clone();
        if open {
            add(&mut sum, &self.features(&self.open, &beside));
        }
        let share = 1.0 / (series.windows + 1 + usize::from(open)) as f64;
        Ok(self.layers.last(&sum.iter().map(|x| (x * share) as f32).collect::<Vec<f32>>()))
    }

    /// What the hidden layers make of a state and what lies beside it.
    fn features(&self, state: &[f32], beside: &[f32]) -> Vec<f32> {
        let mut seen = [state, beside].concat();
        if self.spec.norm == Norm::Layer {
            normalise(&mut seen[..state.len()]);
        }
        self.layers.hidden(&seen)
    }

    /// `u = (s * lambda, knot)`; before the first window lambda is 0.
    fn beside(&self, lambda: &[f32], knot: &[f64], out: &mut [f32]) {
        if out.is_empty() {
            return;
        }
        let (scaled, rest) = out.split_at_mut(self.skip.len());
        for ((out, s), &place) in scaled.iter_mut().zip(&self.skip).zip(&self.seen) {
            *out = s * lambda.get(place).copied().unwrap_or(0.0);
        }
        rest.iter_mut().zip(knot).for_each(|(out, &x)| *out = x as f32);
    }

    /// Puts the open window of the series into the working memory, or back.
    fn exchange(&mut self, series: &mut SliceState) -> Result<(), Error> {
        let mut memory = Memory { last: series.last.take(), state: std::mem::take(&mut series.signature) };
        let result = self.online.swap(&mut memory);
        (series.last, series.signature) = (memory.last, memory.state);
        Ok(result?)
    }
}

/// Mean 0 and variance 1.
fn normalise(state: &mut [f32]) {
    let n = state.len() as f32;
    let mean = state.iter().sum::<f32>() / n;
    let variance = state.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
    let factor = 1.0 / (variance + NORM_EPSILON).sqrt();
    state.iter_mut().for_each(|x| *x = (*x - mean) * factor);
}

fn add(sum: &mut [f64], state: &[f32]) {
    sum.iter_mut().zip(state).for_each(|(sum, &h)| *sum += f64::from(h));
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
