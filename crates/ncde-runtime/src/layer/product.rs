//! Lists of layers, each given the same rows, multiplied number by number: `y = f_1(x) f_2(x) ... f_n(x)`, as gates are.

use serde::{Deserialize, Serialize};

use super::parallel::{memory_of, push_each};
use super::residual::is_row_for_row;
use super::signal::{counted, misplaced};
use super::{Layer, LayerSpec, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// Lists of layers whose rows are multiplied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// `f_1` to `f_n`.
    pub layers: Vec<Vec<LayerSpec>>,
}

impl Layer for Product {
    fn describe(&self) -> String {
        format!("the same rows through {}, multiplied number by number", counted(self.layers.len(), "list"))
    }

    fn output(&self, _: &Signal, inside: &[Signal]) -> Result<Signal, Error> {
        let mut all: Option<Signal> = None;
        for (l, (list, output)) in self.layers.iter().zip(inside).enumerate() {
            let width = output.numbers("product")?;
            if !is_row_for_row(list) || output.pooled {
                return Err(misplaced(
                    "product",
                    "the lists must hand on a row for each row; put `windows` before them, `pool` behind",
                ));
            }
            match &all {
                Some(before) if before.width() != width => {
                    let problem =
                        format!("list {l} hands on {width} numbers, those before it {}; as many are needed", before.width());
                    return Err(misplaced("product", problem));
                }
                _ => all = Some(output.with_width(width)),
            }
        }
        all.ok_or_else(|| misplaced("product", "it has no lists of layers"))
    }

    fn inside(&self) -> Vec<&[LayerSpec]> {
        self.layers.iter().map(Vec::as_slice).collect()
    }

    fn step(&self, _: &Signal, _: &mut Values, inside: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(ProductStep { lists: inside }))
    }
}

#[derive(Debug)]
struct ProductStep {
    lists: Vec<StepChain>,
}

impl Step for ProductStep {
    fn memory(&self) -> Size {
        memory_of(&self.lists)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        out.clear();
        push_each(&mut self.lists, memory, row, |made| {
            if out.is_empty() {
                out.resize(made.len(), 1.0);
            }
            out.iter_mut().zip(made).for_each(|(y, f)| *y *= f);
        })?;
        Ok(true)
    }
}
