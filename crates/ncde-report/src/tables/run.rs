//! The tables of one run: how good it is, on what, and how it was made.

use super::Column::{Name, Number, Text};
use super::{Column, Section, Table};
use crate::ahead;
use crate::format::{MISSING, count, duration, metric, metric_name, number, percent};
use crate::metrics::{Classification, Metrics, predicted};
use crate::record::{Outcome, Point};
use crate::{RunRecord, summary};

/// The most rows of a table of classes or columns.
const ROWS: usize = 40;
/// The most cases that are listed.
const WORST: usize = 10;
/// The most rows of a table of the history.
const MOMENTS: usize = 12;
/// With more classes than these the matrix is wider than a page, and the most frequent errors are listed instead.
pub(crate) const WIDEST_MATRIX: usize = 20;

/// How good the model is: metrics, then classes or forecasts, then single cases.
pub(crate) fn results(run: &RunRecord) -> Vec<Section> {
    let mut all = Vec::new();
    if let Some((whose, metrics)) = run.outcome() {
        let note = format!("{}.", crate::format::capital(&summary::certainty(metrics, run.headline(metrics).0)));
        all.push(Section::new(format!("Metrics on the {whose} cases"), scores(run, metrics), note));
        match metrics {
            Metrics::Classification(metrics) => {
                all.extend((metrics.confusion.len() > WIDEST_MATRIX).then(|| errors(run, metrics)));
                all.extend((metrics.confusion.len() > 1).then(|| classes(run, metrics, whose)));
            }
            Metrics::Forecast(metrics) => {
                all.extend(ahead::tables(metrics).into_iter().map(|(title, table)| Section::new(title, table, "")));
                // What is said of the columns holds for all of them.
                all.get_mut(1).into_iter().for_each(|section| section.note = ahead::legend(metrics));
            }
            Metrics::Regression(_) => {}
        }
    }
    all.extend(mistakes(run));
    all.extend(furthest(run));
    all
}

/// What the run was trained on, and how.
pub(crate) fn described(run: &RunRecord) -> Vec<Section> {
    let data = &run.data;
    let facts = run.facts().into_iter().map(|(name, value)| vec![name.into(), value]);
    let mut all = vec![Section::new("How it was made", Table::new([("", Text), ("", Name)], facts), "")];
    let more = |left_out: usize| if left_out > 0 { format!("{} more are not shown.", count(left_out)) } else { String::new() };
    let mut add = |title, table: Table, left_out: usize| {
        all.extend((!table.rows.is_empty()).then(|| Section::new(title, table, more(left_out))));
    };
    let row = |(class, parts): (usize, &[usize; 3])| [run.class(class)].into_iter().chain(parts.map(count)).collect();
    let rows = data.counts.iter().enumerate().take(ROWS).map(row).collect();
    let table = Table::of_numbers(("class", Name), ["training", "validation", "test"], rows);
    add("Cases of each class", table, data.counts.len().saturating_sub(ROWS));
    let columns = [("column", Name), ("role", Name), ("what it holds", Name)];
    let table = Table::new(columns, data.roles.iter().take(ROWS).map(|role| role.to_vec()));
    add("Columns of the file", table, data.roles.len().saturating_sub(ROWS));
    let rows = data.columns.iter().map(|column| {
        let [least, mean, largest] = column.range.map_or([(); 3].map(|()| MISSING.into()), |range| range.map(number));
        vec![column.name.clone(), least, mean, largest, percent(column.missing)]
    });
    let table = Table::of_numbers(("channel", Name), ["least", "mean", "largest", "missing"], rows.collect());
    add("Channels", table, (data.channels + data.statics).saturating_sub(data.columns.len()));
    all
}

/// A row for each metric, with those of what needs no model.
fn scores(run: &RunRecord, metrics: &Metrics) -> Table {
    let references = run.references(metrics).into_iter().map(|reference| reference.name);
    Table::of_numbers(("metric", Name), std::iter::once("model").chain(references), run.scores(metrics))
}

/// The most frequent errors.
fn errors(run: &RunRecord, metrics: &Classification) -> Section {
    let errors = metrics.errors().into_iter().take(WIDEST_MATRIX);
    let rows = errors.map(|(truth, predicted, cases)| vec![run.class(truth), run.class(predicted), cases.to_string()]);
    Section::new("Most frequent errors", Table::new([("true class", Name), ("taken for", Name), ("cases", Number)], rows), "")
}

fn classes(run: &RunRecord, metrics: &Classification, whose: &str) -> Section {
    let scores = metrics.by_class();
    let share = |value: Option<f64>| value.map_or(MISSING.into(), percent);
    let rows = scores.iter().enumerate().take(ROWS).map(|(class, score)| {
        let f1 = score.f1.map_or(MISSING.into(), number);
        vec![run.class(class), count(score.cases as usize), share(score.precision), share(score.recall), f1]
    });
    let table = Table::of_numbers(("class", Name), ["cases", "precision", "recall", "F1"], rows.collect());
    let more = scores.len().saturating_sub(ROWS);
    let more = if more > 0 { format!(" {} more classes are not shown.", count(more)) } else { String::new() };
    let note = "Precision: of the cases predicted as the class, the share that is of it. Recall: of the cases of the class, the share \
                that was found.";
    Section::new(format!("Classes on the {whose} cases"), table, format!("{note}{more}"))
}

/// The mistakes that the model was surest of.
fn mistakes(run: &RunRecord) -> Option<Section> {
    let text = |outcome: &Outcome| match outcome {
        Outcome::Class(name) => name.clone(),
        Outcome::Number(value) => number(*value),
    };
    let mistakes = run.predictions.iter().filter(|case| case.truth != case.predicted && !case.probabilities.is_empty());
    let rows: Vec<_> = mistakes
        .map(|case| {
            // With a threshold, what is predicted need not be the likeliest.
            let decided = run.data.classes.iter().position(|name| case.predicted == Outcome::Class(name.clone()));
            let decided = decided.filter(|class| *class < case.probabilities.len());
            let sure = case.probabilities[decided.unwrap_or_else(|| predicted(&case.probabilities))];
            (sure, vec![case.id.clone(), text(&case.truth), text(&case.predicted), percent(sure)])
        })
        .collect();
    let note = format!("{} of the {} cases in the record are wrong.", count(rows.len()), count(run.predictions.len()));
    let columns = [("case", Name), ("true", Name), ("predicted", Name), ("sure", Number)];
    Some(Section::new("Surest mistakes", largest_first(rows, columns)?, note))
}

/// The numbers that are furthest from the truth.
fn furthest(run: &RunRecord) -> Option<Section> {
    let rows = run.predictions.iter().filter_map(|case| {
        let (truth, predicted) = (case.truth.number()?, case.predicted.number()?);
        let error = predicted - truth;
        Some((error.abs(), vec![case.id.clone(), number(truth), number(predicted), number(error)]))
    });
    let columns = [("case", Name), ("true", Number), ("predicted", Number), ("error", Number)];
    Some(Section::new("Furthest off", largest_first(rows.collect(), columns)?, ""))
}

/// A table of the rows with the largest numbers.
fn largest_first(mut rows: Vec<(f64, Vec<String>)>, columns: [(&str, Column); 4]) -> Option<Table> {
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    (!rows.is_empty()).then(|| Table::new(columns, rows.into_iter().take(WORST).map(|(_, row)| row)))
}

/// Some moments of the training, with the best one.
pub(crate) fn training(run: &RunRecord) -> Option<Section> {
    // Rows with a validation say more than those without.
    let validated: Vec<&Point> = run.history.iter().filter(|point| point.validation.or(point.metric).is_some()).collect();
    let points = if validated.len() > 1 { validated } else { run.history.iter().collect() };
    let last = points.len().checked_sub(1)?;
    let best = run.best.as_ref().map(|best| best.step);
    let shown = MOMENTS.min(last + 1);
    let chosen = |at: usize| (0..shown).any(|row| row * last / (shown - 1).max(1) == at) || best == Some(points[at].step);
    let metric_of = run.best.as_ref().map_or("metric", |best| best.metric.as_str());
    let rows = points.iter().enumerate().filter(|(at, _)| chosen(*at)).map(|(_, point)| {
        let mark = if best == Some(point.step) { " (best)" } else { "" };
        vec![
            format!("{}{mark}", count(point.step)),
            duration(point.seconds),
            number(point.loss),
            point.validation.map_or(String::new(), number),
            point.metric.map_or(String::new(), |value| metric(metric_of, value)),
            number(point.rate),
        ]
    });
    let name = format!("validation {}", metric_name(metric_of));
    let titles = ["step", "time", "training loss", "validation loss", &name, "rate"];
    Some(Section::new("Training", Table::new(titles.map(|title| (title, Number)), rows), ""))
}
