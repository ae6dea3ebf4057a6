//! Datasets one after the other, and series that are there twice.

use std::collections::HashMap;

use crate::error::listed;
use crate::{Case, Dataset, Error, Targets};

impl Dataset {
    /// This dataset and another one after it. Classes that only the other one has come last; an id that is taken gets a
    /// number at its end. Tokens get the numbers they have in this dataset's vocabulary.
    ///
    /// # Errors
    ///
    /// [`Error::Join`] if columns, clocks or the kinds of targets differ, or one holds tokens and the other numbers;
    /// [`Error::UnknownToken`] if the other holds a token that this one does not know.
    pub fn concat(mut self, mut other: Self) -> Result<Self, Error> {
        let values = |data: &Self| if data.vocabulary.is_some() { "tokens" } else { "numbers" };
        let kind = |targets: &Targets| match targets {
            Targets::None => "none",
            Targets::Classes { .. } => "classes of cases",
            Targets::Values { .. } => "numbers of cases",
            Targets::ClassSteps { .. } => "classes of observations",
            Targets::ValueSteps { .. } => "numbers of observations",
        };
        let pair = |of: &dyn Fn(&Self) -> String| (of(&self), of(&other));
        let parts = [
            ("channels", self.channels == other.channels, pair(&|data| listed(&data.channels))),
            ("values", values(&self) == values(&other), pair(&|data| values(data).into())),
            ("static covariates", self.statics == other.statics, pair(&|data| listed(&data.statics))),
            ("times", self.times == other.times, pair(&|data| format!("`{:?}`", data.times))),
            ("targets", kind(&self.targets) == kind(&other.targets), pair(&|data| kind(&data.targets).into())),
        ];
        if let Some((what, _, (seen, with))) = parts.into_iter().find(|(_, is_same, _)| !is_same) {
            return Err(Error::Join { first: self.name, second: other.name, what, seen, other: with });
        }
        if let Some(vocabulary) = &self.vocabulary {
            other.translate(vocabulary)?;
        }
        if self.groups.is_some() || other.groups.is_some() {
            // A case without a group is one by itself.
            let groups =
                |data: &mut Self| data.groups.take().unwrap_or_else(|| data.cases.iter().map(|case| case.id.clone()).collect());
            self.groups = Some([groups(&mut self), groups(&mut other)].concat());
        }
        let mut taken: HashMap<String, usize> = self.cases.iter().map(|case| (case.id.clone(), 1)).collect();
        for mut case in other.cases {
            while let Some(count) = taken.get_mut(&case.id) {
                *count += 1;
                case.id = format!("{}#{count}", case.id);
            }
            taken.insert(case.id.clone(), 1);
            self.cases.push(case);
        }
        self.targets = join(self.targets, other.targets);
        Ok(self)
    }

    /// Which of `candidates` equal one of `known`: same times, values and statics, whatever their labels.
    pub fn copies(&self, known: &[usize], candidates: &[usize]) -> Vec<usize> {
        let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
        known.iter().for_each(|&i| seen.entry(fingerprint(&self.cases[i])).or_default().push(i));
        let is_copy = |i: &usize| {
            let case = &self.cases[*i];
            seen.get(&fingerprint(case)).is_some_and(|same| same.iter().any(|&j| is_equal(&self.cases[j], case)))
        };
        candidates.iter().copied().filter(is_copy).collect()
    }

    /// The dataset without series that are there already (same times, values and statics, whatever their labels), and how many
    /// they were. The first of equals is kept, and the order.
    pub fn without_duplicates(self) -> (Self, usize) {
        let keep = first_of_equals(&self.cases);
        let dropped = self.cases.len() - keep.len();
        if dropped == 0 { (self, 0) } else { (self.subset(&keep), dropped) }
    }
}

/// Targets of one kind, one after the other.
fn join(first: Targets, second: Targets) -> Targets {
    fn merged(names: &mut Vec<String>, others: Vec<String>) -> Vec<usize> {
        let place = |name: String| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        others.into_iter().map(place).collect()
    }
    match (first, second) {
        (Targets::Classes { mut names, mut of }, Targets::Classes { names: others, of: more }) => {
            let place = merged(&mut names, others);
            of.extend(more.into_iter().map(|class| place[class]));
            Targets::Classes { names, of }
        }
        (Targets::ClassSteps { mut names, mut of }, Targets::ClassSteps { names: others, of: more }) => {
            let place = merged(&mut names, others);
            let moved = |of: Vec<Option<usize>>| of.into_iter().map(|class| class.map(|class| place[class])).collect();
            of.extend(more.into_iter().map(moved));
            Targets::ClassSteps { names, of }
        }
        (Targets::Values { name, mut of }, Targets::Values { of: more, .. }) => {
            of.extend(more);
            Targets::Values { name, of }
        }
        (Targets::ValueSteps { name, mut of }, Targets::ValueSteps { of: more, .. }) => {
            of.extend(more);
            Targets::ValueSteps { name, of }
        }
        (first, _) => first,
    }
}

/// The cases that equal none before them.
pub(crate) fn first_of_equals(cases: &[Case]) -> Vec<usize> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut keep = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let same = seen.entry(fingerprint(case)).or_default();
        if !same.iter().any(|&j| is_equal(&cases[j], case)) {
            same.push(i);
            keep.push(i);
        }
    }
    keep
}

fn fingerprint(case: &Case) -> u64 {
    // FNV-1a over whole numbers; every NaN counts as the same, as does either zero.
    let parts = [&case.times, &case.values, &case.statics];
    parts.iter().flat_map(|part| part.iter()).fold(0xcbf2_9ce4_8422_2325, |hash: u64, &x| {
        let bits = if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() };
        (hash ^ bits).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
    })
}

fn is_equal(a: &Case, b: &Case) -> bool {
    let same = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y || (x.is_nan() && y.is_nan()));
    same(&a.times, &b.times) && same(&a.values, &b.values) && same(&a.statics, &b.statics)
}
