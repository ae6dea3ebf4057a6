//! Successive halving: many trials for few steps, the best of them for more.
//!
//! ```text
//! n_0 = n,   n_{k+1} = ceil(n_k / factor),   steps_k = steps / factor^(s - k),   k = 0, ..., s
//! ```
//!
//! `s` is the number of times after which one is left, or fewer where the first rung would have no step. Jamieson and Talwalkar, "Non-stochastic best arm
//! identification and hyperparameter optimization" (2016). A trial that is kept continues from its checkpoint.

use serde::{Deserialize, Serialize};

use crate::Error;

/// A rung: the number of trials and the steps that they are trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// The number of trials.
    pub trials: usize,
    /// The steps of each trial at the end of the rung, counted from its start.
    pub steps: usize,
}

/// The rungs of `trials` trials: each rung keeps one trial in `factor`, and the last one ends at `steps` steps.
///
/// # Errors
/// If there are fewer than two rungs.
pub fn rungs(trials: usize, steps: usize, factor: usize) -> Result<Vec<Rung>, Error> {
    let refused = |help| Err(Error::Rungs { trials, factor, steps, help });
    if factor < 2 {
        return refused("the factor is 2 or more (`--factor 3`)");
    }
    let mut counts = vec![trials];
    while let Some(&last) = counts.last().filter(|&&last| last > 1) {
        counts.push(last.div_ceil(factor));
    }
    // As many as leave a step for the first.
    let most = steps.max(1).ilog(factor) as usize + 1;
    counts.truncate(most);
    if counts.len() < 2 {
        return refused("give more trials (`--trials N`), more steps (`--steps N`), or use `--method random`");
    }
    let last = counts.len() - 1;
    let steps_of = |k: usize| factor.checked_pow((last - k) as u32).map_or(1, |divisor| (steps / divisor).max(1));
    Ok(counts.iter().enumerate().map(|(k, &trials)| Rung { trials, steps: steps_of(k) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(trials: usize, steps: usize, factor: usize) -> Vec<(usize, usize)> {
        rungs(trials, steps, factor).unwrap().iter().map(|rung| (rung.trials, rung.steps)).collect()
    }

    #[test]
    fn each_rung_has_fewer_trials_and_more_steps() {
        assert_eq!(pairs(27, 2700, 3), [(27, 100), (9, 300), (3, 900), (1, 2700)]);
        assert_eq!(pairs(20, 1000, 3), [(20, 37), (7, 111), (3, 333), (1, 1000)]);
        assert_eq!(pairs(8, 64, 4), [(8, 4), (2, 16), (1, 64)]);
        // The last rung has all steps, whatever the first had to leave out.
        assert_eq!(pairs(1000, 9, 3), [(1000, 1), (334, 3), (112, 9)]);
    }

    #[test]
    fn what_cannot_be_halved_is_refused() {
        assert!(rungs(1, 100, 3).is_err());
        assert!(rungs(9, 2, 3).is_err());
        assert!(rungs(9, 100, 1).is_err());
    }
}
