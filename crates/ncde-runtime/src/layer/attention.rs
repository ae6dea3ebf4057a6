//! Causal attention with positions turned by real time.
//!
//! ```text
//! q_k = R(t_k) W_q^T x_k,   k_j = R(t_j) W_k^T x_j,   v_j = W_v^T x_j,   of each head
//! y_k = W_o^T (sum_{j <= k} p_kj v_j) + c,   p_k = softmax_j(q_k . k_j / sqrt(d)),   j among the last `context` rows
//! ```
//!
//! `R(t)` turns number `i` and number `i + d/2` of a head's `d` by the angle `t 10000^(-2i/d) / gap` (rotary positions; Su et al., 2021), so that what a row
//! sees of another depends on the time between them. Memory: keys and values of the last `context` rows; cost a row: `4 n w + 2 context w`, `w` the numbers of all heads.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `input` (`W_q`, `W_k`, `W_v` beside each other) | `[n, 3 w]` | uniform on `±sqrt(6 / (n + w))` |
//! | `output` (`W_o`) | `[w, n]` | uniform on `±1 / sqrt(w)` |
//! | `bias` (`c`) | `[n]` | 0 |

use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::signal::{at_least_one, counted, positive, product, refuse};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// Causal attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attention {
    /// How many heads.
    pub heads: usize,
    /// `d`: the numbers of a head, an even count.
    pub head: usize,
    /// How many rows a row sees, its own included.
    pub context: usize,
    /// The time that turns the first numbers of a head by an angle of 1.
    pub gap: f64,
}

impl Attention {
    /// `w`: the numbers of all heads.
    pub fn width(&self) -> usize {
        product(&[self.heads, self.head])
    }

    /// By what time is multiplied for the angle of each pair of numbers of a head.
    pub fn rates(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.head / 2).map(|i| 10_000_f64.powf(-2.0 * i as f64 / self.head as f64) / self.gap)
    }
}

impl Layer for Attention {
    fn describe(&self) -> String {
        let (heads, rows) = (counted(self.heads, "head"), counted(self.context, "row"));
        format!("{heads} of attention to the last {rows}, with positions in real time")
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("attention")?;
        let sizes = [("heads", self.heads), ("head", self.head), ("context", self.context), ("heads", self.width())];
        at_least_one(&sizes)?;
        if !self.head.is_multiple_of(2) {
            return refuse("head", format!("{}; an even count is needed, as its numbers are turned in pairs", self.head));
        }
        positive(&[("gap", self.gap)])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[4, self.width(), input.width()])
    }

    fn cost(&self, _: &Signal) -> Cost {
        let rows = product(&[2, self.context, self.width()]);
        Cost { bytes: rows.saturating_mul(size_of::<f32>()), work: rows }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, w) = (input.width(), self.width());
        let bound = (6.0 / (n + w) as f64).sqrt();
        Ok(vec![
            Weight::trained("input", [n, 3 * w], Init::Uniform(bound)),
            Weight::trained("output", [w, n], Init::linear(w)),
            Weight::trained("bias", [n], Init::Constant(0.0)).with_role(Role::Undecayed),
        ])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let w = self.width();
        Ok(Box::new(AttentionStep {
            spec: self.clone(),
            rates: self.rates().collect(),
            input: weights.take("input")?,
            output: weights.take("output")?,
            bias: weights.take("bias")?,
            of_row: vec![0.0; 3 * w],
            seen: vec![0.0; w],
            shares: vec![0.0; self.context],
        }))
    }
}

#[derive(Debug)]
struct AttentionStep {
    spec: Attention,
    rates: Vec<f64>,
    input: Vec<f32>,
    output: Vec<f32>,
    bias: Vec<f32>,
    /// Query, key and value of a row.
    of_row: Vec<f32>,
    seen: Vec<f32>,
    shares: Vec<f32>,
}

impl Step for AttentionStep {
    /// How many rows there were; the keys and values of the last ones, each in the place of its number modulo `context`.
    fn memory(&self) -> Size {
        Size { wide: 1, narrow: 2 * self.spec.context * self.spec.width() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (w, d, context) = (self.spec.width(), self.spec.head, self.spec.context);
        self.of_row.fill(0.0);
        affine(row.values, &self.input, &mut self.of_row);
        let (turned, value) = self.of_row.split_at_mut(2 * w);
        for head in turned.chunks_exact_mut(d) {
            let (low, high) = head.split_at_mut(d / 2);
            for ((x, y), rate) in low.iter_mut().zip(high).zip(&self.rates) {
                let (sin, cos) = (row.time * rate).sin_cos();
                let (sin, cos) = (sin as f32, cos as f32);
                (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
            }
        }
        let (query, key) = turned.split_at(w);
        let number = memory.wide[0] as usize;
        memory.wide[0] += 1.0;
        let (keys, values) = memory.narrow.split_at_mut(context * w);
        let place = number % context * w;
        keys[place..place + w].copy_from_slice(key);
        values[place..place + w].copy_from_slice(value);
        let rows = context.min(number + 1);
        let scale = 1.0 / (d as f32).sqrt();
        for head in (0..w).step_by(d) {
            let shares = &mut self.shares[..rows];
            for (share, key) in shares.iter_mut().zip(keys.chunks_exact(w)) {
                *share = scale * query[head..head + d].iter().zip(&key[head..]).map(|(q, k)| q * k).sum::<f32>();
            }
            let most = shares.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            shares.iter_mut().for_each(|share| *share = (*share - most).exp());
            let sum: f32 = shares.iter().sum();
            let seen = &mut self.seen[head..head + d];
            seen.fill(0.0);
            for (share, value) in shares.iter().zip(values.chunks_exact(w)) {
                seen.iter_mut().zip(&value[head..]).for_each(|(seen, v)| *seen += share / sum * v);
            }
        }
        out.clear();
        out.extend(self.bias.iter().map(|&c| f64::from(c)));
        for (seen, weights) in self.seen.iter().zip(self.output.chunks_exact(out.len())) {
            out.iter_mut().zip(weights).for_each(|(y, weight)| *y += f64::from(seen * weight));
        }
        Ok(true)
    }
}
