//! What a run leaves: one directory a run, with one file that is there when it is finished.
//!
//! ```text
//! DIR/MODEL/TASK/seed-N/result.json
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::plan::{Budget, Job};

/// The file of a finished run.
pub const RESULT: &str = "result.json";

/// Above 0 where training diverged: the best weights before were tested, or there is no other value.
pub(crate) const EXPLODED: &str = "exploded";

/// What a run measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Metrics by name.
    pub values: BTreeMap<String, f64>,
    /// Lines of plots by name: points.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<[f64; 2]>>,
}

impl Measured {
    /// These metrics.
    pub fn of(values: &[(&str, f64)]) -> Self {
        // What is no number has no place in JSON, and nothing to say in a table.
        let finite = values.iter().filter(|(_, value)| value.is_finite());
        Self { values: finite.map(|(name, value)| ((*name).into(), *value)).collect(), curves: BTreeMap::new() }
    }

    /// With a line.
    #[must_use]
    pub fn with_curve(mut self, name: &str, points: Vec<[f64; 2]>) -> Self {
        self.curves.insert(name.into(), points);
        self
    }

    /// Seconds of all steps of training, also of those before it was interrupted; 0 where nothing is trained in steps.
    pub fn training_seconds(&self) -> f64 {
        let get = |name: &str| self.values.get(name).copied().unwrap_or(0.0);
        get("steps") * get("step_seconds")
    }
}

/// A finished run.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub experiment: String,
    pub budget: Budget,
    pub model: String,
    pub task: String,
    pub seed: u64,
    pub settings: Value,
    #[serde(flatten)]
    pub measured: Measured,
    /// How long it took, in seconds; of what came before an interruption the steps of training alone.
    pub seconds: f64,
}

impl Record {
    /// As it is told.
    pub fn title(&self) -> String {
        format!("{} on {}, seed {}", self.model, self.task, self.seed)
    }

    /// A metric.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measured.values.get(metric).copied()
    }

    pub(crate) fn has_exploded(&self) -> bool {
        self.value(EXPLODED).is_some_and(|own| own > 0.0)
    }
}

pub(crate) fn place(directory: &Path, job: &Job) -> PathBuf {
    directory.join(&job.model).join(&job.task).join(format!("seed-{}", job.seed))
}

/// The record of a job, if it is finished.
///
/// # Errors
/// If it is of other settings, or cannot be read.
pub(crate) fn finished(directory: &Path, job: &Job) -> Result<Option<Record>, Error> {
    let path = place(directory, job).join(RESULT);
    if !path.exists() {
        return Ok(None);
    }
    let failed = |problem: String| Error::File { path: path.clone(), problem };
    let bytes = ncde_files::read_plain(&path).map_err(|e| failed(e.to_string()))?;
    let record: Record = serde_json::from_slice(&bytes).map_err(|e| {
        failed(format!("{e}; it is no record of an experiment: remove it, or name another directory (`--out DIR`)"))
    })?;
    if record.settings != job.settings {
        let problem = "is of a run with other settings; name another directory (`--out DIR`) for these".into();
        return Err(failed(problem));
    }
    Ok(Some(record))
}

/// Writes the record of a job.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn keep(directory: &Path, job: &Job, record: &Record) -> Result<(), Error> {
    let place = place(directory, job);
    let failed = |problem: String| Error::File { path: place.join(RESULT), problem };
    std::fs::create_dir_all(&place).map_err(|e| failed(e.to_string()))?;
    let text = serde_json::to_vec_pretty(record).map_err(|e| failed(e.to_string()))?;
    ncde_files::write_whole(place.join(RESULT), &text).map_err(|e| failed(e.to_string()))?;
    // What an interrupted run would have gone on from; it may never have been there.
    let _ = std::fs::remove_file(place.join(ncde_train::CHECKPOINT));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_says_that_it_did_not_explode_did_not() {
        let record = |values: &[(&str, f64)]| Record {
            experiment: "a5".into(),
            budget: Budget::Quick,
            model: "block".into(),
            task: "length-8".into(),
            seed: 0,
            settings: Value::Null,
            measured: Measured::of(values),
            seconds: 1.0,
        };
        assert!(record(&[(EXPLODED, 1.0)]).has_exploded());
        assert!(!record(&[(EXPLODED, 0.0)]).has_exploded());
        assert!(!record(&[]).has_exploded());
    }
}
