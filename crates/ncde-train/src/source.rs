//! Training on plain numbers: batches from a source, on any device.
//!
//! ```text
//! loss = sum over answers of weight (-ln softmax(outputs)[class])      or      mean (outputs - values)^2 over values that are known
//! ```

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use burn_autodiff::Autodiff;
use burn_tensor::Tensor;
use burn_tensor::backend::Backend;
use ncde_layers::dense::Seen;
use ncde_layers::layer::{self, Context, LayerBackend, Network, Phase, Places, Rows};
use ncde_layers::operation::put;
use ncde_report::record::{Best, Point, StopReason};
use ncde_runtime::layer::Signal;
use ncde_runtime::{LayerSpec, Model, ModelSpec, NamedWeight, Weights};

use crate::checkpoint::{self, Progress, RUNNING};
use crate::device::{OnDevice, guarded, on_device};
use crate::loss::{CrossEntropy, Loss, Squared, Wanted};
use crate::optimizer::TrainBackend;
use crate::state::State;
use crate::trainee::Trainee;
use crate::trainer::{Ended, Evaluation, Feed, Plan, Trainer};
use crate::{Device, Error, Event};

/// Rows of series of different lengths, `[series, the longest, width]`; what lies past the end of a series is not looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Padded {
    /// The numbers.
    pub values: Vec<f32>,
    /// How many rows each series has.
    pub lengths: Vec<usize>,
    /// How many numbers a row has; 1 for tokens.
    pub width: usize,
    /// The static covariates of each series, `[series, statics]`; empty if there are none.
    pub statics: Vec<f32>,
}

impl Padded {
    /// Series of rows of `width` numbers, each as long as it is.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a [f32]>, width: usize) -> Self {
        let series: Vec<&[f32]> = series.into_iter().collect();
        let lengths: Vec<usize> = series.iter().map(|own| own.len() / width.max(1)).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let mut values = vec![0.0; series.len() * longest * width];
        for (row, own) in values.chunks_exact_mut((longest * width).max(1)).zip(series) {
            row[..own.len()].copy_from_slice(own);
        }
        Self { values, lengths, width, statics: Vec::new() }
    }

    fn rows<B: Backend>(&self, phase: Phase) -> Result<(Rows<B>, Context<B>), layer::Error> {
        let (places, series) = (Places::regular(&self.lengths), self.lengths.len());
        let fits = [
            ("the list of values", self.values.len(), series * places.trunk * self.width),
            ("the list of statics", self.statics.len(), self.statics.len() / series.max(1) * series),
        ];
        fits.into_iter().try_for_each(|(what, seen, wanted)| fit_count(what, seen, wanted))?;
        let device = B::Device::default();
        let values = put(self.values.clone(), [series, places.trunk, self.width], &device);
        let statics =
            (!self.statics.is_empty()).then(|| put(self.statics.clone(), [series, self.statics.len() / series], &device));
        Ok((Rows { values, places: places.into() }, Context { statics, phase }))
    }
}

/// What should come out for each series of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// For each row that comes out, in order, its class and what its `-ln p` counts; rows after the last have none.
    Classes(Vec<Vec<(usize, f32)>>),
    /// The numbers of each row that comes out, row after row; NaN where one is not known.
    Numbers(Vec<Vec<f32>>),
}

impl Targets {
    /// One class for each series as a whole, each counting the same.
    pub fn classes(of: impl IntoIterator<Item = usize>) -> Self {
        let of: Vec<usize> = of.into_iter().collect();
        let share = 1.0 / of.len().max(1) as f32;
        Self::Classes(of.into_iter().map(|class| vec![(class, share)]).collect())
    }

    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>) -> Result<Tensor<B, 1>, layer::Error> {
        let ([series, places, width], device) = (outputs.dims(), outputs.device());
        match self {
            Self::Classes(all) => {
                fit_count("the list of answers", all.len(), series)?;
                let [mut labels, mut weights] = [(); 2].map(|()| vec![0.0_f32; series * places]);
                for (s, own) in all.iter().enumerate() {
                    fit_count("the list of answers of a series", own.len().max(places), places)?;
                    for (t, &(class, weight)) in own.iter().enumerate() {
                        (labels[s * places + t], weights[s * places + t]) = (class as f32, weight);
                    }
                }
                let [labels, weights] = [labels, weights].map(|list| put(list, [series * places], &device));
                CrossEntropy { floor: 0.0 }.loss(outputs, Wanted { targets: labels, weights, share: 1.0 })
            }
            Self::Numbers(all) => {
                fit_count("the list of answers", all.len(), series)?;
                let mut wanted = vec![f32::NAN; series * places * width];
                for (s, own) in all.iter().enumerate() {
                    fit_count("the list of numbers of a series", own.len().max(places * width), places * width)?;
                    wanted[s * places * width..][..own.len()].copy_from_slice(own);
                }
                let weights: Vec<f32> = wanted.iter().map(|y| f32::from(u8::from(!y.is_nan()))).collect();
                let share = 1.0 / f64::from(weights.iter().sum::<f32>().max(1.0));
                let targets: Vec<f32> = wanted.into_iter().map(|y| if y.is_nan() { 0.0 } else { y }).collect();
                let [targets, weights] = [targets, weights].map(|list| put(list, [series * places * width], &device));
                Squared.loss(outputs, Wanted { targets, weights, share })
            }
        }
    }
}

fn fit_count(what: &'static str, seen: usize, wanted: usize) -> Result<(), layer::Error> {
    if seen == wanted {
        return Ok(());
    }
    Err(layer::Error::Shape { operation: "fit", what, seen: seen.to_string(), wanted: wanted.to_string() })
}

/// Batches of plain numbers: a function of the step, so that a run that was killed goes on with the same ones.
pub trait Source {
    /// The rows of a step of training, and what should come out.
    fn batch(&mut self, step: usize) -> (Padded, Targets);

    /// How good a model is on what was held back; none if nothing was.
    ///
    /// # Errors
    /// If a layer fails.
    fn evaluate(&mut self, _model: &dyn Predictor) -> Result<Option<Evaluation>, layer::Error> {
        Ok(None)
    }
}

/// What a network says, wherever it is.
pub trait Predictor: Debug {
    /// What comes out, with its shape `[series, rows, width]`.
    ///
    /// # Errors
    /// If a layer fails.
    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), layer::Error>;

    /// How many numbers are trained.
    fn parameters(&self) -> usize;

    /// All weights by name.
    fn weights(&self) -> Vec<NamedWeight>;
}

impl<B: LayerBackend> Predictor for Network<B> {
    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), layer::Error> {
        let (rows, context) = rows.rows(Phase::Predict)?;
        let outputs = self.forward(rows, &context)?.values;
        Ok((outputs.to_data().iter().collect(), outputs.dims()))
    }

    fn parameters(&self) -> usize {
        Self::parameters(self)
    }

    fn weights(&self) -> Vec<NamedWeight> {
        self.values()
    }
}

/// One whose device may run out of memory.
#[derive(Debug)]
struct Guarded {
    network: Box<dyn Predictor>,
    device: Device,
}

impl Predictor for Guarded {
    fn outputs(&self, rows: &Padded) -> Result<(Vec<f32>, [usize; 3]), layer::Error> {
        guarded(self.device, || self.network.outputs(rows))?
    }

    fn parameters(&self) -> usize {
        self.network.parameters()
    }

    fn weights(&self) -> Vec<NamedWeight> {
        self.network.weights()
    }
}

/// What is trained, and where.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, Copy)]
pub struct FitRequest<'a> {
    pub layers: &'a [LayerSpec],
    /// The rows they take.
    pub input: &'a Signal,
    pub plan: &'a Plan,
    pub device: Device,
    /// The directory of checkpoints, if some are to be written; a run that stands there and has the same `identity` goes on.
    pub directory: Option<&'a Path>,
    /// All that decides what comes out.
    pub identity: &'a str,
    /// Set by whoever wants it to stop.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> FitRequest<'a> {
    /// Layers on the processor, without checkpoints.
    pub fn new(layers: &'a [LayerSpec], input: &'a Signal, plan: &'a Plan) -> Self {
        Self { layers, input, plan, device: Device::Cpu, directory: None, identity: "", stop: None }
    }
}

/// A network that was trained; [`model`](Self::model) makes it one that predicts, streams and is saved.
#[derive(Debug)]
pub struct Fitted {
    /// The network, with its best weights or its last, as the plan says.
    pub network: Box<dyn Predictor>,
    /// Why it stopped; none if it was interrupted.
    pub reason: Option<StopReason>,
    /// What was seen at every evaluation.
    pub history: Vec<Point>,
    /// The best evaluation.
    pub best: Option<Best>,
    /// The steps that were taken.
    pub steps: usize,
    /// Seconds of these steps alone.
    pub seconds: f64,
}

impl Fitted {
    /// The model with these weights; its layers are those that were trained.
    ///
    /// # Errors
    /// If they are not.
    pub fn model(&self, spec: ModelSpec) -> Result<Model, Error> {
        Ok(Model::new(spec, Weights::of(self.network.weights()))?)
    }
}

/// Trains layers on batches of a source, or goes on where such a run stood. `on` is shown what happens, and may break off: training then ends with what it has.
///
/// ```
/// use std::ops::ControlFlow;
/// use ncde_runtime::layer::{Linear, Signal};
/// use ncde_runtime::{Forecast, LayerSpec, ModelSpec, Prediction, Task};
/// use ncde_train::{FitRequest, Padded, Plan, Source, Targets, fit};
/// /// Points on a line.
/// struct Line;
/// impl Source for Line {
///     fn batch(&mut self, _: usize) -> (Padded, Targets) {
///         (Padded::of([&[0.0, 1.0, 2.0][..]], 1), Targets::Numbers(vec![vec![1.0, 3.0, 5.0]]))
///     }
/// }
/// let layers = [LayerSpec::Linear(Linear { outputs: 1 })];
/// let (input, plan) = (Signal::values(1), Plan::new(400, 0.05));
/// let fitted = fit(&FitRequest::new(&layers, &input, &plan), &mut Line, &mut |_| ControlFlow::Continue(()))?;
/// let (numbers, shape) = fitted.network.outputs(&Padded::of([&[0.0, 1.0, 2.0][..]], 1))?;
/// assert!(shape == [1, 3, 1] && (numbers[2] - 5.0).abs() < 0.05);
///
/// // A model that can be saved (`save`), streamed and shared: here what is forecast of x is 2 x + 1.
/// let model = fitted.model(ModelSpec::new(["x"], Task::Forecast(Forecast::one(1)), layers.to_vec()))?;
/// let mut series = model.session(&[])?;
/// let Prediction::Values(next) = series.step(0.0, &[2.0])? else { panic!() };
/// assert!((next.values[0] - f64::from(numbers[2])).abs() < 1e-5);
/// # Ok::<(), ncde_train::Error>(())
/// ```
///
/// # Errors
/// If the layers do not fit together, a step fails for another reason than that training diverges, or a file cannot be written.
pub fn fit(
    request: &FitRequest<'_>,
    source: &mut dyn Source,
    on: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Fitted, Error> {
    let mut fitted = on_device(request.device, Fitting { request, source, on })??;
    if request.device != Device::Cpu {
        fitted.network = Box::new(Guarded { network: fitted.network, device: request.device });
    }
    Ok(fitted)
}

struct Fitting<'a> {
    request: &'a FitRequest<'a>,
    source: &'a mut dyn Source,
    on: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
}

impl OnDevice for Fitting<'_> {
    type Output = Result<Fitted, Error>;

    fn run<B: TrainBackend>(self) -> Self::Output {
        let Self { request, source, on } = self;
        let plan = request.plan;
        let trainee = Trainee::<B>::new(request.layers, request.input, plan.seed, plan.optimizer.clone(), &Default::default())?;
        let mut state = State::new(trainee, plan.average);
        let identity = serde_json::Value::String(request.identity.into());
        let mut progress = Progress { identity: identity.clone(), ..Progress::default() };
        if let Some(path) = request.directory {
            std::fs::create_dir_all(path).map_err(|e| Error::File { path: path.into(), problem: e.to_string() })?;
        }
        let saved = request.directory.map_or(Ok(None), |directory| checkpoint::load(directory, RUNNING))?;
        if let Some((saved, tensors)) = saved {
            if saved.identity != identity {
                return Err(Error::Unfit(format!(
                    "`{RUNNING}` is of a training with other settings; remove it to begin anew, or name another directory"
                )));
            }
            (state, progress) = (state.restored(tensors, &saved.counts)?, saved);
        }
        let mut trainer = Trainer { plan, state, progress, directory: request.directory, stop: request.stop, on };
        let mut feed = Plain { source };
        let reason = match trainer.run(&mut feed)? {
            Ended::For(reason) => Some(reason),
            Ended::Diverged(_) => Some(StopReason::Diverged),
            Ended::Interrupted => None,
        };
        let Trainer { state, progress, .. } = trainer;
        Ok(Fitted {
            network: Box::new(state.into_network(plan.keep_best)),
            reason,
            history: progress.history,
            best: progress.best,
            steps: progress.step,
            seconds: progress.seconds,
        })
    }
}

/// A source of plain numbers, on a backend.
struct Plain<'a> {
    source: &'a mut dyn Source,
}

impl<B: TrainBackend> Feed<B> for Plain<'_> {
    fn begin(&mut self, trainee: &mut Trainee<B>, (plan, rate): (&Plan, f64), step: usize) -> Result<Seen, layer::Error> {
        let (rows, targets) = self.source.batch(step);
        let batch = rows.rows::<Autodiff<B>>(Phase::Train(plan.masks.child(step as u64)))?;
        trainee.begin((plan, rate), batch, |outputs| targets.loss(outputs.values))
    }

    fn evaluate(&mut self, network: &Network<B>) -> Result<Option<Evaluation>, Error> {
        Ok(self.source.evaluate(network)?)
    }

    fn describe(&mut self, step: usize) -> String {
        format!("step {} of the source", step + 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use burn_flex::Flex;
    use burn_tensor::TensorData;

    use super::*;

    fn outputs(values: &[f32], shape: [usize; 3]) -> Tensor<Flex, 3> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &Default::default())
    }

    #[test]
    fn losses_are_means_over_what_is_known() {
        let numbers = Targets::Numbers(vec![vec![1.0, f32::NAN], vec![0.0]]);
        let loss = numbers.loss(outputs(&[3.0, 9.0, 1.0, 9.0], [2, 2, 1])).unwrap().into_scalar();
        assert!((loss - 2.5).abs() < 1e-6, "{loss}");
        let classes = Targets::classes([1, 0]);
        let loss = classes.loss(outputs(&[0.0, 0.0, 2.0, 0.0], [2, 1, 2])).unwrap().into_scalar();
        let wanted = 0.5 * (2.0_f32.ln() + (1.0 + (-2.0_f32).exp()).ln());
        assert!((loss - wanted).abs() < 1e-6, "{loss} {wanted}");
    }

    #[test]
    fn lists_that_do_not_fit_are_told() {
        let error = Targets::classes([1]).loss(outputs(&[0.0; 4], [2, 1, 2])).unwrap_err().to_string();
        assert_eq!(error, "fit: the list of answers has 1, but 2 is needed");
        let error = Targets::Numbers(vec![vec![0.0; 3]]).loss(outputs(&[0.0; 2], [1, 2, 1])).unwrap_err().to_string();
        assert!(error.contains("numbers of a series has 3, but 2"), "{error}");
        let rows = Padded { values: vec![0.0; 3], ..Padded::of([&[0.0_f32; 4][..]], 2) };
        assert!(rows.rows::<Flex>(Phase::Predict).is_err());
    }
}
