//! From probabilities to a class, where one class counts more than its share: it is predicted from a probability on, even if another is likelier.
//!
//! ```text
//! class = c  if  p_c >= at,     else the largest of the others
//! ```

use serde::{Deserialize, Serialize};

/// From which probability on a class is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// The name of the class.
    pub class: String,
    /// The probability, from 0 to 1.
    pub at: f64,
}

impl Threshold {
    /// The class that is predicted, by its index in `classes`. Of the others the one with the largest score counts, the first of several.
    ///
    /// ```
    /// use ncde_runtime::Threshold;
    /// let classes = ["calm".to_owned(), "alarm".to_owned()];
    /// let threshold = Threshold { class: "alarm".into(), at: 0.2 };
    /// assert_eq!(threshold.class_of(&classes, &[0.7, 0.3], &[0.7, 0.3]), 1);
    /// assert_eq!(threshold.class_of(&classes, &[0.9, 0.1], &[0.9, 0.1]), 0);
    /// ```
    pub fn class_of(&self, classes: &[String], probabilities: &[f64], scores: &[f64]) -> usize {
        let own = classes.iter().position(|class| *class == self.class);
        match own.filter(|&own| probabilities.get(own).is_some_and(|&p| p >= self.at)) {
            Some(own) => own,
            None => largest(scores.iter().enumerate().filter(|(i, _)| Some(*i) != own)),
        }
    }

    /// What is wrong with it for these classes.
    pub(crate) fn problem(&self, classes: &[String]) -> Option<String> {
        if !classes.contains(&self.class) {
            return Some(format!("a threshold of `{}`, which is no class", self.class));
        }
        (!(0.0..=1.0).contains(&self.at)).then(|| format!("a threshold at {}; it is a probability", self.at))
    }
}

/// The index of the largest score, the first of several.
pub(crate) fn largest<'a>(scores: impl Iterator<Item = (usize, &'a f64)>) -> usize {
    let best = scores.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(0, |(i, _)| i)
}
