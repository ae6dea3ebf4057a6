//! How well classes are told apart, and whether probabilities mean what they say.

use super::chart::{COLOURS, Chart, Layer};
use crate::format::number;
use crate::metrics::{self, Bin, calibration, roc};
use crate::record::{Outcome, RunRecord};

/// The most bins of a calibration.
const MAX_BINS: usize = 10;

/// The test cases that have probabilities, each with the number of its true class.
pub(crate) fn cases(run: &RunRecord) -> Vec<(&[f64], usize)> {
    let classes = &run.data.classes;
    let place = |truth: &Outcome| match truth {
        Outcome::Class(name) => classes.iter().position(|class| class == name),
        Outcome::Number(_) => None,
    };
    let rows = run.predictions.iter().filter(|case| case.probabilities.len() == classes.len());
    rows.filter_map(|case| Some((&case.probabilities[..], place(&case.truth)?))).collect()
}

/// A curve for each class against the others, of two classes for the second; with the names of the classes that are drawn, by colour.
pub(crate) fn receiver(run: &RunRecord) -> Option<(String, Vec<(usize, usize)>)> {
    let (cases, classes) = (cases(run), run.data.classes.len());
    let chosen = if classes == 2 { 1..2 } else { 0..classes };
    let curve = |class: usize| roc(&cases.iter().map(|(row, truth)| (row[class], *truth == class)).collect::<Vec<_>>());
    let curves: Vec<(usize, Vec<[f64; 2]>)> =
        chosen.map(|class| (class, curve(class))).filter(|(_, curve)| !curve.is_empty()).take(COLOURS).collect();
    if curves.is_empty() {
        return None;
    }
    let names = curves.iter().enumerate().map(|(colour, (class, _))| (colour, *class)).collect();
    let mut layers = vec![Layer::Guide { points: vec![[0.0, 0.0], [1.0, 1.0]] }];
    layers.extend(curves.into_iter().enumerate().map(|(colour, (_, points))| Layer::Line { points, colour, dashed: false }));
    let (x, y) = ("others taken for the class (share)", "cases of the class found (share)");
    Some((Chart::linear("receiver operating characteristic", x, y, layers).svg()?, names))
}

/// How well one of two classes is found, as thresholds have it.
pub(crate) struct PrecisionRecall {
    pub(crate) class: usize,
    pub(crate) svg: String,
    /// `[threshold, recall, precision]` of the threshold that the run has.
    pub(crate) chosen: Option<[f64; 3]>,
}

/// Precision against recall for the class with a threshold, else the rarer of two.
pub(crate) fn precision_recall(run: &RunRecord) -> Option<PrecisionRecall> {
    let cases = cases(run);
    if run.data.classes.len() != 2 {
        return None;
    }
    let of = |class: usize| cases.iter().filter(|(_, truth)| *truth == class).count();
    let named = run.threshold.as_ref().and_then(|threshold| run.data.classes.iter().position(|name| *name == threshold.class));
    let class = named.unwrap_or(usize::from(of(1) <= of(0)));
    let curve = metrics::precision_recall(&cases.iter().map(|(row, truth)| (row[class], *truth == class)).collect::<Vec<_>>());
    let at = run.threshold.as_ref().map_or(0.5, |threshold| threshold.at);
    let chosen =
        curve.iter().copied().take_while(|[score, ..]| *score >= at).last().map(|[_, recall, precision]| [at, recall, precision]);
    let share = of(class) as f64 / cases.len() as f64;
    let mut layers = vec![
        Layer::Guide { points: vec![[0.0, share], [1.0, share]] },
        Layer::Line {
            points: curve.iter().map(|[_, recall, precision]| [*recall, *precision]).collect(),
            colour: 0,
            dashed: false,
        },
    ];
    layers.extend(chosen.map(|[at, recall, precision]| {
        let tip = format!("threshold {}", number(at));
        Layer::Mark { at: [recall, precision], name: String::new(), tip, colour: 1, area: 1.0 }
    }));
    let (x, y) = ("recall: share of its cases that is found", "precision: share that is right");
    // One point is no curve.
    let svg = Chart::linear("precision against recall", x, y, layers).svg().filter(|_| curve.len() > 1)?;
    Some(PrecisionRecall { class, svg, chosen })
}

/// The share of right predictions against their probability, with the line where both are equal.
pub(crate) fn calibrated(run: &RunRecord) -> Option<(String, Vec<Bin>)> {
    let bins = calibration(cases(run).into_iter(), MAX_BINS);
    if bins.len() < 2 {
        return None;
    }
    let low = bins.iter().map(|bin| bin.confidence.min(bin.accuracy)).fold(1.0, f64::min);
    let points: Vec<[f64; 2]> = bins.iter().map(|bin| [bin.confidence, bin.accuracy]).collect();
    let mark = |at: &[f64; 2], bin: &Bin| Layer::Mark {
        at: *at,
        name: String::new(),
        tip: format!("{} cases: {:.0} % sure, {:.0} % right", bin.cases, 100.0 * bin.confidence, 100.0 * bin.accuracy),
        colour: 0,
        area: 1.0,
    };
    let mut layers = vec![
        Layer::Guide { points: vec![[low, low], [1.0, 1.0]] },
        Layer::Line { points: points.clone(), colour: 0, dashed: false },
    ];
    layers.extend(points.iter().zip(&bins).map(|(at, bin)| mark(at, bin)));
    let chart = Chart::linear("calibration", "probability of the predicted class", "share that is right", layers);
    Some((chart.svg()?, bins))
}
