//! An LSTM with exponential gates, of which a running maximum keeps the numbers small (M. Beck et al., "xLSTM", 2024).
//!
//! ```text
//! u = silu(causal convolution of x_k);   (i, f) = W_if^T u + R_if^T y_{k-1} + b,   (z, o) = W_zo^T x_k + R_zo^T y_{k-1} + b,   R within each head
//! m_k = max(ln sigmoid(f) + m_{k-1}, i),   c_k = exp(ln sigmoid(f) + m_{k-1} - m_k) c_{k-1} + exp(i - m_k) tanh(z),   n_k the same with 1 for tanh(z)
//! y_k = sigmoid(o) c_k / n_k;   out: y_k with mean 0 and variance 1 in each head, times `norm`
//! ```
//!
//! `y`, `c` and `n` are 0 before the first row, and `m_1 = i`. Cost a row: `4 H (n + H / heads)`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `convolution`, `convolution_bias` | `[size, n]`, row `j` for the row `j` places back, and `[n]` | uniform on `±1 / sqrt(size)` |
//! | `input` (`W`, in the order `i`, `f`, `z`, `o`) | `[n, 4 H]` | normal, `sqrt(2 / (5 n))` |
//! | `recurrent` (`R`) | `[heads, H / heads, 4 H / heads]` | 0 |
//! | `bias` (`b`) | `[4 H]` | 0; for `f` `5 - 12 (j / (d - 1))^0.3` for number `j` of a head's `d` |
//! | `norm` | `[H]` | 1 |

use ncde_kernels::recurrent::{Cell, Recurrent};
use serde::{Deserialize, Serialize};

use super::delta_net::convolve;
use super::layer_norm::LayerNorm;
use super::linear::affine;
use super::signal::{at_least_one, counted, product, refuse};
use super::state_memory::{narrow, widen};
use super::{Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// An LSTM with exponential gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slstm {
    /// `H`.
    pub hidden: usize,
    /// How many heads share the states.
    pub heads: usize,
    /// How many rows the convolution sees, its own included.
    #[serde(default = "four")]
    pub convolution: usize,
}

pub(super) fn four() -> usize {
    4
}

/// The first forget gates of a head of `d` states.
fn forget(d: usize) -> impl Iterator<Item = f64> {
    (0..d).map(move |j| 5.0 - 12.0 * (j as f64 / d.saturating_sub(1).max(1) as f64).powf(0.3))
}

/// `ln sigmoid(x)`.
pub(super) fn log_sigmoid(x: f32) -> f32 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// The numbers of each head with mean 0 and variance 1, times `norm`.
pub(super) fn norm_heads(x: &mut [f32], head: usize, norm: &[f32]) {
    for (x, norm) in x.chunks_exact_mut(head).zip(norm.chunks_exact(head)) {
        let (mean, factor) = LayerNorm::moments(x);
        x.iter_mut().zip(norm).for_each(|(x, norm)| *x = (*x - mean) * factor * norm);
    }
}

impl Layer for Slstm {
    fn describe(&self) -> String {
        format!("{} that exponential gates fill, forget and show, row by row", counted(self.hidden, "state"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        input.sequence("slstm")?;
        at_least_one(&[("hidden", self.hidden), ("heads", self.heads), ("convolution", self.convolution)])?;
        if !self.hidden.is_multiple_of(self.heads) {
            return refuse("heads", format!("{}; the {} states cannot be shared equally among them", self.heads, self.hidden));
        }
        Ok(input.with_width(self.hidden))
    }

    fn demand(&self, input: &Signal) -> usize {
        let of_state = (self.hidden / self.heads.max(1)).saturating_add(input.width());
        product(&[4, self.hidden, of_state]).saturating_add(product(&[self.convolution, input.width()]))
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, hidden, d) = (input.width(), self.hidden, self.hidden / self.heads);
        let convolution = Init::linear(self.convolution);
        let biases = vec![
            (hidden, Init::Constant(0.0)),
            (hidden, Init::listed((0..self.heads).flat_map(|_| forget(d)))),
            (2 * hidden, Init::Constant(0.0)),
        ];
        Ok(vec![
            Weight::trained("convolution", [self.convolution, n], convolution.clone()),
            Weight::trained("convolution_bias", [n], convolution).with_role(Role::Undecayed),
            Weight::trained("input", [n, 4 * hidden], Init::Normal((2.0 / (5 * n) as f64).sqrt())),
            Weight::trained("recurrent", [self.heads, d, 4 * d], Init::Constant(0.0)),
            Weight::trained("bias", [4 * hidden], Init::Pieces(biases)).with_role(Role::Undecayed),
            Weight::trained("norm", [hidden], Init::Constant(1.0)).with_role(Role::Undecayed),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let Self { hidden, heads, convolution } = *self;
        // The halves of the weights of a row: of the convolved row, and of the row itself.
        let both = weights.take("input")?;
        let half =
            |first: usize| both.chunks_exact(4 * hidden).flat_map(|row| &row[first..first + 2 * hidden]).copied().collect();
        Ok(Box::new(SlstmStep {
            cell: Recurrent { cell: Cell::Slstm, inputs: input.width(), heads, size: hidden / heads },
            behind: (convolution - 1) * input.width(),
            convolution: weights.take("convolution")?,
            convolution_bias: weights.take("convolution_bias")?,
            input: [half(0), half(2 * hidden)],
            recurrent: weights.take("recurrent")?,
            bias: weights.take("bias")?,
            norm: weights.take("norm")?,
            from_row: vec![0.0; 4 * hidden],
            from_state: vec![0.0; 4 * hidden],
            x: vec![0.0; input.width()],
            convolved: vec![0.0; input.width()],
        }))
    }
}

#[derive(Debug)]
struct SlstmStep {
    cell: Recurrent,
    /// The numbers that the convolution remembers.
    behind: usize,
    convolution: Vec<f32>,
    convolution_bias: Vec<f32>,
    input: [Vec<f32>; 2],
    recurrent: Vec<f32>,
    bias: Vec<f32>,
    norm: Vec<f32>,
    from_row: Vec<f32>,
    from_state: Vec<f32>,
    x: Vec<f32>,
    convolved: Vec<f32>,
}

impl Step for SlstmStep {
    /// `y`, `c`, `n` and `m`; then what the convolution has seen, the latest row first.
    fn memory(&self) -> Size {
        Size { wide: 0, narrow: 4 * self.cell.hidden() + self.behind }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (hidden, d) = (self.cell.hidden(), self.cell.size);
        let (states, behind) = memory.narrow.split_at_mut(4 * hidden);
        // `n` is 0 before the first row alone.
        if states[2 * hidden] == 0.0 {
            states.copy_from_slice(&self.cell.first());
        }
        narrow(row.values, &mut self.x);
        self.convolved.copy_from_slice(&self.x);
        convolve(&mut self.convolved, &self.convolution, Some(&self.convolution_bias), behind);
        self.from_row.copy_from_slice(&self.bias);
        let (of_convolved, of_row) = self.from_row.split_at_mut(2 * hidden);
        affine(&self.convolved, &self.input[0], of_convolved);
        affine(&self.x, &self.input[1], of_row);
        self.from_state.fill(0.0);
        let heads = self.from_state.chunks_exact_mut(4 * d).zip(self.recurrent.chunks_exact(4 * d * d));
        heads.zip(states.chunks_exact(d)).for_each(|((gates, recurrent), y)| affine(y, recurrent, gates));
        self.cell.step(&self.from_row, &self.from_state, states)?;
        let y = &mut self.from_row[..hidden];
        y.copy_from_slice(&states[..hidden]);
        norm_heads(y, d, &self.norm);
        out.resize(hidden, 0.0);
        widen(y, out);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `xlstm.blocks.slstm.layer.sLSTMLayer` of xlstm 2.0.6 makes of consecutive [`Numbers`] in the order convolution (weight, bias), twice the weights of the input,
    /// forget, `z` and output gates by heads, twice `R`, `b`, the group norm (1 + number), and twice `x` behind numbers for other layers: 6 rows of 6 numbers, 2 heads, a
    /// convolution of 3 rows, backend vanilla, double precision. (There the weights of the input gate are called `fgate`, those of the forget gate `igate`.)
    #[test]
    fn values_are_those_of_xlstm() {
        let (width, heads, size, mut next) = (6, 2, 3, Numbers::default());
        let d = width / heads;
        let doubled = |all: Vec<f64>| all.into_iter().map(|x| 2.0 * x).collect::<Vec<f64>>();
        let convolution = next.take(width * size);
        let back = (0..size).flat_map(|j| (0..width).map(move |i| i * size + size - 1 - j)).map(|i| convolution[i]).collect();
        let bias_of_convolution = next.take(width);
        // A matrix of each head, `[out, in]` there; here one matrix with zeros between heads.
        let maps: Vec<Vec<f64>> = (0..4).map(|_| doubled(next.take(heads * d * d))).collect();
        let entry = |from: usize, to: usize, map: &[f64]| if from / d == to / d { map[(to * d) + from % d] } else { 0.0 };
        let input =
            (0..width).flat_map(|from| maps.iter().flat_map(move |map| (0..width).map(move |to| entry(from, to, map)))).collect();
        let recurrent = doubled(next.take(heads * d * 4 * d));
        let of_heads = next.take(heads * 4 * d);
        let bias = (0..4)
            .flat_map(|gate| (0..heads).flat_map(move |head| (0..d).map(move |j| (head * 4 + gate) * d + j)))
            .map(|i| of_heads[i])
            .collect();
        let norm = next.take(width).into_iter().map(|x| 1.0 + x).collect();
        next.take(width + width + 16 * width + 8 * width);
        let rows: Vec<Vec<f64>> = next.rows(6, width).into_iter().map(doubled).collect();
        let weights = [
            ("convolution", back),
            ("convolution_bias", bias_of_convolution),
            ("input", input),
            ("recurrent", recurrent),
            ("bias", bias),
            ("norm", norm),
        ];
        let wanted = [
            0.916_571_426_248,
            -0.270_197_010_647,
            -1.116_389_887_04,
            0.545_069_803_967,
            -1.810_477_17,
            0.435_802_565_59,
            0.982_265_239_744,
            -0.776_570_997_032,
            -0.848_542_487_468,
            0.362_930_674_797,
            -1.831_900_512_09,
            0.723_842_803_867,
            0.870_902_328_365,
            -0.056_440_793_291_1,
            -1.203_831_331_03,
            0.551_554_352_46,
            -1.804_107_673_8,
            0.421_666_091_635,
            0.840_703_007_893,
            0.063_936_997_728_6,
            -1.246_673_581_08,
            0.718_911_847_143,
            -1.622_894_587_16,
            0.045_174_635_778_6,
            0.917_489_641_538,
            -0.273_836_042_1,
            -1.115_102_314_98,
            0.420_109_185_994,
            -1.837_027_732_48,
            0.641_624_651_185,
            0.936_029_888_751,
            -0.378_178_082_056,
            -1.067_058_353_89,
            0.707_054_902_142,
            -1.645_836_846_94,
            0.078_843_156_203_5,
        ];
        outputs(r#"[{"layer": "slstm", "hidden": 6, "heads": 2, "convolution": 3}]"#, &weights, &rows, &wanted);
    }
}
