//! The parameters in the order in which products read them, packed once a call.

use ncde_simd::{Buffer, Float, Number};

use super::product::Panels;
use super::{Depth, Network};

/// Weights and their transposes in panels, biases filled up to whole registers.
#[derive(Debug)]
pub(crate) struct Packed<T: Float> {
    /// Hidden layers.
    pub(crate) hidden: Vec<Panels<T::Register>>,
    /// The last layer: one matrix, or at depth 2 one for each channel, as only the j-th block of the j-th tangent is needed.
    pub(crate) last: Vec<Panels<T::Register>>,
    /// Transposes of the hidden layers, for the reverse pass.
    pub(crate) hidden_back: Vec<Panels<T::Register>>,
    /// The transpose of the last layer; its rows are the channels' blocks, each filled up to whole registers.
    pub(crate) last_back: Panels<T::Register>,
    /// Biases of all layers.
    pub(crate) bias: Vec<Buffer<T>>,
}

/// Which way the weights are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passes {
    Forward,
    Both,
}

/// `n` rounded up to whole registers.
pub(crate) fn padded<T: Float>(n: usize) -> usize {
    n.next_multiple_of(T::Register::WIDTH)
}

impl<T: Float> Packed<T> {
    pub(crate) fn new(network: &Network, depth: Depth, parameters: &[T], passes: Passes) -> Self {
        let (hidden, channels) = (network.hidden(), network.channels());
        let wide = padded::<T>(hidden);
        let mut packed = Self {
            hidden: Vec::new(),
            last: Vec::new(),
            hidden_back: Vec::new(),
            last_back: Panels::default(),
            bias: Vec::new(),
        };
        for l in 0..network.layers() - 1 {
            let layer = network.layer(l);
            let (weight, n) = (&parameters[layer.weight], layer.outputs);
            packed.hidden.push(panels(layer.inputs, n, |i, o| weight[i * n + o]));
            if passes == Passes::Both {
                packed.hidden_back.push(panels(n, layer.inputs, |o, i| weight[i * n + o]));
            }
            let mut bias = Buffer::zeros(padded::<T>(n));
            bias[..n].copy_from_slice(&parameters[layer.bias]);
            packed.bias.push(bias);
        }
        let layer = network.layer(network.layers() - 1);
        let (weight, n) = (&parameters[layer.weight], layer.outputs);
        // Column `c` of the padded blocks.
        let at = |i: usize, c: usize| if c % wide < hidden { weight[i * n + c / wide * hidden + c % wide] } else { T::ZERO };
        match depth {
            Depth::One => packed.last.push(panels(layer.inputs, channels * wide, at)),
            Depth::Two => {
                packed.last.extend((0..channels).map(|j| panels(layer.inputs, wide, |i, c| at(i, j * wide + c))));
            }
        }
        if passes == Passes::Both {
            packed.last_back = panels(channels * wide, layer.inputs, |c, i| at(i, c));
        }
        let mut bias = Buffer::zeros(channels * wide);
        for (padded, bias_of_channel) in bias.chunks_exact_mut(wide).zip(parameters[layer.bias].chunks_exact(hidden)) {
            padded[..hidden].copy_from_slice(bias_of_channel);
        }
        packed.bias.push(bias);
        packed
    }
}

fn panels<T: Float>(inner: usize, columns: usize, entry: impl Fn(usize, usize) -> T) -> Panels<T::Register> {
    let mut panels = Panels::default();
    panels.pack(inner, columns, entry);
    panels
}
