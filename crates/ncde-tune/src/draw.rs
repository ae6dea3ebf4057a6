//! Trials: all points of a grid, or draws from a space.
//!
//! ```text
//! grid:    V_1 x ... x V_n, the last axis fastest
//! random:  of a list each value alike; of a range x = a + u (b - a), or ln x = ln a + u (ln b - ln a), to 3 digits; no trial twice
//! ```
//!
//! Draw `i` is a function of the seed and of the draws before it: more of them leave those as they are.

use std::collections::{BTreeMap, HashSet};

use ncde_runtime::random::Stream;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::Error;
use crate::space::{Axis, Space, Values};

/// The most trials: more are taken for a mistake.
const MAX_TRIALS: usize = 100_000;
/// After this number of repeated draws in a row the space is taken to be exhausted.
const MAX_REPEATED_DRAWS: usize = 1000;

/// One assignment of values to the varied keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trial {
    /// Keys and their values.
    pub set: BTreeMap<String, Value>,
}

impl Trial {
    /// The assignments as they are typed on a command line: `key=value`.
    pub fn assignments(&self) -> Vec<String> {
        self.set.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn with(&self, axis: &Axis, row: &[Value]) -> Self {
        let mut set = self.set.clone();
        set.extend(axis.keys.iter().cloned().zip(row.iter().cloned()));
        Self { set }
    }
}

/// The rows of an axis, if it has an end.
fn rows(axis: &Axis) -> Result<Vec<Vec<Value>>, Error> {
    match &axis.values {
        Values::List(rows) => Ok(rows.clone()),
        Values::Range { points: None, .. } => Err(Error::Endless(axis.keys.join(", "))),
        Values::Range { points: Some(points), .. } => {
            let mut all: Vec<Vec<Value>> = Vec::new();
            for i in 0..*points {
                let row = vec![within(&axis.values, i as f64 / (*points - 1) as f64)];
                if !all.contains(&row) {
                    all.push(row);
                }
            }
            Ok(all)
        }
    }
}

/// The value of a range at a share of the way.
fn within(values: &Values, share: f64) -> Value {
    let Values::Range { from, to, log, whole, .. } = *values else { return Value::Boolean(false) };
    let x = if log { (from.ln() + share * (to.ln() - from.ln())).exp() } else { from + share * (to - from) };
    if whole {
        return Value::Integer(x.round() as i64);
    }
    // Three digits are enough to choose by, and can be read and typed again.
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    Value::Float(rounded.clamp(from, to))
}

/// All trials of a grid.
///
/// # Errors
/// If an axis is a range without a number of points, or there are too many.
pub fn grid(space: &Space) -> Result<Vec<Trial>, Error> {
    let mut trials = vec![Trial { set: BTreeMap::new() }];
    for axis in &space.axes {
        let rows = rows(axis)?;
        if trials.len().saturating_mul(rows.len()) > MAX_TRIALS {
            return Err(Error::TooMany { most: MAX_TRIALS });
        }
        trials = trials.iter().flat_map(|trial| rows.iter().map(|row| trial.with(axis, row))).collect();
    }
    Ok(trials)
}

/// `count` random trials, or all of the space if it has fewer.
///
/// # Errors
/// If there are too many.
pub fn random(space: &Space, count: usize, seed: u64) -> Result<Vec<Trial>, Error> {
    if count > MAX_TRIALS {
        return Err(Error::TooMany { most: MAX_TRIALS });
    }
    // A grid is taken in random order: the last of its trials would be drawn for ever.
    if let Ok(all) = grid(space) {
        return Ok(Stream::new(seed, 0).permutation(all.len()).into_iter().take(count).map(|i| all[i].clone()).collect());
    }
    let (mut trials, mut seen) = (Vec::new(), HashSet::new());
    let (mut draw, mut idle) = (0, 0);
    while trials.len() < count && idle < MAX_REPEATED_DRAWS {
        let stream = Stream::new(seed, 1).child(draw);
        let trial = space.axes.iter().enumerate().fold(Trial { set: BTreeMap::new() }, |trial, (i, axis)| {
            let share = stream.uniform(i as u64);
            match &axis.values {
                Values::List(rows) => trial.with(axis, &rows[((share * rows.len() as f64) as usize).min(rows.len() - 1)]),
                Values::Range { .. } => trial.with(axis, &[within(&axis.values, share)]),
            }
        });
        draw += 1;
        if seen.insert(trial.assignments()) {
            idle = 0;
            trials.push(trial);
        } else {
            idle += 1;
        }
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(axes: &[&str]) -> Space {
        let mut space = Space::default();
        axes.iter().for_each(|text| space.vary(text).unwrap());
        space
    }

    #[test]
    fn a_grid_has_every_combination_once() {
        let trials = grid(&space(&["a=1,2,3", "b,c=1:x,2:y", "d=true,false"])).unwrap();
        assert_eq!(trials.len(), 12);
        assert_eq!(trials[0].assignments(), ["a=1", "b=1", "c=\"x\"", "d=true"]);
        assert_eq!(trials[1].assignments(), ["a=1", "b=1", "c=\"x\"", "d=false"]);
        assert_eq!(trials[11].assignments(), ["a=3", "b=2", "c=\"y\"", "d=false"]);
        assert!(trials.iter().enumerate().all(|(i, trial)| !trials[..i].contains(trial)));
        // Keys that are tied together never come apart.
        assert!(trials.iter().all(|trial| (trial.set["b"] == Value::Integer(1)) == (trial.set["c"] == Value::from("x"))));
    }

    #[test]
    fn a_range_has_points_for_a_grid_if_it_says_how_many() {
        assert_eq!(grid(&space(&["rate=1e-5..1e-2"])), Err(Error::Endless("rate".into())));
        let file =
            "[vary]\nrate = { from = 1e-5, to = 1e-2, log = true, points = 4 }\nhidden = { from = 1, to = 3, points = 9 }\n";
        let trials = grid(&Space::from_toml(file).unwrap()).unwrap();
        let rates: Vec<f64> = trials.iter().take(4).filter_map(|trial| trial.set["rate"].as_float()).collect();
        assert_eq!(trials.len(), 3 * 4, "whole numbers are there once each");
        assert_eq!(rates, [1e-5, 1e-4, 1e-3, 1e-2]);
        let ten = |i: usize| format!("a{i}=1,2,3,4,5,6,7,8,9,10");
        let many: Vec<String> = (0..6).map(ten).collect();
        let many = space(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(grid(&many), Err(Error::TooMany { most: MAX_TRIALS }));
        assert_eq!(random(&many, 30, 0).unwrap().len(), 30);
    }

    #[test]
    fn draws_are_the_same_again_and_more_of_them_go_on() {
        let space = space(&["rate=log:1e-6..1e-1", "hidden=8..64", "structure=block,dense,diagonal"]);
        let few = random(&space, 20, 7).unwrap();
        assert_eq!(few, random(&space, 50, 7).unwrap()[..20]);
        assert_ne!(few, random(&space, 20, 8).unwrap());
        let all = random(&space, 600, 0).unwrap();
        assert!(all.iter().enumerate().all(|(i, trial)| !all[..i].contains(trial)));
        // Half of the logarithms lie in the lower half, every whole number is between the ends, every name is drawn about alike.
        let low = all.iter().filter(|trial| trial.set["rate"].as_float().unwrap() < 10_f64.powf(-3.5)).count();
        assert!((250..350).contains(&low), "{low}");
        assert!(all.iter().all(|trial| (8..=64).contains(&trial.set["hidden"].as_integer().unwrap())));
        let block = all.iter().filter(|trial| trial.set["structure"] == Value::from("block")).count();
        assert!((150..250).contains(&block), "{block}");
    }

    #[test]
    fn a_space_that_is_used_up_ends() {
        let small = space(&["a=1,2,3", "b=1,2"]);
        let (few, all) = (random(&small, 4, 0).unwrap(), random(&small, 100, 0).unwrap());
        assert_eq!((all.len(), &all[..4]), (6, &few[..]));
        let range = space(&["a=1..3", "b=1,2"]);
        assert_eq!(random(&range, 100, 0).unwrap().len(), 6);
    }
}
