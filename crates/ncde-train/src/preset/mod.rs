//! Models by name: short functions from settings and facts about the data to a list of layers.
//!
//! | preset | layers | file |
//! | --- | --- | --- |
//! | `reservoir` | fixed memories, pooled responses, a readout that is solved for | `reservoir` |
//! | `slice` | windows, a structured Linear NCDE, a head | `slice` |
//! | `stack` | `SLiCE` blocks on tokens or values, a readout | `stack` |
//! | `ncde`, `nrde`, `log-ncde` | windows, a neural CDE, a head | `neural` |
//! | `signature` | signature features, standardised, a linear readout | `signature` |
//! | `lru` to `gated-delta-product` | the models that the thesis compares with, as blocks | `sequence` |
//!
//! A preset is a table of keys, every one optional, and a function that fills those that are not set. A new one is a file and a line in `PRESETS`.

mod head;
mod neural;
mod reservoir;
mod sequence;
mod signature;
mod slice;
mod stack;

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{self, Memory, Reservoir, Rows, Signal};
use ncde_runtime::{At, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Error;
use super::config::{Keys, ModelConfig, TrainConfig};
use super::settings::{at_least, refuse};
use head::MAX_SEEN_COORDINATES;
pub use sequence::sequence_blocks;
pub(super) use signature::usual_depth;
pub use stack::{permutations, stacked, stacked_on};

/// What the defaults of a model depend on; all of it from the training part.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) signal: Signal,
    /// The lengths of the series, sorted.
    pub(super) lengths: Vec<usize>,
    /// Where outputs are asked for.
    pub(super) at: At,
    /// How many numbers come out.
    pub(super) outputs: usize,
    /// Whether time is channel 0.
    pub(super) time: bool,
    /// How many channels an observation has; time and counts, which grow for ever, come before and behind them.
    pub(super) channels: usize,
    /// The period of a season, if one was found, in the unit of time that layers see.
    pub(super) period: Option<f64>,
    pub(super) clock: Clock,
}

/// Times of the training part, in the unit that layers see.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    /// The longest duration of a series.
    pub(super) longest: f64,
    /// The middle one.
    pub(super) usual: f64,
    /// The middle gap between two observations.
    pub(super) gap: f64,
    /// A gap that a quarter of them are not above.
    pub(super) short: f64,
    /// Whether some gaps are clearly longer.
    pub(super) is_uneven: bool,
}

/// A gap is long if it is more than so many short ones, and gaps are uneven if more than this share of them are long.
const LONG_GAP: f64 = 1.25;
const MANY_GAPS: f64 = 0.01;

impl Clock {
    /// Of series with these times, times `factor`.
    pub(super) fn of<'a>(series: impl Iterator<Item = &'a [f64]> + Clone, factor: f64) -> Self {
        let sorted = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all
        };
        let at = |all: &[f64], place: usize| all.get(place).copied().unwrap_or(0.0) * factor;
        let durations = sorted(series.clone().filter_map(|times| Some(times.last()? - times.first()?)).collect());
        let gaps = sorted(series.flat_map(|times| times.windows(2).map(|w| w[1] - w[0])).collect());
        let (count, gap) = (gaps.len(), at(&gaps, gaps.len() / 2));
        let short = Some(at(&gaps, count / 4)).filter(|short| *short > 0.0).unwrap_or(gap);
        let long = gaps.iter().filter(|own| *own * factor > LONG_GAP * short).count();
        Self {
            longest: at(&durations, durations.len().saturating_sub(1)),
            usual: at(&durations, durations.len() / 2),
            gap,
            short,
            is_uneven: long as f64 > MANY_GAPS * count as f64,
        }
    }

    /// The same, if no more than so many observations are looked at together.
    pub(super) fn within(self, observations: usize) -> Self {
        let most = observations as f64 * self.gap;
        let within = |duration: f64| if most > 0.0 { duration.min(most) } else { duration };
        Self { longest: within(self.longest), usual: within(self.usual), ..self }
    }
}

/// About how many windows, and steps of a solver, a series is cut into.
const PIECES: f64 = 64.0;

/// The log-signatures of all windows may take about this much memory before a lower depth is the default.
const FEATURE_BYTES: f64 = 400e6;

impl Facts {
    /// From the lengths of the series of the training part.
    pub(super) fn new(signal: Signal, mut lengths: Vec<usize>, task: &Task, channels: usize, time: bool) -> Self {
        lengths.sort_unstable();
        Self {
            signal,
            lengths,
            at: task.at(),
            outputs: task.outputs(channels),
            time,
            channels,
            period: None,
            clock: Clock::default(),
        }
    }

    /// Channels of the path.
    fn width(&self) -> usize {
        self.signal.width()
    }

    /// Where the channels of an observation lie in a knot.
    fn of_knot(&self) -> [usize; 2] {
        let from = usize::from(self.time);
        [from, from + self.channels]
    }

    /// Whether an output is asked for at every observation.
    fn steps(&self) -> bool {
        self.at == At::Steps
    }

    fn median(&self) -> usize {
        self.lengths.get(self.lengths.len() / 2).copied().unwrap_or(1)
    }

    /// Refuses tokens, for a model of paths.
    fn path(&self, name: &str) -> Result<(), Error> {
        match self.signal.rows {
            Rows::Tokens { .. } => refuse("model.name", format!("`{name}`, but the data are tokens; use `stack`")),
            _ => Ok(()),
        }
    }

    /// The observations of a window.
    fn window(&self, asked: &mut Option<usize>) -> Result<usize, Error> {
        let fits = || if self.steps() { 1 } else { ((self.median() as f64 / PIECES).round() as usize).max(1) };
        at_least("model.window", *asked.get_or_insert_with(fits), 1)
    }

    /// The depth of log-signatures for a model in which every coordinate has weights or a bracket of its own: with many channels, pairs of them are too many.
    fn depth_of_few(&self, asked: &mut Option<usize>, window: usize) -> Result<usize, Error> {
        if self.width() * (self.width() + 1) / 2 > MAX_SEEN_COORDINATES {
            asked.get_or_insert(1);
        }
        self.depth(asked, window)
    }

    /// The depth of log-signatures.
    fn depth(&self, asked: &mut Option<usize>, window: usize) -> Result<usize, Error> {
        let windows: f64 = self.lengths.iter().map(|&length| length.div_ceil(window) as f64).sum();
        let coordinates = (self.width() * (self.width() + 1)) as f64 / 2.0;
        let fits = 4.0 * windows * coordinates <= FEATURE_BYTES && window > 1;
        at_least("model.depth", *asked.get_or_insert(if fits { 2 } else { 1 }), 1)
    }
}

/// Layers, and how they get their weights.
type Built = (Vec<LayerSpec>, Method);

/// A table of keys that becomes a list of layers.
trait Preset: Serialize + DeserializeOwned {
    /// The keys and what they mean, in one list or more.
    const KEYS: &'static [&'static [Keys]];
    /// Whether the readout is solved for.
    const IS_CLOSED_FORM: bool = false;

    /// Fills keys that are not set, and makes the layers.
    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error>;
}

/// How a model gets its weights.
#[derive(Debug, Clone)]
pub(crate) enum Method {
    /// Step by step, by the gradients of a loss.
    Gradient,
    /// All at once.
    ClosedForm(ClosedForm),
}

/// What a readout is solved for.
#[derive(Debug, Clone)]
pub(crate) enum ClosedForm {
    /// Pooled responses and summaries.
    Pooled(Reservoir),
    /// Memories of changes, and so many random functions of them.
    Steps { memory: Memory, random: usize },
}

/// Which model: decided once, from what is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    Preset(&'static Entry),
    Layers,
}

impl Choice {
    /// The model that is asked for by its name, its layers or its own keys; else a reservoir, but not for tokens, and not where something is asked for that only models
    /// have that are trained step by step.
    pub(crate) fn of(model: &ModelConfig, train: &TrainConfig, tokens: bool) -> Result<Self, Error> {
        let name = match &model.name {
            _ if !model.layers.is_empty() => return Ok(Self::Layers),
            Some(name) => name,
            None if tokens => "stack",
            None if Self::key_of_steps(model, train).is_none() => "reservoir",
            None => "slice",
        };
        match PRESETS.iter().find(|preset| preset.name == name) {
            Some(preset) => Ok(Self::Preset(preset)),
            None => {
                let names: Vec<String> = presets().map(|(name, _)| format!("`{name}`")).collect();
                refuse("model.name", format!("`{name}`; there are {}", names.join(", ")))
            }
        }
    }

    /// A key that is set and that no reservoir has, in full.
    pub(crate) fn key_of_steps(model: &ModelConfig, train: &TrainConfig) -> Option<String> {
        let is_reservoir = |key: &String| reservoir::ReservoirKeys::KEYS.iter().any(|(name, ..)| name == key);
        let own = model.keys.keys().find(|key| !is_reservoir(key)).map(|key| format!("model.{key}"));
        own.or_else(|| train.of_steps().map(|key| format!("train.{key}")))
    }

    pub(crate) fn is_closed_form(self) -> bool {
        matches!(self, Self::Preset(Entry { is_closed_form: true, .. }))
    }
}

/// A model whose every key is decided.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) name: String,
    pub(crate) layers: Vec<LayerSpec>,
    pub(crate) method: Method,
    /// `[model]` with every key that was not set.
    pub(crate) model: ModelConfig,
}

/// One line of the registry of presets.
#[derive(Debug)]
pub(crate) struct Entry {
    name: &'static str,
    keys: &'static [&'static [Keys]],
    /// What it is, in a few words.
    about: &'static str,
    is_closed_form: bool,
    /// Fills the keys of `[model]`, and makes the layers.
    build: fn(&mut ModelConfig, &str, &Facts) -> Result<Built, Error>,
}

impl Entry {
    fn keys(&self) -> impl Iterator<Item = Keys> {
        self.keys.iter().flat_map(|keys| keys.iter().copied())
    }

    fn has(&self, key: &str) -> bool {
        self.keys().any(|(name, ..)| name == key)
    }

    const fn of<P: Preset>(name: &'static str, about: &'static str) -> Self {
        Self { name, keys: P::KEYS, about, is_closed_form: P::IS_CLOSED_FORM, build: build::<P> }
    }
}

const PRESETS: &[Entry] = &[
    Entry::of::<reservoir::ReservoirKeys>("reservoir", "fixed memories and pooled responses, a readout solved in closed form"),
    Entry::of::<slice::SliceKeys>("slice", "a structured Linear NCDE over Log-ODE windows"),
    Entry::of::<stack::StackKeys>("stack", "SLiCE blocks on tokens or values"),
    Entry::of::<neural::NeuralKeys>("ncde", "a neural CDE along a smooth path through the observations"),
    Entry::of::<neural::NeuralKeys>("nrde", "a neural rough differential equation: a network onto the log-signature"),
    Entry::of::<neural::NeuralKeys>("log-ncde", "a neural CDE by the Log-ODE method: a network and its Lie brackets"),
    Entry::of::<signature::SignatureKeys>("signature", "a linear model of signature features"),
    Entry::of::<sequence::SequenceKeys>("lru", "linear recurrent units: diagonal complex states"),
    Entry::of::<sequence::SequenceKeys>("s4d", "diagonal state-space models of each number"),
    Entry::of::<sequence::SequenceKeys>("s5", "a diagonal state-space model of all numbers"),
    Entry::of::<sequence::SequenceKeys>("s6", "selective state-space models"),
    Entry::of::<sequence::SequenceKeys>("mamba", "selective state-space models behind convolutions and gates"),
    Entry::of::<sequence::SequenceKeys>("mamba2", "matrix-valued states that fade at one rate a head"),
    Entry::of::<sequence::SequenceKeys>("mamba3", "matrix-valued states that fade and turn, by trapezoidal steps"),
    Entry::of::<sequence::SequenceKeys>("linoss-im", "oscillators that rows drive, by implicit steps"),
    Entry::of::<sequence::SequenceKeys>("linoss-imex", "oscillators that rows drive, by explicit steps"),
    Entry::of::<sequence::SequenceKeys>("d-linoss", "damped oscillators that rows drive"),
    Entry::of::<sequence::SequenceKeys>("lstm", "long short-term memories"),
    Entry::of::<sequence::SequenceKeys>("gru", "gated recurrent units"),
    Entry::of::<sequence::SequenceKeys>("gru-d", "gated recurrent units that fade with the time since each channel was seen"),
    Entry::of::<sequence::SequenceKeys>("slstm", "LSTMs with exponential gates"),
    Entry::of::<sequence::SequenceKeys>("mlstm", "LSTMs with matrix-valued states"),
    Entry::of::<sequence::SequenceKeys>("xlstm", "mLSTM and sLSTM blocks by turns"),
    Entry::of::<sequence::SequenceKeys>("transformer", "causal attention with positions in real time"),
    Entry::of::<sequence::SequenceKeys>("rwkv7", "a memory that decays by keys and writes at rates of its own"),
    Entry::of::<sequence::SequenceKeys>("linear-attention", "attention without soft-max, as sums under keys"),
    Entry::of::<sequence::SequenceKeys>("deltanet", "a memory that overwrites what is stored under a key"),
    Entry::of::<sequence::SequenceKeys>("deltanet-negative", "DeltaNet with eigenvalues from -1 to 1"),
    Entry::of::<sequence::SequenceKeys>("gated-deltanet", "DeltaNet that forgets, with gates"),
    Entry::of::<sequence::SequenceKeys>("delta-product", "DeltaNet with several factors a row, eigenvalues from -1 to 1"),
    Entry::of::<sequence::SequenceKeys>("gated-delta-product", "the same that forgets"),
];

/// The name of a model that is given as layers.
pub(super) const OWN_LAYERS: &str = "layers";

/// The presets: names and what they are.
pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.name, preset.about))
}

/// The keys of a preset; those of all presets, each once, without a name.
pub(super) fn keys(name: Option<&str>) -> Vec<Keys> {
    let mut all: Vec<Keys> = Vec::new();
    for preset in PRESETS.iter().filter(|preset| name.is_none_or(|name| name == preset.name)) {
        all.extend(preset.keys().filter(|(key, ..)| !all.iter().any(|(seen, ..)| seen == key)).collect::<Vec<_>>());
    }
    all
}

/// The presets that have a key.
pub(super) fn having(key: &str) -> Vec<&'static str> {
    PRESETS.iter().filter(|preset| preset.has(key)).map(|preset| preset.name).collect()
}

/// The name of a model and its layers.
pub(super) fn resolve(choice: Choice, asked: &ModelConfig, facts: &Facts) -> Result<Resolved, Error> {
    let mut model = asked.clone();
    let Choice::Preset(preset) = choice else {
        if let Some(key) = model.name.as_ref().map(|_| "name").or(model.keys.keys().next().map(String::as_str)) {
            return Err(Error::Config(format!("`[model]` has both `layers` and `{key}`; a model is one or the other")));
        }
        complete(&mut model.layers, facts.outputs);
        layer::output(&model.layers, &facts.signal)?;
        ncde_layers::layer::check_gradient_flow(&model.layers, &facts.signal)?;
        return Ok(Resolved { name: OWN_LAYERS.into(), layers: model.layers.clone(), method: Method::Gradient, model });
    };
    let name = preset.name;
    model.name = Some(name.into());
    if let Some(key) = model.keys.keys().find(|key| !preset.has(key)) {
        let others = PRESETS.iter().filter(|other| other.has(key));
        let others: Vec<String> = others.map(|other| format!("`{}`", other.name)).collect();
        let have = if others.len() == 1 { "has" } else { "have" };
        return refuse(
            "model.name",
            format!("`{name}`, which has no `{key}`; {} {have} one, so leave it out", others.join(", ")),
        );
    }
    let (layers, method) = (preset.build)(&mut model, name, facts)?;
    // Sizes that cannot be are refused now, with the words of the layers.
    layer::output(&layers, &facts.signal)?;
    Ok(Resolved { name: name.into(), layers, method, model })
}

/// The last linear layer makes what the task needs, where that is not said; of several members, that of each.
fn complete(layers: &mut [LayerSpec], outputs: usize) {
    match layers.last_mut() {
        Some(LayerSpec::Linear(last)) if last.outputs == 0 => last.outputs = outputs,
        Some(LayerSpec::Parallel(last)) => last.layers.iter_mut().for_each(|list| complete(list, outputs)),
        _ => {}
    }
}

fn build<P: Preset>(config: &mut ModelConfig, name: &str, facts: &Facts) -> Result<Built, Error> {
    let problem = |e: &dyn std::fmt::Display| Error::Config(format!("`[model]`: {}", e.to_string().trim_end()));
    let read = |table: toml::Table| table.try_into::<P>();
    let mut keys = read(config.keys.clone()).map_err(|error| {
        // An error in a group of keys does not name its key.
        let is_wrong =
            |(key, value): &(&String, &toml::Value)| read(toml::Table::from_iter([((*key).clone(), (*value).clone())])).is_err();
        let key = config.keys.iter().find(is_wrong).map(|(key, _)| format!("in `{key}`")).unwrap_or_default();
        let text = error.to_string();
        if text.contains(&key) { problem(&text) } else { problem(&format!("{}\n{key}", text.trim_end())) }
    })?;
    let built = keys.layers(name, facts)?;
    config.keys = toml::Table::try_from(&keys).map_err(|e| problem(&e))?;
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that a key of a preset can have stands in its meaning.
    #[test]
    fn every_name_is_told() {
        let task = Task::Forecast(ncde_runtime::Forecast::one(1));
        let facts = Facts::new(Signal::values(2), vec![5], &task, 2, true);
        let mut told = 0;
        for preset in PRESETS {
            for (key, meaning, _) in preset.keys() {
                let mut config = ModelConfig { name: Some(preset.name.into()), ..ModelConfig::default() };
                config.keys.insert(key.into(), "no-such-name".into());
                let error = resolve(Choice::Preset(preset), &config, &facts).unwrap_err().to_string();
                let Some((_, wanted)) = error.split_once("unknown variant `no-such-name`, expected ") else { continue };
                for name in wanted.lines().next().unwrap_or_default().split('`').skip(1).step_by(2) {
                    assert!(error.contains(&format!("in `{key}`")), "{error}");
                    assert!(meaning.contains(&format!("`{name}`")), "`{key}` can be `{name}`, but its meaning is: {meaning}");
                    told += 1;
                }
            }
        }
        assert!(told > 40, "{told}");
    }
}
