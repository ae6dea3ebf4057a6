//! Memories of how each number of a row came to its present value: `row_t = (z of every span, x and statics if asked for)`.
//!
//! ```text
//! z <- e^{gA} z + (g phi_2(gA) B - e_0) (x_t - x_{t-1}),     g = (time since the last row) / span
//! ```
//!
//! If there are `turns`, also sliding Fourier coefficients of each number: `r <- e^{lambda h} r + phi_1(lambda h) (x_t - x_{t-1})`, `lambda = -a + i w`.
//!
//! The equations are in `ncde-reservoir`. Rows are `[spans, order, width]`, `[turns, 2, width]`, then the row itself and the static covariates. Levels do not matter to `z`, and it forgets what is older than its span, so
//! that a series may drift and go on for ever. No weights.

use ncde_reservoir::{Changes, ChangesScratch, FourierScratch, SlidingFourier, legendre};
use serde::{Deserialize, Serialize};

use super::signal::{MAX_NUMBERS, product, refuse};
use super::{Cost, Layer, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// Memories of changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// How many coefficients there are of each span.
    pub order: usize,
    /// How far back each of them goes, in the unit of time of the rows.
    pub spans: Vec<f64>,
    /// Decay `a` and frequency `w` of what turns, a unit of time of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<[f64; 2]>,
    /// Whether the row itself and the static covariates are handed on as well.
    pub values: bool,
}

/// The most spans.
const MAX_SPANS: usize = 256;

impl Layer for Memory {
    fn describe(&self) -> String {
        format!(
            "how each channel came to its present value, over {} spans of time, {} numbers each{}",
            self.spans.len(),
            self.order,
            if self.values { ", and its value" } else { "" }
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("memory")?;
        if !(1..=legendre::MAX_ORDER).contains(&self.order) {
            return refuse("order", format!("{}; it is from 1 to {}", self.order, legendre::MAX_ORDER));
        }
        if self.spans.is_empty() || self.spans.len() > MAX_SPANS {
            return refuse("spans", format!("a list of {}; it has 1 to {MAX_SPANS}", self.spans.len()));
        }
        if let Some(span) = self.spans.iter().find(|span| !(span.is_finite() && **span > 0.0)) {
            return refuse("spans", format!("a list with {span}; spans are positive"));
        }
        if self.turns.len() > MAX_SPANS {
            return refuse("turns", format!("a list of {}; it has at most {MAX_SPANS}", self.turns.len()));
        }
        if let Some([a, w]) = self.turns.iter().find(|[a, w]| !(a.is_finite() && *a > 0.0 && w.is_finite())) {
            return refuse(
                "turns",
                format!("a list with [{a}, {w}]; the first number of a pair is positive, and both are finite"),
            );
        }
        let features = self.order * self.spans.len() + 2 * self.turns.len();
        let numbers = width.saturating_mul(features + 16).saturating_add(input.statics);
        if numbers > MAX_NUMBERS {
            return refuse("spans", format!("so many that rows have {numbers} numbers; at most {MAX_NUMBERS} are possible"));
        }
        Ok(input.with_width(features * width + if self.values { width + input.statics } else { 0 }))
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn cost(&self, input: &Signal) -> Cost {
        let numbers = product(&[input.width(), self.order.saturating_add(1), self.spans.len() + self.turns.len() + 16]);
        Cost { bytes: numbers.saturating_mul(8), work: numbers }
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let changes = Changes::new(self.order, self.spans.clone(), input.width());
        Ok(Box::new(MemoryStep {
            changes,
            fourier: SlidingFourier::new(self.turns.clone(), input.width()),
            width: input.width(),
            values: self.values,
            scratch: Default::default(),
            features: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct MemoryStep {
    changes: Changes,
    fourier: SlidingFourier,
    width: usize,
    values: bool,
    scratch: (ChangesScratch, FourierScratch),
    features: Vec<f32>,
}

/// Numbers before the last row: whether there was one, and its time.
const HEAD: usize = 2;

impl Step for MemoryStep {
    fn memory(&self) -> Size {
        Size { wide: HEAD + self.width, narrow: self.changes.state() + self.fourier.state() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (head, (state, coefficients)) = (memory.wide, memory.narrow.split_at_mut(self.changes.state()));
        if head[0] > 0.0 {
            // Differences in f64: a series that has drifted far changes by as little as before.
            let changes = row.values.iter().zip(&head[HEAD..]).map(|(now, before)| (now - before) as f32);
            self.changes.push(state, row.time - head[1], changes.clone(), &mut self.scratch.0);
            self.fourier.push(coefficients, row.time - head[1], &changes, &mut self.scratch.1);
        }
        [head[0], head[1]] = [1.0, row.time];
        head[HEAD..].copy_from_slice(row.values);
        self.features.clear();
        self.changes.read(state, &mut self.features);
        out.clear();
        out.extend(self.features.iter().chain(&*coefficients).map(|&x| f64::from(x)));
        if self.values {
            out.extend(row.values.iter().chain(row.statics).map(|&x| f64::from(x as f32)));
        }
        Ok(true)
    }
}
