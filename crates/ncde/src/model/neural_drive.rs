//! What drives a neural model: rates of change, row by row, and the steps that read them.
//!
//! ```text
//! Log-ODE windows:   c(t) = log S^N(X)_[r_k, r_{k+1}] / (r_{k+1} - r_k)  for t in the window;   states at r_1, ..., r_m
//! along a path:      c(t) = dX/dt, at the times of the solver's stages;                         states at t_1, ..., t_n
//! ```
//!
//! Series of a batch have their own times and lengths. A shorter one stands still after its end, and its last state is repeated: neither
//! the padding nor the rest of the batch changes a series.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use ncde_signature::Control;
use ncde_signature::path::{Path, Windows};

use super::gates::{Drive, Gates, Observations, TimeChannel};
use super::neural_config::NeuralCdeConfig;
use super::neural_steps::{Steps, schedule};
use super::parameters::{check_lengths, clear_padding, constant};
use super::presets::{PathGates, PathKind};
use super::{Error, ModelBackend, log_ode};
use crate::neural::Schedule;

/// What drives a [`NeuralCde`](super::NeuralCde). Made by its [`NeuralCdeConfig`], which knows the solver and its steps, or from rows
/// and steps of one's own.
#[derive(Debug, Clone)]
pub struct NeuralDrive<B: Backend> {
    /// `X_{t_0}`, then what a series has once: `[batch, channels + statics]`.
    pub first: Tensor<B, 2>,
    /// The rows of the control: `[batch, rows, coordinates]`.
    pub rates: Tensor<B, 3>,
    /// The steps that read them.
    pub schedule: Arc<Schedule>,
    /// The number of states of each series; those after it repeat the last one.
    pub lengths: Arc<[usize]>,
}

impl<B: Backend> NeuralDrive<B> {
    /// Rows and steps of one's own. The rows are rates of change: nothing is divided. A state for each of the schedule's outputs.
    ///
    /// ```
    /// use burn::backend::Flex;
    /// use burn::tensor::Tensor;
    /// use ncde::model::{NeuralCdeConfig, NeuralDrive, NeuralKind};
    /// use ncde::neural::{Outputs, Schedule};
    /// let (config, device) = (NeuralCdeConfig::new(NeuralKind::Ncde, 8, 2), Default::default());
    /// // One series, two rows, one step of Heun's method in each; both its stages read the same row.
    /// let schedule = Schedule { steps: 2, dt: vec![0.5, 0.25], rows: vec![0, 0, 1, 1], outputs: Outputs::Every };
    /// let drive = NeuralDrive::<Flex>::new(Tensor::zeros([1, 2], &device), Tensor::ones([1, 2, 2], &device), schedule)?;
    /// assert_eq!(config.init(&device, 0)?.forward(&drive)?.dims(), [1, 2, 8]);
    /// # Ok::<(), ncde::model::Error>(())
    /// ```
    ///
    /// # Shapes
    /// `first`: `[batch, channels + statics]`; `rates`: `[batch, rows, coordinates]`.
    ///
    /// # Errors
    /// If the sizes do not fit, or a step reads a row that is not there.
    pub fn new(first: Tensor<B, 2>, rates: Tensor<B, 3>, schedule: impl Into<Arc<Schedule>>) -> Result<Self, Error> {
        let schedule = schedule.into();
        let ([seen, _], [batch, rows, _], steps) = (first.dims(), rates.dims(), schedule.steps);
        if seen != batch {
            return Err(wrong("the tensor of first observations", format!("{seen} series"), format!("{batch}")));
        }
        if schedule.dt.len() != batch * steps {
            let wanted = format!("one for each of {batch} series x {steps} steps");
            return Err(wrong("the list of step lengths", format!("{} numbers", schedule.dt.len()), wanted));
        }
        if !schedule.rows.len().is_multiple_of((batch * steps).max(1)) {
            let wanted = format!("as many for each of {batch} series x {steps} steps");
            return Err(wrong("the list of rows", format!("{} numbers", schedule.rows.len()), wanted));
        }
        if let Some(&row) = schedule.rows.iter().find(|&&row| row >= rows) {
            return Err(wrong("the list of rows", format!("`{row}`"), format!("a row below {rows}")));
        }
        schedule.check_outputs(batch)?;
        let lengths = vec![schedule.count(batch); batch].into();
        Ok(Self { first, rates, schedule, lengths })
    }

    /// The numbers of states of the series, where they are not all: what lies after is read by nothing that takes lengths.
    ///
    /// # Errors
    /// If there is not one for each series, or one is above the number of states.
    pub fn with_lengths(self, lengths: &[usize]) -> Result<Self, Error> {
        let [batch, _, _] = self.rates.dims();
        check_lengths("neural drive", Some(lengths), batch, [0, self.schedule.count(batch)])?;
        Ok(Self { lengths: lengths.into(), ..self })
    }

    /// Appends what a series has once to its first observation; [`statics`](NeuralCdeConfig::statics) of the settings counts them.
    ///
    /// # Shapes
    /// `statics`: `[batch, statics]`.
    ///
    /// # Errors
    /// If they are of another batch.
    pub fn with_statics(self, statics: Tensor<B, 2>) -> Result<Self, Error> {
        let ([seen, _], [wanted, _]) = (statics.dims(), self.first.dims());
        if seen != wanted {
            return Err(wrong("the tensor of statics", format!("{seen} series"), format!("{wanted}")));
        }
        Ok(Self { first: Tensor::cat(vec![self.first, statics], 1), ..self })
    }
}

impl NeuralCdeConfig {
    /// Log-ODE windows, from log-signatures that are tensors and the lengths of the windows in time, window by window for each series.
    /// For an NCDE with a linear control: increments, and the times between observations.
    ///
    /// `lengths` are the numbers of windows of the series; all of them without it. What lies after is not read. A series without a
    /// window stays in its initial state.
    ///
    /// # Shapes
    /// `first`: `[batch, channels + statics]`; `logs`: `[batch, windows, coordinates]`; `spans`: `[batch, windows]`. To one state a window.
    ///
    /// # Errors
    /// If sizes do not fit, or a window does not take a positive time.
    pub fn windows<B: Backend>(
        &self,
        first: Tensor<B, 2>,
        logs: Tensor<B, 3>,
        spans: &[f64],
        lengths: Option<&[usize]>,
    ) -> Result<NeuralDrive<B>, Error> {
        let [batch, windows, coordinates] = logs.dims();
        let wanted = self.coordinates()?;
        if coordinates != wanted {
            return Err(wrong("the tensor of log-signatures", format!("{coordinates} coordinates"), format!("{wanted}")));
        }
        if windows == 0 || spans.len() != batch * windows {
            let wanted = format!("one for each of {batch} series x {windows} windows, at least 1 window");
            return Err(wrong("the list of window lengths", format!("{} numbers", spans.len()), wanted));
        }
        check_lengths("neural drive", lengths, batch, [0, windows])?;
        let lengths: Arc<[usize]> = lengths.map_or_else(|| vec![windows; batch].into(), Into::into);
        let stages = self.solver.stages();
        let mut divisors = vec![1.0; spans.len()];
        let mut series = Vec::with_capacity(batch);
        for (b, (&length, own)) in lengths.iter().zip(spans.chunks_exact(windows)).enumerate() {
            let own = &own[..length];
            if let Some(k) = own.iter().position(|span| !(*span > 0.0 && span.is_finite())) {
                let seen = format!("`{}` at window {k} of series {b}", own[k]);
                return Err(wrong("the list of window lengths", seen, "a positive length of time".into()));
            }
            divisors[b * windows..][..length].copy_from_slice(own);
            series.push(inside(own, &self.steps.counts(own)?, stages));
        }
        let divisors = constant(divisors, [batch, windows, 1], &logs);
        let rates = clear_padding(logs, Some(&lengths)) / divisors;
        Ok(NeuralDrive { first, rates, schedule: Arc::new(schedule(&series, windows, stages)), lengths })
    }

    /// Log-ODE windows of `steps` observations each, of the piecewise linear path through tensors of observations, with gradients in
    /// them. Where time is a channel it is the first, and starts at 0. Statics are appended with [`NeuralDrive::with_statics`], here and
    /// below.
    ///
    /// ```
    /// use burn::backend::Flex;
    /// use burn::tensor::Tensor;
    /// use ncde::model::{NeuralCdeConfig, NeuralKind, Observations, TimeChannel, Times};
    /// let values = Tensor::<Flex, 3>::zeros([4, 100, 6], &Default::default()); // 4 series, 100 observations, 6 channels
    /// let config = NeuralCdeConfig::new(NeuralKind::LogNcde { depth: 2 }, 16, 7);
    /// let observations = Observations { values, times: Times::Regular(0.01), lengths: None };
    /// let drive = config.windows_from(observations, TimeChannel::Present, 10)?;
    /// assert_eq!(drive.rates.dims(), [4, 10, 7 + 21]);
    /// assert_eq!(config.init::<Flex>(&Default::default(), 0)?.forward(&drive)?.dims(), [4, 10, 16]);
    /// # Ok::<(), ncde::model::Error>(())
    /// ```
    ///
    /// # Shapes
    /// To one state a window; the last window of a series may be shorter.
    ///
    /// # Errors
    /// If there are fewer than two observations, or sizes or types do not fit.
    pub fn windows_from<B: ModelBackend>(
        &self,
        observations: Observations<B>,
        time: TimeChannel,
        steps: usize,
    ) -> Result<NeuralDrive<B>, Error> {
        if steps == 0 {
            return Err(wrong("a window", "0 steps".into(), "at least 1".into()));
        }
        let Drive { first, omega, lengths, .. } =
            PathGates { kind: PathKind::Increments(TimeChannel::Present) }.drive(observations)?;
        let [batch, length, channels] = omega.dims();
        let dt: Vec<f64> = omega.clone().narrow(2, 0, 1).into_data().iter().collect();
        let (first, increments) = match time {
            TimeChannel::Absent => (first, omega.narrow(2, 1, channels - 1)),
            TimeChannel::Present => (Tensor::cat(vec![constant(vec![0.0; batch], [batch, 1], &first), first], 1), omega),
        };
        let seen = increments.dims()[2];
        if seen != self.channels {
            let wanted = format!("{}", self.channels);
            return Err(wrong("the path through the observations", format!("{seen} channels"), wanted));
        }
        let own = |b: usize| lengths.as_deref().map_or(length, |lengths| lengths[b]);
        let windows = length.div_ceil(steps);
        let mut spans = Vec::with_capacity(batch * windows);
        for (b, dt) in dt.chunks_exact(length).enumerate() {
            spans.extend(dt[..own(b)].chunks(steps).map(|window| window.iter().sum::<f64>()));
            spans.resize((b + 1) * windows, 0.0);
        }
        let counts: Vec<usize> = (0..batch).map(|b| own(b).div_ceil(steps)).collect();
        let logs = log_ode::windows(&Arc::new(self.log_signature()?), increments, lengths.as_deref(), steps)?;
        self.windows(first, logs, &spans, Some(&counts))
    }

    /// Log-ODE windows of paths, each cut in the same way. A cubic is taken as the polygon through `refinement` points between two
    /// observations; other paths are polygons already.
    ///
    /// # Errors
    /// If the batch is empty, a path has other channels than the model, or the windows do not fit it.
    pub fn windows_of<B: Backend, P: Path<f64>>(
        &self,
        paths: &[P],
        windows: &Windows,
        refinement: usize,
        options: impl Into<TensorCreationOptions<B>>,
    ) -> Result<NeuralDrive<B>, Error> {
        let options = options.into();
        let first = self.first(paths, &options)?;
        let signature = self.log_signature()?;
        let controls: Vec<Control<f64>> =
            paths.iter().map(|path| Control::signatures(path, windows, &signature, refinement)).collect::<Result<_, _>>()?;
        let lengths: Vec<usize> = controls.iter().map(|control| control.ends().len() - 1).collect();
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let (mut spans, mut logs) = (Vec::new(), Vec::new());
        for (b, control) in controls.iter().enumerate() {
            spans.extend(control.ends().windows(2).map(|two| two[1] - two[0]));
            spans.resize((b + 1) * longest, 0.0);
            logs.extend_from_slice(control.values());
            logs.resize((b + 1) * longest * signature.len(), 0.0);
        }
        let logs = Tensor::from_data(TensorData::new(logs, [paths.len(), longest, signature.len()]), options);
        self.windows(first, logs, &spans, Some(&lengths))
    }

    /// Along paths, by their derivatives: an NCDE with the control of one's choice; the thesis's is
    /// [`Cubic::hermite`](ncde_signature::path::Cubic::hermite), whose states at observations depend on nothing later.
    ///
    /// ```
    /// use burn::backend::Flex;
    /// use ncde::model::{NeuralCdeConfig, NeuralKind, StepRule};
    /// use ncde_signature::path::{Cubic, Series};
    /// let series = Series::new(vec![0.0, 1.0, 3.0], vec![0.0, 2.0, 1.0], 1)?.with_time()?.complete()?;
    /// let config = NeuralCdeConfig::new(NeuralKind::Ncde, 8, 2).with_steps(StepRule::AtMost(0.5));
    /// let drive = config.along::<Flex, _>(&[Cubic::hermite(&series)?], &Default::default())?;
    /// let states = config.init::<Flex>(&Default::default(), 0)?.forward(&drive)?;
    /// assert_eq!((drive.schedule.steps, states.dims()), (6, [1, 2, 8]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Shapes
    /// To one state for each observation but the first.
    ///
    /// # Errors
    /// If the batch is empty, a path has other channels than the model, or the model has a depth above 1: brackets need windows.
    pub fn along<B: Backend, P: Path<f64>>(
        &self,
        paths: &[P],
        options: impl Into<TensorCreationOptions<B>>,
    ) -> Result<NeuralDrive<B>, Error> {
        if self.depth() > 1 {
            let problem = format!("`{}` along a derivative, which has depth 1; cut the path into windows instead", self.depth());
            return Err(Error::Setting { setting: "depth", problem });
        }
        let options = options.into();
        let first = self.first(paths, &options)?;
        let (mut series, mut rates) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
        for path in paths {
            let (steps, own) = self.follow(path)?;
            series.push(steps);
            rates.push(own);
        }
        let lengths: Arc<[usize]> = paths.iter().map(|path| path.knots().len() - 1).collect();
        let states = lengths.iter().copied().max().unwrap_or_default();
        let longest = rates.iter().map(Vec::len).max().unwrap_or_default();
        rates.iter_mut().for_each(|own| own.resize(longest, 0.0));
        let shape = [paths.len(), longest / self.channels, self.channels];
        let rates = Tensor::from_data(TensorData::new(rates.concat(), shape), options);
        Ok(NeuralDrive { first, rates, schedule: Arc::new(schedule(&series, states, self.solver.stages())), lengths })
    }

    /// The steps along one path, and its derivatives at their stages. Stages at the same time read the same row.
    fn follow<P: Path<f64>>(&self, path: &P) -> Result<(Steps, Vec<f64>), Error> {
        let knots = path.knots();
        let spans: Vec<f64> = knots.windows(2).map(|two| two[1] - two[0]).collect();
        let (mut steps, mut rates) = (Steps::default(), Vec::new());
        let mut row = vec![0.0; self.channels];
        for (k, (&span, count)) in spans.iter().zip(self.steps.counts(&spans)?).enumerate() {
            // The derivative of a path is that from the right; at the end of a piece it must still be that of the piece.
            let [start, end] = [knots[k], knots[k + 1].next_down()];
            let mut last = None;
            for step in 0..count {
                for &node in self.solver.nodes() {
                    let place = (step as f64 + node) / count as f64;
                    if last != Some(place) {
                        path.derivative((start + place * span).clamp(start, end), &mut row)?;
                        rates.extend_from_slice(&row);
                        last = Some(place);
                    }
                    steps.rows.push(rates.len() / self.channels - 1);
                }
            }
            steps.dt.resize(steps.dt.len() + count, span / count as f64);
            steps.ends.push(steps.dt.len() - 1);
        }
        Ok((steps, rates))
    }

    /// `X_{t_0}`, after a look at the sizes.
    fn first<B: Backend, P: Path<f64>>(&self, paths: &[P], options: &TensorCreationOptions<B>) -> Result<Tensor<B, 2>, Error> {
        if paths.is_empty() {
            return Err(wrong("the list of paths", "0 paths".into(), "at least 1".into()));
        }
        if let Some(path) = paths.iter().find(|path| path.channels() != self.channels) {
            return Err(wrong("a path", format!("{} channels", path.channels()), format!("{}", self.channels)));
        }
        let mut first = vec![0.0; paths.len() * self.channels];
        for (path, out) in paths.iter().zip(first.chunks_exact_mut(self.channels)) {
            path.evaluate(path.domain().0, out)?;
        }
        Ok(Tensor::from_data(TensorData::new(first, [paths.len(), self.channels]), options.clone()))
    }
}

/// Steps inside windows with one row each.
fn inside(spans: &[f64], counts: &[usize], stages: usize) -> Steps {
    let mut steps = Steps::default();
    for (k, (&span, &count)) in spans.iter().zip(counts).enumerate() {
        steps.dt.resize(steps.dt.len() + count, span / count as f64);
        steps.rows.resize(steps.rows.len() + count * stages, k);
        steps.ends.push(steps.dt.len() - 1);
    }
    steps
}

fn wrong(what: &'static str, seen: String, wanted: String) -> Error {
    Error::Shape { operation: "neural drive", what, seen, wanted }
}
