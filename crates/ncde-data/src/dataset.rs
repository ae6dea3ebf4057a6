//! A set of series with their targets: what every reader makes and every later stage takes.
//!
//! Case `k` has observations `(t_i, x_i)`, `t_0 < t_1 < ...`, `x_i` in `R^channels`, where any entry may be missing
//! (NaN). Lengths may differ between cases. `statics` are numbers of the case as a whole, such as an age.

use serde::{Deserialize, Serialize};

use crate::{Error, Schema};

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

/// What is to be predicted: `of` has the target of each case, `names` are the classes, and `name` is what a number is called.
#[expect(missing_docs, reason = "the fields are described above and at the variants")]
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Nothing: the file has no labels.
    None,
    /// A class for each case, an index into `names`.
    Classes { names: Vec<String>, of: Vec<usize> },
    /// A number for each case.
    Values { name: String, of: Vec<f64> },
    /// A class at each observation, an index into `names`, or `None` where there is no label.
    ClassSteps { names: Vec<String>, of: Vec<Vec<Option<usize>>> },
    /// A number at each observation, NaN where there is no label.
    ValueSteps { name: String, of: Vec<Vec<f64>> },
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
    /// What each case belongs to, if that is known: cases of one group are alike, so that what is said of new cases must not be judged by others of their group.
    pub groups: Option<Vec<String>>,
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

    /// The group of each case as a number, from 0 in the order in which they come; `None` if groups are not known.
    pub fn group_numbers(&self) -> Option<Vec<usize>> {
        let mut numbers = std::collections::HashMap::new();
        let groups = self.groups.as_ref()?.iter();
        Some(
            groups
                .map(|group| {
                    let next = numbers.len();
                    *numbers.entry(group).or_insert(next)
                })
                .collect(),
        )
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
    ///     groups: None,
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
            groups: self.groups.as_ref().map(|groups| indices.iter().map(|&i| groups[i].clone()).collect()),
        }
    }
}

/// What is wrong with a dataset that was made by hand.
///
/// `what` is `values`, `static covariates` or `targets`; `seen` is what is there. Observations, places and classes are counted
/// from 0, and `observation` is `None` where a target is of the whole case.
#[expect(missing_docs, reason = "the fields are described once, above")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// A case has more or fewer numbers than it should.
    #[error("{seen} {what}, wanted {wanted}")]
    Length { what: &'static str, seen: usize, wanted: usize },
    /// A time that is not finite, or not after the one before it.
    #[error("observation {observation} has the time {seen}, {}", .before.map_or("wanted a finite one".into(), |t| format!("which is not a finite time after {t}")))]
    Time { observation: usize, seen: f64, before: Option<f64> },
    /// A value, static covariate or target that is infinite.
    #[error("number {place} of its {what} is infinite; a missing one is NaN")]
    Infinite { what: &'static str, place: usize },
    /// The number to be predicted of a whole case is not finite.
    #[error("its target is {seen}, wanted a finite number")]
    Target { seen: f64 },
    /// A class that has no name.
    #[error("class {seen}{}, but there are {classes} classes, counted from 0", .observation.map_or_else(String::new, |i| format!(" at observation {i}")))]
    Class { observation: Option<usize>, seen: usize, classes: usize },
    /// A value that is no number of a token.
    #[error("observation {observation} is {seen}, wanted the number of a token, a whole one below {tokens}")]
    Token { observation: usize, seen: f64, tokens: usize },
}

impl Dataset {
    /// Whether all parts fit together: what a dataset that was made by hand, and not read from a file, has to hold before anything is trained on it.
    ///
    /// Every case has at least one observation, increasing finite times, a value for each time and channel, as many static covariates as there are names, a target
    /// (of targets at each observation, one for each), and classes that have names. Numbers are finite, or NaN where they are missing; the target of a whole case is there.
    ///
    /// ```
    /// use ncde_data::{Case, Clock, Dataset, Targets};
    /// let mut data = Dataset {
    ///     name: "one".into(),
    ///     channels: vec!["x".into(), "y".into()],
    ///     statics: vec![],
    ///     times: Clock::Numbers,
    ///     cases: vec![Case { id: "a".into(), times: vec![0.0, 0.5], values: vec![1.0, 2.0, f64::NAN, 4.0], statics: vec![] }],
    ///     targets: Targets::Values { name: "z".into(), of: vec![10.0] },
    ///     vocabulary: None,
    ///     groups: None,
    /// };
    /// data.check()?;
    /// data.cases[0].values.pop();
    /// assert_eq!(data.check().unwrap_err().to_string(), "case `a` of `one`: 3 values, wanted 4");
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] with the case and its [`Flaw`], or [`Error::TargetCount`].
    pub fn check(&self) -> Result<(), Error> {
        let targets = match &self.targets {
            Targets::None => self.cases.len(),
            Targets::Classes { of, .. } => of.len(),
            Targets::Values { of, .. } => of.len(),
            Targets::ClassSteps { of, .. } => of.len(),
            Targets::ValueSteps { of, .. } => of.len(),
        };
        if targets != self.cases.len() {
            return Err(Error::TargetCount { name: self.name.clone(), seen: targets, wanted: self.cases.len() });
        }
        if let Some(groups) = self.groups.as_ref().filter(|groups| groups.len() != self.cases.len()) {
            return Err(Error::GroupCount { name: self.name.clone(), seen: groups.len(), wanted: self.cases.len() });
        }
        for (i, case) in self.cases.iter().enumerate() {
            if let Some(flaw) = self.flaw_of_case(case).or_else(|| self.targets.flaw(i, case.len())) {
                return Err(Error::Malformed { name: self.name.clone(), case: case.id.clone(), flaw });
            }
        }
        Ok(())
    }

    fn flaw_of_case(&self, case: &Case) -> Option<Flaw> {
        let lengths = [
            ("observations", case.len(), case.len().max(1)),
            ("values", case.values.len(), case.len().saturating_mul(self.channels.len())),
            ("static covariates", case.statics.len(), self.statics.len()),
        ];
        if let Some((what, seen, wanted)) = lengths.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            return Some(Flaw::Length { what, seen, wanted });
        }
        let mut before = None;
        for (observation, &seen) in case.times.iter().enumerate() {
            if !seen.is_finite() || before.is_some_and(|before| seen <= before) {
                return Some(Flaw::Time { observation, seen, before });
            }
            before = Some(seen);
        }
        let tokens = self.vocabulary.as_ref().map(Vec::len);
        let is_token = |x: f64, tokens: usize| x >= 0.0 && x.fract() == 0.0 && x < tokens as f64;
        if let Some(tokens) = tokens
            && let Some(place) = case.values.iter().position(|&x| !is_token(x, tokens))
        {
            let observation = place / self.channels.len().max(1);
            return Some(Flaw::Token { observation, seen: case.values[place], tokens });
        }
        infinite("values", &case.values).or_else(|| infinite("static covariates", &case.statics))
    }
}

/// The first number of a list that is infinite.
fn infinite(what: &'static str, numbers: &[f64]) -> Option<Flaw> {
    numbers.iter().position(|x| x.is_infinite()).map(|place| Flaw::Infinite { what, place })
}

impl Targets {
    /// What is wrong with the target of a case of so many observations.
    fn flaw(&self, case: usize, length: usize) -> Option<Flaw> {
        let steps = |seen: usize| (seen != length).then_some(Flaw::Length { what: "targets", seen, wanted: length });
        match self {
            Self::None => None,
            Self::Classes { names, of } => {
                let (seen, classes) = (of[case], names.len());
                (seen >= classes).then_some(Flaw::Class { observation: None, seen, classes })
            }
            Self::Values { of, .. } => (!of[case].is_finite()).then_some(Flaw::Target { seen: of[case] }),
            Self::ClassSteps { names, of } => steps(of[case].len()).or_else(|| {
                let classes = names.len();
                let (i, seen) =
                    of[case].iter().enumerate().find_map(|(i, class)| class.filter(|c| *c >= classes).map(|c| (i, c)))?;
                Some(Flaw::Class { observation: Some(i), seen, classes })
            }),
            Self::ValueSteps { of, .. } => steps(of[case].len()).or_else(|| infinite("targets", &of[case])),
        }
    }
}

/// Names for channels of files that have none: `channel_1`, `channel_2`, ...
pub(crate) fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("channel_{i}")).collect()
}
