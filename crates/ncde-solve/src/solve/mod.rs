//! `dh = F(h) dX` from stop to stop: a [`Term`] is a field, a control and their product, and one loop solves all of them.
//!
//! | equation | control | product |
//! | --- | --- | --- |
//! | `dh/dt = f(h)` | [`Time`] | `f(h)` |
//! | `dh/dt = f(h) dX/dt` | [`Along`] a path | `sum_j f_j(h) dX^j/dt` |
//! | Log-ODE: `dh/dt = f-bar(h) log S(X) / length` in each window | [`LogOde`] | the contraction of [`crate::brackets`] |
//!
//! ```
//! use ncde_solve::field::Linear;
//! use ncde_solve::solve::{Method, Save, Solver, Steps, Term, Time};
//! // dh/dt = -2 h from h = 1: e^(-2 t).
//! let (field, time) = (Linear { hidden: 1, channels: 1 }, Time::new(0.0, 1.0)?);
//! let solver = Solver { method: Method::Tsitouras, steps: Steps::adaptive(1e-9, 1e-12) };
//! let solution = solver.solve(&Term { field: &field, drive: &time }, &[-2.0], &[1.0], &Save::Times(vec![0.5, 1.0]))?;
//! assert!((solution.state(1)[0] - (-2.0_f64).exp()).abs() < 1e-9);
//! # Ok::<(), ncde_solve::Error>(())
//! ```

mod drive;
mod integrate;
mod rows;
mod step;
mod steps;
mod stops;
mod term;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use ncde_kernels::neural::{Method, Tableau};

pub use drive::{Along, Between, Drive, LogOde, Time};
pub use integrate::Statistics;
pub(crate) use integrate::{Changed, Observer, System, Taken, integrate};
pub use rows::{RowGradients, RowSteps};
pub(crate) use step::{First, Stages};
pub use steps::{Adaptive, Steps};
pub use stops::Save;
pub(crate) use stops::{Arrival, Stops, Stretch};
pub(crate) use term::Forward;
pub use term::Term;

use crate::Error;
use crate::field::VectorField;
use crate::scalar::Real;

/// A method and its steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Solver {
    /// The Runge-Kutta method.
    pub method: Method,
    /// The choice of step sizes.
    pub steps: Steps,
}

/// The states at the requested times.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution<T> {
    /// The times.
    pub times: Vec<f64>,
    /// The states, `[times, H]`.
    pub states: Vec<T>,
    /// The cost of the solve.
    pub statistics: Statistics,
}

impl<T> Solution<T> {
    /// The state at time `i` of the list.
    pub fn state(&self, i: usize) -> &[T] {
        let hidden = self.states.len() / self.times.len();
        &self.states[i * hidden..(i + 1) * hidden]
    }

    /// The state at the last of the times.
    pub fn last(&self) -> &[T] {
        self.state(self.times.len() - 1)
    }
}

impl Solver {
    /// Solves from the start of the control.
    ///
    /// # Shapes
    /// `parameters`: those of the field; `h`: `[H]`, the state at the first knot.
    ///
    /// # Errors
    /// If the sizes do not fit, a time cannot be saved, a state is not finite, or adaptive steps come to no end.
    pub fn solve<T: Real, F: VectorField, D: Drive<T>>(
        &self,
        term: &Term<'_, F, D>,
        parameters: &[T],
        h: &[T],
        save: &Save,
    ) -> Result<Solution<T>, Error> {
        let stops = Stops::new(term.drive, save)?;
        let mut observer = Saving::new(&stops, h);
        let statistics = self.run(term, parameters, h, &stops, &mut observer)?;
        Ok(Solution { times: stops.times.clone(), states: observer.states, statistics })
    }

    /// Solves a batch, each sample with a control, knots and times of its own; `h` is `[batch, H]`. Uses all threads; results do not
    /// depend on their number.
    ///
    /// # Errors
    /// Those of [`solve`](Solver::solve), of the first sample that has one.
    pub fn solve_batch<T: Real, F: VectorField + Sync, D: Drive<T> + Sync>(
        &self,
        field: &F,
        drives: &[D],
        parameters: &[T],
        h: &[T],
        save: &Save,
    ) -> Result<Vec<Solution<T>>, Error> {
        crate::error::check("solve", "the batch of initial states", h.len(), drives.len() * field.hidden())?;
        let solve = |(drive, h)| self.solve(&Term { field, drive }, parameters, h, save);
        let results: Vec<Result<_, Error>> = drives.par_iter().zip(h.par_chunks(field.hidden())).map(solve).collect();
        results.into_iter().collect()
    }

    /// The forward pass that solving and recording share.
    pub(crate) fn run<T: Real, F: VectorField, D: Drive<T>>(
        &self,
        term: &Term<'_, F, D>,
        parameters: &[T],
        h: &[T],
        stops: &Stops,
        observer: &mut impl Observer<T>,
    ) -> Result<Statistics, Error> {
        let mut system = Forward::new(term, parameters, h)?;
        let mut y = h.to_vec();
        integrate(&mut system, self.method, &self.steps, stops.domain, &stops.stretches, &mut y, observer)
    }
}

/// Keeps the states that are wanted.
pub(crate) struct Saving<'a, T> {
    pub(crate) stretches: &'a [Stretch],
    pub(crate) states: Vec<T>,
}

impl<'a, T: Real> Saving<'a, T> {
    /// From the initial state `h` on.
    pub(crate) fn new(stops: &'a Stops, h: &[T]) -> Self {
        let states = if stops.start == Arrival::Saved { h.to_vec() } else { Vec::new() };
        Self { stretches: &stops.stretches, states }
    }
}

impl<T: Real> Observer<T> for Saving<'_, T> {
    fn step(&mut self, _: Taken, _: &[T]) {}

    fn arrive(&mut self, index: usize, y: &mut [T]) -> Changed {
        if self.stretches[index].arrival == Arrival::Saved {
            self.states.extend_from_slice(y);
        }
        Changed::No
    }
}
