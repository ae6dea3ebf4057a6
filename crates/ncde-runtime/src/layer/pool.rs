//! One row for the series as a whole: its last, or the mean of all.
//!
//! One row at a time, the row so far is handed on after each: what a series that ends here would give.

use serde::{Deserialize, Serialize};

use super::{Layer, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// Pooling over the rows of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// What is taken.
    pub over: Over,
}

/// What is taken of the rows of a series. An output at every observation takes no `pool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The last.
    Last,
    /// The mean of all.
    Mean,
}

impl Layer for Pool {
    fn describe(&self) -> String {
        match self.over {
            Over::Last => "the last row alone".into(),
            Over::Mean => "the mean of all rows".into(),
        }
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("pool")?;
        Ok(Signal { pooled: true, ..input.with_width(width) })
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(PoolStep { over: self.over, width: input.width() }))
    }
}

#[derive(Debug)]
struct PoolStep {
    over: Over,
    width: usize,
}

impl Step for PoolStep {
    fn memory(&self) -> Size {
        Size::wide(if self.over == Over::Mean { self.width + 1 } else { 0 })
    }

    fn is_identity(&self) -> bool {
        self.over == Over::Last
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        out.clear();
        let Some((count, sum)) = memory.wide.split_first_mut() else {
            out.extend_from_slice(row.values);
            return Ok(true);
        };
        *count += 1.0;
        sum.iter_mut().zip(row.values).for_each(|(sum, x)| *sum += x);
        out.extend(sum.iter().map(|sum| f64::from((sum / *count) as f32)));
        Ok(true)
    }
}
