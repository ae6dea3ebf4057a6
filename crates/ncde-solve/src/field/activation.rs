//! Activations `s`: what a layer does to each of its outputs.

use serde::{Deserialize, Serialize};

use crate::scalar::Scalar;

/// A function of one number, applied to each output of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `x`.
    Identity,
    /// `x / (1 + e^(-x))`.
    Silu,
    /// `max(x, 0)`; its kink leaves brackets without meaning where it is crossed.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `ln(1 + e^x) - ln 2`, which is 0 at 0.
    ShiftedSoftplus,
}

impl Activation {
    /// `s(x)`.
    pub fn apply<N: Scalar>(self, x: N) -> N {
        match self {
            Self::Identity => x,
            Self::Silu => x.silu(),
            Self::Relu => x.relu(),
            Self::Tanh => x.tanh(),
            Self::Softplus => x.softplus(),
            Self::ShiftedSoftplus => x.softplus() - N::of(std::f64::consts::LN_2),
        }
    }
}
