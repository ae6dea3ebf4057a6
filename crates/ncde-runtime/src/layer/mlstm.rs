//! An LSTM whose state is a matrix, with exponential gates of which a running maximum keeps the numbers small (M. Beck et al., "xLSTM", 2024).
//!
//! ```text
//! u = silu(causal convolution of x_t);   q = Q^T u,   k = K^T u / sqrt(d),   v = V^T x_t   block by block;   (i, f) = G^T (q, sqrt(d) k, v) + b   for each head
//! m_t = max(ln sigmoid(f) + m_{t-1}, i),   C_t = exp(ln sigmoid(f) + m_{t-1} - m_t) C_{t-1} + exp(i - m_t) v k^T,   n_t the same with k for v k^T
//! h_t = C_t q / (max(|n_t . q|, exp(-m_t)) + 1e-9);   y_t = (h_t with mean 0 and variance 1 in each head) * norm + skip u
//! ```
//!
//! `C` and `n` are 0 before the first row, and `m_1 = i`. In a model it stands between a linear layer that doubles the numbers and one that halves them, beside a gate; see
//! the preset `xlstm`. Cost a row: `n (3 block + 6 heads + 4 d)`, `d = n / heads`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `convolution`, `convolution_bias` | `[size, n]`, row `j` for the row `j` places back, and `[n]` | uniform on `±1 / sqrt(size)` |
//! | `query`, `key`, `value` (`Q`, `K`, `V`) | `[n / block, block, block]`, inputs before outputs | normal, `sqrt(2 / (5 n))` |
//! | `gates` (`G`), `gates_bias` (`b`) | `[3 n, 2 heads]`, `[2 heads]`, those of `i` first | 0; 0 for `i`, from 3 to 6 for `f` |
//! | `norm`, `skip` | `[n]` each | 1 |

use ncde_kernels::matrix_state::{Decay, MatrixState, Step as MatrixStep};
use serde::{Deserialize, Serialize};

use super::delta_net::convolve;
use super::signal::{at_least_one, counted, product, refuse};
use super::slstm::{four, log_sigmoid, norm_heads};
use super::state_memory::narrow;
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// An LSTM whose state is a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlstm {
    /// How many heads share the numbers of a row.
    pub heads: usize,
    /// How many numbers are mixed to queries, keys and values.
    #[serde(default = "four")]
    pub block: usize,
    /// How many rows the convolution sees, its own included.
    #[serde(default = "four")]
    pub convolution: usize,
}

/// What is added to the sum that a read is divided by; the published code has 1e-6, which makes what is read depend on `m`.
pub const READ_FLOOR: f64 = 1e-9;

impl Mlstm {
    /// The kernel for rows of so many numbers: the sum `n` is one more value.
    pub fn kernel(&self, width: usize) -> MatrixState {
        let d = width / self.heads.max(1);
        MatrixState { decay: Decay::Scalar, ..MatrixState::new(self.heads, d, d + 1) }
    }
}

impl Layer for Mlstm {
    fn describe(&self) -> String {
        let heads = counted(self.heads, "head");
        format!(
            "{heads} of a memory that exponential gates fill and forget: a matrix-valued Linear NCDE driven by gates, one number a head"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("mlstm")?;
        at_least_one(&[("heads", self.heads), ("block", self.block), ("convolution", self.convolution)])?;
        for (setting, parts) in [("heads", self.heads), ("block", self.block)] {
            if !width.is_multiple_of(parts) {
                return refuse(setting, format!("{parts}; a row has {width} numbers, which it does not divide"));
            }
        }
        at_least_one(&[("heads", product(&[width / self.heads + 1, width]))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        let of_number =
            self.block.saturating_mul(3).saturating_add(self.heads.saturating_mul(6)).saturating_add(self.convolution);
        product(&[input.width(), of_number])
    }

    fn cost(&self, input: &Signal) -> Cost {
        let width = input.width();
        let states = product(&[width, width / self.heads.max(1) + 1]);
        Cost { bytes: states.saturating_mul(8), work: states.saturating_mul(4) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, heads, convolution) = (input.width(), self.heads, Init::linear(self.convolution));
        let map = |name: &str| {
            Weight::trained(name, [n / self.block, self.block, self.block], Init::Normal((2.0 / (5 * n) as f64).sqrt()))
        };
        let forget = (0..heads).map(|head| 3.0 + 3.0 * head as f64 / heads.saturating_sub(1).max(1) as f64);
        let free = |name: &str, shape: Vec<usize>, init| Weight::trained(name, shape, init).with_role(Role::Undecayed);
        Ok(vec![
            Weight::trained("convolution", [self.convolution, n], convolution.clone()),
            free("convolution_bias", vec![n], convolution),
            map("query"),
            map("key"),
            map("value"),
            Weight::trained("gates", [3 * n, 2 * heads], Init::Constant(0.0)),
            free("gates_bias", vec![2 * heads], Init::Pieces(vec![(heads, Init::Constant(0.0)), (heads, Init::listed(forget))])),
            free("norm", vec![n], Init::Constant(1.0)),
            free("skip", vec![n], Init::Constant(1.0)),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let n = input.width();
        let kernel = self.kernel(n);
        Ok(Box::new(MlstmStep {
            kernel,
            block: self.block,
            seen: self.convolution,
            convolution: weights.take("convolution")?,
            convolution_bias: weights.take("convolution_bias")?,
            maps: [weights.take("query")?, weights.take("key")?, weights.take("value")?],
            gates: weights.take("gates")?,
            gates_bias: weights.take("gates_bias")?,
            norm: weights.take("norm")?,
            skip: weights.take("skip")?,
            x: vec![0.0; n],
            convolved: vec![0.0; n],
            mixed: vec![0.0; 3 * n],
            values: vec![0.0; kernel.heads * kernel.values],
            read: vec![0.0; kernel.heads * kernel.values],
        }))
    }
}

#[derive(Debug)]
struct MlstmStep {
    kernel: MatrixState,
    block: usize,
    seen: usize,
    convolution: Vec<f32>,
    convolution_bias: Vec<f32>,
    maps: [Vec<f32>; 3],
    gates: Vec<f32>,
    gates_bias: Vec<f32>,
    norm: Vec<f32>,
    skip: Vec<f32>,
    x: Vec<f32>,
    convolved: Vec<f32>,
    /// Queries, keys and values.
    mixed: Vec<f32>,
    values: Vec<f32>,
    read: Vec<f32>,
}

impl Step for MlstmStep {
    /// Whether there was a row; the states, `m`, then what the convolution has seen, the latest row first.
    fn memory(&self) -> Size {
        Size { wide: 1, narrow: self.kernel.state() + self.kernel.heads + (self.seen - 1) * self.x.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let MatrixState { heads, keys: d, values, .. } = self.kernel;
        let (states, rest) = memory.narrow.split_at_mut(self.kernel.state());
        let (m, behind) = rest.split_at_mut(heads);
        let begins = std::mem::replace(&mut memory.wide[0], 1.0) == 0.0;
        narrow(row.values, &mut self.x);
        self.convolved.copy_from_slice(&self.x);
        convolve(&mut self.convolved, &self.convolution, Some(&self.convolution_bias), behind);
        let n = self.x.len();
        self.mixed.fill(0.0);
        for (which, (from, map)) in [&self.convolved, &self.convolved, &self.x].into_iter().zip(&self.maps).enumerate() {
            let mixed = &mut self.mixed[which * n..][..n];
            for (i, (x, weights)) in from.iter().zip(map.chunks_exact(self.block)).enumerate() {
                let block = &mut mixed[i / self.block * self.block..][..self.block];
                block.iter_mut().zip(weights).for_each(|(mixed, w)| *mixed += x * w);
            }
        }
        let mut gates = self.gates_bias.clone();
        for (x, weights) in self.mixed.iter().zip(self.gates.chunks_exact(2 * heads)) {
            gates.iter_mut().zip(weights).for_each(|(gate, w)| *gate += x * w);
        }
        let (q, rest) = self.mixed.split_at_mut(n);
        let (k, v) = rest.split_at_mut(n);
        k.iter_mut().for_each(|k| *k /= (d as f32).sqrt());
        let mut w = vec![0.0; heads];
        for head in 0..heads {
            let (i, before) = (gates[head], log_sigmoid(gates[heads + head]) + m[head]);
            let most = if begins { i } else { i.max(before) };
            let fill = (i - most).exp();
            (w[head], m[head]) = (if begins { 0.0 } else { (before - most).exp() }, most);
            let values = &mut self.values[head * values..][..values];
            values[..d].iter_mut().zip(&v[head * d..]).for_each(|(value, v)| *value = fill * v);
            values[d] = fill;
        }
        self.kernel.push(states, &MatrixStep { w: &w, a: &[], c: &[], k, q, v: &self.values }, &mut self.read)?;
        for (head, read) in self.read.chunks_exact(values).enumerate() {
            let below = read[d].abs().max((-m[head]).exp()) + READ_FLOOR as f32;
            q[head * d..][..d].iter_mut().zip(read).for_each(|(h, read)| *h = read / below);
        }
        norm_heads(q, d, &self.norm);
        out.clear();
        let skipped = self.convolved.iter().zip(&self.skip);
        out.extend(q.iter().zip(skipped).map(|(h, (u, skip))| f64::from(h + skip * u)));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `xlstm.blocks.mlstm.layer.mLSTMLayer` of xlstm 2.0.6 makes of consecutive [`Numbers`] in the order `proj_up`, convolution (weight, bias), twice `q` and `k`, `v`,
    /// `igate` (weight, twice the bias), `fgate`, `outnorm` (1 + number), `learnable_skip`, `proj_down`, and twice `x` behind 3 numbers: 5 rows of 3 numbers, 6 inside, 2 heads, blocks
    /// of 2, a convolution of 3 rows, double precision.
    #[test]
    fn values_are_those_of_xlstm() {
        let (outside, inside, heads, block, size, mut next) = (3, 6, 2, 2, 3, Numbers::default());
        let doubled = |all: Vec<f64>| all.into_iter().map(|x| 2.0 * x).collect::<Vec<f64>>();
        let [up, gate] = [0, 1].map(|_| next.transposed(inside, outside));
        let convolution = next.take(inside * size);
        let back = (0..size).flat_map(|j| (0..inside).map(move |i| i * size + size - 1 - j)).map(|i| convolution[i]).collect();
        let bias_of_convolution = next.take(inside);
        let mut map = || (0..inside / block).flat_map(|_| next.transposed(block, block)).collect::<Vec<f64>>();
        let (query, key, value) = (doubled(map()), doubled(map()), map());
        let i = (next.transposed(heads, 3 * inside), doubled(next.take(heads)));
        let f = (next.transposed(heads, 3 * inside), next.take(heads));
        let gates = i.0.chunks(heads).zip(f.0.chunks(heads)).flat_map(|(i, f)| [i, f].concat()).collect();
        let norm = next.take(inside).into_iter().map(|x| 1.0 + x).collect();
        let skip = next.take(inside);
        let down = next.transposed(outside, inside);
        next.take(outside);
        let rows: Vec<Vec<f64>> = next.rows(5, outside).into_iter().map(doubled).collect();
        let weights = [
            ("0.layers.0.0.weight", up),
            ("0.layers.0.0.bias", vec![0.0; inside]),
            ("0.layers.0.1.convolution", back),
            ("0.layers.0.1.convolution_bias", bias_of_convolution),
            ("0.layers.0.1.query", query),
            ("0.layers.0.1.key", key),
            ("0.layers.0.1.value", value),
            ("0.layers.0.1.gates", gates),
            ("0.layers.0.1.gates_bias", [i.1, f.1].concat()),
            ("0.layers.0.1.norm", norm),
            ("0.layers.0.1.skip", skip),
            ("0.layers.1.0.weight", gate),
            ("0.layers.1.0.bias", vec![0.0; inside]),
            ("1.weight", down),
            ("1.bias", vec![0.0; outside]),
        ];
        let layers = r#"[
            {"layer": "product", "layers": [
                [{"layer": "linear", "outputs": 6}, {"layer": "mlstm", "heads": 2, "block": 2, "convolution": 3}],
                [{"layer": "linear", "outputs": 6}, {"layer": "activation", "function": "silu"}]]},
            {"layer": "linear", "outputs": 3}]"#;
        let wanted = [
            -0.028_710_774_653_9,
            -0.100_420_732_687,
            0.100_408_035_318,
            -0.025_930_653_395_7,
            -0.073_144_867_461_1,
            0.078_578_434_580_6,
            -0.101_529_956_562,
            0.263_568_800_82,
            -0.080_429_753_694_9,
            -0.161_865_405_258,
            0.103_294_220_892,
            0.105_477_884_58,
            -0.154_881_489_738,
            -0.076_850_429_878_2,
            0.224_338_742_465,
        ];
        outputs(layers, &weights, &rows, &wanted);
    }
}
