//! A gated recurrent unit (Cho et al., 2014; with the reset gate behind the product, as `torch.nn.GRU` has it).
//!
//! ```text
//! r = sigmoid(W_r^T x_k + U_r^T h_{k-1} + b_r),   z = sigmoid(W_z^T x_k + U_z^T h_{k-1} + b_z),   n = tanh(W_n^T x_k + b_n + r (U_n^T h_{k-1} + c)),
//! h_k = (1 - z) n + z h_{k-1},   h is 0 before the first row
//! ```
//!
//! One row out for each row in: `h_k`. The order of the gates is that of `torch.nn.GRU`. Its two biases of `r` and of `z` are only ever added: here they are one.
//! Cost a row: `3 H (n + H)`, `n` the numbers of a row.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W_r`, `W_z`, `W_n` side by side) | `[n, 3 H]` | uniform on `±1 / sqrt(H)`, as all of them |
//! | `recurrent` (`U_r`, `U_z`, `U_n`) | `[H, 3 H]` | |
//! | `bias` (`b_r`, `b_z`, `b_n`) | `[3 H]` | |
//! | `recurrent_bias` (`c`) | `[H]` | |

use ncde_kernels::recurrent::{Cell, Recurrent};
use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::signal::{at_least_one, counted, product};
use super::state_memory::widen;
use super::{Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A gated recurrent unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gru {
    /// `H`.
    pub hidden: usize,
}

impl Layer for Gru {
    fn describe(&self) -> String {
        format!("{} that gates reset and renew, row by row", counted(self.hidden, "state"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        input.sequence("gru")?;
        at_least_one(&[("hidden", self.hidden)])?;
        Ok(input.with_width(self.hidden))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[3, self.hidden, input.width().saturating_add(self.hidden)])
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (gates, init) = (3 * self.hidden, Init::linear(self.hidden));
        Ok(vec![
            Weight::trained("input", [input.width(), gates], init.clone()),
            Weight::trained("recurrent", [self.hidden, gates], init.clone()),
            Weight::trained("bias", [gates], init.clone()),
            Weight::trained("recurrent_bias", [self.hidden], init),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        // What the state brings begins with a bias for the last gate alone.
        let recurrent_bias = [vec![0.0; 2 * self.hidden], weights.take("recurrent_bias")?].concat();
        Ok(Box::new(GruStep {
            cell: Recurrent { cell: Cell::Gru, inputs: input.width(), heads: 1, size: self.hidden },
            input: weights.take("input")?,
            recurrent: weights.take("recurrent")?,
            bias: weights.take("bias")?,
            recurrent_bias,
            from_row: vec![0.0; 3 * self.hidden],
            from_state: vec![0.0; 3 * self.hidden],
        }))
    }
}

#[derive(Debug)]
struct GruStep {
    cell: Recurrent,
    input: Vec<f32>,
    recurrent: Vec<f32>,
    bias: Vec<f32>,
    recurrent_bias: Vec<f32>,
    from_row: Vec<f32>,
    from_state: Vec<f32>,
}

impl Step for GruStep {
    /// `h`.
    fn memory(&self) -> Size {
        Size { wide: 0, narrow: self.cell.size }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        self.from_row.copy_from_slice(&self.bias);
        affine(row.values, &self.input, &mut self.from_row);
        self.from_state.copy_from_slice(&self.recurrent_bias);
        affine(memory.narrow, &self.recurrent, &mut self.from_state);
        self.cell.step(&self.from_row, &self.from_state, memory.narrow)?;
        out.resize(self.cell.size, 0.0);
        widen(memory.narrow, out);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::reference::{Numbers, outputs};

    /// What the equations in the documentation of `torch.nn.GRU` make of the same numbers, in double precision:
    ///
    /// ```python
    /// number = lambda k: (7 * k % 11 - 5) / 10
    /// W = [[number(6 * i + j) for j in range(6)] for i in range(3)]
    /// U = [[number(18 + 6 * i + j) for j in range(6)] for i in range(2)]
    /// b, c, h = [number(30 + j) for j in range(6)], [number(36 + j) for j in range(2)], [0, 0]
    /// for t in range(4):
    ///     x = [2 * number(38 + 3 * t + i) for i in range(3)]
    ///     a = [b[j] + sum(x[i] * W[i][j] for i in range(3)) for j in range(6)]
    ///     s = [sum(h[i] * U[i][j] for i in range(2)) for j in range(6)]
    ///     r, z = ([1 / (1 + exp(-a[g + j] - s[g + j])) for j in range(2)] for g in (0, 2))
    ///     n = [tanh(a[4 + j] + r[j] * (s[4 + j] + c[j])) for j in range(2)]
    ///     h = [(1 - z[j]) * n[j] + z[j] * h[j] for j in range(2)]
    ///     print(h)
    /// ```
    #[test]
    fn states_are_those_of_the_equations() {
        let mut next = Numbers::default();
        let weights =
            [("input", next.take(18)), ("recurrent", next.take(12)), ("bias", next.take(6)), ("recurrent_bias", next.take(2))];
        let rows: Vec<Vec<f64>> = next.rows(4, 3).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let wanted = [
            0.186_777_092,
            -0.222_796_564,
            0.244_451_789,
            -0.250_953_135,
            0.287_669_059,
            -0.204_491_120,
            0.420_581_878,
            -0.415_013_382,
        ];
        outputs(r#"[{"layer": "gru", "hidden": 2}]"#, &weights, &rows, &wanted);
    }
}
