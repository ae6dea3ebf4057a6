//! Plots as SVG, to be put into a page: `scale` places values, `chart` draws layers over axes, the others say which.

mod chart;
mod classes;
mod curves;
mod date;
mod forecast;
mod ranking;
mod scale;
mod scatter;

pub(crate) use chart::COLOURS;
pub use chart::{Axis, Chart, Layer};
pub(crate) use classes::{PrecisionRecall, calibrated, cases, precision_recall, receiver};
pub(crate) use curves::{losses, metric, metrics};
pub(crate) use forecast::forecast;
pub use ranking::Ranking;
pub use scale::Spacing;
pub(crate) use scatter::{metric_against_time, predicted_against_true};
