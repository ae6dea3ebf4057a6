//! How well classes are told apart, as curves: receiver operating characteristic, precision against recall, calibration.

use super::{card, colour, legend, soft};
use crate::format::{number, percent};
use crate::metrics::{Classification, auroc, calibration_error};
use crate::{RunRecord, plot};

pub(super) fn cards(page: &mut String, run: &RunRecord, metrics: &Classification) {
    card(page, "Telling each class from the others", receiver(run), "");
    card(page, "Precision and recall", precision_recall(run, metrics), "");
    card(page, "Are probabilities right?", calibration(run), "");
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

fn precision_recall(run: &RunRecord, metrics: &Classification) -> Option<String> {
    let plot::PrecisionRecall { class, svg, chosen } = plot::precision_recall(run)?;
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
