//! Fully connected networks as vector fields: `f(h) = s_m(s_{m-1}(... s_1(h W_1 + b_1) ...) W_m + b_m)`, read as `[d, H]`.
//!
//! Parameters lie flat, `[W_1, b_1, W_2, b_2, ..., W_m, b_m]`, each `W` as `[in, out]` row by row: what a Burn `Linear` holds.
//! One evaluation costs one multiplication a weight; one channel alone needs only its block of the last layer.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::activation::activate;
use super::{Activation, VectorField};
use crate::Error;
use crate::error::check;
use crate::scalar::{Real, Scalar, Trace};

/// A layer: its width and what is done to its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The number of outputs.
    pub width: usize,
    /// What is applied to each of them.
    pub activation: Activation,
}

/// The shape of a network from `R^H` to `R^(d x H)`; the weights are given with each call.
///
/// ```
/// use ncde_solve::field::{Activation, Network, VectorField};
/// // Two states, three channels, one hidden layer of four.
/// let network = Network::new(2, 3, 4, 1, Activation::Silu, Activation::Tanh)?;
/// assert_eq!(network.parameters(), (2 * 4 + 4) + (4 * 6 + 6));
/// let weights = vec![0.1; network.parameters()];
/// let mut out = [0.0; 6];
/// network.eval(&weights, &[1.0, 2.0], &mut out);
/// let inner: f64 = 0.4 / (1.0 + (-0.4_f64).exp()); // SiLU of 0.1 + 0.1 * 1 + 0.1 * 2
/// assert!((out[5] - (0.1 + 0.4 * inner).tanh()).abs() < 1e-15);
/// # Ok::<(), ncde_solve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Network {
    hidden: usize,
    channels: usize,
    layers: Vec<Layer>,
}

/// What a file says a network is.
#[derive(Deserialize)]
struct Unchecked {
    hidden: usize,
    channels: usize,
    layers: Vec<Layer>,
}

impl TryFrom<Unchecked> for Network {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self, Error> {
        Self::from_layers(read.hidden, read.channels, read.layers)
    }
}

impl Network {
    /// `depth` hidden layers of one width, then a layer onto `[channels, hidden]`.
    ///
    /// # Errors
    /// If a size is 0. A `depth` of 0 is a single layer.
    pub fn new(
        hidden: usize,
        channels: usize,
        width: usize,
        depth: usize,
        activation: Activation,
        last: Activation,
    ) -> Result<Self, Error> {
        let mut layers = vec![Layer { width, activation }; depth];
        layers.push(Layer { width: hidden * channels, activation: last });
        Self::from_layers(hidden, channels, layers)
    }

    /// Another activation of the last hidden layer, the one that the last layer reads. Without hidden layers nothing changes.
    #[must_use]
    pub fn with_before_last(mut self, activation: Activation) -> Self {
        if let [.., before, _] = &mut self.layers[..] {
            before.activation = activation;
        }
        self
    }

    /// Any layers, of which the last has `channels * hidden` outputs.
    ///
    /// # Errors
    /// If a size is 0, there is no layer, or the last one has another width.
    pub fn from_layers(hidden: usize, channels: usize, layers: Vec<Layer>) -> Result<Self, Error> {
        let sizes = [hidden, channels].into_iter().chain(layers.iter().map(|layer| layer.width));
        if layers.is_empty() || sizes.clone().any(|size| size == 0) {
            let seen = format!("{:?}", sizes.collect::<Vec<_>>());
            return Err(Error::BadParameter {
                what: "every size of a network (states, channels, widths)",
                wanted: "1 or more",
                seen,
            });
        }
        check(
            "network",
            "the last layer (one output for each channel and state)",
            layers[layers.len() - 1].width,
            channels * hidden,
        )?;
        Ok(Self { hidden, channels, layers })
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The number of inputs of each layer.
    pub fn fan_in(&self, layer: usize) -> usize {
        if layer == 0 { self.hidden } else { self.layers[layer - 1].width }
    }

    /// Where the weights, `[in, out]`, and the biases, `[out]`, of a layer lie.
    pub fn parameter_ranges(&self, layer: usize) -> (Range<usize>, Range<usize>) {
        let start: usize = (0..layer).map(|l| (self.fan_in(l) + 1) * self.layers[l].width).sum();
        let weights = self.fan_in(layer) * self.layers[layer].width;
        (start..start + weights, start + weights..start + weights + self.layers[layer].width)
    }

    /// Weights and biases, uniform in `+-1 / sqrt(in)`. `random` gives numbers uniform in `[0, 1)`.
    pub fn init<T: Real>(&self, mut random: impl FnMut() -> f64) -> Vec<T> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for (l, layer) in self.layers.iter().enumerate() {
            let bound = 1.0 / (self.fan_in(l) as f64).sqrt();
            parameters.extend((0..(self.fan_in(l) + 1) * layer.width).map(|_| T::from_f64(bound * (2.0 * random() - 1.0))));
        }
        parameters
    }

    /// The outputs of all layers but the last.
    fn trunk<N: Scalar>(&self, parameters: &[N], h: &[N]) -> Vec<N> {
        let mut x = h.to_vec();
        for layer in 0..self.layers.len() - 1 {
            let mut y = vec![N::zero(); self.layers[layer].width];
            self.layer(layer, 0, parameters, &x, &mut y);
            x = y;
        }
        x
    }

    /// Some outputs of one layer, from `first` on.
    fn layer<N: Scalar>(&self, layer: usize, first: usize, parameters: &[N], x: &[N], out: &mut [N]) {
        let Layer { width, activation } = self.layers[layer];
        let (weights, biases) = self.parameter_ranges(layer);
        let (weights, biases) = (&parameters[weights], &parameters[biases]);
        match N::TRACE {
            Trace::Record => {
                for (o, out) in (first..).zip(out.iter_mut()) {
                    *out = biases[o].accumulate(x.len(), |i| (weights[i * width + o], x[i]));
                }
            }
            // Row by row, as the weights lie.
            Trace::None => {
                let count = out.len();
                out.copy_from_slice(&biases[first..first + count]);
                for (&x, row) in x.iter().zip(weights.chunks_exact(width)) {
                    for (out, &w) in out.iter_mut().zip(&row[first..first + count]) {
                        *out += w * x;
                    }
                }
            }
        }
        for out in out {
            *out = activate(activation, *out);
        }
    }
}

impl VectorField for Network {
    fn channels(&self) -> usize {
        self.channels
    }

    fn hidden(&self) -> usize {
        self.hidden
    }

    fn parameters(&self) -> usize {
        self.parameter_ranges(self.layers.len() - 1).1.end
    }

    fn eval<N: Scalar>(&self, parameters: &[N], h: &[N], out: &mut [N]) {
        let x = self.trunk(parameters, h);
        self.layer(self.layers.len() - 1, 0, parameters, &x, out);
    }

    fn eval_channel<N: Scalar>(&self, j: usize, parameters: &[N], h: &[N], out: &mut [N]) {
        let x = self.trunk(parameters, h);
        self.layer(self.layers.len() - 1, j * self.hidden, parameters, &x, out);
    }
}
