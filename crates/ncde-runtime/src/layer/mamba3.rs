//! The state-space model of Mamba-3 (A. Lahoti and others, 2026): that of Mamba-2 with a trapezoidal step, states that turn, and no convolution; one input and one output a head (SISO).
//!
//! ```text
//! (z, x, b, c, d, a, l, r) = W^T u_t;   d = softplus(d + step_bias) dt_t,   alpha = exp(-max(softplus(a), 1e-4) d),   lambda = sigmoid(l)   of each head
//! b = R(theta_t) (b_norm b / rms(b) + b_bias),   c the same;   theta_t = theta_{t-1} + pi tanh(r) d
//! S_t = alpha S_{t-1} + (1 - lambda) d alpha x_{t-1} b_{t-1}^T + lambda d x b^T,   o = S_t c + skip x,   y_t = U^T (o silu(z))
//! ```
//!
//! Each of `heads` has a state `S`, `[head, states]`, `angles` angles `theta`, and its own numbers of `z`, `x`, `d`, `a`, `l` and of the biases; `b`, `c` and `r` come from the row for all heads.
//! `R(theta)` turns number `i` and number `i + angles` of a key by the angle `i`; turning keys and queries by sums of angles is a state that turns. `S`, `theta`, `x` and `b` are 0 before the first row.
//! `rms(b) = sqrt(mean b^2 + 1e-5)`. `dt` is 1, or with `gap` the time since the row before in gaps, 1 at the first row. As a Linear NCDE: blocks of two that turn and fade, driven by `(int a d, int r d)`.
//! The published code turns numbers `2 i` and `2 i + 1`, which is another order of states. Cost a row: `n` times the columns of `W`, and `8 heads head states`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W`) | `[n, 2 heads head + 2 states + 3 heads + angles]` | uniform on `±1 / sqrt(n)` |
//! | `step_bias`, `skip` | `[heads]` each | such that `softplus` of it is spread over `[0.001, 0.1]` by its logarithm; 1 |
//! | `b_norm`, `c_norm`; `b_bias`, `c_bias` | `[states]`; `[heads, states]` | 1 |
//! | `output` (`U`) | `[heads head, n]` | uniform on `±1 / sqrt(heads head)` |

use std::f64::consts::{PI, TAU};

use ncde_kernels::matrix_state::{Decay, MatrixState, Step as MatrixStep};
use serde::{Deserialize, Serialize};

use super::activation::{sigmoid, softplus};
use super::delta_net::normalise_mean;
use super::linear::affine;
use super::mamba2::of_heads;
use super::rwkv::product_of;
use super::signal::{at_least_one, counted, positive, product, refuse};
use super::state_space::{Clock, step_biases};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// The state-space model of Mamba-3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba3 {
    /// How many heads.
    pub heads: usize,
    /// The numbers of a head.
    pub head: usize,
    /// The states of each number of a head.
    pub states: usize,
    /// How many pairs of them turn.
    pub angles: usize,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

/// The least rate at which states fade.
pub const MIN_RATE: f64 = 1e-4;

impl Mamba3 {
    /// The numbers of all heads.
    pub fn inner(&self) -> usize {
        product(&[self.heads, self.head])
    }

    /// How many numbers `z`, `x`, `b`, `c`, `d`, `a`, `l` and `r` have.
    pub fn columns(&self) -> [usize; 8] {
        let (inner, Self { heads, states, angles, .. }) = (self.inner(), *self);
        [inner, inner, states, states, heads, heads, heads, angles]
    }

    /// The kernel: two of its factors for each row.
    pub fn kernel(&self) -> MatrixState {
        MatrixState { decay: Decay::Scalar, ..MatrixState::new(self.heads, self.states, self.head) }
    }

    fn width(&self) -> usize {
        self.columns().iter().fold(0, |sum, &numbers| sum.saturating_add(numbers))
    }
}

impl Layer for Mamba3 {
    fn describe(&self) -> String {
        let times = if self.gap.is_some() { ", in real time" } else { "" };
        let heads = counted(self.heads, "head");
        format!(
            "{heads} of a memory that fades and turns at rates that rows choose{times}: a matrix-valued Linear NCDE driven by gates, in blocks of two"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("mamba3")?;
        at_least_one(&[
            ("heads", self.heads),
            ("head", self.head),
            ("states", self.states),
            ("angles", self.angles),
            ("states", product(&[self.inner(), self.states])),
            ("head", self.width()),
        ])?;
        if self.angles > self.states / 2 {
            return refuse("angles", format!("{}; {} states have only {} pairs", self.angles, self.states, self.states / 2));
        }
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[input.width(), self.width().saturating_add(self.inner())]).saturating_add(product(&[
            2,
            self.heads,
            self.states,
        ]))
    }

    fn cost(&self, _: &Signal) -> Cost {
        let states = product(&[self.inner(), self.states]);
        Cost { bytes: states.saturating_mul(8), work: states.saturating_mul(8) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, Self { heads, states, .. }, inner) = (input.width(), *self, self.inner());
        let free = |name: &str, shape: Vec<usize>, init| Weight::trained(name, shape, init).with_role(Role::Undecayed);
        let one = |name: &str, shape: Vec<usize>| free(name, shape, Init::Constant(1.0));
        Ok(vec![
            Weight::trained("input", [n, self.width()], Init::linear(n)),
            free("step_bias", vec![heads], step_biases(heads)),
            one("skip", vec![heads]),
            one("b_norm", vec![states]),
            one("c_norm", vec![states]),
            one("b_bias", vec![heads, states]),
            one("c_bias", vec![heads, states]),
            Weight::trained("output", [inner, n], Init::linear(inner)),
        ])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(Mamba3Step {
            spec: *self,
            kernel: self.kernel(),
            clock: Clock { gap: self.gap },
            input: weights.take("input")?,
            step_bias: weights.take("step_bias")?,
            skip: weights.take("skip")?,
            norms: [weights.take("b_norm")?, weights.take("c_norm")?],
            biases: [weights.take("b_bias")?, weights.take("c_bias")?],
            output: weights.take("output")?,
            columns: vec![0.0; self.width()],
            read: vec![0.0; self.inner()],
        }))
    }
}

#[derive(Debug)]
struct Mamba3Step {
    spec: Mamba3,
    kernel: MatrixState,
    clock: Clock,
    input: Vec<f32>,
    step_bias: Vec<f32>,
    skip: Vec<f32>,
    /// Of `b` and of `c`, as those below.
    norms: [Vec<f32>; 2],
    biases: [Vec<f32>; 2],
    output: Vec<f32>,
    columns: Vec<f32>,
    read: Vec<f32>,
}

impl Mamba3Step {
    /// `b` or `c` of all heads, from what the row brings and the angles.
    fn turned(&self, which: usize, row: &mut [f32], theta: &[f64]) -> Vec<f32> {
        normalise_mean(row, &self.norms[which]);
        let mut all = self.biases[which].clone();
        for (key, theta) in all.chunks_exact_mut(row.len()).zip(theta.chunks_exact(self.spec.angles)) {
            key.iter_mut().zip(&*row).for_each(|(key, x)| *key += x);
            let (low, high) = key.split_at_mut(theta.len());
            for ((x, y), theta) in low.iter_mut().zip(high).zip(theta) {
                let (sin, cos) = theta.sin_cos();
                let (sin, cos) = (sin as f32, cos as f32);
                (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
            }
        }
        all
    }
}

impl Step for Mamba3Step {
    /// What the clock remembers, `theta`; the states, `b` and `x` of the row before.
    fn memory(&self) -> Size {
        let Mamba3 { heads, states, angles, .. } = self.spec;
        Size { wide: Clock::MEMORY + heads * angles, narrow: self.kernel.state() + heads * states + self.read.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let Mamba3 { heads, states, angles, .. } = self.spec;
        let (clock, theta) = memory.wide.split_at_mut(Clock::MEMORY);
        let dt = self.clock.passes(clock, row.time) as f32;
        let (state, before) = memory.narrow.split_at_mut(self.kernel.state());
        let (b_before, x_before) = before.split_at_mut(heads * states);
        let mut columns = std::mem::take(&mut self.columns);
        columns.fill(0.0);
        affine(row.values, &self.input, &mut columns);
        let mut rest = &mut columns[..];
        let [z, x, b, c, d, a, l, r] = self.spec.columns().map(|numbers| rest.split_off_mut(..numbers).unwrap_or_default());
        d.iter_mut().zip(&self.step_bias).for_each(|(d, bias)| *d = softplus(*d + bias) * dt);
        for (theta, d) in theta.chunks_exact_mut(angles).zip(&*d) {
            let turn = |r: &f32| PI * f64::from(r.tanh() * d);
            theta.iter_mut().zip(&*r).for_each(|(theta, r)| *theta = (*theta + turn(r)).rem_euclid(TAU));
        }
        let (b, c) = (self.turned(0, b, theta), self.turned(1, c, theta));
        let alpha: Vec<f32> = a.iter().zip(&*d).map(|(a, d)| (-softplus(*a).max(MIN_RATE as f32) * d).exp()).collect();
        let share: Vec<f32> = l.iter().map(|&l| sigmoid(l)).collect();
        let [mut old, mut new] = [alpha.clone(), share.clone()];
        old.iter_mut().zip(share.iter().zip(&*d)).for_each(|(old, (share, d))| *old *= (1.0 - share) * d);
        new.iter_mut().zip(&*d).for_each(|(new, d)| *new *= d);
        let ones = vec![1.0; heads];
        let factors = [(&alpha, &*b_before, of_heads(x_before, &old)), (&ones, &*b, of_heads(x, &new))];
        for (w, k, v) in factors {
            self.kernel.push(state, &MatrixStep { w, a: &[], c: &[], k, q: &c, v: &v }, &mut self.read)?;
        }
        let skipped = of_heads(x, &self.skip);
        self.read.iter_mut().zip(skipped.iter().zip(&*z)).for_each(|(o, (x, z))| *o = (*o + x) * z * sigmoid(*z));
        b_before.copy_from_slice(&b);
        x_before.copy_from_slice(x);
        self.columns = columns;
        out.clear();
        out.extend(product_of(&self.read, &self.output).into_iter().map(f64::from));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `mamba3_siso_step_ref` of mamba-ssm 2.3.2.post1 (`tests/ops/triton/test_mamba3_siso.py`), in double precision, makes of consecutive [`Numbers`] in the order of the snippet, twice those of `u`; with
    /// what `Mamba3` of that package does before and after it. A state of 0 stands behind the 5 others, which are no whole pairs.
    ///
    /// ```python
    /// W, dt_bias, B_bias, C_bias, B_norm, C_norm, D, O, u = ...  # [19 + 8 ..., 2], [2], 1 + [2, 5], 1 + [2, 5], 1 + [5], 1 + [5], [2], [2, 6], [5, 2]
    /// z, x, B, C, dd, dA, trap, angles = torch.split(u @ W.T, [6, 6, 5, 5, 2, 2, 2, 2], -1)
    /// DT, A = softplus(dd + dt_bias), clamp(-softplus(dA), max=-1e-4)
    /// y = mamba3_siso_step_ref(rms(C) * C_norm, rms(B) * B_norm, x, A * DT, DT, trap, C_bias, B_bias, angles, D, z) @ O.T
    /// ```
    #[test]
    fn values_are_those_of_mamba_ssm() {
        let (n, heads, head, states, angles, mut next) = (2, 2, 3, 5, 2, Numbers::default());
        // Pairs of numbers beside each other there.
        let order = |all: &[f64]| -> Vec<f64> { all.chunks(states).flat_map(|x| [0, 2, 1, 3, 4].map(|i| x[i])).collect() };
        let (inner, columns) = (heads * head, 2 * heads * head + 2 * states + 3 * heads + angles);
        let mut input = next.transposed(columns, n);
        for row in input.chunks_mut(columns) {
            let keys = &mut row[2 * inner..][..2 * states];
            keys.copy_from_slice(&order(keys));
        }
        let step_bias = next.take(heads);
        let mut about_one = |count: usize| order(&next.take(count)).into_iter().map(|x| 1.0 + x).collect::<Vec<f64>>();
        let [b_bias, c_bias, b_norm, c_norm] = [heads * states, heads * states, states, states].map(&mut about_one);
        let weights = [
            ("input", input),
            ("step_bias", step_bias),
            ("b_bias", b_bias),
            ("c_bias", c_bias),
            ("b_norm", b_norm),
            ("c_norm", c_norm),
            ("skip", next.take(heads)),
            ("output", next.transposed(n, inner)),
        ];
        let rows: Vec<Vec<f64>> = next.rows(5, n).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let wanted = [
            0.061_082_223_510_4,
            -0.058_081_847_076_1,
            0.066_985_198_428_1,
            -0.014_281_953_444_5,
            -0.032_810_609_464_9,
            -0.019_484_191_880_8,
            0.145_182_860_25,
            -0.105_696_066_938,
            -0.162_297_982_046,
            0.136_378_235_783,
        ];
        outputs(r#"[{"layer": "mamba3", "heads": 2, "head": 3, "states": 5, "angles": 2}]"#, &weights, &rows, &wanted);
    }
}
