//! What a window of the path becomes: the numbers that drive a model over it.
//!
//! ```text
//! a log-signature, scaled: s log S^N,   or   (m, x): an increment and the one before it, see `neural_spec`
//! ```

use ncde_signature::{Memory, Online};

use crate::Error;

/// From knots to the numbers of a window.
#[derive(Debug)]
pub(crate) enum Control {
    /// The log-signature of the path through the knots.
    Log { online: Box<Online<f64>>, scale: f64 },
    /// An increment and the slope before it; windows hold one observation.
    Hermite { width: usize },
}

impl Control {
    /// The memory of a series without knots. For increments: how many knots there were (at most 2), the last time, then slope, `m` and `x`.
    pub(crate) fn fresh(&self) -> Memory<f64> {
        match self {
            Self::Log { online, .. } => online.fresh(),
            Self::Hermite { width } => Memory { last: None, state: vec![0.0; 2 + 3 * width] },
        }
    }

    /// Takes the next knot.
    pub(crate) fn push(&mut self, memory: &mut Memory<f64>, time: f64, knot: &[f64]) -> Result<(), Error> {
        match self {
            Self::Log { online, .. } => {
                online.swap(memory)?;
                let pushed = online.push(knot);
                online.swap(memory)?;
                Ok(pushed?)
            }
            Self::Hermite { width } => {
                let (head, rest) = memory.state.split_at_mut(2);
                if let Some(last) = &memory.last {
                    let (slope, window) = rest.split_at_mut(*width);
                    let (m, x) = window.split_at_mut(*width);
                    let span = time - head[1];
                    for i in 0..*width {
                        x[i] = knot[i] - last[i];
                        m[i] = if head[0] < 2.0 { x[i] } else { slope[i] * span };
                        slope[i] = x[i] / span;
                    }
                }
                head[0] = if memory.last.is_some() { 2.0 } else { 1.0 };
                head[1] = time;
                memory.last = Some(knot.to_vec());
                Ok(())
            }
        }
    }

    /// The numbers of the open window.
    pub(crate) fn value(&mut self, memory: &mut Memory<f64>) -> Result<Vec<f32>, Error> {
        match self {
            Self::Log { online, scale } => {
                online.swap(memory)?;
                let value = online.value();
                online.swap(memory)?;
                Ok(value?.into_iter().map(|x| (x * *scale) as f32).collect())
            }
            Self::Hermite { width } => Ok(memory.state[2 + *width..].iter().map(|&x| x as f32).collect()),
        }
    }

    /// Begins the next window.
    pub(crate) fn restart(&mut self, memory: &mut Memory<f64>) {
        // Increments begin anew by themselves; a log-signature from 0.
        if let Self::Log { .. } = self {
            memory.state.fill(0.0);
        }
    }
}
