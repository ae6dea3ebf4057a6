//! The models that the thesis compares with: state-space models, recurrent networks, attention and its linear kin, as blocks on tokens or observations.
//!
//! ```text
//! x = W row + b, or an embedding;   a block: x + mix(norm x), then where the model has one x + W_2 glu(W_1 norm x)
//! ```
//!
//! | name | `mix` |
//! | --- | --- |
//! | `lru`, `s4d`, `s5`, `s6`, `linoss-im`, `linoss-imex`, `d-linoss` | the state-space model, `silu`, and a gate: `glu(W silu(ssm(x)))` |
//! | `mamba` | `W (s6(silu(convolution(U x))) silu(V x))`, `U` and `V` to twice as many numbers |
//! | `mamba2`, `mamba3` | the layer of that name, with twice as many numbers inside |
//! | `lstm`, `gru` | the layer alone, one on the other, without norm and skip |
//! | `gru-d` | the layer alone, on observations and their counts as they are; `gru` behind it |
//! | `slstm`, `mlstm`, `xlstm` | the cell of the paper, `mlstm` between layers as in `mamba`; `xlstm` takes both by turns |
//! | `rwkv7` | the time mixing of RWKV-7 |
//! | `transformer` | attention with positions in real time |
//! | `linear-attention`, `deltanet`, `deltanet-negative`, `gated-deltanet`, `delta-product`, `gated-delta-product` | the layer `delta-net` with the settings of that name |

use ncde_kernels::neural::Activation as Pointwise;
use ncde_runtime::At;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{
    Activation, Attention, Convolution, DeltaNet, Discretisation, Dropout, Embedding, Function, Gru, GruD, LayerNorm, Linear,
    Lstm, Mamba2, Mamba3, Mlstm, Oscillators, Over, Product, Residual, Rows, Rwkv, Scheme, Selective, Signal, Slstm, StateSpace,
};

use super::head::read;
use super::{Built, Clock, Facts, Method, Preset};
use crate::Error;
use crate::config::table;
use crate::settings::{at_least, refuse};

table! {
    /// The keys of the models that the thesis compares with.
    pub(crate) SequenceKeys {
        /// How many blocks there are; 2 by default.
        blocks: usize,
        /// The numbers between blocks, and the states of `lstm`, `gru`, `gru-d` and `slstm`; 64 by default.
        hidden: usize,
        /// States of `lru`, `s5` and of oscillators in all (64), of each number in `s4d`, `s6`, `mamba` (16), `mamba2` and `mamba3` (64).
        states: usize,
        /// Heads of attention, of its linear kin and of `mamba2`, `mamba3`, `slstm`, `mlstm` and `xlstm`; 4 by default, fewer where they do not divide the numbers.
        heads: usize,
        /// Factors a row of `delta-product` and `gated-delta-product`; 2 by default.
        products: usize,
        /// How many rows the convolution of `mamba` and `mamba2` sees; 4 by default.
        convolution: usize,
        /// To how many times the numbers between blocks `mamba`, `mamba2` and `mamba3` widen them inside; 2 by default.
        expand: usize,
        /// How many rows a row of a `transformer` sees; by default as many as the longest series has, 4096 at most.
        context: usize,
        /// Whether the steps of `lru`, `s4d`, `s5`, `s6`, `mamba`, `mamba2`, `mamba3`, `linoss-im` and `gru-d` are the real gaps between observations; yes by default where gaps are uneven.
        real_gaps: bool,
        /// Which rows are read: the `last` (the default for tokens, and where every observation has an output) or the `mean` (that for numbers).
        readout: Over,
        /// The share of the numbers behind each block that is dropped in training; 0.1 by default for numbers, else 0.
        dropout: f64,
    }
}

/// The longest context of a `transformer` by default.
const MAX_CONTEXT: usize = 4096;

fn linear(outputs: usize) -> LayerSpec {
    Linear { outputs }.into()
}

fn silu() -> LayerSpec {
    Activation { function: Function::Each(Pointwise::Silu) }.into()
}

fn glu() -> LayerSpec {
    Activation { function: Function::Glu }.into()
}

/// `x + f(norm x)`.
fn residual(mut layers: Vec<LayerSpec>, dropout: f64) -> LayerSpec {
    layers.insert(0, LayerNorm { affine: true }.into());
    if dropout > 0.0 {
        layers.push(Dropout { rate: dropout }.into());
    }
    Residual { layers }.into()
}

/// `W (f(U x) silu(V x))`, with `U` and `V` to `inside` numbers.
fn gated(inside: usize, states: Vec<LayerSpec>, hidden: usize) -> Vec<LayerSpec> {
    let states = [vec![linear(inside)], states].concat();
    vec![Product { layers: vec![states, vec![linear(inside), silu()]] }.into(), linear(hidden)]
}

/// The most heads, `most` at most, that share `width` numbers equally.
fn heads_of(most: usize, width: usize) -> usize {
    (1..=most).rev().find(|heads| width.is_multiple_of(*heads)).unwrap_or(1)
}

impl Preset for SequenceKeys {
    const KEYS: &'static [&'static [crate::config::Keys]] = &[Self::KEYS];

    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error> {
        let hidden = at_least("model.hidden", *self.hidden.get_or_insert(64), 1)?;
        let blocks = at_least("model.blocks", *self.blocks.get_or_insert(2), 1)?;
        let tokens = matches!(facts.signal.rows, Rows::Tokens { .. });
        let dropout = *self.dropout.get_or_insert(if tokens { 0.0 } else { 0.1 });
        if !(0.0..1.0).contains(&dropout) {
            return refuse("model.dropout", format!("{dropout}; it is a share, from 0 to below 1"));
        }
        self.only(name)?;
        let mut layers = match tokens {
            true => vec![Embedding { width: hidden }.into()],
            // It sees by counts which values are new.
            false if name == "gru-d" => Vec::new(),
            false => vec![linear(hidden)],
        };
        layers.extend(self.blocks(name, hidden, blocks, dropout, facts)?);
        self.readout.get_or_insert(if tokens || facts.steps() { Over::Last } else { Over::Mean });
        Ok((read(&mut self.readout, &mut Some(0.0), layers, Vec::new(), facts)?, Method::Gradient))
    }
}

/// The blocks of a model of this name on tokens, on rows of `hidden` numbers, of which a transformer sees the last `context`; with the norm behind them, without embedding and readout.
///
/// ```
/// let blocks = ncde_train::sequence_blocks("deltanet-negative", 32, 2, 0.0, 256)?;
/// // Two blocks of a memory and a feed-forward layer, and a norm.
/// assert_eq!(blocks.len(), 5);
/// # Ok::<(), ncde_train::Error>(())
/// ```
///
/// # Errors
/// If there is no such model, or a size is 0.
pub fn sequence_blocks(name: &str, hidden: usize, blocks: usize, dropout: f64, context: usize) -> Result<Vec<LayerSpec>, Error> {
    if !super::presets().any(|(known, _)| known == name) {
        return refuse("model.name", format!("`{name}`, which there is not"));
    }
    let signal = Signal { rows: Rows::Tokens { vocabulary: 1 }, statics: 0, pooled: false };
    let facts = Facts {
        signal,
        lengths: vec![context],
        at: At::End,
        outputs: 1,
        time: false,
        channels: 1,
        period: None,
        clock: Clock::default(),
    };
    SequenceKeys::default().blocks(name, hidden, blocks, dropout, &facts)
}

impl SequenceKeys {
    /// All blocks, and the norm behind them.
    fn blocks(&mut self, name: &str, hidden: usize, blocks: usize, dropout: f64, facts: &Facts) -> Result<Vec<LayerSpec>, Error> {
        let mut layers = Vec::new();
        for block in 0..blocks {
            layers.extend(self.block(name, block, hidden, dropout, facts)?);
        }
        if !matches!(name, "lstm" | "gru" | "gru-d") {
            layers.push(LayerNorm { affine: true }.into());
        }
        Ok(layers)
    }

    /// Refuses keys that a model does not have.
    fn only(&self, name: &str) -> Result<(), Error> {
        let of_time = matches!(name, "lru" | "s4d" | "s5" | "s6" | "mamba" | "mamba2" | "mamba3") || name.contains("linoss");
        let has_heads = matches!(name, "mamba2" | "mamba3") || !of_time && !matches!(name, "lstm" | "gru" | "gru-d");
        let has_gaps = name == "gru-d" || of_time && !matches!(name, "linoss-imex" | "d-linoss");
        let keys = [
            ("model.states", self.states.is_some(), of_time),
            ("model.real_gaps", self.real_gaps.is_some(), has_gaps),
            ("model.heads", self.heads.is_some(), has_heads),
            ("model.convolution", self.convolution.is_some(), matches!(name, "mamba" | "mamba2")),
            ("model.expand", self.expand.is_some(), name.starts_with("mamba")),
            ("model.products", self.products.is_some(), name.ends_with("delta-product")),
            ("model.context", self.context.is_some(), name == "transformer"),
        ];
        match keys.into_iter().find(|(_, is_set, has)| *is_set && !has) {
            Some((key, ..)) => refuse(key, format!("set, but `{name}` has no such thing; leave it out")),
            None => Ok(()),
        }
    }

    /// The layers of one block.
    fn block(&mut self, name: &str, block: usize, hidden: usize, dropout: f64, facts: &Facts) -> Result<Vec<LayerSpec>, Error> {
        let feed_forward = || residual(vec![linear(4 * hidden), glu(), linear(hidden)], dropout);
        let behind = |layer: LayerSpec| match dropout > 0.0 {
            true => vec![layer, Dropout { rate: dropout }.into()],
            false => vec![layer],
        };
        Ok(match name {
            "lstm" => behind(Lstm { hidden }.into()),
            "gru-d" if block == 0 => {
                let tokens = matches!(facts.signal.rows, Rows::Tokens { .. });
                let values = match facts.of_knot() {
                    _ if tokens => [0, hidden],
                    [from, to] if from == to => [0, facts.width()],
                    knot => knot,
                };
                let counts = Some(values[1]).filter(|first| !tokens && *first < facts.width());
                behind(GruD { hidden, values, counts, gap: self.gap(facts)? }.into())
            }
            "gru" | "gru-d" => behind(Gru { hidden }.into()),
            "lru" | "s4d" | "s5" | "s6" | "linoss-im" | "linoss-imex" | "d-linoss" => {
                vec![residual(vec![self.state_space(name, hidden, facts)?, silu(), linear(2 * hidden), glu()], dropout)]
            }
            "mamba" => {
                let inside = self.inside(hidden)?;
                let size = at_least("model.convolution", *self.convolution.get_or_insert(4), 1)?;
                let states = vec![Convolution { size }.into(), silu(), self.state_space(name, inside, facts)?];
                vec![residual(gated(inside, states, hidden), dropout)]
            }
            "mamba2" | "mamba3" => {
                let inside = self.inside(hidden)?;
                let heads = heads_of(self.heads()?, inside);
                let states = at_least("model.states", *self.states.get_or_insert(64), if name == "mamba2" { 1 } else { 2 })?;
                let (head, gap) = (inside / heads, self.gap(facts)?);
                let layer = match name {
                    "mamba2" => {
                        let convolution = at_least("model.convolution", *self.convolution.get_or_insert(4), 1)?;
                        Mamba2 { heads, head, states, convolution, gap }.into()
                    }
                    // Half of the states turn, as published.
                    _ => Mamba3 { heads, head, states, angles: (states / 4).max(1), gap }.into(),
                };
                vec![residual(vec![layer], dropout)]
            }
            "xlstm" => self.block(if block.is_multiple_of(2) { "mlstm" } else { "slstm" }, block, hidden, dropout, facts)?,
            "mlstm" => {
                let inside = (2 * hidden).next_multiple_of(4);
                let heads = heads_of(self.heads()?, inside);
                vec![residual(gated(inside, vec![Mlstm { heads, block: 4, convolution: 4 }.into()], hidden), dropout)]
            }
            "slstm" => {
                let heads = heads_of(self.heads()?, hidden);
                vec![residual(vec![Slstm { hidden, heads, convolution: 4 }.into()], dropout), feed_forward()]
            }
            "rwkv7" => {
                let (heads, rank) = (heads_of(self.heads()?, hidden), hidden.div_ceil(4).min(32));
                vec![residual(vec![Rwkv { heads, rank }.into()], dropout), feed_forward()]
            }
            "transformer" => {
                let heads = heads_of(self.heads()?, hidden);
                let longest = facts.lengths.last().copied().unwrap_or(1).clamp(1, MAX_CONTEXT);
                let context = at_least("model.context", *self.context.get_or_insert(longest), 1)?;
                let gap = if facts.clock.gap > 0.0 { facts.clock.gap } else { 1.0 };
                let head = (hidden / heads).next_multiple_of(2);
                vec![residual(vec![Attention { heads, head, context, gap }.into()], dropout), feed_forward()]
            }
            _ => {
                let heads = heads_of(self.heads()?, hidden);
                let several = name.ends_with("delta-product");
                let products = if several { at_least("model.products", *self.products.get_or_insert(2), 1)? } else { 1 };
                let gated = name.starts_with("gated");
                let layer = DeltaNet {
                    heads,
                    key: hidden / heads,
                    value: hidden / heads,
                    products,
                    convolution: 4,
                    negative: several || name == "deltanet-negative",
                    decay: gated,
                    gate: gated || several,
                    sum: name == "linear-attention",
                };
                vec![residual(vec![layer.into()], dropout), feed_forward()]
            }
        })
    }

    /// The numbers inside a block of a `mamba`.
    fn inside(&mut self, hidden: usize) -> Result<usize, Error> {
        Ok(hidden.saturating_mul(at_least("model.expand", *self.expand.get_or_insert(2), 1)?))
    }

    fn heads(&mut self) -> Result<usize, Error> {
        at_least("model.heads", *self.heads.get_or_insert(4), 1)
    }

    /// The time that counts as one step, where steps are the real gaps.
    fn gap(&mut self, facts: &Facts) -> Result<Option<f64>, Error> {
        let tokens = matches!(facts.signal.rows, Rows::Tokens { .. });
        let real_gaps = *self.real_gaps.get_or_insert(!tokens && facts.clock.is_uneven);
        if real_gaps && (tokens || facts.clock.gap <= 0.0) {
            return refuse("model.real_gaps", "true, but rows have no times; leave it out");
        }
        Ok(real_gaps.then_some(facts.clock.gap))
    }

    /// A state-space model of rows of so many numbers.
    fn state_space(&mut self, name: &str, width: usize, facts: &Facts) -> Result<LayerSpec, Error> {
        let all = matches!(name, "lru" | "s5") || name.contains("linoss");
        let states = at_least("model.states", *self.states.get_or_insert(if all { 64 } else { 16 }), 1)?;
        // Of oscillators only the implicit step is stable for gaps of any length.
        let scheme = match name {
            "linoss-imex" => Scheme::Explicit,
            "d-linoss" => Scheme::Damped,
            _ => Scheme::Implicit,
        };
        let gap = if scheme == Scheme::Implicit { self.gap(facts)? } else { None };
        let discretisation = if name == "lru" { Discretisation::Powers } else { Discretisation::ZeroOrderHold };
        Ok(match name {
            "linoss-im" | "linoss-imex" | "d-linoss" => Oscillators { states, scheme, gap }.into(),
            "s6" | "mamba" => Selective { states, rank: width.div_ceil(16), gap }.into(),
            _ => StateSpace { states, discretisation, per_channel: name == "s4d", gap }.into(),
        })
    }
}
