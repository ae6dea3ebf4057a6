//! The last layers: `y = W_k s(... s(W_1 h + c_1) ...) + c_k`, with `s(x) = x / (1 + e^-x)` (`SiLU`).

use crate::Error;
use crate::spec::Head;
use crate::weights::Weights;

/// The sizes between the layers of a head.
pub fn sizes(head: Head, inputs: usize, outputs: usize) -> Vec<usize> {
    let mut sizes = vec![inputs];
    if let Head::Network { width, layers } = head {
        sizes.extend(std::iter::repeat_n(width, layers));
    }
    sizes.push(outputs);
    sizes
}

/// Linear layers with `SiLU` between them.
#[derive(Debug)]
pub(crate) struct Layers {
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// `[inputs, outputs]`.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Layers {
    /// Weights `readout.0.weight`, `readout.0.bias`, and so on.
    pub(crate) fn take(weights: &mut Weights, sizes: &[usize]) -> Result<Self, Error> {
        let layer = |(i, pair): (usize, &[usize])| {
            Ok(Layer {
                weight: weights.take(&format!("readout.{i}.weight"), pair)?,
                bias: weights.take(&format!("readout.{i}.bias"), &pair[1..])?,
            })
        };
        Ok(Self { layers: sizes.windows(2).enumerate().map(layer).collect::<Result<_, Error>>()? })
    }

    /// What the hidden layers make of a state.
    pub(crate) fn hidden(&self, x: &[f32]) -> Vec<f32> {
        let mut x = x.to_vec();
        for layer in &self.layers[..self.layers.len() - 1] {
            x = layer.forward(&x);
            x.iter_mut().for_each(|x| *x /= 1.0 + (-*x).exp());
        }
        x
    }

    /// The outputs, from what the hidden layers made.
    pub(crate) fn last(&self, x: &[f32]) -> Vec<f32> {
        self.layers[self.layers.len() - 1].forward(x)
    }

    /// How many numbers the hidden layers make.
    pub(crate) fn features(&self) -> usize {
        let last = &self.layers[self.layers.len() - 1];
        last.weight.len() / last.bias.len()
    }
}

impl Layer {
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.bias.clone();
        for (&x, row) in x.iter().zip(self.weight.chunks_exact(y.len())) {
            y.iter_mut().zip(row).for_each(|(y, &w)| *y += x * w);
        }
        y
    }
}
