//! A series and its forecast: what was seen, what came, what was forecast and how surely.

use super::chart::{Chart, Layer};
use crate::record::Forecasted;

/// The plot; `None` without anything to draw.
pub(crate) fn forecast(series: &Forecasted) -> Option<String> {
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
    Chart::linear(format!("forecast of {}", series.channel), "time", &series.channel, layers).svg()
}
