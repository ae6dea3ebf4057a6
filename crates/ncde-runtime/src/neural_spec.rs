//! The models whose vector field is a network, as they are saved, and what drives them.
//!
//! ```text
//! windows (NRDE, Log-NCDE):   c(u) = lambda = log S^N over the window
//! observations (NCDE):        c(u) = m + (4u - 3u^2) (x - m),   x the increment,  m = (slope of the increment before) x (length of this one)
//! ```
//!
//! The second is the derivative of the cubic that begins with the slope of the increment before and ends with that of its own (Hermite
//! interpolation with backward differences): it is known as soon as the observation is. The first increment has none before it, `m = x`.

use ncde_kernels::neural::{Activation, Last, Network, Solver};
use ncde_signature::{Basis, Signature};
use ncde_solve::brackets::MOST_DEPTH;
use ncde_solve::field;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::spec::ReadSpec;

/// A model whose vector field is a network, solved by fixed steps in each window.
///
/// ```text
/// h_0 = L (knot_0, statics) + c,   h_{k+1} = the solution after a time of 1 of  dh/du = F(h, c_k(u)),  from h_k
/// ```
///
/// The equation is solved in the share `u` of the window that has passed, not in time: what a model computes does not depend on
/// the unit of time. How fast time passes is a channel of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeuralSpec {
    /// Which model.
    pub kind: NeuralKind,
    /// `H`.
    pub hidden: usize,
    /// The width of the hidden layers of the network.
    pub width: usize,
    /// How many there are.
    pub layers: usize,
    /// What follows each of them.
    #[serde(with = "ActivationName")]
    pub activation: Activation,
    /// What follows the last of them.
    #[serde(with = "ActivationName")]
    pub before_last: Activation,
    /// What follows the last layer.
    #[serde(with = "LastName")]
    pub last: Last,
    /// How the equation is solved.
    #[serde(with = "SolverName")]
    pub solver: Solver,
    /// In how many steps a window.
    pub steps: usize,
    /// How many observations make up a window; 1 for an NCDE.
    pub window: usize,
    /// What reads the states.
    pub read: ReadSpec,
    /// `C`, the largest `|h|` seen in training: on the ball of that radius a bound of the field's Lip norm holds for what was seen.
    pub radius: f64,
}

impl NeuralSpec {
    /// The log-signature of a window.
    ///
    /// # Errors
    /// If there is none of that depth.
    pub fn log_signature(&self, width: usize) -> Result<Signature, Error> {
        Ok(Signature::log(width, self.kind.depth(), Basis::Lyndon)?)
    }

    /// How many numbers describe a window of a path with `width` channels: the coordinates of its log-signature, or `(m, x)`.
    ///
    /// # Errors
    /// As for [`log_signature`](Self::log_signature).
    pub fn numbers(&self, width: usize) -> Result<usize, Error> {
        match self.kind {
            NeuralKind::Ncde => Ok(2 * width),
            NeuralKind::Nrde { .. } | NeuralKind::LogNcde { .. } => Ok(self.log_signature(width)?.len()),
        }
    }

    /// Which of these numbers the head may see beside a state: the log-signature, or the increment.
    ///
    /// # Errors
    /// As for [`log_signature`](Self::log_signature).
    pub fn seen(&self, width: usize) -> Result<Vec<usize>, Error> {
        let first = if self.kind == NeuralKind::Ncde { width } else { 0 };
        Ok((first..self.numbers(width)?).collect())
    }

    /// The network, as the kernel knows it.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn network(&self, width: usize) -> Result<Network, Error> {
        let sizes = [("window", self.window), ("steps", self.steps), ("depth", self.kind.depth())];
        if let Some((setting, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::Setting { setting, problem: "0; at least 1 is needed".into() });
        }
        if self.kind == NeuralKind::Ncde && self.window != 1 {
            let problem = format!("{} observations; an NCDE is driven by one at a time, window 1", self.window);
            return Err(Error::Setting { setting: "window", problem });
        }
        if matches!(self.kind, NeuralKind::LogNcde { depth } if depth > MOST_DEPTH) {
            let problem = format!("{}; brackets are computed to depth {MOST_DEPTH}", self.kind.depth());
            return Err(Error::Setting { setting: "depth", problem });
        }
        let network = Network::new(self.hidden, self.columns(width)?, &vec![self.width; self.layers])?;
        Ok(network.with_activation(self.activation).with_before_last(self.before_last).with_last(self.last))
    }

    /// How many vector fields the network has: one for each channel, or for each coordinate.
    fn columns(&self, width: usize) -> Result<usize, Error> {
        match self.kind {
            NeuralKind::Ncde | NeuralKind::LogNcde { .. } => Ok(width),
            NeuralKind::Nrde { .. } => self.numbers(width),
        }
    }

    /// The network as the generic solvers know it, with the same parameters in the same order.
    ///
    /// # Errors
    /// If the sizes make no sense.
    pub fn field(&self, width: usize) -> Result<field::Network, Error> {
        let function = |activation: Activation| match activation {
            Activation::Silu => field::Activation::Silu,
            Activation::Relu => field::Activation::Relu,
            Activation::Tanh => field::Activation::Tanh,
            Activation::Softplus => field::Activation::Softplus,
        };
        let columns = self.columns(width)?;
        let mut layers = vec![field::Layer { width: self.width, activation: function(self.activation) }; self.layers];
        if let Some(last) = layers.last_mut() {
            last.activation = function(self.before_last);
        }
        let last = if self.last == Last::Tanh { field::Activation::Tanh } else { field::Activation::Identity };
        layers.push(field::Layer { width: columns * self.hidden, activation: last });
        Ok(field::Network::from_layers(self.hidden, columns, layers)?)
    }

    /// How many rows the control of a window has.
    pub fn rows(&self) -> usize {
        match self.kind {
            NeuralKind::Ncde => self.steps * self.grid() + 1,
            NeuralKind::Nrde { .. } | NeuralKind::LogNcde { .. } => 1,
        }
    }

    /// The rows of the control of a window from the numbers that describe it, appended to `out`.
    pub fn control(&self, numbers: &[f32], out: &mut Vec<f32>) {
        if self.kind != NeuralKind::Ncde {
            out.extend_from_slice(numbers);
            return;
        }
        let (m, x) = numbers.split_at(numbers.len() / 2);
        let last = (self.rows() - 1) as f32;
        for row in 0..self.rows() {
            let u = row as f32 / last;
            let weight = (4.0 - 3.0 * u) * u;
            out.extend(m.iter().zip(x).map(|(&m, &x)| m + weight * (x - m)));
        }
    }

    /// Which of these rows is read by each stage of each step.
    pub fn reads(&self) -> Vec<usize> {
        let (grid, nodes) = (self.grid(), self.solver.nodes());
        let row = |step: usize, node: f64| match self.kind {
            NeuralKind::Ncde => step * grid + (node * grid as f64) as usize,
            NeuralKind::Nrde { .. } | NeuralKind::LogNcde { .. } => 0,
        };
        (0..self.steps).flat_map(|step| nodes.iter().map(move |&node| row(step, node))).collect()
    }

    /// How many rows of the control lie in a step, so that every stage has its own.
    fn grid(&self) -> usize {
        if self.solver == Solver::Rk4 { 2 } else { 1 }
    }
}

/// The models whose vector field is a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NeuralKind {
    /// `dh = f(h) dX`: one vector field for each channel, along a path.
    Ncde,
    /// `dh/du = g(h) log S^N(X)` in each window: one vector field for each coordinate of the log-signature, all outputs of one network.
    Nrde {
        /// `N`.
        depth: usize,
    },
    /// The Log-ODE method: one vector field for each channel, and their Lie brackets for the other coordinates of the log-signature.
    LogNcde {
        /// `N`.
        depth: usize,
    },
}

impl NeuralKind {
    /// The name that people use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ncde => "ncde",
            Self::Nrde { .. } => "nrde",
            Self::LogNcde { .. } => "log-ncde",
        }
    }

    /// The depth of the log-signatures that drive it.
    pub fn depth(self) -> usize {
        match self {
            Self::Ncde => 1,
            Self::Nrde { depth } | Self::LogNcde { depth } => depth,
        }
    }
}

/// [`Activation`] by name, for serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Activation", rename_all = "kebab-case")]
pub enum ActivationName {
    /// `z / (1 + e^-z)`.
    Silu,
    /// `max(z, 0)`.
    Relu,
    /// `tanh z`.
    Tanh,
    /// `ln(1 + e^z)`.
    Softplus,
}

/// [`Last`] by name, for serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Last", rename_all = "kebab-case")]
pub enum LastName {
    /// tanh.
    Tanh,
    /// Nothing.
    Linear,
}

/// [`Solver`] by name, for serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Solver", rename_all = "kebab-case")]
pub enum SolverName {
    /// Euler's method.
    Euler,
    /// Heun's method.
    Heun,
    /// The classical method of order 4.
    Rk4,
}
