//! `DeltaNet` and its kin: a matrix-valued Linear NCDE whose matrices are the identity less a projection onto a key, which the input chooses.
//!
//! ```text
//! (q, k, v, b, a, g) = W^T x_t;   (q, k, v) through a causal convolution of each number, then silu;   q = q / |q| / sqrt(K),   k = k / |k|   head by head
//! beta = sigmoid(b), twice that with `negative`;   w = exp(-exp(decay) softplus(a + bias)) with `decay`, else 1
//! S_t = w S_{t-1} (I - beta k k^T) + beta v k^T,   o_t = S_t q,   y_t = U^T (norm o / rms(o)), with `gate` times silu(g) before U
//! ```
//!
//! Each of `heads` has a state `S`, `[V, K]`, that is 0 before the first row. With `products` a row has that many keys, values and `beta`, one factor `I - beta k k^T` for each;
//! `w` comes before the first. `|k| = sqrt(sum k^2 + 1e-6)`, `rms(o) = sqrt(mean o^2 + 1e-5)`.
//!
//! | settings | known as |
//! | --- | --- |
//! | none | DeltaNet (S. Yang et al., 2024) |
//! | `negative` | with eigenvalues from -1 to 1 (R. Grazzi et al., 2025) |
//! | `decay` and `gate` | Gated DeltaNet (S. Yang et al., 2025) |
//! | `products` | DeltaProduct, with `decay` and `gate` gated (J. Siems et al., 2025) |
//! | `sum` | linear attention: `S_t = w S_{t-1} + v k^T`, no `b`; with `decay` and `gate` close to Mamba-2 |
//!
//! Cost a row: `n` times the columns of `W`, and `4 heads V K` for each factor.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W`) | `[n, columns]` in the order above: heads beside each other, products of `k`, `v` and `b` outermost | uniform on `±1 / sqrt(n)` |
//! | `convolution` | `[size, numbers of q, k and v]`, row `j` for the row `j` places back | uniform on `±1 / sqrt(size)` |
//! | `decay`, `decay_bias` | `[heads]` each | spread over `ln(0) .. ln(16)`; such that `softplus(bias)` is spread over `[0.001, 0.1]` by its logarithm |
//! | `norm` | `[V]` | 1 |
//! | `output` (`U`) | `[heads V, n]` | uniform on `±1 / sqrt(heads V)` |

use ncde_kernels::matrix_state::{Decay, MatrixState, Step as MatrixStep};
use serde::{Deserialize, Serialize};

use super::activation::{sigmoid, softplus};
use super::linear::affine;
use super::rwkv::product_of;
use super::signal::{at_least_one, counted, product, refuse};
use super::state_space::step_biases;
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// DeltaNet, with settings for its kin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeltaNet {
    /// How many heads.
    pub heads: usize,
    /// `K`: the numbers of a key and of a query.
    pub key: usize,
    /// `V`: the numbers of a value.
    pub value: usize,
    /// How many factors a row has.
    #[serde(default = "one")]
    pub products: usize,
    /// How many rows the convolution sees, its own included.
    #[serde(default = "four")]
    pub convolution: usize,
    /// Whether factors may have negative eigenvalues.
    #[serde(default)]
    pub negative: bool,
    /// Whether states decay.
    #[serde(default)]
    pub decay: bool,
    /// Whether rows gate what is read.
    #[serde(default)]
    pub gate: bool,
    /// Whether values are added without what is stored under their keys being taken away.
    #[serde(default)]
    pub sum: bool,
}

fn one() -> usize {
    1
}

fn four() -> usize {
    4
}

/// What is added to the squares of a key before the root, and to the mean square of what is read.
pub const KEY_EPSILON: f64 = 1e-6;
/// See above.
pub const READ_EPSILON: f64 = 1e-5;

impl DeltaNet {
    /// How many numbers `q`, `k`, `v`, `b`, `a` and `g` have.
    pub fn columns(&self) -> [usize; 6] {
        let [keys, values] = [self.key, self.value].map(|numbers| product(&[self.heads, numbers]));
        let all = |numbers: usize| product(&[self.products, numbers]);
        let only = |is_there: bool, numbers: usize| if is_there { numbers } else { 0 };
        [keys, all(keys), all(values), only(!self.sum, all(self.heads)), only(self.decay, self.heads), only(self.gate, values)]
    }

    /// The kernel that makes each of its factors.
    pub fn kernel(&self) -> MatrixState {
        let decay = if self.decay { Decay::Scalar } else { Decay::None };
        MatrixState { decay, delta: !self.sum, ..MatrixState::new(self.heads, self.key, self.value) }
    }

    fn convolved(&self) -> usize {
        self.columns()[..3].iter().fold(0, |sum, &numbers| sum.saturating_add(numbers))
    }

    fn width(&self) -> usize {
        self.columns().iter().fold(0, |sum, &numbers| sum.saturating_add(numbers))
    }
}

impl Layer for DeltaNet {
    fn describe(&self) -> String {
        let how = if self.sum { "adds values under keys" } else { "writes values under keys over what was there" };
        let more = if self.decay { ", and forgets" } else { "" };
        let structure = match (self.sum, self.decay) {
            (false, _) => "driven by keys, diagonal plus low rank",
            (true, true) => "driven by gates, one number a head",
            (true, false) => "whose matrices are 0",
        };
        format!("{} of a memory that {how}{more}: a matrix-valued Linear NCDE {structure}", counted(self.heads, "head"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("delta-net")?;
        let sizes = [
            ("heads", self.heads),
            ("key", self.key),
            ("value", self.value),
            ("products", self.products),
            ("convolution", self.convolution),
            ("key", product(&[self.heads, self.key, self.value])),
            ("products", self.width()),
        ];
        at_least_one(&sizes)?;
        if self.sum && (self.products > 1 || self.negative) {
            return refuse("sum", "set with `products` or `negative`, which change what is taken away; a sum takes nothing away");
        }
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        let convolution = product(&[self.convolution, self.convolved()]);
        product(&[input.width(), self.width().saturating_add(product(&[self.heads, self.value]))]).saturating_add(convolution)
    }

    fn cost(&self, _: &Signal) -> Cost {
        let states = product(&[self.heads, self.key, self.value]);
        let rows = product(&[self.convolution, self.convolved(), size_of::<f64>()]);
        Cost { bytes: states.saturating_mul(8).saturating_add(rows), work: product(&[4, self.products, states]) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, values) = (input.width(), self.heads * self.value);
        let free = |name: &str, count: usize, init| Weight::trained(name, [count], init).with_role(Role::Undecayed);
        let mut all = vec![
            Weight::trained("input", [n, self.width()], Init::linear(n)),
            Weight::trained("convolution", [self.convolution, self.convolved()], Init::linear(self.convolution)),
        ];
        if self.decay {
            all.extend([free("decay", self.heads, rates(self.heads)), free("decay_bias", self.heads, step_biases(self.heads))]);
        }
        all.extend([free("norm", self.value, Init::Constant(1.0)), Weight::trained("output", [values, n], Init::linear(values))]);
        Ok(all)
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let mut of_heads = |name: &str| if self.decay { weights.take(name) } else { Ok(Vec::new()) };
        let decay = [of_heads("decay")?, of_heads("decay_bias")?];
        Ok(Box::new(DeltaNetStep {
            kernel: self.kernel(),
            spec: self.clone(),
            decay,
            input: weights.take("input")?,
            convolution: weights.take("convolution")?,
            norm: weights.take("norm")?,
            output: weights.take("output")?,
            columns: vec![0.0; self.width()],
            read: vec![0.0; self.heads * self.value],
        }))
    }
}

#[derive(Debug)]
struct DeltaNetStep {
    spec: DeltaNet,
    kernel: MatrixState,
    input: Vec<f32>,
    convolution: Vec<f32>,
    decay: [Vec<f32>; 2],
    norm: Vec<f32>,
    output: Vec<f32>,
    columns: Vec<f32>,
    read: Vec<f32>,
}

/// Vectors of `size` numbers, each divided by the root of its square and `epsilon`, times `factor`.
pub(super) fn normalise(vectors: &mut [f32], size: usize, factor: f32, epsilon: f64) {
    for vector in vectors.chunks_exact_mut(size) {
        let square: f32 = vector.iter().map(|x| x * x).sum();
        let factor = factor / (square + epsilon as f32).sqrt();
        vector.iter_mut().for_each(|x| *x *= factor);
    }
}

/// The same with the root of the mean square, and a gain for each number of a vector.
pub(super) fn normalise_mean(vectors: &mut [f32], gain: &[f32]) {
    let size = gain.len();
    normalise(vectors, size, (size as f32).sqrt(), READ_EPSILON * size as f64);
    vectors.chunks_exact_mut(size).for_each(|vector| vector.iter_mut().zip(gain).for_each(|(x, gain)| *x *= gain));
}

/// Logarithms of the first rates at which heads forget.
pub(super) fn rates(heads: usize) -> Init {
    Init::listed((0..heads).map(|head| (16.0 * (head as f64 + 0.5) / heads as f64).ln()))
}

/// Each number with those of the rows before it, the latest first, that `behind` remembers, and a bias; then `silu`.
pub(super) fn convolve(rows: &mut [f32], weight: &[f32], bias: Option<&[f32]>, behind: &mut [f32]) {
    let width = rows.len();
    let row = rows.to_vec();
    rows.iter_mut().zip(weight).for_each(|(x, w)| *x *= w);
    for (before, weight) in behind.chunks_exact(width).zip(weight[width..].chunks_exact(width)) {
        rows.iter_mut().zip(before.iter().zip(weight)).for_each(|(x, (before, w))| *x += before * w);
    }
    rows.iter_mut().zip(bias.unwrap_or_default()).for_each(|(x, bias)| *x += bias);
    rows.iter_mut().for_each(|x| *x *= sigmoid(*x));
    if !behind.is_empty() {
        behind.copy_within(..behind.len() - width, width);
        behind[..width].copy_from_slice(&row);
    }
}

impl Step for DeltaNetStep {
    /// The states, then what the convolution has seen, the latest row first.
    fn memory(&self) -> Size {
        let rows = (self.spec.convolution - 1) * self.spec.convolved();
        Size { wide: 0, narrow: self.kernel.state() + rows }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (&DeltaNet { heads, key, value, products, .. }, kernel) = (&self.spec, self.kernel);
        let (state, behind) = memory.narrow.split_at_mut(kernel.state());
        self.columns.fill(0.0);
        affine(row.values, &self.input, &mut self.columns);
        convolve(&mut self.columns[..self.spec.convolved()], &self.convolution, None, behind);
        let [of_q, of_k, of_v, of_b, of_a, _] = self.spec.columns();
        let (q, rest) = self.columns.split_at_mut(of_q);
        let (k, rest) = rest.split_at_mut(of_k);
        let (v, rest) = rest.split_at_mut(of_v);
        let (b, rest) = rest.split_at_mut(of_b);
        let (a, gate) = rest.split_at_mut(of_a);
        normalise(q, key, 1.0 / (key as f32).sqrt(), KEY_EPSILON);
        normalise(k, key, 1.0, KEY_EPSILON);
        let mut w: Vec<f32> = a
            .iter()
            .zip(&self.decay[0])
            .zip(&self.decay[1])
            .map(|((a, rate), bias)| (-rate.exp() * softplus(a + bias)).exp())
            .collect();
        let most = if self.spec.negative { 2.0 } else { 1.0 };
        for p in 0..products {
            let (k, v) = (&k[p * heads * key..][..heads * key], &mut v[p * heads * value..][..heads * value]);
            let mut a = Vec::new();
            if !self.spec.sum {
                for head in 0..heads {
                    let beta = most * sigmoid(b[p * heads + head]);
                    v[head * value..][..value].iter_mut().for_each(|v| *v *= beta);
                    let lost = -beta * w.get(head).copied().unwrap_or(1.0);
                    a.extend(k[head * key..][..key].iter().map(|k| lost * k));
                }
            }
            let c = if self.spec.sum { &[] } else { k };
            kernel.push(state, &MatrixStep { w: &w, a: &a, c, k, q, v }, &mut self.read)?;
            // States decay once a row.
            w.fill(1.0);
        }
        normalise_mean(&mut self.read, &self.norm);
        self.read.iter_mut().zip(&*gate).for_each(|(x, g)| *x *= g * sigmoid(*g));
        out.clear();
        out.extend(product_of(&self.read, &self.output).into_iter().map(f64::from));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// The weights of a layer of flash-linear-attention 0.6.0, of consecutive [`Numbers`] in the order of `order` of the snippet below, and five rows of twice the numbers behind.
    ///
    /// ```python
    /// order = ["q_proj", "k_proj", "v_proj", "b_proj", "a_proj", "A_log", "dt_bias", "q_conv1d", "k_conv1d", "v_conv1d", "g_proj", "o_norm", "o_proj"]  # o_norm: 1 + number
    /// m = DeltaNet(hidden_size=4, num_heads=2, conv_size=3).double()  # with the Triton kernels replaced by the package's ops/*/naive.py
    /// ```
    fn check(settings: &str, [n, heads, key, value, products]: [usize; 5], parts: [bool; 3], wanted: &[f64]) {
        let ([delta, decay, gate], size, mut next) = (parts, 3, Numbers::default());
        // Rows of one projection, `[outputs, n]` there, are columns here.
        let columns = [heads * key, products * heads * key, products * heads * value];
        let mut maps: Vec<Vec<f64>> = columns.iter().map(|&count| next.transposed(count, n)).collect();
        if delta {
            maps.push(next.transposed(products * heads, n));
        }
        let mut weights = Vec::new();
        if decay {
            maps.push(next.transposed(heads, n));
            weights.extend([("decay", next.take(heads)), ("decay_bias", next.take(heads))]);
        }
        // The last number of a convolution there is the present row.
        let convolutions: Vec<Vec<f64>> = columns.iter().map(|&count| next.transposed(count, size)).collect();
        let row = |j: usize| {
            convolutions.iter().zip(columns).flat_map(move |(all, count)| all[(size - 1 - j) * count..][..count].to_vec())
        };
        weights.push(("convolution", (0..size).flat_map(row).collect()));
        if gate {
            maps.push(next.transposed(heads * value, n));
        }
        weights.push(("norm", next.take(value).into_iter().map(|x| 1.0 + x).collect()));
        weights.push(("output", next.transposed(n, heads * value)));
        let row =
            |i: usize| maps.iter().flat_map(move |map| map[i * map.len() / n..][..map.len() / n].to_vec()).collect::<Vec<f64>>();
        weights.push(("input", (0..n).flat_map(row).collect()));
        let rows: Vec<Vec<f64>> = next.rows(5, n).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let layers = format!(
            r#"[{{"layer": "delta-net", "heads": {heads}, "key": {key}, "value": {value}, "products": {products}, "convolution": 3{settings}}}]"#
        );
        outputs(&layers, &weights, &rows, wanted);
    }

    #[test]
    fn values_are_those_of_flash_linear_attention() {
        check(
            "",
            [4, 2, 2, 2, 1],
            [true, false, false],
            &[
                0.707_430_252_359,
                -0.161_830_498_11,
                0.973_386_269_607,
                0.104_125_519_138,
                -0.634_699_471_985,
                0.026_345_872_783,
                -0.883_286_743_958,
                -0.222_241_399_19,
                0.110_199_420_163,
                0.272_474_079_926,
                0.189_412_917_461,
                0.351_687_577_224,
                0.131_475_483_771,
                -0.007_151_026_550_63,
                -0.144_956_201_637,
                -0.283_582_711_958,
                0.102_193_950_779,
                -0.318_311_930_124,
                0.159_131_073_79,
                -0.261_374_807_113,
            ],
        );
        check(
            r#", "negative": true"#,
            [4, 2, 2, 2, 1],
            [true, false, false],
            &[
                0.723_344_383_463,
                -0.163_382_183_638,
                0.992_855_508_912,
                0.106_128_941_811,
                -0.610_999_552_525,
                0.012_251_249_841_8,
                -0.864_350_420_01,
                -0.241_099_617_643,
                0.095_444_301_333_4,
                0.277_539_322_547,
                0.183_969_191_865,
                0.366_064_213_078,
                0.472_158_147_977,
                0.162_984_758_206,
                0.208_060_642_138,
                -0.101_112_747_633,
                -0.040_689_251_700_9,
                -0.431_440_832_182,
                -0.097_328_603_392_1,
                -0.488_080_183_873,
            ],
        );
        check(
            r#", "gate": true"#,
            [4, 2, 2, 2, 1],
            [true, false, true],
            &[
                0.028_862_080_570_6,
                -0.110_517_839_414,
                0.286_022_669_007,
                -0.035_953_768_039_9,
                0.027_733_645_377_5,
                0.017_737_156_162_2,
                0.080_747_145_729_1,
                0.045_760_894_986_9,
                0.034_000_937_449_6,
                0.004_875_805_432_72,
                0.028_376_808_149_3,
                -0.058_472_842_944_5,
                0.015_843_566_835,
                -0.013_226_376_357_2,
                0.033_410_026_057_4,
                0.027_791_763_171_6,
                0.189_489_749_986,
                0.073_856_005_341_5,
                0.152_978_561_696,
                0.056_692_961_446,
            ],
        );
        check(
            r#", "decay": true, "gate": true"#,
            [3, 2, 2, 3, 1],
            [true, true, true],
            &[
                0.076_022_377_724_9,
                -0.023_729_307_007_3,
                0.149_424_416_907,
                0.053_541_905_915_3,
                0.057_036_014_606_8,
                0.034_452_348_237_6,
                0.019_111_331_873,
                0.192_127_074_579,
                -0.079_020_496_439_9,
                0.030_864_681_943_8,
                0.075_199_326_578_1,
                0.115_837_223_345,
                -0.115_599_558_388,
                -0.140_782_460_967,
                0.069_001_077_554,
            ],
        );
        check(
            r#", "decay": true, "gate": true, "negative": true"#,
            [3, 2, 2, 3, 2],
            [true, true, true],
            &[
                -0.103_626_662_092,
                -0.313_012_103_266,
                0.117_320_457_558,
                0.049_997_948_581_3,
                -0.219_284_922_98,
                -0.005_765_864_751_93,
                0.062_517_601_100_1,
                0.056_905_186_732_2,
                0.148_221_417_324,
                0.075_292_849_467_4,
                0.043_375_531_299_4,
                0.129_416_766_006,
                0.259_308_189_465,
                0.121_144_338_165,
                -0.258_370_085_141,
            ],
        );
        check(
            r#", "gate": true, "negative": true"#,
            [3, 2, 2, 3, 2],
            [true, false, true],
            &[
                -0.305_374_609_56,
                -0.156_804_238_487,
                0.375_844_428_39,
                0.228_738_393_296,
                0.202_234_164_664,
                -0.163_034_073_074,
                -0.302_929_505_732,
                -0.411_277_467_589,
                0.345_846_775_298,
                0.045_999_110_305_2,
                0.112_947_568_169,
                -0.120_624_198_016,
                0.178_489_541_062,
                0.203_967_984_132,
                -0.053_379_460_788_8,
            ],
        );
    }
}
