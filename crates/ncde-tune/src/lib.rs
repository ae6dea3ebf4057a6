//! Searches over settings, without running anything: which runs there are, which continue, which is best.
//!
//! ```text
//! Space (a base, axes) -> trials: the product of the axes, or draws from it -> runs: trials x seeds x folds -> ranks
//! ```
//!
//! ```
//! use ncde_tune::{Space, grid};
//! let text = "[model]\nname = \"slice\"\n[vary]\n\"train.rate\" = [1e-3, 1e-4]\n\"model.depth, model.window\" = [[1, 1], [2, 8]]\n";
//! let space = Space::from_toml(text)?;
//! let trials = grid(&space)?;
//! assert_eq!(trials.len(), 4);
//! assert_eq!(trials[3].assignments(), ["model.depth=2", "model.window=8", "train.rate=0.0001"]);
//! # Ok::<(), ncde_tune::Error>(())
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `space` | what is varied: lists, ranges, keys that are tied together; from TOML and from `key=value,value` |
//! | `draw` | [`grid`], [`random`]: from a space to trials |
//! | `halving` | [`rungs`]: how many trials are trained for how many steps |
//! | `sweep` | [`Sweep`]: all runs of a search, by name; what may be added to one that was begun |
//! | `rank` | [`rank`](rank()): the order of trials |
//! | `emit` | [`hyperqueue`], [`slurm`]: the runs as a job of an engine |
//!
//! Keys are only names here; the crate that trains gives them their meaning.

mod draw;
mod emit;
mod error;
mod halving;
mod rank;
mod space;
mod sweep;

pub use draw::{Trial, grid, random};
pub use emit::{Job, hyperqueue, quoted, slurm};
pub use error::Error;
pub use halving::{Rung, rungs};
pub use rank::{Standing, rank};
pub use space::{Axis, Space, Values};
pub use sweep::{Method, Run, Sweep};
