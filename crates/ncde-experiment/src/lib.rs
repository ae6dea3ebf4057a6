//! The experiments of the thesis, one command each: seeded tasks, runs that can be resumed, tables beside published values.
//!
//! ```text
//! Request (budget, seeds) -> Plan -> jobs, a directory each -> Record -> tables, figures, findings
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `plan` | what an experiment is: [`Entry`], [`Plan`], [`Job`] |
//! | `record`, `run` | what a run leaves; the jobs one after the other, none twice |
//! | `table`, `report` | means and deviations beside published values; Markdown, LaTeX and a page with plots |
//! | `standing`, `frontier` | average ranks and tests over tasks; a metric against the time of a step |
//! | [`memory`] | the peak of this process |
//! | `shuffle` | a random order of very many things, in constant memory |
//! | [`token`] | tasks on words of tokens |
//! | [`ppg`] | recordings of PPG-DaLiA, from the files of its archive |
//! | [`series`] | random walks with terms of their signatures, least squares |
//! | `suite` | the experiments, one file each |
//!
//! Everything random is a function of a seed and a place, so that nothing is drawn ahead and kept.

mod error;
mod frontier;
pub mod memory;
mod plan;
pub mod ppg;
mod record;
mod report;
mod run;
pub mod series;
mod shuffle;
mod standing;
mod suite;
mod table;
pub mod token;

pub use error::Error;
pub use plan::{Budget, Control, Entry, Job, Metric, Plan, Published, Request, Seeds, Spare, Work};
pub use record::{Measured, RESULT, Record};
pub use report::{Figure, latex, markdown, page};
pub use run::{Event, run};
pub use shuffle::Shuffle;
pub use standing::{Standing, standing};
pub use suite::{EXPERIMENTS, Shape, find, uea_shapes};
pub use table::{Line, Mean, Table, lines, mean, names, tables};
