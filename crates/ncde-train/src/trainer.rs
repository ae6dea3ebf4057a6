//! The training loop: steps on batches of a source, looks at its validation part, checkpoints, and what happens to a step that diverges.
//!
//! ```text
//! theta <- update(theta, grad (loss(batch_n) + penalty), 0.3^k rate_n),     every `evaluate_every` steps: metric on the validation part, the best is kept
//! ```
//!
//! A step that diverges (a loss, a gradient or a state that is not finite), for the `k`-th time, goes back to a state of 50 to 100 steps before and is taken again at
//! 0.3 of the rate. After the last of `recoveries` times the run ends there. What it goes back to is decided by steps alone, so that a run that was killed does the same.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ncde_layers::dense::Seen;
use ncde_layers::layer::{FieldNorm, Network};
use ncde_report::record::{Best, Point, Recovery, StopReason};
use ncde_runtime::random::Stream;

use crate::checkpoint::{self, Progress};
use crate::in_flight::{InFlight, Stepped};
use crate::optimizer::{AnyOptimizer, OptimizerName, TrainBackend};
use crate::state::{SNAPSHOT_EVERY, State};
use crate::trainee::Trainee;
use crate::{Error, Event, Schedule};

/// A checkpoint is written at least this often, in seconds, also between two evaluations of the validation part.
const CHECKPOINT_SECONDS: f64 = 30.0;
/// What the learning rate is multiplied with after a step that diverged.
const LOWER: f64 = 0.3;

/// How a network is trained.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone)]
pub struct Plan {
    pub steps: usize,
    pub optimizer: Arc<dyn AnyOptimizer>,
    pub schedule: Schedule,
    pub decay: f64,
    /// The largest norm of a gradient over all weights; 0 for no limit.
    pub clip: f64,
    /// The factor of the penalty on vector fields.
    pub penalty: f64,
    /// Which norm of linear fields that is.
    pub norm: FieldNorm,
    /// The decay of a moving average of weights, which is what is evaluated and saved; 0 for none.
    pub average: f64,
    /// Steps between two evaluations of the validation part.
    pub evaluate_every: usize,
    /// Steps without improvement after which training stops; 0 for never.
    pub patience: usize,
    /// Seconds after which training stops; 0 for never.
    pub seconds: f64,
    /// A metric beyond this is enough: training stops.
    pub target: Option<f64>,
    pub metric: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether the best weights are kept, or the last.
    pub keep_best: bool,
    /// How often a step that diverges is taken again.
    pub recoveries: usize,
    pub seed: u64,
    /// The numbers that dropout is drawn from; another child of it for each step.
    pub masks: Stream,
}

impl Plan {
    /// Adam at one rate for so many steps, evaluated ten times, and nothing else.
    pub fn new(steps: usize, rate: f64) -> Self {
        Self {
            steps,
            optimizer: OptimizerName::Adam.optimizer(),
            schedule: Schedule::constant(rate),
            decay: 0.0,
            clip: 0.0,
            penalty: 0.0,
            norm: FieldNorm::Channels,
            average: 0.0,
            evaluate_every: steps.div_ceil(10).max(1),
            patience: 0,
            seconds: 0.0,
            target: None,
            metric: "loss".into(),
            higher_is_better: false,
            keep_best: true,
            recoveries: 5,
            seed: 0,
            masks: Stream::new(0, 5),
        }
    }

    /// Whether the validation part is evaluated after so many steps.
    fn is_due(&self, step: usize) -> bool {
        step.is_multiple_of(self.evaluate_every.max(1)) || step == self.steps
    }

    fn is_better(&self, metric: f64, than: f64) -> bool {
        if self.higher_is_better { metric > than } else { metric < than }
    }
}

/// What is seen of the validation part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evaluation {
    /// The loss, where it is known.
    pub loss: Option<f64>,
    /// The metric that decides; none if it cannot be told.
    pub metric: Option<f64>,
}

/// What the loop takes its batches from, on a backend.
pub(crate) trait Feed<B: TrainBackend> {
    /// Begins a step on its batch, at a learning rate.
    fn begin(&mut self, trainee: &mut Trainee<B>, plan: (&Plan, f64), step: usize) -> Result<Seen, ncde_layers::layer::Error>;

    /// How good the network is on the validation part; none if there is none.
    fn evaluate(&mut self, network: &Network<B>) -> Result<Option<Evaluation>, Error>;

    /// What is in the batch of a step, for errors.
    fn describe(&mut self, step: usize) -> String;

    /// What the loss of a step is divided by to be shown.
    fn loss_unit(&self) -> f64 {
        1.0
    }
}

/// How a loop ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// For a reason that a record can have.
    For(StopReason),
    /// A step diverged once too often.
    Diverged(Error),
    Interrupted,
}

/// A training that goes on.
pub(crate) struct Trainer<'a, B: TrainBackend> {
    pub(crate) plan: &'a Plan,
    pub(crate) state: State<B>,
    pub(crate) progress: Progress,
    /// Where checkpoints are written, if they are.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) stop: Option<&'a AtomicBool>,
    pub(crate) on: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
}

impl<B: TrainBackend> Trainer<'_, B> {
    /// Takes steps until something says stop; says what.
    pub(crate) fn run(&mut self, feed: &mut dyn Feed<B>) -> Result<Ended, Error> {
        let plan = self.plan;
        let (mut saved, mut clock) = (Instant::now(), Instant::now());
        let mut flight = InFlight::default();
        let mut finish = false;
        if self.has_reached_target() {
            return Ok(Ended::For(StopReason::Target));
        }
        while self.progress.step < plan.steps {
            let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            if stopped && flight.count() == 0 {
                self.save()?;
                return Ok(Ended::Interrupted);
            }
            let saves = self.is_late() || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS;
            // A device goes on with the next step while this one is looked at, unless the state after this one is needed.
            let next = self.progress.step + flight.count();
            let needed = stopped || finish || saves || plan.is_due(next) || next.is_multiple_of(SNAPSHOT_EVERY);
            if flight.count() == 0 || (flight.has_room() && !needed) {
                if flight.count() == 0 {
                    clock = Instant::now();
                }
                let rate = self.rate(next);
                flight.push(feed.begin(&mut self.state.trainee, (plan, rate), next));
                self.state.update_average();
                continue;
            }
            let Some(taken) = flight.pop() else { continue };
            let loss = match self.loss(taken, feed) {
                Ok(loss) => loss,
                Err(error) if !error.is_divergence() => return Err(error),
                Err(error) => {
                    flight.clear();
                    self.progress.seconds += clock.elapsed().as_secs_f64();
                    if self.progress.recoveries.len() >= plan.recoveries {
                        return Ok(Ended::Diverged(error));
                    }
                    self.recover(&error);
                    continue;
                }
            };
            self.progress.step += 1;
            if self.progress.step.is_multiple_of(SNAPSHOT_EVERY) {
                self.state.take_snapshot(self.progress.step);
            }
            self.progress.losses.0 += loss;
            self.progress.losses.1 += 1;
            self.progress.seconds += clock.elapsed().as_secs_f64();
            finish |= (self.on)(Event::Step { step: self.progress.step, loss }).is_break();
            clock = Instant::now();
            if flight.count() > 0 {
                continue;
            }
            let due = plan.is_due(self.progress.step) || finish;
            if due {
                self.evaluate(feed)?;
                if let Some(point) = self.progress.history.last() {
                    finish |= (self.on)(Event::Evaluated { point, best: self.progress.best.as_ref() }).is_break();
                }
            }
            let late = self.is_late();
            if due || late || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS {
                self.save()?;
                saved = Instant::now();
            }
            let reason = if finish {
                Some(StopReason::Requested)
            } else if due && self.has_reached_target() {
                Some(StopReason::Target)
            } else if due && self.is_stale() {
                Some(StopReason::Patience)
            } else {
                late.then_some(StopReason::Time)
            };
            if let Some(reason) = reason {
                return Ok(Ended::For(reason));
            }
        }
        Ok(Ended::For(StopReason::Steps))
    }

    /// The learning rate of a step, from 0, after all that has happened.
    fn rate(&self, step: usize) -> f64 {
        self.factor() * self.plan.schedule.rate(step, self.plan.steps)
    }

    /// What the learning rate is multiplied with.
    fn factor(&self) -> f64 {
        self.progress.recoveries.last().map_or(1.0, |recovery| recovery.factor)
    }

    fn is_late(&self) -> bool {
        self.plan.seconds > 0.0 && self.progress.seconds > self.plan.seconds
    }

    /// Whether nothing has improved for too long.
    fn is_stale(&self) -> bool {
        let since = |best: &Best| self.progress.step - best.step.max(self.progress.extended);
        self.progress.best.as_ref().is_some_and(|best| self.plan.patience > 0 && since(best) >= self.plan.patience)
    }

    fn has_reached_target(&self) -> bool {
        let last = self.progress.history.last().and_then(|point| point.metric);
        self.plan.target.zip(last).is_some_and(|(target, metric)| self.plan.is_better(metric, target))
    }

    fn save(&mut self) -> Result<(), Error> {
        let Some(directory) = self.directory else { return Ok(()) };
        let (tensors, counts) = self.state.tensors();
        self.progress.counts = counts;
        checkpoint::save(directory, &self.progress, &tensors)
    }

    fn loss(&self, taken: Result<Stepped, ncde_layers::layer::Error>, feed: &mut dyn Feed<B>) -> Result<f64, Error> {
        let (step, rate) = (self.progress.step + 1, self.plan.schedule.peak / 3.0);
        match taken {
            Ok(seen) if seen.is_finite() => Ok(seen.loss / feed.loss_unit()),
            Ok(seen) => {
                let loss = if seen.loss.is_finite() { seen.norm } else { seen.loss };
                Err(Error::NotFinite { loss, step, batch: feed.describe(step - 1), rate })
            }
            Err(source) => Err(Error::Step { step, batch: feed.describe(step - 1), source: Box::new(source.into()), rate }),
        }
    }

    /// Goes back to an earlier state, at a lower rate.
    fn recover(&mut self, error: &Error) {
        let recovery = Recovery {
            step: self.progress.step + 1,
            from: self.state.go_back(),
            factor: LOWER * self.factor(),
            reason: error.reason(),
        };
        let count = self.progress.recoveries.len() + 1;
        // A run that diverges is not asked whether it should go on.
        let _ = (self.on)(Event::Recovered { recovery: &recovery, count, most: self.plan.recoveries });
        self.progress.recoveries.push(recovery);
    }

    /// Evaluates the validation part, and marks the weights if they are the best.
    fn evaluate(&mut self, feed: &mut dyn Feed<B>) -> Result<(), Error> {
        let Evaluation { loss, metric } = match self.state.evaluated(|network| feed.evaluate(network)) {
            Ok(Some(seen)) if seen.loss.is_none_or(f64::is_finite) => seen,
            Ok(_) => Evaluation::default(),
            // Weights under which the state of a validation case overflows are not the best, but training may leave them.
            Err(error) if error.is_overflow() => Evaluation::default(),
            Err(error) => return Err(error),
        };
        let (sum, count) = std::mem::take(&mut self.progress.losses);
        self.progress.history.push(Point {
            step: self.progress.step,
            seconds: self.progress.seconds,
            loss: sum / count.max(1) as f64,
            rate: self.rate(self.progress.step.max(1) - 1),
            validation: loss,
            metric,
        });
        let better = match (&self.progress.best, metric) {
            (Some(best), Some(metric)) => {
                self.plan.is_better(metric, best.value)
                    || (metric == best.value && loss.is_some_and(|loss| loss < self.progress.best_loss))
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if let Some(value) = metric.filter(|_| better) {
            self.progress.best = Some(Best { step: self.progress.step, metric: self.plan.metric.clone(), value });
            self.progress.best_loss = loss.unwrap_or(f64::MAX);
            if self.plan.keep_best {
                self.state.mark_best();
            }
        }
        Ok(())
    }
}
