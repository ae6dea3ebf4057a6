//! One step of a Linear NCDE on plain numbers, from the coordinates of the joint path (omega, xi).
//!
//! ```text
//! h <- exp(Omega) h + phi_1(Omega) beta,   Omega = sum_P lambda_P A_P,   beta = sum_P lambda_P c_P
//! ```

use ncde_kernels::{Recurrence, Stream};

use crate::{Error, Plan};

/// A number type that states are computed in: `f32` or `f64`.
pub trait Number: ncde_kernels::Float + ncde_signature::Float {}
impl<T: ncde_kernels::Float + ncde_signature::Float> Number for T {}

/// The flow over one step or window.
#[derive(Debug)]
pub struct Flow<T: Number> {
    stream: Stream<T>,
    /// The coordinates that go with matrices, and those that go with vectors.
    places: [Vec<usize>; 2],
    /// `[vectors, H]`, by column.
    vectors: Vec<T>,
    columns: usize,
    lambda: Vec<T>,
    beta: Vec<T>,
}

impl<T: Number> Flow<T> {
    /// With the parameters `a` of the field and `b` of the input term.
    ///
    /// # Errors
    /// If they have the wrong sizes, or one is not finite.
    pub fn new(plan: &Plan, recurrence: &Recurrence, a: Vec<T>, b: Option<Vec<T>>, columns: usize) -> Result<Self, Error> {
        let vectors = match b {
            Some(b) => plan.vectors(&a, b)?,
            None => Vec::new(),
        };
        Ok(Self {
            stream: Stream::new(recurrence, &plan.matrices(a)?)?,
            places: [plan.matrix_places().to_vec(), plan.vector_places().to_vec()],
            vectors,
            columns,
            lambda: Vec::new(),
            beta: vec![T::ZERO; columns * recurrence.field().hidden()],
        })
    }

    /// Takes `state`, `[columns, H]`, over a step or window with these coordinates.
    ///
    /// # Errors
    /// If a size is wrong, a number is not finite, or the state overflows; it is then as it was.
    pub fn advance(&mut self, state: &mut [T], coordinates: &[T]) -> Result<(), Error> {
        let [matrices, vectors] = &self.places;
        self.lambda.clear();
        self.lambda.extend(matrices.iter().map(|&i| coordinates[i]));
        if vectors.is_empty() {
            return Ok(self.stream.push(state, &self.lambda, None)?);
        }
        self.beta.fill(T::ZERO);
        let hidden = self.beta.len() / self.columns;
        let rows = vectors.iter().zip(self.vectors.chunks_exact(hidden));
        let each = vectors.len() / self.columns;
        for (row, (&i, vector)) in rows.enumerate() {
            let mu = coordinates[i];
            let own = &mut self.beta[row / each * hidden..][..hidden];
            own.iter_mut().zip(vector).for_each(|(beta, &c)| *beta += mu * c);
        }
        Ok(self.stream.push(state, &self.lambda, Some(&self.beta))?)
    }
}
