//! The selective state-space model (S6) of Mamba: a Linear NCDE with diagonal matrices that the input drives.
//!
//! ```text
//! (r, b, c) = P^T x_k,   d = softplus(W^T r + w) dt_k,   h_k[n, e] = exp(-d[e] exp(decay[n, e])) h_{k-1}[n, e] + d[e] x_k[e] b[n]
//! y_k[e] = sum_n c[n] h_k[n, e] + skip[e] x_k[e],   h_0 = 0
//! ```
//!
//! (A. Gu, T. Dao, 2023.) `dt` is 1, or with `gap` the time since the row before in gaps, 1 at the first row. Cost a row: `n (2 rank + 6 N)`, `n` the numbers of a row.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `project` (`P`) | `[n, rank + 2 N]` | uniform on `±1 / sqrt(n)` |
//! | `step` (`W`), `step_bias` (`w`) | `[rank, n]`, `[n]` | uniform on `±1 / sqrt(rank)`; such that `d` is spread over `[0.001, 0.1]` by its logarithm |
//! | `decay` | `[N, n]` | `ln(1 + state)` |
//! | `skip` | `[n]` | 1 |

use ncde_kernels::selective;
use serde::{Deserialize, Serialize};

use super::activation::softplus;
use super::linear::affine;
use super::signal::{at_least_one, counted, positive, product};
use super::state_memory::narrow;
use super::state_space::{Clock, step_biases};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A selective state-space model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selective {
    /// `N`: the states of each number of a row.
    pub states: usize,
    /// From how many numbers the steps follow.
    pub rank: usize,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

impl Layer for Selective {
    fn describe(&self) -> String {
        let times = if self.gap.is_some() { ", in real time" } else { "" };
        let states = counted(self.states, "state");
        format!(
            "{states} for each number, which rows choose to fill, forget and show{times}: a diagonal Linear NCDE driven by gates"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("selective")?;
        at_least_one(&[("states", self.states), ("rank", self.rank), ("states", product(&[self.states, width]))])?;
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[input.width(), self.rank.saturating_mul(2).saturating_add(self.states.saturating_mul(3))])
    }

    fn cost(&self, input: &Signal) -> Cost {
        let states = product(&[self.states, input.width()]);
        Cost { bytes: states.saturating_mul(8), work: states.saturating_mul(6) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, states, rank) = (input.width(), self.states, self.rank);
        let decay = (0..states).map(|state| (n, Init::Constant(((1 + state) as f64).ln()))).collect();
        let free = |name: &str, shape: Vec<usize>, init| Weight::trained(name, shape, init).with_role(Role::Undecayed);
        Ok(vec![
            Weight::trained("project", [n, rank + 2 * states], Init::linear(n)),
            Weight::trained("step", [rank, n], Init::linear(rank)),
            free("step_bias", vec![n], step_biases(n)),
            free("decay", vec![states, n], Init::Pieces(decay)),
            free("skip", vec![n], Init::Constant(1.0)),
        ])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let n = input.width();
        Ok(Box::new(SelectiveStep {
            spec: self.clone(),
            clock: Clock { gap: self.gap },
            project: weights.take("project")?,
            step: weights.take("step")?,
            step_bias: weights.take("step_bias")?,
            a: weights.take("decay")?.into_iter().map(|x| -x.exp()).collect(),
            skip: weights.take("skip")?,
            projected: vec![0.0; self.rank + 2 * self.states],
            steps: vec![0.0; n],
            x: vec![0.0; n],
            y: vec![0.0; n],
        }))
    }
}

#[derive(Debug)]
struct SelectiveStep {
    spec: Selective,
    clock: Clock,
    project: Vec<f32>,
    step: Vec<f32>,
    step_bias: Vec<f32>,
    /// `-exp(decay)`.
    a: Vec<f32>,
    skip: Vec<f32>,
    projected: Vec<f32>,
    steps: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Step for SelectiveStep {
    /// What the clock remembers; the states.
    fn memory(&self) -> Size {
        Size { wide: Clock::MEMORY, narrow: self.a.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (rank, states) = (self.spec.rank, self.spec.states);
        let dt = self.clock.passes(memory.wide, row.time) as f32;
        narrow(row.values, &mut self.x);
        self.projected.fill(0.0);
        affine(row.values, &self.project, &mut self.projected);
        self.steps.copy_from_slice(&self.step_bias);
        let (r, b_and_c) = self.projected.split_at(rank);
        for (&r, weights) in r.iter().zip(self.step.chunks_exact(self.steps.len())) {
            self.steps.iter_mut().zip(weights).for_each(|(step, weight)| *step += r * weight);
        }
        self.steps.iter_mut().for_each(|step| *step = softplus(*step) * dt);
        let (b, c) = b_and_c.split_at(states);
        selective::step(&self.a, memory.narrow, [&self.steps, &self.x], [b, c], &mut self.y)?;
        out.clear();
        out.extend(self.y.iter().zip(self.x.iter().zip(&self.skip)).map(|(y, (x, skip))| f64::from(y + skip * x)));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::reference::{Numbers, outputs};

    /// What `mambapy.mamba.MambaBlock` of mambapy 1.2.0 makes of consecutive [`Numbers`] in the order `in_proj`, `conv1d` (weight, bias), `x_proj`, `dt_proj` (weight, bias),
    /// `A_log`, `D`, `out_proj` and twice `x`, for 6 rows of 2 numbers, 4 channels of 3 states, rank 2 and a convolution of 3 rows, in double precision.
    #[test]
    fn a_block_is_that_of_mambapy() {
        let (d, e, n, r, k, mut next) = (2, 4, 3, 2, 3, Numbers::default());
        // The first rows of `in_proj` make the channels, the others the gate.
        let [channels, gate] = [0, 1].map(|_| next.transposed(e, d));
        // The last number of a convolution there is the present row.
        let convolution = next.take(e * k);
        let back = (0..k).flat_map(|j| (0..e).map(move |channel| channel * k + k - 1 - j)).map(|i| convolution[i]).collect();
        let weights = [
            ("0.layers.0.0.weight", channels),
            ("0.layers.0.0.bias", vec![0.0; e]),
            ("0.layers.0.1.weight", back),
            ("0.layers.0.1.bias", next.take(e)),
            ("0.layers.0.3.project", next.transposed(r + 2 * n, e)),
            ("0.layers.0.3.step", next.transposed(e, r)),
            ("0.layers.0.3.step_bias", next.take(e)),
            ("0.layers.0.3.decay", next.transposed(e, n)),
            ("0.layers.0.3.skip", next.take(e)),
            ("0.layers.1.0.weight", gate),
            ("0.layers.1.0.bias", vec![0.0; e]),
            ("1.weight", next.transposed(d, e)),
            ("1.bias", vec![0.0; d]),
        ];
        next.take(d);
        let rows: Vec<Vec<f64>> = next.rows(6, d).into_iter().map(|row| row.into_iter().map(|x| 2.0 * x).collect()).collect();
        let layers = r#"[
            {"layer": "product", "layers": [
                [{"layer": "linear", "outputs": 4}, {"layer": "convolution", "size": 3}, {"layer": "activation", "function": "silu"},
                 {"layer": "selective", "states": 3, "rank": 2}],
                [{"layer": "linear", "outputs": 4}, {"layer": "activation", "function": "silu"}]]},
            {"layer": "linear", "outputs": 2}]"#;
        let wanted = [
            0.002_765_381_151_61,
            -0.015_080_427_190_6,
            -0.003_281_363_436_37,
            0.013_646_034_842_2,
            0.001_085_860_597_38,
            -0.004_108_746_868_83,
            0.001_421_086_083_99,
            -0.005_418_283_105_96,
            -0.004_101_633_177_7,
            0.023_926_046_268_5,
            -0.006_559_939_232,
            0.028_258_998_411_5,
        ];
        outputs(layers, &weights, &rows, &wanted);
    }
}
