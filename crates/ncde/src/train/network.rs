//! The models as Burn modules: features in, outputs out.

use burn::module::{Module, Param};
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_runtime::{Architecture, BRACKET_BYTES, Over, Weight};

use super::features::{Batch, Features};
use super::settings::Settings;
use crate::model::{Driving, Error, Head, Init, Initial, LinearNcde, LinearNcdeConfig, ModelBackend, Readout, ReadoutConfig};
use crate::random::Stream;

/// A model that is trained.
#[derive(Module, Debug)]
pub(super) enum Network<B: Backend> {
    /// A structured Linear NCDE.
    Slice(SliceNetwork<B>),
    /// A linear model of scaled features.
    Signature(SignatureNetwork<B>),
}

/// A structured Linear NCDE and its readout.
#[derive(Module, Debug)]
pub(super) struct SliceNetwork<B: Backend> {
    layer: LinearNcde<B>,
    readout: Readout<B>,
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
                let config = LinearNcdeConfig { bracket_bytes: BRACKET_BYTES, ..config };
                let readout = ReadoutConfig { outputs, over: slice.over, head: slice.head };
                Ok(Self::Slice(SliceNetwork {
                    layer: config.init_from(device, &weights)?,
                    readout: readout.init(slice.hidden, device, &head),
                }))
            }
            Architecture::Signature(_) => {
                let (shift, factor) = scaling(features, train);
                let constant = |values: Vec<f32>| {
                    Param::from_tensor(Tensor::from_data(TensorData::new(values, [width]), device)).set_require_grad(false)
                };
                let readout = ReadoutConfig { outputs, over: Over::EveryStep, head: Head::Linear };
                Ok(Self::Signature(SignatureNetwork {
                    shift: constant(shift),
                    factor: constant(factor),
                    readout: readout.init(width, device, &head),
                }))
            }
        }
    }

    /// `[batch, places, outputs]`.
    pub(super) fn forward(&self, batch: Batch<B>) -> Result<Tensor<B, 3>, Error> {
        match self {
            Self::Slice(SliceNetwork { layer, readout }) => {
                let start = layer.initial(&batch.first)?;
                let states = layer.over_windows(start.clone(), batch.rows, Some(batch.lengths.clone()))?.flatten(2, 3);
                let states = Tensor::cat(vec![start, states], 1);
                let lengths: Vec<usize> = batch.lengths.iter().map(|own| own + 1).collect();
                readout.forward(states, Some(&lengths))
            }
            Self::Signature(SignatureNetwork { shift, factor, readout }) => {
                let scaled = (batch.rows - shift.val().unsqueeze()) * factor.val().unsqueeze();
                readout.forward(scaled, None)
            }
        }
    }

    /// The penalty on the vector field, where there is one.
    pub(super) fn penalty(&self) -> Option<Tensor<B, 1>> {
        match self {
            Self::Slice(network) => Some(network.layer.penalty()),
            Self::Signature(_) => None,
        }
    }

    /// All weights, by the names that the runtime knows them by.
    pub(super) fn weights(&self) -> Vec<Weight> {
        let (mut all, readout) = match self {
            Self::Slice(SliceNetwork { layer, readout }) => {
                let mut all = vec![weight("a", layer.a.val()), weight("start", layer.start.val())];
                all.extend(layer.first.as_ref().map(|first| weight("first", first.val())));
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

fn weight<B: Backend, const D: usize>(name: &str, tensor: Tensor<B, D>) -> Weight {
    Weight { name: name.into(), shape: tensor.dims().to_vec(), values: tensor.into_data().iter().collect() }
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
