//! A network that learns on any device from plain numbers, for training loops of one's own.
//!
//! ```text
//! loss = -sum_rows weight ln softmax(outputs)[class]   or   mean (outputs - wanted)^2,   theta <- theta - rate Adam(grad (loss + penalty))
//! ```

use std::fmt::Debug;

use burn_autodiff::Autodiff;
use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;

use super::Device;
use super::event::{OnDevice, guarded, on_device};
use ncde_layers::dense;
use ncde_layers::layer::{Begun, Context, Error, LayerBackend, Optimizer, Phase, Places, Rows, Update};
use ncde_layers::operation::put;

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

/// What outputs are to be.
#[derive(Clone, Copy)]
pub enum Answers<'a> {
    /// For each of `[series, rows]` outputs its class, and what its `-ln p` counts: 0 where there is no answer.
    Classes(&'a dyn Fn([usize; 2]) -> Vec<(usize, f32)>),
    /// The numbers themselves, `[series, rows, width]`; the loss is the mean of all squares.
    Numbers(&'a [f32]),
}

impl Debug for Answers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Classes(_) => "Classes",
            Self::Numbers(_) => "Numbers",
        })
    }
}

/// A network that learns classes or numbers.
pub trait Learner: Debug {
    /// One step, begun as by [`Optimizer::begin`]. Where the loss or the norm of the gradient is no number, no weight changes.
    ///
    /// # Errors
    /// If a layer fails.
    fn begin(&mut self, update: Update, phase: Phase, rows: &Padded, answers: Answers<'_>) -> Result<Begun, Error>;

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
/// ```
/// use ncde_layers::layer::{Phase, Update};
/// use ncde_runtime::random::Stream;
/// use ncde_train::{Answers, Device, Padded, learner};
/// use ncde_runtime::{LayerSpec, layer::Signal};
/// let layers: Vec<LayerSpec> = serde_json::from_str(r#"[{"layer": "linear", "outputs": 1}]"#)?;
/// let mut line = learner(Device::Cpu, &layers, &Signal::values(1), 0)?;
/// let rows = Padded { values: vec![0.0, 1.0, 2.0], lengths: vec![3], width: 1 };
/// let phase = || Phase::Train(Stream::new(0, 0));
/// for _ in 0..400 {
///     line.begin(Update::rate(0.05), phase(), &rows, Answers::Numbers(&[1.0, 3.0, 5.0]))?.seen()?;
/// }
/// let (numbers, shape) = line.outputs(&rows)?;
/// assert!(shape == [1, 3, 1] && (numbers[2] - 5.0).abs() < 0.05);
/// let few = line.begin(Update::rate(0.05), phase(), &rows, Answers::Numbers(&[1.0])).unwrap_err();
/// assert_eq!(few.to_string(), "learner: the list of answers has 1, but 3 is needed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the layers do not fit together, or there is no such device.
pub fn learner(device: Device, layers: &[LayerSpec], signal: &Signal, seed: u64) -> Result<Box<dyn Learner>, Error> {
    struct Make<'a>(&'a [LayerSpec], &'a Signal, u64);
    impl OnDevice for Make<'_> {
        type Output = Result<Box<dyn Learner>, Error>;
        fn run<B: LayerBackend>(self) -> Self::Output {
            Ok(Box::new(Optimizer::<Autodiff<B>>::new(self.0, self.1, self.2, &Default::default())?))
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
    fn begin(&mut self, update: Update, phase: Phase, rows: &Padded, answers: Answers<'_>) -> Result<Begun, Error> {
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

impl<B: LayerBackend> Learner for Optimizer<Autodiff<B>> {
    fn begin(&mut self, update: Update, phase: Phase, rows: &Padded, answers: Answers<'_>) -> Result<Begun, Error> {
        Optimizer::begin(self, update, (rows.rows(), Context { statics: None, phase }), |outputs| {
            let (shape @ [series, places, _], device) = (outputs.values.dims(), outputs.values.device());
            let fits = |seen: usize, wanted: usize| {
                let error = Error::Shape {
                    operation: "learner",
                    what: "the list of answers",
                    seen: seen.to_string(),
                    wanted: wanted.to_string(),
                };
                if seen == wanted { Ok(()) } else { Err(error) }
            };
            let classes = match answers {
                Answers::Classes(classes) => classes([series, places]),
                Answers::Numbers(wanted) => {
                    fits(wanted.len(), shape.iter().product())?;
                    return Ok((outputs.values - put(wanted.to_vec(), shape, &device)).square().mean());
                }
            };
            fits(classes.len(), series * places)?;
            let (labels, weights): (Vec<f32>, Vec<f32>) =
                classes.into_iter().map(|(class, weight)| (class as f32, weight)).unzip();
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
