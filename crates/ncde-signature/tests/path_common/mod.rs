//! Random series, and paths as functions that return vectors.
#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap too")]

use ncde_signature::path::{Path, Series};
use proptest::prelude::*;

/// Observations of a few channels at random times.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) start: f64,
    pub(crate) steps: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) channels: usize,
}

impl Case {
    pub(crate) fn any() -> impl Strategy<Value = Case> {
        (2..10_usize, 1..4_usize).prop_flat_map(|(length, channels)| {
            let steps = prop::collection::vec(0.05..3.0, length - 1);
            let values = prop::collection::vec(-10.0..10.0, length * channels);
            (-5.0..5.0, steps, values).prop_map(move |(start, steps, values)| Case { start, steps, values, channels })
        })
    }

    pub(crate) fn times(&self) -> Vec<f64> {
        let mut times = vec![self.start];
        for step in &self.steps {
            times.push(times[times.len() - 1] + step);
        }
        times
    }

    /// The time at a fraction of the whole domain.
    pub(crate) fn time(&self, fraction: f64) -> f64 {
        let times = self.times();
        let (start, end) = (times[0], times[times.len() - 1]);
        (start + fraction * (end - start)).min(end)
    }
}

pub(crate) fn observed(case: &Case) -> Series<f64> {
    Series::new(case.times(), case.values.clone(), case.channels).unwrap()
}

pub(crate) fn value(path: &impl Path<f64>, t: f64) -> Vec<f64> {
    let mut out = vec![f64::NAN; path.channels()];
    path.evaluate(t, &mut out).unwrap();
    out
}

pub(crate) fn slope(path: &impl Path<f64>, t: f64) -> Vec<f64> {
    let mut out = vec![f64::NAN; path.channels()];
    path.derivative(t, &mut out).unwrap();
    out
}

pub(crate) fn increment(path: &impl Path<f64>, s: f64, t: f64) -> Vec<f64> {
    let mut out = vec![f64::NAN; path.channels()];
    path.increment(s, t, &mut out).unwrap();
    out
}

pub(crate) fn polyline(path: &impl Path<f64>, s: f64, t: f64, refinement: usize) -> Vec<Vec<f64>> {
    let mut out = Vec::new();
    path.polyline(s, t, refinement, &mut out).unwrap();
    out.chunks_exact(path.channels()).map(<[f64]>::to_vec).collect()
}
