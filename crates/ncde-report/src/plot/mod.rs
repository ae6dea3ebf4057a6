//! Plots as SVG, to be put into a page: `scale` places values, `chart` draws layers over axes, the others say which.

mod chart;
mod classes;
mod curves;
mod forecast;
mod scale;
mod scatter;

pub(crate) use classes::{calibrated, cases, receiver};
pub(crate) use curves::{losses, metric, metrics};
pub(crate) use forecast::forecast;
pub(crate) use scatter::{metric_against_time, predicted_against_true};
