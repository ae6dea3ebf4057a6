//! From states to outputs.
//!
//! ```text
//! y = L g(h_{t_n}),   y = L mean_j g(h_{t_j}),   or   y_{t_j} = L g(h_{t_j}) for every j
//! ```
//!
//! The head is linear, `L h + c`, or a small network with `SiLU`, whose hidden layers `g` see every state by itself: a mean
//! of non-linear functions of the states, not a non-linear function of their mean. In a ragged batch the last state and the mean are
//! each series' own. (The thesis's time-series classifiers take the mean over all states for linear models.)

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use ncde_runtime::{Head, Over};
use serde::{Deserialize, Serialize};

use super::Error;
use super::dropout::{Phase, dropout};
use super::parameters::{check_lengths, clear_padding, constant, linear, places};
use crate::random::Stream;

/// The settings of a [`Readout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadoutConfig {
    /// How many numbers come out.
    pub outputs: usize,
    /// Which states are read.
    pub over: Over,
    /// What reads them.
    pub head: Head,
}

impl ReadoutConfig {
    /// A linear layer on the last state.
    pub fn new(outputs: usize) -> Self {
        Self { outputs, over: Over::Last, head: Head::Linear }
    }

    /// Other states.
    #[must_use]
    pub fn with_over(self, over: Over) -> Self {
        Self { over, ..self }
    }

    /// Another head.
    #[must_use]
    pub fn with_head(self, head: Head) -> Self {
        Self { head, ..self }
    }

    /// The readout of states with `inputs` numbers.
    pub fn init<B: Backend>(&self, inputs: usize, device: &B::Device, stream: &Stream) -> Readout<B> {
        let mut sizes = vec![inputs];
        if let Head::Network { width, layers } = self.head {
            sizes.extend(std::iter::repeat_n(width, layers));
        }
        sizes.push(self.outputs);
        let pairs = sizes.windows(2).enumerate();
        let layers = pairs.map(|(i, pair)| linear(&stream.child(i as u64), [pair[0], pair[1]], device)).collect();
        Readout { layers, over: self.over }
    }
}

/// A readout.
#[derive(Module, Debug)]
pub struct Readout<B: Backend> {
    /// The layers of the head.
    pub layers: Vec<Linear<B>>,
    #[module(skip)]
    over: Over,
}

impl<B: Backend> Readout<B> {
    /// The outputs, from states and the number of states of each series.
    ///
    /// # Shapes
    /// `states`: `[batch, steps, H]`, to `[batch, steps, outputs]` for [`Over::EveryStep`], else `[batch, 1, outputs]`.
    ///
    /// # Errors
    /// If a length is 0 or longer than the batch.
    pub fn forward(&self, states: Tensor<B, 3>, lengths: Option<&[usize]>) -> Result<Tensor<B, 3>, Error> {
        self.forward_dropped(states, lengths, 0.0, Phase::Predict)
    }

    /// As [`forward`](Self::forward), where in training a share of what the last layer reads is dropped.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn forward_dropped(
        &self,
        states: Tensor<B, 3>,
        lengths: Option<&[usize]>,
        rate: f64,
        phase: Phase,
    ) -> Result<Tensor<B, 3>, Error> {
        let [batch, steps, _] = states.dims();
        check_lengths("readout", lengths, batch, [1, steps])?;
        let all = vec![steps; batch];
        let lengths = lengths.unwrap_or(&all);
        let read = match self.over {
            Over::EveryStep | Over::Last => self.choose(states, lengths),
            Over::Mean => {
                let shares = constant(lengths.iter().map(|&own| 1.0 / own as f64).collect(), [batch, 1, 1], &states);
                clear_padding(self.hidden(states), Some(lengths)).sum_dim(1) * shares
            }
        };
        let features = if self.over == Over::Mean { read } else { self.hidden(read) };
        Ok(match self.layers.last() {
            Some(last) => last.forward(dropout(features, rate, phase)),
            None => features,
        })
    }

    /// Which states are read.
    pub fn over(&self) -> Over {
        self.over
    }

    /// The last place of each series, or every one.
    pub(crate) fn choose(&self, states: Tensor<B, 3>, lengths: &[usize]) -> Tensor<B, 3> {
        let [batch, steps, width] = states.dims();
        if self.over != Over::Last || steps == 1 {
            return states;
        }
        let last: Vec<usize> = lengths.iter().enumerate().map(|(b, own)| b * steps + own - 1).collect();
        let device = states.device();
        states.reshape([batch * steps, width]).select(0, places(&last, &device)).unsqueeze_dim(1)
    }

    /// What the hidden layers make of states.
    fn hidden(&self, mut x: Tensor<B, 3>) -> Tensor<B, 3> {
        for layer in &self.layers[..self.layers.len().saturating_sub(1)] {
            x = burn::tensor::activation::silu(layer.forward(x));
        }
        x
    }
}
