//! From labels as they stand in a file to targets: classes or numbers?
//!
//! Text means classes. Numbers that are not all integers mean regression. Integers mean classes, unless they are many: more
//! than 20 different ones that make up more than half of the labels. A [`Task`] overrides this.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Place, listed, shown};
use crate::text::marks::Marks;
use crate::text::number::{self, Cell};
use crate::{Error, Targets};

/// What is to be learnt from labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Labels are names of classes, even if they are numbers.
    Classification,
    /// Labels are numbers.
    Regression,
}

/// More different integers than this may be a quantity.
const MAX_CLASSES: usize = 20;

/// A label as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Label {
    Missing,
    Number(f64),
    /// An index into [`Labels::texts`].
    Text(usize),
}

/// Labels as they are collected.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) name: String,
    texts: Vec<String>,
    index: HashMap<String, usize>,
    /// The classes in the order in which the file announces them.
    announced: Option<Vec<String>>,
    /// The marks in numbers.
    marks: Option<Marks>,
}

/// What the labels of a file turned out to be.
enum Kind {
    Classes(Vec<String>),
    Numbers,
}

impl Labels {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Labels whose numbers have these marks.
    pub(crate) fn with_marks(self, marks: Marks) -> Self {
        Self { marks: Some(marks), ..self }
    }

    /// Labels of which the file says beforehand what they may be.
    pub(crate) fn announced(name: &str, classes: Vec<String>) -> Self {
        Self { name: name.into(), announced: Some(classes), ..Self::default() }
    }

    /// Reads a label.
    pub(crate) fn label(&mut self, text: &[u8], at: impl FnOnce() -> Box<Place>) -> Result<Label, Error> {
        match self.marks.unwrap_or(Marks::PLAIN).cell(text) {
            Cell::Missing if !self.announces(text) => Ok(Label::Missing),
            // Zero has one class, however it is signed.
            Cell::Number(x) => Ok(Label::Number(x + 0.0)),
            Cell::Missing | Cell::Other => {
                let text = str::from_utf8(text).map_err(|_| Error::NotUtf8 { at: at() })?.trim();
                Ok(Label::Text(self.intern(text)))
            }
        }
    }

    /// A class may be called `NA` if the file says so.
    fn announces(&self, text: &[u8]) -> bool {
        let same = |class: &String| class.as_bytes() == text.trim_ascii();
        self.announced.as_ref().is_some_and(|classes| classes.iter().any(same))
    }

    fn intern(&mut self, text: &str) -> usize {
        if let Some(&index) = self.index.get(text) {
            return index;
        }
        self.texts.push(text.into());
        self.index.insert(text.into(), self.texts.len() - 1);
        self.texts.len() - 1
    }

    /// The targets of cases; `place` says where the label of a case stands.
    pub(crate) fn of_cases(
        &self,
        labels: &[Label],
        task: Option<Task>,
        id: impl Fn(usize) -> String,
        place: impl Fn(usize) -> Box<Place>,
    ) -> Result<Targets, Error> {
        if labels.iter().all(|label| *label == Label::Missing) {
            return Ok(Targets::None);
        }
        if let Some(i) = labels.iter().position(|label| *label == Label::Missing) {
            return Err(Error::NoLabel { at: place(i), case: id(i) });
        }
        match self.kind(labels, task) {
            Kind::Classes(names) => {
                let lookup = Lookup::new(&names);
                let class = |(i, label): (usize, &Label)| self.class(*label, &lookup, || place(i), || id(i));
                let of = labels.iter().enumerate().map(class).collect::<Result<_, _>>()?;
                Ok(Targets::Classes { names, of })
            }
            Kind::Numbers => {
                let value = |(i, label): (usize, &Label)| self.value(*label, || place(i));
                let of = labels.iter().enumerate().map(value).collect::<Result<_, _>>()?;
                Ok(Targets::Values { name: self.name.clone(), of })
            }
        }
    }

    /// The targets of observations; `place` says where the label of an observation of a case stands.
    pub(crate) fn of_steps(
        &self,
        labels: &[&[Label]],
        task: Option<Task>,
        id: impl Fn(usize) -> String,
        place: impl Fn(usize, usize) -> Box<Place>,
    ) -> Result<Targets, Error> {
        let all: Vec<Label> = labels.iter().flat_map(|labels| labels.iter().copied()).filter(|l| *l != Label::Missing).collect();
        if all.is_empty() {
            return Ok(Targets::None);
        }
        match self.kind(&all, task) {
            Kind::Classes(names) => {
                let lookup = Lookup::new(&names);
                let class = |case: usize, step: usize, label: Label| match label {
                    Label::Missing => Ok(None),
                    label => self.class(label, &lookup, || place(case, step), || id(case)).map(Some),
                };
                Ok(Targets::ClassSteps { of: each(labels, class)?, names })
            }
            Kind::Numbers => {
                let value = |case: usize, step: usize, label: Label| match label {
                    Label::Missing => Ok(f64::NAN),
                    label => self.value(label, || place(case, step)),
                };
                Ok(Targets::ValueSteps { name: self.name.clone(), of: each(labels, value)? })
            }
        }
    }

    fn kind(&self, labels: &[Label], task: Option<Task>) -> Kind {
        let mut numbers: Vec<f64> =
            labels.iter().filter_map(|label| if let Label::Number(x) = label { Some(*x) } else { None }).collect();
        let is_numeric = numbers.len() == labels.len();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let is_quantity = is_numeric && {
            let is_whole = numbers.iter().all(|x| x.fract() == 0.0);
            !is_whole || (numbers.len() > MAX_CLASSES && 2 * numbers.len() > labels.len())
        };
        match (task, &self.announced) {
            (Some(Task::Regression), _) => Kind::Numbers,
            (_, Some(classes)) if !classes.is_empty() => Kind::Classes(classes.clone()),
            (None, None) if is_quantity => Kind::Numbers,
            _ => {
                let mut names: Vec<String> = numbers.iter().map(f64::to_string).collect();
                if !is_numeric {
                    names.extend(self.texts.iter().cloned());
                    names.sort();
                }
                Kind::Classes(names)
            }
        }
    }

    fn class(
        &self,
        label: Label,
        lookup: &Lookup<'_>,
        at: impl Fn() -> Box<Place>,
        id: impl Fn() -> String,
    ) -> Result<usize, Error> {
        let (class, seen) = match label {
            Label::Number(x) => (lookup.number(x), x.to_string()),
            Label::Text(i) => (lookup.name(&self.texts[i]), self.texts[i].clone()),
            Label::Missing => return Err(Error::NoLabel { at: at(), case: id() }),
        };
        class.ok_or_else(|| Error::UnknownClass {
            at: at(),
            seen: shown(seen.as_bytes()),
            case: id(),
            known: listed(lookup.names),
        })
    }

    fn value(&self, label: Label, at: impl Fn() -> Box<Place>) -> Result<f64, Error> {
        match label {
            Label::Number(x) => Ok(x),
            Label::Missing => Ok(f64::NAN),
            Label::Text(i) => Err(Error::NotANumber {
                at: at(),
                seen: shown(self.texts[i].as_bytes()),
                fix: "regression needs numbers as labels",
            }),
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
        let number = |name: &str| match number::cell(name.as_bytes()) {
            Cell::Number(x) => Some((x + 0.0).to_bits()),
            Cell::Missing | Cell::Other => None,
        };
        Self {
            names,
            by_name: names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect(),
            by_number: names.iter().enumerate().filter_map(|(i, name)| Some((number(name)?, i))).collect(),
        }
    }

    pub(crate) fn name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or_else(|| match number::cell(name.as_bytes()) {
            Cell::Number(x) => self.number(x),
            Cell::Missing | Cell::Other => None,
        })
    }

    pub(crate) fn number(&self, x: f64) -> Option<usize> {
        self.by_number.get(&(x + 0.0).to_bits()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(texts: &[&str], task: Option<Task>) -> Result<Targets, Error> {
        let mut labels = Labels::new("y");
        let place = |i: usize| Place::line("test", i as u64 + 1);
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
        assert!(matches!(targets(&many[..20], None).unwrap(), Targets::Classes { .. }));
        assert!(matches!(targets(&[many.clone(), many].concat(), None).unwrap(), Targets::Classes { .. }));
    }

    #[test]
    fn a_task_decides() {
        assert_eq!(targets(&["2.5", "1"], Some(Task::Classification)).unwrap(), classes(&["1", "2.5"], &[1, 0]));
        assert_eq!(targets(&["2", "1"], Some(Task::Regression)).unwrap(), values(&[2.0, 1.0]));
        let error = targets(&["2", "x"], Some(Task::Regression)).unwrap_err().to_string();
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
        let place = |_: usize| Place::line("test", 1);
        let read = ["1", "2.0", "NA"].map(|text| labels.label(text.as_bytes(), || place(0)).unwrap());
        let found = labels.of_cases(&read, None, |i| i.to_string(), place).unwrap();
        assert_eq!(found, classes(&["2.0", "1.0", "NA"], &[1, 0, 2]));
    }
}
