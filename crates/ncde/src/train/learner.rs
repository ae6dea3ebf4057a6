//! A network that learns on any device from plain numbers, for training loops of one's own.
//!
//! ```text
//! loss = -sum_rows weight ln softmax(outputs)[class],   theta <- theta - rate Adam(grad (loss + penalty))
//! ```

use std::fmt::Debug;

use burn_autodiff::Autodiff;
use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;

use super::Device;
use super::event::{OnDevice, guarded, on_device};
use crate::dense;
use crate::layer::{Begun, Context, Error, LayerBackend, Optimiser, Phase, Places, Rows, Update};
use crate::operation::put;

/// Rows of series of different lengths, `[series, the longest, width]`; what lies past the end of a series is not looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Padded {
    /// The numbers.
    pub values: Vec<f32>,
    /// How many rows each series has.
    pub lengths: Vec<usize>,
    /// How many numbers a row has; 1 for tokens.
    pub width: usize,
}

impl Padded {
    fn rows<B: Backend>(&self) -> Rows<B> {
        let places = Places::regular(&self.lengths);
        let shape = [self.lengths.len(), places.trunk, self.width];
        let values = put(self.values.clone(), shape, &Default::default());
        Rows { values, places: places.into() }
    }
}

/// A network that learns classes.
pub trait Learner: Debug {
    /// One step, begun as by [`Optimiser::begin`]; `answers` has, for each of `[series, rows]` outputs, its class and what its `-ln p` counts: 0 where there is no answer. Where the loss or the norm of the gradient is no
    /// number, no weight changes.
    ///
    /// # Errors
    /// If a layer fails.
    fn begin(
        &mut self,
        update: Update,
        phase: Phase,
        rows: &Padded,
        answers: &dyn Fn([usize; 2]) -> Vec<(usize, f32)>,
    ) -> Result<Begun, Error>;

    /// What comes out, with its shape.
    ///
    /// # Errors
    /// If a layer fails.
    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), Error>;

    /// How many numbers are trained.
    fn parameters(&self) -> usize;

    /// All that changes from step to step: weights in order, then the two means of each that is trained; and the steps that were taken.
    fn state(&self) -> (Vec<f32>, usize);

    /// Goes on from such a state; no, and nothing changed, if it is of another network.
    fn restore(&mut self, numbers: &[f32], steps: usize) -> bool;
}

/// Layers on a device, with weights drawn from a seed.
///
/// # Errors
/// If the layers do not fit together, or there is no such device.
pub fn learner(device: Device, layers: &[LayerSpec], signal: &Signal, seed: u64) -> Result<Box<dyn Learner>, Error> {
    struct Make<'a>(&'a [LayerSpec], &'a Signal, u64);
    impl OnDevice for Make<'_> {
        type Output = Result<Box<dyn Learner>, Error>;
        fn run<B: LayerBackend>(self) -> Self::Output {
            Ok(Box::new(Optimiser::<Autodiff<B>>::new(self.0, self.1, self.2, &Default::default())?))
        }
    }
    let learner = on_device(device, Make(layers, signal, seed))??;
    Ok(if device == Device::Cpu { learner } else { Box::new(Guarded { learner, device }) })
}

/// One whose device may run out of memory.
#[derive(Debug)]
struct Guarded {
    learner: Box<dyn Learner>,
    device: Device,
}

impl Learner for Guarded {
    fn begin(
        &mut self,
        update: Update,
        phase: Phase,
        rows: &Padded,
        answers: &dyn Fn([usize; 2]) -> Vec<(usize, f32)>,
    ) -> Result<Begun, Error> {
        guarded(self.device, || self.learner.begin(update, phase, rows, answers))?
    }

    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), Error> {
        guarded(self.device, || self.learner.outputs(rows))?
    }

    fn parameters(&self) -> usize {
        self.learner.parameters()
    }

    fn state(&self) -> (Vec<f32>, usize) {
        self.learner.state()
    }

    fn restore(&mut self, numbers: &[f32], steps: usize) -> bool {
        self.learner.restore(numbers, steps)
    }
}

impl<B: LayerBackend> Learner for Optimiser<Autodiff<B>> {
    fn begin(
        &mut self,
        update: Update,
        phase: Phase,
        rows: &Padded,
        answers: &dyn Fn([usize; 2]) -> Vec<(usize, f32)>,
    ) -> Result<Begun, Error> {
        Optimiser::begin(self, update, (rows.rows(), Context { statics: None, phase }), |outputs| {
            let ([series, places, _], device) = (outputs.values.dims(), outputs.values.device());
            let (labels, weights): (Vec<f32>, Vec<f32>) =
                answers([series, places]).into_iter().map(|(class, weight)| (class as f32, weight)).unzip();
            let [labels, weights] = [labels, weights].map(|own| put(own, [series * places], &device));
            Ok(dense::class_loss(outputs.values, labels, weights, 0.0, 1.0)?)
        })
    }

    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), Error> {
        let outputs = self.network.forward(rows.rows(), &Context::predict())?.values;
        Ok((outputs.to_data().iter().collect(), outputs.dims()))
    }

    fn parameters(&self) -> usize {
        self.network.parameters()
    }

    fn state(&self) -> (Vec<f32>, usize) {
        let tensors = self.network.tensors.iter().chain(self.means.iter().flatten().flatten());
        (tensors.flat_map(|tensor| tensor.to_data().iter::<f32>().collect::<Vec<_>>()).collect(), self.steps)
    }

    fn restore(&mut self, numbers: &[f32], steps: usize) -> bool {
        let mut rest = numbers;
        let mut next = |like: &Tensor<B, 1>| -> Option<Tensor<B, 1>> {
            let (own, after) = rest.split_at_checked(like.dims()[0])?;
            rest = after;
            Some(Tensor::from_data(TensorData::new(own.to_vec(), [own.len()]), &like.device()))
        };
        let Some(weights) = self.network.tensors.iter().map(&mut next).collect::<Option<Vec<_>>>() else { return false };
        let pair = |own: &Option<[Tensor<B, 1>; 2]>| match own {
            Some([mean, square]) => Some(Some([next(mean)?, next(square)?])),
            None => Some(None),
        };
        let Some(means) = self.means.iter().map(pair).collect::<Option<Vec<_>>>() else { return false };
        if !rest.is_empty() {
            return false;
        }
        (self.network.tensors, self.means, self.steps) = (weights, means, steps);
        true
    }
}
