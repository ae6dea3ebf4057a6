//! The state-space model of Mamba-2 (T. Dao, A. Gu, "Transformers are SSMs", 2024): a matrix-valued Linear NCDE whose heads forget at one rate each, chosen by the input.
//!
//! ```text
//! (z, x, b, c, d) = W^T u_t;   (x, b, c) through a causal convolution of each number, then silu;   d = softplus(d + step_bias) dt_t
//! S_t = exp(-d exp(decay)) S_{t-1} + d x b^T,   o = S_t c + skip x,   y_t = U^T (norm g / rms(g)),   g = o silu(z)
//! ```
//!
//! Each of `heads` has a state `S`, `[head, states]`, that is 0 before the first row, with its own numbers of `z`, `x` and `d`; `b` and `c` are the same for all heads. `rms` is over all
//! heads together, `sqrt(mean g^2 + 1e-5)`. `dt` is 1, or with `gap` the time since the row before in gaps, 1 at the first row.
//! Cost a row: `n` times the columns of `W`, and `4 heads head states`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W`) | `[n, 2 heads head + 2 states + heads]` | uniform on `±1 / sqrt(n)` |
//! | `convolution`, `convolution_bias` | `[size, heads head + 2 states]`, row `j` for the row `j` places back; one row of it | uniform on `±1 / sqrt(size)` |
//! | `decay`, `step_bias`, `skip` | `[heads]` each | spread over `ln(0) .. ln(16)`; such that `d` is spread over `[0.001, 0.1]` by its logarithm; 1 |
//! | `norm` | `[heads head]` | 1 |
//! | `output` (`U`) | `[heads head, n]` | uniform on `±1 / sqrt(heads head)` |

use ncde_kernels::matrix_state::{Decay, MatrixState, Step as MatrixStep};
use serde::{Deserialize, Serialize};

use super::activation::{sigmoid, softplus};
use super::delta_net::{convolve, normalise_mean, rates};
use super::linear::affine;
use super::rwkv::product_of;
use super::signal::{at_least_one, counted, positive, product};
use super::slstm::four;
use super::state_space::{Clock, step_biases};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// The state-space model of Mamba-2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba2 {
    /// How many heads.
    pub heads: usize,
    /// The numbers of a head.
    pub head: usize,
    /// The states of each number of a head.
    pub states: usize,
    /// How many rows the convolution sees, its own included.
    #[serde(default = "four")]
    pub convolution: usize,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

impl Mamba2 {
    /// The numbers of all heads.
    pub fn inner(&self) -> usize {
        product(&[self.heads, self.head])
    }

    /// The kernel.
    pub fn kernel(&self) -> MatrixState {
        MatrixState { decay: Decay::Scalar, ..MatrixState::new(self.heads, self.states, self.head) }
    }

    /// How many numbers `x`, `b` and `c` have.
    fn convolved(&self) -> usize {
        self.inner().saturating_add(self.states.saturating_mul(2))
    }

    /// How many numbers `W` makes.
    fn columns(&self) -> usize {
        self.convolved().saturating_add(self.inner()).saturating_add(self.heads)
    }
}

impl Layer for Mamba2 {
    fn describe(&self) -> String {
        let times = if self.gap.is_some() { ", in real time" } else { "" };
        let heads = counted(self.heads, "head");
        format!(
            "{heads} of a memory that fades at rates that rows choose{times}: a matrix-valued Linear NCDE driven by gates, one number a head"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("mamba2")?;
        at_least_one(&[
            ("heads", self.heads),
            ("head", self.head),
            ("states", self.states),
            ("convolution", self.convolution),
            ("states", product(&[self.inner(), self.states])),
            ("head", self.columns()),
        ])?;
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        let of_number = self.columns().saturating_add(self.inner());
        product(&[input.width(), of_number]).saturating_add(product(&[self.convolution, self.convolved()]))
    }

    fn cost(&self, _: &Signal) -> Cost {
        let states = product(&[self.inner(), self.states]);
        let rows = product(&[self.convolution, self.convolved(), size_of::<f32>()]);
        Cost { bytes: states.saturating_mul(8).saturating_add(rows), work: states.saturating_mul(4) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, heads, inner, convolution) = (input.width(), self.heads, self.inner(), Init::linear(self.convolution));
        let free = |name: &str, count: usize, init| Weight::trained(name, [count], init).with_role(Role::Undecayed);
        Ok(vec![
            Weight::trained("input", [n, self.columns()], Init::linear(n)),
            Weight::trained("convolution", [self.convolution, self.convolved()], convolution.clone()),
            free("convolution_bias", self.convolved(), convolution),
            free("decay", heads, rates(heads)),
            free("step_bias", heads, step_biases(heads)),
            free("skip", heads, Init::Constant(1.0)),
            free("norm", inner, Init::Constant(1.0)),
            Weight::trained("output", [inner, n], Init::linear(inner)),
        ])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(Mamba2Step {
            spec: *self,
            kernel: self.kernel(),
            clock: Clock { gap: self.gap },
            input: weights.take("input")?,
            convolution: weights.take("convolution")?,
            convolution_bias: weights.take("convolution_bias")?,
            rates: weights.take("decay")?.into_iter().map(f32::exp).collect(),
            step_bias: weights.take("step_bias")?,
            skip: weights.take("skip")?,
            norm: weights.take("norm")?,
            output: weights.take("output")?,
            columns: vec![0.0; self.columns()],
            read: vec![0.0; self.inner()],
        }))
    }
}

#[derive(Debug)]
struct Mamba2Step {
    spec: Mamba2,
    kernel: MatrixState,
    clock: Clock,
    input: Vec<f32>,
    convolution: Vec<f32>,
    convolution_bias: Vec<f32>,
    /// `exp(decay)`.
    rates: Vec<f32>,
    step_bias: Vec<f32>,
    skip: Vec<f32>,
    norm: Vec<f32>,
    output: Vec<f32>,
    columns: Vec<f32>,
    read: Vec<f32>,
}

/// Numbers of heads, each times the number of its head.
pub(super) fn of_heads(x: &[f32], heads: &[f32]) -> Vec<f32> {
    let size = x.len() / heads.len();
    x.chunks_exact(size).zip(heads).flat_map(|(x, head)| x.iter().map(move |x| x * head)).collect()
}

impl Step for Mamba2Step {
    /// What the clock remembers; the states, then what the convolution has seen, the latest row first.
    fn memory(&self) -> Size {
        Size { wide: Clock::MEMORY, narrow: self.kernel.state() + (self.spec.convolution - 1) * self.spec.convolved() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (heads, inner) = (self.spec.heads, self.spec.inner());
        let dt = self.clock.passes(memory.wide, row.time) as f32;
        let (state, behind) = memory.narrow.split_at_mut(self.kernel.state());
        self.columns.fill(0.0);
        affine(row.values, &self.input, &mut self.columns);
        let (z, rest) = self.columns.split_at_mut(inner);
        let (convolved, d) = rest.split_at_mut(self.spec.convolved());
        convolve(convolved, &self.convolution, Some(&self.convolution_bias), behind);
        let (x, b_and_c) = convolved.split_at(inner);
        let (b, c) = b_and_c.split_at(self.spec.states);
        d.iter_mut().zip(&self.step_bias).for_each(|(d, bias)| *d = softplus(*d + bias) * dt);
        let w: Vec<f32> = d.iter().zip(&self.rates).map(|(d, rate)| (-d * rate).exp()).collect();
        let step = MatrixStep { w: &w, a: &[], c: &[], k: &b.repeat(heads), q: &c.repeat(heads), v: &of_heads(x, d) };
        self.kernel.push(state, &step, &mut self.read)?;
        let skipped = of_heads(x, &self.skip);
        self.read.iter_mut().zip(skipped.iter().zip(&*z)).for_each(|(o, (x, z))| *o = (*o + x) * z * sigmoid(*z));
        normalise_mean(&mut self.read, &self.norm);
        out.clear();
        out.extend(product_of(&self.read, &self.output).into_iter().map(f64::from));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `Mamba2Mixer` of transformers 5.23.0 makes of consecutive [`Numbers`] in the order of the snippet, for 6 rows of 2 numbers, in double precision.
    ///
    /// ```python
    /// torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double  # before transformers is imported
    /// m = Mamba2Mixer(Mamba2Config(hidden_size=2, num_heads=2, head_dim=2, state_size=3, expand=2, n_groups=1, conv_kernel=3), 0).double()
    /// order = [m.in_proj.weight, m.conv1d.weight, m.conv1d.bias, m.A_log, m.dt_bias, m.D, m.norm.weight, m.out_proj.weight]  # norm: 1 + number; then twice x
    /// ```
    #[test]
    fn values_are_those_of_transformers() {
        let (n, heads, head, states, size, mut next) = (2, 2, 2, 3, 3, Numbers::default());
        let (inner, convolved) = (heads * head, heads * head + 2 * states);
        let input = next.transposed(inner + convolved + heads, n);
        // The last number of a convolution there is the present row.
        let convolution = next.transposed(convolved, size);
        let weights = [
            ("input", input),
            ("convolution", convolution.chunks(convolved).rev().flatten().copied().collect()),
            ("convolution_bias", next.take(convolved)),
            ("decay", next.take(heads)),
            ("step_bias", next.take(heads)),
            ("skip", next.take(heads)),
            ("norm", next.take(inner).into_iter().map(|x| 1.0 + x).collect()),
            ("output", next.transposed(n, inner)),
        ];
        let rows: Vec<Vec<f64>> = next.rows(6, n).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let layers = r#"[{"layer": "mamba2", "heads": 2, "head": 2, "states": 3, "convolution": 3}]"#;
        let wanted = [
            0.404_415_188_596,
            -1.357_414_831_16,
            -0.284_978_121_759,
            1.025_120_664_07,
            -0.498_766_529_55,
            1.200_096_648_66,
            0.410_476_534_677,
            -1.355_783_737_98,
            0.019_463_700_032_4,
            0.943_623_575_048,
            -0.117_869_100_739,
            1.410_730_523_47,
        ];
        outputs(layers, &weights, &rows, &wanted);
    }
}
