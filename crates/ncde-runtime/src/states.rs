//! A model with a state that windows of the path move, one knot at a time.
//!
//! ```text
//! h_0 = L (knot_0, statics) + c,   h_{k+1} = Phi_k(h_k),   y = W g(h_n, u_n) + b,  or  W mean_k g(h_k, u_k) + b
//! ```
//!
//! The stored state is the one at the end of the last full window; the open window is held as what is known of it so far. An output in an
//! open window takes the stored state along that: what a series that ends here would give.

use ncde_signature::{Memory, Online};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::control::Control;
use crate::flow::Flow;
use crate::head::{Layers, sizes};
use crate::neural::NeuralFlow;
use crate::neural_spec::{NeuralKind, NeuralSpec};
use crate::spec::{Norm, Over, ReadSpec, Skip, SliceSpec};
use crate::weights::Weights;

/// What is added to the variance of a state before it is divided by its root.
pub const NORM_EPSILON: f32 = 1e-5;

/// The working parts of the model, shared by all series.
#[derive(Debug)]
pub(crate) struct StateCore {
    /// How many observations make up a window.
    window: usize,
    read: ReadSpec,
    control: Control,
    motion: Motion,
    /// `c`.
    start: Vec<f32>,
    /// `L`: `[knot and statics, H]`.
    first: Vec<f32>,
    layers: Layers,
    /// What numbers of a window are multiplied with on their way to the head, and which they are.
    skip: Vec<f32>,
    seen: Vec<usize>,
    /// How many channels a knot has.
    width: usize,
    open: Vec<f32>,
}

/// `Phi`.
#[derive(Debug)]
enum Motion {
    Linear(Box<Flow<f32>>),
    Neural(Box<NeuralFlow>),
}

impl Motion {
    fn advance(&mut self, state: &mut [f32], numbers: &[f32]) -> Result<(), Error> {
        match self {
            Self::Linear(flow) => flow.advance(state, numbers),
            Self::Neural(flow) => flow.advance(state, numbers),
        }
    }
}

/// What is remembered of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowState {
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
    /// The last knot.
    last: Option<Vec<f64>>,
    /// What is known of the open window.
    open: Vec<f64>,
}

impl StateCore {
    /// A structured Linear NCDE; `sizes` are those of a knot, of the static covariates and of the output.
    pub(crate) fn slice(spec: &SliceSpec, sizes: [usize; 3], weights: &mut Weights) -> Result<Self, Error> {
        let [width, ..] = sizes;
        let (plan, transform) = spec.plan(width)?;
        let control = Control::Log { online: Box::new(Online::new(&transform)), scale: spec.scale };
        let motion = Motion::Linear(Box::new(spec.flow(&plan, width, weights)?));
        Self::new((spec.hidden, spec.window, &spec.read), control, motion, plan.matrix_places().to_vec(), sizes, weights)
    }

    /// An NCDE, an NRDE or a Log-NCDE.
    pub(crate) fn neural(spec: &NeuralSpec, sizes: [usize; 3], weights: &mut Weights) -> Result<Self, Error> {
        let [width, ..] = sizes;
        let field = weights.take("field", &[spec.network(width)?.parameters()])?;
        let control = match spec.kind {
            NeuralKind::Ncde => Control::Hermite { width },
            NeuralKind::Nrde { .. } | NeuralKind::LogNcde { .. } => {
                Control::Log { online: Box::new(Online::new(&spec.log_signature(width)?.into())), scale: 1.0 }
            }
        };
        let motion = Motion::Neural(Box::new(NeuralFlow::new(spec, width, field)?));
        Self::new((spec.hidden, spec.window, &spec.read), control, motion, spec.seen(width)?, sizes, weights)
    }

    fn new(
        (hidden, window, read): (usize, usize, &ReadSpec),
        control: Control,
        motion: Motion,
        seen: Vec<usize>,
        [width, statics, outputs]: [usize; 3],
        weights: &mut Weights,
    ) -> Result<Self, Error> {
        Ok(Self {
            control,
            motion,
            start: weights.take("start", &[1, hidden])?,
            first: weights.take("first", &[width + statics, hidden])?,
            layers: Layers::take(weights, &sizes(read.head, hidden + read.skip.width(width), outputs))?,
            skip: match read.skip {
                Skip::None => Vec::new(),
                Skip::Window { coordinates } if coordinates <= seen.len() => weights.take("skip", &[coordinates])?,
                Skip::Window { coordinates } => {
                    let problem = format!("{coordinates} coordinates, but a window has {}", seen.len());
                    return Err(Error::Setting { setting: "skip", problem });
                }
            },
            seen,
            window,
            width,
            open: vec![0.0; hidden],
            read: read.clone(),
        })
    }

    pub(crate) fn fresh(&self) -> WindowState {
        let Memory { last, state } = self.control.fresh();
        WindowState {
            state: vec![0.0; self.open.len()],
            skip: vec![0.0; self.read.skip.width(self.width)],
            sum: vec![0.0; self.layers.features()],
            windows: 0,
            steps: 0,
            last,
            open: state,
        }
    }

    pub(crate) fn check(&self, series: &WindowState) -> Result<(), Error> {
        let sizes = [
            ("hidden states", series.state.len(), self.open.len()),
            ("sums", series.sum.len(), self.layers.features()),
            ("features beside a state", series.skip.len(), self.read.skip.width(self.width)),
            ("numbers of an open window", series.open.len(), self.control.fresh().state.len()),
        ];
        match sizes.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            Some((what, seen, wanted)) => Err(Error::State(format!("{seen} {what}, but the model has {wanted}"))),
            None if series.steps >= self.window => Err(Error::State(format!(
                "an open window of {} observations, but the model has windows of {}",
                series.steps, self.window
            ))),
            None => Ok(()),
        }
    }

    /// Takes the next knot, at its time; `statics` are scaled.
    pub(crate) fn push(&mut self, series: &mut WindowState, time: f64, knot: &[f64], statics: &[f64]) -> Result<(), Error> {
        let first = series.last.is_none();
        let full = !first && series.steps + 1 == self.window;
        let control = &mut self.control;
        let value = series.with(|memory| {
            control.push(memory, time, knot)?;
            if !full {
                return Ok(None);
            }
            let value = control.value(memory);
            control.restart(memory);
            value.map(Some)
        })?;
        if first {
            series.state.copy_from_slice(&self.start);
            for (&x, row) in knot.iter().chain(statics).zip(self.first.chunks_exact(self.open.len())) {
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
        self.motion.advance(&mut series.state, &value)?;
        series.steps = 0;
        series.windows += 1;
        self.beside(&value, knot, &mut series.skip);
        add(&mut series.sum, &self.features(&series.state, &series.skip));
        Ok(())
    }

    /// The outputs for what was pushed so far, at least one knot.
    pub(crate) fn outputs(&mut self, series: &mut WindowState) -> Result<Vec<f32>, Error> {
        self.open.copy_from_slice(&series.state);
        let mut beside = series.skip.clone();
        let open = series.steps > 0;
        if open {
            let control = &mut self.control;
            let value = series.with(|memory| control.value(memory))?;
            self.motion.advance(&mut self.open, &value)?;
            self.beside(&value, series.last.as_deref().unwrap_or_default(), &mut beside);
        }
        if self.read.over != Over::Mean {
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
        if self.read.norm == Norm::Layer {
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
}

impl WindowState {
    /// Does something to what is known of the open window.
    fn with<R>(&mut self, work: impl FnOnce(&mut Memory<f64>) -> R) -> R {
        let mut memory = Memory { last: self.last.take(), state: std::mem::take(&mut self.open) };
        let result = work(&mut memory);
        (self.last, self.open) = (memory.last, memory.state);
        result
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
