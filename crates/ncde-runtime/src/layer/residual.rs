//! A skip connection around a list of layers: `y = x + f(x)`.

use serde::{Deserialize, Serialize};

use super::chain::signals;
use super::signal::misplaced;
use super::{Chain, Ended, Layer, LayerSpec, Row, Share, Signal, Size, Step, Values};
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

    fn output(&self, input: &Signal) -> Result<Signal, Error> {
        let width = input.numbers("residual")?;
        let output = inside("residual", &self.layers, input)?;
        if output.width() != width {
            let problem = format!("its layers make {} numbers of {width}; they must make as many, to be added", output.width());
            return Err(misplaced("residual", problem));
        }
        Ok(output)
    }

    fn inside(&self) -> Vec<&[LayerSpec]> {
        vec![&self.layers]
    }

    fn step(&self, _: &Signal, _: &mut Values, mut inside: Vec<Chain>) -> Result<Box<dyn Step>, Error> {
        let chain = inside.pop().ok_or_else(|| misplaced("residual", "it has no layers inside"))?;
        Ok(Box::new(ResidualStep { chain }))
    }
}

/// The signal after the layers inside another, which hand on a row for each row.
pub(super) fn inside(name: &'static str, layers: &[LayerSpec], input: &Signal) -> Result<Signal, Error> {
    if layers.is_empty() {
        return Err(misplaced(name, "it has no layers inside"));
    }
    let output = signals(layers, input, "layers.")?.pop().unwrap_or_else(|| input.clone());
    if has_windows(layers) || output.pooled != input.pooled {
        return Err(misplaced(name, "the layers inside must hand on a row for each row; put `windows` and `pool` outside"));
    }
    Ok(output)
}

/// Whether layers make windows of rows, so that not every row makes one.
pub(super) fn has_windows(layers: &[LayerSpec]) -> bool {
    layers.iter().any(|layer| matches!(layer, LayerSpec::Windows(_)))
}

#[derive(Debug)]
struct ResidualStep {
    chain: Chain,
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
