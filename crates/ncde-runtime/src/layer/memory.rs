//! Memories of how each number of a row came to its present value: `row_t = (z of every span, x and statics if asked for)`.
//!
//! ```text
//! z <- e^{gA} z + (g phi_2(gA) B - e_0) (x_t - x_{t-1}),     g = (time since the last row) / span
//! ```
//!
//! The equations are in `ncde-reservoir`. Rows are `[spans, order, width]`, then the row itself and the static covariates. Levels do not matter to `z`, and it forgets what is older than its span, so
//! that a series may drift and go on for ever. No weights.

use ncde_reservoir::{Changes, ChangesScratch, legendre};
use serde::{Deserialize, Serialize};

use super::signal::{MOST_NUMBERS, refuse};
use super::{Chain, Layer, Row, Share, Signal, Size, Step, Values};
use crate::Error;

/// Memories of changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// How many coefficients there are of each span.
    pub order: usize,
    /// How far back each of them goes, in the unit of time of the rows.
    pub spans: Vec<f64>,
    /// Whether the row itself and the static covariates are handed on as well.
    pub values: bool,
}

/// The most spans.
const MOST_SPANS: usize = 256;

impl Layer for Memory {
    fn output(&self, input: &Signal) -> Result<Signal, Error> {
        let width = input.sequence("memory")?;
        if !(1..=legendre::MOST_ORDER).contains(&self.order) {
            return refuse("order", format!("{}; it is from 1 to {}", self.order, legendre::MOST_ORDER));
        }
        if self.spans.is_empty() || self.spans.len() > MOST_SPANS {
            return refuse("spans", format!("a list of {}; it has 1 to {MOST_SPANS}", self.spans.len()));
        }
        if let Some(span) = self.spans.iter().find(|span| !(span.is_finite() && **span > 0.0)) {
            return refuse("spans", format!("a list with {span}; spans are positive"));
        }
        let numbers = width.saturating_mul(self.order * self.spans.len() + 16).saturating_add(input.statics);
        if numbers > MOST_NUMBERS {
            return refuse("spans", format!("so many that rows have {numbers} numbers; at most {MOST_NUMBERS} are possible"));
        }
        Ok(input.with_width(self.order * self.spans.len() * width + if self.values { width + input.statics } else { 0 }))
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Option<Chain>) -> Result<Box<dyn Step>, Error> {
        let changes = Changes::new(self.order, self.spans.clone(), input.width());
        Ok(Box::new(MemoryStep {
            changes,
            width: input.width(),
            values: self.values,
            scratch: ChangesScratch::default(),
            features: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct MemoryStep {
    changes: Changes,
    width: usize,
    values: bool,
    scratch: ChangesScratch,
    features: Vec<f32>,
}

/// Numbers before the last row: whether there was one, and its time.
const HEAD: usize = 2;

impl Step for MemoryStep {
    fn memory(&self) -> Size {
        Size { wide: HEAD + self.width, narrow: self.changes.state() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (head, state) = (memory.wide, memory.narrow);
        if head[0] > 0.0 {
            // Differences in f64: a series that has drifted far changes by as little as before.
            let changes = row.values.iter().zip(&head[HEAD..]).map(|(now, before)| (now - before) as f32);
            self.changes.push(state, row.time - head[1], changes, &mut self.scratch);
        }
        [head[0], head[1]] = [1.0, row.time];
        head[HEAD..].copy_from_slice(row.values);
        self.features.clear();
        self.changes.read(state, &mut self.features);
        out.clear();
        out.extend(self.features.iter().map(|&x| f64::from(x)));
        if self.values {
            out.extend(row.values.iter().chain(row.statics).map(|&x| f64::from(x as f32)));
        }
        Ok(true)
    }
}
