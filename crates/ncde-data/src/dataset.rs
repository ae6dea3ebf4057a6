//! A set of series with their targets: what every reader makes and every later stage takes.
//!
//! Case `k` has observations `(t_i, x_i)`, `t_0 < t_1 < ...`, `x_i` in `R^channels`, where any entry may be missing
//! (NaN). Lengths may differ between cases. `statics` are numbers of the case as a whole, such as an age.

use serde::{Deserialize, Serialize};

use crate::Schema;

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name, unique in a file.
    pub id: String,
    /// When each observation was made, strictly increasing.
    pub times: Vec<f64>,
    /// `[length, channels]`, row by row; NaN where a value is missing.
    pub values: Vec<f64>,
    /// A number for each static covariate; NaN where it is missing.
    pub statics: Vec<f64>,
}

impl Case {
    /// The number of observations.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no observations. Readers make no such case.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Observation `i` of a series of so many channels.
    ///
    /// ```
    /// use ncde_data::Case;
    /// let case = Case { id: "a".into(), times: vec![0.0, 1.0], values: vec![1.0, 2.0, 3.0, 4.0], statics: vec![] };
    /// assert_eq!(case.row(1, 2), [3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no observation `i`.
    pub fn row(&self, i: usize, channels: usize) -> &[f64] {
        &self.values[i * channels..(i + 1) * channels]
    }
}

/// Where the times of a dataset came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The file has none: observations are counted 0, 1, 2, ...
    Index,
    /// Numbers in the file, in its own unit.
    Numbers,
    /// Dates in the file (ISO 8601), as seconds since 1970-01-01T00:00:00Z.
    Dates,
}

/// What is to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Nothing: the file has no labels.
    None,
    /// A class for each case.
    Classes {
        /// The classes.
        names: Vec<String>,
        /// The class of each case, an index into `names`.
        of: Vec<usize>,
    },
    /// A number for each case.
    Values {
        /// What the number is called.
        name: String,
        /// The number of each case.
        of: Vec<f64>,
    },
    /// A class at each observation.
    ClassSteps {
        /// The classes.
        names: Vec<String>,
        /// For each case and observation an index into `names`, or `None` where there is no label.
        of: Vec<Vec<Option<usize>>>,
    },
    /// A number at each observation.
    ValueSteps {
        /// What the number is called.
        name: String,
        /// For each case and observation a number, NaN where there is no label.
        of: Vec<Vec<f64>>,
    },
}

impl Targets {
    /// The names of the classes; none if numbers are to be predicted, or nothing.
    pub fn classes(&self) -> &[String] {
        match self {
            Self::Classes { names, .. } | Self::ClassSteps { names, .. } => names,
            Self::None | Self::Values { .. } | Self::ValueSteps { .. } => &[],
        }
    }

    /// The targets of some cases, in this order.
    fn subset(&self, indices: &[usize]) -> Self {
        fn pick<T: Clone>(of: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&i| of[i].clone()).collect()
        }
        match self {
            Self::None => Self::None,
            Self::Classes { names, of } => Self::Classes { names: names.clone(), of: pick(of, indices) },
            Self::Values { name, of } => Self::Values { name: name.clone(), of: pick(of, indices) },
            Self::ClassSteps { names, of } => Self::ClassSteps { names: names.clone(), of: pick(of, indices) },
            Self::ValueSteps { name, of } => Self::ValueSteps { name: name.clone(), of: pick(of, indices) },
        }
    }
}

/// A set of series with their targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// What it is called: `@problemName`, `@relation`, or the name of the file.
    pub name: String,
    /// The names of the channels.
    pub channels: Vec<String>,
    /// The names of the static covariates.
    pub statics: Vec<String>,
    /// Where times came from.
    pub times: Clock,
    /// The series.
    pub cases: Vec<Case>,
    /// What is to be predicted.
    pub targets: Targets,
    /// The tokens, if series are of tokens: then there is one channel, and its values are numbers `0, 1, ...` of entries here.
    pub vocabulary: Option<Vec<String>>,
}

impl Dataset {
    /// The names, in order.
    pub fn schema(&self) -> Schema {
        Schema {
            channels: self.channels.clone(),
            statics: self.statics.clone(),
            classes: self.targets.classes().to_vec(),
            vocabulary: self.vocabulary.clone(),
            table: None,
        }
    }

    /// Some of the cases, in this order, with their targets. Class names are kept, even of classes that no case has.
    ///
    /// ```
    /// use ncde_data::{Case, Clock, Dataset, Targets};
    /// let case = |id: &str, x| Case { id: id.into(), times: vec![0.0], values: vec![x], statics: vec![] };
    /// let all = Dataset {
    ///     name: "two".into(),
    ///     channels: vec!["x".into()],
    ///     statics: vec![],
    ///     times: Clock::Index,
    ///     cases: vec![case("a", 1.0), case("b", 2.0)],
    ///     targets: Targets::Values { name: "y".into(), of: vec![10.0, 20.0] },
    ///     vocabulary: None,
    /// };
    /// let one = all.subset(&[1]);
    /// assert_eq!(one.cases[0].values, [2.0]);
    /// assert_eq!(one.targets, Targets::Values { name: "y".into(), of: vec![20.0] });
    /// ```
    ///
    /// # Panics
    ///
    /// If an index is not below the number of cases.
    pub fn subset(&self, indices: &[usize]) -> Self {
        Self {
            name: self.name.clone(),
            channels: self.channels.clone(),
            statics: self.statics.clone(),
            times: self.times,
            cases: indices.iter().map(|&i| self.cases[i].clone()).collect(),
            targets: self.targets.subset(indices),
            vocabulary: self.vocabulary.clone(),
        }
    }
}

/// Names for channels of files that have none: `channel_1`, `channel_2`, ...
pub(crate) fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("channel_{i}")).collect()
}
