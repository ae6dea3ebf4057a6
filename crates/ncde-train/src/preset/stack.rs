//! `stack`: `SLiCE` blocks on tokens, or on windows of numbers.
//!
//! ```text
//! y = SLiCE(x) + x,   z = y + act(W y + c),   out = dropout(norm(z)),   act = tanh or GLU            a block
//! ```
//!
//! The recurrence of a block has as many states as rows have numbers. Thesis, "Implementation Details" of Structured Linear NCDEs. Of numbers, `x` are the log-signatures of
//! windows and their last observations, standardised, through a linear layer; flows are contractive there, as a free one that is driven by hundreds of rows explodes with its first weights.
//! A stack and a `slice` err on different series, so that of numbers two of each are trained, on the same windows, and vote.

use ncde_kernels::neural::Activation as Pointwise;
use ncde_kernels::permutation::{Diagonal, OneHot};
use ncde_kernels::{Bound, Transition};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{
    Activation, Drive, Dropout, Embedding, Form, Function, Initial, InputTerm, LayerNorm, Linear, LinearCde, Over, Parallel,
    PermutationDiagonal, Residual, Rows, Scale, Standardise, StructureName, Windows,
};
use ncde_signature::Basis;

use super::head::read;
use super::slice::{SliceKeys, has_keys, stability, structure};
use super::{Built, Facts, Method, Preset};
use crate::Error;
use crate::config::{Keys, table};
use crate::names::{BlockActivation, BlockDrive, FirstRow, StabilityName};
use crate::settings::{at_least, positive, refuse};

table! {
    /// The keys of `stack`.
    pub(crate) StackKeys {
        /// Of numbers: how many observations make up a window, a row of the first block: about 64 windows a series; 1 where every observation is predicted at.
        window: usize,
        /// Of numbers: the depth of the log-signatures of windows: 1, or with several members 2 where channels are few.
        depth: usize,
        /// How many networks vote, each trained by itself, a stack and a `slice` on the same windows and with the same matrices by turns: 4 by default for series of numbers that are predicted as a whole, else 1.
        members: usize,
        /// How many blocks there are; 2 by default.
        blocks: usize,
        /// The number of hidden states of each block, and of the numbers between blocks; 64 by default.
        hidden: usize,
        /// How many numbers stand for a token, before a linear layer to `hidden` where that is another number.
        embedding: usize,
        /// What drives a block: `tokens`, the constant 1 and its rows (the default), or `increments` of its rows.
        drive: BlockDrive,
        /// What a step is multiplied with: 1/40 by default, 1 for `increments`.
        step: f64,
        /// What the first row does: it `starts` the state (the default) or `drives` it from a learned one, as all others (the default of `permutation-diagonal`).
        first: FirstRow,
        /// The matrices: `block` (the default), `dense`, `diagonal`, `diagonal-dense`, `dplr`, `sparse`, `walsh-hadamard` or `permutation-diagonal`.
        structure: StructureName,
        /// The size of blocks (4), or of the dense block behind a diagonal (16).
        block: usize,
        /// The rank of the low-rank part of `dplr`; 4 by default.
        rank: usize,
        /// `H^(1 + epsilon)` entries of a sparse matrix; 0.5 by default.
        epsilon: f64,
        /// The range of the diagonals of `walsh-hadamard`: `tanh` (the default) or `none`.
        bound: Bound,
        /// Whether each block has permutation-diagonal states beside those of another structure, and a linear layer of both; yes by default for words with a label each, which are
        /// followed by some rule as often as they are summed up.
        permutations: bool,
        /// How many matrices the choices of `permutation-diagonal` are mixed from; 8 by default.
        matrices: usize,
        /// The diagonal of `permutation-diagonal`: `real` (the default), `complex`, or `one`, choices alone.
        diagonal: Diagonal,
        /// The choices of `permutation-diagonal`: each state is sent to one (`columns`, the default) or fetched from one (`rows`).
        one_hot: OneHot,
        /// A step of the flow: `exp`, exact (the default), or `euler`, to first order.
        transition: Transition,
        /// Whether flows may expand: `free` (the default for tokens), or `contractive`, never, which needs `exp` and blocks (the default for numbers).
        stability: StabilityName,
        /// The standard deviation of the first entries of the matrices, times the root of the block size; 1 by default.
        init: f64,
        /// The function of a block's mixing layer: `tanh` (the default for tokens) or `glu` (that for numbers).
        block_activation: BlockActivation,
        /// Which rows are read: the `last` (the default for tokens, and where every observation has an output) or the `mean` (that for numbers).
        readout: Over,
        /// The share of the numbers behind each block that is dropped in training; 0.1 by default for numbers, else 0.
        dropout: f64,
    }
}

impl Preset for StackKeys {
    const KEYS: &'static [&'static [Keys]] = &[Self::KEYS];

    fn layers(&mut self, _: &str, facts: &Facts) -> Result<Built, Error> {
        let hidden = at_least("model.hidden", *self.hidden.get_or_insert(64), 1)?;
        let blocks = at_least("model.blocks", *self.blocks.get_or_insert(2), 1)?;
        let tokens = matches!(facts.signal.rows, Rows::Tokens { .. });
        let rate = *self.dropout.get_or_insert(if tokens { 0.0 } else { 0.1 });
        if !(0.0..1.0).contains(&rate) {
            return refuse("model.dropout", format!("{rate}; it is a share, from 0 to below 1"));
        }
        let members = self.members.get_or_insert(if tokens || facts.steps() { 1 } else { 4 });
        let members = at_least("model.members", *members, 1)?;
        if tokens && members > 1 {
            return refuse("model.members", format!("{members}, but the data are tokens, which only a stack reads; use 1"));
        }
        let (mut layers, mut slice) = (Vec::new(), Vec::new());
        let window = match (tokens, members) {
            (true, _) => self.no_windows()?,
            (_, 1) => self.windows(facts, &mut layers)?,
            _ => {
                slice = self.slice(hidden, facts)?;
                layers.push(slice.remove(0));
                layers.push(LayerSpec::Standardise(Standardise {}));
                facts.window(&mut self.window)?
            }
        };
        let states = match self.structure {
            Some(StructureName::PermutationDiagonal) if self.permutations == Some(true) => {
                return refuse("model.permutations", "true, but all states are `permutation-diagonal`; leave it out");
            }
            Some(StructureName::PermutationDiagonal) => self.permutation(hidden)?,
            _ => {
                let beside = *self.permutations.get_or_insert(tokens && !facts.steps());
                let mut states = self.linear(hidden, window, facts, beside)?;
                if beside {
                    let lists = vec![states, permutations(&self.choices(hidden, Initial::Learned)?)];
                    states = vec![Parallel { layers: lists }.into(), Linear { outputs: hidden }.into()];
                }
                states
            }
        };
        let usual = if tokens { BlockActivation::Tanh } else { BlockActivation::Glu };
        let activation = *self.block_activation.get_or_insert(usual);
        let linear = |outputs| LayerSpec::Linear(Linear { outputs });
        let width = match facts.signal.rows {
            Rows::Tokens { .. } => {
                let width = at_least("model.embedding", *self.embedding.get_or_insert(hidden), 1)?;
                layers.push(LayerSpec::Embedding(Embedding { width }));
                width
            }
            _ if self.embedding.is_some() => {
                return refuse("model.embedding", "set, but the data are numbers, not tokens; leave it out");
            }
            _ => 0,
        };
        if width != hidden {
            layers.push(linear(hidden));
        }
        layers.extend(stacked_on(blocks, &states, hidden, activation, rate));
        self.readout.get_or_insert(if tokens || facts.steps() { Over::Last } else { Over::Mean });
        let mut layers = read(&mut self.readout, &mut Some(0.0), layers, Vec::new(), facts)?;
        if members == 1 {
            return Ok((layers, Method::Gradient));
        }
        let windows = layers.remove(0);
        let member = |m: usize| if m.is_multiple_of(2) { layers.clone() } else { slice.clone() };
        let members = LayerSpec::Parallel(Parallel { layers: (0..members).map(member).collect() });
        Ok((vec![windows, members], Method::Gradient))
    }
}

impl StackKeys {
    /// States that the path moves linearly.
    fn linear(&mut self, hidden: usize, window: usize, facts: &Facts, beside: bool) -> Result<Vec<LayerSpec>, Error> {
        let drive = *self.drive.get_or_insert(BlockDrive::Tokens);
        let usual = if drive == BlockDrive::Tokens { 1.0 / 40.0 } else { 1.0 };
        let scale = positive("model.step", *self.step.get_or_insert(usual))?;
        let first = *self.first.get_or_insert(FirstRow::Starts);
        let tokens = matches!(facts.signal.rows, Rows::Tokens { .. });
        let structure =
            structure(&mut self.structure, hidden, (&mut self.block, &mut self.rank, &mut self.epsilon, &mut self.bound))?;
        let usual = if !tokens && self.may_contract() { StabilityName::Contractive } else { StabilityName::Free };
        let contractive = *self.stability.get_or_insert(usual) == StabilityName::Contractive;
        has_keys(
            self.structure.unwrap_or(StructureName::Block),
            &[
                ("matrices", self.matrices.is_some(), beside),
                ("diagonal", self.diagonal.is_some(), beside),
                ("one_hot", self.one_hot.is_some(), beside),
            ],
        )?;
        // The constant of tokens counts rows.
        let longest = match drive {
            BlockDrive::Tokens => facts.lengths.last().map_or(1.0, |&rows| rows.div_ceil(window) as f64),
            BlockDrive::Increments => facts.clock.longest,
        };
        let cde = LinearCde {
            hidden,
            structure,
            drive: if drive == BlockDrive::Tokens { Drive::Tokens {} } else { Drive::Increments { time: true } },
            input: InputTerm::None,
            initial: if first == FirstRow::Starts { Initial::First } else { Initial::Learned },
            transition: *self.transition.get_or_insert(Transition::Exp),
            scale,
            init: Scale::Scaled { deviation: positive("model.init", *self.init.get_or_insert(1.0))? },
            forget: None,
            stability: stability(contractive, scale * longest),
        };
        Ok(vec![LayerSpec::LinearCde(cde)])
    }

    /// Whether flows of these matrices can be kept from expanding.
    fn may_contract(&self) -> bool {
        use StructureName::{Block, Dense, Diagonal, DiagonalDense};
        self.transition.is_none_or(|transition| transition == Transition::Exp)
            && self.structure.is_none_or(|name| matches!(name, Block | Dense | Diagonal | DiagonalDense))
    }

    /// The layers of a `slice` for the same windows, with the same matrices.
    fn slice(&mut self, hidden: usize, facts: &Facts) -> Result<Vec<LayerSpec>, Error> {
        let window = facts.window(&mut self.window)?;
        let depth = facts.depth_of_few(&mut self.depth, window)?;
        // States that rows send to each other are for blocks alone.
        let structure = self.structure.filter(|&name| name != StructureName::PermutationDiagonal);
        let contractive = depth == 1 && facts.time && self.may_contract();
        let mut keys = SliceKeys {
            hidden: Some(hidden),
            structure,
            block: self.block,
            rank: self.rank,
            epsilon: self.epsilon,
            bound: self.bound,
            window: Some(window),
            depth: Some(depth),
            transition: self.transition,
            stability: contractive.then_some(StabilityName::Contractive),
            ..SliceKeys::default()
        };
        Ok(keys.layers("slice", facts)?.0)
    }

    /// States that rows send to each other.
    fn permutation(&mut self, hidden: usize) -> Result<Vec<LayerSpec>, Error> {
        let keys = [
            ("drive", self.drive.is_some()),
            ("step", self.step.is_some()),
            ("block", self.block.is_some()),
            ("rank", self.rank.is_some()),
            ("epsilon", self.epsilon.is_some()),
            ("bound", self.bound.is_some()),
            ("transition", self.transition.is_some()),
            ("stability", self.stability.is_some()),
            ("init", self.init.is_some()),
        ];
        has_keys(StructureName::PermutationDiagonal, &keys.map(|(key, set)| (key, set, false)))?;
        let first = *self.first.get_or_insert(FirstRow::Drives);
        let initial = if first == FirstRow::Starts { Initial::First } else { Initial::Learned };
        Ok(permutations(&self.choices(hidden, initial)?))
    }

    /// The recurrence of such states.
    fn choices(&mut self, hidden: usize, initial: Initial) -> Result<PermutationDiagonal, Error> {
        let matrices = at_least("model.matrices", *self.matrices.get_or_insert(8), 1)?;
        Ok(PermutationDiagonal {
            diagonal: *self.diagonal.get_or_insert(Diagonal::Real),
            one_hot: *self.one_hot.get_or_insert(OneHot::Columns),
            initial,
            ..PermutationDiagonal::new(hidden, matrices)
        })
    }

    /// Tokens are rows as they are.
    fn no_windows(&self) -> Result<usize, Error> {
        match [("model.window", self.window), ("model.depth", self.depth)].into_iter().find(|(_, own)| own.is_some()) {
            Some((key, _)) => refuse(key, "set, but the data are tokens, which are not cut into windows; leave it out"),
            None => Ok(1),
        }
    }

    /// Windows of numbers, standardised; how many observations each has.
    fn windows(&mut self, facts: &Facts, layers: &mut Vec<LayerSpec>) -> Result<usize, Error> {
        let window = facts.window(&mut self.window)?;
        let depth = at_least("model.depth", *self.depth.get_or_insert(1), 1)?;
        layers.push(LayerSpec::Windows(Windows { window, form: Form::LogSignature { depth, basis: Basis::Lyndon } }));
        layers.push(LayerSpec::Standardise(Standardise {}));
        Ok(window)
    }
}

/// `SLiCE` blocks, one after the other, on rows of as many numbers as a block has states.
///
/// ```
/// use ncde_train::{BlockActivation, stacked};
/// use ncde_runtime::layer::{Drive, Initial, InputTerm, LinearCde, Scale, Stability, StructureSpec};
/// let cde = LinearCde {
///     hidden: 8, structure: StructureSpec::Block { block: 4 }, drive: Drive::Tokens {}, input: InputTerm::None, initial: Initial::First,
///     transition: Default::default(), scale: 0.025, init: Scale::Scaled { deviation: 1.0 }, forget: None, stability: Stability::Free {},
/// };
/// // The recurrence beside its input, the mixing layer beside its own, a norm and dropout: twice.
/// assert_eq!(stacked(2, &cde, BlockActivation::Tanh, 0.1).len(), 8);
/// ```
pub fn stacked(blocks: usize, cde: &LinearCde, activation: BlockActivation, dropout: f64) -> Vec<LayerSpec> {
    stacked_on(blocks, &[LayerSpec::LinearCde(cde.clone())], cde.hidden, activation, dropout)
}

/// The same with any layers that make rows of `width` numbers from such rows in the place of the recurrence.
pub fn stacked_on(
    blocks: usize,
    states: &[LayerSpec],
    width: usize,
    activation: BlockActivation,
    dropout: f64,
) -> Vec<LayerSpec> {
    let (wide, function) = match activation {
        BlockActivation::Tanh => (width, Function::Each(Pointwise::Tanh)),
        BlockActivation::Glu => (2 * width, Function::Glu),
    };
    let block = || {
        let mix = vec![LayerSpec::Linear(Linear { outputs: wide }), LayerSpec::Activation(Activation { function })];
        let mut layers = vec![
            LayerSpec::Residual(Residual { layers: states.to_vec() }),
            LayerSpec::Residual(Residual { layers: mix }),
            LayerSpec::LayerNorm(LayerNorm { affine: true }),
        ];
        layers.extend((dropout > 0.0).then_some(LayerSpec::Dropout(Dropout { rate: dropout })));
        layers
    };
    (0..blocks).flat_map(|_| block()).collect()
}

/// A permutation-diagonal recurrence on rows of as many numbers as it has states: complex ones go through a linear layer.
pub fn permutations(layer: &PermutationDiagonal) -> Vec<LayerSpec> {
    let mut layers = vec![LayerSpec::PermutationDiagonal(layer.clone())];
    layers.extend((layer.width() != layer.hidden).then_some(LayerSpec::Linear(Linear { outputs: layer.hidden })));
    layers
}
