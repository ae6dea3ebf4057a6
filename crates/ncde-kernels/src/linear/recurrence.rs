//! The public recurrence: its settings, and its forward and reverse pass on arrays.

use super::action::Step;
use super::{Controls, Gradients, Input};
use crate::error::{finite, want_shape};
use crate::structure::words;
use crate::{Error, Field, Float};

/// How a generator becomes a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    /// `Phi = exp(Omega)`: exact on a linear piece of the driving path.
    #[default]
    Exp,
    /// `Phi = I + Omega`: the thesis's first-order approximation.
    Euler,
}

/// What an affine input `beta` adds to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Affine {
    /// `phi_1(Omega) beta`, `phi_1(z) = (exp(z) - 1) / z`: exact on a linear piece. (With [`Transition::Euler`], `beta`.)
    #[default]
    Exact,
    /// `beta`: the thesis's approximation for small steps.
    Approximate,
}

/// The order of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Chosen from the shapes.
    #[default]
    Auto,
    /// Step after step.
    Recurrent,
    /// A scan over chunks of time; closed structures only.
    Parallel,
}

/// What the coefficients multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contraction {
    /// One coefficient for each matrix `A^k`: increments, or log-signature coordinates with bracket matrices for the `A^k`.
    Matrices,
    /// One coefficient for each word of up to this many letters, by length, then lexicographically: the expanded log-signature.
    /// `Omega h = sum_w lambda_w A^{w_n} ... A^{w_1} h` is nested, and no bracket is formed.
    Words {
        /// The most letters.
        depth: usize,
    },
}

/// The recurrence `h_{t+1} = Phi_t h_t + b_t` of a linear field.
///
/// ```
/// use ncde_kernels::{Field, Input, Recurrence, Structure};
/// // dh = A h domega with the generator of rotations; omega grows by a quarter turn, twice.
/// let field = Field::new(Structure::Dense { hidden: 2 }, 1)?;
/// let recurrence = Recurrence::new(field);
/// let quarter = std::f64::consts::FRAC_PI_2;
/// let input = Input {
///     batch: 1, length: 2, columns: 1,
///     a: &[0.0, -1.0, 1.0, 0.0], coefficients: &[quarter, quarter], initial: &[1.0, 0.0], affine: None, lengths: None,
/// };
/// let h = recurrence.forward(&input)?;
/// assert!((h[0] - 0.0).abs() < 1e-15 && (h[1] - 1.0).abs() < 1e-15);
/// assert!((h[2] + 1.0).abs() < 1e-15 && (h[3] - 0.0).abs() < 1e-15);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    field: Field,
    transition: Transition,
    affine: Affine,
    mode: Mode,
    chunk: usize,
    contraction: Contraction,
    controls: Controls,
}

impl Recurrence {
    /// Exact flows, computed in the order the shapes suggest, one coefficient for each matrix.
    pub fn new(field: Field) -> Self {
        Self {
            field,
            transition: Transition::default(),
            affine: Affine::default(),
            mode: Mode::default(),
            chunk: 128,
            contraction: Contraction::Matrices,
            controls: Controls::Variable,
        }
    }

    /// Selects the transition.
    #[must_use]
    pub fn with_transition(self, transition: Transition) -> Self {
        Self { transition, ..self }
    }

    /// Selects the treatment of the affine input.
    #[must_use]
    pub fn with_affine(self, affine: Affine) -> Self {
        Self { affine, ..self }
    }

    /// Selects the order of computation.
    ///
    /// # Errors
    /// For [`Mode::Parallel`] on a structure that is not closed under products, or on words.
    pub fn with_mode(self, mode: Mode) -> Result<Self, Error> {
        Self { mode, ..self }.checked()
    }

    fn checked(self) -> Result<Self, Error> {
        if self.mode == Mode::Parallel && !self.field.structure().is_closed() {
            return Err(Error::NotClosed { structure: self.field.structure().name() });
        }
        if self.mode == Mode::Parallel && self.contraction != Contraction::Matrices {
            let problem =
                "coefficients of words are contracted step after step; use mode `recurrent` or `auto`, or bracket matrices";
            return Err(Error::Unsupported { operation: "the parallel scan", problem: problem.into() });
        }
        Ok(self)
    }

    /// Sets the number of steps of a chunk of the parallel scan, at least 1.
    #[must_use]
    pub fn with_chunk(self, chunk: usize) -> Self {
        Self { chunk: chunk.max(1), ..self }
    }

    /// Selects what the coefficients multiply.
    ///
    /// # Errors
    /// If there would be more words than can be counted, or for words in [`Mode::Parallel`].
    pub fn with_contraction(self, contraction: Contraction) -> Result<Self, Error> {
        if coefficients(self.field.channels(), contraction).is_none() {
            return Err(Error::Unsupported {
                operation: "recurrence",
                problem: format!("{contraction:?} over {} channels is too large; lower the depth", self.field.channels()),
            });
        }
        Self { contraction, ..self }.checked()
    }

    /// Sets whether the coefficients have gradients; the default is yes. Without them a reverse pass takes a third less time.
    #[must_use]
    pub fn with_controls(self, controls: Controls) -> Self {
        Self { controls, ..self }
    }

    /// Whether the coefficients have gradients.
    pub fn controls(&self) -> Controls {
        self.controls
    }

    /// The field.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The transition.
    pub fn transition(&self) -> Transition {
        self.transition
    }

    /// The treatment of the affine input.
    pub fn affine(&self) -> Affine {
        self.affine
    }

    /// The requested order of computation.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The steps of a chunk.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// What the coefficients multiply.
    pub fn contraction(&self) -> Contraction {
        self.contraction
    }

    /// The transition and affine treatment of a step.
    pub(crate) fn step(&self) -> Step {
        Step { transition: self.transition, affine: self.affine }
    }

    /// The number of coefficients of a step.
    pub fn coefficients(&self) -> usize {
        coefficients(self.field.channels(), self.contraction).unwrap_or(usize::MAX)
    }

    /// The states after each step.
    ///
    /// # Shapes
    /// `[batch, length, columns, H]`. Past the length of a series its last state is repeated.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Vec<T>, Error> {
        let mut states = Vec::new();
        self.forward_into(input, &mut states)?;
        Ok(states)
    }

    /// As [`forward`](Self::forward), into existing memory, which a loop can reuse.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward); what `states` then holds means nothing.
    pub fn forward_into<T: Float>(&self, input: &Input<'_, T>, states: &mut Vec<T>) -> Result<(), Error> {
        let operation = "the linear recurrence";
        self.check_sizes(operation, input)?;
        states.resize(input.batch * input.length * input.columns * self.field.hidden(), T::ZERO);
        // Input that is not finite gives states that are not.
        if T::forward(self, input, states) { Ok(()) } else { Err(self.diagnose(operation, input, states)) }
    }

    /// The gradients of a loss, from its gradient in the states and the states that [`forward`](Self::forward) gave.
    /// Flows are recomputed: between the passes only states are stored.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let mut gradients = Gradients { a: Vec::new(), coefficients: Vec::new(), initial: Vec::new(), affine: None };
        self.backward_into(input, states, gradient, &mut gradients)?;
        Ok(gradients)
    }

    /// As [`backward`](Self::backward), into existing memory.
    ///
    /// # Errors
    /// As for [`backward`](Self::backward); what `gradients` then holds means nothing.
    pub fn backward_into<T: Float>(
        &self,
        input: &Input<'_, T>,
        states: &[T],
        gradient: &[T],
        gradients: &mut Gradients<T>,
    ) -> Result<(), Error> {
        let operation = "the reverse pass of the linear recurrence";
        // Input that is not finite gives gradients that are not.
        self.check_sizes(operation, input)?;
        let &Input { batch, length, columns, .. } = input;
        let hidden = self.field.hidden();
        let size = batch * length * columns * hidden;
        want_shape(operation, "the states", states.len(), &self.states_shape(input))?;
        want_shape(operation, "the gradient", gradient.len(), &self.states_shape(input))?;
        gradients.a.resize(self.field.parameters(), T::ZERO);
        let wanted = if self.controls == Controls::Variable { batch * length * self.coefficients() } else { 0 };
        gradients.coefficients.resize(wanted, T::ZERO);
        gradients.initial.resize(batch * columns * hidden, T::ZERO);
        if input.affine.is_some() {
            gradients.affine.get_or_insert_default().resize(size, T::ZERO);
        } else {
            gradients.affine = None;
        }
        T::backward(self, input, states, gradient, gradients);
        self.check_gradients(input, gradients).or_else(|exploded| {
            self.check_finite(operation, input)?;
            let state_len = columns * hidden;
            for (what, array) in [("the states", states), ("the gradient", gradient)] {
                finite(operation, what, array, |i| format!("step {}, state {}", i / state_len, i % state_len))?;
            }
            Err(exploded)
        })
    }
}

/// How many coefficients a step has, if they can be counted.
fn coefficients(channels: usize, contraction: Contraction) -> Option<usize> {
    match contraction {
        Contraction::Matrices => Some(channels),
        Contraction::Words { depth } => words(channels, depth),
    }
}
