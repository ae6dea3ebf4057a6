//! Fixed steps of the Log-ODE method from rows of coordinates, one state at a time: what a batch of models or a stream is made of.
//!
//! ```text
//! dh/dt = (sum_P c_P f_P)(h),   P over the Lyndon brackets of up to N letters,   c a row of rates: a log-signature / its length
//! y_s = h + dt sum_{r<s} a_sr k_r,   k_s = F(y_s; row_s),   h <- h + dt sum_s b_s k_s
//! k_s' = dt (b_s h' + sum_{r>s} a_rs y_r'),   y_s' = DF(y_s)^T k_s',   h' <- h' + sum_s y_s'
//! ```
//!
//! The reverse pass of a step computes its stages again from the state before it, so that states are all that is kept. It is exactly
//! that of the steps that were taken.

use std::sync::Arc;

use ncde_signature::Basis;
use ncde_signature::algebra::{LieBasis, Shape};

use super::Method;
use crate::Error;
use crate::brackets::{Gradients, Inputs, MAX_DEPTH, contract_fixed, contract_reverse};
use crate::error::check;
use crate::field::Reversible;
use crate::scalar::{Real, axpy};

/// Steps of one method, for rows of log-signatures in the Lyndon basis.
///
/// ```
/// use ncde_solve::field::{Activation, Network};
/// use ncde_solve::solve::{Method, RowSteps};
/// // f_1 = (1, 0), f_2 = (0, x), so that [f_1, f_2] = (0, 1): one layer without activation, weights [2, 4], then biases.
/// let network = Network::new(2, 2, 1, 0, Activation::Identity, Activation::Identity)?;
/// let weights = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
/// let steps = RowSteps::new(2, 2, Method::Heun)?;
/// let mut h = [3.0_f32, 5.0];
/// // A window of length 2, taken in four steps: the signed area alone moves y, by 2 x 0.25.
/// steps.window(&network, &weights, &[0.0, 0.0, 0.25], (4, 0.5), &mut h)?;
/// assert_eq!(h, [3.0, 5.5]);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowSteps {
    method: Method,
    depth: usize,
    basis: Arc<LieBasis>,
}

/// What a loss's gradients in a step are added to.
#[derive(Debug)]
pub struct RowGradients<'a, T> {
    /// In the parameters.
    pub parameters: &'a mut [T],
    /// In the rows of the stages, `[stages, coordinates]`.
    pub rows: &'a mut [T],
}

impl RowSteps {
    /// For paths with `channels` channels and brackets of up to `depth` letters.
    ///
    /// # Errors
    /// If there is no such log-signature, or the depth is more than [`MAX_DEPTH`].
    pub fn new(channels: usize, depth: usize, method: Method) -> Result<Self, Error> {
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(Error::Depth { depth, most: MAX_DEPTH });
        }
        let basis = Arc::new(LieBasis::new(&Shape::new(channels, depth)?, Basis::Lyndon)?);
        Ok(Self { method, depth, basis })
    }

    /// Another method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// How many coordinates a row has.
    pub fn coordinates(&self) -> usize {
        self.basis.len()
    }

    /// How many stages a step has, and so how many rows it reads.
    pub fn stages(&self) -> usize {
        self.method.stages()
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The depth.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// A row as coefficients of words, as a step reads it.
    ///
    /// # Errors
    /// If it has another number of coordinates.
    pub fn expand<T: Real>(&self, row: &[T]) -> Result<Vec<T>, Error> {
        check("log-ode step", "the row of the control (one for each bracket)", row.len(), self.coordinates())?;
        Ok(self.basis.expand(row)?)
    }

    /// Takes a state through a window of `count` steps of length `dt`, all with one row.
    ///
    /// # Errors
    /// If the sizes do not fit, or the state is not finite after a step.
    pub fn window<T: Real, F: Reversible>(
        &self,
        field: &F,
        parameters: &[T],
        row: &[T],
        (count, dt): (usize, f64),
        h: &mut [T],
    ) -> Result<(), Error> {
        let words = self.expand(row)?;
        let rows = vec![words.as_slice(); self.stages()];
        for index in 0..count {
            self.step(field, parameters, &rows, T::from_f64(dt), h)?;
            if !h.iter().all(|x| x.is_finite()) {
                return Err(Error::NotFinite { time: index as f64 * dt, step: dt, index });
            }
        }
        Ok(())
    }

    /// One step. `rows` has the [expanded](Self::expand) row of each stage.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn step<T: Real, F: Reversible>(
        &self,
        field: &F,
        parameters: &[T],
        rows: &[&[T]],
        dt: T,
        h: &mut [T],
    ) -> Result<(), Error> {
        let stages = self.evaluate(field, parameters, rows, dt, h)?;
        for (&b, k) in self.method.tableau().b.iter().zip(&stages.slopes) {
            axpy(h, dt * T::from_f64(b), k);
        }
        Ok(())
    }

    /// The way back of [`step`](Self::step) from `h`, the state before it: takes `a`, the gradient in the state after it, to that before it,
    /// and adds to the others.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn step_backward<T: Real, F: Reversible>(
        &self,
        field: &F,
        (parameters, rows, dt): (&[T], &[&[T]], T),
        h: &[T],
        a: &mut [T],
        sums: RowGradients<'_, T>,
    ) -> Result<(), Error> {
        let (tableau, width) = (self.method.tableau(), self.coordinates());
        let RowGradients { parameters: d_parameters, rows: d_rows } = sums;
        check("log-ode step", "the gradient in the state", a.len(), h.len())?;
        check("log-ode step", "the gradient in the parameters", d_parameters.len(), parameters.len())?;
        check("log-ode step", "the gradient in the rows", d_rows.len(), self.stages() * width)?;
        let Stages { points: y, .. } = self.evaluate(field, parameters, rows, dt, h)?;
        // y_s', from the last stage on.
        let mut d_y = vec![vec![T::ZERO; h.len()]; y.len()];
        for s in (0..y.len()).rev() {
            let mut seed = vec![T::ZERO; h.len()];
            axpy(&mut seed, dt * T::from_f64(tableau.b[s]), a);
            for r in s + 1..y.len() {
                axpy(&mut seed, dt * T::from_f64(tableau.row(r)[s]), &d_y[r]);
            }
            let mut d_words = vec![T::ZERO; rows[s].len()];
            let inner = Gradients { parameters: &mut *d_parameters, row: &mut d_words };
            let at = Inputs { parameters, row: rows[s], h: &y[s] };
            contract_reverse(field, self.depth, at, &seed, &mut d_y[s], inner)?;
            axpy(&mut d_rows[s * width..(s + 1) * width], T::ONE, &self.basis.expand_backward(&d_words)?);
        }
        d_y.iter().for_each(|d_y| axpy(a, T::ONE, d_y));
        Ok(())
    }

    fn evaluate<T: Real, F: Reversible>(
        &self,
        field: &F,
        parameters: &[T],
        rows: &[&[T]],
        dt: T,
        h: &[T],
    ) -> Result<Stages<T>, Error> {
        check("log-ode step", "the list of rows (one for each stage)", rows.len(), self.stages())?;
        let mut stages = Stages { points: Vec::new(), slopes: Vec::new() };
        for (s, row) in rows.iter().enumerate() {
            let mut y = h.to_vec();
            let weights = self.method.tableau().row(s);
            for (&a, k) in weights.iter().zip(&stages.slopes) {
                axpy(&mut y, dt * T::from_f64(a), k);
            }
            let mut k = vec![T::ZERO; h.len()];
            contract_fixed(field, parameters, self.depth, row, &y, &mut k)?;
            stages.points.push(y);
            stages.slopes.push(k);
        }
        Ok(stages)
    }
}

/// Where a step evaluates the field, and its values there.
struct Stages<T> {
    points: Vec<Vec<T>>,
    slopes: Vec<Vec<T>>,
}
