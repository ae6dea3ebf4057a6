//! From which probability on a class is predicted: chosen on predictions of cases that were not learned from.
//!
//! ```text
//! f1:    2 TP / (2 TP + FP + FN) is largest          cost:    FP + miss_cost FN is smallest
//! ```

use ncde_data::{Dataset, Targets};
use ncde_runtime::Threshold;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::TrainConfig;
use crate::score::{Labelled, PredictedRange};
use crate::settings::{positive, refuse};

/// How a threshold is found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub enum ThresholdBy {
    /// The F1 score of the class is largest.
    F1,
    /// False alarms, and cases of the class that are missed, cost least.
    Cost,
    /// It is this probability.
    At(f64),
}

/// A threshold in a configuration.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Number(f64),
    Word(String),
}

impl TryFrom<Text> for ThresholdBy {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let wanted = "it is `f1`, `cost` or a probability between 0 and 1";
        match text {
            Text::Number(at) if (0.0..=1.0).contains(&at) => Ok(Self::At(at)),
            Text::Number(at) => Err(format!("a threshold at {at}; {wanted}")),
            Text::Word(word) if word == "f1" => Ok(Self::F1),
            Text::Word(word) if word == "cost" => Ok(Self::Cost),
            Text::Word(word) => Err(format!("a threshold by `{word}`; {wanted}")),
        }
    }
}

impl From<ThresholdBy> for Text {
    fn from(by: ThresholdBy) -> Self {
        match by {
            ThresholdBy::F1 => Self::Word("f1".into()),
            ThresholdBy::Cost => Self::Word("cost".into()),
            ThresholdBy::At(at) => Self::Number(at),
        }
    }
}

/// A threshold that is asked for: of which class, and how it is found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    class: usize,
    name: String,
    by: ThresholdBy,
    /// What a missed case of the class costs, in false alarms.
    miss_cost: f64,
}

impl Wanted {
    /// From the configuration, whose keys are decided: the rarest class, and costs that make all classes count the same.
    pub(crate) fn of(train: &mut TrainConfig, targets: &Targets) -> Result<Option<Self>, Error> {
        let Some(by) = train.threshold else {
            let alone = [("train.positive", train.positive.is_some()), ("train.miss_cost", train.miss_cost.is_some())];
            return match alone.into_iter().find(|(_, is_set)| *is_set) {
                Some((key, _)) => refuse(key, "set without a threshold; say how one is chosen (`--set threshold=f1`, or `cost`)"),
                None => Ok(None),
            };
        };
        if by != ThresholdBy::Cost && train.miss_cost.is_some() {
            return refuse("train.miss_cost", "set, but the threshold is not chosen by cost; say `--set threshold=cost`");
        }
        let (names, counts) = match targets {
            Targets::Classes { names, of } => (names, counted(names.len(), of.iter().copied())),
            Targets::ClassSteps { names, of } => (names, counted(names.len(), of.iter().flatten().flatten().copied())),
            _ => return refuse("train.threshold", "set, but numbers are predicted, not classes; leave it out"),
        };
        let rarest = (0..names.len()).filter(|&class| counts[class] > 0).min_by_key(|&class| counts[class]).unwrap_or(0);
        let name = train.positive.get_or_insert_with(|| names[rarest].clone()).clone();
        let Some(class) = names.iter().position(|known| *known == name) else {
            return refuse("train.positive", format!("`{name}`, which is no class; there are {}", names.join(", ")));
        };
        let mut miss_cost = 1.0;
        if by == ThresholdBy::Cost {
            let others = counts.iter().sum::<usize>() - counts[class];
            let even = (others as f64 / counts[class].max(1) as f64).max(f64::MIN_POSITIVE);
            miss_cost = positive("train.miss_cost", *train.miss_cost.get_or_insert(even))?;
        }
        Ok(Some(Self { class, name, by, miss_cost }))
    }

    /// The threshold, if it is a number that needs no predictions.
    pub(crate) fn known(&self) -> Option<Threshold> {
        if let ThresholdBy::At(at) = self.by { Some(self.at(at)) } else { None }
    }

    fn at(&self, at: f64) -> Threshold {
        Threshold { class: self.name.clone(), at }
    }

    /// The best threshold for predictions of classes at some observations.
    pub(crate) fn best_of(&self, data: &Dataset, ranges: &[PredictedRange]) -> Result<Threshold, Error> {
        let labelled = Labelled::of(data, ranges);
        self.best(&labelled.probabilities, data.targets.classes().len(), &labelled.truth)
    }

    /// The best threshold for probabilities `[cases, classes]` of cases of these true classes; halfway between two probabilities.
    pub(crate) fn best(&self, probabilities: &[f64], classes: usize, truth: &[usize]) -> Result<Threshold, Error> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let own = probabilities.iter().skip(self.class).step_by(classes.max(1)).copied();
        let mut cases: Vec<(f64, bool)> = own.zip(truth.iter().map(|class| *class == self.class)).collect();
        let all = cases.iter().filter(|(_, is_own)| *is_own).count() as f64;
        if all == 0.0 {
            return Err(Error::Unfit(format!(
                "no case of `{}` is held back to choose a threshold on; validate on more (`--set validation=0.3`), or give a number \
                 (`--set threshold=0.3`)",
                self.name
            )));
        }
        cases.sort_by(|a, b| b.0.total_cmp(&a.0));
        let value = |found: f64, taken: f64| match self.by {
            ThresholdBy::Cost => -((taken - found) + self.miss_cost * (all - found)),
            _ => 2.0 * found / (taken + all),
        };
        // Nothing is taken; then all cases from the likeliest on, those with the same probability together.
        let (mut best, mut found, mut taken) = ((value(0.0, 0.0), 1.0), 0.0, 0.0);
        for (i, &(p, is_own)) in cases.iter().enumerate() {
            taken += 1.0;
            found += f64::from(u8::from(is_own));
            let next = cases.get(i + 1).map_or(0.0, |next| next.0);
            if (p > next || i + 1 == cases.len()) && value(found, taken) > best.0 {
                best = (value(found, taken), f64::midpoint(p, next));
            }
        }
        Ok(self.at(best.1))
    }
}

fn counted(classes: usize, of: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = vec![0; classes];
    of.for_each(|class| counts[class] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(by: ThresholdBy, miss_cost: f64) -> Wanted {
        Wanted { class: 1, name: "fraud".into(), by, miss_cost }
    }

    #[test]
    fn thresholds_lie_where_the_class_is_told_apart_best() {
        let p = [0.05, 0.1, 0.1, 0.2, 0.3, 0.4];
        let rows: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let truth = [0, 0, 0, 1, 0, 1];
        let at = |by, miss_cost| wanted(by, miss_cost).best(&rows, 2, &truth).unwrap().at;
        // Both are found with one false alarm, 4/5; the likeliest alone is 2/3.
        assert!((at(ThresholdBy::F1, 1.0) - 0.15).abs() < 1e-12);
        assert!((at(ThresholdBy::Cost, 10.0) - 0.15).abs() < 1e-12);
        assert!((at(ThresholdBy::Cost, 0.5) - 0.35).abs() < 1e-12);
        assert_eq!(at(ThresholdBy::At(0.7), 1.0), 0.7);
        let message = wanted(ThresholdBy::F1, 1.0).best(&rows, 2, &[0; 6]).unwrap_err().to_string();
        assert!(message.contains("no case of `fraud` is held back"), "{message}");
    }
}
