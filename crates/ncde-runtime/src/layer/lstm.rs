//! A long short-term memory (Hochreiter and Schmidhuber, 1997; with the forget gate of Gers et al., 2000).
//!
//! ```text
//! (i, f, g, o) = W^T x_k + U^T h_{k-1} + b,   c_k = sigmoid(f) c_{k-1} + sigmoid(i) tanh(g),   h_k = sigmoid(o) tanh(c_k),   h and c are 0 before the first row
//! ```
//!
//! One row out for each row in: `h_k`. The order of the gates is that of `torch.nn.LSTM`, whose two biases are only ever added: here they are one.
//! Cost a row: `4 H (n + H)`, `n` the numbers of a row.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W`) | `[n, 4 H]` | uniform on `±1 / sqrt(H)`, as all of them |
//! | `recurrent` (`U`) | `[H, 4 H]` | |
//! | `bias` (`b`) | `[4 H]` | |

use ncde_kernels::recurrent::{Cell, Recurrent};
use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::signal::{at_least_one, counted, product};
use super::state_memory::widen;
use super::{Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A long short-term memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lstm {
    /// `H`.
    pub hidden: usize,
}

impl Layer for Lstm {
    fn describe(&self) -> String {
        format!("{} that gates fill, forget and show, row by row", counted(self.hidden, "state"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        input.sequence("lstm")?;
        at_least_one(&[("hidden", self.hidden)])?;
        Ok(input.with_width(self.hidden))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[4, self.hidden, input.width().saturating_add(self.hidden)])
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (gates, init) = (4 * self.hidden, Init::linear(self.hidden));
        Ok(vec![
            Weight::trained("input", [input.width(), gates], init.clone()),
            Weight::trained("recurrent", [self.hidden, gates], init.clone()),
            Weight::trained("bias", [gates], init),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let cell = Recurrent { cell: Cell::Lstm, inputs: input.width(), heads: 1, size: self.hidden };
        Ok(Box::new(LstmStep {
            input: weights.take("input")?,
            recurrent: weights.take("recurrent")?,
            bias: weights.take("bias")?,
            from_row: vec![0.0; 4 * self.hidden],
            from_state: vec![0.0; 4 * self.hidden],
            cell,
        }))
    }
}

#[derive(Debug)]
struct LstmStep {
    cell: Recurrent,
    input: Vec<f32>,
    recurrent: Vec<f32>,
    bias: Vec<f32>,
    from_row: Vec<f32>,
    from_state: Vec<f32>,
}

impl Step for LstmStep {
    /// `h`, then `c`.
    fn memory(&self) -> Size {
        Size { wide: 0, narrow: 2 * self.cell.size }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let n = self.cell.size;
        self.from_row.copy_from_slice(&self.bias);
        affine(row.values, &self.input, &mut self.from_row);
        self.from_state.fill(0.0);
        affine(&memory.narrow[..n], &self.recurrent, &mut self.from_state);
        self.cell.step(&self.from_row, &self.from_state, memory.narrow)?;
        out.resize(n, 0.0);
        widen(&memory.narrow[..n], out);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::reference::{Numbers, outputs};

    /// What `torch.nn.LSTM` of `PyTorch` 2.15.0 makes of the same [`Numbers`]:
    ///
    /// ```python
    /// number = lambda k: (7 * k % 11 - 5) / 10
    /// fill = lambda first, *shape: torch.tensor([number(first + k) for k in range(torch.Size(shape).numel())], dtype=torch.float64).reshape(shape)
    /// lstm = torch.nn.LSTM(3, 2, batch_first=True, dtype=torch.float64)
    /// with torch.no_grad():
    ///     lstm.weight_ih_l0.copy_(fill(0, 3, 8).T)
    ///     lstm.weight_hh_l0.copy_(fill(24, 2, 8).T)
    ///     lstm.bias_ih_l0.copy_(fill(40, 8))
    ///     lstm.bias_hh_l0.zero_()
    ///     print(lstm(2 * fill(48, 1, 4, 3))[0])
    /// ```
    #[test]
    fn states_are_those_of_torch() {
        let mut next = Numbers::default();
        let weights = [("input", next.take(24)), ("recurrent", next.take(16)), ("bias", next.take(8))];
        let rows: Vec<Vec<f64>> = next.rows(4, 3).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let wanted = [
            -0.049_695_649,
            0.051_084_058,
            -0.093_513_351,
            0.098_056_308,
            -0.130_981_817,
            0.134_604_469,
            -0.199_785_674,
            0.075_437_966,
        ];
        outputs(r#"[{"layer": "lstm", "hidden": 2}]"#, &weights, &rows, &wanted);
    }
}
