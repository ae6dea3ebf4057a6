//! Training curves: losses and the validation metric against steps.
//!
//! A long history is thinned to what a plot can show; of each bucket of points the lowest and the highest stay, so
//! that no spike is lost.

use super::chart::{Axis, Chart, Layer};
use super::scale::Spacing;
use crate::format::{is_share, metric_name};
use crate::record::{Point, RunRecord};

/// The most points of a line.
const MAX_POINTS: usize = 300;

pub(crate) fn losses(run: &RunRecord) -> Option<String> {
    let training = line(run, 0, |point| Some(point.loss));
    let validation = match line(run, 1, |point| point.validation) {
        Layer::Line { points, colour, .. } => Layer::Line { points, colour, dashed: true },
        dots => dots,
    };
    steps("training and validation loss", "loss", Spacing::Auto, vec![training, validation], Some(run))
}

/// The validation metric of one run; `None` if it was never measured, or is the loss, which is drawn already.
pub(crate) fn metric(run: &RunRecord) -> Option<String> {
    let name = metric_of(run);
    let same = |point: &Point| match (point.metric, point.validation) {
        (Some(metric), Some(loss)) => (metric - loss).abs() <= 1e-6 * loss.abs(),
        (metric, _) => metric.is_none(),
    };
    if run.history.iter().all(same) {
        return None;
    }
    let layers = vec![line(run, 2, |point| point.metric.map(|value| value * factor(name)))];
    let label = axis_label(name);
    steps(&label, &label, spacing(name), layers, Some(run))
}

/// The validation metric of several runs, each with its colour; runs with another metric than the first are left out.
pub(crate) fn metrics<'a>(mut runs: impl Iterator<Item = (usize, &'a RunRecord)>) -> Option<String> {
    let first = runs.find(|(_, run)| run.best.is_some())?;
    let name = metric_of(first.1);
    let layers = std::iter::once(first)
        .chain(runs.filter(|(_, run)| metric_of(run) == name))
        .map(|(colour, run)| line(run, colour, |point| point.metric.map(|value| value * factor(name))))
        .collect();
    let label = axis_label(name);
    steps(&label, &label, spacing(name), layers, None)
}

/// The metric that the history holds.
fn metric_of(run: &RunRecord) -> &str {
    run.best.as_ref().map_or("metric", |best| best.metric.as_str())
}

/// Shares are drawn in percent.
pub(super) fn factor(metric: &str) -> f64 {
    if is_share(metric) { 100.0 } else { 1.0 }
}

/// Shares are compared by differences, errors by ratios.
fn spacing(metric: &str) -> Spacing {
    if is_share(metric) { Spacing::Linear } else { Spacing::Auto }
}

fn axis_label(metric: &str) -> String {
    format!("validation {}{}", metric_name(metric), if is_share(metric) { " (%)" } else { "" })
}

fn steps(title: &str, label: &str, spacing: Spacing, mut layers: Vec<Layer>, run: Option<&RunRecord>) -> Option<String> {
    if let Some(best) = run.and_then(|run| run.best.as_ref()) {
        layers.push(Layer::Rule { at: best.step as f64, text: "best".into() });
    }
    let x = Axis { label: "step".into(), spacing: Spacing::Whole };
    let y = Axis { label: label.into(), spacing };
    Chart { title: format!("{title} against steps"), x, y, layers }.svg()
}

fn line(run: &RunRecord, colour: usize, value: impl Fn(&Point) -> Option<f64>) -> Layer {
    let points: Vec<[f64; 2]> = run.history.iter().filter_map(|point| Some([point.step as f64, value(point)?])).collect();
    // A line through a single point cannot be seen.
    if points.len() == 1 {
        Layer::Dots { points, colour }
    } else {
        Layer::Line { points: thin(&points, MAX_POINTS), colour, dashed: false }
    }
}

/// At most `most` points: the first, the last, and the extremes of each bucket between them.
fn thin(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return points.to_vec();
    }
    let mut thinned = vec![points[0]];
    let inner = &points[1..points.len() - 1];
    for bucket in inner.chunks(inner.len().div_ceil((most - 2) / 2)) {
        let order = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let mut ends: Vec<[f64; 2]> =
            [bucket.iter().min_by(order), bucket.iter().max_by(order)].into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a[0].total_cmp(&b[0]));
        thinned.extend(ends);
    }
    thinned.push(points[points.len() - 1]);
    thinned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_spikes() {
        let mut points: Vec<[f64; 2]> = (0..10_000).map(|step| [f64::from(step), 1.0]).collect();
        points[4321][1] = 50.0;
        points[7777][1] = -3.0;
        let thinned = thin(&points, 300);
        assert!(thinned.len() <= 300, "{}", thinned.len());
        assert_eq!((thinned[0], thinned[thinned.len() - 1]), (points[0], points[9999]));
        assert!(thinned.contains(&[4321.0, 50.0]) && thinned.contains(&[7777.0, -3.0]));
        assert!(thinned.windows(2).all(|pair| pair[0][0] <= pair[1][0]));
    }
}
