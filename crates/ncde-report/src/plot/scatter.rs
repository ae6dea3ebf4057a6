//! Clouds of points: predicted against true numbers, and a metric against the time of a step.

use super::chart::{Axis, Chart, Layer};
use super::curves::factor;
use super::scale::Spacing;
use crate::compare::Board;
use crate::format::{duration, is_share, metric, metric_name};
use crate::record::RunRecord;

/// Predicted against true, with the line where both are equal; `None` without numbers.
pub(crate) fn predicted_against_true(run: &RunRecord) -> Option<String> {
    let points: Vec<[f64; 2]> =
        run.predictions.iter().filter_map(|case| Some([case.truth.number()?, case.predicted.number()?])).collect();
    let low = points.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = points.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    if points.is_empty() {
        return None;
    }
    // Both ends are on both axes, so the axes are the same and the line is the diagonal.
    let diagonal = Layer::Guide { points: vec![[low, low], [high, high]] };
    let layers = vec![diagonal, Layer::Dots { points, colour: 0 }];
    Chart::linear("predicted against true values", "true", "predicted", layers).svg()
}

/// The metric of each entry against the time of a step, with the Pareto frontier; `None` of fewer than two entries.
pub(crate) fn metric_against_time(board: &Board<'_>) -> Option<String> {
    let entries: Vec<_> =
        board.entries.iter().enumerate().filter_map(|(colour, entry)| Some((colour, entry, entry.point()?))).collect();
    if entries.len() < 2 {
        return None;
    }
    let slowest = entries.iter().map(|(_, _, point)| point[0]).fold(0.0, f64::max);
    let (unit, scale) = if slowest < 1e-3 {
        ("\u{b5}s", 1e6)
    } else if slowest < 1.0 {
        ("ms", 1e3)
    } else {
        ("s", 1.0)
    };
    let place = |[seconds, score]: [f64; 2]| [seconds * scale, score * factor(board.metric)];

    let mut corner: Vec<[f64; 2]> =
        entries.iter().filter(|(_, entry, _)| entry.frontier).map(|(_, _, point)| place(*point)).collect();
    corner.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut layers = vec![Layer::Guide { points: corner }];
    for (colour, entry, point) in &entries {
        let [x, y] = place(*point);
        if let Some(half) = entry.score.and_then(|score| score.half) {
            let half = half * factor(board.metric);
            // No share is below nothing or above all.
            let (low, high) = if is_share(board.metric) { (0.0, 100.0) } else { (f64::NEG_INFINITY, f64::INFINITY) };
            layers.push(Layer::Bar { at: x, low: (y - half).max(low), high: (y + half).min(high), colour: *colour });
        }
        let tip = format!("{}: {}, {} a step", entry.name(), metric(board.metric, point[1]), duration(point[0]));
        layers.push(Layer::Mark { at: [x, y], name: entry.letter.clone(), tip, colour: *colour, area: 1.0 });
    }
    let share = if is_share(board.metric) { " (%)" } else { "" };
    let x = Axis { label: format!("time a step ({unit})"), spacing: Spacing::Auto };
    let y = Axis { label: format!("{}{share}", metric_name(board.metric)), spacing: Spacing::Linear };
    Chart { title: format!("{} against the time of a step", metric_name(board.metric)), x, y, layers }.svg()
}
