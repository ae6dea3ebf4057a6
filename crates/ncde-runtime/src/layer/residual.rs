//! A skip connection around a list of layers: `y = x + f(x)`.

use serde::{Deserialize, Serialize};

use super::signal::misplaced;
use super::{Ended, Layer, LayerSpec, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// A skip connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    /// `f`.
    pub layers: Vec<LayerSpec>,
}

impl Layer for Residual {
    fn describe(&self) -> String {
        "what comes in is added to what these make of it".into()
    }

    fn takes(&self, input: &Signal) -> Result<(), Error> {
        input.numbers("residual").map(|_| ())
    }

    fn output(&self, input: &Signal, inside: &[Signal]) -> Result<Signal, Error> {
        let (width, output) = (input.width(), made_inside("residual", &self.layers, input, inside)?);
        if output.width() != width {
            let problem = format!("its layers make {} numbers of {width}; they must make as many, to be added", output.width());
            return Err(misplaced("residual", problem));
        }
        Ok(output)
    }

    fn inside(&self) -> Vec<&[LayerSpec]> {
        vec![&self.layers]
    }

    fn step(&self, _: &Signal, _: &mut Values, mut inside: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let chain = inside.pop().ok_or_else(|| misplaced("residual", "it has no layers inside"))?;
        Ok(Box::new(ResidualStep { chain }))
    }
}

/// The rows that the layers inside another hand on, one for each row.
pub(super) fn made_inside(name: &'static str, layers: &[LayerSpec], input: &Signal, inside: &[Signal]) -> Result<Signal, Error> {
    let Some(output) = inside.first().filter(|_| !layers.is_empty()) else {
        return Err(misplaced(name, "it has no layers inside"));
    };
    if !is_row_for_row(layers) || output.pooled != input.pooled {
        return Err(misplaced(name, "the layers inside must hand on a row for each row; put `windows` and `pool` outside"));
    }
    Ok(output.clone())
}

/// Whether layers hand on a row for each row, as none does that waits for several.
pub(super) fn is_row_for_row(layers: &[LayerSpec]) -> bool {
    layers.iter().all(|layer| layer.layer().is_row_for_row())
}

#[derive(Debug)]
struct ResidualStep {
    chain: StepChain,
}

impl Step for ResidualStep {
    fn memory(&self) -> Size {
        self.chain.memory()
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let ended = self.chain.push(0, memory, row)?;
        out.clear();
        out.extend(self.chain.last().iter().zip(row.values).map(|(y, x)| f64::from(*y as f32 + *x as f32)));
        Ok(ended == Ended::Out)
    }
}
