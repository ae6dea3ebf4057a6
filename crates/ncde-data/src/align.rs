//! Datasets brought into the form of another: columns by name, classes by name.

use crate::dataset::numbered;
use crate::error::{at_field, hint, listed, shown};
use crate::label::Lookup;
use crate::text::number;
use crate::{Case, Dataset, Error, Schema, Targets};

/// Where a column of the result comes from.
enum From {
    Channel(usize),
    Static(usize),
    /// A category that this file never has: 0, but missing where its fellows `name=...` are.
    Unseen(Box<From>),
    /// A category of a column that holds numbers or tokens in this file: whether the value is one of these.
    OneOf(Box<From>, Vec<f64>),
}

impl From {
    fn at(&self, case: &Case, row: &[f64]) -> f64 {
        match self {
            Self::Channel(i) => row[*i],
            Self::Static(i) => case.statics[*i],
            Self::Unseen(fellow) => {
                let x = fellow.at(case, row);
                if x.is_nan() { x } else { 0.0 }
            }
            Self::OneOf(column, values) => {
                let x = column.at(case, row);
                if x.is_nan() { x } else { f64::from(u8::from(values.contains(&x))) }
            }
        }
    }
}

impl Dataset {
    /// The dataset in the form that a model was trained on.
    ///
    /// Channels and statics are found by name, in whatever order they are, and columns that the model does not know are
    /// dropped. Files without names of their own (`.ts`, `.arff`, `.npy`) are matched by number. Of a text column, categories
    /// that this file does not have are zero. A static covariate may be a channel here, if it does not change within a case,
    /// and the other way round. Classes are matched by name, or as numbers. Tokens get the numbers they have in the model's
    /// vocabulary; one that it does not have is `<unknown>`, if the vocabulary has that.
    ///
    /// ```
    /// use ncde_data::{ReadOptions, Schema, read_bytes};
    /// let data = read_bytes("new.csv", b"time,b,a,c\n0,1,2,3\n", &ReadOptions::default())?;
    /// let schema = Schema { channels: vec!["a".into(), "b".into()], ..Schema::default() };
    /// assert_eq!(data.aligned(&schema)?.cases[0].values, [2.0, 1.0]);
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] or [`Error::Unnamed`] if a column is not there, [`Error::NotStatic`], [`Error::UnseenClasses`],
    /// [`Error::UnknownToken`], [`Error::NoToken`], [`Error::Tokens`] if the model takes numbers.
    pub fn aligned(mut self, schema: &Schema) -> Result<Self, Error> {
        self.check_categories(schema)?;
        let is_same = self.channels == schema.channels && self.statics == schema.statics;
        if !is_same || (self.vocabulary.is_some() && schema.vocabulary.is_none()) {
            self.align_columns(schema)?;
        }
        match &schema.vocabulary {
            Some(vocabulary) => self.translate(vocabulary)?,
            None => self.vocabulary = None,
        }
        let targets = std::mem::replace(&mut self.targets, Targets::None);
        self.targets = self.align_targets(targets, schema)?;
        Ok(self)
    }

    fn align_columns(&mut self, schema: &Schema) -> Result<(), Error> {
        let is_unnamed = self.channels == numbered(self.channels.len()) || schema.channels == numbered(schema.channels.len());
        if let (Some(tokens), None) = (&self.vocabulary, &schema.vocabulary)
            && (is_unnamed || self.channels.iter().any(|name| schema.channels.contains(name)))
        {
            return Err(Error::Tokens { name: self.name.clone(), tokens: listed(tokens) });
        }
        let channels = if is_unnamed {
            if self.channels.len() != schema.channels.len() {
                return Err(Error::Unnamed {
                    name: self.name.clone(),
                    what: "channel",
                    seen: self.channels.len(),
                    wanted: schema.channels.len(),
                });
            }
            (0..self.channels.len()).map(From::Channel).collect()
        } else if schema.vocabulary.is_some() {
            let channel = |name: &str| self.channels.iter().position(|other| other == name).map(From::Channel);
            self.find_all(&schema.channels, "channel", channel)?
        } else {
            self.find_all(&schema.channels, "channel", |name| self.find(name))?
        };
        let statics = self.find_all(&schema.statics, "static covariate", |name| self.find(name))?;
        let width = self.channels.len();
        for case in &mut self.cases {
            let rows = || (0..case.len()).map(|i| case.row(i, width));
            let values = rows().flat_map(|row| channels.iter().map(|from| from.at(case, row))).collect();
            let mut fixed = Vec::with_capacity(statics.len());
            for (from, name) in statics.iter().zip(&schema.statics) {
                let mut present = rows().map(|row| from.at(case, row)).filter(|x| !x.is_nan());
                let first = present.next().unwrap_or(f64::NAN);
                if let Some(second) = present.find(|x| *x != first) {
                    return Err(Error::NotStatic { column: name.clone(), case: case.id.clone(), first, second });
                }
                fixed.push(first);
            }
            (case.values, case.statics) = (values, fixed);
        }
        (self.channels, self.statics) = (schema.channels.clone(), schema.statics.clone());
        Ok(())
    }

    /// A category that the model was not trained on is no zero among those it was, unless that is allowed.
    fn check_categories(&self, schema: &Schema) -> Result<(), Error> {
        if schema.table.as_ref().is_some_and(|layout| layout.unknown) {
            return Ok(());
        }
        let known = |column: &str| -> Vec<&str> {
            let names = schema.channels.iter().chain(&schema.statics);
            names.filter_map(|name| name.split_once('=')).filter(|(stem, _)| *stem == column).map(|(_, word)| word).collect()
        };
        let unknown = |column: &str, seen: &str, known: &[&str]| Error::UnknownCategory {
            at: at_field(&self.name, 0, format!("column `{}`", shown(column))),
            seen: shown(seen),
            known: listed(known),
            fix: "correct it, or train with `--set unknown=true` to take it for none of these".into(),
        };
        for (place, name) in self.channels.iter().chain(&self.statics).enumerate() {
            let is_used = |case: &Case| match place.checked_sub(self.channels.len()) {
                Some(i) => case.statics[i] != 0.0,
                None => (0..case.len()).any(|row| case.row(row, self.channels.len())[place] != 0.0),
            };
            if let Some((column, word)) = name.split_once('=') {
                let known = known(column);
                if !known.is_empty() && !known.contains(&word) && self.cases.iter().any(is_used) {
                    return Err(unknown(column, word, &known));
                }
            }
        }
        Ok(())
    }

    fn find_all(&self, names: &[String], what: &'static str, find: impl Fn(&str) -> Option<From>) -> Result<Vec<From>, Error> {
        let missing = |name: &String| {
            let seen: Vec<&String> = self.channels.iter().chain(&self.statics).collect();
            Error::Missing { name: self.name.clone(), what, missing: shown(name), seen: listed(&seen), hint: hint(name, &seen) }
        };
        names.iter().map(|name| find(name).ok_or_else(|| missing(name))).collect()
    }

    fn find(&self, name: &str) -> Option<From> {
        let exact = |name: &str| self.position(|other| other == name);
        // Numbers of tokens mean nothing by themselves.
        let is_number = |from: &From| self.vocabulary.is_none() || !matches!(from, From::Channel(_));
        exact(name).filter(is_number).or_else(|| {
            let (column, category) = name.split_once('=')?;
            let fellow = |other: &str| other.strip_prefix(column).is_some_and(|rest| rest.starts_with('='));
            if let Some(fellow) = self.position(fellow) {
                return Some(From::Unseen(Box::new(fellow)));
            }
            let of = match &self.vocabulary {
                Some(vocabulary) if self.channels.iter().any(|name| name == column) => {
                    let is_this = |i: &usize| number::category(&vocabulary[*i]) == category;
                    (0..vocabulary.len()).filter(is_this).map(|i| i as f64).collect()
                }
                _ => category.parse().into_iter().collect(),
            };
            exact(column).map(|from| From::OneOf(Box::new(from), of))
        })
    }

    fn position(&self, is: impl Fn(&str) -> bool) -> Option<From> {
        let channel = self.channels.iter().position(|name| is(name)).map(From::Channel);
        channel.or_else(|| self.statics.iter().position(|name| is(name)).map(From::Static))
    }

    fn align_targets(&self, targets: Targets, schema: &Schema) -> Result<Targets, Error> {
        if targets.classes() == schema.classes {
            return Ok(targets);
        }
        if schema.classes.is_empty() {
            return Ok(numbers(targets));
        }
        let mut classes = Classes { names: &schema.classes, lookup: Lookup::new(&schema.classes), unseen: vec![], count: 0 };
        let names = schema.classes.clone();
        let targets = match targets {
            Targets::None => Targets::None,
            Targets::Classes { names: others, of } => {
                Targets::Classes { names, of: of.iter().map(|&class| classes.class(&others[class])).collect() }
            }
            Targets::ClassSteps { names: others, of } => {
                let mut step = |class: &Option<usize>| class.map(|class| classes.class(&others[class]));
                Targets::ClassSteps { names, of: of.iter().map(|of| of.iter().map(&mut step).collect()).collect() }
            }
            Targets::Values { of, .. } => Targets::Classes { names, of: of.iter().map(|&x| classes.number(x)).collect() },
            Targets::ValueSteps { of, .. } => {
                let mut step = |x: &f64| (!x.is_nan()).then(|| classes.number(*x));
                Targets::ClassSteps { names, of: of.iter().map(|of| of.iter().map(&mut step).collect()).collect() }
            }
        };
        classes.checked(targets, &self.name)
    }
}

/// Classes whose names are all numbers, as numbers: what a model without classes predicts.
fn numbers(targets: Targets) -> Targets {
    let parsed: Option<Vec<f64>> = targets.classes().iter().map(|name| name.parse().ok()).collect();
    let name = "label".to_string();
    match (targets, parsed) {
        (Targets::Classes { of, .. }, Some(x)) => Targets::Values { name, of: of.iter().map(|&class| x[class]).collect() },
        (Targets::ClassSteps { of, .. }, Some(x)) => {
            let number = |class: &Option<usize>| class.map_or(f64::NAN, |class| x[class]);
            Targets::ValueSteps { name, of: of.iter().map(|of| of.iter().map(number).collect()).collect() }
        }
        (targets, _) => targets,
    }
}

/// The classes of a schema, and the names that are none of them.
struct Classes<'a> {
    names: &'a [String],
    lookup: Lookup<'a>,
    unseen: Vec<String>,
    count: usize,
}

impl Classes<'_> {
    fn class(&mut self, name: &str) -> usize {
        self.lookup.name(name).unwrap_or_else(|| self.note(name))
    }

    fn number(&mut self, x: f64) -> usize {
        self.lookup.number(x).unwrap_or_else(|| self.note(&x.to_string()))
    }

    /// Remembers a name that is not known; the number stands for nothing, as [`Self::checked`] fails then.
    fn note(&mut self, name: &str) -> usize {
        self.count += 1;
        if !self.unseen.iter().any(|unseen| unseen == name) {
            self.unseen.push(name.into());
        }
        0
    }

    fn checked(self, targets: Targets, name: &str) -> Result<Targets, Error> {
        if self.count == 0 {
            return Ok(targets);
        }
        let (seen, known) = (listed(&self.unseen), listed(self.names));
        Err(Error::UnseenClasses { name: shown(name), seen, count: self.count, known })
    }
}
