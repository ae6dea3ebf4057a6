//! All runs of a search: each trial with each seed and each fold, by a name that is also that of its directory.
//!
//! ```text
//! 007-seed-1-fold-2 = trial 7 of those that are listed, seed 1, fold 2 tested on
//! ```

use serde::{Deserialize, Serialize};

use crate::draw::Trial;
use crate::{Error, Rung};

/// The method of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All trials of a grid.
    Grid,
    /// Random trials.
    Random,
    /// A grid or random trials, most of which end early.
    Halving,
}

impl Method {
    /// All methods with their names.
    pub const ALL: &[(&str, Self)] = &[("grid", Self::Grid), ("random", Self::Random), ("halving", Self::Halving)];

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("grid", |(name, _)| name)
    }
}

/// A search: all settings that determine its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The version of this format.
    pub format: u32,
    /// How trials were found.
    pub method: Method,
    /// The metric of the validation part that decides.
    pub metric: String,
    /// The device of the runs, as on the command line.
    pub device: String,
    /// The trials, each run with all seeds and folds.
    pub trials: Vec<Trial>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The number of folds of a cross-validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// The rungs of successive halving; empty for the other methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The index of its trial.
    pub trial: usize,
    /// Its seed.
    pub seed: u64,
    /// The fold it tests on.
    pub fold: Option<usize>,
}

impl Sweep {
    /// The version of the format.
    pub const FORMAT: u32 = 1;

    /// The runs of a trial.
    pub fn runs_of(&self, trial: usize) -> impl Iterator<Item = Run> + '_ {
        let folds = move || self.folds.map_or(vec![None], |folds| (0..folds).map(Some).collect());
        self.seeds.iter().flat_map(move |&seed| folds().into_iter().map(move |fold| Run { trial, seed, fold }))
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        (0..self.trials.len()).flat_map(|trial| self.runs_of(trial))
    }

    /// The name of a run; trials count from 1.
    pub fn name(run: Run) -> String {
        let fold = run.fold.map_or(String::new(), |fold| format!("-fold-{fold}"));
        format!("{:03}-seed-{}{fold}", run.trial + 1, run.seed)
    }

    /// The run with a name.
    pub fn find(&self, name: &str) -> Option<Run> {
        self.runs().find(|&run| Self::name(run) == name)
    }

    /// Checks that the search `begun` may continue as this one: trials and seeds may be added, but nothing changed.
    ///
    /// # Errors
    /// If anything else differs, with its name.
    pub fn goes_on(&self, begun: &Self) -> Result<(), Error> {
        let differs = |was: String, is: String| Err(Error::Differs { was, is });
        let settings = [
            ("format", begun.format.to_string(), self.format.to_string()),
            ("method", begun.method.name().into(), self.method.name().into()),
            ("metric", begun.metric.clone(), self.metric.clone()),
            ("folds", format!("{:?}", begun.folds), format!("{:?}", self.folds)),
        ];
        if let Some((what, was, is)) = settings.into_iter().find(|(_, was, is)| was != is) {
            return differs(format!("{what} {was}"), is);
        }
        if begun.rungs != self.rungs {
            return differs(format!("rungs of {}", steps(&begun.rungs)), format!("rungs of {}", steps(&self.rungs)));
        }
        if let Some(i) = (0..begun.trials.len()).find(|&i| begun.trials.get(i) != self.trials.get(i)) {
            let now = self.trials.get(i).map_or("none".into(), |trial| trial.assignments().join(" "));
            return differs(format!("`{}` as trial {}", begun.trials[i].assignments().join(" "), i + 1), format!("`{now}`"));
        }
        if let Some(seed) = begun.seeds.iter().find(|seed| !self.seeds.contains(seed)) {
            return differs(format!("seed {seed}"), format!("{:?}", self.seeds));
        }
        Ok(())
    }
}

fn steps(rungs: &[Rung]) -> String {
    let all: Vec<String> = rungs.iter().map(|rung| format!("{} x {}", rung.trials, rung.steps)).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") + " steps" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Space, grid};

    fn sweep(rates: &str, seeds: &[u64]) -> Sweep {
        let mut space = Space::default();
        space.vary(&format!("train.rate={rates}")).unwrap();
        Sweep {
            format: Sweep::FORMAT,
            method: Method::Grid,
            metric: "loss".into(),
            device: "cpu".into(),
            trials: grid(&space).unwrap(),
            seeds: seeds.to_vec(),
            folds: None,
            rungs: Vec::new(),
        }
    }

    #[test]
    fn every_run_has_a_name_of_its_own() {
        let sweep = Sweep { folds: Some(3), ..sweep("1,2,3,4", &[7, 0]) };
        let names: Vec<String> = sweep.runs().map(Sweep::name).collect();
        assert_eq!((names.len(), names[0].as_str(), names[23].as_str()), (24, "001-seed-7-fold-0", "004-seed-0-fold-2"));
        assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name)));
        assert!(sweep.runs().all(|run| sweep.find(&Sweep::name(run)) == Some(run)));
        assert_eq!(sweep.find("005-seed-0-fold-0"), None);
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let sweep = Sweep { rungs: vec![Rung { trials: 4, steps: 10 }], ..sweep("1e-5,0.5,3", &[1]) };
        let text = serde_json::to_string(&sweep).unwrap();
        assert!(text.contains("{\"train.rate\":0.5}"), "{text}");
        assert_eq!(serde_json::from_str::<Sweep>(&text).unwrap(), sweep);
    }

    #[test]
    fn trials_and_seeds_may_be_added_and_nothing_changed() {
        let begun = sweep("1,2", &[0]);
        assert_eq!(begun.goes_on(&begun), Ok(()));
        assert_eq!(sweep("1,2,3", &[0, 1]).goes_on(&begun), Ok(()));
        let told = |now: Sweep| now.goes_on(&begun).unwrap_err().to_string();
        assert!(told(sweep("1", &[0])).contains("`train.rate=2` as trial 2, but now there is `none`"));
        assert!(told(sweep("2,1", &[0])).contains("`train.rate=1` as trial 1, but now there is `train.rate=2`"));
        assert!(told(sweep("1,2", &[1])).contains("seed 0"));
        assert!(told(Sweep { metric: "auroc".into(), ..sweep("1,2", &[0]) }).contains("metric loss"));
    }
}
