//! The time mixing of RWKV-7 (B. Peng et al., 2025): a matrix-valued Linear NCDE that decays by keys and writes at rates of its own.
//!
//! ```text
//! m(x) = (1 - m) x_t + m x_{t-1} for each of r, w, k, v, a, g;   r = R^T r(x),   k = K^T k(x),   v = V^T v(x),   g = G_2^T sigmoid(G_1^T g(x))
//! w = exp(-e^{-1/2} sigmoid(w_0 + W_2^T tanh(W_1^T w(x)))),   a = sigmoid(a_0 + A_2^T A_1^T a(x)),   c = (s k) / |s k| in each head,   k' = k (1 + (a - 1) u)
//! S_t = S_{t-1} (diag(w) - c (a c)^T) + v k'^T,   o_t = S_t r;   y_t = O^T (g (norm(o_t) + (sum r k' b) v)),   norm and sum in each head
//! ```
//!
//! `S`, `[n / heads, n / heads]` a head, and `x_0` are 0. `norm(o)` has mean 0 and variance 1 (`6.4e-4` is added to the variance), then a gain and an offset. What the paper mixes in from the values
//! of the first block is left out: a layer sees its own rows alone. Cost a row: `4 n^2 + 6 n rank + 4 n^2 / heads`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `mix` (`m` of `r`, `w`, `k`, `v`, `a`, `g`) | `[6, n]` | `1 - (i / n)^p` for number `i`, `p` = 0.2, 0.9, 0.7, 0.7, 0.9, 0.2 |
//! | `receptance`, `key`, `value` (`R`, `K`, `V`) | `[n, n]` | uniform on `±0.5 / sqrt(n)`, `K` a tenth of that |
//! | `output` (`O`) | `[n, n]` | uniform on `±0.5 / sqrt(n)` |
//! | `decay`, `decay_down`, `decay_up` (`w_0`, `W_1`, `W_2`) | `[n]`, `[n, rank]`, `[rank, n]` | `-5.5 + 6 i / (n - 1)`; uniform on `±1 / sqrt(n)` (published: 0); uniform on `±1 / sqrt(rank)` |
//! | `rate`, `rate_down`, `rate_up` (`a_0`, `A_1`, `A_2`) | the same | -0.19; the same; the same |
//! | `gate_down`, `gate_up` (`G_1`, `G_2`) | `[n, rank]`, `[rank, n]` | uniform on `±1 / sqrt(n)`, `±1 / sqrt(rank)` |
//! | `scale` (`s`), `unwritten` (`u`), `bonus` (`b`) | `[n]` | 0.71, 1.02, -0.04 |
//! | `norm`, `offset` | `[n]` | 1, 0 |

use ncde_kernels::matrix_state::{Decay, MatrixState, Step as MatrixStep};
use serde::{Deserialize, Serialize};

use super::activation::sigmoid;
use super::signal::{at_least_one, counted, product, refuse};
use super::slstm::norm_heads;
use super::state_memory::narrow;
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// The time mixing of RWKV-7.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rwkv {
    /// How many heads share the numbers of a row.
    pub heads: usize,
    /// Through how many numbers decays, rates and gates follow from rows.
    pub rank: usize,
}

/// `w = exp(-FASTEST sigmoid(..))`: about `e^{-1/2}`, as in the published code.
pub const FASTEST: f64 = 0.606_531;
/// What reads are multiplied with before they are normalised, so that the constant added to their variance is 64 times that of a `layer-norm`.
pub const READ_SCALE: f64 = 0.125;
/// The least length of a key.
pub const MIN_KEY: f64 = 1e-12;

impl Rwkv {
    /// The kernel for rows of so many numbers.
    pub fn kernel(&self, width: usize) -> MatrixState {
        let d = width / self.heads.max(1);
        MatrixState { decay: Decay::Vector, delta: true, ..MatrixState::new(self.heads, d, d) }
    }
}

impl Layer for Rwkv {
    fn describe(&self) -> String {
        let heads = counted(self.heads, "head");
        format!(
            "{heads} of a memory that decays by keys, with rates that rows choose: a matrix-valued Linear NCDE driven by keys, diagonal plus low rank"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("rwkv")?;
        at_least_one(&[("heads", self.heads), ("rank", self.rank)])?;
        if !width.is_multiple_of(self.heads) {
            return refuse("heads", format!("{}; a row has {width} numbers, which it does not divide", self.heads));
        }
        at_least_one(&[("heads", product(&[width, width]))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        let of_number = input.width().saturating_mul(4).saturating_add(self.rank.saturating_mul(6));
        product(&[input.width(), of_number])
    }

    fn cost(&self, input: &Signal) -> Cost {
        let states = product(&[input.width(), input.width() / self.heads.max(1)]);
        Cost { bytes: states.saturating_mul(8), work: states.saturating_mul(4) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, rank) = (input.width(), self.rank);
        let free = |name: &str, shape: Vec<usize>, init| Weight::trained(name, shape, init).with_role(Role::Undecayed);
        let of_all = |name: &str, value: f64| free(name, vec![n], Init::Constant(value));
        let share = |i: usize, of: usize| i as f64 / of.max(1) as f64;
        let mix = [0.2, 0.9, 0.7, 0.7, 0.9, 0.2].into_iter().flat_map(|p| (0..n).map(move |i| 1.0 - share(i, n).powf(p)));
        let (half, up) = (0.5 / (n as f64).sqrt(), Init::linear(rank));
        let square = |name: &str, bound: f64| Weight::trained(name, [n, n], Init::Uniform(bound));
        let down = |name: &str, init| Weight::trained(name, [n, rank], init);
        Ok(vec![
            free("mix", vec![6, n], Init::listed(mix)),
            square("receptance", half),
            square("key", 0.1 * half),
            square("value", half),
            square("output", half),
            free("decay", vec![n], Init::listed((0..n).map(|i| -5.5 + 6.0 * share(i, n.saturating_sub(1))))),
            down("decay_down", Init::linear(n)),
            Weight::trained("decay_up", [rank, n], up.clone()),
            of_all("rate", -0.19),
            down("rate_down", Init::linear(n)),
            Weight::trained("rate_up", [rank, n], up),
            down("gate_down", Init::linear(n)),
            Weight::trained("gate_up", [rank, n], Init::linear(rank)),
            of_all("scale", 0.71),
            of_all("unwritten", 1.02),
            of_all("bonus", -0.04),
            of_all("norm", 1.0),
            of_all("offset", 0.0),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let n = input.width();
        let mut take = |name: &str| weights.take(name);
        Ok(Box::new(RwkvStep {
            kernel: self.kernel(n),
            mix: take("mix")?,
            maps: [take("receptance")?, take("key")?, take("value")?, take("output")?],
            decay: [take("decay")?, take("decay_down")?, take("decay_up")?],
            rate: [take("rate")?, take("rate_down")?, take("rate_up")?],
            gate: [take("gate_down")?, take("gate_up")?],
            of_numbers: [take("scale")?, take("unwritten")?, take("bonus")?, take("norm")?, take("offset")?],
            x: vec![0.0; n],
            read: vec![0.0; n],
        }))
    }
}

#[derive(Debug)]
struct RwkvStep {
    kernel: MatrixState,
    mix: Vec<f32>,
    maps: [Vec<f32>; 4],
    decay: [Vec<f32>; 3],
    rate: [Vec<f32>; 3],
    gate: [Vec<f32>; 2],
    /// `s`, `u`, `b`, gain and offset.
    of_numbers: [Vec<f32>; 5],
    x: Vec<f32>,
    read: Vec<f32>,
}

/// `W^T x`.
pub(super) fn product_of(x: &[f32], weight: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; weight.len() / x.len()];
    for (x, row) in x.iter().zip(weight.chunks_exact(y.len())) {
        y.iter_mut().zip(row).for_each(|(y, w)| *y += x * w);
    }
    y
}

/// `base + up^T f(down^T x)`.
fn through(x: &[f32], [base, down, up]: [&[f32]; 3], function: fn(f32) -> f32) -> Vec<f32> {
    let inside: Vec<f32> = product_of(x, down).into_iter().map(function).collect();
    let mut y = product_of(&inside, up);
    y.iter_mut().zip(base).for_each(|(y, base)| *y += base);
    y
}

impl Step for RwkvStep {
    /// The states, then the row before.
    fn memory(&self) -> Size {
        Size { wide: 0, narrow: self.kernel.state() + self.x.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (n, d) = (self.x.len(), self.kernel.keys);
        let (state, before) = memory.narrow.split_at_mut(self.kernel.state());
        narrow(row.values, &mut self.x);
        let mixed = |which: usize| -> Vec<f32> {
            let rows = self.x.iter().zip(&*before).zip(&self.mix[which * n..][..n]);
            rows.map(|((x, before), m)| x + m * (before - x)).collect()
        };
        let [receptance, key, value, output] = &self.maps;
        let (r, mut k, v) = (product_of(&mixed(0), receptance), product_of(&mixed(2), key), product_of(&mixed(3), value));
        let w = through(&mixed(1), self.decay.each_ref().map(Vec::as_slice), f32::tanh);
        let w: Vec<f32> = w.into_iter().map(|w| (-(FASTEST as f32) * sigmoid(w)).exp()).collect();
        let rates: Vec<f32> =
            through(&mixed(4), self.rate.each_ref().map(Vec::as_slice), |x| x).into_iter().map(sigmoid).collect();
        let gate = through(&mixed(5), [&[], &self.gate[0], &self.gate[1]], sigmoid);
        let [scale, unwritten, bonus, norm, offset] = &self.of_numbers;
        let mut c: Vec<f32> = k.iter().zip(scale).map(|(k, s)| k * s).collect();
        for head in c.chunks_exact_mut(d) {
            let length = head.iter().map(|c| c * c).sum::<f32>().sqrt().max(MIN_KEY as f32);
            head.iter_mut().for_each(|c| *c /= length);
        }
        k.iter_mut().zip(rates.iter().zip(unwritten)).for_each(|(k, (a, u))| *k *= 1.0 + (a - 1.0) * u);
        let read_at: Vec<f32> = c.iter().map(|c| -c).collect();
        c.iter_mut().zip(&rates).for_each(|(c, a)| *c *= a);
        self.kernel.push(state, &MatrixStep { w: &w, a: &read_at, c: &c, k: &k, q: &r, v: &v }, &mut self.read)?;
        self.read.iter_mut().for_each(|x| *x *= READ_SCALE as f32);
        norm_heads(&mut self.read, d, norm);
        for head in (0..n).step_by(d) {
            let seen: f32 = (head..head + d).map(|i| r[i] * k[i] * bonus[i]).sum();
            for i in head..head + d {
                self.read[i] = (self.read[i] + offset[i] + seen * v[i]) * gate[i];
            }
        }
        before.copy_from_slice(&self.x);
        out.clear();
        out.extend(product_of(&self.read, output).into_iter().map(f64::from));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `rwkv.model.RWKV_x070_TMix_seq` of rwkv 0.8.30 makes of consecutive [`Numbers`] as the first layer: `x_r`, `x_w`, `x_k`, `x_v`, `x_a`, `x_g` (0.5 + number); twice `w0`, `w1`,
    /// twice `w2`, the same of `a` and of `v`, which the first layer does not read; `g1`, twice `g2`; `k_k` and `k_a` (1 + number), `r_k`; `R`, `K`, `V`, `O`; `ln_w` (1 + number), `ln_b`; and twice `x`
    /// behind the numbers of other layers: 5 rows of 6 numbers, 2 heads, rank 2, double precision.
    #[test]
    fn values_are_those_of_rwkv() {
        let (n, rank, mut next) = (6, 2, Numbers::default());
        let moved = |all: Vec<f64>, by: f64| all.into_iter().map(|x| by + x).collect::<Vec<f64>>();
        let doubled = |all: Vec<f64>| all.into_iter().map(|x| 2.0 * x).collect::<Vec<f64>>();
        let mix = moved(next.take(6 * n), 0.5);
        let mut through = || [doubled(next.take(n)), next.take(n * rank), doubled(next.take(rank * n))];
        let ([decay, decay_down, decay_up], [rate, rate_down, rate_up], _) = (through(), through(), through());
        let (gate_down, gate_up) = (next.take(n * rank), doubled(next.take(rank * n)));
        let (scale, unwritten, bonus) = (moved(next.take(n), 1.0), moved(next.take(n), 1.0), next.take(n));
        let [receptance, key, value, output] = [0; 4].map(|_| next.take(n * n));
        let (norm, offset) = (moved(next.take(n), 1.0), next.take(n));
        let of_others = n + 2 * 8 * n + 4 * n;
        next.take(of_others);
        // The second layer has as many.
        let of_layer = 6 * n + 3 * (n + 2 * n * rank) + 2 * n * rank + 3 * n + 4 * n * n + 2 * n + of_others;
        next.take(of_layer);
        let rows: Vec<Vec<f64>> = next.rows(5, n).into_iter().map(doubled).collect();
        let weights = [
            ("mix", mix),
            ("receptance", receptance),
            ("key", key),
            ("value", value),
            ("output", output),
            ("decay", decay),
            ("decay_down", decay_down),
            ("decay_up", decay_up),
            ("rate", rate),
            ("rate_down", rate_down),
            ("rate_up", rate_up),
            ("gate_down", gate_down),
            ("gate_up", gate_up),
            ("scale", scale),
            ("unwritten", unwritten),
            ("bonus", bonus),
            ("norm", norm),
            ("offset", offset),
        ];
        let wanted = [
            0.010_474_274_568_6,
            -0.140_363_965_083,
            0.117_786_158,
            0.027_173_381_452_2,
            -0.123_664_858_199,
            0.155_745_985_999,
            -0.308_849_405_903,
            0.223_313_131_652,
            -0.405_205_501_469,
            -0.299_082_695_223,
            0.233_079_842_332,
            -0.305_036_226_245,
            -0.261_338_078_391,
            0.025_485_201_889_5,
            -0.420_414_202_819,
            -0.205_147_557_637,
            0.081_675_722_644_2,
            0.005_680_829_272_93,
            -0.363_883_239_953,
            0.138_219_893_522,
            -0.196_260_646_326,
            -0.378_163_193_932,
            0.123_939_939_543,
            0.030_642_221_164_6,
            0.009_678_952_347_56,
            -0.333_603_782_666,
            0.350_079_707_287,
            0.055_734_954_29,
            -0.287_547_780_724,
            0.400_683_288_649,
        ];
        outputs(r#"[{"layer": "rwkv", "heads": 2, "rank": 2}]"#, &weights, &rows, &wanted);
    }
}
