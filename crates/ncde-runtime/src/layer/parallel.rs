//! Lists of layers beside each other, each given the same rows: `y = (f_1(x), ..., f_n(x))`.
//!
//! As the last layer of a model, where each list makes all the numbers that the task needs, the lists are members of a committee: the loss is the mean of theirs, so that each learns
//! by itself, and the prediction is the mean of their probabilities or numbers. Members that begin with other weights err on other cases.

use serde::{Deserialize, Serialize};

use super::residual::is_row_for_row;
use super::signal::misplaced;
use super::{Layer, LayerSpec, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// Lists of layers beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// `f_1` to `f_n`.
    pub layers: Vec<Vec<LayerSpec>>,
}

impl Layer for Parallel {
    fn describe(&self) -> String {
        format!("the same rows through {} lists of layers, each for itself", self.layers.len())
    }

    fn output(&self, _: &Signal, inside: &[Signal]) -> Result<Signal, Error> {
        let mut whole: Option<Signal> = None;
        for (l, (list, output)) in self.layers.iter().zip(inside).enumerate() {
            if list.is_empty() {
                return Err(misplaced("parallel", format!("list {l} has no layers")));
            }
            let width = output.numbers("parallel")?;
            if !is_row_for_row(list) {
                return Err(misplaced("parallel", "the lists must hand on a row for each row; put `windows` before them"));
            }
            whole = Some(match whole {
                Some(before) if before.pooled != output.pooled => {
                    return Err(misplaced("parallel", "a `pool` is in some lists and not in others; all are needed, or none"));
                }
                Some(before) => output.with_width(before.width() + width),
                None => output.with_width(width),
            });
        }
        whole.ok_or_else(|| misplaced("parallel", "it has no lists of layers"))
    }

    fn inside(&self) -> Vec<&[LayerSpec]> {
        self.layers.iter().map(Vec::as_slice).collect()
    }

    fn step(&self, _: &Signal, _: &mut Values, inside: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(ParallelStep { lists: inside }))
    }
}

#[derive(Debug)]
struct ParallelStep {
    lists: Vec<StepChain>,
}

impl Step for ParallelStep {
    fn memory(&self) -> Size {
        memory_of(&self.lists)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        out.clear();
        push_each(&mut self.lists, memory, row, |made| out.extend_from_slice(made))?;
        Ok(true)
    }
}

/// What lists beside each other remember, one after the other.
pub(super) fn memory_of(lists: &[StepChain]) -> Size {
    lists.iter().fold(Size::default(), |sum, list| sum.plus(list.memory()))
}

/// Gives each list the same row, and shows what it makes of it.
pub(super) fn push_each(
    lists: &mut [StepChain],
    mut memory: Share<'_>,
    row: Row<'_>,
    mut show: impl FnMut(&[f64]),
) -> Result<(), Error> {
    let mut from = Size::default();
    for list in lists {
        let to = from.plus(list.memory());
        // Without windows a row comes out for each that goes in.
        list.push(0, memory.part(from, to), row)?;
        show(list.last());
        from = to;
    }
    Ok(())
}
