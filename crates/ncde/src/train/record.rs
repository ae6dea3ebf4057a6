//! What a finished run leaves behind: the metrics of the model as it was saved, not of the one that was trained.

use std::path::Path;

use ncde_data::{Dataset, Targets};
use ncde_report::RunRecord;
use ncde_report::record::{DataSummary, ModelSummary, Outcome as Answer, Prediction as Predicted};
use ncde_runtime::{Model, Prediction, Task};

use super::checkpoint::Progress;
use super::store::{predict_all, score};
use super::{Error, Run};

impl Run {
    /// The record of a finished run; metrics are those of the model as it was saved. Where a test case overflows there are none for the test part, and
    /// the error comes along.
    pub(super) fn record(
        &self,
        progress: &Progress,
        directory: &Path,
        [command, started, stopped]: [&str; 3],
        parameters: usize,
    ) -> Result<(RunRecord, Option<Error>), Error> {
        let model = Model::load(directory)?;
        let of = |cases: &[usize]| -> Result<(Dataset, Vec<Vec<Prediction>>), Error> {
            let data = self.data.subset(cases);
            let predictions = predict_all(&model, &data)?;
            Ok((data, predictions))
        };
        let validation = match of(&self.parts.validation) {
            Ok((data, predicted)) => score(&self.spec.task, &data, &predicted),
            // Seen in training as well, and said there: such an evaluation has no metric.
            Err(error) if error.is_overflow() => None,
            Err(error) => return Err(error),
        };
        let (test, trouble) = match of(&self.parts.test) {
            Ok(test) => (Some(test), None),
            Err(error) if error.is_overflow() => (None, Some(Error::Untested { source: Box::new(error) })),
            Err(error) => return Err(error),
        };
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
        let record = RunRecord {
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
            validation,
            test: test.as_ref().and_then(|(data, predicted)| score(&self.spec.task, data, predicted)),
            predictions: test.map_or_else(Vec::new, |(data, predicted)| answers(&self.spec.task, &data, &predicted)),
        };
        Ok((record, trouble))
    }
}

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
