//! A model is a list of layers; a layer is one idea with one equation.
//!
//! A layer is said once, as a spec: its settings, what it makes of the rows it is given ([`Layer::output`]), and its weights by name,
//! shape and initialisation ([`Layer::weights`]). From the spec come two forms: the *step* here, one row at a time in constant memory, and
//! the *batch* in the crate `ncde-layers`, on tensors with gradients. Everything that handles weights (drawing, counting, saving, checkpoints)
//! works on the list of [`Weight`]s and knows no layer by name.
//!
//! [`LayerSpec`] lists all layers with their equations; a file is named as its layer. `structure`, `drive`, `plan`, `flow` and `stability` are parts of `linear_cde`.
//!
//! A new layer is a file here, a file in `ncde_layers::layer`, and a line in each registry: the list in `registry!` below, and `batch` there. A layer of
//! another crate is [registered](register) at run time.

mod activation;
mod attention;
mod beside;
mod chain;
mod convolution;
mod delta_net;
mod drive;
mod dropout;
mod embedding;
mod flow;
mod foreign;
mod gru;
mod gru_d;
mod layer_norm;
mod linear;
mod linear_cde;
mod lstm;
mod mamba2;
mod mamba3;
mod memory;
mod mlstm;
mod neural_cde;
mod oscillators;
mod parallel;
mod per_row;
mod permutation_diagonal;
mod plan;
mod pool;
mod product;
mod random_features;
#[cfg(test)]
mod reference;
mod reservoir;
mod residual;
mod resolved;
mod rwkv;
mod selective;
mod signal;
mod signature;
mod slstm;
mod stability;
mod standardise;
mod state_memory;
mod state_space;
mod structure;
mod weight;
mod windows;

use std::fmt::Debug;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use activation::{Activation, Function};
pub use attention::Attention;
pub use beside::Beside;
pub use chain::{Ended, StepChain};
pub use convolution::Convolution;
pub use delta_net::{DeltaNet, KEY_EPSILON, READ_EPSILON};
pub use drive::{Drive, Initial, InputTerm};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use foreign::{Foreign, ReadLayer, register};
pub use gru::Gru;
pub use gru_d::GruD;
pub use layer_norm::{LayerNorm, NORM_EPSILON};
pub use linear::{Columns, Linear};
pub use linear_cde::{Forget, LinearCde, Prepared};
pub use lstm::Lstm;
pub use mamba2::Mamba2;
pub use mamba3::{MIN_RATE, Mamba3};
pub use memory::Memory;
pub use mlstm::{Mlstm, READ_FLOOR};
pub use neural_cde::{NeuralCde, NeuralKind, generic_field};
pub use oscillators::{Oscillators, Scheme};
pub use parallel::Parallel;
pub use permutation_diagonal::PermutationDiagonal;
pub use plan::{Plan, Route, usual_basis};
pub use pool::{Over, Pool};
pub use product::Product;
pub use random_features::RandomFeatures;
pub use reservoir::{Block, Reservoir};
pub use residual::Residual;
pub use resolved::{LayerList, Node, Resolved};
pub use rwkv::{FASTEST, MIN_KEY, READ_SCALE, Rwkv};
pub use selective::Selective;
pub use signal::{Rows, Signal};
pub use signature::SignatureFeatures;
pub use slstm::Slstm;
pub use stability::{Contractive, Stability};
pub use standardise::Standardise;
pub use state_memory::{Share, Size, StateMemory};
pub use state_space::{Discretisation, StateSpace};
pub use structure::{Scale, StructureName, StructureSpec};
pub use weight::{Init, Role, Values, Weight};
pub use windows::{Form, Windows, ends, is_end};

// What settings of layers are made of.
pub use ncde_kernels::neural::{Activation as Pointwise, Last, Method};
pub use ncde_kernels::permutation::{Diagonal, OneHot};
pub use ncde_kernels::{Bound, Transition};
pub use ncde_signature::Basis;

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
///
/// # Errors
/// All functions fail if the layer cannot take such rows, its settings make no sense, or weights that they are given are none for them.
pub trait Layer: Debug + Send + Sync {
    /// What it does in a few words, for people.
    fn describe(&self) -> String;

    /// The rows it hands on, for rows like these; `inside` are those that the lists of layers inside it hand on.
    fn output(&self, input: &Signal, inside: &[Signal]) -> Result<Signal, Error>;

    /// Whether layers inside it may be asked what they make of rows like these: of a layer with lists, before them.
    fn takes(&self, _input: &Signal) -> Result<(), Error> {
        Ok(())
    }

    /// Whether it hands on a row for each row, as layers inside others must, or waits for several.
    fn is_row_for_row(&self) -> bool {
        true
    }

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
    fn weights(&self, _input: &Signal) -> Result<Vec<Weight>, Error> {
        Ok(Vec::new())
    }

    /// The lists of layers inside it.
    fn inside(&self) -> Vec<&[LayerSpec]> {
        Vec::new()
    }

    /// Whether its batch form passes gradients on to what it is given; nothing before a layer that does not can be trained.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// A bound of the norm of its vector field on the states that were seen in training; none for a layer without such a field.
    fn lip_bound(&self, _input: &Signal, _weights: &mut Values) -> Result<Option<LipBound>, Error> {
        Ok(None)
    }

    /// One row at a time, with its weights; `inside` are the lists of layers inside it.
    fn step(&self, input: &Signal, weights: &mut Values, inside: Vec<StepChain>) -> Result<Box<dyn Step>, Error>;
}

/// A bound of the Lip(2) norm of a vector field.
#[derive(Debug, Clone, PartialEq)]
pub struct LipBound {
    /// The largest norm of a state in training.
    pub radius: f64,
    /// The logarithm of the bound on the ball of that radius, to base 10; or why there is none.
    pub log10: Result<f64, String>,
}

/// A layer that takes one row at a time. What it remembers of a series is a fixed count of numbers that the caller keeps.
///
/// # Errors
/// All functions fail if a state overflows; the memory is then of no use, so callers work on a copy.
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
    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error>;

    /// Takes rows of which nobody needs what they make: several at once may be faster than one after the other.
    fn pass(&mut self, mut memory: Share<'_>, rows: &[Row<'_>]) -> Result<(), Error> {
        let mut unread = Vec::new();
        rows.iter().try_for_each(|&row| self.push(memory.again(), row, &mut unread).map(|_| ()))
    }

    /// The row of an open window as it is so far. Asked only of a layer whose last [`push`](Self::push) answered no.
    fn open(&mut self, _memory: Share<'_>, _out: &mut Vec<f64>) -> Result<(), Error> {
        Err(Error::State("a layer without windows has no open one".into()))
    }
}

/// What comes out of a list of layers.
///
/// # Errors
/// If a layer cannot take what the one before it hands on; the place is named.
pub fn output<'a>(layers: impl Into<LayerList<'a>>, input: &Signal) -> Result<Signal, Error> {
    Ok(Resolved::within(layers.into(), input, Budget::without_file())?.output().clone())
}

/// All weights of a list of layers in order, by their names in the model: `layers.2.a`, and `layers.1.layers.0.a` of a layer inside another.
pub fn weights<'a>(layers: impl Into<LayerList<'a>>, input: &Signal) -> Result<Vec<Weight>, Error> {
    Ok(Resolved::new(layers, input)?.weights())
}

/// Declares the layers: the enum that files hold, by name, and the way from it to the trait.
macro_rules! registry {
    ($($(#[doc = $doc:literal])* $tag:literal => $name:ident($type:ty),)*) => {
        /// A layer of a model, as `model.json` and `[[model.layers]]` hold it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum LayerSpec {
            $($(#[doc = $doc])* $name($type),)*
            /// A layer of another crate.
            Foreign(Foreign),
        }

        impl LayerSpec {
            /// The names of the layers of this crate.
            pub const NAMES: &[&str] = &[$($tag),*];

            /// The layer.
            pub fn layer(&self) -> &dyn Layer {
                match self {
                    $(Self::$name(layer) => layer,)*
                    Self::Foreign(layer) => layer.layer(),
                }
            }

            /// The name in files.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$name(_) => $tag,)*
                    Self::Foreign(layer) => layer.name(),
                }
            }
        }

        $(impl From<$type> for LayerSpec {
            fn from(layer: $type) -> Self {
                Self::$name(layer)
            }
        })*

        impl Serialize for LayerSpec {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                #[derive(Serialize)]
                #[serde(tag = "layer")]
                enum Tagged<'a> {
                    $(#[serde(rename = $tag)] $name(&'a $type),)*
                }
                match self {
                    $(Self::$name(layer) => Tagged::$name(layer).serialize(to),)*
                    Self::Foreign(layer) => layer.serialize(to),
                }
            }
        }

        impl<'de> Deserialize<'de> for LayerSpec {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                #[serde(tag = "layer", expecting = "a layer")]
                enum Tagged {
                    $(#[serde(rename = $tag)] $name($type),)*
                }
                foreign::read(from, |value| {
                    Ok(match Tagged::deserialize(value)? {
                        $(Tagged::$name(layer) => Self::$name(layer),)*
                    })
                })
            }
        }
    };
}

registry! {
    /// Observations to Log-ODE windows: `row_k = (log S^N over window k, knot at its end)`, or the increments of the window.
    "windows" => Windows(Windows),
    /// A structured Linear NCDE: `h_{k+1} = exp(Omega_k) h_k + phi_1(Omega_k) beta_k`.
    "linear-cde" => LinearCde(LinearCde),
    /// States that a row sends to each other: `h_k = P(x_k) D(x_k) h_{k-1} + B x_k`, `P` one-hot by columns, `D` diagonal.
    "permutation-diagonal" => PermutationDiagonal(PermutationDiagonal),
    /// An NCDE, an NRDE or a Log-NCDE: `h_{k+1}` solves `dh/du = F(h, c_k(u))` from `h_k`.
    "neural-cde" => NeuralCde(NeuralCde),
    /// `row_t = (pooled responses to fixed memories, memories and moments of channels, statics)`.
    "reservoir" => Reservoir(Reservoir),
    /// Memories of changes: `row_t = (Legendre memories of each number about its present value)`.
    "memory" => Memory(Memory),
    /// Random functions of a row, behind the row itself: `y = (x, tanh(W^T x + b))`, nothing trained.
    "random-features" => RandomFeatures(RandomFeatures),
    /// The signature of the path so far: `row_t = (knot_0, statics, S^N of the path up to t)`.
    "signature" => Signature(SignatureFeatures),
    /// A vector for each token: `y = E[token]`.
    "embedding" => Embedding(Embedding),
    /// A linear layer: `y = W^T x + b`.
    "linear" => Linear(Linear),
    /// A function of each number: `y = s(x)`, or the gated linear unit `u sigmoid(v)`.
    "activation" => Activation(Activation),
    /// Rows of mean 0 and variance 1: `y = g (x - mean x) / sqrt(var x + 1e-5) + c`.
    "layer-norm" => LayerNorm(LayerNorm),
    /// Features of mean 0 and variance 1 over the training data: `y = s (x - m)`.
    "standardise" => Standardise(Standardise),
    /// Dropout; nothing in a prediction.
    "dropout" => Dropout(Dropout),
    /// A skip connection around a list of layers: `y = x + f(x)`.
    "residual" => Residual(Residual),
    /// What a head sees beside a state: `y = (f(x), s x_1..n, knot)`, `f` a list of layers.
    "beside" => Beside(Beside),
    /// Lists of layers, each given the same rows: `y = (f_1(x), ..., f_n(x))`; at the end of a model members that vote.
    "parallel" => Parallel(Parallel),
    /// A causal convolution of each channel by itself: `y_t = sum_{j<k} w_j x_{t-j} + b`.
    "convolution" => Convolution(Convolution),
    /// A long short-term memory: `c_k = f c_{k-1} + i g`, `h_k = o tanh(c_k)`, gates `i`, `f`, `g`, `o` from `x_k` and `h_{k-1}`.
    "lstm" => Lstm(Lstm),
    /// A gated recurrent unit: `h_k = (1 - z) n + z h_{k-1}`, gates `r`, `z` and the new state `n` from `x_k` and `h_{k-1}`.
    "gru" => Gru(Gru),
    /// GRU-D, a `gru` of values that fade where they are missing, as its states do: `h_k = GRU((x', m), exp(-max(0, D^T delta + e)) h_{k-1})`.
    "gru-d" => GruD(GruD),
    /// A diagonal state-space model: `h_k = a h_{k-1} + g B x_k`, `y_k = Re(C h_k) + D x_k`, `a` complex, one number a state.
    "state-space" => StateSpace(StateSpace),
    /// Oscillators that rows drive: `z_k = p (z_{k-1} + d (B x_k - a y_{k-1}))`, `y_k = y_{k-1} + d z_k`, read by `Re(C y_k) + D x_k`.
    "oscillators" => Oscillators(Oscillators),
    /// A selective state-space model: `h_k = exp(-d exp(decay)) h_{k-1} + d x_k b`, `y_k = c . h_k + skip x_k`, with `d`, `b` and `c` from `x_k`.
    "selective" => Selective(Selective),
    /// DeltaNet and its kin: `S_k = w S_{k-1} (I - beta k k^T) + beta v k^T`, `y_k = S_k q`, with keys, values and queries from `x_k`.
    "delta-net" => DeltaNet(DeltaNet),
    /// The state-space model of Mamba-2: `S_k = exp(-d exp(decay)) S_{k-1} + d x b^T`, `y_k = S_k c + skip x`, all from `x_k` and the rows before it.
    "mamba2" => Mamba2(Mamba2),
    /// The state-space model of Mamba-3: `S_k = alpha S_{k-1} + (1 - lambda) d alpha x_{k-1} b_{k-1}^T + lambda d x_k b_k^T`, `y_k = S_k c + skip x_k`, with keys that turn.
    "mamba3" => Mamba3(Mamba3),
    /// An LSTM with exponential gates: `c_k = f c_{k-1} + i z`, `n_k = f n_{k-1} + i`, `y_k = o c_k / n_k`, within heads.
    "slstm" => Slstm(Slstm),
    /// An LSTM whose state is a matrix: `C_k = f C_{k-1} + i v k^T`, `n_k = f n_{k-1} + i k`, `y_k = C_k q / max(|n_k . q|, 1)`.
    "mlstm" => Mlstm(Mlstm),
    /// The time mixing of RWKV-7: `S_k = S_{k-1} (diag(w) - c (a c)^T) + v k^T`, `y_k = S_k r`, all from `x_k` and `x_{k-1}`.
    "rwkv" => Rwkv(Rwkv),
    /// Lists of layers whose rows are multiplied: `y = f_1(x) ... f_n(x)`.
    "product" => Product(Product),
    /// Causal attention with positions in real time: `y_k = W_o sum_{j <= k} softmax_j(q_k . k_j / sqrt(d)) v_j`.
    "attention" => Attention(Attention),
    /// The last row of a series, or the mean of all.
    "pool" => Pool(Pool),
}
