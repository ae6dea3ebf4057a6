//! The one loop: `dy/dt = F(t, y)` from stop to stop, in fixed or adaptive steps.
//!
//! An adaptive step of size `dt` has the error `E = rms(e_a / (absolute + relative max(|y_a|, |y1_a|)))`. It is taken if `E <= 1`, and
//! the next size comes from a PI controller, `dt 0.9 E^(-0.7/q) E_before^(0.4/q)` with `q` the order of the estimate plus one.

use super::step::{First, Stages};
use super::steps::{Adaptive, Steps};
use super::stops::Stretch;
use super::{Method, Tableau};
use crate::Error;
use crate::scalar::Real;

/// What a solve took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Steps that were taken.
    pub steps: usize,
    /// Adaptive steps that were tried and taken back.
    pub rejected: usize,
    /// Evaluations of the right-hand side.
    pub evaluations: usize,
}

/// A right-hand side.
pub(crate) trait System<T> {
    fn dimension(&self) -> usize;

    /// How many leading entries the error is measured on.
    fn measured(&self) -> usize {
        self.dimension()
    }

    fn slope(&mut self, piece: usize, t: f64, y: &[T], out: &mut [T]) -> Result<(), Error>;
}

/// One step that was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    pub(crate) piece: usize,
    pub(crate) t: f64,
    pub(crate) dt: f64,
}

/// What happens along the way.
pub(crate) trait Observer<T> {
    /// A step was taken from `before`.
    fn step(&mut self, taken: Taken, before: &[T]);

    /// Stretch `index` was gone through; its end may change the state.
    fn arrive(&mut self, index: usize, y: &mut [T]) -> Changed;
}

/// Whether an observer changed the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Yes,
    No,
}

/// Goes through all stretches, from `y` to `y`. `domain` is the length of the whole control: how steps are shared out must not depend
/// on which times are asked for.
pub(crate) fn integrate<T: Real, S: System<T>>(
    system: &mut S,
    method: Method,
    steps: &Steps,
    domain: f64,
    stretches: &[Stretch],
    y: &mut Vec<T>,
    observer: &mut impl Observer<T>,
) -> Result<Statistics, Error> {
    steps.check()?;
    let tableau = method.tableau();
    if matches!(steps, Steps::Adaptive(_)) && tableau.error.is_none() {
        return Err(Error::NoErrorEstimate { method: method.name(), instead: Method::Tsitouras.name() });
    }
    let dimension = system.dimension();
    let mut run = Run {
        system,
        tableau,
        stages: Stages::all(tableau, dimension),
        next: vec![T::ZERO; dimension],
        error: vec![T::ZERO; dimension],
        first: First::Unknown,
        statistics: Statistics::default(),
    };
    let Some(end) = stretches.last().map(|last| last.end) else { return Ok(run.statistics) };
    let mut controller = StepController { proposed: None, before: 1.0 };
    for (index, stretch) in stretches.iter().enumerate() {
        match (steps, steps.count(stretch.end - stretch.start, domain)?) {
            (Steps::Adaptive(adaptive), _) => run.adaptive(adaptive, &mut controller, stretch, end, y, observer)?,
            (_, count) => run.fixed(count.unwrap_or(1), stretch, y, observer)?,
        }
        let continues = stretches.get(index + 1).is_some_and(|next| next.piece == stretch.piece);
        if observer.arrive(index, y) == Changed::Yes || !continues {
            run.first = First::Unknown;
        }
    }
    Ok(run.statistics)
}

struct Run<'a, T, S> {
    system: &'a mut S,
    tableau: &'static Tableau,
    stages: Stages<T>,
    /// The state after a step that may still be rejected.
    next: Vec<T>,
    error: Vec<T>,
    first: First,
    statistics: Statistics,
}

/// The state of the step size controller.
struct StepController {
    proposed: Option<f64>,
    /// The error of the last accepted step.
    before: f64,
}

impl<T: Real, S: System<T>> Run<'_, T, S> {
    /// Computes a step; `next` holds its result.
    fn attempt(&mut self, taken: Taken, y: &[T]) -> Result<(), Error> {
        let Taken { piece, t, dt } = taken;
        let (system, evaluations) = (&mut *self.system, &mut self.statistics.evaluations);
        self.stages.advance(self.first, dt, y, &mut self.next, |c, y, out| {
            *evaluations += 1;
            system.slope(piece, t + c * dt, y, out)
        })
    }

    /// Takes the step that was computed.
    fn accept(&mut self, taken: Taken, y: &mut Vec<T>, observer: &mut impl Observer<T>) {
        observer.step(taken, y);
        std::mem::swap(y, &mut self.next);
        self.statistics.steps += 1;
        self.first = First::Unknown;
        if self.tableau.reuses_last_stage() {
            self.stages.roll();
            self.first = First::Known;
        }
    }

    fn fixed(&mut self, count: usize, stretch: &Stretch, y: &mut Vec<T>, observer: &mut impl Observer<T>) -> Result<(), Error> {
        let dt = (stretch.end - stretch.start) / count as f64;
        for i in 0..count {
            let taken = Taken { piece: stretch.piece, t: stretch.start + i as f64 * dt, dt };
            self.attempt(taken, y)?;
            if !finite(&self.next) {
                return Err(Error::NotFinite { time: taken.t, step: dt, index: self.statistics.steps });
            }
            self.accept(taken, y, observer);
        }
        Ok(())
    }

    fn adaptive(
        &mut self,
        adaptive: &Adaptive,
        controller: &mut StepController,
        stretch: &Stretch,
        end: f64,
        y: &mut Vec<T>,
        observer: &mut impl Observer<T>,
    ) -> Result<(), Error> {
        let q = self.tableau.order as f64;
        let mut t = stretch.start;
        let mut proposed = match controller.proposed.or(adaptive.first) {
            Some(step) => step,
            None => self.first_step(adaptive, stretch, y)?,
        };
        let (mut largest, mut error) = (10.0, 0.0_f64);
        while t < stretch.end {
            if self.statistics.steps + self.statistics.rejected >= adaptive.most {
                return Err(Error::TooManySteps { most: adaptive.most, time: t, end, step: proposed });
            }
            let left = stretch.end - t;
            let smallest = 16.0 * f64::EPSILON * t.abs().max(stretch.end.abs());
            if proposed < smallest && proposed < left {
                if !error.is_finite() {
                    return Err(Error::NotFinite { time: t, step: proposed, index: self.statistics.steps });
                }
                return Err(Error::StepTooSmall { time: t, step: proposed, smallest });
            }
            // Two halves instead of a full step and a tiny one.
            let dt = if proposed >= left * (1.0 - 1e-9) { left } else { proposed.min(0.5 * left) };
            let taken = Taken { piece: stretch.piece, t, dt };
            self.attempt(taken, y)?;
            // A rejected step does not change its first stage.
            self.first = First::Known;
            error = self.measure(adaptive, dt, y);
            if error <= 1.0 {
                self.accept(taken, y, observer);
                t = if dt == left { stretch.end } else { t + dt };
                // A perfect step says nothing about the next.
                error = error.max(1e-10);
                let factor = (0.9 * error.powf(-0.7 / q) * controller.before.powf(0.4 / q)).clamp(0.2, largest);
                // A step cut short to land says little about how long steps can be.
                proposed = if dt < proposed { proposed.max(dt * factor) } else { dt * factor };
                (controller.before, largest) = (error, 10.0);
            } else {
                self.statistics.rejected += 1;
                // Not finite: far too long.
                let factor = if error.is_finite() { (0.9 * error.powf(-1.0 / q)).clamp(0.2, 0.9) } else { 0.1 };
                proposed = dt * factor;
                largest = 1.0;
            }
        }
        controller.proposed = Some(proposed);
        Ok(())
    }

    /// `E`, infinite if the step is not finite.
    fn measure(&mut self, adaptive: &Adaptive, dt: f64, y: &[T]) -> f64 {
        let Some(weights) = self.tableau.error else { return 0.0 };
        if !finite(&self.next) {
            return f64::INFINITY;
        }
        self.stages.error(weights, dt, &mut self.error);
        let n = self.system.measured();
        let scale = |a: usize| adaptive.absolute + adaptive.relative * y[a].to_f64().abs().max(self.next[a].to_f64().abs());
        let error = rms(n, |a| self.error[a].to_f64() / scale(a));
        if error.is_nan() { f64::INFINITY } else { error }
    }

    /// A first step from the sizes of the state, of its slope and of the change of that (Hairer, Nørsett, Wanner, II.4).
    fn first_step(&mut self, adaptive: &Adaptive, stretch: &Stretch, y: &[T]) -> Result<f64, Error> {
        let length = stretch.end - stretch.start;
        let n = self.system.measured();
        self.statistics.evaluations += 2;
        self.system.slope(stretch.piece, stretch.start, y, self.stages.first())?;
        self.first = First::Known;
        let slope = self.stages.first().clone();
        let scale: Vec<f64> = y.iter().map(|y| adaptive.absolute + adaptive.relative * y.to_f64().abs()).collect();
        let (size, speed) = (rms(n, |a| y[a].to_f64() / scale[a]), rms(n, |a| slope[a].to_f64() / scale[a]));
        let probe = if size < 1e-5 || speed < 1e-5 { 1e-6 * length } else { (0.01 * size / speed).min(length) };
        for (a, next) in self.next.iter_mut().enumerate() {
            *next = y[a] + T::from_f64(probe) * slope[a];
        }
        self.system.slope(stretch.piece, stretch.start + probe, &self.next, &mut self.error)?;
        let bend = rms(n, |a| (self.error[a].to_f64() - slope[a].to_f64()) / scale[a]) / probe;
        let most = speed.max(bend);
        let step = if most <= 1e-15 { length } else { (0.01 / most).powf(1.0 / (self.tableau.order as f64 + 1.0)) };
        // A NaN makes the probe itself the first step, and shows there.
        Ok(step.min(100.0 * probe).min(length))
    }
}

fn rms(n: usize, x: impl Fn(usize) -> f64) -> f64 {
    ((0..n).map(|a| x(a) * x(a)).sum::<f64>() / n as f64).sqrt()
}

fn finite<T: Real>(y: &[T]) -> bool {
    y.iter().all(|y| y.is_finite())
}
