//! The head of `slice` and of the neural models: what reads their states.
//!
//! ```text
//! y = W mean_k g(norm(h_k), u_k) + b,  or of the last state alone;   g hidden layers with SiLU,   u_k the window and its knot, beside the state
//! ```

use ncde_kernels::neural::Activation as Pointwise;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Activation, Beside, Dropout, Function, LayerNorm, Linear, Over, Pool};

use super::Facts;
use crate::Error;
use crate::config::table;
use crate::settings::{at_least, refuse};

/// The most coordinates of a window that the head sees; of more, it sees the increment alone.
pub(super) const MAX_SEEN_COORDINATES: usize = 256;

table! {
    /// The keys of a head.
    pub(crate) HeadKeys {
        /// Whether the head sees states with mean 0 and variance 1; yes by default.
        norm: bool,
        /// Whether the head sees each window and its last observation beside the state; yes by default.
        skip: bool,
        /// Which states are read: their `mean` (the default) or the `last`.
        readout: Over,
        /// The share of what the last layer reads that is dropped in training.
        dropout: f64,
        /// The width of the hidden layers of the head; as many as states by default.
        head_width: usize,
        /// How many hidden layers the head has, 1 by default; 0 for a linear one.
        head_layers: usize,
    }
}

impl HeadKeys {
    /// The layers from a state layer on, which has `hidden` states and is given windows of `coordinates`; `knot` are the channels of the knot that are seen beside the
    /// state, all if there are none.
    pub(super) fn layers(
        &mut self,
        state: LayerSpec,
        hidden: usize,
        (coordinates, knot): (usize, Option<[usize; 2]>),
        facts: &Facts,
    ) -> Result<Vec<LayerSpec>, Error> {
        let mut states = vec![state];
        if *self.norm.get_or_insert(true) {
            states.push(LayerSpec::LayerNorm(LayerNorm { affine: false }));
        }
        if *self.skip.get_or_insert(true) {
            let coordinates = if coordinates <= MAX_SEEN_COORDINATES { coordinates } else { facts.width() };
            states = vec![LayerSpec::Beside(Beside { coordinates, knot, layers: states })];
        }
        let mut hidden_layers = Vec::new();
        let count = *self.head_layers.get_or_insert(1);
        if count > 0 {
            let width = at_least("model.head_width", *self.head_width.get_or_insert(hidden), 1)?;
            for _ in 0..count {
                hidden_layers.push(LayerSpec::Linear(Linear { outputs: width }));
                hidden_layers.push(LayerSpec::Activation(Activation { function: Function::Each(Pointwise::Silu) }));
            }
        }
        read(&mut self.readout, &mut self.dropout, states, hidden_layers, facts)
    }
}

/// States, hidden layers, the readout of a series or of every row, dropout and the last layer.
pub(super) fn read(
    readout: &mut Option<Over>,
    dropout: &mut Option<f64>,
    mut layers: Vec<LayerSpec>,
    hidden: Vec<LayerSpec>,
    facts: &Facts,
) -> Result<Vec<LayerSpec>, Error> {
    let pool = |over| LayerSpec::Pool(Pool { over });
    match (facts.steps(), *readout.get_or_insert(if facts.steps() { Over::Last } else { Over::Mean })) {
        (true, Over::Mean) => {
            return refuse("model.readout", "`mean`, but an output is asked for at every observation; use `last`");
        }
        (true, Over::Last) => layers.extend(hidden),
        // The last row is all that is read: the others need no hidden layers.
        (false, Over::Last) => layers.extend([pool(Over::Last)].into_iter().chain(hidden)),
        (false, Over::Mean) => layers.extend(hidden.into_iter().chain([pool(Over::Mean)])),
    }
    let rate = *dropout.get_or_insert(0.0);
    if !(0.0..1.0).contains(&rate) {
        return refuse("model.dropout", format!("{rate}; it is a share, from 0 to below 1"));
    }
    if rate > 0.0 {
        layers.push(LayerSpec::Dropout(Dropout { rate }));
    }
    layers.push(LayerSpec::Linear(Linear { outputs: facts.outputs }));
    Ok(layers)
}
