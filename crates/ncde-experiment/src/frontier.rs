//! A metric against the time of a step, the mean over tasks, with the models that no other beats in both joined by a line; the areas of points are memory.

use ncde_report::plot::{Axis, Chart, Layer, Spacing};
use ncde_report::statistics::Better;

use crate::Figure;
use crate::plan::Metric;
use crate::record::Record;
use crate::table::{Mean, mean, names};

/// The area of the largest point, where areas are memory.
const LARGEST: f64 = 6.0;

/// A figure of the models that have both metrics on all tasks; the metric has a better side, and less time is better.
pub(crate) fn frontier(records: &[Record], metric: &Metric, time: &Metric, memory: Option<&Metric>) -> Figure {
    let tasks = names(records, |record| &record.task);
    let over = |model: &str, metric: &Metric| {
        let all: Option<Vec<f64>> = tasks.iter().map(|task| Some(mean(records, model, task, metric.name)?.mean)).collect();
        Some(metric.factor * Mean::of(&all?)?.mean)
    };
    let point = |model: &&str| Some(((*model).to_owned(), [over(model, time)?, over(model, metric)?]));
    let points: Vec<(String, [f64; 2])> = names(records, |record| &record.model).iter().filter_map(point).collect();
    let cost = |value: f64| metric.better.unwrap_or(Better::More).cost(value);
    let beaten = |at: &[f64; 2]| points.iter().any(|(_, own)| own != at && own[0] <= at[0] && cost(own[1]) <= cost(at[1]));
    let mut best: Vec<[f64; 2]> = points.iter().map(|(_, at)| *at).filter(|at| !beaten(at)).collect();
    best.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut layers = vec![Layer::Guide { points: best }];
    let memories: Vec<Option<f64>> = points.iter().map(|(name, _)| over(name, memory?)).collect();
    let most = memories.iter().flatten().fold(0.0, |most: f64, &own| most.max(own));
    layers.extend(points.iter().zip(&memories).enumerate().map(|(colour, ((name, at), &held))| {
        let tip = format!("{name}: {:.*}, {:.*}", metric.digits, at[1], time.digits, at[0]);
        let tip = held.map_or(tip.clone(), |held| format!("{tip}, {held:.0} MiB"));
        Layer::Mark { at: *at, name: String::new(), tip, colour, area: held.map_or(1.0, |held| LARGEST * held / most) }
    }));
    let y = if tasks.len() > 1 { format!("mean {}", metric.title) } else { metric.title.into() };
    let (x, y) = (Axis::new(time.title, Spacing::Auto), Axis::new(y, Spacing::Linear));
    let areas = if most > 0.0 { "; areas are memory" } else { "" };
    let chart = Chart { title: format!("{} against {}{areas}", metric.title, time.title), x, y, layers };
    Figure { chart, names: points.into_iter().map(|(name, _)| name).collect() }
}
