//! Rows of a case in the order of their times, each time once.

use super::table::{DUPLICATE, Raw, SET_BACK, Table};
use crate::error::{at_field, at_line, shown};
use crate::label::Label;
use crate::schema::Duplicates;
use crate::text::time::written;
use crate::text::zone::is_set_back;
use crate::{Clock, Error};

impl Table {
    /// Sorts rows and joins those of one time, as the policy says.
    pub(super) fn arrange(&mut self) -> Result<(), Error> {
        let (policy, width) = (self.policy.clone(), self.values.len());
        let mut cases = std::mem::take(&mut self.cases);
        for case in &mut cases {
            if policy.sort && !case.times.is_sorted() {
                sort(case, width);
            }
            let Some(i) = (1..case.times.len()).find(|&i| case.times[i - 1] == case.times[i]) else { continue };
            match policy.duplicates {
                Duplicates::Refuse => {
                    let at = at_line(&self.files[case.file], 0);
                    let is_set_back =
                        self.clock == Clock::Dates && self.zone.is_none() && is_set_back(case.times[i], case.times[i]);
                    let fix = if is_set_back { SET_BACK } else { DUPLICATE };
                    return Err(Error::time_order(at, Some(&case.id), [case.times[i]; 2], self.clock, fix));
                }
                Duplicates::First => keep(case, width, |times, i| i == 0 || times[i - 1] != times[i]),
                Duplicates::Last => keep(case, width, |times, i| i + 1 == times.len() || times[i + 1] != times[i]),
                Duplicates::Mean => self.join(case)?,
            }
        }
        self.cases = cases;
        Ok(())
    }

    /// Rows of one time become their mean.
    fn join(&self, case: &mut Raw) -> Result<(), Error> {
        let width = self.values.len();
        let mut start = 0;
        for end in 1..=case.times.len() {
            if end < case.times.len() && case.times[end] == case.times[start] {
                continue;
            }
            for (k, value) in self.values.iter().enumerate() {
                let value_at = |i: usize| case.values[i * width + k];
                let present: Vec<f64> = (start..end).map(value_at).filter(|x| !x.is_nan()).collect();
                let Some(&first) = present.first() else { continue };
                if value.is_text() && present.iter().any(|x| value.same(*x) != value.same(first)) {
                    return Err(self.differ(case, start, &value.name));
                }
                let mean = if value.is_text() { first } else { present.iter().sum::<f64>() / present.len() as f64 };
                case.values[start * width + k] = mean;
            }
            if !case.labels.is_empty() {
                let mut given = case.labels[start..end].iter().copied().filter(|label| *label != Label::Missing);
                let label = given.next().unwrap_or(Label::Missing);
                if given.any(|other| other != label) {
                    return Err(self.differ(case, start, self.labels.as_ref().map_or("label", |labels| &labels.name)));
                }
                case.labels[start] = label;
            }
            start = end;
        }
        keep(case, width, |times, i| i == 0 || times[i - 1] != times[i]);
        Ok(())
    }

    fn differ(&self, case: &Raw, row: usize, column: &str) -> Error {
        let at = at_field(&self.files[case.file], 0, format!("column `{}`", shown(column)));
        let (id, time) = (shown(&case.id), written(case.times[row], self.clock));
        let seen = format!("rows of case `{id}` at time `{time}` differ, and texts and labels have no mean");
        Error::header(at, seen, "say which row counts: `--duplicates first` or `last`")
    }
}

fn sort(case: &mut Raw, width: usize) {
    let mut order: Vec<usize> = (0..case.times.len()).collect();
    order.sort_by(|&a, &b| case.times[a].total_cmp(&case.times[b]));
    pick(case, width, &order);
}

fn keep(case: &mut Raw, width: usize, is_kept: impl Fn(&[f64], usize) -> bool) {
    let rows: Vec<usize> = (0..case.times.len()).filter(|&i| is_kept(&case.times, i)).collect();
    pick(case, width, &rows);
}

/// Some rows, in this order.
fn pick(case: &mut Raw, width: usize, rows: &[usize]) {
    case.times = rows.iter().map(|&i| case.times[i]).collect();
    case.values = rows.iter().flat_map(|&i| case.values[i * width..(i + 1) * width].iter().copied()).collect();
    if !case.labels.is_empty() {
        case.labels = rows.iter().map(|&i| case.labels[i]).collect();
    }
}
