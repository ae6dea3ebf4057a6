//! Fully connected vector fields: `f_theta : R^H -> R^{d x H}`.
//!
//! ```text
//! x_0 = h,   x_l = s_l(x_{l-1} W_l + b_l),   f(h) = tau(x_{L-1} W_L + b_L),   f_i = f[i H .. (i + 1) H]
//! ```
//!
//! `s_l` is the activation of the hidden layers, of which the last may have one of its own; `tau` is tanh or nothing. Parameters are one
//! flat array: for each layer its weight, `[inputs, outputs]` row by row, then its bias.

use std::ops::Range;

use crate::Error;

/// A function of one number, applied to each output of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `z / (1 + e^-z)`.
    #[default]
    Silu,
    /// `max(z, 0)`; its derivative at 0 is taken as 0, and its kink leaves brackets without meaning where it is crossed.
    Relu,
    /// `tanh z`.
    Tanh,
    /// `ln(1 + e^z)`.
    Softplus,
    /// `ln(1 + e^z) - ln 2`, which is 0 at 0.
    ShiftedSoftplus,
    /// `z`.
    Identity,
}

/// The function after the last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Last {
    /// tanh, which bounds the field.
    #[default]
    Tanh,
    /// Nothing.
    Linear,
}

/// A vector field for each of `d` channels, all outputs of one network.
///
/// ```
/// use ncde_kernels::neural::Network;
/// // From 4 states through two hidden layers of 8 to 3 channels of 4 states.
/// let network = Network::new(4, 3, &[8, 8])?;
/// assert_eq!(network.parameters(), (4 * 8 + 8) + (8 * 8 + 8) + (8 * 12 + 12));
/// assert_eq!(network.layer(1).bias, 104..112);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    hidden: usize,
    channels: usize,
    widths: Vec<usize>,
    activation: Activation,
    before_last: Option<Activation>,
    last: Last,
}

/// One layer: its sizes and where its parameters lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// How many numbers go in.
    pub inputs: usize,
    /// How many come out.
    pub outputs: usize,
    /// The weight, `[inputs, outputs]` row by row.
    pub weight: Range<usize>,
    /// The bias.
    pub bias: Range<usize>,
}

impl Network {
    /// `SiLU` between the layers, tanh at the end. Without hidden layers the field is affine, but for that tanh.
    ///
    /// # Errors
    /// If a size is 0, or the parameters are more than can be counted.
    pub fn new(hidden: usize, channels: usize, widths: &[usize]) -> Result<Self, Error> {
        let structure = "the neural field";
        for (what, size) in [("states", hidden), ("channels", channels)] {
            if size == 0 {
                return Err(Error::Structure { structure, problem: format!("it has 0 {what}; at least 1 is needed") });
            }
        }
        if let Some(l) = widths.iter().position(|&width| width == 0) {
            let problem = format!("hidden layer {l} has width 0; leave it out, or give it at least 1");
            return Err(Error::Structure { structure, problem });
        }
        let outputs = channels.checked_mul(hidden);
        let sizes = std::iter::once(Some(hidden)).chain(widths.iter().map(|&w| Some(w)));
        let all = sizes.zip(widths.iter().map(|&w| Some(w)).chain([outputs])).try_fold(0_usize, |all, (inputs, outputs)| {
            let (inputs, outputs) = (inputs?, outputs?);
            all.checked_add(inputs.checked_add(1)?.checked_mul(outputs)?)
        });
        // A batch of states, padded to registers, must be countable too.
        if all.is_none_or(|all| all > usize::MAX >> 16) {
            let problem = format!("{hidden} states, {channels} channels and layers {widths:?} are too many parameters");
            return Err(Error::Structure { structure, problem });
        }
        let (activation, last) = (Activation::default(), Last::default());
        Ok(Self { hidden, channels, widths: widths.to_vec(), activation, before_last: None, last })
    }

    /// Selects the activation of the hidden layers.
    #[must_use]
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Selects another activation for the last hidden layer. A tanh there bounds the input of a linear last layer.
    ///
    /// ```
    /// use ncde_kernels::neural::{Activation, Network};
    /// let network = Network::new(4, 3, &[8, 8])?.with_activation(Activation::Relu).with_before_last(Activation::Tanh);
    /// assert_eq!([0, 1].map(|l| network.activation_of(l)), [Activation::Relu, Activation::Tanh]);
    /// # Ok::<(), ncde_kernels::Error>(())
    /// ```
    #[must_use]
    pub fn with_before_last(self, activation: Activation) -> Self {
        Self { before_last: Some(activation), ..self }
    }

    /// Selects the function after the last layer.
    #[must_use]
    pub fn with_last(self, last: Last) -> Self {
        Self { last, ..self }
    }

    /// The number of states `H`.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// The number of channels `d`.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The widths of the hidden layers.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The activation of hidden layers, except a last one with another activation.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The activation of hidden layer `l`, counted from 0.
    pub fn activation_of(&self, l: usize) -> Activation {
        match self.before_last {
            Some(activation) if l + 1 == self.widths.len() => activation,
            _ => self.activation,
        }
    }

    /// The function after the last layer.
    pub fn last(&self) -> Last {
        self.last
    }

    /// The number of layers, the last one included.
    pub fn layers(&self) -> usize {
        self.widths.len() + 1
    }

    /// Layer `l`, counted from 0.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn layer(&self, l: usize) -> Layer {
        let start = (0..l).map(|l| (self.inputs(l) + 1) * self.outputs(l)).sum::<usize>();
        let (inputs, outputs) = (self.inputs(l), self.outputs(l));
        let middle = start + inputs * outputs;
        Layer { inputs, outputs, weight: start..middle, bias: middle..middle + outputs }
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        self.layer(self.widths.len()).bias.end
    }

    fn inputs(&self, l: usize) -> usize {
        if l == 0 { self.hidden } else { self.widths[l - 1] }
    }

    fn outputs(&self, l: usize) -> usize {
        if l == self.widths.len() { self.channels * self.hidden } else { self.widths[l] }
    }
}
