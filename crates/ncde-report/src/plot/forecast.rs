//! A series and its forecast: what was seen, what came, what was forecast and how surely.

use super::chart::{Axis, Chart, Layer};
use super::scale::Spacing;
use crate::record::ForecastSample;

/// The plot; `None` without anything to draw.
pub(crate) fn forecast(own: &ForecastSample) -> Option<String> {
    let seen: Vec<[f64; 2]> = own.times.iter().copied().zip(own.truth.iter().copied()).map(|(time, value)| [time, value]).collect();
    let said: Vec<[f64; 2]> = own.ahead.iter().map(|point| [point.time, point.value]).collect();
    let band: Vec<[f64; 3]> =
        own.ahead.iter().filter_map(|point| point.interval.map(|[low, high]| [point.time, low, high])).collect();
    let mut layers = Vec::new();
    match band[..] {
        [] => {}
        [[at, low, high]] => layers.push(Layer::Bar { at, low, high, colour: 0 }),
        _ => layers.push(Layer::Band { points: band, colour: 0 }),
    }
    layers.push(Layer::Line { points: seen, colour: 7, dashed: false });
    // A line through a single point cannot be seen.
    layers.push(match said.len() {
        1 => Layer::Dots { points: said, colour: 0 },
        _ => Layer::Line { points: said, colour: 0, dashed: true },
    });
    layers.push(Layer::Rule { at: own.from, text: "now".into() });
    let axis = |label: &str| Axis { label: label.into(), spacing: Spacing::Linear };
    let label = crate::format::shortened(&own.channel, 30);
    Chart { title: format!("forecast of {}", own.channel), x: axis("time"), y: axis(&label), layers }.svg()
}
