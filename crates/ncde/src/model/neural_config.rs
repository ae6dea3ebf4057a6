//! The settings of an NCDE, an NRDE and a Log-NCDE, and how their weights are drawn.
//!
//! ```text
//! W_l, b_l ~ U(±1 / sqrt(inputs)),  those of the field divided by a constant;   h_{t_0} = L (X_{t_0}, statics) + c
//! ```

use std::sync::Arc;

use burn::tensor::backend::Backend;
use ncde_runtime::{ActivationName, LastName, NeuralKind, SolverName};
use ncde_signature::{Basis, Signature};
use ncde_solve::brackets::MOST_DEPTH;
use serde::{Deserialize, Serialize};

use super::Error;
use super::neural_cde::{NeuralCde, Parts};
use super::neural_steps::StepRule;
use super::parameters::{linear, parameter, uniform};
use crate::neural::{Activation, Last, Network, Solve, Solver};
use crate::random::Stream;

/// The settings of a [`NeuralCde`].
///
/// | setting | default | range |
/// | --- | --- | --- |
/// | `hidden` | given | `H`, at least 1 |
/// | `channels` | given | those of the path, time included, at least 1 |
/// | `statics` | 0 | numbers that a series has once: the initial state reads them after the first observation |
/// | `width`, `layers` | 64, 3 | of the hidden layers of the field; 0 layers: an affine field |
/// | `activation` | `SiLU` for a Log-NCDE, else `ReLU` | brackets need a derivative: no `ReLU` in a Log-NCDE of depth 2 or more |
/// | `before_last` | tanh for an NRDE, else as the others | the activation of the last hidden layer, the one that the last layer reads |
/// | `last` | tanh; nothing for an NRDE | |
/// | `solver` | Heun | Euler, Heun, RK4 |
/// | `steps` | 500, shared out | see [`StepRule`] |
/// | `divisor` | 1000 for a Log-NCDE, else 1 | what the field's weights are divided by when they are drawn |
///
/// The defaults are the thesis's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table above")]
pub struct NeuralCdeConfig {
    pub kind: NeuralKind,
    pub hidden: usize,
    pub channels: usize,
    #[serde(default)]
    pub statics: usize,
    pub width: usize,
    pub layers: usize,
    #[serde(with = "ActivationName")]
    pub activation: Activation,
    #[serde(default, with = "optional_activation")]
    pub before_last: Option<Activation>,
    #[serde(with = "LastName")]
    pub last: Last,
    #[serde(with = "SolverName")]
    pub solver: Solver,
    pub steps: StepRule,
    pub divisor: f64,
}

/// An activation that may be missing: the derive for another crate's type does not reach into an `Option`.
mod optional_activation {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Activation, ActivationName};

    #[derive(Serialize, Deserialize)]
    struct Named(#[serde(with = "ActivationName")] Activation);

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(own: &Option<Activation>, serializer: S) -> Result<S::Ok, S::Error> {
        own.map(Named).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Activation>, D::Error> {
        Ok(Option::<Named>::deserialize(deserializer)?.map(|Named(own)| own))
    }
}

impl NeuralCdeConfig {
    /// `hidden` states, driven by a path with `channels` channels.
    ///
    /// ```
    /// use ncde::model::{NeuralCdeConfig, NeuralKind};
    /// // Three channels have three areas between them.
    /// assert_eq!(NeuralCdeConfig::new(NeuralKind::LogNcde { depth: 2 }, 16, 3).coordinates()?, 6);
    /// # Ok::<(), ncde::model::Error>(())
    /// ```
    pub fn new(kind: NeuralKind, hidden: usize, channels: usize) -> Self {
        let (activation, last, divisor) = match kind {
            NeuralKind::Ncde => (Activation::Relu, Last::Tanh, 1.0),
            NeuralKind::Nrde { .. } => (Activation::Relu, Last::Linear, 1.0),
            NeuralKind::LogNcde { .. } => (Activation::Silu, Last::Tanh, 1000.0),
        };
        Self {
            kind,
            hidden,
            channels,
            statics: 0,
            width: 64,
            layers: 3,
            activation,
            before_last: matches!(kind, NeuralKind::Nrde { .. }).then_some(Activation::Tanh),
            last,
            solver: Solver::Heun,
            steps: StepRule::Shared(500),
            divisor,
        }
    }

    /// So many numbers that a series has once.
    #[must_use]
    pub fn with_statics(self, statics: usize) -> Self {
        Self { statics, ..self }
    }

    /// Other hidden layers.
    #[must_use]
    pub fn with_layers(self, width: usize, layers: usize) -> Self {
        Self { width, layers, ..self }
    }

    /// Another activation of the hidden layers.
    #[must_use]
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Another activation of the last hidden layer alone, or with `None` that of the others.
    #[must_use]
    pub fn with_before_last(self, before_last: Option<Activation>) -> Self {
        Self { before_last, ..self }
    }

    /// Something else after the last layer.
    #[must_use]
    pub fn with_last(self, last: Last) -> Self {
        Self { last, ..self }
    }

    /// Another method.
    #[must_use]
    pub fn with_solver(self, solver: Solver) -> Self {
        Self { solver, ..self }
    }

    /// Other steps.
    #[must_use]
    pub fn with_steps(self, steps: StepRule) -> Self {
        Self { steps, ..self }
    }

    /// Another divisor of the field's first weights.
    #[must_use]
    pub fn with_divisor(self, divisor: f64) -> Self {
        Self { divisor, ..self }
    }

    /// The depth of the log-signatures that drive the model.
    pub fn depth(&self) -> usize {
        self.kind.depth()
    }

    /// The log-signature of a window, in brackets of Lyndon words.
    ///
    /// # Errors
    /// If there is none of that depth.
    pub fn log_signature(&self) -> Result<Signature, Error> {
        Ok(Signature::log(self.channels, self.depth(), Basis::Lyndon)?)
    }

    /// How many numbers a row of the control has: the coordinates of a log-signature.
    ///
    /// # Errors
    /// As for [`log_signature`](Self::log_signature).
    pub fn coordinates(&self) -> Result<usize, Error> {
        Ok(self.log_signature()?.len())
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |setting, problem: String| Err(Error::Setting { setting, problem });
        let kinks = self.activation == Activation::Relu || self.before_last == Some(Activation::Relu);
        match self.kind {
            NeuralKind::LogNcde { depth } if !(1..=MOST_DEPTH).contains(&depth) => refuse(
                "depth",
                format!(
                    "`{depth}`; a Log-NCDE has brackets of depth 1 to {MOST_DEPTH}, an NRDE or a linear model takes any depth"
                ),
            ),
            NeuralKind::LogNcde { depth: 2.. } if kinks => refuse(
                "activation",
                "`relu` has no derivative at 0, and brackets are made of derivatives; use `silu`, `tanh` or `softplus`".into(),
            ),
            _ if !(self.divisor > 0.0 && self.divisor.is_finite()) => {
                refuse("divisor", format!("`{}`; give a positive number, 1 to leave the weights as they are drawn", self.divisor))
            }
            _ => self.steps.check(),
        }
    }

    /// The solve that these settings describe.
    ///
    /// # Errors
    /// If the settings make no sense together.
    pub fn solve(&self) -> Result<Solve, Error> {
        self.check()?;
        let (columns, depth) = match self.kind {
            NeuralKind::Ncde => (self.channels, 1),
            NeuralKind::LogNcde { depth } => (self.channels, depth),
            NeuralKind::Nrde { .. } => (self.coordinates()?, 1),
        };
        let network = Network::new(self.hidden, columns, &vec![self.width; self.layers])?;
        let network = network.with_activation(self.activation).with_last(self.last);
        let network = self.before_last.into_iter().fold(network, Network::with_before_last);
        Ok(Solve::new(network).with_solver(self.solver).with_depth(depth)?)
    }

    /// The model with weights drawn from `seed`.
    ///
    /// # Errors
    /// If the settings make no sense together.
    pub fn init<B: Backend>(&self, device: &B::Device, seed: u64) -> Result<NeuralCde<B>, Error> {
        self.init_from(device, &Stream::new(seed, 0))
    }

    /// As [`init`](Self::init), as part of a larger model.
    ///
    /// # Errors
    /// As for [`init`](Self::init).
    pub fn init_from<B: Backend>(&self, device: &B::Device, stream: &Stream) -> Result<NeuralCde<B>, Error> {
        let solve = self.solve()?;
        let network = solve.network();
        let mut values = Vec::with_capacity(network.parameters());
        for l in 0..network.layers() {
            let (layer, stream) = (network.layer(l), stream.child(l as u64 + 1));
            let bound = 1.0 / (layer.inputs as f64).sqrt() / self.divisor;
            values.extend(uniform(&stream.child(0), layer.weight.len(), bound));
            values.extend(uniform(&stream.child(1), layer.bias.len(), bound));
        }
        Ok(NeuralCde {
            field: parameter(values, [network.parameters()], device),
            first: linear(&stream.child(0), [self.channels + self.statics, self.hidden], device),
            parts: Arc::new(Parts { config: self.clone(), solve: Arc::new(solve) }),
        })
    }
}
