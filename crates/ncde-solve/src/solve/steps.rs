//! The choice of step sizes: given, divided over the domain, or from an error estimate.

use serde::{Deserialize, Serialize};

use crate::Error;

/// More steps than this come from a slip in units.
const MAX_STEPS: f64 = 1e9;

/// The choice of step sizes. No step crosses a knot of the control or a requested time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Steps {
    /// Equal steps from stop to stop, as few as are no longer than this.
    AtMost(f64),
    /// So many steps over the whole domain: each stretch between two stops gets its share, rounded, and at least one.
    Shared(usize),
    /// Steps that keep the estimated error at a tolerance.
    Adaptive(Adaptive),
}

/// Tolerances of adaptive steps: an error of `absolute + relative |h|` a step, as a root mean square over the state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// The relative tolerance.
    pub relative: f64,
    /// The absolute tolerance.
    pub absolute: f64,
    /// The first step; found from the field if not given.
    pub first: Option<f64>,
    /// The most steps, accepted and rejected.
    pub most: usize,
}

impl Default for Adaptive {
    /// `relative` 1e-5, `absolute` 1e-7, at most 65,536 steps.
    fn default() -> Self {
        Self { relative: 1e-5, absolute: 1e-7, first: None, most: 65_536 }
    }
}

impl Steps {
    /// The thesis's number of steps, `max{500, 1 + length / step}`, for a series of `length` observations in windows of `step`.
    ///
    /// ```
    /// use ncde_solve::solve::Steps;
    /// assert_eq!(Steps::thesis(896, 16), Steps::Shared(500));
    /// assert_eq!(Steps::thesis(17_984, 12), Steps::Shared(1499));
    /// ```
    pub fn thesis(length: usize, step: usize) -> Self {
        Self::Shared((1 + length / step.max(1)).max(500))
    }

    /// Adaptive steps with a relative and an absolute tolerance.
    pub fn adaptive(relative: f64, absolute: f64) -> Self {
        Self::Adaptive(Adaptive { relative, absolute, ..Adaptive::default() })
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let positive = |what: &'static str, x: f64| {
            let problem = || Error::BadParameter { what, wanted: "positive and finite", seen: x.to_string() };
            if x > 0.0 && x.is_finite() { Ok(()) } else { Err(problem()) }
        };
        match self {
            Self::AtMost(step) => positive("the size of a step", *step),
            Self::Shared(0) => Err(Error::BadParameter { what: "the number of steps", wanted: "1 or more", seen: "0".into() }),
            Self::Shared(_) => Ok(()),
            Self::Adaptive(adaptive) => {
                positive("the relative tolerance", adaptive.relative)?;
                positive("the absolute tolerance", adaptive.absolute)?;
                adaptive.first.map_or(Ok(()), |first| positive("the first step", first))
            }
        }
    }

    /// The number of equal steps in a stretch of a domain; steps that adapt have no such number.
    pub(super) fn count(&self, stretch: f64, domain: f64) -> Result<Option<usize>, Error> {
        let count = match self {
            // A remainder of a billionth is rounding, not another step.
            Self::AtMost(step) => (stretch / step - 1e-9).ceil(),
            Self::Shared(count) => (stretch / domain * *count as f64).round(),
            Self::Adaptive(_) => return Ok(None),
        };
        if count > MAX_STEPS {
            return Err(Error::BadParameter {
                what: "the number of steps from one stop to the next",
                wanted: "at most a billion (are the units of the step those of the times?)",
                seen: format!("{count:.1e}"),
            });
        }
        Ok(Some(count.max(1.0) as usize))
    }
}
