//! What a model may ask for: weights, memory and work, all counted before anything is computed.
//!
//! | what | all layers together |
//! | --- | --- |
//! | weights | twice those in the file, and 2^20; without a file 2^28 |
//! | memory: tables, states of a series, rows between layers | 2^30 bytes |
//! | work for one row | 2^33 multiplications |
//!
//! A layer says what it needs by [`demand`](crate::layer::Layer::demand) and [`cost`](crate::layer::Layer::cost).

use crate::Error;
use crate::layer::Cost;

/// A few weights too many are told by name and shape, when they are looked for in the file.
const MIN_WEIGHTS: usize = 1 << 20;

/// The most weights of a model without a file: 1 GiB.
const MAX_WEIGHTS: usize = 1 << 28;

/// The most bytes of tables, states and rows.
const MAX_BYTES: usize = 1 << 30;

/// The most multiplications for one row: about two seconds of one core.
const MAX_WORK: usize = 1 << 33;

/// What is left for further layers.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    weights: usize,
    bytes: usize,
    work: usize,
    /// How many weights a file holds, if they are in one.
    in_file: Option<usize>,
}

impl Budget {
    /// Of a model without a file.
    pub(crate) fn without_file() -> Self {
        Self { weights: MAX_WEIGHTS, bytes: MAX_BYTES, work: MAX_WORK, in_file: None }
    }

    /// Of a model whose file has so many weights.
    pub(crate) fn in_file(weights: usize) -> Self {
        let most = weights.saturating_mul(2).max(MIN_WEIGHTS);
        Self { weights: most, in_file: Some(weights), ..Self::without_file() }
    }

    /// Takes what a layer needs, if there is as much.
    pub(crate) fn take(&mut self, weights: usize, cost: Cost) -> Result<(), Error> {
        let work = cost.work.saturating_add(weights);
        let requests = [
            (&mut self.weights, weights, MAX_WEIGHTS, "weights"),
            (&mut self.bytes, cost.bytes, MAX_BYTES, "bytes of memory"),
            (&mut self.work, work, MAX_WORK, "multiplications for a row"),
        ];
        for (i, (left, requested, most, what)) in requests.into_iter().enumerate() {
            let Some(rest) = left.checked_sub(requested) else {
                let requested = match requested {
                    usize::MAX => format!("more {what} than can be counted"),
                    count => format!("{count} {what}"),
                };
                let allowed = match self.in_file.filter(|_| i == 0) {
                    Some(all) => {
                        format!("`{}` holds {all} in all: the files of the model do not belong together", crate::WEIGHTS)
                    }
                    None => format!("a model has at most {most}, and {left} are left for this layer"),
                };
                return Err(Error::TooLarge { layer: String::new(), requested, allowed });
            };
            *left = rest;
        }
        Ok(())
    }
}
