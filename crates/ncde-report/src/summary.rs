//! What is said of a run in every report, whatever it is printed on: its title and its key numbers.

use serde::Serialize;

use crate::format::{MISSING, count, counted, duration, is_share, metric, metric_name, number, percent, shortened};
use crate::metrics::{Classification, Interval, Naive, higher_is_better, spread};
use crate::record::{Baseline, Prediction, StopReason};
use crate::{Metrics, RunRecord};

/// The longest name of a class in a key.
const LONGEST_NAME: usize = 20;

/// A number, what it is, and what is worth knowing about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Key {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) note: String,
}

/// The value of a metric by its name.
type Value<'a> = Box<dyn Fn(&str) -> Option<f64> + 'a>;

/// Something that needs no model, and how good it is.
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    note: &'a str,
    /// What it is called in a sentence.
    words: String,
    value: Value<'a>,
}

impl RunRecord {
    /// A title for the run, the model and the data: `slice on EigenWorms`.
    pub fn title(&self) -> String {
        format!("{} on {}", self.model.name, self.data.name)
    }

    /// The metrics that count, those of the test cases if there are any, and whose they are.
    pub(crate) fn outcome(&self) -> Option<(&'static str, &Metrics)> {
        let both = [("test", &self.test), ("validation", &self.validation)];
        both.into_iter().find_map(|(whose, metrics)| Some((whose, metrics.as_ref().filter(|metrics| metrics.cases() > 0)?)))
    }

    /// The metric to show first: the one that was asked for, if these metrics have it, or the usual one.
    pub(crate) fn headline(&self, metrics: &Metrics) -> (&'static str, f64) {
        let requested = metrics.names().into_iter().find(|name| *name == self.metric);
        requested.and_then(|name| Some((name, metrics.get(name)?))).unwrap_or_else(|| metrics.headline())
    }

    /// What the model is judged beside: baselines, and naive forecasts.
    pub(crate) fn references<'a>(&'a self, metrics: &'a Metrics) -> Vec<Reference<'a>> {
        let baseline = |baseline: &'a Baseline| Reference {
            name: &baseline.name,
            note: &baseline.note,
            words: format!("the baseline `{}`", baseline.name),
            value: Box::new(|name| value(&baseline.metrics, name)),
        };
        let naive = |naive: &'a Naive| Reference {
            name: &naive.name,
            note: "naive forecast",
            words: format!("the {} naive forecast", naive.name),
            value: Box::new(|name| naive.get(name)),
        };
        let forecasts = if let Metrics::Forecast(metrics) = metrics { &metrics.naive[..] } else { &[] };
        self.baselines.iter().map(baseline).chain(forecasts.iter().map(naive)).collect()
    }

    /// The best of what needs no model, with its value of the metric to show first.
    fn best_reference<'a>(references: &'a [Reference<'a>], name: &str) -> Option<(f64, &'a Reference<'a>)> {
        let scored = references.iter().filter_map(|reference| Some(((reference.value)(name)?, reference)));
        scored.filter(|(value, _)| value.is_finite()).min_by(|a, b| cost(name, a.0).total_cmp(&cost(name, b.0)))
    }

    /// Whether the model is better than all that need no model, by the metric to show first, and that in a sentence; `None` where there are none.
    pub(crate) fn verdict(&self) -> Option<(bool, String)> {
        let (_, metrics) = self.outcome()?;
        let references = self.references(metrics);
        // An accuracy that was not asked for hardly counts a rare class.
        let rarest = value(metrics, RARE).filter(|_| self.metric.is_empty()).map(|value| (RARE, value));
        let (name, ours) = rarest.unwrap_or_else(|| self.headline(metrics));
        let (best, reference) = Self::best_reference(&references, name)?;
        let is_better = cost(name, ours) < cost(name, best);
        let words = if is_better { "Better than" } else { "No better than" };
        let all = if is_better && references.len() > 1 { format!(", the best of {}", references.len()) } else { String::new() };
        let [ours, theirs] = [ours, best].map(|value| metric(name, value));
        let class = rare(metrics).filter(|_| name == RARE).map_or(String::new(), |class| format!(" of `{}`", self.class(class)));
        Some((is_better, format!("{words} {}{all}: {}{class} {ours} against {theirs}.", reference.words, metric_name(name))))
    }

    /// What a model should beat by a metric: its value and its name, as in a table.
    pub(crate) fn best_baseline(&self, name: &str) -> Option<String> {
        let references = self.references(self.outcome()?.1);
        let (value, reference) = Self::best_reference(&references, name)?;
        Some(format!("{} {}", metric(name, value), reference.name))
    }

    /// A row for each metric, the one to show first on top: its name, its value, and that of each reference.
    pub(crate) fn scores(&self, metrics: &Metrics) -> Vec<Vec<String>> {
        let first = self.headline(metrics).0;
        let others = metrics.names().into_iter().filter(|name| *name != first);
        let shown = |name: &str, value: Option<f64>| value.map_or(MISSING.into(), |value| metric(name, value));
        let references = self.references(metrics);
        std::iter::once(first)
            .chain(others)
            .filter(|name| metrics.get(name).is_some())
            .map(|name| {
                let theirs = references.iter().map(|reference| shown(name, (reference.value)(name)));
                [metric_name(name).into_owned(), shown(name, metrics.get(name))].into_iter().chain(theirs).collect()
            })
            .collect()
    }

    /// A metric of the run, and the interval that so many cases leave.
    pub(crate) fn outcome_text(&self, name: &str) -> [String; 2] {
        let Some((whose, metrics)) = self.outcome() else { return [MISSING.into(), String::new()] };
        let value = metrics.get(name).map_or(MISSING.into(), |value| metric(name, value));
        // A run without test cases must not look as if it had been tested.
        let source = if whose == "test" { "" } else { " (validation)" };
        let interval = self.interval(name).map_or(String::new(), |i| match is_share(name) {
            true => format!("{:.1} to {:.1}", 100.0 * i.low, 100.0 * i.high),
            false => format!("{} to {}", number(i.low), number(i.high)),
        });
        [value + source, interval]
    }

    /// The 95 % interval that so many cases leave: of an accuracy, or of the mean error if the record has the error of every case or series.
    pub(crate) fn interval(&self, name: &str) -> Option<Interval> {
        let power = if name == "mse" { 2 } else { 1 };
        let errors: Vec<f64> = match (self.outcome()?.1, name) {
            (Metrics::Classification(metrics), "accuracy") => return metrics.interval(),
            (Metrics::Regression(metrics), "mse" | "mae") if metrics.cases == self.predictions.len() => {
                let error = |case: &Prediction| Some((case.truth.number()? - case.predicted.number()?).abs().powi(power));
                self.predictions.iter().filter_map(error).collect()
            }
            (Metrics::Forecast(metrics), "mase") if metrics.cases == metrics.series.len() => {
                metrics.series.iter().filter_map(|series| series.errors.first()?.mase).collect()
            }
            _ => return None,
        };
        let half = spread(&errors)?.half?;
        let value = self.outcome()?.1.get(name)?;
        Some(Interval { low: (value - half).max(0.0), high: value + half })
    }

    /// The name of a class; its number if it has none.
    pub(crate) fn class(&self, class: usize) -> String {
        self.data.classes.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    /// The numbers to look at first.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        if let Some((whose, metrics)) = self.outcome() {
            let (name, value) = self.headline(metrics);
            let label = format!("{whose} {}", metric_name(name));
            let lost = if whose == "test" { self.overflowed.test.len() } else { self.overflowed.validation.len() };
            let mut note = certainty(metrics, name);
            if lost > 0 {
                let counts = if matches!(metrics, Metrics::Classification(_)) { "counted as wrong" } else { "not scored" };
                note += &format!("; {} without a prediction, as a state overflows, {counts}", counted(lost, "case", "cases"));
            }
            keys.push(Key { label, value: metric(name, value), note });
            if let Metrics::Classification(metrics) = metrics {
                let rare = metrics.rarest().map_or_else(Vec::new, |(class, _)| self.rarest(class, metrics));
                // An accuracy that was not asked for stands behind what it hides.
                let first = if self.metric.is_empty() { 0 } else { 1 };
                keys.splice(first..first, rare);
            }
            for reference in self.references(metrics) {
                let Some(other) = (reference.value)(name) else { continue };
                let verdict = if cost(name, value) < cost(name, other) { "" } else { "the model is no better" };
                let note = [reference.note, verdict].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
                keys.push(Key { label: reference.name.into(), value: metric(name, other), note });
            }
        }
        if let Some(best) = &self.best {
            keys.push(Key {
                label: format!("best validation {}", metric_name(&best.metric)),
                value: metric(&best.metric, best.value),
                note: format!("at step {}", count(best.step)),
            });
        }
        keys.extend(self.threshold.iter().map(|threshold| Key {
            label: format!("threshold of `{}`", shortened(&threshold.class, LONGEST_NAME)),
            value: number(threshold.at),
            note: "the probability from which on it is predicted".into(),
        }));
        let threads = counted(self.threads, "thread", "threads");
        keys.push(Key { label: "parameters".into(), value: count(self.model.parameters), note: self.model.detail.clone() });
        if self.stopped == StopReason::Solved {
            let note = format!("closed form, on {threads}");
            keys.push(Key { label: "solved in".into(), value: duration(self.seconds), note });
            return keys;
        }
        keys.push(Key { label: "time a step".into(), value: duration(self.seconds_per_step), note: format!("on {threads}") });
        let mut note = format!("in {}; {}", duration(self.seconds), self.ending());
        if !self.recoveries.is_empty() {
            let times = counted(self.recoveries.len(), "time", "times");
            note += &format!("; went back {times} to earlier weights at a lower rate, as training diverged");
        }
        keys.push(Key { label: "steps".into(), value: count(self.steps), note });
        keys
    }

    /// How well the rarest class is found, which an accuracy hardly shows.
    fn rarest(&self, class: usize, metrics: &Classification) -> Vec<Key> {
        let score = metrics.by_class()[class];
        let name = shortened(&self.class(class), LONGEST_NAME);
        let cases = counted(score.cases as usize, "case", "cases");
        let found = match score.recall {
            None => format!("none of {} is of this class", counted(metrics.cases, "case", "cases")),
            Some(_) => format!("{} of {cases} found, {} in all", count(score.found as usize), count(metrics.cases)),
        };
        let precision = metrics.average_precision.get(class).copied().flatten();
        let precision = precision.map_or(String::new(), |precision| format!("; average precision {}", percent(precision)));
        let predicted = match score.predicted {
            0 => "never predicted".to_owned(),
            predicted => {
                format!("{} of {} right", count(score.found as usize), counted(predicted as usize, "prediction", "predictions"))
            }
        };
        let share = |share: Option<f64>| share.map_or(MISSING.into(), percent);
        vec![
            Key { label: format!("recall of `{name}`"), value: share(score.recall), note: found },
            Key { label: format!("precision of `{name}`"), value: share(score.precision), note: predicted + &precision },
        ]
    }

    fn ending(&self) -> &'static str {
        match self.stopped {
            StopReason::Steps => "all that were asked for",
            StopReason::Patience => "stopped as nothing improved",
            StopReason::Time => "stopped as time was up",
            StopReason::Target => "stopped as the metric was good enough",
            StopReason::Requested => "stopped as it was asked to",
            StopReason::Diverged => "stopped as training diverged",
            StopReason::Solved => "solved in closed form",
        }
    }

    /// What the run was trained on, as names and values.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let data = &self.data;
        let mut facts = vec![
            ("data", data.name.clone()),
            ("task", data.task.clone()),
            ("cases", format!("{} train, {} validation, {} test", count(data.train), count(data.validation), count(data.test))),
            ("channels", count(data.channels)),
        ];
        if let Some([train, validation, test]) = data.observations {
            let words = format!("{} train, {} validation, {} test, in this order", count(train), count(validation), count(test));
            facts.push(("observations", words));
        }
        if let Some([least, median, most]) = data.lengths {
            let range = if least == most {
                count(most)
            } else {
                format!("{} to {}, median {}", count(least), count(most), count(median))
            };
            facts.push(("observations of a case", range));
            facts.push(("missing values", percent(data.missing)));
        }
        if data.statics > 0 {
            facts.push(("static values", count(data.statics)));
        }
        if let Some(horizon) = data.horizon {
            facts.push(("forecast", format!("up to {}", counted(horizon, "observation ahead", "observations ahead"))));
        }
        if !data.classes.is_empty() {
            facts.push(("classes", count(data.classes.len())));
        }
        if data.removed_duplicates > 0 {
            facts.push(("duplicates left out", count(data.removed_duplicates)));
        }
        facts.extend([("seed", self.seed.to_string()), ("started", self.started.clone()), ("ncde", self.version.clone())]);
        facts
    }
}

/// The name of the average precision of the class that is rare, where one is.
const RARE: &str = "average_precision";

fn rare(metrics: &Metrics) -> Option<usize> {
    if let Metrics::Classification(metrics) = metrics { metrics.rarest().map(|(class, _)| class) } else { None }
}

/// A metric by its name, also that of a rare class.
fn value(metrics: &Metrics, name: &str) -> Option<f64> {
    match metrics {
        Metrics::Classification(classes) if name == RARE => classes.average_precision.get(rare(metrics)?).copied().flatten(),
        _ => metrics.get(name),
    }
}

/// Less of it is better.
pub(crate) fn cost(metric: &str, value: f64) -> f64 {
    if higher_is_better(metric) { -value } else { value }
}

/// What is said below a leaderboard.
pub(crate) const LEADERBOARD: &str = "Runs that differ by their seed only are one row: their mean, with the 95 % interval that seeds leave. The interval of a \
                                      single run is the one that its cases leave. Where intervals overlap, the difference may be chance. On the \
                                      frontier: nothing else is as fast and as good.";

/// How sure a metric is: the interval that an accuracy of so many cases has, or what else to know of it.
pub(crate) fn certainty(metrics: &Metrics, name: &str) -> String {
    let cases_of = |cases: usize, series: Option<usize>, one: &str, many: &str| match series {
        Some(series) => format!("{} of {}", counted(cases, one, many), series_counted(series)),
        None => counted(cases, "case", "cases"),
    };
    match metrics {
        Metrics::Classification(metrics) => {
            let cases = cases_of(metrics.cases, metrics.series.as_ref().map(|series| series.count), "label", "labels");
            if name != "accuracy" {
                return format!("accuracy {}, {cases}", percent(metrics.accuracy));
            }
            match metrics.interval() {
                Some(i) => format!("95 % interval {:.1} to {}, {cases}", 100.0 * i.low, percent(i.high)),
                None => cases,
            }
        }
        Metrics::Regression(metrics) => {
            let cases = cases_of(metrics.cases, metrics.series, "number", "numbers");
            let r2 = metrics.r2.filter(|_| name != "r2");
            r2.map_or_else(|| cases.clone(), |r2| format!("R\u{b2} {}, {cases}", number(r2)))
        }
        Metrics::Forecast(metrics) => crate::ahead::certainty(metrics),
    }
}

/// `1 series`, `12 series`.
pub(crate) fn series_counted(count: usize) -> String {
    counted(count, "series", "series")
}

/// What several runs are about: `12 training runs on 2 data sets`.
pub(crate) fn heading(records: &[RunRecord]) -> String {
    let mut names: Vec<&str> = records.iter().map(|record| record.data.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let runs = counted(records.len(), "training run", "training runs");
    if names.len() == 1 { format!("{runs} on one data set") } else { format!("{runs} on {} data sets", count(names.len())) }
}
