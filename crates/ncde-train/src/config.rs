//! The settings of a training run, as a TOML file holds them.
//!
//! ```toml
//! [data]
//! train = "walks.csv"
//! [model]
//! name = "slice"
//! hidden = 64
//! ```
//!
//! Every key may be left out: what is not said is decided from the data by [`Settings::of`](super::Settings::of). An unknown key, or one
//! in the wrong table, is an error that names the right one.

use std::path::PathBuf;

use ncde_data::TaskName;
use ncde_runtime::LayerSpec;
use serde::{Deserialize, Serialize};

use super::Error;
use super::assign::{assign, put};
use super::loss::LossName;
use super::names::{ClassWeights, MissingName, Scale, SplitBy};
use super::optimizer::OptimizerName;
use super::preset;
use super::schedule::Shape;
use super::threshold::ThresholdBy;

/// Declares a table of the configuration: optional keys with their names and meanings, and maybe a group of keys that other tables have as well. Unknown keys are refused
/// before ([`Config::from_toml`]), where the right table is known.
macro_rules! table {
    ($(#[$meta:meta])* $vis:vis $name:ident { $(@$group:ident: $keys:ty;)? $($(#[doc = $doc:literal])* $key:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        $vis struct $name {
            $($(#[doc = $doc])* #[serde(skip_serializing_if = "Option::is_none")] $vis $key: Option<$type>,)*
            $(
                /// More keys of this table.
                #[serde(flatten)]
                $vis $group: $keys,
            )?
        }

        impl $name {
            /// The keys of this table, those of the group aside, what they mean, and their types.
            $vis const KEYS: &[$crate::config::Keys] = &[$((stringify!($key), concat!($($doc),*), stringify!($type)),)*];
        }
    };
}
pub(super) use table;

/// A key, its meaning and its type.
pub(super) type Keys = (&'static str, &'static str, &'static str);

table! {
    /// `[data]`: where series come from, and which of them are for what.
    pub DataConfig {
        @columns: ncde_data::Columns;
        /// The file to train on, or a folder with one CSV a case.
        train: PathBuf,
        /// A file to test on.
        test: PathBuf,
        /// A second file with labels (and static covariates) for `train`.
        labels: PathBuf,
        /// The same for `test`.
        test_labels: PathBuf,
        /// What is predicted: `classification`, `regression` or `forecast`.
        task: TaskName,
        /// How many observations ahead a forecast looks: the largest horizon.
        horizon: usize,
        /// The smallest horizon; 1 by default, so that one model forecasts all from the next observation on.
        first_horizon: usize,
        /// The channels that a forecast is of; by default all that are numbers, and are not known ahead.
        target: Vec<String>,
        /// Channels whose later values are known when a forecast is made: holidays, prices.
        known: Vec<String>,
        /// Whether a forecast is of differences to the last known values, so that it follows a level or a trend; yes by default for models that are trained step by step.
        relative: bool,
        /// Whether what a model forecasts is added to exponential smoothing of each series; yes by default for a `reservoir`.
        smoothing: bool,
        /// Whether observations lie on a grid of time with some left out, so that horizons count steps of time and not observations; by default if they do.
        grid: bool,
        /// A JSON file that says, for each seed, which cases are for what: `{"SEED": {"val": [...], "test": [...]}}`, `train` the others if it is not said; cases by
        /// place from 0 (the training file, then the test file), or by id.
        parts: PathBuf,
        /// What decides which cases are tested on: the `files`, a file of `parts`, chance (`random`), `time` (of each series the last observations; the default for a forecast or labels at steps of fewer than 10 series), or chance as the thesis's code draws it today (`thesis-jax-0.5`, or `thesis`) or drew it in 2024 (`thesis-jax-0.4`).
        split: SplitBy,
        /// How many observations of a series that is split by time are looked at together: what a step of training sees at most, half of it to warm up; 8 times the horizon or the period, from 256 to 2048.
        stretch: usize,
        /// The share of cases to validate on.
        validation: f64,
        /// The share of cases to test on, if chance decides.
        test_share: f64,
        /// Whether each part gets its share of each class.
        stratified: bool,
        /// Whether exact copies of a series are removed first.
        deduplicate: bool,
        /// Into how many parts the cases are cut, of which one is tested on (k-fold).
        folds: usize,
        /// Which part is tested on, from 0 (k-fold).
        fold: usize,
    }
}

table! {
    /// `[prepare]`: how observations become a path.
    pub PrepareConfig {
        /// How channels are scaled: `standard` (mean 0, deviation 1), `min-max` (to the range from -1 to 1) or `none`.
        scale: Scale,
        /// Whether time is a channel of the path.
        time: bool,
        /// What happens to missing values: `refuse`, `forward` (the last value is taken), or `counts` (also, and how many were seen is a channel).
        missing: MissingName,
    }
}

/// `[model]`: what is trained, a preset with its own keys or a list of layers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    /// Which preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The keys of the preset.
    #[serde(flatten)]
    pub keys: toml::Table,
    /// The layers of a model of one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerSpec>,
}

/// The keys of `[model]` that are not a preset's.
const MODEL_KEYS: &[Keys] = &[
    ("name", " Which model: `reservoir`, `slice`, `stack`, `ncde`, `nrde`, `log-ncde` or `signature`.", "String"),
    ("layers", " The layers of a model of one's own, one `[[model.layers]]` each, in place of a name.", "Vec<LayerSpec>"),
];

table! {
    /// `[train]`: how it is trained.
    pub TrainConfig {
        /// The most steps.
        steps: usize,
        /// Series a step.
        batch: usize,
        /// The learning rate.
        rate: f64,
        /// How the rate changes: down to its floor as a `cosine` or `linear`, or `constant`.
        schedule: Shape,
        /// The last rate; 0 by default.
        floor: f64,
        /// Steps until the rate is full, from 0.
        warmup: usize,
        /// How far outputs are from what should come out: `cross-entropy` of classes; of numbers `squared` (the default), `absolute` or `huber`.
        loss: LossName,
        /// How weights follow their gradients: `adamw` (the default), `adam`, `sgd` (with momentum), `lion` or `muon`.
        optimizer: OptimizerName,
        /// The decay of weights, times the rate: 1 by default under `adamw`, 0 under `sgd`, `lion` and `muon`; `adam` has none.
        weight_decay: f64,
        /// The decay of a moving average of weights, which is then what is evaluated and saved: 0.999, for example; no average by default.
        average: f64,
        /// The factor of the penalty on the vector field.
        penalty: f64,
        /// How much a class counts: `none` for every case the same, `balanced` for every class the same.
        class_weights: ClassWeights,
        /// From which probability on a class is predicted, in place of the likeliest class: `f1` and `cost` find it on cases that are not learned from (left out one at a
        /// time, or of the validation part), a number is taken as it is.
        threshold: ThresholdBy,
        /// The class that the threshold is of; the rarest by default.
        positive: String,
        /// What a missed case of that class costs with `threshold=cost`, in false alarms; by default as many as there are cases of other classes for one of it.
        miss_cost: f64,
        /// Steps until all cases take part, the shortest first; half of all steps by default for tokens of different lengths with a label each, else 0.
        short_first: usize,
        /// The largest norm of a gradient; 0 for no limit.
        clip: f64,
        /// Steps between two evaluations of the validation part.
        evaluate_every: usize,
        /// Steps without improvement after which training stops; 0 for never.
        patience: usize,
        /// What an improvement is measured by: `loss`, `accuracy`, `balanced_accuracy`, `auroc`, `f1`; of numbers `mse`, `mae`, `r2`.
        metric: String,
        /// Minutes after which training stops; 0 for no limit.
        minutes: f64,
        /// The seed of everything random.
        seed: u64,
    }
}

impl TrainConfig {
    /// A key that is set and that only a model trained step by step has.
    pub(super) fn of_steps(&self) -> Option<String> {
        let set = toml::Table::try_from(self).unwrap_or_default();
        let any = toml::Table::try_from(Self::clone(self).without_steps()).unwrap_or_default();
        set.keys().find(|key| !any.contains_key(*key)).cloned()
    }

    /// The keys alone that a model has that is solved for.
    pub(super) fn without_steps(self) -> Self {
        let Self { class_weights, threshold, positive, miss_cost, metric, seed, .. } = self;
        Self { class_weights, threshold, positive, miss_cost, metric, seed, ..Self::default() }
    }
}

/// Everything that can be set.
#[expect(missing_docs, reason = "each is the table of its name")]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub data: DataConfig,
    pub prepare: PrepareConfig,
    pub model: ModelConfig,
    pub train: TrainConfig,
}

impl DataConfig {
    /// Whether a forecast is wanted.
    pub fn is_forecast(&self) -> bool {
        let says_so = self.horizon.is_some() || self.target.is_some() || self.known.is_some();
        self.task.map_or(says_so, |task| task == TaskName::Forecast)
    }

    /// How the files are read.
    pub fn options(&self, labels: Option<&PathBuf>) -> ncde_data::ReadOptions {
        ncde_data::ReadOptions {
            labels: labels.cloned(),
            columns: self.columns.clone(),
            task: self.task,
            ..ncde_data::ReadOptions::default()
        }
    }
}

/// The tables, with the keys of each and their meanings; those of all presets, or of one.
pub(super) fn tables(preset: Option<&str>) -> [(&'static str, Vec<Keys>); 4] {
    [
        ("data", [DataConfig::KEYS, ncde_data::Columns::KEYS].concat()),
        ("prepare", PrepareConfig::KEYS.to_vec()),
        ("model", MODEL_KEYS.iter().copied().chain(preset::keys(preset)).collect()),
        ("train", TrainConfig::KEYS.to_vec()),
    ]
}

impl Config {
    /// Reads TOML.
    ///
    /// # Errors
    /// If it is not TOML, has a key that does not exist or stands in the wrong table, or a value that makes no sense.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| config(e.to_string().trim_end().to_owned()))?;
        for (name, value) in &table {
            check_table(name, value)?;
        }
        let layers = table.get("model").and_then(|model| model.get("layers")?.as_array());
        layers.into_iter().flatten().enumerate().try_for_each(|(i, layer)| check_layer(i, layer))?;
        toml::from_str(text).map_err(|e| config(e.to_string().trim_end().to_owned()))
    }

    /// As TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The full name, `table.key`, of a key that may be named without its table.
    ///
    /// # Errors
    /// If there is no such key; it names the ones there are.
    pub fn full_key(key: &str) -> Result<String, Error> {
        let (table, own) = key.split_once('.').or_else(|| Some((home(key)?, key))).ok_or_else(|| unknown(key, None))?;
        let any = toml::Table::from_iter([(own.to_owned(), toml::Value::Boolean(true))]);
        check_table(table, &any.into())?;
        Ok(format!("{table}.{own}"))
    }

    /// Sets one key, `table.key = value`, or `key = value` where only one table has it.
    ///
    /// # Errors
    /// If there is no such key, or it cannot have this value.
    pub fn set(&mut self, assignment: &str) -> Result<(), Error> {
        let wrong = |e: &dyn std::fmt::Display| config(format!("`{assignment}`: {}", e.to_string().trim_end()));
        let mut all = serde_json::to_value(&*self).map_err(|e| wrong(&e))?;
        assign(&mut all, assignment, Self::full_key)?;
        *self = serde_json::from_value(all).map_err(|e| wrong(&e))?;
        Ok(())
    }

    /// Sets one key, named as for [`set`](Self::set), to a value that is no text.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn put(&mut self, key: &str, value: serde_json::Value) -> Result<(), Error> {
        let shown = value.to_string();
        let wrong = |e: &dyn std::fmt::Display| config(format!("`{key}={shown}`: {}", e.to_string().trim_end()));
        let mut all = serde_json::to_value(&*self).map_err(|e| wrong(&e))?;
        put(&mut all, key, value, Self::full_key)?;
        *self = serde_json::from_value(all).map_err(|e| wrong(&e))?;
        Ok(())
    }
}

fn check_table(name: &str, value: &toml::Value) -> Result<(), Error> {
    let tables = tables(None);
    let Some((_, keys)) = tables.iter().find(|(table, _)| *table == name) else {
        if let Some(table) = home(name) {
            return Err(config(format!("key `{name}` stands outside of a table; it belongs to `[{table}]`")));
        }
        let names: Vec<String> = tables.iter().map(|(table, _)| format!("[{table}]")).collect();
        return Err(config(format!("there is no table `[{name}]`; there are {}", names.join(", "))));
    };
    let Some(table) = value.as_table() else {
        return Err(config(format!("`{name}` is a table: write `[{name}]` and its keys below")));
    };
    match table.keys().find(|key| !has(keys, key)) {
        None => Ok(()),
        Some(key) => Err(unknown(key, Some(name))),
    }
}

/// Reads a layer by itself, so that an error names it.
fn check_layer(i: usize, layer: &toml::Value) -> Result<(), Error> {
    let name = layer.get("layer").and_then(toml::Value::as_str).unwrap_or_default();
    let Err(error) = LayerSpec::deserialize(layer.clone()) else { return Ok(()) };
    let error = error.to_string();
    let scored = LayerSpec::NAMES.iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let close = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.8 && error.contains("unknown variant"));
    Err(config(match close {
        Some((_, known)) => format!("`model.layers.{i}`: there is no layer `{name}`; did you mean `{known}`?"),
        None => format!("`model.layers.{i} ({name})`: {}", error.trim_end()),
    }))
}

/// The only table that has this key.
fn home(key: &str) -> Option<&'static str> {
    tables(None).into_iter().find(|(_, keys)| has(keys, key)).map(|(table, _)| table)
}

fn has(keys: &[Keys], key: &str) -> bool {
    keys.iter().any(|(own, ..)| *own == key)
}

fn unknown(key: &str, table: Option<&str>) -> Error {
    let place = table.map_or(String::new(), |table| format!(" in `[{table}]`"));
    if let Some(right) = home(key) {
        return config(format!("key `{key}`{place} belongs to `[{right}]`"));
    }
    let tables = tables(None);
    let all = tables.iter().flat_map(|(table, keys)| keys.iter().map(move |(key, ..)| (*table, *key)));
    let scored = all.map(|(own, close)| {
        // In the same table first.
        (strsim::jaro_winkler(key, close) + if Some(own) == table { 0.05 } else { 0.0 }, own, close)
    });
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.75);
    match best {
        Some((_, own, close)) => config(format!("there is no key `{key}`{place}; did you mean `{close}` of `[{own}]`?")),
        None => {
            let near = tables.iter().filter(|(own, _)| table.is_none_or(|table| *own == table));
            let list = near.map(|(own, keys)| {
                let names = keys.iter().map(|(key, ..)| *key).collect::<Vec<_>>().join(", ");
                if table.is_some() { names } else { format!("in `[{own}]` {names}") }
            });
            config(format!("there is no key `{key}`{place}; there are {}", list.collect::<Vec<_>>().join("; ")))
        }
    }
}

fn config(problem: String) -> Error {
    Error::Config(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_written() {
        let text = "[model]\nname = \"slice\"\nhidden = 32\n\n[train]\nrate = 0.001\nschedule = \"cosine\"\n";
        let config = Config::from_toml(text).unwrap();
        assert_eq!((config.model.keys["hidden"].as_integer(), config.train.schedule), (Some(32), Some(Shape::Cosine)));
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
    }

    #[test]
    fn one_key_at_a_time() {
        let mut config = Config::default();
        for assignment in ["train.rate=0.5", "hidden = 8", "model.structure=walsh-hadamard", "statics=[\"age\"]"] {
            config.set(assignment).unwrap();
        }
        assert_eq!((config.train.rate, config.model.keys["hidden"].as_integer()), (Some(0.5), Some(8)));
        assert_eq!(config.model.keys["structure"].as_str(), Some("walsh-hadamard"));
        assert_eq!(config.data.columns.statics, Some(vec!["age".to_owned()]));
    }

    #[test]
    fn mistakes_are_told_with_the_right_key() {
        let cases = [
            ("[model]\nhiden = 3\n", "did you mean `hidden` of `[model]`?"),
            ("[model]\nrate = 3\n", "key `rate` in `[model]` belongs to `[train]`"),
            ("hidden = 3\n", "it belongs to `[model]`"),
            ("[mdoel]\n", "there is no table `[mdoel]`"),
            ("[train]\nsteps = \"many\"\n", "invalid type"),
            ("[train]\nschedule = \"cosin\"\n", "unknown variant `cosin`"),
            ("[[model.layers]]\nlayer = \"lineer\"\n", "`model.layers.0`: there is no layer `lineer`; did you mean `linear`?"),
            (
                "[[model.layers]]\nlayer = \"gru\"\nhiden = 3\n",
                "`model.layers.0 (gru)`: unknown field `hiden`, expected `hidden`",
            ),
            ("[train]\nxyzzy = 1\n", "there are steps, batch"),
            ("[train\n", "TOML parse error"),
        ];
        for (text, wanted) in cases {
            let message = Config::from_toml(text).unwrap_err().to_string();
            assert!(message.contains(wanted), "{text}: {message}");
        }
        let mut config = Config::default();
        assert!(config.set("rate").unwrap_err().to_string().contains("is not `key=value`"));
        assert!(config.set("model.rate=1").unwrap_err().to_string().contains("belongs to `[train]`"));
    }
}
