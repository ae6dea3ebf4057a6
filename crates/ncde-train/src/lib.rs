//! Training: from data and settings to a saved model and a run record.
//!
//! ```text
//! Config + Dataset -> Settings -> Split -> Preparation -> layers (preset) -> Features -> State, step by step -> model directory
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `config`, `names`, `explain`, `settings` | what was asked for, and in words; what is done: every default, decided from the data |
//! | `preset` | models by name: from settings and facts about the data to a list of layers |
//! | `split`, `parts`, `threefry` | which case is for training, validation or testing; a published file of that; the order that the thesis's code takes them in |
//! | `by_time` | a few long series: parts by time, stretches to train on |
//! | `fit` | scalings, from the training part alone |
//! | `features` | the rows that a model is given, computed once |
//! | `goal` | targets, losses, metrics of each task |
//! | `slots`, `ahead`, `season`, `conformal` | forecasts: where observations lie in time, what lies ahead of each, what naive forecasts know, how far off they are |
//! | `event` | where a run trains, what happens meanwhile, what it leaves; work that is the same on every device |
//! | `state` | weights and moments, and one step of Adam |
//! | `learner` | a network that learns on any device from plain numbers, for loops of one's own |
//! | `batches` | which cases make up a step: a pure function of seed and step |
//! | `reservoir` | a reservoir, solved for in closed form |
//! | `score` | how good predictions are |
//! | `build`, `run`, `resume`, `record` | a run from settings and data; the loop, counted in steps; whether it may go on; what a finished run leaves behind |
//! | `directory`, `checkpoint`, `store` | one run in a directory at a time; what survives `kill -9`; the files of a saved model |
//! | `batched` | what a saved model says, on any device |
//! | `warning`, `baseline` | what looks wrong with the data; what a model should beat |
//! | `fingerprint` | whether data are those that a run was begun with |
//!
//! Everything random is a function of the seed and of a place, so that a run that was killed goes on to the same weights.

mod ahead;
mod baseline;
mod batched;
mod batches;
mod build;
mod by_time;
mod checkpoint;
mod config;
mod conformal;
pub mod demo;
mod directory;
mod error;
mod event;
mod explain;
mod features;
mod fingerprint;
mod fit;
mod goal;
mod learner;
mod names;
mod parts;
mod preset;
mod record;
mod reservoir;
mod resume;
mod run;
mod score;
mod season;
mod settings;
mod slots;
mod split;
mod state;
mod store;
mod threefry;
mod warning;

pub use batched::predict_on;
pub use by_time::Cut;
pub use config::{Config, DataConfig, ModelConfig, PrepareConfig, TrainConfig};
pub use directory::CONFIG;
pub use error::Error;
pub use event::{Device, Event, Outcome};
pub use learner::{Answers, Learner, Padded, learner};
pub use names::{
    BlockActivation, BlockDrive, ClassWeights, FirstRow, MissingName, OptimizerName, Scale, Schedule, SplitBy, StabilityName,
    TaskName,
};
pub use preset::{permutations, presets, stacked, stacked_on};
pub use run::Run;
pub use score::score;
pub use settings::Settings;
pub use split::{Parts, Split};
pub use store::{Answered, predict_all, predict_ends};
pub use threefry::Threefry;
pub use warning::Warning;
