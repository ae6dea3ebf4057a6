//! The continuous adjoint: with `a = dL/dh`,
//!
//! ```text
//! da/dt = -a DF(h),   dL/dtheta = integral of a dF/dtheta dt,   dL/drate = integral of a dF/drate dt,
//! ```
//!
//! solved backwards in time together with `h`. At a saved time `a` jumps by the loss's own derivative there, and `h` is set to the
//! state that was saved, so that its error does not pile up. The sizes of adaptive steps are chosen from `h` and `a` alone: the
//! integrals feed back into nothing.

use super::{Gradient, pull_back};
use crate::Error;
use crate::error::check;
use crate::field::VectorField;
use crate::scalar::{Real, Tape};
use crate::solve::{Arrival, Changed, Drive, Observer, Save, Solution, Solver, Stops, Stretch, System, Taken, Term, integrate};

/// The gradient of a loss from its derivatives `weights` in the states of `solution`, `[times, H]`, by a solve backwards in time.
///
/// `solution` is that of the same term and parameters; `solver` may be another than the one that made it.
///
/// # Errors
/// If the sizes do not fit, or as for [`Solver::solve`].
pub fn adjoint<T: Real, F: VectorField, D: Drive<T>>(
    solver: &Solver,
    term: &Term<'_, F, D>,
    parameters: &[T],
    solution: &Solution<T>,
    weights: &[T],
) -> Result<Gradient<T>, Error> {
    let hidden = term.field.hidden();
    check("adjoint", "the list of parameters", parameters.len(), term.field.parameters())?;
    check("adjoint", "the table of states", solution.states.len(), solution.times.len() * hidden)?;
    check("adjoint", "the gradient in the states", weights.len(), solution.states.len())?;
    let stops = Stops::new(term.drive, &Save::Times(solution.times.clone()))?;
    let mut gradient = Gradient::zero(term);
    let rates = if gradient.control.is_empty() { 0 } else { term.width() };
    // h, a, dL/dtheta, dL/drate of the present piece.
    let mut y = vec![T::ZERO; 2 * hidden + parameters.len() + rates];
    let saves = solution.times.len();
    let mut observer = BackwardObserver { stops: &stops, term, solution, weights, saves, control: &mut gradient.control };
    if !stops.stretches.is_empty() {
        observer.meet(&mut y);
    }
    // Time runs from -t_n to -t_0.
    let backwards: Vec<Stretch> =
        stops.stretches.iter().rev().map(|stretch| Stretch { start: -stretch.end, end: -stretch.start, ..*stretch }).collect();
    let mut system = Backward { term, parameters, rate: vec![T::ZERO; term.width()], rates, tape: Tape::new() };
    integrate(&mut system, solver.method, &solver.steps, stops.domain, &backwards, &mut y, &mut observer)?;
    if stops.start == Arrival::Saved {
        observer.meet(&mut y);
    }
    gradient.initial.copy_from_slice(&y[hidden..2 * hidden]);
    gradient.parameters.copy_from_slice(&y[2 * hidden..2 * hidden + parameters.len()]);
    Ok(gradient)
}

/// The augmented equation in `s = -t`.
struct Backward<'a, T, F, D> {
    term: &'a Term<'a, F, D>,
    parameters: &'a [T],
    rate: Vec<T>,
    /// Entries for the gradient in the rate.
    rates: usize,
    tape: Tape<T>,
}

impl<T: Real, F: VectorField, D: Drive<T>> System<T> for Backward<'_, T, F, D> {
    fn dimension(&self) -> usize {
        2 * self.term.field.hidden() + self.parameters.len() + self.rates
    }

    fn measured(&self) -> usize {
        2 * self.term.field.hidden()
    }

    fn slope(&mut self, piece: usize, s: f64, y: &[T], out: &mut [T]) -> Result<(), Error> {
        let hidden = self.term.field.hidden();
        self.term.drive.rate(piece, -s, &mut self.rate)?;
        let (h, rest) = y.split_at(hidden);
        let (d_h, rest_out) = out.split_at_mut(hidden);
        let (d_a, rest_out) = rest_out.split_at_mut(hidden);
        let (d_parameters, d_rate) = rest_out.split_at_mut(self.parameters.len());
        // d/ds is minus d/dt: the signs of the adjoint cancel, and that of h does not.
        let slope =
            pull_back(&mut self.tape, self.term, (self.parameters, &self.rate, h), &rest[..hidden], (d_parameters, d_rate, d_a))?;
        for (d_h, slope) in d_h.iter_mut().zip(slope) {
            *d_h = -slope;
        }
        Ok(())
    }
}

/// Handles the stops of the backward solve: saved states and the gradient of the control.
struct BackwardObserver<'a, T, F, D> {
    stops: &'a Stops,
    term: &'a Term<'a, F, D>,
    solution: &'a Solution<T>,
    weights: &'a [T],
    /// Saved times still to come.
    saves: usize,
    control: &'a mut Vec<T>,
}

impl<T: Real, F: VectorField, D: Drive<T>> BackwardObserver<'_, T, F, D> {
    /// At a saved time: sets `h`, adds to `a`.
    fn meet(&mut self, y: &mut [T]) {
        let hidden = self.term.field.hidden();
        self.saves -= 1;
        y[..hidden].copy_from_slice(self.solution.state(self.saves));
        for (a, &w) in y[hidden..2 * hidden].iter_mut().zip(&self.weights[self.saves * hidden..]) {
            *a += w;
        }
    }
}

impl<T: Real, F: VectorField, D: Drive<T>> Observer<T> for BackwardObserver<'_, T, F, D> {
    fn step(&mut self, _: Taken, _: &[T]) {}

    fn arrive(&mut self, index: usize, y: &mut [T]) -> Changed {
        // Stretch `index` from the back has been left at its start.
        let left = self.stops.stretches.len() - 1 - index;
        let stretch = &self.stops.stretches[left];
        if !self.control.is_empty() {
            let start = y.len() - self.term.width();
            self.term.drive.rate_backward(stretch.piece, stretch.start, &y[start..], self.control);
            y[start..].fill(T::ZERO);
        }
        if left > 0 && self.stops.stretches[left - 1].arrival == Arrival::Saved {
            self.meet(y);
        }
        Changed::Yes
    }
}
