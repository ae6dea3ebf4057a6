//! What a finished run leaves behind: the metrics of the model as it was saved, not of the one that was trained.

use std::path::Path;

use ncde_data::{Dataset, Targets};
use ncde_report::RunRecord;
use ncde_report::record::{DataSummary, ModelSummary, Outcome as Answer, Overflowed, Prediction as Predicted};
use ncde_runtime::{Model, Prediction, Task};

use super::checkpoint::Progress;
use super::store::{Answered, predict_all, score};
use super::{Error, Run};

impl Run {
    /// The record of a finished run; metrics are those of the model as it was saved. A case that overflows is named, and has no prediction.
    pub(super) fn record(
        &self,
        progress: &Progress,
        directory: &Path,
        [command, started, stopped]: [&str; 3],
        parameters: usize,
    ) -> Result<RunRecord, Error> {
        let model = Model::load(directory)?;
        let of = |cases: &[usize]| -> Result<Part, Error> {
            let data = self.data.subset(cases);
            let Answered { predictions, overflowed } = predict_all(&model, &data)?;
            let overflowed = overflowed.into_iter().map(|i| data.cases[i].id.clone()).collect();
            Ok((data, predictions, overflowed))
        };
        let (validation_data, validation_predicted, validation_overflowed) = of(&self.parts.validation)?;
        let (test_data, test_predicted, test_overflowed) = of(&self.parts.test)?;
        let data = DataSummary {
            name: self.data.name.clone(),
            train: self.parts.train.len(),
            validation: self.parts.validation.len(),
            test: self.parts.test.len(),
            channels: self.data.channels.len(),
            statics: self.data.statics.len(),
            classes: self.data.targets.classes().to_vec(),
            task: match &self.spec.task {
                Task::Classification { .. } => "classification".into(),
                Task::Regression { .. } => "regression".into(),
                Task::Forecast { .. } => "forecast".into(),
            },
            removed_duplicates: self.removed,
        };
        Ok(RunRecord {
            format: RunRecord::FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            command: command.into(),
            started: started.into(),
            seed: self.settings.seed,
            threads: rayon::current_num_threads(),
            data,
            model: ModelSummary { name: self.spec.name.clone(), detail: self.spec.detail(), parameters },
            config: self.settings.config.to_toml(),
            history: progress.history.clone(),
            best: progress.best.clone(),
            steps: progress.step,
            seconds: progress.seconds,
            seconds_per_step: progress.seconds / progress.step.max(1) as f64,
            stopped: stopped.into(),
            validation: score(&self.spec.task, &validation_data, &validation_predicted),
            test: score(&self.spec.task, &test_data, &test_predicted),
            recoveries: progress.recoveries.clone(),
            overflowed: Overflowed { validation: validation_overflowed, test: test_overflowed },
            predictions: answers(&self.spec.task, &test_data, &test_predicted),
        })
    }
}

/// The cases of a part, what was predicted for each, and the names of those that overflow.
type Part = (Dataset, Vec<Vec<Prediction>>, Vec<String>);

/// What was predicted for the cases of a part, where that is one thing a case.
fn answers(task: &Task, data: &Dataset, predictions: &[Vec<Prediction>]) -> Vec<Predicted> {
    let rows = data.cases.iter().enumerate().zip(predictions).filter_map(|((i, case), own)| {
        let (truth, predicted, probabilities) = match (own.last()?, &data.targets, task) {
            (Prediction::Class { class, probabilities }, Targets::Classes { names, of }, _) => {
                (Answer::from(names[of[i]].clone()), Answer::from(names[*class].clone()), probabilities.clone())
            }
            (Prediction::Value(y), Targets::Values { of, .. }, _) => (Answer::from(of[i]), Answer::from(*y), Vec::new()),
            _ => return None,
        };
        Some(Predicted { id: case.id.clone(), truth, predicted, probabilities })
    });
    rows.take(RunRecord::MOST_PREDICTIONS).collect()
}
