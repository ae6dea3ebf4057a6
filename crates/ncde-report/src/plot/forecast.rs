//! A series and its forecast: what was seen, what came, what was forecast and how surely.

use super::chart::{Axis, Chart, Layer};
use super::date;
use super::scale::Spacing;
use crate::format::shortened;
use crate::record::Forecasted;

/// The longest name of an axis.
const LONGEST_NAME: usize = 34;

/// The plot; `None` without anything to draw.
pub(crate) fn forecast(series: &Forecasted, dates: bool) -> Option<String> {
    let band = series.forecast.iter().zip(&series.interval).map(|([time, _], [low, high])| [*time, *low, *high]);
    // What came begins where what was seen ends, so that the line is one.
    let joined = |points: &[[f64; 2]]| series.seen.last().into_iter().chain(points).copied().collect::<Vec<_>>();
    let mut layers = vec![
        Layer::Line { points: series.seen.clone(), colour: 7, dashed: false },
        Layer::Line { points: joined(&series.truth), colour: 7, dashed: false },
        Layer::Line { points: series.forecast.clone(), colour: 0, dashed: true },
    ];
    if !series.interval.is_empty() {
        layers.insert(0, Layer::Band { points: band.collect(), colour: 0 });
    }
    if let [single] = series.forecast[..] {
        layers.push(Layer::Dots { points: vec![single], colour: 0 });
    }
    let start = series.seen.last().map(|point| point[0]);
    layers.extend(start.map(|at| Layer::Rule { at, text: "now".into() }));
    let title = format!("forecast of {}", series.channel);
    let mut chart = Chart::linear(title, "time", &shortened(&series.channel, LONGEST_NAME), layers);
    if dates {
        let lines = [&series.seen, &series.truth, &series.forecast];
        chart.x = Axis::new(date::name(lines.into_iter().flatten().map(|point| point[0])), Spacing::Dates);
    }
    chart.svg()
}
