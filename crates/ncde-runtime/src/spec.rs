//! What a saved model is: everything but its weights. `model.json` holds it.

use ncde_kernels::Transition;
use serde::{Deserialize, Serialize};

use crate::neural_spec::NeuralSpec;
use crate::prepare::{Preparation, Scaling};
use crate::structure::StructureConfig;

/// The format that this version writes, and the latest it reads.
pub const FORMAT: u32 = 1;

/// A model without its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of ncde that wrote it.
    pub ncde: String,
    /// The file of weights.
    pub weights: WeightsSpec,
    /// The names of the channels of an observation, in order.
    pub channels: Vec<String>,
    /// The names of the static covariates, in order.
    pub statics: Vec<String>,
    /// What is predicted.
    pub task: Task,
    /// How observations become knots of a path.
    pub preparation: Preparation,
    /// What is computed from that path.
    pub model: Architecture,
}

/// The file of weights, as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsSpec {
    /// Its size.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc32: u32,
}

/// Where a prediction is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Of a series as a whole.
    End,
    /// At each observation.
    Steps,
}

/// What is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Task {
    /// One of some classes.
    Classification {
        /// Their names.
        classes: Vec<String>,
        /// Where.
        at: At,
    },
    /// A number.
    Regression {
        /// Its name.
        target: String,
        /// Where.
        at: At,
        /// What training saw instead of it.
        scaling: Scaling,
    },
    /// The values of all channels some observations later.
    Forecast {
        /// How many.
        horizon: usize,
    },
}

impl Task {
    /// How many numbers a model puts out, for `channels` channels.
    pub fn outputs(&self, channels: usize) -> usize {
        match self {
            Self::Classification { classes, .. } => classes.len(),
            Self::Regression { .. } => 1,
            Self::Forecast { .. } => channels,
        }
    }

    /// Where predictions are asked for.
    pub fn at(&self) -> At {
        match self {
            Self::Classification { at, .. } | Self::Regression { at, .. } => *at,
            Self::Forecast { .. } => At::Steps,
        }
    }
}

/// The models, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Architecture {
    /// A structured Linear NCDE over Log-ODE windows.
    Slice(SliceSpec),
    /// An NCDE, an NRDE or a Log-NCDE.
    Neural(NeuralSpec),
    /// A linear model of the signature of the whole path.
    Signature(SignatureSpec),
}

impl Architecture {
    /// The name that people use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Slice(_) => "slice",
            Self::Neural(neural) => neural.kind.name(),
            Self::Signature(_) => "signature",
        }
    }

    /// How many observations make up a window.
    pub fn window(&self) -> usize {
        match self {
            Self::Slice(slice) => slice.window,
            Self::Neural(neural) => neural.window,
            Self::Signature(_) => 1,
        }
    }

    /// What reads the states, of a model that has some.
    pub fn read(&self) -> Option<&ReadSpec> {
        match self {
            Self::Slice(slice) => Some(&slice.read),
            Self::Neural(neural) => Some(&neural.read),
            Self::Signature(_) => None,
        }
    }
}

/// What reads the states of a model.
///
/// ```text
/// y = W g(h_n, u_n) + b,  or  W mean_k g(h_k, u_k) + b,   g the hidden layers of the head, if it has any,   u_k = (s * lambda_k, knot_k)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSpec {
    /// Which states are read.
    pub over: Over,
    /// What reads them.
    pub head: Head,
    /// How the head sees a state.
    pub norm: Norm,
    /// What the head sees beside a state.
    pub skip: Skip,
}

/// A structured Linear NCDE over Log-ODE windows.
///
/// ```text
/// h_0 = L (knot_0, statics) + c,   h_{k+1} = Phi(lambda_k) h_k,   lambda_k = scale * log S^N over window k
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// `H`.
    pub hidden: usize,
    /// The structure of `A`.
    pub structure: StructureConfig,
    /// The seed of the masks of sparse matrices.
    pub masks: u64,
    /// `N`.
    pub depth: usize,
    /// How many observations make up a window.
    pub window: usize,
    /// What all coordinates of a log-signature are multiplied with.
    pub scale: f64,
    /// What is added to the state.
    pub input: Input,
    /// `exp(Omega)`, or `I + Omega`.
    #[serde(with = "TransitionName")]
    pub transition: Transition,
    /// What reads the states.
    pub read: ReadSpec,
}

/// What is added to the state of a `slice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Nothing.
    None,
    /// `B dX`, with the path that drives it: `dh = sum_i (A^i h + B^i) dX^i`. Windows are log-signatures of the joint path `(X, X)`.
    Path,
}

/// How the head sees a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// As it is.
    None,
    /// With mean 0 and variance 1 over its numbers: `(h - mean h) / sqrt(var h + 1e-5)`. Linear flows may grow without bound on series unlike
    /// those of training; what the head sees then does not.
    Layer,
}

/// What the head sees beside a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Skip {
    /// Nothing.
    None,
    /// The first coordinates of the window's log-signature, scaled by the weight `skip`, then the knot at its end.
    Window {
        /// How many coordinates.
        coordinates: usize,
    },
}

impl Skip {
    /// How many numbers that is, for knots of `width` channels.
    pub fn width(self, width: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Window { coordinates } => coordinates + width,
        }
    }
}

/// A linear model of `(knot_0, statics, S^N)`, each feature scaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureSpec {
    /// `N`.
    pub depth: usize,
}

/// [`Transition`] by name, for serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Transition", rename_all = "kebab-case")]
pub enum TransitionName {
    /// `exp(Omega)`.
    Exp,
    /// `I + Omega`.
    Euler,
}

/// Which states are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The last one of each series.
    Last,
    /// The mean of all: of what the hidden layers of the head make of each, before its last layer.
    Mean,
    /// Every one by itself.
    EveryStep,
}

/// What reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Head {
    /// A linear layer.
    Linear,
    /// Hidden layers of this width with `SiLU`, then a linear layer.
    Network {
        /// The width of hidden layers.
        width: usize,
        /// How many there are.
        layers: usize,
    },
}
