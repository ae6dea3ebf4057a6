//! The `SLiCE` block: a recurrence over tokens and a layer that mixes its states, each with a skip connection.
//!
//! ```text
//! y = SLiCE(x) + x,   z = y + act(W y + c),   out = dropout(norm(z)),   act = tanh or GLU
//! ```
//!
//! The recurrence is driven by `scale (1, x_t)`, so its state after step `t` includes token `t`; it has as many states as
//! tokens have channels. Thesis, "Implementation Details" of Structured Linear NCDEs.

use std::sync::Arc;

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use burn::tensor::backend::Backend;
use ncde_kernels::{Mode, Transition};
use serde::{Deserialize, Serialize};

use super::dropout::{Phase, dropout};
use super::gates::{First, Gates, Observations, Times};
use super::linear_config::{Initial, LinearNcdeConfig, ModeName};
use super::linear_ncde::LinearNcde;
use super::parameters::linear;
use super::presets::TokenGates;
use super::structure::Init;
use super::{Error, ModelBackend};
use crate::random::Stream;
use ncde_runtime::{StructureConfig, TransitionName};

/// The non-linearity of the mixing layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `tanh(W y + c)`.
    #[default]
    Tanh,
    /// `u sigmoid(v)`, `(u, v) = W y + c`.
    Glu,
}

/// The settings of a [`Block`].
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `dim` | | channels of a token, and states |
/// | `structure` | blocks of 4 | of `A` |
/// | `init` | scaled, 1 | of `A` |
/// | `transition` | exp | exp, or euler as in the thesis's experiments |
/// | `mode` | auto | order of computation |
/// | `scale` | 1/40 | length of a step |
/// | `first` | starts | whether the first token drives a step or sets the initial state alone |
/// | `activation` | tanh | of the mixing layer |
/// | `dropout` | 0 | probability, below 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table above")]
pub struct BlockConfig {
    pub dim: usize,
    pub structure: StructureConfig,
    pub init: Init,
    #[serde(with = "TransitionName")]
    pub transition: Transition,
    #[serde(with = "ModeName")]
    pub mode: Mode,
    pub scale: f64,
    pub first: First,
    pub activation: Activation,
    pub dropout: f64,
}

impl BlockConfig {
    /// A block on tokens of `dim` channels.
    pub fn new(dim: usize) -> Self {
        Self {
            dim,
            structure: StructureConfig::Block { block: 4 },
            init: Init::Scaled { std: 1.0 },
            transition: Transition::Exp,
            mode: Mode::Auto,
            scale: 1.0 / 40.0,
            first: First::Starts,
            activation: Activation::Tanh,
            dropout: 0.0,
        }
    }

    /// Another structure.
    #[must_use]
    pub fn with_structure(self, structure: StructureConfig) -> Self {
        Self { structure, ..self }
    }

    /// Another distribution of the parameters.
    #[must_use]
    pub fn with_init(self, init: Init) -> Self {
        Self { init, ..self }
    }

    /// Another transition.
    #[must_use]
    pub fn with_transition(self, transition: Transition) -> Self {
        Self { transition, ..self }
    }

    /// Another length of a step.
    #[must_use]
    pub fn with_scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// Another part for the first token.
    #[must_use]
    pub fn with_first(self, first: First) -> Self {
        Self { first, ..self }
    }

    /// Another non-linearity.
    #[must_use]
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Another probability of dropping a number.
    #[must_use]
    pub fn with_dropout(self, dropout: f64) -> Self {
        Self { dropout, ..self }
    }

    /// The block, drawn from `stream`.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn init<B: Backend>(&self, device: &B::Device, stream: &Stream) -> Result<Block<B>, Error> {
        if !(0.0..1.0).contains(&self.dropout) {
            let problem = format!("{} is no probability below 1", self.dropout);
            return Err(Error::Setting { setting: "dropout", problem });
        }
        let initial = match self.first {
            First::Starts => Initial::FromFirst { channels: self.dim },
            First::Drives => Initial::Learned,
        };
        let recurrence = LinearNcdeConfig::new(self.dim, self.dim + 1)
            .with_structure(self.structure.clone())
            .with_init(self.init)
            .with_initial(initial)
            .with_transition(self.transition)
            .with_mode(self.mode)
            .init_from(device, &stream.child(0))?;
        let width = match self.activation {
            Activation::Tanh => self.dim,
            Activation::Glu => 2 * self.dim,
        };
        Ok(Block {
            recurrence,
            mix: linear(&stream.child(1), [self.dim, width], device),
            norm: LayerNormConfig::new(self.dim).init(device),
            config: self.clone(),
        })
    }
}

/// A `SLiCE` block.
#[derive(Module, Debug)]
pub struct Block<B: Backend> {
    /// The recurrence.
    pub recurrence: LinearNcde<B>,
    /// The mixing layer.
    pub mix: Linear<B>,
    /// The normalisation at the end.
    pub norm: LayerNorm<B>,
    #[module(skip)]
    config: BlockConfig,
}

impl<B: ModelBackend> Block<B> {
    /// The settings it was made with.
    pub fn config(&self) -> &BlockConfig {
        &self.config
    }

    /// One pass.
    ///
    /// # Shapes
    /// `[batch, length, dim]` to the same. What lies past the length of a series has no meaning.
    ///
    /// # Errors
    /// If shapes do not fit, a number is not finite, or a state overflows.
    pub fn forward(&self, x: Tensor<B, 3>, lengths: Option<&Arc<[usize]>>, phase: Phase) -> Result<Tensor<B, 3>, Error> {
        let y = self.states(x.clone(), lengths)? + x;
        let mixed = self.mix.forward(y.clone());
        let mixed = match self.config.activation {
            Activation::Tanh => mixed.tanh(),
            Activation::Glu => {
                let dim = self.config.dim;
                mixed.clone().narrow(2, 0, dim) * sigmoid(mixed.narrow(2, dim, dim))
            }
        };
        Ok(dropout(self.norm.forward(y + mixed), self.config.dropout, phase))
    }

    /// The states of the recurrence, one a token.
    ///
    /// # Shapes
    /// `[batch, length, dim]` to the same.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn states(&self, x: Tensor<B, 3>, lengths: Option<&Arc<[usize]>>) -> Result<Tensor<B, 3>, Error> {
        let BlockConfig { scale, first, .. } = self.config;
        if first == First::Starts && x.dims()[1] == 1 {
            return self.recurrence.initial(&x.squeeze_dim(1));
        }
        let gates = TokenGates { scale, first };
        let drive = gates.drive(Observations { values: x, times: Times::Regular(scale), lengths: lengths.cloned() })?;
        match first {
            First::Drives => self.recurrence.forward(&drive),
            First::Starts => self.recurrence.forward_with_start(&drive),
        }
    }
}
