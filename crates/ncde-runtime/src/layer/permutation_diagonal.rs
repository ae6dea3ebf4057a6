//! States that a row sends to each other, and that decay and turn on the way: the eighth structure.
//!
//! ```text
//! h_k = P(x_k) D(x_k) h_{k-1} + B x_k   by columns,   D(x_k) P(x_k) h_{k-1} + B x_k   by rows
//! P = hardmax(sum_i s_i M_i) by columns or rows,   s = softmax(S x),   D = exp(lambda dt),   lambda = ln sigmoid(L x + l) + 2 pi i sigmoid(R x + r)
//! ```
//!
//! `P` has one 1 in each column: it sends state `j` to state `p(j)`; or one in each row: state `i` comes from state `p(i)`. A product of two such matrices times diagonals is another, so the recurrence runs as a scan, at `O(H)` a step; and with `D`
//! near 1 it follows any finite automaton of `H` states. Published as PD-SSM (Terzic et al., 2025; columns in its text, rows in its code), where `D` comes from a network with one hidden layer; here from an affine map.
//! The choice is straight through: hard in both forms, with the derivative of `softmax(sharpness sum_i s_i M_i)` in training. Where a line has its largest number does not depend on the sharpness, so predictions
//! do not: the sharper, the fewer entries share in a gradient, and the further a step moves them. See [`ncde_kernels::permutation`].
//!
//! It is a layer of its own, and no structure of `linear-cde`: there matrices are linear in the increments of a path, and flows `exp(Omega)`. A choice is not linear, and no flow
//! reaches a `P` that merges two states or has determinant -1. In continuous time it is an impulsive equation: with `time` the states
//! flow by `dh = lambda h dt` between observations (`lambda` that of the observation which ends the gap), and jump by `h <- P h + B x` at each. Without `time` every row counts as one unit.
//!
//! One row out for each row in: the state after it, of complex ones the real parts and then the imaginary parts.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `select` (`S`) | `[numbers of x, K]` | normal, of deviation `scores / sqrt(numbers of x)` |
//! | `dictionary` (`M`) | `[K, H, H]`: matrix, column, row; or matrix, row, column | normal, of deviation `1 / sqrt(H)` |
//! | `rate` (`L`, then `R`; not with `one`) | `[numbers of x, H or 2H]` | uniform on `±1 / sqrt(numbers of x)` |
//! | `rate_bias` (`l`, then `r`) | `[H or 2H]` | the logit of `keep`, then of phases on all of the circle |
//! | `b` (with `input`) | `[numbers of x, H or 2H]` | uniform on `±1 / sqrt(numbers of x)` |
//! | `first` (`initial = "first"`) | `[numbers of x_0 and statics, H or 2H]` | uniform on `±1 / sqrt(inputs)` |
//! | `start` (not with `one`) | `[H or 2H]` | as `first`; standard normal where there is none |

use ncde_kernels::permutation::{Diagonal, OneHot, PermutationDiagonal as Kernel, Stream};
use serde::{Deserialize, Serialize};

use super::drive::Start;
use super::linear::affine;
use super::signal::{at_least_one, positive, product, refuse};
use super::state_memory::{narrow, widen};
use super::{Init, Initial, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A recurrence of matrices that are one-hot by columns or rows, and a diagonal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermutationDiagonal {
    /// `H`.
    pub hidden: usize,
    /// `K`: how many matrices the dictionary has.
    pub matrices: usize,
    /// `D`: complex, real, or 1.
    #[serde(default)]
    pub diagonal: Diagonal,
    /// Which lines of `P` have one entry each.
    #[serde(default)]
    pub one_hot: OneHot,
    /// Whether `B x` is added to the state.
    #[serde(default)]
    pub input: bool,
    /// Where the state begins.
    pub initial: Initial,
    /// Whether states decay and turn with the time between rows.
    #[serde(default)]
    pub time: bool,
    /// How large scores are at first.
    #[serde(default = "four")]
    pub scores: f64,
    /// The modulus of `D` at first.
    #[serde(default = "nearly")]
    pub keep: f64,
    /// What mixed matrices are multiplied with before the soft-max through which choices are learned.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub sharpness: f64,
}

const fn four() -> f64 {
    4.0
}

const fn nearly() -> f64 {
    0.99
}

const fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(sharpness: &f64) -> bool {
    *sharpness == 1.0
}

impl PermutationDiagonal {
    /// One-hot by columns, with a real diagonal, from a learned state to which nothing is added.
    pub const fn new(hidden: usize, matrices: usize) -> Self {
        let (diagonal, one_hot, initial) = (Diagonal::Real, OneHot::Columns, Initial::Learned);
        let (scores, keep, sharpness) = (four(), nearly(), one());
        Self { hidden, matrices, diagonal, one_hot, input: false, initial, time: false, scores, keep, sharpness }
    }

    /// What is computed, for rows of as many numbers as these have.
    ///
    /// # Errors
    /// If the settings make no sense, or rows are tokens.
    pub fn prepare(&self, input: &Signal) -> Result<Kernel, Error> {
        input.sequence("permutation-diagonal")?;
        at_least_one(&[("hidden", self.hidden), ("matrices", self.matrices)])?;
        positive(&[("scores", self.scores), ("sharpness", self.sharpness)])?;
        if !(self.keep > 0.0 && self.keep < 1.0) {
            return refuse("keep", format!("{}; it is a modulus between 0 and 1", self.keep));
        }
        let &Self { hidden, matrices, diagonal, one_hot, input, .. } = self;
        Ok(Kernel { one_hot, input, ..Kernel::new(hidden, matrices, diagonal) })
    }

    /// The numbers of a state.
    pub fn width(&self) -> usize {
        self.diagonal.numbers().parts() * self.hidden
    }
}

impl Layer for PermutationDiagonal {
    fn describe(&self) -> String {
        format!("{} states that each row sends to each other, by one of {} mixed choices", self.hidden, self.matrices)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        self.prepare(input)?;
        Ok(input.with_width(self.width()))
    }

    fn demand(&self, input: &Signal) -> usize {
        let rows = product(&[input.width(), self.matrices.saturating_add(self.hidden)]);
        product(&[self.matrices, self.hidden, self.hidden]).saturating_add(rows)
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (width, hidden, states) = (input.sequence("permutation-diagonal")?, self.hidden, self.width());
        let raw = self.diagonal.raw(hidden);
        let root = |x: usize| (x as f64).sqrt();
        let mut all = vec![
            Weight::trained("select", [width, self.matrices], Init::Normal(self.scores / root(width))),
            Weight::trained("dictionary", [self.matrices, hidden, hidden], Init::Normal(1.0 / root(hidden))),
        ];
        if raw > 0 {
            let logit = |share: f64| (share / (1.0 - share)).ln();
            let phases = (0..raw - hidden).map(|j| (hidden + j, logit((j as f64 + 0.5) / hidden as f64))).collect();
            let bias = Init::Pieces(vec![(hidden, Init::Constant(logit(self.keep))), (raw - hidden, Init::Constant(0.0))]);
            all.push(Weight::trained("rate", [width, raw], Init::linear(width)));
            all.push(Weight::trained("rate_bias", [raw], Init::Moved(Box::new(bias), phases)).with_role(Role::Undecayed));
        }
        if self.input {
            all.push(Weight::trained("b", [width, states], Init::linear(width)));
        }
        let inputs = width + input.statics;
        let init = if self.initial == Initial::First { Init::linear(inputs) } else { Init::Normal(1.0) };
        all.extend(self.initial.weights(inputs, states, init));
        Ok(all)
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let kernel = self.prepare(input)?;
        let raw = self.diagonal.raw(self.hidden) > 0;
        let select = weights.take("select")?;
        let rate = raw.then(|| weights.take("rate")).transpose()?;
        let rate_bias = raw.then(|| weights.take("rate_bias")).transpose()?;
        let b = self.input.then(|| weights.take("b")).transpose()?;
        Ok(Box::new(PermutationStep {
            stream: Stream::new(kernel, &weights.take("dictionary")?)?,
            maps: [Some(select), rate, b],
            rate_bias: rate_bias.unwrap_or_default(),
            matrices: self.matrices,
            start: self.initial.take(weights, self.width())?,
            time: self.time,
            width: input.width(),
            state: vec![0.0; self.width()],
            control: vec![0.0; kernel.columns()],
        }))
    }
}

/// The layer with its weights.
#[derive(Debug)]
struct PermutationStep {
    stream: Stream<f32>,
    /// From a row to the scores, the numbers of the diagonal and the input.
    maps: [Option<Vec<f32>>; 3],
    rate_bias: Vec<f32>,
    matrices: usize,
    start: Start,
    time: bool,
    width: usize,
    state: Vec<f32>,
    control: Vec<f32>,
}

impl Step for PermutationStep {
    /// Whether there was a row and its time; the state.
    fn memory(&self) -> Size {
        Size::wide(2 + self.state.len())
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (head, state) = memory.wide.split_at_mut(2);
        let begins = head[0] == 0.0;
        if begins {
            self.start.set(row.values, row.statics, &mut self.state);
        } else {
            narrow(state, &mut self.state);
        }
        if !(begins && self.start.reads_first_row()) {
            self.control.fill(0.0);
            self.control[self.matrices..][..self.rate_bias.len()].copy_from_slice(&self.rate_bias);
            let mut rest = &mut self.control[..];
            for map in self.maps.iter().flatten() {
                let (part, after) = rest.split_at_mut(map.len() / self.width);
                affine(row.values, map, part);
                rest = after;
            }
            // No time has passed before the first row.
            let dt = match (self.time, begins) {
                (false, _) => 1.0,
                (true, true) => 0.0,
                (true, false) => row.time - head[1],
            };
            self.stream.push(&mut self.state, &self.control, dt)?;
        }
        (head[0], head[1]) = (1.0, row.time);
        widen(&self.state, state);
        out.clear();
        out.extend_from_slice(state);
        Ok(true)
    }
}
