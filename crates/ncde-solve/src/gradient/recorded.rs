//! Back through the solver's own steps: `dL/dh_n = (dh_{n+1}/dh_n)^T dL/dh_{n+1}`, each step on a tape of its own.
//!
//! From one checkpoint to the next the states are computed again, then the steps are gone through from the last to the first.

use super::Gradient;
use super::checkpoints::Checkpoints;
use crate::Error;
use crate::error::check;
use crate::field::VectorField;
use crate::scalar::{Real, Scalar, Tape, Var};
use crate::solve::{Arrival, Changed, Drive, First, Observer, Save, Saving, Solution, Solver, Stages, Stops, Taken, Term};

/// A solve that remembers its steps.
///
/// ```
/// use ncde_solve::field::Linear;
/// use ncde_solve::solve::{Method, Save, Solver, Steps, Term, Time};
/// // One Euler step of dh/dt = a h: h_1 = (1 + a) h_0.
/// let (field, time) = (Linear { hidden: 1, channels: 1 }, Time::new(0.0, 1.0)?);
/// let (term, solver) = (Term { field: &field, drive: &time }, Solver { method: Method::Euler, steps: Steps::Shared(1) });
/// let recorded = solver.record(&term, &[0.5], &[2.0], &Save::End)?;
/// let gradient = recorded.backward(&[1.0])?;
/// assert_eq!((gradient.parameters[0], gradient.initial[0]), (2.0, 1.5));
/// # Ok::<(), ncde_solve::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorded<'a, T, F, D> {
    /// The states and what they took.
    pub solution: Solution<T>,
    solver: Solver,
    term: &'a Term<'a, F, D>,
    parameters: &'a [T],
    steps: Vec<Taken>,
    checkpoints: Checkpoints<T>,
    /// How many steps were taken before each time that was saved.
    saved_after: Vec<usize>,
}

impl Solver {
    /// Solves as [`solve`](Solver::solve) does, and remembers what the way back needs.
    ///
    /// # Errors
    /// Those of [`solve`](Solver::solve).
    pub fn record<'a, T: Real, F: VectorField, D: Drive<T>>(
        &self,
        term: &'a Term<'a, F, D>,
        parameters: &'a [T],
        h: &[T],
        save: &Save,
    ) -> Result<Recorded<'a, T, F, D>, Error> {
        let stops = Stops::new(term.drive, save)?;
        let saving = Saving::new(&stops, h);
        let saved_after = vec![0; usize::from(stops.start == Arrival::Saved)];
        let mut recording = Recording { saving, saved_after, steps: Vec::new(), checkpoints: Checkpoints::new() };
        let statistics = self.run(term, parameters, h, &stops, &mut recording)?;
        let Recording { saving, saved_after, steps, checkpoints } = recording;
        let solution = Solution { states: saving.states, times: stops.times, statistics };
        Ok(Recorded { solution, solver: *self, term, parameters, steps, checkpoints, saved_after })
    }
}

impl<T: Real, F: VectorField, D: Drive<T>> Recorded<'_, T, F, D> {
    /// The gradient of a loss from its derivatives in the saved states, `[times, H]`.
    ///
    /// # Errors
    /// If `weights` is of another size, or as the control has them.
    pub fn backward(&self, weights: &[T]) -> Result<Gradient<T>, Error> {
        check("backward", "the gradient in the states", weights.len(), self.solution.states.len())?;
        let hidden = self.term.field.hidden();
        let mut gradient = Gradient::zero(self.term);
        let mut back = Back { recorded: self, tape: Tape::new(), rate: vec![T::ZERO; self.term.width()] };
        let mut a = vec![T::ZERO; hidden];
        let mut saves = self.saved_after.len();
        let mut add_saved = |a: &mut [T], step: usize| {
            while saves > 0 && self.saved_after[saves - 1] == step {
                saves -= 1;
                for (a, &w) in a.iter_mut().zip(&weights[saves * hidden..]) {
                    *a += w;
                }
            }
        };
        let mut end = self.steps.len();
        for (first, state) in self.checkpoints.reversed() {
            let states = back.states(first, end, state)?;
            for step in (first..end).rev() {
                add_saved(&mut a, step + 1);
                back.step(self.steps[step], &states[step - first], &mut a, &mut gradient)?;
            }
            end = first;
        }
        add_saved(&mut a, 0);
        gradient.initial = a;
        Ok(gradient)
    }

    /// How many states are kept for the way back.
    pub fn checkpoints(&self) -> usize {
        self.checkpoints.len()
    }
}

/// The way back, with its working memory.
struct Back<'a, T, F, D> {
    recorded: &'a Recorded<'a, T, F, D>,
    tape: Tape<T>,
    rate: Vec<T>,
}

impl<T: Real, F: VectorField, D: Drive<T>> Back<'_, T, F, D> {
    /// The states before steps `first..end`, from the first of them.
    fn states(&mut self, first: usize, end: usize, state: &[T]) -> Result<Vec<Vec<T>>, Error> {
        let Recorded { solver, term, parameters, steps, .. } = self.recorded;
        let mut stages = Stages::propagating(solver.method.tableau(), state.len());
        let mut states = vec![state.to_vec()];
        for &Taken { piece, t, dt } in &steps[first..end - 1] {
            let mut next = vec![T::ZERO; state.len()];
            let now = &states[states.len() - 1];
            let rate = &mut self.rate;
            stages.advance(First::Unknown, dt, now, &mut next, |c, y, out| {
                term.drive.rate(piece, t + c * dt, rate)?;
                term.product(parameters, rate, y, out)
            })?;
            states.push(next);
        }
        Ok(states)
    }

    /// Takes `a` back over one step and adds to the gradient.
    fn step(&mut self, taken: Taken, y: &[T], a: &mut [T], gradient: &mut Gradient<T>) -> Result<(), Error> {
        let Taken { piece, t, dt } = taken;
        let Recorded { solver, term, .. } = self.recorded;
        self.tape.clear();
        let tape = &self.tape;
        let (parameters, y) = (tape.variables(self.recorded.parameters), tape.variables(y));
        let mut next = y.clone();
        let mut rates: Vec<(f64, Vec<Var<'_, T>>)> = Vec::new();
        let rate = &mut self.rate;
        Stages::propagating(solver.method.tableau(), y.len()).advance(First::Unknown, dt, &y, &mut next, |c, y, out| {
            let t = t + c * dt;
            term.drive.rate(piece, t, rate)?;
            let constants = || rate.iter().map(|&x| Var::constant(x)).collect();
            rates.push((t, if gradient.control.is_empty() { constants() } else { tape.variables(rate) }));
            term.product(&parameters, &rates[rates.len() - 1].1, y, out)
        })?;
        let seeds: Vec<_> = next.iter().copied().zip(a.iter().copied()).collect();
        let sensitivities = tape.backward(&seeds);
        for (a, &y) in a.iter_mut().zip(&y) {
            *a = sensitivities.of(y);
        }
        for (g, &p) in gradient.parameters.iter_mut().zip(&parameters) {
            *g += sensitivities.of(p);
        }
        if !gradient.control.is_empty() {
            for (t, rate) in rates {
                let d_rate: Vec<T> = rate.iter().map(|&x| sensitivities.of(x)).collect();
                term.drive.rate_backward(piece, t, &d_rate, &mut gradient.control);
            }
        }
        Ok(())
    }
}

/// Keeps the states that are wanted and what the way back needs.
struct Recording<'a, T> {
    saving: Saving<'a, T>,
    saved_after: Vec<usize>,
    steps: Vec<Taken>,
    checkpoints: Checkpoints<T>,
}

impl<T: Real> Observer<T> for Recording<'_, T> {
    fn step(&mut self, taken: Taken, before: &[T]) {
        self.checkpoints.push(before);
        self.steps.push(taken);
    }

    fn arrive(&mut self, index: usize, y: &mut [T]) -> Changed {
        if self.saving.stretches[index].arrival == Arrival::Saved {
            self.saved_after.push(self.steps.len());
        }
        self.saving.arrive(index, y)
    }
}
