//! The labels of an archive: numbers or text, for each case or for each observation.

use super::series::Sizes;
use super::{Arrays, place, wrong_shape};
use crate::error::Place;
use crate::label::{Label, Labels, Task};
use crate::npy::Data;
use crate::{Error, Targets};

impl Arrays {
    /// The targets, and of each case whether it has one, where some have none.
    pub(super) fn targets(
        &self,
        sizes: Sizes,
        lengths: &[usize],
        ids: &[String],
        task: Option<Task>,
    ) -> Result<(Targets, Option<Vec<bool>>), Error> {
        let Some((name, array)) = &self.labels else {
            return Ok((Targets::None, None));
        };
        let is_step = match array.shape[..] {
            [cases] | [cases, 1] if cases == sizes.cases => false,
            [cases, length] if cases == sizes.cases && length == sizes.length => true,
            _ => {
                let wanted = format!("[{}] or [{}, {}]", sizes.cases, sizes.cases, sizes.length);
                return Err(wrong_shape(&self.file, name, &array.shape, wanted));
            }
        };
        let title = self.target.as_deref().unwrap_or(name);
        let mut labels = match &self.classes {
            Some(classes) => Labels::announced(title, classes.clone()),
            None => Labels::new(title),
        };
        let seen = self.seen(&mut labels, name, &array.data)?;
        let at = |i: usize| Place::field(&self.file, 0, format!("array `{name}`, entry {i} (counted from 0)"));
        if !is_step {
            let of: Vec<usize> = (0..seen.len()).filter(|&i| seen[i] != Label::Missing).collect();
            let is_partial = !of.is_empty() && of.len() < seen.len();
            let is_labelled = is_partial.then(|| seen.iter().map(|label| *label != Label::Missing).collect());
            let of = if is_partial { of } else { (0..seen.len()).collect() };
            let seen: Vec<Label> = of.iter().map(|&i| seen[i]).collect();
            return Ok((labels.of_cases(&seen, task, |i| ids[of[i]].clone(), |i| at(of[i]))?, is_labelled));
        }
        let of = |(case, &length): (usize, &usize)| &seen[case * sizes.length..case * sizes.length + length];
        let steps: Vec<&[Label]> = lengths.iter().enumerate().map(of).collect();
        Ok((labels.of_steps(&steps, task, |i| ids[i].clone(), |i, t| at(i * sizes.length + t))?, None))
    }

    fn seen(&self, labels: &mut Labels, name: &str, data: &Data) -> Result<Vec<Label>, Error> {
        let number = |(i, x): (usize, f64)| match x {
            x if x.is_nan() => Ok(Label::Missing),
            x if x.is_finite() => Ok(Label::Number(x + 0.0)),
            x => Err(Error::Array {
                at: place(&self.file, name),
                seen: format!("entry {i} (counted from 0) is `{x}`"),
                wanted: "a finite number".into(),
            }),
        };
        match (data, &self.classes) {
            // With names of classes, integers count them; below zero there is none.
            (Data::Int(entries), Some(classes)) => entries
                .iter()
                .enumerate()
                .map(|(i, &entry)| match usize::try_from(entry) {
                    Err(_) => Ok(Label::Missing),
                    Ok(class) => match classes.get(class) {
                        Some(class) => labels.label(class.as_bytes(), || place(&self.file, name)),
                        None => Err(Error::Array {
                            at: place(&self.file, name),
                            seen: format!("entry {i} (counted from 0) is `{entry}`"),
                            wanted: format!("a class below {}, as `classes` names so many", classes.len()),
                        }),
                    },
                })
                .collect(),
            (Data::Text(entries), _) => {
                entries.iter().map(|text| labels.label(text.as_bytes(), || place(&self.file, name))).collect()
            }
            (Data::Int(entries), None) => entries.iter().map(|&x| x as f64).enumerate().map(number).collect(),
            (Data::F32(entries), _) => entries.iter().map(|&x| x.into()).enumerate().map(number).collect(),
            (Data::F64(entries), _) => entries.iter().copied().enumerate().map(number).collect(),
        }
    }
}
