//! Whether a run may go on: it must have the data and the settings it was begun with.

use std::path::Path;

use ncde_report::RunRecord;

use super::config::Config;
use super::directory::RECORD;
use super::{Error, Run};

/// How many steps a configuration asks for; none of a model that is solved for.
pub(super) fn steps_of(config: &str) -> Option<usize> {
    Config::from_toml(config).ok()?.train.steps
}

/// What may differ between a run and its resumption: where files are (what is in them may not), and how many steps there are.
fn comparable(config: &str) -> impl Iterator<Item = &str> {
    const PATHS: &[&str] = &["train", "test", "labels", "test_labels", "parts", "steps"];
    config.lines().filter(|line| !line.split_once(" = ").is_some_and(|(key, _)| PATHS.contains(&key)))
}

impl Run {
    /// The record of the finished run in a directory, if there is one; an error if it was another.
    pub(super) fn finished(&self, directory: &Path) -> Option<Result<RunRecord, Error>> {
        let path = directory.join(RECORD);
        (path.exists() && directory.join(ncde_runtime::SPEC).exists()).then(|| {
            let record = RunRecord::read(&path).map_err(|e| Error::Unfit(e.to_string()))?;
            self.same(&record.config, &record.data.fingerprint)?;
            Ok(record)
        })
    }

    /// A run that is resumed must have the data and the settings it was begun with, and at least as many steps.
    pub(super) fn same(&self, begun: &str, data: &str) -> Result<(), Error> {
        let now = self.settings.config.to_toml();
        if let Some(differs) = comparable(begun).find(|line| !comparable(&now).any(|other| other == *line)) {
            return Err(Error::Config(format!(
                "the run was begun with other settings (`{differs}`); give the same ones to resume it, or another directory to begin anew"
            )));
        }
        if let Some(more) = comparable(&now).find(|line| !comparable(begun).any(|other| other == *line)) {
            return Err(Error::Config(format!(
                "the run was begun without `{more}`; leave it out to resume it, or give another directory to begin anew"
            )));
        }
        // Records of earlier versions have no fingerprint.
        if !data.is_empty() && data != self.fingerprint {
            return Err(Error::Unfit(
                "the run was begun with other data: cases, values or labels have changed since; give the same files to resume it, \
                 or another directory to begin anew"
                    .into(),
            ));
        }
        match (steps_of(begun), steps_of(&now)) {
            (Some(begun), Some(now)) if now < begun => Err(Error::Config(format!(
                "`train.steps` is {now}, but the run was begun with {begun}; it can be trained longer, not shorter"
            ))),
            _ => Ok(()),
        }
    }
}
