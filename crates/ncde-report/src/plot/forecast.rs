//! A series and its forecast: what was seen, what came, what was forecast and how surely.

use super::chart::{Axis, Chart, Layer};
use super::scale::Spacing;
use crate::record::Forecasted;

/// The plot; `None` without anything to draw.
pub(crate) fn forecast(own: &Forecasted) -> Option<String> {
    let band = own.forecast.iter().zip(&own.interval).map(|([time, _], [low, high])| [*time, *low, *high]);
    // What came begins where what was seen ends, so that the line is one.
    let joined = |points: &[[f64; 2]]| own.seen.last().into_iter().chain(points).copied().collect::<Vec<_>>();
    let mut layers = vec![
        Layer::Line { points: own.seen.clone(), colour: 7, dashed: false },
        Layer::Line { points: joined(&own.truth), colour: 7, dashed: false },
        Layer::Line { points: own.forecast.clone(), colour: 0, dashed: true },
    ];
    if !own.interval.is_empty() {
        layers.insert(0, Layer::Band { points: band.collect(), colour: 0 });
    }
    if let [single] = own.forecast[..] {
        layers.push(Layer::Dots { points: vec![single], colour: 0 });
    }
    let start = own.seen.last().map(|point| point[0]);
    layers.extend(start.map(|at| Layer::Rule { at, text: "now".into() }));
    let axis = |label: &str| Axis { label: label.into(), spacing: Spacing::Linear };
    Chart { title: format!("forecast of {}", own.channel), x: axis("time"), y: axis(&own.channel), layers }.svg()
}
