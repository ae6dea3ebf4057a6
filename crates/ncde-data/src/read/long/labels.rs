//! From the labels of gathered rows to targets: of whole series, or of observations.

use super::super::ReadOptions;
use super::finish::twins;
use super::table::{Raw, Table};
use crate::error::{at_field, shown};
use crate::label::{Label, Labels, Unlabelled};
use crate::schema::Warning;
use crate::{Error, Targets};

impl Table {
    /// What is to be predicted; `warnings` of labels that do not look meant.
    pub(super) fn targets(&self, options: &ReadOptions, warnings: &mut Vec<Warning>) -> Result<Targets, Error> {
        let Some(labels) = self.labels.as_ref().filter(|_| options.reads_labels()) else {
            return Ok(Targets::None);
        };
        let id = |i: usize| self.cases[i].id.clone();
        let place = |i: usize| {
            let case = &self.cases[i];
            at_field(&self.files[case.file], case.line, format!("column `{}`", labels.name))
        };
        let targets = match self.whole_case_labels() {
            Some(whole) => labels.of_cases(&whole, options.task, id, place)?,
            None => self.steps(labels, options)?,
        };
        let is_of_steps = matches!(targets, Targets::ClassSteps { .. } | Targets::ValueSteps { .. });
        if options.layout.is_none() {
            warnings.extend(self.hardly_steps(labels).filter(|_| is_of_steps));
            warnings.extend(twins(&labels.name, targets.classes(), "class"));
        }
        Ok(targets)
    }

    /// Leaves out series without a label, if others have one as a whole.
    pub(super) fn leave_out_unlabelled(&mut self, options: &ReadOptions, warnings: &mut Vec<Warning>) {
        let whole = self.whole_case_labels().filter(|_| self.labels.is_some() && options.reads_labels()).unwrap_or_default();
        if let Some(unlabelled) = Unlabelled::of(&whole) {
            unlabelled.leave_out(&mut self.cases);
            warnings.push(unlabelled.warning);
        }
    }

    /// Labels of observations, though those of most series do not change: a slip of the pen makes another task of the file.
    fn hardly_steps(&self, labels: &Labels) -> Option<Warning> {
        let as_steps = |seen: String| {
            let seen = format!("column `{}` {seen}, so every observation is taken to have its own label", shown(&labels.name));
            Warning::new(seen, "if a series has one label, write that on all of its rows, on the first alone or on the last")
        };
        let differs = |case: &&Raw| {
            let mut seen = case.labels.iter().filter(|label| **label != Label::Missing);
            seen.next().is_some_and(|first| seen.any(|other| other != first))
        };
        let is_partial = |case: &&Raw| {
            let count = case.labels.iter().filter(|label| **label != Label::Missing).count();
            count > 0 && count < case.labels.len()
        };
        let (all, changing) = (self.cases.len(), self.cases.iter().filter(differs).count());
        let odd = |case: Option<&Raw>| case.map(|case| shown(&case.id));
        if changing > 0 {
            let odd = odd(self.cases.iter().find(differs))?;
            let seen = format!("changes within {changing} of {all} series (`{odd}` is one)");
            return (2 * changing < all).then(|| as_steps(seen));
        }
        let partial = self.cases.iter().filter(is_partial).count();
        let odd = odd(self.cases.iter().find(is_partial))?;
        let seen = format!("never changes within a series, but is blank on some rows of {partial} of {all} (`{odd}` is one)");
        (all > 1).then(|| as_steps(seen))
    }

    fn steps(&self, labels: &Labels, options: &ReadOptions) -> Result<Targets, Error> {
        let all: Vec<&[Label]> = self.cases.iter().map(|case| case.labels.as_slice()).collect();
        let place = |i: usize, t: usize| {
            let case = &self.cases[i];
            let field = format!("column `{}`, observation {} of case `{}`", labels.name, t + 1, case.id);
            at_field(&self.files[case.file], 0, field)
        };
        labels.of_steps(&all, options.task, |i| self.cases[i].id.clone(), place)
    }

    /// One label a case, if each case has but one and it stands on all rows, on the first only, or on the last only.
    fn whole_case_labels(&self) -> Option<Vec<Label>> {
        let (mut on_all, mut on_first, mut on_last) = (true, true, true);
        let mut whole = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            let mut label = Label::Missing;
            let mut count = 0;
            for (i, &seen) in case.labels.iter().enumerate().filter(|(_, label)| **label != Label::Missing) {
                if count > 0 && seen != label {
                    return None;
                }
                label = seen;
                count += 1;
                on_first &= i == 0;
                on_last &= i + 1 == case.labels.len();
            }
            on_all &= count == 0 || count == case.labels.len();
            whole.push(label);
        }
        (on_all || on_first || on_last).then_some(whole)
    }
}
