//! `SLiCE` blocks by structure and size, as the thesis's tables name them.
//!
//! ```text
//! embedding -> (y = SLiCE(x) + x, z = y + tanh(W y + c), norm, dropout) x blocks -> linear,   domega = scale (1, x_t)
//! ```
//!
//! In the place of the `SLiCE` a permutation-diagonal recurrence may stand, or the block be that of its publication ([`Around::Readout`]).

use ncde_kernels::{Bound, Transition};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{
    Drive, Dropout, Embedding, Initial, InputTerm, LayerNorm, Linear, LinearCde, Over, PermutationDiagonal, Pool, Rows, Scale,
    Signal, Stability, StructureSpec,
};
use ncde_train::{BlockActivation, permutations, sequence_blocks, stacked_on};
use serde::{Deserialize, Serialize};

use super::words::WordSource;
use crate::Error;
use crate::plan::Request;

/// How many tokens a transformer sees: all of the longest words.
const MAX_CONTEXT: usize = 512;

/// A row of a table: a structure and its size.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub structure: Matrices,
    pub hidden: usize,
}

/// The structure of the matrices.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Matrices {
    /// Of a linear field.
    Linear(StructureSpec),
    /// None: a model that the thesis compares with, by the name of its preset.
    Baseline(&'static str),
    /// One-hot by columns or rows and a diagonal, both chosen by the token.
    Permutation {
        /// The recurrence.
        recurrence: PermutationDiagonal,
        /// What stands around it.
        block: Around,
    },
}

/// What stands around a permutation-diagonal recurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Around {
    /// The block of the other structures, with its skip connections.
    Skips,
    /// `norm(W drop(h) + c)`, `h` the real parts of all states and then their imaginary parts: all that a block hands on goes through its states.
    Readout,
}

impl Row {
    /// A row of this name.
    pub const fn new(name: &'static str, hidden: usize, structure: StructureSpec) -> Self {
        Self { name, structure: Matrices::Linear(structure), hidden }
    }

    /// A row of permutation-diagonal matrices.
    pub const fn permutation(name: &'static str, recurrence: PermutationDiagonal, block: Around) -> Self {
        Self { name, hidden: recurrence.hidden, structure: Matrices::Permutation { recurrence, block } }
    }

    /// A row of a model that the thesis compares with.
    pub const fn baseline(name: &'static str, hidden: usize) -> Self {
        Self { name, structure: Matrices::Baseline(name), hidden }
    }

    /// Whether it is trained: models that the thesis compares with at `paper`, or where they are asked for.
    pub(crate) fn is_trained(&self, request: &Request) -> bool {
        !matches!(self.structure, Matrices::Baseline(_)) || request.wants(self.name, &[])
    }

    /// The factor of the penalty on matrices that was published: none on choices, whose gradients are as small.
    pub(crate) fn penalty(&self) -> f64 {
        match self.structure {
            Matrices::Linear(_) => 1e-3,
            Matrices::Permutation { .. } | Matrices::Baseline(_) => 0.0,
        }
    }
}

/// The Walsh-Hadamard structure with bounded diagonals, as the thesis's code has it on tokens.
pub(crate) const WALSH_HADAMARD: StructureSpec = StructureSpec::WalshHadamard { bound: Bound::Tanh };

/// What a model is made of besides its structure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// How many blocks.
    pub blocks: usize,
    /// What increments are multiplied with; 1/40 in the thesis's code.
    pub scale: f64,
    /// The deviation of the first entries of the matrices, times the root of the block size.
    pub init: f64,
    /// The share of numbers that is dropped behind each block.
    pub dropout: f64,
    /// The flow of a step.
    pub flow: Flow,
}

/// How a generator moves a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// `I + Omega`, as the thesis's code on tokens.
    Euler,
    /// `exp(Omega)`.
    Exp,
    /// `exp(Omega)` with generators of which no state grows: for matrices with blocks.
    Contractive,
}

impl Flow {
    fn parts(self) -> (Transition, Stability) {
        match self {
            Self::Euler => (Transition::Euler, Stability::Free {}),
            Self::Exp => (Transition::Exp, Stability::Free {}),
            Self::Contractive => (Transition::Exp, Stability::Contractive { rate: FORGET }),
        }
    }
}

/// The least rate at which contractive flows forget, a token: hardly any.
const FORGET: f64 = 1e-3;

impl Slice {
    /// The layers, and the rows they take.
    ///
    /// # Errors
    /// If a model has no blocks of this size.
    pub fn layers(&self, row: &Row, source: &dyn WordSource) -> Result<(Vec<LayerSpec>, Signal), Error> {
        let skips = |states: &[LayerSpec]| stacked_on(self.blocks, states, row.hidden, BlockActivation::Tanh, self.dropout);
        let mut layers = vec![LayerSpec::Embedding(Embedding { width: row.hidden })];
        layers.extend(match &row.structure {
            Matrices::Linear(structure) => skips(&[self.linear(row.hidden, structure)]),
            Matrices::Permutation { recurrence, block: Around::Skips } => skips(&permutations(recurrence)),
            Matrices::Permutation { recurrence, block: Around::Readout } => {
                (0..self.blocks).flat_map(|_| self.readout(recurrence)).collect()
            }
            Matrices::Baseline(name) => sequence_blocks(name, row.hidden, self.blocks, self.dropout, MAX_CONTEXT)?,
        });
        if !source.tags() {
            layers.push(LayerSpec::Pool(Pool { over: Over::Last }));
        }
        layers.push(LayerSpec::Linear(Linear { outputs: source.classes() }));
        let signal = Signal { rows: Rows::Tokens { vocabulary: source.vocabulary() }, statics: 0, pooled: false };
        Ok((layers, signal))
    }

    /// A block that hands on what a linear layer reads from its states.
    fn readout(&self, recurrence: &PermutationDiagonal) -> Vec<LayerSpec> {
        let dropout = (self.dropout > 0.0).then_some(LayerSpec::Dropout(Dropout { rate: self.dropout }));
        let read = [LayerSpec::Linear(Linear { outputs: recurrence.hidden }), LayerSpec::LayerNorm(LayerNorm { affine: true })];
        [LayerSpec::PermutationDiagonal(recurrence.clone())].into_iter().chain(dropout).chain(read).collect()
    }

    /// A recurrence that tokens drive linearly.
    fn linear(&self, hidden: usize, structure: &StructureSpec) -> LayerSpec {
        let (transition, stability) = self.flow.parts();
        LayerSpec::LinearCde(LinearCde {
            hidden,
            structure: structure.clone(),
            drive: Drive::Tokens {},
            input: InputTerm::None,
            initial: Initial::First,
            transition,
            scale: self.scale,
            init: Scale::Scaled { deviation: self.init },
            forget: None,
            stability,
        })
    }
}
