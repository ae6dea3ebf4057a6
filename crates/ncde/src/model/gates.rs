//! What drives the state, omega, and what is added to it, xi: functions of the path.
//!
//! ```text
//! h_t = h_{t_0} + ∫ A h_s domega^X_s + ∫ B dxi^X_s
//! ```
//!
//! Thesis, sections "Related Approaches", "SSMs are Linear NCDEs" and "Expressivity of SSMs".

use std::sync::Arc;

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use serde::{Deserialize, Serialize};

use super::Error;
use super::presets::{MambaGates, PathGates, PathKind, Preset, TokenGates};
use crate::random::Stream;

/// Observations of a batch of series.
#[derive(Debug, Clone)]
pub struct Observations<B: Backend> {
    /// `X`: `[batch, length, channels]`.
    pub values: Tensor<B, 3>,
    /// When they were made.
    pub times: Times<B>,
    /// The number of observations of each series; all of them without it.
    pub lengths: Option<Arc<[usize]>>,
}

/// When observations were made.
#[derive(Debug, Clone)]
pub enum Times<B: Backend> {
    /// All steps take this long.
    Regular(f64),
    /// `t_{j+1} - t_j`: `[batch, length - 1]`.
    Steps(Tensor<B, 2>),
}

/// What drives a model.
#[derive(Debug, Clone)]
pub struct Drive<B: Backend> {
    /// `X_{t_0}`: `[batch, channels]`.
    pub first: Tensor<B, 2>,
    /// The increments of omega: `[batch, steps, d_omega]`.
    pub omega: Tensor<B, 3>,
    /// The increments of xi: `[batch, steps, d_xi]`.
    pub xi: Option<Tensor<B, 3>>,
    /// The number of steps of each series; all of them without it.
    pub lengths: Option<Arc<[usize]>>,
}

/// Functions omega and xi of the path.
pub trait Gates<B: Backend> {
    /// `d_omega` and `d_xi` (0 without xi), for paths with this many channels.
    fn channels(&self, channels: usize) -> [usize; 2];

    /// The increments of omega and xi.
    ///
    /// # Errors
    /// If there are too few observations, or shapes do not fit.
    fn drive(&self, observations: Observations<B>) -> Result<Drive<B>, Error>;
}

/// Whether time is a channel of omega.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeChannel {
    /// It is the first one.
    #[default]
    Present,
    /// It is not.
    Absent,
}

/// What the first token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum First {
    /// It drives the first step, as every token drives its own: as many steps as tokens.
    #[default]
    Drives,
    /// It sets the initial state alone: steps start at the second token.
    Starts,
}

/// The presets by name.
///
/// A gate turns observations into the increments of omega and xi over each step `[t_j, t_{j+1}]`, `dt = t_{j+1} - t_j`:
///
/// | preset | `domega` | `dxi` |
/// | --- | --- | --- |
/// | `Values` | `dt X_j`, or `dt (1, X_j)` | |
/// | `Increments` | `X_{j+1} - X_j`, or `(dt, X_{j+1} - X_j)` | |
/// | `Tokens` | `scale (1, X_j)` | |
/// | `TimeSquared` | `(dt, t_{j+1}^2 - t_j^2, X_{j+1} - X_j)`, `t_0 = 0` | |
/// | `S4` | `dt` for every channel | `dt X_j` |
/// | `Mamba` | `dt softplus(alpha^k . X_j + beta^k)` for channel `k` | `dt softplus(...) X^k_j X_j` for channel `k`, one after the other |
/// | `Ids4` | `dt X_j` | `dt X_j` |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum GatesConfig {
    /// The path is the speed of omega.
    Values {
        /// Whether time is a channel.
        #[serde(default)]
        time: TimeChannel,
    },
    /// The path is omega.
    Increments {
        /// Whether time is a channel.
        #[serde(default)]
        time: TimeChannel,
    },
    /// Tokens of a sequence model: the state after step `t` includes token `t`.
    Tokens {
        /// The length of a step; 1/40 in the thesis's experiments on formal languages.
        scale: f64,
        /// What the first token is for.
        #[serde(default)]
        first: First,
    },
    /// The path with time and its square, which the thesis's result on all intervals at once asks for.
    TimeSquared,
    /// S4: a state for each channel, each with its own clock.
    S4,
    /// Mamba: as S4, with a learned speed that depends on the input.
    Mamba,
    /// IDS4: the input drives and is added.
    Ids4,
}

impl GatesConfig {
    /// The gates for paths with `channels` channels, learned ones drawn from `stream`.
    pub fn init<B: Backend>(&self, channels: usize, device: &B::Device, stream: &Stream) -> Preset<B> {
        match *self {
            Self::Values { time } => Preset::Path(PathGates { kind: PathKind::Values(time) }),
            Self::Increments { time } => Preset::Path(PathGates { kind: PathKind::Increments(time) }),
            Self::TimeSquared => Preset::Path(PathGates { kind: PathKind::TimeSquared }),
            Self::S4 => Preset::Path(PathGates { kind: PathKind::S4 }),
            Self::Ids4 => Preset::Path(PathGates { kind: PathKind::Ids4 }),
            Self::Tokens { scale, first } => Preset::Tokens(TokenGates { scale, first }),
            Self::Mamba => Preset::Mamba(MambaGates::new(channels, device, stream)),
        }
    }
}
