//! Solves of any depth, through `ncde-solve`: one series at a time on each thread.
//!
//! ```text
//! forwards:    h_{n+1} = step(h_n; rows of step n, dt_n),   h_{n+1} = h_n where dt_n = 0
//! in reverse:  a_n = (dh_{n+1}/dh_n)^T a_{n+1} + the loss's gradient in h_n,   from the states that were kept
//! ```
//!
//! What is summed over the batch is summed in shards that depend on its size alone, one after the other: results do not depend on threads.

use ncde_kernels::neural::{Controls, Gradients, Input, Outputs};
use ncde_solve::scalar::Real;
use ncde_solve::solve::{RowGradients, RowSteps};
use rayon::prelude::*;

use super::choice::Generic;
use super::{Error, OPERATION, Solve};

/// A number type that both crates compute in.
pub(super) trait Precision: ncde_kernels::Float + Real {}
impl Precision for f32 {}
#[cfg(feature = "f64")]
impl Precision for f64 {}

/// The most sums of gradients at a time.
const SHARDS: usize = 16;

/// The states at the outputs, `[batch, count, H]`.
pub(super) fn forward<T: Precision>(
    solve: &Solve,
    generic: &Generic,
    input: &Input<'_, T>,
    outputs: Outputs<'_>,
) -> Result<Vec<T>, Error> {
    input.check(OPERATION, solve.network(), solve.method(), solve.coefficients(), outputs)?;
    let each = outputs.count(input) * solve.network().hidden();
    let mut states = vec![T::ZERO; input.batch * each];
    let solved =
        states.par_chunks_mut(each).enumerate().map(|(b, states)| Series::new(generic, input, b).forward(outputs, states));
    let solved: Vec<Option<usize>> = solved.collect::<Result<_, Error>>()?;
    // The first step that fails, and in it the first series, as the kernel has it.
    let first = solved.iter().enumerate().filter_map(|(b, step)| step.map(|step| (step, b))).min();
    match first {
        None => Ok(states),
        Some((step, series)) => Err(input.exploded(series, step, solve.method()).into()),
    }
}

/// The gradients, from the states at the ends of all steps and the gradient at the outputs.
pub(super) fn backward<T: Precision>(
    solve: &Solve,
    generic: &Generic,
    input: &Input<'_, T>,
    states: &[T],
    outputs: Outputs<'_>,
    gradient: &[T],
) -> Result<Gradients<T>, Error> {
    let operation = "the reverse pass of the neural solve";
    let hidden = solve.network().hidden();
    input.check(operation, solve.network(), solve.method(), solve.coefficients(), outputs)?;
    input.check_states(operation, hidden, states, outputs, gradient)?;
    let (each, control) = (outputs.count(input) * hidden, input.control * solve.coefficients());
    let mut gradients = Gradients {
        parameters: vec![T::ZERO; input.parameters.len()],
        initial: vec![T::ZERO; input.initial.len()],
        coefficients: (solve.kernel().controls() == Controls::Variable).then(|| vec![T::ZERO; input.coefficients.len()]),
    };
    let shard = input.batch.div_ceil(SHARDS);
    let mut coefficients: Vec<Option<&mut [T]>> = match &mut gradients.coefficients {
        Some(all) => all.chunks_mut(shard * control).map(Some).collect(),
        None => Vec::new(),
    };
    coefficients.resize_with(input.batch.div_ceil(shard), || None);
    let shards = gradients.initial.par_chunks_mut(shard * hidden).zip(coefficients).enumerate();
    let sums = shards.map(|(k, (initial, mut coefficients))| {
        let mut sum = vec![T::ZERO; input.parameters.len()];
        for (i, initial) in initial.chunks_exact_mut(hidden).enumerate() {
            let b = k * shard + i;
            let own = (&states[b * input.steps * hidden..][..input.steps * hidden], &gradient[b * each..][..each]);
            let rows = coefficients.as_deref_mut().map(|all| &mut all[i * control..][..control]);
            Series::new(generic, input, b).backward(outputs, own, initial, &mut sum, rows)?;
        }
        Ok(sum)
    });
    for sum in sums.collect::<Vec<Result<Vec<T>, Error>>>() {
        gradients.parameters.iter_mut().zip(sum?).for_each(|(all, own)| *all += own);
    }
    gradients.check(input.batch)?;
    Ok(gradients)
}

/// One series of a batch.
struct Series<'a, T> {
    generic: &'a Generic,
    input: &'a Input<'a, T>,
    b: usize,
    /// For each stage the row it read last, as coefficients of words: all steps of a window read the same.
    expanded: Vec<(usize, Vec<T>)>,
}

impl<'a, T: Precision> Series<'a, T> {
    fn new(generic: &'a Generic, input: &'a Input<'a, T>, b: usize) -> Self {
        Self { generic, input, b, expanded: vec![(usize::MAX, Vec::new()); generic.steps.stages()] }
    }

    fn dt(&self, n: usize) -> T {
        self.input.dt[self.b * self.input.steps + n]
    }

    /// The row that each stage of step `n` reads.
    fn rows(&self, n: usize) -> &'a [usize] {
        let stages = self.generic.steps.stages();
        &self.input.rows[(self.b * self.input.steps + n) * stages..][..stages]
    }

    fn load(&mut self, n: usize) -> Result<(), Error> {
        let width = self.generic.steps.coordinates();
        let own = &self.input.coefficients[self.b * self.input.control * width..];
        for (&row, (held, words)) in self.rows(n).iter().zip(&mut self.expanded) {
            if *held != row {
                *words = self.generic.steps.expand(&own[row * width..(row + 1) * width])?;
                *held = row;
            }
        }
        Ok(())
    }

    fn initial(&self, hidden: usize) -> &'a [T] {
        &self.input.initial[self.b * hidden..][..hidden]
    }

    /// The first step after which the state is not finite, if there is one.
    fn forward(mut self, outputs: Outputs<'_>, states: &mut [T]) -> Result<Option<usize>, Error> {
        let count = outputs.count(self.input);
        let mut h = self.initial(states.len() / count).to_vec();
        let mut waiting = 0;
        for n in 0..self.input.steps {
            if self.dt(n) != T::ZERO {
                self.load(n)?;
                let Generic { field, steps } = self.generic;
                steps.step(field, self.input.parameters, &slices(&self.expanded), self.dt(n), &mut h)?;
                if !h.iter().all(|x| x.is_finite()) {
                    return Ok(Some(n));
                }
            }
            while waiting < count && outputs.step(self.input, self.b, waiting) == n {
                states[waiting * h.len()..][..h.len()].copy_from_slice(&h);
                waiting += 1;
            }
        }
        Ok(None)
    }

    fn backward(
        mut self,
        outputs: Outputs<'_>,
        (states, gradient): (&[T], &[T]),
        initial: &mut [T],
        parameters: &mut [T],
        mut coefficients: Option<&mut [T]>,
    ) -> Result<(), Error> {
        let hidden = initial.len();
        let steps: &RowSteps = &self.generic.steps;
        let width = steps.coordinates();
        let mut waiting = outputs.count(self.input);
        // The gradient in the state, on its way to the first.
        let a = initial;
        for n in (0..self.input.steps).rev() {
            while waiting > 0 && outputs.step(self.input, self.b, waiting - 1) == n {
                waiting -= 1;
                a.iter_mut().zip(&gradient[waiting * hidden..]).for_each(|(a, &g)| *a += g);
            }
            if self.dt(n) == T::ZERO {
                continue;
            }
            self.load(n)?;
            let before = if n == 0 { self.initial(hidden) } else { &states[(n - 1) * hidden..n * hidden] };
            let mut rows = vec![T::ZERO; steps.stages() * width];
            let of = RowGradients { parameters: &mut *parameters, rows: &mut rows };
            let at = (self.input.parameters, &slices(&self.expanded)[..], self.dt(n));
            steps.step_backward(&self.generic.field, at, before, a, of)?;
            for (&row, of_row) in self.rows(n).iter().zip(rows.chunks_exact(width)) {
                let own = coefficients.as_deref_mut().map(|all| &mut all[row * width..(row + 1) * width]);
                own.into_iter().flatten().zip(of_row).for_each(|(own, &g)| *own += g);
            }
        }
        Ok(())
    }
}

fn slices<T>(expanded: &[(usize, Vec<T>)]) -> Vec<&[T]> {
    expanded.iter().map(|(_, words)| words.as_slice()).collect()
}
