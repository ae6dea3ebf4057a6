//! One window of an NCDE, an NRDE or a Log-NCDE: `h <- the solution after a time of 1 of dh/du = F(h, c(u))`.
//!
//! The kernel knows brackets to depth 2; deeper ones are computed by the generic solver, with the same steps.

use ncde_kernels::neural::{Depth, Input, Outputs, Solve, Solver};
use ncde_solve::field;
use ncde_solve::solve::{Method, RowSteps};

use crate::Error;
use crate::neural_spec::{NeuralKind, NeuralSpec};

/// The flow of a neural field over one window.
#[derive(Debug)]
pub(crate) struct NeuralFlow {
    spec: NeuralSpec,
    parameters: Vec<f32>,
    route: Route,
}

#[derive(Debug)]
enum Route {
    Fused { solve: Box<Solve>, reads: Vec<usize>, dt: Vec<f32>, control: Vec<f32>, states: Vec<f32> },
    Generic { steps: RowSteps, field: field::Network },
}

impl NeuralFlow {
    /// With the parameters of the network, for paths with `width` channels.
    pub(crate) fn new(spec: &NeuralSpec, width: usize, parameters: Vec<f32>) -> Result<Self, Error> {
        let method = match spec.solver {
            Solver::Euler => Method::Euler,
            Solver::Heun => Method::Heun,
            Solver::Rk4 => Method::Rk4,
        };
        let depth = match spec.kind {
            NeuralKind::LogNcde { depth } => depth,
            NeuralKind::Ncde | NeuralKind::Nrde { .. } => 1,
        };
        let route = match depth {
            1 | 2 => Route::Fused {
                solve: Box::new(
                    Solve::new(spec.network(width)?)
                        .with_depth(if depth == 2 { Depth::Two } else { Depth::One })
                        .with_solver(spec.solver),
                ),
                reads: spec.reads(),
                dt: vec![1.0 / spec.steps as f32; spec.steps],
                control: Vec::new(),
                states: Vec::new(),
            },
            _ => Route::Generic { steps: RowSteps::new(width, depth, method)?, field: spec.field(width)? },
        };
        Ok(Self { spec: spec.clone(), parameters, route })
    }

    /// Takes a state over a window described by these numbers.
    pub(crate) fn advance(&mut self, state: &mut [f32], numbers: &[f32]) -> Result<(), Error> {
        let count = self.spec.steps;
        match &mut self.route {
            Route::Fused { solve, reads, dt, control, states } => {
                control.clear();
                self.spec.control(numbers, control);
                let input = Input {
                    batch: 1,
                    steps: count,
                    control: self.spec.rows(),
                    parameters: &self.parameters,
                    coefficients: control,
                    initial: state,
                    dt,
                    rows: reads,
                };
                solve.forward_into(&input, Outputs::At(&[count - 1]), states)?;
                state.copy_from_slice(states);
                Ok(())
            }
            Route::Generic { steps, field } => {
                Ok(steps.window(field, &self.parameters, numbers, (count, 1.0 / count as f64), state)?)
            }
        }
    }
}
