//! From labels as they stand in a file to targets: classes or numbers?
//!
//! Text means classes, and so does a file that announces its classes; numbers that are not all whole mean regression. Of whole
//! numbers [`is_quantity`] decides. A [`TaskName`] overrides all of this.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Location, listed, shown};
use crate::text::marks::Marks;
use crate::text::number::{self, Cell};
use crate::text::unit;
use crate::vocabulary::Seen;
use crate::{Error, Targets, Warning};

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TaskName {
    /// Labels are names of classes, even if they are numbers.
    Classification,
    /// Labels are numbers.
    Regression,
    /// Later values of the channels: labels are not read.
    Forecast,
}

/// Up to so many different integers are classes if each has many labels, or if they count classes.
const FEW_CLASSES: usize = 20;
/// More different integers than this are a quantity. Published sets of labelled series have up to 60 classes.
const MAX_CLASSES: usize = 60;
/// Different integers are classes if each has so many labels in the mean.
const MANY_LABELS: usize = 10;
/// So many labels of the middle class make integers that count up classes: of few, and of many, where nobody could tell.
const MIN_LABELS: [usize; 2] = [2, 5];

/// Whether numbers are a quantity (regression) and not names of classes.
///
/// | labels | taken for |
/// | --- | --- |
/// | some are fractions | a quantity |
/// | 1 or 2 different, or up to 20 with 10 labels each in the mean | classes |
/// | all integers from -1, 0 or 1 up to some number, at most 20 of them, with 2 labels or more (the median) | classes |
/// | the same, 21 to 60 of them, with 5 labels or more, where labels of observations mostly stay as they are | classes |
/// | any other integers: ages, counts, scores, lives that are left | a quantity |
///
/// `changing` is the share of observations whose label differs from the one before; 0 of labels of whole series.
fn is_quantity(mut labels: Vec<f64>, changing: f64) -> bool {
    if labels.iter().any(|x| x.fract() != 0.0) {
        return true;
    }
    labels.sort_by(f64::total_cmp);
    let mut counts: Vec<usize> = labels.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    counts.sort_unstable();
    let (different, middle) = (counts.len(), counts.get(counts.len() / 2).copied().unwrap_or(0));
    if different <= (labels.len() / MANY_LABELS).clamp(2, FEW_CLASSES) {
        return false;
    }
    let (Some(&first), Some(&last)) = (labels.first(), labels.last()) else { return false };
    let counts_classes = (-1.0..=1.0).contains(&first) && last - first + 1.0 == different as f64;
    if different <= FEW_CLASSES {
        !counts_classes || middle < MIN_LABELS[0]
    } else {
        !counts_classes || different > MAX_CLASSES || middle < MIN_LABELS[1] || changing > 0.5
    }
}

/// Which series have no label where others have one: they are left out.
pub(crate) struct Unlabelled {
    is_labelled: Vec<bool>,
    /// Says how many are left out.
    pub(crate) warning: Warning,
}

impl Unlabelled {
    /// `None` if all series have a label, or none has.
    pub(crate) fn of(labels: &[Label]) -> Option<Self> {
        let is_labelled: Vec<bool> = labels.iter().map(|label| *label != Label::Missing).collect();
        let (all, count) = (labels.len(), is_labelled.iter().filter(|is_labelled| !**is_labelled).count());
        let (has, is) = if count == 1 { ("has", "is") } else { ("have", "are") };
        let seen = format!("{count} of {all} series {has} no label, and {is} left out");
        let warning = Warning::new(seen, "label them, or predict them with a model");
        (0 < count && count < all).then_some(Self { is_labelled, warning })
    }

    /// Keeps the items of series that have a label.
    pub(crate) fn leave_out<T>(&self, items: &mut Vec<T>) {
        let mut is_labelled = self.is_labelled.iter();
        items.retain(|_| is_labelled.next().copied().unwrap_or(false));
    }
}

/// A label as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Label {
    Missing,
    Number(f64),
    /// Its number in [`Labels::texts`].
    Text(usize),
}

/// Labels as they are collected.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) name: String,
    texts: Seen,
    /// The classes in the order in which the file announces them.
    announced: Option<Vec<String>>,
    /// The marks in numbers, and their unit.
    marks: Option<Marks>,
    unit: String,
}

impl Labels {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Labels whose numbers have these marks and this unit.
    pub(crate) fn with_marks(self, marks: Marks, unit: &str) -> Self {
        Self { marks: Some(marks), unit: unit.into(), ..self }
    }

    /// Labels of which the file says beforehand what they may be.
    pub(crate) fn announced(name: &str, classes: Vec<String>) -> Self {
        Self { name: name.into(), announced: Some(classes), ..Self::default() }
    }

    /// Reads a label.
    pub(crate) fn label(&mut self, text: &[u8], at: impl FnOnce() -> Location) -> Result<Label, Error> {
        match unit::cell(self.marks.unwrap_or(Marks::PLAIN), &self.unit, text) {
            // Among texts `none` is a class.
            Cell::Missing if (self.marks.is_some() || number::is_missing(text)) && !self.announces(text) => Ok(Label::Missing),
            // Zero has one class, however it is signed.
            Cell::Number(x) => Ok(Label::Number(x + 0.0)),
            Cell::Missing | Cell::Other => {
                let text = str::from_utf8(text).map_err(|_| Error::NotUtf8 { at: at() })?.trim();
                Ok(Label::Text(self.texts.number(text)))
            }
        }
    }

    /// A class may be called `NA` if the file says so.
    fn announces(&self, text: &[u8]) -> bool {
        let same = |class: &String| class.as_bytes() == text.trim_ascii();
        self.announced.as_ref().is_some_and(|classes| classes.iter().any(same))
    }

    /// The targets of cases; `place` says where the label of a case stands.
    pub(crate) fn of_cases(
        &self,
        labels: &[Label],
        task: Option<TaskName>,
        id: impl Fn(usize) -> String,
        place: impl Fn(usize) -> Location,
    ) -> Result<Targets, Error> {
        if labels.iter().all(|label| *label == Label::Missing) {
            return Ok(Targets::None);
        }
        if let Some(i) = labels.iter().position(|label| *label == Label::Missing) {
            return Err(Error::NoLabel { at: place(i), case: id(i) });
        }
        let single: Vec<&[Label]> = labels.chunks(1).collect();
        Ok(match self.of_steps(&single, task, id, |i, _| place(i))? {
            Targets::ClassSteps { names, of } => Targets::Classes { names, of: of.into_iter().flatten().flatten().collect() },
            Targets::ValueSteps { name, of } => Targets::Values { name, of: of.concat() },
            other => other,
        })
    }

    /// The targets of observations; `place` says where the label of an observation of a case stands.
    pub(crate) fn of_steps(
        &self,
        labels: &[&[Label]],
        task: Option<TaskName>,
        id: impl Fn(usize) -> String,
        place: impl Fn(usize, usize) -> Location,
    ) -> Result<Targets, Error> {
        let all: Vec<Label> = labels.iter().flat_map(|labels| labels.iter().copied()).filter(|l| *l != Label::Missing).collect();
        if all.is_empty() {
            return Ok(Targets::None);
        }
        let pairs = || labels.iter().flat_map(|labels| labels.windows(2)).filter(|pair| !pair.contains(&Label::Missing));
        let changing = pairs().filter(|pair| pair[0] != pair[1]).count() as f64 / pairs().count().max(1) as f64;
        if let Some(names) = self.classes(&all, task, changing) {
            let lookup = Lookup::new(&names);
            let of = each(labels, |i, t, label| self.class(label, &lookup, || place(i, t), || id(i)))?;
            return Ok(Targets::ClassSteps { of, names });
        }
        let of = each(labels, |i, t, label| self.value(label, || place(i, t)))?;
        Ok(Targets::ValueSteps { name: self.name.clone(), of })
    }

    /// The classes that these labels are of; `None` if they are numbers.
    fn classes(&self, labels: &[Label], task: Option<TaskName>, changing: f64) -> Option<Vec<String>> {
        let mut numbers: Vec<f64> =
            labels.iter().filter_map(|label| if let Label::Number(x) = label { Some(*x) } else { None }).collect();
        let is_numeric = numbers.len() == labels.len();
        match (task, &self.announced) {
            (Some(TaskName::Regression), _) => None,
            (_, Some(classes)) if !classes.is_empty() => Some(classes.clone()),
            (None, None) if is_numeric && is_quantity(numbers.clone(), changing) => None,
            _ => {
                numbers.sort_by(f64::total_cmp);
                numbers.dedup();
                let mut names: Vec<String> = numbers.iter().map(f64::to_string).collect();
                if !is_numeric {
                    names.extend_from_slice(self.texts.texts());
                    names.sort();
                }
                Some(names)
            }
        }
    }

    fn class(
        &self,
        label: Label,
        lookup: &Lookup<'_>,
        at: impl Fn() -> Location,
        id: impl Fn() -> String,
    ) -> Result<Option<usize>, Error> {
        let (class, seen) = match label {
            Label::Number(x) => (lookup.number(x), x.to_string()),
            Label::Text(i) => (lookup.name(self.texts.text(i)), self.texts.text(i).into()),
            Label::Missing => return Ok(None),
        };
        let unknown = || Error::UnknownClass { at: at(), seen: shown(seen), case: id(), known: listed(lookup.names) };
        class.map(Some).ok_or_else(unknown)
    }

    fn value(&self, label: Label, at: impl Fn() -> Location) -> Result<f64, Error> {
        match label {
            Label::Number(x) => Ok(x),
            Label::Missing => Ok(f64::NAN),
            Label::Text(i) => {
                Err(Error::NotANumber { at: at(), seen: shown(self.texts.text(i)), fix: "regression needs numbers as labels" })
            }
        }
    }
}

/// Each label of each case.
fn each<T>(labels: &[&[Label]], of: impl Fn(usize, usize, Label) -> Result<T, Error>) -> Result<Vec<Vec<T>>, Error> {
    let case = |(i, labels): (usize, &&[Label])| labels.iter().enumerate().map(|(t, label)| of(i, t, *label)).collect();
    labels.iter().enumerate().map(case).collect()
}

/// Classes by name, or by number: `1` and `1.0` are the same class.
pub(crate) struct Lookup<'a> {
    names: &'a [String],
    by_name: HashMap<&'a str, usize>,
    by_number: HashMap<u64, usize>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(names: &'a [String]) -> Self {
        let number = |name: &str| number::cell(name.as_bytes()).number().map(|x| (x + 0.0).to_bits());
        Self {
            names,
            by_name: names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect(),
            by_number: names.iter().enumerate().filter_map(|(i, name)| Some((number(name)?, i))).collect(),
        }
    }

    pub(crate) fn name(&self, name: &str) -> Option<usize> {
        let as_number = || number::cell(name.as_bytes()).number().and_then(|x| self.number(x));
        self.by_name.get(name).copied().or_else(as_number)
    }

    pub(crate) fn number(&self, x: f64) -> Option<usize> {
        self.by_number.get(&(x + 0.0).to_bits()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::at_line;

    fn targets(texts: &[&str], task: Option<TaskName>) -> Result<Targets, Error> {
        let mut labels = Labels::new("y");
        let place = |i: usize| at_line("test", i as u64 + 1);
        let read: Vec<Label> = texts.iter().map(|text| labels.label(text.as_bytes(), || place(0)).unwrap()).collect();
        labels.of_cases(&read, task, |i| i.to_string(), place)
    }

    fn classes(names: &[&str], of: &[usize]) -> Targets {
        Targets::Classes { names: names.iter().map(|&name| name.into()).collect(), of: of.into() }
    }

    fn values(of: &[f64]) -> Targets {
        Targets::Values { name: "y".into(), of: of.into() }
    }

    #[test]
    fn text_and_few_integers_are_classes() {
        assert_eq!(targets(&["b", "a", "b"], None).unwrap(), classes(&["a", "b"], &[1, 0, 1]));
        assert_eq!(targets(&["10", "9", "9.0"], None).unwrap(), classes(&["9", "10"], &[1, 0, 0]));
        assert_eq!(targets(&["0", "x", "-0"], None).unwrap(), classes(&["0", "x"], &[0, 1, 0]));
        assert_eq!(targets(&["1", "1"], None).unwrap(), classes(&["1"], &[0, 0]));
    }

    #[test]
    fn other_numbers_are_quantities() {
        assert_eq!(targets(&["1", "2.5"], None).unwrap(), values(&[1.0, 2.5]));
        let many: Vec<String> = (0..21).map(|i| i.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(targets(&many, None).unwrap(), Targets::Values { .. }));
        assert!(matches!(targets(&many[..20], None).unwrap(), Targets::Values { .. }));
    }

    /// Labels, so many of each.
    fn of_each(values: impl IntoIterator<Item = i32>, each: usize) -> Vec<f64> {
        values.into_iter().flat_map(|x| vec![f64::from(x); each]).collect()
    }

    #[test]
    fn integers_are_classes_or_a_quantity() {
        // As they are in published sets: 2 to 60 classes from 0 or 1 on, and -1 and 1.
        let published =
            [(of_each(1..=60, 5), "Faces"), (of_each(0..=51, 6), "Pig"), (of_each(1..=20, 2), "Few"), (of_each(1..=7, 2), "7")];
        for (labels, name) in published {
            assert!(!is_quantity(labels, 0.0), "{name}");
        }
        for few in [vec![-1.0, 1.0], vec![0.0], vec![3.0, 900.0], of_each([-1, 0, 1], 2), of_each([5, 10, 20, 40], 10)] {
            assert!(!is_quantity(few.clone(), 0.0), "{few:?}");
        }
        // Lives that are left, ages, scores, counts.
        let quantities = [
            (of_each(0..=77, 9), "life"),
            (of_each(18..=70, 9), "age"),
            (of_each((0..=50).map(|x| 2 * x), 20), "score"),
            (of_each(0..=40, 4), "rare"),
            (of_each(0..=15, 1), "count"),
            (of_each([2, 4, 6, 8, 11], 5), "five"),
        ];
        for (labels, name) in quantities {
            assert!(is_quantity(labels, 0.0), "{name}");
        }
        // A label that counts down with every observation is none of a class.
        assert!(is_quantity(of_each(0..=40, 20), 1.0) && !is_quantity(of_each(0..=40, 20), 0.01));
    }

    #[test]
    fn labels_of_observations_follow_the_same_rule() {
        let labels = Labels::new("rul");
        let label = |x: i32| Label::Number(f64::from(x));
        let series: Vec<Vec<Label>> = (0..20).map(|_| (0..=40).rev().map(label).collect()).collect();
        let series: Vec<&[Label]> = series.iter().map(Vec::as_slice).collect();
        let place = |_: usize, _: usize| at_line("test", 1);
        let found = labels.of_steps(&series, None, |i| i.to_string(), place).unwrap();
        assert!(matches!(found, Targets::ValueSteps { .. }), "{found:?}");
    }

    #[test]
    fn a_task_decides() {
        assert_eq!(targets(&["2.5", "1"], Some(TaskName::Classification)).unwrap(), classes(&["1", "2.5"], &[1, 0]));
        assert_eq!(targets(&["2", "1"], Some(TaskName::Regression)).unwrap(), values(&[2.0, 1.0]));
        let error = targets(&["2", "x"], Some(TaskName::Regression)).unwrap_err().to_string();
        assert_eq!(error, "`test`, line 2: `x` is not a number; regression needs numbers as labels");
    }

    #[test]
    fn labels_are_all_there_or_none_is() {
        assert_eq!(targets(&["?", ""], None).unwrap(), Targets::None);
        let error = targets(&["a", "NaN"], None).unwrap_err().to_string();
        assert_eq!(error, "`test`, line 2: case `1` has no label, but others have one; label it or remove it");
    }

    #[test]
    fn announced_classes_keep_their_order() {
        let mut labels = Labels::announced("y", vec!["2.0".into(), "1.0".into(), "NA".into()]);
        let place = |_: usize| at_line("test", 1);
        let read = ["1", "2.0", "NA"].map(|text| labels.label(text.as_bytes(), || place(0)).unwrap());
        let found = labels.of_cases(&read, None, |i| i.to_string(), place).unwrap();
        assert_eq!(found, classes(&["2.0", "1.0", "NA"], &[1, 0, 2]));
    }
}
