//! What drives a linear CDE, omega, what is added to its state, xi, and where its state begins.
//!
//! ```text
//! h_t = h_0 + ∫ sum_i A^i h_s domega^i_s + ∫ B dxi_s
//! ```
//!
//! Between rows `x_{k-1}` and `x_k`, at times `t_{k-1}` and `t_k`:
//!
//! | `drive` | increment of omega |
//! | --- | --- |
//! | `windows` | the log-signature of window `k`, or what stands for it |
//! | `tokens` | `(1, x_k)`: the state includes token `k` |
//! | `increments` | `x_k - x_{k-1}`, with `time` after `t_k - t_{k-1}` |
//! | `values` | `(t_k - t_{k-1}) x_{k-1}`, with `time` after `t_k - t_{k-1}` |
//! | `time` | `t_k - t_{k-1}` |
//!
//! | `input` | increment of xi |
//! | --- | --- |
//! | `none` | nothing is added |
//! | `path` | that of omega |
//! | `values` | `(t_k - t_{k-1}) x_{k-1}` |
//!
//! S4 is `time` with `values`, IDS4 `values` with `path`. Thesis, sections "SSMs are Linear NCDEs" and "Expressivity of SSMs".

use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::{Init, Row, Values, Weight};
use crate::Error;

/// What drives the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Drive {
    /// Log-ODE windows.
    Windows {},
    /// Rows themselves, with a constant.
    Tokens {},
    /// Differences of rows.
    Increments {
        /// Whether time is a channel more.
        #[serde(default)]
        time: bool,
    },
    /// Rows times the time that passes.
    Values {
        /// Whether time is a channel more.
        #[serde(default)]
        time: bool,
    },
    /// Time alone.
    Time {},
}

/// What is added to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputTerm {
    /// Nothing.
    #[default]
    None,
    /// `B domega`.
    Path,
    /// `B x dt`.
    Values,
}

/// Where the state begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initial {
    /// `h_0 = L (x_0, statics) + c`; the first row does not drive.
    First,
    /// `h_0 = c`.
    Learned,
    /// `h_0 = (1, 0, ..., 0)`, as automata begin; nothing is learned.
    One,
}

impl Initial {
    /// The weights `first` (`L`) and `start` (`c`), from so many numbers to so many states.
    pub(super) fn weights(self, inputs: usize, states: usize, init: Init) -> Vec<Weight> {
        let first = (self == Self::First).then(|| Weight::trained("first", [inputs, states], init.clone()));
        let start = (self != Self::One).then(|| Weight::trained("start", [states], init));
        first.into_iter().chain(start).collect()
    }

    /// `L`, where there is one, and `c`.
    pub(super) fn take(self, weights: &mut Values, states: usize) -> Result<Start, Error> {
        Ok(match self {
            Self::First => Start { map: Some(weights.take("first")?), constant: weights.take("start")? },
            Self::Learned => Start { map: None, constant: weights.take("start")? },
            Self::One => Start { map: None, constant: Self::one(states) },
        })
    }

    /// `(1, 0, ..., 0)`.
    pub fn one(states: usize) -> Vec<f32> {
        (0..states).map(|state| if state == 0 { 1.0 } else { 0.0 }).collect()
    }
}

/// `h_0 = L (x_0, statics) + c`, or `h_0 = c`.
#[derive(Debug)]
pub(super) struct Start {
    map: Option<Vec<f32>>,
    constant: Vec<f32>,
}

impl Start {
    /// Whether the first row sets the state.
    pub(super) fn reads_first_row(&self) -> bool {
        self.map.is_some()
    }

    /// Sets the state to `h_0`, from the numbers of the first row that are read.
    pub(super) fn set(&self, numbers: &[f64], statics: &[f64], state: &mut [f32]) {
        state.copy_from_slice(&self.constant);
        if let Some(map) = &self.map {
            let (of_numbers, of_statics) = map.split_at(numbers.len() * state.len());
            affine(numbers, of_numbers, state);
            affine(statics, of_statics, state);
        }
    }
}

impl Drive {
    /// `d_omega`, for rows of `width` numbers; windows say it themselves.
    pub(super) fn channels(self, width: usize) -> usize {
        match self {
            Self::Windows {} => width,
            Self::Tokens {} => width + 1,
            Self::Increments { time } | Self::Values { time } => width + usize::from(time),
            Self::Time {} => 1,
        }
    }

    /// Whether it needs the row before.
    pub fn looks_back(self) -> bool {
        matches!(self, Self::Increments { .. } | Self::Values { .. } | Self::Time {})
    }

    /// The increment of omega between two rows.
    pub(super) fn increment(self, before: (f64, &[f64]), row: Row<'_>, omega: &mut Vec<f32>) {
        let ((then, last), dt) = (before, row.time - before.0);
        debug_assert!(then.is_finite());
        omega.clear();
        match self {
            Self::Windows {} => omega.extend(row.values.iter().map(|&x| x as f32)),
            Self::Tokens {} => {
                omega.push(1.0);
                omega.extend(row.values.iter().map(|&x| x as f32));
            }
            Self::Increments { time } => {
                omega.extend(time.then_some(dt as f32));
                omega.extend(row.values.iter().zip(last).map(|(x, last)| (x - last) as f32));
            }
            Self::Values { time } => {
                omega.extend(time.then_some(dt as f32));
                omega.extend(last.iter().map(|x| (x * dt) as f32));
            }
            Self::Time {} => omega.push(dt as f32),
        }
    }
}
