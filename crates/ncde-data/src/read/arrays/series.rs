//! The series of an array: checked, and cut to their lengths.

use std::collections::HashMap;

use super::super::{Loaded, ReadOptions};
use super::{Arrays, check_distinct, place, tokens, wrong, wrong_entry, wrong_shape};
use crate::dataset::numbered;
use crate::error::shown;
use crate::npy::{Array, Data};
use crate::text::time::{time, written};
use crate::{Case, Clock, Dataset, Error, Targets};

/// How many there are.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) cases: usize,
    pub(super) length: usize,
    pub(super) channels: usize,
}

pub(super) fn dataset(mut arrays: Arrays, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let file = arrays.file.clone();
    let sizes = sizes(&file, &arrays.values)?;
    let lengths = lengths(&file, arrays.lengths.take(), sizes)?;
    let ids = ids(&file, arrays.ids.take(), sizes)?;
    let (clock, times) = times(&arrays, sizes, &lengths, &ids)?;
    let channels = names(&file, "channels", arrays.channels.take(), sizes.channels)?.unwrap_or_else(|| numbered(sizes.channels));
    let (static_names, statics) = statics(&mut arrays, sizes)?;
    let (targets, unlabelled) = if options.without_labels || (options.labels.is_some() && arrays.labels.is_none()) {
        (Targets::None, None)
    } else {
        arrays.targets(sizes, &lengths, &ids, options.task)?
    };
    let (values, vocabulary) = if tokens::are_meant(&arrays, sizes, options) {
        let (values, vocabulary) = tokens::numbers(&arrays, sizes, &lengths, &ids)?;
        (values, Some(vocabulary))
    } else {
        (values(&file, arrays.values, sizes, &lengths)?, None)
    };
    if let (None, Some(wanted)) = (&options.labels, &options.columns.statics)
        && let Some(missing) = wanted.iter().find(|name| !static_names.contains(name))
    {
        return Err(Error::no_column(&file, "statics", missing, &static_names));
    }
    let parts = ids.into_iter().zip(times).zip(values).zip(statics);
    let mut cases: Vec<Case> = parts.map(|(((id, times), values), statics)| Case { id, times, values, statics }).collect();
    let warning = unlabelled.map(|unlabelled| {
        unlabelled.leave_out(&mut cases);
        unlabelled.warning
    });
    let name = arrays.name.unwrap_or_else(|| name.into());
    let data = Dataset { name, channels, statics: static_names, times: clock, cases, targets, vocabulary };
    Ok(Loaded::of(data, warning.into_iter().collect()))
}

fn sizes(file: &str, (name, array): &(String, Array)) -> Result<Sizes, Error> {
    let sizes = match array.shape[..] {
        [cases, length, channels] => Sizes { cases, length, channels },
        [cases, length] => Sizes { cases, length, channels: 1 },
        _ => {
            let wanted = "[cases, length, channels], or [cases, length] for one channel";
            return Err(wrong_shape(file, name, &array.shape, wanted));
        }
    };
    if sizes.cases == 0 || sizes.length == 0 || sizes.channels == 0 {
        return Err(wrong_shape(file, name, &array.shape, "at least one case, one observation and one channel"));
    }
    Ok(sizes)
}

fn lengths(file: &str, array: Option<Array>, sizes: Sizes) -> Result<Vec<usize>, Error> {
    let Some(array) = array else {
        return Ok(vec![sizes.length; sizes.cases]);
    };
    if array.shape != [sizes.cases] {
        return Err(wrong_shape(file, "lengths", &array.shape, format!("[{}], one for each case", sizes.cases)));
    }
    let numbers = array.data.into_f64().unwrap_or_else(|| vec![f64::NAN; sizes.cases]);
    let length = |(i, x): (usize, f64)| {
        let is_length = x >= 1.0 && x <= sizes.length as f64 && x.fract() == 0.0;
        let wanted = || format!("a whole number from 1 to {}", sizes.length);
        is_length.then_some(x as usize).ok_or_else(|| wrong_entry(file, "lengths", i, x, wanted()))
    };
    numbers.into_iter().enumerate().map(length).collect()
}

fn ids(file: &str, ids: Option<(String, Vec<String>)>, sizes: Sizes) -> Result<Vec<String>, Error> {
    let Some((name, ids)) = ids else {
        return Ok((1..=sizes.cases).map(|i| i.to_string()).collect());
    };
    if ids.len() != sizes.cases {
        return Err(wrong_shape(file, &name, &[ids.len()], format!("[{}], one for each case", sizes.cases)));
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

fn times(arrays: &Arrays, sizes: Sizes, lengths: &[usize], ids: &[String]) -> Result<(Clock, Vec<Vec<f64>>), Error> {
    let Some((name, array)) = &arrays.times else {
        let count = |&length: &usize| (0..length).map(|i| i as f64).collect();
        return Ok((Clock::Index, lengths.iter().map(count).collect()));
    };
    let file = &arrays.file;
    let is_shared = match array.shape[..] {
        [length] if length == sizes.length => true,
        [cases, length] if cases == sizes.cases && length == sizes.length => false,
        _ => {
            let wanted = format!("[{}] or [{}, {}]", sizes.length, sizes.cases, sizes.length);
            return Err(wrong_shape(file, name, &array.shape, wanted));
        }
    };
    let (clock, all) = clock_of(arrays, name, &array.data)?;
    let mut times = Vec::with_capacity(sizes.cases);
    for (case, &length) in lengths.iter().enumerate() {
        let start = if is_shared { 0 } else { case * sizes.length };
        let own = all[start..start + length].to_vec();
        for (i, &t) in own.iter().enumerate() {
            if !t.is_finite() {
                let seen = format!("time {i} (counted from 0) of case `{}` is `{t}`", ids[case]);
                return Err(wrong(file, name, seen, "a finite number"));
            }
            if i > 0 && own[i - 1] >= t {
                return Err(Error::TimeOrder {
                    at: place(file, name),
                    case: Some(shown(&ids[case])),
                    before: written(own[i - 1], clock),
                    seen: written(t, clock),
                    fix: "times must increase: sort them, and give `lengths` if series are padded",
                });
            }
        }
        times.push(own);
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
fn statics(arrays: &mut Arrays, sizes: Sizes) -> Result<(Vec<String>, Vec<Vec<f64>>), Error> {
    let Some(array) = arrays.statics.take() else {
        return Ok((vec![], vec![vec![]; sizes.cases]));
    };
    let count = match array.shape[..] {
        [cases, count] if cases == sizes.cases => count,
        [cases] if cases == sizes.cases => 1,
        _ => {
            let wanted = format!("[{}, covariates]", sizes.cases);
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
    Ok((names, (0..sizes.cases).map(of).collect()))
}

fn values(file: &str, (name, array): (String, Array), sizes: Sizes, lengths: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
    let Some(numbers) = array.data.into_f64() else {
        let seen = format!("it holds text in {} channels", sizes.channels);
        return Err(wrong(file, &name, seen, "numbers, or tokens in one channel"));
    };
    let size = sizes.length * sizes.channels;
    if let Some(i) = numbers.iter().position(|x| x.is_infinite()) {
        let entry = [i / size, i % size / sizes.channels, i % sizes.channels];
        return Err(wrong_entry(file, &name, entry, numbers[i], "finite numbers, or NaN where they are missing"));
    }
    let of = |(case, &length): (usize, &usize)| numbers[case * size..case * size + length * sizes.channels].to_vec();
    Ok(lengths.iter().enumerate().map(of).collect())
}
