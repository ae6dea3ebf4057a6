//! The labels of an archive: numbers or text, for each case or for each observation.

use super::series::Series;
use super::{Arrays, place, wrong_entry, wrong_shape};
use crate::error::at_field;
use crate::label::{Label, Labels, TaskName, Unlabelled};
use crate::npy::Data;
use crate::{Error, Targets};

impl Arrays {
    /// The targets, and which cases have none where others have one.
    pub(super) fn targets(&self, series: &Series, task: Option<TaskName>) -> Result<(Targets, Option<Unlabelled>), Error> {
        let Some((name, array)) = &self.labels else {
            return Ok((Targets::None, None));
        };
        let is_step = match array.shape[..] {
            [cases] | [cases, 1] if cases == series.cases => false,
            [cases, length] if cases == series.cases && length == series.length => true,
            _ => {
                let wanted = format!("[{}] or [{}, {}]", series.cases, series.cases, series.length);
                return Err(wrong_shape(&self.file, name, &array.shape, wanted));
            }
        };
        let title = self.target.as_deref().unwrap_or(name);
        let mut labels = match &self.classes {
            Some(classes) => Labels::announced(title, classes.clone()),
            None => Labels::new(title),
        };
        let mut seen = self.seen(&mut labels, name, &array.data)?;
        let at = |i: usize| at_field(&self.file, 0, format!("array `{name}`, entry {i} (counted from 0)"));
        if !is_step {
            let unlabelled = Unlabelled::of(&seen);
            let mut entries: Vec<usize> = (0..seen.len()).collect();
            if let Some(unlabelled) = &unlabelled {
                unlabelled.leave_out(&mut entries);
                unlabelled.leave_out(&mut seen);
            }
            let targets = labels.of_cases(&seen, task, |i| series.ids[entries[i]].clone(), |i| at(entries[i]))?;
            return Ok((targets, unlabelled));
        }
        let of = |(case, &length): (usize, &usize)| &seen[case * series.length..case * series.length + length];
        let steps: Vec<&[Label]> = series.lengths.iter().enumerate().map(of).collect();
        Ok((labels.of_steps(&steps, task, |i| series.ids[i].clone(), |i, t| at(i * series.length + t))?, None))
    }

    fn seen(&self, labels: &mut Labels, name: &str, data: &Data) -> Result<Vec<Label>, Error> {
        let number = |(i, x): (usize, f64)| match x {
            x if x.is_nan() => Ok(Label::Missing),
            x if x.is_finite() => Ok(Label::Number(x + 0.0)),
            x => Err(wrong_entry(&self.file, name, i, x, "a finite number")),
        };
        match (data, &self.classes) {
            // With names of classes, integers count them; below zero there is none.
            (Data::Int(entries), Some(classes)) => {
                let class = |(i, &entry): (usize, &i64)| match usize::try_from(entry).map(|class| classes.get(class)) {
                    Err(_) => Ok(Label::Missing),
                    Ok(Some(class)) => labels.label(class.as_bytes(), || place(&self.file, name)),
                    Ok(None) => {
                        let wanted = format!("a class below {}, as `classes` names so many", classes.len());
                        Err(wrong_entry(&self.file, name, i, entry, wanted))
                    }
                };
                entries.iter().enumerate().map(class).collect()
            }
            (Data::Text(entries), _) => {
                entries.iter().map(|text| labels.label(text.as_bytes(), || place(&self.file, name))).collect()
            }
            (numbers, _) => numbers.clone().into_f64().unwrap_or_default().into_iter().enumerate().map(number).collect(),
        }
    }
}
