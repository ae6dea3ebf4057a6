//! Inputs that are known ahead, such as holidays and prices: what they do to a target is taken away before it is smoothed, and put back where they are known.
//!
//! ```text
//! e(u) = sum_i theta_i (u_i - m_i),     a missing u_i counts as m_i
//! smoothed: y_t e^{-e(u_t)} and g_k e^{e(u_{t+k})} of a channel whose logarithm is followed,     y_t - e(u_t) and g_k + e(u_{t+k}) of another
//! ```

use serde::{Deserialize, Serialize};

/// An effect multiplies with no more than the exponential of this.
const MAX_EXPONENT: f64 = 20.0;

/// Channels that are known ahead, with their effects on the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Which channels.
    pub channels: Vec<usize>,
    /// Their means `m` on the training part.
    pub means: Vec<f64>,
    /// For each target `theta`, one of each channel.
    pub effects: Vec<Vec<f64>>,
}

impl Known {
    /// `e(u)` for a target; what is beyond the end of `inputs` is missing.
    fn effect(&self, target: usize, inputs: impl Iterator<Item = f64>) -> f64 {
        let effects = self.effects.get(target).into_iter().flatten().zip(&self.means);
        effects.zip(inputs).map(|((theta, mean), u)| if u.is_nan() { 0.0 } else { theta * (u - mean) }).sum()
    }

    /// A value without the effect of the inputs at its time, which are among all `channels` there.
    pub(crate) fn without(&self, log: bool, target: usize, y: f64, channels: &[f64]) -> f64 {
        let effect = self.effect(target, self.channels.iter().map(|&c| channels.get(c).copied().unwrap_or(f64::NAN)));
        let rest = if log { y * (-effect).clamp(-MAX_EXPONENT, MAX_EXPONENT).exp() } else { y - effect };
        if rest.is_finite() { rest } else { f64::NAN }
    }

    /// A forecast and its width with the effect of the inputs at its time.
    pub(crate) fn with(&self, log: bool, target: usize, [value, width]: [f64; 2], inputs: &[f64]) -> [f64; 2] {
        let effect = self.effect(target, inputs.iter().copied());
        if log {
            let factor = effect.clamp(-MAX_EXPONENT, MAX_EXPONENT).exp();
            return [value * factor, width * factor];
        }
        [value + effect, width]
    }

    /// What makes no sense, for so many channels and these targets.
    pub(crate) fn problem(&self, channels: usize, targets: &[usize]) -> Option<String> {
        let Self { channels: known, means, effects } = self;
        if known.is_empty() || known.iter().any(|c| *c >= channels) || known.windows(2).any(|w| w[0] >= w[1]) {
            return Some(format!("the known channels {known:?}; they are some of the {channels}, in their order"));
        }
        if let Some(both) = known.iter().find(|c| targets.contains(c)) {
            return Some(format!("channel {both} as known and as a target; it is one of the two"));
        }
        if means.len() != known.len() || effects.len() != targets.len() || effects.iter().any(|own| own.len() != known.len()) {
            return Some(format!(
                "means or effects of known channels that are not {} for each of {}",
                known.len(),
                targets.len()
            ));
        }
        let number = means.iter().chain(effects.iter().flatten()).find(|x| !x.is_finite())?;
        Some(format!("an effect or a mean of a known channel that is {number}"))
    }
}
