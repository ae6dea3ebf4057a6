//! What is known of each class and of single cases: precision and recall, receiver operating characteristic, calibration, worst cases.

use super::{Column, card, legend, table};
use crate::escape::html as escaped;
use crate::format::{MISSING, count, number, percent};
use crate::metrics::{Classification, auroc, calibration_error, predicted};
use crate::{RunRecord, plot};

/// The most rows of a table.
const ROWS: usize = 40;
/// The most cases that are listed.
const WORST: usize = 10;

/// Writes what is known of classes, on the cases of a part.
pub(super) fn cards(page: &mut String, run: &RunRecord, metrics: &Classification, whose: &str) {
    card(page, &format!("Classes on the {whose} cases"), by_class(run, metrics), "");
    card(page, "Telling each class from the others", receiver(run), "");
    card(page, "Are probabilities right?", calibration(run), "");
    card(page, "Surest mistakes", worst(run), "");
}

fn by_class(run: &RunRecord, metrics: &Classification) -> Option<String> {
    let scores = metrics.by_class();
    if scores.len() < 2 {
        return None;
    }
    let share = |value: Option<f64>| value.map_or(MISSING.into(), percent);
    let rows = scores.iter().enumerate().take(ROWS).map(|(class, own)| {
        vec![
            run.class(class),
            count(own.cases as usize),
            share(own.precision),
            share(own.recall),
            own.f1.map_or(MISSING.into(), number),
        ]
    });
    let columns = [
        ("class", Column::Name),
        ("cases", Column::Number),
        ("precision", Column::Number),
        ("recall", Column::Number),
        ("F1", Column::Number),
    ];
    let more = scores.len().saturating_sub(ROWS);
    let more = if more > 0 { format!(" {} more classes are not shown.", count(more)) } else { String::new() };
    let note = format!(
        "<p class=\"soft\">Precision: of the cases predicted as the class, the share that is of it. Recall: of the cases of the class, the share that \
         was found.{more}</p>"
    );
    Some(table(&columns, rows) + &note)
}

fn receiver(run: &RunRecord) -> Option<String> {
    let (svg, curves) = plot::receiver(run)?;
    let cases = plot::cases(run);
    let area = |class: usize| {
        let scores: Vec<f64> = cases.iter().flat_map(|(row, _)| [1.0 - row[class], row[class]]).collect();
        let truth: Vec<usize> = cases.iter().map(|(_, own)| usize::from(*own == class)).collect();
        auroc(&scores, 2, &truth)
    };
    let name = |class: usize| {
        let area = area(class).map_or(String::new(), |area| format!(" (AUROC {})", number(area)));
        format!("{}{area}", run.class(class))
    };
    Some(svg + &legend(curves.into_iter().map(|(colour, class)| (colour, name(class)))))
}

fn calibration(run: &RunRecord) -> Option<String> {
    let (svg, bins) = plot::calibrated(run)?;
    let error = calibration_error(&bins)?;
    let note = format!(
        "<p class=\"soft\">Cases in {} groups of equal size, from the least sure to the surest. On the dashed line, what is 80 % sure is right 8 times of 10. Mean \
         distance from it: {}.</p>",
        bins.len(),
        percent(error)
    );
    Some(svg + &note)
}

/// The mistakes that the model was surest of.
fn worst(run: &RunRecord) -> Option<String> {
    let mut wrong: Vec<(f64, Vec<String>)> = run
        .predictions
        .iter()
        .filter(|case| case.truth != case.predicted && !case.probabilities.is_empty())
        .map(|case| {
            let sure = case.probabilities[predicted(&case.probabilities)];
            let text = |outcome: &crate::record::Outcome| match outcome {
                crate::record::Outcome::Class(name) => name.clone(),
                crate::record::Outcome::Number(value) => number(*value),
            };
            (sure, vec![case.id.clone(), text(&case.truth), text(&case.predicted), percent(sure)])
        })
        .collect();
    if wrong.is_empty() {
        return None;
    }
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0));
    let columns = [("case", Column::Name), ("true", Column::Name), ("predicted", Column::Name), ("sure", Column::Number)];
    let note = format!(
        "<p class=\"soft\">{} of the {} cases in the record are wrong.</p>",
        count(wrong.len()),
        count(run.predictions.len())
    );
    Some(table(&columns, wrong.into_iter().take(WORST).map(|(_, row)| row)) + &note)
}

/// The predicted numbers that are furthest off.
pub(super) fn furthest(run: &RunRecord) -> Option<String> {
    let mut off: Vec<(f64, Vec<String>)> = run
        .predictions
        .iter()
        .filter_map(|case| {
            let (truth, predicted) = (case.truth.number()?, case.predicted.number()?);
            let error = predicted - truth;
            Some((error.abs(), vec![case.id.clone(), number(truth), number(predicted), number(error)]))
        })
        .collect();
    if off.is_empty() {
        return None;
    }
    off.sort_by(|a, b| b.0.total_cmp(&a.0));
    let columns = [("case", Column::Name), ("true", Column::Number), ("predicted", Column::Number), ("error", Column::Number)];
    Some(table(&columns, off.into_iter().take(WORST).map(|(_, row)| row)))
}

/// What looked wrong with the data.
pub(super) fn warnings(page: &mut String, run: &RunRecord) {
    if !run.warnings.is_empty() {
        let items: String = run.warnings.iter().map(|warning| format!("<li>{}</li>", escaped(warning))).collect();
        page.push_str(&format!(
            "<div class=\"warnings\" role=\"note\"><strong>Before you trust it</strong><ul>{items}</ul></div>\n"
        ));
    }
}
