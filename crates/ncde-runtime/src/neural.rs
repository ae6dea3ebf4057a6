//! One window of an NCDE, an NRDE or a Log-NCDE: `h <- the solution after a time of 1 of dh/du = F(h, c(u))`.

use ncde_kernels::neural::{Input, Outputs, Solve};

use crate::Error;
use crate::neural_spec::NeuralSpec;

/// The flow of a neural field over one window.
#[derive(Debug)]
pub(crate) struct NeuralFlow {
    spec: NeuralSpec,
    solve: Solve,
    parameters: Vec<f32>,
    reads: Vec<usize>,
    dt: Vec<f32>,
    control: Vec<f32>,
    states: Vec<f32>,
}

impl NeuralFlow {
    /// With the parameters of the network.
    pub(crate) fn new(spec: &NeuralSpec, solve: Solve, parameters: Vec<f32>) -> Self {
        Self {
            solve,
            parameters,
            reads: spec.reads(),
            dt: vec![1.0 / spec.steps as f32; spec.steps],
            control: Vec::new(),
            states: Vec::new(),
            spec: spec.clone(),
        }
    }

    /// Takes a state over a window described by these numbers.
    pub(crate) fn advance(&mut self, state: &mut [f32], numbers: &[f32]) -> Result<(), Error> {
        self.control.clear();
        self.spec.control(numbers, &mut self.control);
        let input = Input {
            batch: 1,
            steps: self.spec.steps,
            control: self.spec.rows(),
            parameters: &self.parameters,
            coefficients: &self.control,
            initial: state,
            dt: &self.dt,
            rows: &self.reads,
        };
        self.solve.forward_into(&input, Outputs::At(&[self.spec.steps - 1]), &mut self.states)?;
        state.copy_from_slice(&self.states);
        Ok(())
    }
}
