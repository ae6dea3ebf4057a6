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
use crate::settings::{at_least, refuse};

/// The most coordinates of a window that the head sees; of more, it sees the increment alone.
pub(super) const MAX_SEEN_COORDINATES: usize = 256;

/// The keys of a head.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) readout: &'a mut Option<Over>,
    pub(super) norm: &'a mut Option<bool>,
    pub(super) skip: &'a mut Option<bool>,
    pub(super) dropout: &'a mut Option<f64>,
    pub(super) head_width: &'a mut Option<usize>,
    pub(super) head_layers: &'a mut Option<usize>,
    /// The channels of the knot that are seen beside the state; none: all.
    pub(super) knot: Option<[usize; 2]>,
}

impl Head<'_> {
    /// The layers from a state layer on, which has `hidden` states and is given windows of `coordinates`.
    pub(super) fn layers(
        self,
        state: LayerSpec,
        hidden: usize,
        coordinates: usize,
        facts: &Facts,
    ) -> Result<Vec<LayerSpec>, Error> {
        let mut states = vec![state];
        if *self.norm.get_or_insert(true) {
            states.push(LayerSpec::LayerNorm(LayerNorm { affine: false }));
        }
        if *self.skip.get_or_insert(true) {
            let coordinates = if coordinates <= MAX_SEEN_COORDINATES { coordinates } else { facts.width() };
            states = vec![LayerSpec::Beside(Beside { coordinates, knot: self.knot, layers: states })];
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
        read(self.readout, self.dropout, states, hidden_layers, facts)
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
