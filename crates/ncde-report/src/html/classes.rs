//! What is known of each class and of single cases: precision and recall, their curve, receiver operating characteristic, calibration, worst cases.

use super::{card, colour, legend, soft, table};
use crate::format::{MISSING, count, number, percent};
use crate::metrics::{Classification, auroc, calibration_error, predicted};
use crate::record::Outcome;
use crate::tables::Column::{self, Name, Number};
use crate::{RunRecord, plot};

/// The most rows of a table.
const ROWS: usize = 40;
/// The most cases that are listed.
const WORST: usize = 10;

/// Writes what is known of classes, on the cases of a part.
pub(super) fn cards(page: &mut String, run: &RunRecord, metrics: &Classification, whose: &str) {
    card(page, &format!("Classes on the {whose} cases"), by_class(run, metrics), "");
    card(page, "Telling each class from the others", receiver(run), "");
    card(page, "Precision and recall", found(run, metrics), "");
    card(page, "Are probabilities right?", calibration(run), "");
    card(page, "Surest mistakes", worst(run), "");
}

fn by_class(run: &RunRecord, metrics: &Classification) -> Option<String> {
    let scores = metrics.by_class();
    if scores.len() < 2 {
        return None;
    }
    let share = |value: Option<f64>| value.map_or(MISSING.into(), percent);
    let rows = scores.iter().enumerate().take(ROWS).map(|(class, score)| {
        let f1 = score.f1.map_or(MISSING.into(), number);
        vec![run.class(class), count(score.cases as usize), share(score.precision), share(score.recall), f1]
    });
    let columns = [("class", Name), ("cases", Number), ("precision", Number), ("recall", Number), ("F1", Number)];
    let more = scores.len().saturating_sub(ROWS);
    let more = if more > 0 { format!(" {} more classes are not shown.", count(more)) } else { String::new() };
    let note = format!(
        "Precision: of the cases predicted as the class, the share that is of it. Recall: of the cases of the class, the share that \
         was found.{more}"
    );
    Some(table(&columns, rows) + &soft(&note))
}

fn receiver(run: &RunRecord) -> Option<String> {
    let (svg, curves) = plot::receiver(run)?;
    let cases = plot::cases(run);
    let area = |class: usize| {
        let scores: Vec<f64> = cases.iter().flat_map(|(row, _)| [1.0 - row[class], row[class]]).collect();
        let truth: Vec<usize> = cases.iter().map(|(_, truth)| usize::from(*truth == class)).collect();
        auroc(&scores, 2, &truth)
    };
    let name = |class: usize| {
        let area = area(class).map_or(String::new(), |area| format!(" (AUROC {})", number(area)));
        format!("{}{area}", run.class(class))
    };
    let chance = ("guide".into(), "as good as chance".into());
    Some(svg + &legend(curves.into_iter().map(|(at, class)| colour((at, name(class)))).chain([chance])))
}

fn found(run: &RunRecord, metrics: &Classification) -> Option<String> {
    let plot::Found { class, svg, chosen } = plot::found(run)?;
    let average = metrics.average_precision.get(class).copied().flatten();
    let average = average.map_or(String::new(), |average| format!(" (average precision {})", percent(average)));
    let mut names = vec![("f0".into(), format!("{}, at each threshold{average}", run.class(class)))];
    names.extend(chosen.map(|[at, recall, precision]| {
        let words = format!("threshold {}: recall {}, precision {}", number(at), percent(recall), percent(precision));
        ("dot f1".into(), words)
    }));
    names.push(("guide".into(), "as good as chance".into()));
    Some(svg + &legend(names))
}

fn calibration(run: &RunRecord) -> Option<String> {
    let (svg, bins) = plot::calibrated(run)?;
    let error = calibration_error(&bins)?;
    let groups = format!("{} groups of cases of equal size, from the least sure to the surest", bins.len());
    let note = format!("Mean distance from the dashed line: {}.", percent(error));
    let ideal = "what is 80 % sure is right 8 times of 10".to_owned();
    Some(svg + &legend([("dot f0".into(), groups), ("guide".into(), ideal)]) + &soft(&note))
}

/// The mistakes that the model was surest of.
fn worst(run: &RunRecord) -> Option<String> {
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
    Some(largest_first(rows, &columns)? + &soft(&note))
}

pub(super) fn furthest(run: &RunRecord) -> Option<String> {
    let rows = run.predictions.iter().filter_map(|case| {
        let (truth, predicted) = (case.truth.number()?, case.predicted.number()?);
        let error = predicted - truth;
        Some((error.abs(), vec![case.id.clone(), number(truth), number(predicted), number(error)]))
    });
    largest_first(rows.collect(), &[("case", Name), ("true", Number), ("predicted", Number), ("error", Number)])
}

/// A table of the rows with the largest numbers.
fn largest_first(mut rows: Vec<(f64, Vec<String>)>, columns: &[(&str, Column)]) -> Option<String> {
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    (!rows.is_empty()).then(|| table(columns, rows.into_iter().take(WORST).map(|(_, row)| row)))
}
