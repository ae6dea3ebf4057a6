//! A model is a list of layers; a layer is one idea with one equation.
//!
//! A layer is said once, as a spec: its settings, what it makes of the rows it is given ([`Layer::output`]), and its weights by name,
//! shape and initialisation ([`Layer::weights`]). From the spec come two forms: the *step* here, one row at a time in constant memory, and
//! the *batch* in the crate `ncde-layers`, on tensors with gradients. Everything that handles weights (drawing, counting, saving, checkpoints)
//! works on the list of [`Weight`]s and knows no layer by name.
//!
//! | layer | equation | file |
//! | --- | --- | --- |
//! | `windows` | `row_k = (log S^N over window k, knot at its end)`, or the increments of the window | `windows` |
//! | `linear-cde` | `h_{k+1} = exp(Omega_k) h_k + phi_1(Omega_k) beta_k` | `linear_cde`, with `structure`, `drive`, `plan`, `flow` |
//! | `permutation-diagonal` | `h_k = P(x_k) D(x_k) h_{k-1} + B x_k`, `P` one-hot by columns, `D` diagonal | `permutation_diagonal` |
//! | `neural-cde` | `h_{k+1}` solves `dh/du = F(h, c_k(u))` from `h_k` | `neural_cde` |
//! | `reservoir` | `row_t = (pooled responses to fixed memories, memories and moments of channels, statics)` | `reservoir` |
//! | `memory` | `row_t = (Legendre memories of each number about its present value)` | `memory` |
//! | `random-features` | `y = (x, tanh(W^T x + b))`, nothing trained | `random_features` |
//! | `signature` | `row_t = (knot_0, statics, S^N of the path up to t)` | `signature` |
//! | `embedding` | `y = E[token]` | `embedding` |
//! | `linear` | `y = W^T x + b` | `linear` |
//! | `activation` | `y = s(x)`, or the gated linear unit `u sigmoid(v)` | `activation` |
//! | `layer-norm` | `y = g (x - mean x) / sqrt(var x + 1e-5) + c` | `layer_norm` |
//! | `standardise` | `y = s (x - m)`, fitted on training data | `standardise` |
//! | `dropout` | nothing in a prediction | `dropout` |
//! | `residual` | `y = x + f(x)`, `f` a list of layers | `residual` |
//! | `parallel` | `y = (f_1(x), ..., f_n(x))`, each `f` a list of layers; at the end of a model: members that vote | `parallel` |
//! | `beside` | `y = (f(x), s x_1..n, knot)`: what a head sees beside a state | `beside` |
//! | `convolution` | `y_t = sum_{j<k} w_j x_{t-j} + b`, each channel by itself | `convolution` |
//! | `pool` | the last row of a series, or the mean of all | `pool` |
//!
//! A new layer is a file here, a file in `ncde_layers::layer`, and a line in each registry: the list in `registry!` below, and `batch` there.

mod activation;
mod beside;
mod chain;
mod convolution;
mod drive;
mod dropout;
mod embedding;
mod flow;
mod kept;
mod layer_norm;
mod linear;
mod linear_cde;
mod memory;
mod neural_cde;
mod parallel;
mod permutation_diagonal;
mod plan;
mod pool;
mod random_features;
mod reservoir;
mod residual;
mod signal;
mod signature;
mod stability;
mod standardise;
mod structure;
mod weight;
mod windows;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

pub use activation::{Activation, Function};
pub use beside::Beside;
pub use chain::{Chain, Ended, place_inside, weights};
pub use convolution::Convolution;
pub use drive::{Drive, Initial, InputTerm};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use kept::{Kept, Share, Size};
pub use layer_norm::{LayerNorm, NORM_EPSILON};
pub use linear::{Columns, Linear};
pub use linear_cde::{Forget, LinearCde, Prepared};
pub use memory::Memory;
pub use neural_cde::{NeuralCde, NeuralKind, generic_field};
pub use parallel::Parallel;
pub use permutation_diagonal::PermutationDiagonal;
pub use plan::{Plan, Route, usual_basis};
pub use pool::{Over, Pool};
pub use random_features::RandomFeatures;
pub use reservoir::{Block, Reservoir};
pub use residual::Residual;
pub use signal::{Rows, Signal};
pub use signature::SignatureFeatures;
pub use stability::{Contractive, Stability};
pub use standardise::Standardise;
pub use structure::{Scale, StructureName, StructureSpec};
pub use weight::{Init, Role, Values, Weight};
pub use windows::{Form, Windows, ends};

use crate::Error;
use crate::budget::Budget;

/// A row on its way through the layers.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Its time since the start of the series, in the unit of the model.
    pub time: f64,
    /// Its numbers.
    pub values: &'a [f64],
    /// The static covariates of the series, scaled.
    pub statics: &'a [f64],
}

/// What a layer needs beside its weights, about; `usize::MAX` is more than can be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of tables, and of what it remembers of a series.
    pub bytes: usize,
    /// Multiplications for one row. What is made once, before the first row, counts an eighth.
    pub work: usize,
}

/// What a layer is.
pub trait Layer: Debug {
    /// The rows it hands on, for rows like these.
    ///
    /// # Errors
    /// If the layer cannot take such rows, or its settings make no sense.
    fn output(&self, input: &Signal) -> Result<Signal, Error>;

    /// How many weights it has at least, those of layers inside it aside: from its settings alone, before memory is asked for.
    fn demand(&self, _input: &Signal) -> usize {
        0
    }

    /// What else it needs, layers inside it aside: from its settings alone, before memory is asked for. Rows that it hands on are counted already, and a
    /// multiplication for each weight.
    fn cost(&self, _input: &Signal) -> Cost {
        Cost::default()
    }

    /// Its own weights, those of layers inside it aside.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    fn weights(&self, _input: &Signal) -> Result<Vec<Weight>, Error> {
        Ok(Vec::new())
    }

    /// The lists of layers inside it.
    fn inside(&self) -> Vec<&[LayerSpec]> {
        Vec::new()
    }

    /// One row at a time, with its weights; `inside` are the lists of layers inside it.
    ///
    /// # Errors
    /// If the settings make no sense, or the weights are none for them.
    fn step(&self, input: &Signal, weights: &mut Values, inside: Vec<Chain>) -> Result<Box<dyn Step>, Error>;
}

/// A layer that takes one row at a time. What it remembers of a series is a fixed count of numbers that the caller keeps.
pub trait Step: Debug + Send + Sync {
    /// How many numbers it remembers; all are 0 before the first row.
    fn memory(&self) -> Size {
        Size::default()
    }

    /// Whether it hands on every row as it is and remembers nothing, so that it can be left out.
    fn is_identity(&self) -> bool {
        false
    }

    /// Takes over a linear layer that reads its rows, if it has them in single precision and can hand on what comes out instead; else the layer comes back.
    fn read_by(&mut self, readout: Columns) -> Option<Columns> {
        Some(readout)
    }

    /// Takes the next row. If that makes a row to hand on, it is in `out` and the answer is yes; an open window answers no.
    ///
    /// # Errors
    /// If a state overflows; the memory is then of no use, so callers work on a copy.
    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error>;

    /// Takes rows of which nobody needs what they make: several at once may be faster than one after the other.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    fn pass(&mut self, mut memory: Share<'_>, rows: &[Row<'_>]) -> Result<(), Error> {
        let mut unread = Vec::new();
        rows.iter().try_for_each(|&row| self.push(memory.again(), row, &mut unread).map(|_| ()))
    }

    /// The row of an open window as it is so far. Asked only of a layer whose last [`push`](Self::push) answered no.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    fn open(&mut self, _memory: Share<'_>, _out: &mut Vec<f64>) -> Result<(), Error> {
        Err(Error::State("a layer without windows has no open one".into()))
    }
}

/// What comes out of a list of layers.
///
/// # Errors
/// If a layer cannot take what the one before it hands on; the place is named.
pub fn output(layers: &[LayerSpec], input: &Signal) -> Result<Signal, Error> {
    output_within(layers, input, Budget::without_file())
}

/// The same, within a budget: sizes are looked at before memory is asked for.
pub(crate) fn output_within(layers: &[LayerSpec], input: &Signal, mut budget: Budget) -> Result<Signal, Error> {
    chain::fits(layers, input, "layers.", &mut budget)
}

/// Declares the layers: the enum that files hold, by name, and the way from it to the trait.
macro_rules! registry {
    ($($(#[doc = $doc:literal])* $name:ident($type:ty),)*) => {
        /// A layer of a model, as `model.json` and `[[model.layers]]` hold it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "layer", rename_all = "kebab-case")]
        pub enum LayerSpec {
            $($(#[doc = $doc])* $name($type),)*
        }

        impl LayerSpec {
            /// The layer.
            pub fn layer(&self) -> &dyn Layer {
                match self {
                    $(Self::$name(layer) => layer,)*
                }
            }
        }
    };
}

registry! {
    /// Observations to Log-ODE windows.
    Windows(Windows),
    /// A structured Linear NCDE.
    LinearCde(LinearCde),
    /// States that a row sends to each other.
    PermutationDiagonal(PermutationDiagonal),
    /// An NCDE, an NRDE or a Log-NCDE.
    NeuralCde(NeuralCde),
    /// Pooled responses to fixed memories.
    Reservoir(Reservoir),
    /// Memories of changes.
    Memory(Memory),
    /// Random functions of a row, behind the row itself.
    RandomFeatures(RandomFeatures),
    /// The signature of the path so far.
    Signature(SignatureFeatures),
    /// A vector for each token.
    Embedding(Embedding),
    /// A linear layer.
    Linear(Linear),
    /// A function of each number, or a gated linear unit.
    Activation(Activation),
    /// Rows of mean 0 and variance 1.
    LayerNorm(LayerNorm),
    /// Features of mean 0 and variance 1 over the training data.
    Standardise(Standardise),
    /// Dropout.
    Dropout(Dropout),
    /// A skip connection around a list of layers.
    Residual(Residual),
    /// A list of layers, with what they were given beside what they make of it.
    Beside(Beside),
    /// Lists of layers, each given the same rows.
    Parallel(Parallel),
    /// A causal convolution of each channel by itself.
    Convolution(Convolution),
    /// The last row, or the mean of all.
    Pool(Pool),
}

impl LayerSpec {
    /// The name in files.
    pub fn name(&self) -> String {
        let tagged = serde_json::to_value(self).ok();
        tagged.and_then(|value| value.get("layer").and_then(|name| name.as_str().map(str::to_owned))).unwrap_or_default()
    }
}
