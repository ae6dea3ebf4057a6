//! The public solve: its settings, and its forward and reverse pass on arrays.

use super::{Gradients, Input, Method, Network, Outputs};
use crate::{Error, Float};

/// The brackets of the fields in the Log-ODE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// None: one coefficient for each field.
    #[default]
    One,
    /// The brackets `[f_i, f_j]`, `i < j`: their coefficients follow those of the fields, in the order (1,2), (1,3), ..., (d-1,d).
    Two,
}

/// Whether the controls have gradients of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Controls {
    /// No: they are data.
    #[default]
    Constant,
    /// Yes.
    Variable,
}

/// The solve of `dh/dt = F(h, c(t))` by fixed steps.
///
/// ```
/// use ncde_kernels::neural::{Input, Last, Network, Outputs, Solve, Method};
/// // dh = h dx, a network of one weight; x grows by 1 in two steps of Heun's method, each a factor 1 + 1/2 + 1/8.
/// let network = Network::new(1, 1, &[])?.with_last(Last::Linear);
/// let solve = Solve::new(network).with_method(Method::Heun);
/// let input = Input {
///     batch: 1, steps: 2, control: 1,
///     parameters: &[1.0, 0.0], coefficients: &[1.0], initial: &[1.0], dt: &[0.5, 0.5], rows: &[0, 0, 0, 0],
/// };
/// let h = solve.forward(&input)?;
/// assert_eq!(h, [1.625, 1.625 * 1.625]);
/// let gradients = solve.backward(&input, &h, Outputs::Every, &[0.0, 1.0])?;
/// assert_eq!(gradients.initial, [1.625 * 1.625]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solve {
    network: Network,
    depth: Depth,
    method: Method,
    controls: Controls,
}

impl Solve {
    /// A solve by Heun's method without brackets, whose controls have no gradients.
    pub fn new(network: Network) -> Self {
        Self { network, depth: Depth::default(), method: Method::default(), controls: Controls::default() }
    }

    /// Selects the depth.
    #[must_use]
    pub fn with_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Selects the method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// Sets whether the controls have gradients.
    #[must_use]
    pub fn with_controls(self, controls: Controls) -> Self {
        Self { controls, ..self }
    }

    /// The field.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The depth.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether controls have gradients.
    pub fn controls(&self) -> Controls {
        self.controls
    }

    /// The number of coefficients in a row of the control.
    pub fn coefficients(&self) -> usize {
        let d = self.network.channels();
        match self.depth {
            Depth::One => d,
            Depth::Two => d + d * (d - 1) / 2,
        }
    }

    /// The states at the ends of all steps.
    ///
    /// # Shapes
    /// `[batch, steps, H]`.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, if a row does not exist, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Vec<T>, Error> {
        let mut states = Vec::new();
        self.forward_into(input, Outputs::Every, &mut states)?;
        Ok(states)
    }

    /// The states at the ends of some steps, for prediction: no others are stored.
    ///
    /// # Shapes
    /// `[batch, count, H]`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if the steps are not ascending.
    pub fn forward_at<T: Float>(&self, input: &Input<'_, T>, at: &[usize]) -> Result<Vec<T>, Error> {
        let mut states = Vec::new();
        self.forward_into(input, Outputs::At(at), &mut states)?;
        Ok(states)
    }

    /// As [`forward`](Self::forward) or [`forward_at`](Self::forward_at), into existing memory, which a loop can reuse.
    ///
    /// # Errors
    /// As for [`forward_at`](Self::forward_at); what `states` then holds means nothing.
    pub fn forward_into<T: Float>(&self, input: &Input<'_, T>, outputs: Outputs<'_>, states: &mut Vec<T>) -> Result<(), Error> {
        let operation = "the neural solve";
        input.check(operation, &self.network, self.method, self.coefficients(), outputs)?;
        states.resize(input.batch * outputs.count(input) * self.network.hidden(), T::ZERO);
        match T::neural_forward(self, input, outputs, states) {
            None => Ok(()),
            Some(exploded) => Err(input.exploded(exploded.series, exploded.step, self.method)),
        }
    }

    /// The gradients of a loss, from its gradient in the outputs and the states at the ends of all steps that
    /// [`forward`](Self::forward) gave. They are exactly those of the steps that were taken.
    ///
    /// # Shapes
    /// `states: [batch, steps, H]`, `gradient: [batch, count, H]` at the steps that `outputs` names.
    ///
    /// # Errors
    /// As for [`forward_at`](Self::forward_at), or if a gradient overflows.
    pub fn backward<T: Float>(
        &self,
        input: &Input<'_, T>,
        states: &[T],
        outputs: Outputs<'_>,
        gradient: &[T],
    ) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the neural solve";
        input.check(operation, &self.network, self.method, self.coefficients(), outputs)?;
        input.check_states(operation, self.network.hidden(), states, outputs, gradient)?;
        let mut gradients = Gradients {
            parameters: vec![T::ZERO; self.network.parameters()],
            initial: vec![T::ZERO; input.initial.len()],
            coefficients: (self.controls == Controls::Variable).then(|| vec![T::ZERO; input.coefficients.len()]),
        };
        T::neural_backward(self, input, states, outputs, gradient, &mut gradients);
        gradients.check(input.batch)?;
        Ok(gradients)
    }
}
