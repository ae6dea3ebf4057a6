//! What an experiment is: a plan of jobs, one a model, task and seed, and what was published for them.
//!
//! ```text
//! request (budget, seeds, filters) -> Plan -> jobs -> a Record each -> tables, figures, findings
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ncde_report::statistics::Better;
use ncde_train::Device;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::{Measured, Record};
use crate::table::distinct;
use crate::{Error, Figure};

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Minutes on two cores; the plan says what was cut.
    #[default]
    Quick,
    /// As published.
    Paper,
}

impl Budget {
    /// All of them, as they are written.
    pub const ALL: &[(&str, Self)] = &[("quick", Self::Quick), ("paper", Self::Paper)];

    /// One of two things.
    pub fn of<T>(self, quick: T, paper: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Paper => paper,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of("quick", "paper"))
    }
}

/// Which seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seeds {
    /// The first so many of the experiment's own.
    First(usize),
    /// These.
    List(Vec<u64>),
}

/// The most seeds that are asked for by their number.
const MAX_SEED_COUNT: usize = 999;

impl FromStr for Seeds {
    type Err = String;

    /// `3` is the first three, `7,8` are these two, `7,` is one alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "wanted a number of seeds (3), or seeds with commas (1234,1235; one alone: 7,)".to_string();
        if !text.contains(',') {
            let count = text.parse().ok().filter(|&count| count > 0).ok_or_else(wrong)?;
            // Nobody runs so many: it is a seed.
            return if count > MAX_SEED_COUNT {
                Err(format!("that is {count} seeds; for seed {count} alone write {count},"))
            } else {
                Ok(Self::First(count))
            };
        }
        let all = text.split(',').filter(|cell| !cell.trim().is_empty());
        let seeds = all.map(|cell| cell.trim().parse()).collect::<Result<Vec<u64>, _>>().map_err(|_| wrong())?;
        if seeds.is_empty() { Err(wrong()) } else { Ok(Self::List(seeds)) }
    }
}

impl Seeds {
    /// The seeds, of an experiment that published with these; beyond them they count on from the last.
    pub fn of(&self, own: &[u64]) -> Vec<u64> {
        match self {
            Self::List(seeds) => seeds.clone(),
            Self::First(count) => {
                let last = own.last().copied().unwrap_or(0);
                own.iter().copied().chain((1..).map(|i| last + i)).take(*count).collect()
            }
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// How much.
    pub budget: Budget,
    /// Which seeds; as many as the budget has if it is not said.
    pub seeds: Option<Seeds>,
    /// Steps of training; as many as the budget has if it is not said.
    pub steps: Option<usize>,
    /// Settings that are changed, `KEY=VALUE`.
    pub set: Vec<String>,
    /// The models; all where there are none.
    pub models: Vec<String>,
    /// The tasks; all where there are none.
    pub tasks: Vec<String>,
    /// Where data sets are.
    pub data: Option<PathBuf>,
    /// A file of parts that others have published.
    pub split: Option<PathBuf>,
    /// Where it runs, for those that time it.
    pub device: Device,
}

impl Request {
    /// All of an experiment at a budget.
    pub fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Whether a model is trained: at `quick` those of a list and those that are asked for by name.
    pub(crate) fn wants(&self, model: &str, quick: &[&str]) -> bool {
        self.budget == Budget::Paper || quick.contains(&model) || self.models.iter().any(|name| name == model)
    }

    /// Settings that are changed of a model: those of the others stay, as they may not have them.
    pub(crate) fn set_of(&self, model: &str) -> &[String] {
        let chosen = self.models.is_empty() || self.models.iter().any(|own| own == model);
        if chosen { &self.set } else { &[] }
    }

    /// The seeds of an experiment that published with `own`: of these one at `quick` and all at `paper`.
    pub fn seeds(&self, own: &[u64]) -> Vec<u64> {
        self.seeds.clone().unwrap_or(Seeds::First(self.budget.of(1, own.len()))).of(own)
    }
}

/// What was published.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    pub model: &'static str,
    pub task: &'static str,
    pub metric: &'static str,
    /// The mean over seeds.
    pub mean: f64,
    /// The deviation, where it was published.
    pub deviation: Option<f64>,
}

/// A metric of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its name in records.
    pub name: &'static str,
    /// What it is, with its unit.
    pub title: &'static str,
    /// What values are multiplied with in tables.
    pub factor: f64,
    /// Digits behind the point.
    pub digits: usize,
    /// Which values are better; none where neither are.
    pub better: Option<Better>,
}

/// What a job may ask and say while it goes on.
pub struct Control<'a> {
    /// Where models are trained.
    pub device: Device,
    /// Raised when it is time to stop.
    pub stop: &'a Arc<AtomicBool>,
    /// The directory of the run, which may hold what an interrupted one has left.
    pub directory: &'a Path,
    /// Is told what was seen, and which share is done.
    pub say: &'a mut dyn FnMut(&str, f64),
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// The work of a job; none if it was stopped.
pub type Work = Box<dyn Fn(&mut Control<'_>) -> Result<Option<Measured>, Error>>;

/// Whether what was measured so far makes a job unnecessary.
pub type Spare = Box<dyn Fn(&[Record]) -> bool>;

/// One run.
#[expect(missing_docs, reason = "the names say what the fields are")]
pub struct Job {
    pub model: String,
    pub task: String,
    pub seed: u64,
    /// All that decides what comes out; a finished run with other settings is not taken for this one.
    pub settings: Value,
    pub spare: Option<Spare>,
    pub work: Work,
}

impl Job {
    /// As it is told.
    pub fn title(&self) -> String {
        format!("{} on {}, seed {}", self.model, self.task, self.seed)
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("title", &self.title()).field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// An experiment at a budget.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug)]
pub struct Plan {
    pub title: String,
    /// How it differs from what was published: what was cut, and what is done right.
    pub differences: Vec<String>,
    /// The runs, in order.
    pub jobs: Vec<Job>,
    pub metrics: Vec<Metric>,
    pub published: Vec<Published>,
    /// Whether models are ranked and tested over tasks by the first metric, which must then be one of which more or less is better.
    pub compared: bool,
    pub figures: fn(&[Record]) -> Vec<Figure>,
    /// What records say, in words.
    pub findings: fn(&[Record]) -> Vec<String>,
}

/// An experiment.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub summary: &'static str,
    /// What it needs: data, and about how long.
    pub needs: &'static str,
    /// Whether settings of its runs can be changed.
    pub settings: bool,
    pub plan: fn(&Request) -> Result<Plan, Error>,
}

impl Entry {
    /// The plan, of the models and tasks that were asked for.
    ///
    /// # Errors
    /// If there is no such model, task or setting, or data are missing.
    pub fn plan(&self, request: &Request) -> Result<Plan, Error> {
        if let Some(own) = request.set.first().filter(|_| !self.settings) {
            return Err(Error::Refused(format!("`{}` has no settings to change (`--set {own}`)", self.name)));
        }
        let mut plan = (self.plan)(request)?;
        plan.differences
            .extend(request.steps.map(|steps| format!("At most {steps} steps of training, as asked for (`--steps`).")));
        if !request.set.is_empty() {
            plan.differences.push(format!("Set as asked for (`--set`): {}.", request.set.join(", ")));
        }
        let wanted = [("model", &request.models), ("task", &request.tasks)];
        let part = |job: &Job, what: &str| if what == "model" { job.model.clone() } else { job.task.clone() };
        for (what, names) in wanted {
            let known = distinct(plan.jobs.iter().map(|job| part(job, what)));
            if let Some(name) = names.iter().find(|name| !known.contains(name)) {
                let known = known.iter().map(|own| format!("`{own}`")).collect::<Vec<_>>().join(", ");
                return Err(Error::Filter { experiment: self.name.into(), what, name: name.clone(), known });
            }
        }
        for (what, names) in wanted {
            plan.jobs.retain(|job| names.is_empty() || names.contains(&part(job, what)));
        }
        Ok(plan)
    }
}
