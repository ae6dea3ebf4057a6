//! `SLiCE` blocks by structure and size, as the thesis's tables name them.
//!
//! ```text
//! embedding -> (y = SLiCE(x) + x, z = y + tanh(W y + c), norm, dropout) x blocks -> linear,   domega = scale (1, x_t)
//! ```

use ncde::train::{BlockActivation, stacked};
use ncde_kernels::{Bound, Transition};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{
    Drive, Embedding, Initial, InputTerm, Linear, LinearCde, Over, Pool, Rows, Scale, Signal, Stability, StructureSpec,
};
use serde::Serialize;

use super::words::Source;

/// A row of a table: a structure and its size.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As it is written.
    pub name: &'static str,
    /// The structure of the matrices.
    pub structure: StructureSpec,
    /// The number of states.
    pub hidden: usize,
}

impl Row {
    /// A row of this name.
    pub const fn new(name: &'static str, hidden: usize, structure: StructureSpec) -> Self {
        Self { name, structure, hidden }
    }
}

/// The Walsh-Hadamard structure with bounded diagonals, as the thesis's code has it on tokens.
pub(crate) const WALSH_HADAMARD: StructureSpec = StructureSpec::WalshHadamard { bound: Bound::Tanh };

/// What a model is made of besides its structure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    pub fn layers(&self, row: &Row, source: &dyn Source) -> (Vec<LayerSpec>, Signal) {
        let (transition, stability) = self.flow.parts();
        let cde = LinearCde {
            hidden: row.hidden,
            structure: row.structure.clone(),
            drive: Drive::Tokens {},
            input: InputTerm::None,
            initial: Initial::First,
            transition,
            scale: self.scale,
            init: Scale::Scaled { deviation: self.init },
            forget: None,
            stability,
        };
        let mut layers = vec![LayerSpec::Embedding(Embedding { width: row.hidden })];
        layers.extend(stacked(self.blocks, &cde, BlockActivation::Tanh, self.dropout));
        if !source.tags() {
            layers.push(LayerSpec::Pool(Pool { over: Over::Last }));
        }
        layers.push(LayerSpec::Linear(Linear { outputs: source.classes() }));
        let signal = Signal { rows: Rows::Tokens { vocabulary: source.vocabulary() }, statics: 0, pooled: false };
        (layers, signal)
    }
}
