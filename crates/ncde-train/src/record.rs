//! The record of a finished run, with the metrics of the saved model as it is read back.

use std::ops::Range;

use ncde_data::{Clock, Column, Dataset, Layout, Targets};
use ncde_report::RunRecord;
use ncde_report::record::{
    ColumnSummary, DataSummary, Forecasted, ModelSummary, Outcome as Answer, Overflowed, Prediction as Predicted, StopReason,
};
use ncde_runtime::{Forecasts, Intervals, Model, Prediction, Task, Threshold};

use super::by_time::Long;
use super::checkpoint::Progress;
use super::conformal::intervals;
use super::score::{PredictedRange, score_ranges};
use super::store::{Answered, overflows, predict_all, predict_ranges, save_spec};
use super::{Error, Parts, Run, TrainRequest, Warning};

impl Run {
    /// The record of a finished run; metrics are those of the model as it was saved. A case that overflows is named, and has no prediction.
    pub(super) fn record(
        &self,
        progress: &Progress,
        request: &TrainRequest<'_>,
        stopped: StopReason,
        parameters: usize,
    ) -> Result<RunRecord, Error> {
        let model = Model::load(request.directory)?;
        let [mut validation, mut test] = self.predict_parts(&model)?;
        let mut spec = model.spec().clone();
        if let (Some(wanted), None) = (&self.settings.threshold, &spec.threshold) {
            let threshold = wanted.best_of(&validation.data, &validation.ranges)?;
            let classes = self.data.targets.classes();
            [&mut validation, &mut test].into_iter().for_each(|part| part.apply(&threshold, classes));
            spec.threshold = Some(threshold);
            save_spec(request.directory, &spec)?;
        }
        let mut warnings: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        warnings.extend(self.device.without_kernel().into_iter().map(|what| Warning::OnProcessor { what }.to_string()));
        if let Task::Forecast(forecast) = &mut spec.task
            && forecast.intervals.is_none()
        {
            match intervals(forecast, &validation.data, &validation.ranges) {
                Ok(intervals) => {
                    // What was predicted had sizes of errors alone.
                    let ranges = validation.ranges.iter_mut().chain(&mut test.ranges);
                    ranges.flat_map(|range| &mut range.predictions).for_each(|prediction| widen(prediction, &intervals));
                    forecast.intervals = Some(intervals);
                }
                Err(warning) => warnings.push(warning.to_string()),
            }
            save_spec(request.directory, &spec)?;
        }
        let task = &spec.task;
        let [trained, validated, tested] = self.series();
        let data = DataSummary {
            name: self.data.name.clone(),
            train: trained,
            validation: validated,
            test: tested,
            observations: self.observations(),
            channels: self.data.channels.len(),
            statics: self.data.statics.len(),
            classes: self.data.targets.classes().to_vec(),
            task: match task {
                Task::Classification { .. } => "classification".into(),
                Task::Regression { .. } => "regression".into(),
                Task::Forecast { .. } => "forecast".into(),
            },
            removed_duplicates: self.removed,
            fingerprint: self.fingerprint.clone(),
            roles: roles(self.spec.schema.as_ref()),
            ..described(self.long.as_ref().map_or(&self.data, |long| &long.data), &self.parts, &self.spec.task)
        };
        Ok(RunRecord {
            format: RunRecord::FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            command: request.command.into(),
            started: request.started.into(),
            seed: self.settings.plan.seed,
            threads: rayon::current_num_threads(),
            data,
            model: ModelSummary { name: self.spec.name.clone(), detail: self.spec.detail(), parameters },
            config: self.config.to_toml(),
            history: progress.history.clone(),
            best: progress.best.clone(),
            steps: progress.step,
            seconds: progress.seconds,
            seconds_per_step: progress.seconds / progress.step.max(1) as f64,
            stopped,
            validation: score_ranges(task, &validation.data, &validation.ranges),
            test: score_ranges(task, &test.data, &test.ranges),
            recoveries: progress.recoveries.clone(),
            overflowed: Overflowed { validation: validation.overflowed.clone(), test: test.overflowed.clone() },
            metric: progress.headline.clone(),
            threshold: spec.threshold.clone().map(|Threshold { class, at }| ncde_report::record::Threshold { class, at }),
            baselines: match (&self.long, self.parts.test.is_empty()) {
                (Some(_), _) => {
                    let judged = if tested > 0 { &test } else { &validation };
                    self.guessed(&judged.data, &judged.ranges)
                }
                (None, true) => self.baselines(&self.parts.validation)?,
                (None, false) => self.baselines(&self.parts.test)?,
            },
            forecasts: samples(task, &test),
            warnings,
            directory: String::new(),
            predictions: answers(task, &test),
        })
    }

    /// The predictions of the model for the validation and test parts.
    fn predict_parts(&self, model: &Model) -> Result<[Part; 2], Error> {
        if let Some(Long { data, cuts }) = &self.long {
            let cuts: Vec<[Range<usize>; 2]> = cuts.iter().map(|cut| [cut.validation.clone(), cut.test.clone()]).collect();
            let mut parts = [(); 2].map(|()| Part { data: data.clone(), ranges: Vec::new(), overflowed: Vec::new() });
            for (case, (own, error)) in data.cases.iter().zip(predict_ranges(model, data, &cuts)) {
                let overflows = overflows(case, error)?;
                for (part, own) in parts.iter_mut().zip(own) {
                    part.overflowed.extend((overflows && !own.is_whole()).then(|| case.id.clone()));
                    part.ranges.push(own);
                }
            }
            return Ok(parts);
        }
        let of = |cases: &[usize]| -> Result<Part, Error> {
            let data = self.data.subset(cases);
            let Answered { predictions, overflowed } = predict_all(model, &data, model.spec().task.at())?;
            let overflowed = overflowed.into_iter().map(|i| data.cases[i].id.clone()).collect();
            let ranges =
                predictions.into_iter().zip(&data.cases).map(|(own, case)| PredictedRange::everywhere(own, case)).collect();
            Ok(Part { data, ranges, overflowed })
        };
        Ok([of(&self.parts.validation)?, of(&self.parts.test)?])
    }
}

/// The cases of a part, the predictions for each, and the ids of those that overflow.
struct Part {
    data: Dataset,
    ranges: Vec<PredictedRange>,
    overflowed: Vec<String>,
}

impl Part {
    /// Decides for classes anew.
    fn apply(&mut self, threshold: &Threshold, classes: &[String]) {
        for prediction in self.ranges.iter_mut().flat_map(|range| &mut range.predictions) {
            if let Prediction::Class { class, probabilities } = prediction {
                *class = threshold.class_of(classes, probabilities, probabilities);
            }
        }
    }
}

/// The name, role and detail of each column of the file.
fn roles(schema: Option<&serde_json::Value>) -> Vec<[String; 3]> {
    let layout = schema.and_then(|value| serde_json::from_value::<Layout>(value.clone()).ok());
    let row = |column: &Column| [column.name.clone(), column.role.name().into(), column.detail()];
    layout.map_or_else(Vec::new, |layout| layout.columns.iter().map(row).collect())
}

/// Lengths, gaps, classes and channels.
fn described(data: &Dataset, parts: &Parts, task: &Task) -> DataSummary {
    let summary = data.summary();
    let column = |own: &ncde_data::summary::Column| ColumnSummary {
        name: own.name.clone(),
        range: own.min.zip(own.mean).zip(own.max).map(|((min, mean), max)| [min, mean, max]),
        missing: own.missing,
    };
    let columns = summary.channels.iter().chain(&summary.statics).take(DataSummary::MAX_COLUMNS).map(column);
    let mut counts = Vec::new();
    if let Targets::Classes { names, of } = &data.targets {
        counts = vec![[0; 3]; names.len()];
        for (part, cases) in [&parts.train, &parts.validation, &parts.test].into_iter().enumerate() {
            cases.iter().for_each(|&i| counts[of[i]][part] += 1);
        }
    }
    DataSummary {
        lengths: summary.lengths.map(|own| [own.min as usize, own.median as usize, own.max as usize]),
        missing: summary.missing,
        counts,
        columns: if data.vocabulary.is_some() { Vec::new() } else { columns.collect() },
        horizon: task.forecast().map(|forecast| forecast.horizon),
        dates: data.times == Clock::Dates,
        ..DataSummary::default()
    }
}

/// The predictions for the cases of a part, where there is one for each case.
fn answers(task: &Task, part: &Part) -> Vec<Predicted> {
    let data = &part.data;
    let rows = data.cases.iter().enumerate().zip(&part.ranges).filter_map(|((i, case), own)| {
        let (truth, predicted, probabilities) = match (own.predictions.last()?, &data.targets, task) {
            (Prediction::Class { class, probabilities }, Targets::Classes { names, of }, _) => {
                (Answer::from(names[of[i]].clone()), Answer::from(names[*class].clone()), probabilities.clone())
            }
            (Prediction::Value(y), Targets::Values { of, .. }, _) => (Answer::from(of[i]), Answer::from(*y), Vec::new()),
            _ => return None,
        };
        Some(Predicted { id: case.id.clone(), truth, predicted, probabilities })
    });
    rows.take(RunRecord::MAX_PREDICTIONS).collect()
}

/// Makes a forecast of a model without intervals what it is with them.
fn widen(prediction: &mut Prediction, intervals: &Intervals) {
    if let Prediction::Values(forecasts) = prediction {
        forecasts.widths.iter_mut().zip(intervals.widths.iter().flatten()).for_each(|(size, width)| *size *= width);
    }
}

/// Sample forecasts are stored for at most so many series and channels, with so many observations before them.
const SERIES: usize = 3;
const CHANNELS: usize = 4;
const BEFORE: usize = 200;

/// Sample forecasts of a part, each the last whose horizons are all observed, with the values before and after.
fn samples(task: &Task, part: &Part) -> Vec<Forecasted> {
    let Some(forecast) = task.forecast() else { return Vec::new() };
    let channels = part.data.channels.len();
    let mut all = Vec::new();
    let said = part.data.cases.iter().zip(&part.ranges).filter(|(_, own)| !own.predictions.is_empty());
    for (case, own) in said.take(SERIES) {
        let known = |t: &usize| t + forecast.horizon < own.end.min(case.len());
        let Some((t, Prediction::Values(Forecasts { values, widths }))) =
            own.iter().filter(|(t, _)| known(t)).last().or(own.iter().next())
        else {
            continue;
        };
        let period = forecast.baseline.as_ref().and_then(|baseline| baseline.period).unwrap_or(1);
        let from = t.saturating_sub((3 * forecast.horizon.max(period)).clamp(20, BEFORE));
        let to = (t + forecast.horizon + 1).min(case.len());
        let targets = forecast.width(channels).max(1);
        for (target, name) in forecast.of_targets(&part.data.channels).enumerate().take(CHANNELS) {
            let c = forecast.channel(target);
            let values_of = |rows: std::ops::Range<usize>| -> Vec<[f64; 2]> {
                let points = rows.map(|t| [case.times[t], case.values[t * channels + c]]);
                points.filter(|[_, x]| !x.is_nan()).collect()
            };
            let time = |k: usize| forecast.time(case.times[t], k).unwrap_or(case.times[t] + k as f64);
            let ahead = || forecast.horizons().zip(values.chunks_exact(targets)).enumerate();
            all.push(Forecasted {
                id: case.id.clone(),
                channel: name.clone(),
                seen: values_of(from..t + 1),
                truth: values_of(t + 1..to),
                forecast: ahead().map(|(_, (k, row))| [time(k), row[target]]).collect(),
                interval: forecast
                    .intervals
                    .iter()
                    .flat_map(|_| {
                        ahead().map(|(place, (_, row))| forecast.interval(target, row[target], widths[place * targets + target]))
                    })
                    .collect(),
            });
        }
    }
    all
}
