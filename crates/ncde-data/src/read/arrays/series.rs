//! The series of an array: checked, and cut to their lengths.

use std::collections::HashMap;

use super::super::{Loaded, ReadOptions};
use super::{Arrays, axes, check_distinct, place, tokens, wrong, wrong_entry, wrong_shape};
use crate::dataset::numbered;
use crate::error::shown;
use crate::npy::{Array, Data};
use crate::text::time::time;
use crate::{Case, Clock, Dataset, Error, Targets};

/// How many series of how many observations and channels there are, how long each of them is, and their ids.
pub(super) struct Series {
    pub(super) cases: usize,
    pub(super) length: usize,
    pub(super) channels: usize,
    pub(super) lengths: Vec<usize>,
    pub(super) ids: Vec<String>,
}

pub(super) fn dataset(mut arrays: Arrays, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let file = arrays.file.clone();
    let axes = axes::arrange(&mut arrays, options);
    let series = Series::of(&mut arrays)?;
    let (clock, times) = times(&arrays, &series)?;
    let channels =
        names(&file, "channels", arrays.channels.take(), series.channels)?.unwrap_or_else(|| numbered(series.channels));
    let (static_names, statics) = statics(&mut arrays, &series)?;
    let (targets, unlabelled) = if !options.reads_labels() || (options.labels.is_some() && arrays.labels.is_none()) {
        (Targets::None, None)
    } else {
        arrays.targets(&series, options.task)?
    };
    let (values, vocabulary) = if tokens::are_meant(&arrays, &series, options) {
        let (values, vocabulary) = tokens::numbers(&arrays, &series)?;
        (values, Some(vocabulary))
    } else {
        (values(&file, arrays.values, &series)?, None)
    };
    if let (None, Some(wanted)) = (&options.labels, &options.columns.statics)
        && let Some(missing) = wanted.iter().find(|name| !static_names.contains(name))
    {
        return Err(Error::no_column(&file, "statics", missing, &static_names));
    }
    let parts = series.ids.into_iter().zip(times).zip(values).zip(statics);
    let mut cases: Vec<Case> = parts.map(|(((id, times), values), statics)| Case { id, times, values, statics }).collect();
    let warning = unlabelled.map(|unlabelled| {
        unlabelled.leave_out(&mut cases);
        unlabelled.warning
    });
    let name = arrays.name.unwrap_or_else(|| name.into());
    let data = Dataset { name, channels, statics: static_names, times: clock, cases, targets, vocabulary, groups: None };
    Ok(Loaded::of(data, axes.into_iter().chain(warning).collect()))
}

impl Series {
    fn of(arrays: &mut Arrays) -> Result<Self, Error> {
        let (file, (name, array)) = (&arrays.file, &arrays.values);
        let (cases, length, channels) = match array.shape[..] {
            [cases, length, channels] => (cases, length, channels),
            [cases, length] => (cases, length, 1),
            _ => {
                let wanted = "[cases, length, channels], or [cases, length] for one channel";
                return Err(wrong_shape(file, name, &array.shape, wanted));
            }
        };
        if cases == 0 || length == 0 || channels == 0 {
            return Err(wrong_shape(file, name, &array.shape, "at least one case, one observation and one channel"));
        }
        let lengths = lengths(file, arrays.lengths.take(), cases, length)?;
        let ids = ids(file, arrays.ids.take(), cases)?;
        Ok(Self { cases, length, channels, lengths, ids })
    }
}

fn lengths(file: &str, array: Option<Array>, cases: usize, longest: usize) -> Result<Vec<usize>, Error> {
    let Some(array) = array else {
        return Ok(vec![longest; cases]);
    };
    if array.shape != [cases] {
        return Err(wrong_shape(file, "lengths", &array.shape, format!("[{cases}], one for each case")));
    }
    let numbers = array.data.into_f64().unwrap_or_else(|| vec![f64::NAN; cases]);
    let length = |(i, x): (usize, f64)| {
        let is_length = x >= 1.0 && x <= longest as f64 && x.fract() == 0.0;
        let wanted = || format!("a whole number from 1 to {longest}");
        is_length.then_some(x as usize).ok_or_else(|| wrong_entry(file, "lengths", i, x, wanted()))
    };
    numbers.into_iter().enumerate().map(length).collect()
}

fn ids(file: &str, ids: Option<(String, Vec<String>)>, cases: usize) -> Result<Vec<String>, Error> {
    let Some((name, ids)) = ids else {
        return Ok((1..=cases).map(|i| i.to_string()).collect());
    };
    if ids.len() != cases {
        return Err(wrong_shape(file, &name, &[ids.len()], format!("[{cases}], one for each case")));
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (i, id) in ids.iter().enumerate() {
        if let Some(before) = seen.insert(id, i) {
            let before = format!("entry {before}, counted from 0");
            return Err(Error::RepeatedId { at: place(file, &name), id: shown(id), before });
        }
    }
    Ok(ids)
}

/// Names that differ, as many as there should be.
fn names(file: &str, array: &str, names: Option<Vec<String>>, wanted: usize) -> Result<Option<Vec<String>>, Error> {
    let Some(names) = names else {
        return Ok(None);
    };
    if names.len() != wanted {
        return Err(wrong_shape(file, array, &[names.len()], format!("[{wanted}]")));
    }
    check_distinct(file, array, &names, "names that differ")?;
    Ok(Some(names))
}

fn times(arrays: &Arrays, series: &Series) -> Result<(Clock, Vec<Vec<f64>>), Error> {
    let Some((name, array)) = &arrays.times else {
        let count = |&length: &usize| (0..length).map(|i| i as f64).collect();
        return Ok((Clock::Index, series.lengths.iter().map(count).collect()));
    };
    let file = &arrays.file;
    let is_shared = match array.shape[..] {
        [length] if length == series.length => true,
        [cases, length] if cases == series.cases && length == series.length => false,
        _ => {
            let wanted = format!("[{}] or [{}, {}]", series.length, series.cases, series.length);
            return Err(wrong_shape(file, name, &array.shape, wanted));
        }
    };
    let (clock, all) = clock_of(arrays, name, &array.data)?;
    let mut times = Vec::with_capacity(series.cases);
    for (case, &length) in series.lengths.iter().enumerate() {
        let start = if is_shared { 0 } else { case * series.length };
        let of_case = all[start..start + length].to_vec();
        for (i, &t) in of_case.iter().enumerate() {
            if !t.is_finite() {
                let seen = format!("time {i} (counted from 0) of case `{}` is `{t}`", series.ids[case]);
                return Err(wrong(file, name, seen, "a finite number"));
            }
            if i > 0 && of_case[i - 1] >= t {
                let fix = "times must increase: sort them, and give `lengths` if series are padded";
                return Err(Error::time_order(place(file, name), Some(&series.ids[case]), [of_case[i - 1], t], clock, fix));
            }
        }
        times.push(of_case);
    }
    Ok((clock, times))
}

fn clock_of(arrays: &Arrays, name: &str, data: &Data) -> Result<(Clock, Vec<f64>), Error> {
    let Data::Text(texts) = data else {
        let clock = if arrays.clock.as_deref() == Some("dates") { Clock::Dates } else { Clock::Numbers };
        return Ok((clock, data.clone().into_f64().unwrap_or_default()));
    };
    let date = |(i, text): (usize, &String)| match time(text.as_bytes(), Some(Clock::Dates)) {
        Some((t, _)) => Ok(t),
        // Padding; if it is not, the check of each time says so.
        None if text.is_empty() => Ok(f64::NAN),
        None => Err(wrong_entry(&arrays.file, name, i, shown(text), "an ISO 8601 date")),
    };
    let times = texts.iter().enumerate().map(date).collect::<Result<_, _>>()?;
    Ok((Clock::Dates, times))
}

/// The names of static covariates, and those of each case.
fn statics(arrays: &mut Arrays, series: &Series) -> Result<(Vec<String>, Vec<Vec<f64>>), Error> {
    let Some(array) = arrays.statics.take() else {
        return Ok((vec![], vec![vec![]; series.cases]));
    };
    let count = match array.shape[..] {
        [cases, count] if cases == series.cases => count,
        [cases] if cases == series.cases => 1,
        _ => {
            let wanted = format!("[{}, covariates]", series.cases);
            return Err(wrong_shape(&arrays.file, "statics", &array.shape, wanted));
        }
    };
    let given = names(&arrays.file, "static_names", arrays.static_names.take(), count)?;
    let names = given.unwrap_or_else(|| (1..=count).map(|i| format!("static_{i}")).collect());
    if let Data::Text(_) = array.data {
        return Err(wrong(&arrays.file, "statics", "it holds text", "numbers"));
    }
    let numbers = array.data.into_f64().unwrap_or_default();
    if let Some(i) = numbers.iter().position(|x| x.is_infinite()) {
        let seen = format!("that of case {} (counted from 0) holds `{}`", i / count, numbers[i]);
        return Err(wrong(&arrays.file, "statics", seen, "finite numbers, or NaN"));
    }
    let of = |case: usize| numbers[case * count..(case + 1) * count].to_vec();
    Ok((names, (0..series.cases).map(of).collect()))
}

fn values(file: &str, (name, array): (String, Array), series: &Series) -> Result<Vec<Vec<f64>>, Error> {
    let Some(numbers) = array.data.into_f64() else {
        let seen = format!("it holds text in {} channels", series.channels);
        return Err(wrong(file, &name, seen, "numbers, or tokens in one channel"));
    };
    let size = series.length * series.channels;
    if let Some(i) = numbers.iter().position(|x| x.is_infinite()) {
        let entry = [i / size, i % size / series.channels, i % series.channels];
        return Err(wrong_entry(file, &name, entry, numbers[i], "finite numbers, or NaN where they are missing"));
    }
    let of = |(case, &length): (usize, &usize)| numbers[case * size..case * size + length * series.channels].to_vec();
    Ok(series.lengths.iter().enumerate().map(of).collect())
}
