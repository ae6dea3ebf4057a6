//! For tests of layers against other libraries: numbers that both sides can make, and what a list of layers hands on.

use super::{Resolved, Row, Signal, StateMemory, StepChain};
use crate::{LayerSpec, NamedWeight, Weights};

/// `(7 k mod 11 - 5) / 10` for `k = 0, 1, 2, ...`: the numbers of one array after the other.
#[derive(Debug, Default)]
pub(super) struct Numbers(usize);

impl Numbers {
    /// The next ones.
    pub(super) fn take(&mut self, count: usize) -> Vec<f64> {
        self.0 += count;
        (self.0 - count..self.0).map(|k| (7 * k % 11) as f64 / 10.0 - 0.5).collect()
    }

    /// The next ones as rows.
    pub(super) fn rows(&mut self, rows: usize, width: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.take(width)).collect()
    }

    /// The next ones, which the other library has in an array `[rows, columns]`, as one `[columns, rows]`.
    pub(super) fn transposed(&mut self, rows: usize, columns: usize) -> Vec<f64> {
        let taken = self.take(rows * columns);
        (0..columns).flat_map(|c| taken.iter().skip(c).step_by(columns).copied().collect::<Vec<f64>>()).collect()
    }
}

/// Compares what layers with these weights hand on for rows at times 0, 1, 2, ... with what is wanted.
pub(super) fn outputs(layers: &str, weights: &[(&str, Vec<f64>)], rows: &[Vec<f64>], wanted: &[f64]) {
    let times: Vec<f64> = (0..rows.len()).map(|t| t as f64).collect();
    outputs_at(layers, weights, &times, rows, wanted);
}

/// The same at other times.
pub(super) fn outputs_at(layers: &str, weights: &[(&str, Vec<f64>)], times: &[f64], rows: &[Vec<f64>], wanted: &[f64]) {
    let layers: Vec<LayerSpec> = serde_json::from_str(layers).unwrap();
    let resolved = Resolved::new(&layers, &Signal::values(rows[0].len())).unwrap();
    let named = resolved.weights().into_iter().map(|weight| {
        // Names begin with the place of the layer, where there are several.
        let is_own = |name: &str| [format!("layers.0.{name}"), format!("layers.{name}")].contains(&weight.name);
        let own = weights.iter().find(|(name, _)| is_own(name));
        let values: Vec<f32> = own.unwrap_or_else(|| panic!("no {}", weight.name)).1.iter().map(|&x| x as f32).collect();
        assert_eq!(values.len(), weight.count(), "{}", weight.name);
        NamedWeight { name: weight.name, shape: weight.shape, values }
    });
    let mut chain = StepChain::new(&resolved, &mut Weights::of(named.collect())).unwrap();
    let mut memory = StateMemory::new(chain.memory());
    let mut seen = Vec::new();
    for (&time, values) in times.iter().zip(rows) {
        chain.push(0, memory.share(), Row { time, values, statics: &[] }).unwrap();
        seen.extend_from_slice(chain.last());
    }
    let largest = wanted.iter().fold(1e-3, |most: f64, y| most.max(y.abs()));
    let far = seen.iter().zip(wanted).map(|(seen, wanted)| (seen - wanted).abs()).fold(0.0, f64::max);
    assert!(seen.len() == wanted.len() && far < 1e-6 * largest.max(1.0), "{far}: {seen:?}, but {wanted:?} is wanted");
}
