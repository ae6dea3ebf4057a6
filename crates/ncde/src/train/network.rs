//! The models as Burn modules: features in, outputs out.

use burn::module::{Module, Param};
use burn::tensor::activation::silu;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_kernels::Structure;
use ncde_runtime::{Architecture, BRACKET_BYTES, Input, NORM_EPSILON, Norm, Over, ReadSpec, Weight};

use super::features::{Batch, Features, Short};
use super::settings::Settings;
use crate::model::dropout;
use crate::model::{
    Driving, Error, Head, Init, Initial, InputTerm, LinearNcde, LinearNcdeConfig, ModelBackend, NeuralCde, NeuralCdeConfig,
    NeuralDrive, Phase, Readout, ReadoutConfig, StepRule,
};
use crate::random::Stream;

/// A model that is trained.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, and the derive of Burn knows no boxes")]
pub(super) enum Network<B: Backend> {
    /// A state that windows move, and its readout.
    States(StateNetwork<B>),
    /// A linear model of scaled features.
    Signature(SignatureNetwork<B>),
}

/// A state that windows move, and its readout.
#[derive(Module, Debug)]
pub(super) struct StateNetwork<B: Backend> {
    motion: Motion<B>,
    readout: Readout<B>,
    #[module(skip)]
    norm: Norm,
}

/// What moves the state.
#[derive(Module, Debug)]
pub(super) enum Motion<B: Backend> {
    /// A structured Linear NCDE.
    Linear(LinearNcde<B>),
    /// An NCDE, an NRDE or a Log-NCDE.
    Neural(NeuralCde<B>),
}

/// A linear model of scaled features.
#[derive(Module, Debug)]
pub(super) struct SignatureNetwork<B: Backend> {
    shift: Param<Tensor<B, 1>>,
    factor: Param<Tensor<B, 1>>,
    readout: Readout<B>,
}

impl<B: ModelBackend> Network<B> {
    /// With weights drawn from the seed; what features are scaled by comes from the training part.
    pub(super) fn new(
        settings: &Settings,
        features: &Features,
        outputs: usize,
        train: &[usize],
        device: &B::Device,
    ) -> Result<Self, Error> {
        let [first, width] = features.widths;
        let (weights, head) = (Stream::new(settings.seed, 2), Stream::new(settings.seed, 4));
        match &settings.model {
            Architecture::Slice(slice) => {
                let config = LinearNcdeConfig::new(slice.hidden, settings.width)
                    .with_structure(slice.structure.clone())
                    .with_init(Init::Scaled { std: settings.init })
                    .with_initial(Initial::FromFirst { channels: first })
                    .with_transition(slice.transition)
                    .with_driving(Driving::LogOde { depth: slice.depth, steps: slice.window });
                let input = match slice.input {
                    Input::None => InputTerm::None,
                    Input::Path => InputTerm::Path,
                };
                let config = LinearNcdeConfig { bracket_bytes: BRACKET_BYTES, ..config }.with_input(input);
                let mut layer = config.init_from(device, &weights)?;
                if settings.forget && settings.time {
                    layer = forget(layer, features.longest());
                }
                Ok(Self::states(Motion::Linear(layer), (slice.hidden, &slice.read), settings.width, outputs, device, &head))
            }
            Architecture::Neural(neural) => {
                let config = NeuralCdeConfig::new(neural.kind, neural.hidden, settings.width)
                    .with_statics(first - settings.width)
                    .with_layers(neural.width, neural.layers)
                    .with_activation(neural.activation)
                    .with_before_last(Some(neural.before_last))
                    .with_last(neural.last)
                    .with_solver(neural.solver)
                    .with_steps(StepRule::EachWindow(neural.steps))
                    .with_divisor(1.0 / settings.init);
                let motion = Motion::Neural(config.init_from(device, &weights)?);
                Ok(Self::states(motion, (neural.hidden, &neural.read), settings.width, outputs, device, &head))
            }
            Architecture::Signature(_) => {
                let (shift, factor) = scaling(features, train);
                let readout = ReadoutConfig { outputs, over: Over::EveryStep, head: Head::Linear };
                Ok(Self::Signature(SignatureNetwork {
                    shift: constant(shift, device),
                    factor: constant(factor, device),
                    readout: readout.init(width, device, &head),
                }))
            }
        }
    }

    fn states(
        motion: Motion<B>,
        (hidden, read): (usize, &ReadSpec),
        width: usize,
        outputs: usize,
        device: &B::Device,
        stream: &Stream,
    ) -> Self {
        let config = ReadoutConfig { outputs, over: read.over, head: read.head };
        let readout = config.init(hidden + read.skip.width(width), device, stream);
        Self::States(StateNetwork { motion, readout, norm: read.norm })
    }

    /// `[batch, places, outputs]`; in training a share `rate` of what the last layer reads is dropped.
    pub(super) fn forward(&self, batch: Batch<B>, rate: f64, phase: Phase) -> Result<Tensor<B, 3>, Error> {
        match self {
            Self::States(StateNetwork { motion, readout, norm }) => {
                let mut states = motion.states(&batch)?;
                if *norm == Norm::Layer {
                    states = normalised(states);
                }
                let seen = Tensor::cat(vec![states, batch.beside], 2);
                Ok(head(readout, seen, batch.shares, &batch.lengths, (rate, phase)))
            }
            Self::Signature(SignatureNetwork { shift, factor, readout }) => {
                let scaled = (batch.rows - shift.val().unsqueeze()) * factor.val().unsqueeze();
                readout.forward_dropped(scaled, None, rate, phase)
            }
        }
    }

    /// The penalty on the vector field, where there is one.
    pub(super) fn penalty(&self) -> Option<Tensor<B, 1>> {
        match self {
            Self::States(network) => Some(match &network.motion {
                Motion::Linear(layer) => layer.penalty(),
                Motion::Neural(model) => model.penalty(),
            }),
            Self::Signature(_) => None,
        }
    }

    /// The largest `|h|` over a batch; none for a model whose field is not a network.
    pub(super) fn radius(&self, batch: &Batch<B>) -> Result<Option<f64>, Error> {
        let Self::States(StateNetwork { motion: motion @ Motion::Neural(_), .. }) = self else { return Ok(None) };
        let states = motion.states(batch)?;
        let hidden = states.dims()[2];
        let numbers: Vec<f64> = states.into_data().iter().collect();
        let norms = numbers.chunks_exact(hidden).map(|h| h.iter().map(|x| x * x).sum::<f64>().sqrt());
        Ok(Some(norms.fold(0.0, f64::max)))
    }

    /// All weights, by the names that the runtime knows them by; `skip` is not trained.
    pub(super) fn weights(&self, skip: &[f32]) -> Vec<Weight> {
        let (mut all, readout) = match self {
            Self::States(StateNetwork { motion, readout, .. }) => {
                let mut all = motion.weights();
                if !skip.is_empty() {
                    all.push(Weight { name: "skip".into(), shape: vec![skip.len()], values: skip.to_vec() });
                }
                (all, readout)
            }
            Self::Signature(SignatureNetwork { shift, factor, readout }) => {
                (vec![weight("shift", shift.val()), weight("factor", factor.val())], readout)
            }
        };
        for (i, layer) in readout.layers.iter().enumerate() {
            all.push(weight(&format!("readout.{i}.weight"), layer.weight.val()));
            all.extend(layer.bias.as_ref().map(|bias| weight(&format!("readout.{i}.bias"), bias.val())));
        }
        all
    }
}

impl<B: ModelBackend> Motion<B> {
    /// The first state and those at the ends of windows: `[batch, 1 + windows, H]`.
    fn states(&self, batch: &Batch<B>) -> Result<Tensor<B, 3>, Error> {
        match (self, &batch.schedule) {
            (Self::Neural(model), Some(schedule)) => {
                let drive = NeuralDrive::new(batch.first.clone(), batch.rows.clone(), schedule.clone())?;
                model.forward_with_start(&drive)
            }
            (Self::Neural(model), None) => Ok(model.initial(&batch.first)?.unsqueeze_dim(1)),
            (Self::Linear(layer), _) => {
                let start = layer.initial(&batch.first)?;
                let (rows, lengths) = (batch.rows.clone(), Some(batch.lengths.clone()));
                let states = match batch.short {
                    None => layer.over_windows(start.clone(), rows, lengths)?,
                    Some(Short { window, scale }) => {
                        let [batch, windows, width] = rows.dims();
                        let increments = rows.reshape([batch, windows, window, width / window]);
                        layer.over_increments(start.clone(), increments, scale, lengths)?
                    }
                };
                Ok(Tensor::cat(vec![start, states.flatten(2, 3)], 1))
            }
        }
    }

    fn weights(&self) -> Vec<Weight> {
        match self {
            Self::Linear(layer) => {
                let mut all = vec![weight("a", layer.a.val()), weight("start", layer.start.val())];
                all.extend(layer.b.as_ref().map(|b| weight("b", b.val())));
                all.extend(layer.first.as_ref().map(|first| weight("first", first.val())));
                all
            }
            Self::Neural(model) => {
                let mut all = vec![weight("field", model.field.val()), weight("first", model.first.weight.val())];
                all.extend(model.first.bias.as_ref().map(|bias| weight("start", bias.val().unsqueeze::<2>())));
                all
            }
        }
    }
}

fn weight<B: Backend, const D: usize>(name: &str, tensor: Tensor<B, D>) -> Weight {
    Weight { name: name.into(), shape: tensor.dims().to_vec(), values: tensor.into_data().iter().collect() }
}

/// Lets states forget: `A^time <- A^time - r_j` for state `j`, with rates from 0 to one window, so that some states remember everything and
/// others only what was just seen.
fn forget<B: Backend>(mut layer: LinearNcde<B>, windows: usize) -> LinearNcde<B> {
    let field = layer.field().clone();
    let hidden = field.hidden();
    // Rates in powers of 2, a quarter of the states without any. Time runs over about 1.
    let octaves = (windows.max(2) as f64).log2();
    let rate = |j: usize| match (j as f64 + 0.5) / hidden as f64 {
        share if share < 0.25 => 0.0,
        share => ((share - 0.25) / 0.75 * octaves).exp2(),
    };
    let mut shift = vec![0.0_f32; field.parameters()];
    let (mut place, mut state) = (field.channel(0).start, 0);
    match (field.structure(), field.structure().sizes()) {
        (_, Some(sizes)) => {
            for b in sizes {
                // One rate a block, or its states could not be mixed without forgetting at the fastest.
                (0..b).for_each(|j| shift[place + j * (b + 1)] = -rate(state) as f32);
                (place, state) = (place + b * b, state + b);
            }
        }
        (Structure::Dplr { .. }, None) => (0..hidden).for_each(|j| shift[place + j] = -rate(j) as f32),
        _ => {}
    }
    let count = shift.len();
    layer.a = layer.a.map(|a| {
        let shift = Tensor::from_data(TensorData::new(shift, [count]), &a.device());
        (a + shift).detach().require_grad()
    });
    layer
}

/// Every state with mean 0 and variance 1. Means are matrix products with a constant, which are far faster here than sums along the last
/// axis that are then spread over it again.
fn normalised<B: Backend>(states: Tensor<B, 3>) -> Tensor<B, 3> {
    let hidden = states.dims()[2];
    let mean = Tensor::<B, 3>::ones([1, hidden, hidden], &states.device()) / hidden as f64;
    let mean = |x: Tensor<B, 3>| {
        let [batch, places, _] = x.dims();
        x.reshape([1, batch * places, hidden]).matmul(mean.clone()).reshape([batch, places, hidden])
    };
    let centred = states.clone() - mean(states);
    let variance = mean(centred.clone().square());
    centred / (variance + NORM_EPSILON).sqrt()
}

/// The readout of what is seen at each place, whose last number is 1, `[batch, places, seen]`.
fn head<B: Backend>(
    readout: &Readout<B>,
    seen: Tensor<B, 3>,
    shares: Tensor<B, 3>,
    lengths: &[usize],
    (rate, phase): (f64, Phase),
) -> Tensor<B, 3> {
    let [batch, places, width] = seen.dims();
    let [first, rest @ ..] = &readout.layers[..] else { return seen };
    let pool = readout.over() == Over::Mean;
    // With no hidden layer the mean comes first: it is the same, and less work.
    let seen = if pool && rest.is_empty() { shares.clone().matmul(seen) } else { seen };
    let rows = seen.dims()[1] * batch;
    let bias = first.bias.as_ref().map(|bias| bias.val().unsqueeze::<2>());
    let weight = Tensor::cat(std::iter::once(first.weight.val()).chain(bias).collect(), 0);
    let outputs = weight.dims()[1];
    let hidden = seen.reshape([rows, width]).matmul(weight).reshape([batch, rows / batch, outputs]);
    if rest.is_empty() {
        let lengths: Vec<usize> = if pool { vec![1; batch] } else { lengths.iter().map(|own| own + 1).collect() };
        return readout.choose(hidden, &lengths);
    }
    let (last, between) = match rest {
        [between @ .., last] => (last, between),
        [] => return hidden,
    };
    let mut hidden = silu(hidden);
    for layer in between {
        hidden = silu(layer.forward(hidden));
    }
    debug_assert_eq!(hidden.dims()[1], places);
    let lengths: Vec<usize> = lengths.iter().map(|own| own + 1).collect();
    let read = if pool { shares.matmul(hidden) } else { readout.choose(hidden, &lengths) };
    last.forward(dropout(read, rate, phase))
}

/// Numbers that are not trained.
fn constant<B: Backend>(values: Vec<f32>, device: &B::Device) -> Param<Tensor<B, 1>> {
    let count = values.len();
    Param::from_tensor(Tensor::from_data(TensorData::new(values, [count]), device)).set_require_grad(false)
}

/// Mean and inverse deviation of each feature.
fn scaling(features: &Features, train: &[usize]) -> (Vec<f32>, Vec<f32>) {
    let width = features.widths[1];
    let (mut count, mut mean, mut squares) = (0.0, vec![0.0; width], vec![0.0; width]);
    for row in features.rows_of(train) {
        count += 1.0;
        for ((mean, squares), &x) in mean.iter_mut().zip(&mut squares).zip(row) {
            let step = f64::from(x) - *mean;
            *mean += step / count;
            *squares += step * (f64::from(x) - *mean);
        }
    }
    let inverse = |(&mean, &squares): (&f64, &f64)| {
        let deviation = (squares / f64::max(count, 1.0)).sqrt();
        // A feature that does not vary says nothing.
        if deviation > 1e-7 * mean.abs().max(1e-12) { (1.0 / deviation) as f32 } else { 0.0 }
    };
    let factor = mean.iter().zip(&squares).map(inverse).collect();
    (mean.iter().map(|&x| x as f32).collect(), factor)
}
