//! `.npz`: everything a dataset has, in the arrays that the reader knows; shorter series are padded with NaN, tokens with 0.

use std::io::{self, Seek, Write};

use super::cannot;
use crate::npy::{Array, Data, write_npz};
use crate::{Case, Clock, Dataset, Error, Format, Targets};

pub(super) fn check(data: &Dataset) -> Result<(), Error> {
    if data.channels.is_empty() || data.cases.is_empty() {
        return Err(cannot(data, Format::Npz, "it has no channels or no cases".into(), "write csv"));
    }
    let ends_in_zero = |text: &&String| text.ends_with('\0');
    let ids = data.cases.iter().map(|case| &case.id);
    let texts = ids.chain(&data.channels).chain(&data.statics).chain(data.targets.classes());
    let texts = texts.chain(data.vocabulary.iter().flatten()).chain([&data.name]);
    match { texts }.find(ends_in_zero) {
        None => Ok(()),
        Some(text) => Err(cannot(data, Format::Npz, format!("the name {text:?} ends in a zero byte"), "rename it")),
    }
}

pub(super) fn write(data: &Dataset, out: impl Write + Seek) -> io::Result<()> {
    let cases = data.cases.len();
    let channels = data.channels.len();
    let length = data.cases.iter().map(Case::len).max().unwrap_or(0);
    let mut values = Vec::with_capacity(cases * length * channels);
    for (k, case) in data.cases.iter().enumerate() {
        values.extend(&case.values);
        values.resize((k + 1) * length * channels, f64::NAN);
    }
    let values = match &data.vocabulary {
        Some(_) => Data::Int(values.into_iter().map(|x| x as i64).collect()),
        None => Data::F64(values),
    };
    let mut arrays = vec![
        ("X", Array { shape: vec![cases, length, channels], data: values }),
        ("ids", texts(data.cases.iter().map(|case| case.id.clone()).collect())),
        ("channels", texts(data.channels.clone())),
        ("name", Array { shape: vec![], data: Data::Text(vec![data.name.clone()]) }),
    ];
    if data.cases.iter().any(|case| case.len() != length) {
        let lengths = data.cases.iter().map(|case| case.len() as i64).collect();
        arrays.push(("lengths", Array { shape: vec![cases], data: Data::Int(lengths) }));
    }
    if data.times != Clock::Index {
        let mut times = Vec::with_capacity(cases * length);
        for (k, case) in data.cases.iter().enumerate() {
            times.extend(&case.times);
            times.resize((k + 1) * length, f64::NAN);
        }
        arrays.push(("times", Array { shape: vec![cases, length], data: Data::F64(times) }));
    }
    if data.times == Clock::Dates {
        arrays.push(("clock", Array { shape: vec![], data: Data::Text(vec!["dates".into()]) }));
    }
    if !data.statics.is_empty() {
        let statics = data.cases.iter().flat_map(|case| case.statics.iter().copied()).collect();
        arrays.push(("statics", Array { shape: vec![cases, data.statics.len()], data: Data::F64(statics) }));
        arrays.push(("static_names", texts(data.statics.clone())));
    }
    if let Some(vocabulary) = &data.vocabulary {
        arrays.push(("vocabulary", texts(vocabulary.clone())));
    }
    targets(data, length, &mut arrays);
    write_npz(&arrays, out)
}

fn texts(texts: Vec<String>) -> Array {
    Array { shape: vec![texts.len()], data: Data::Text(texts) }
}

fn targets(data: &Dataset, length: usize, arrays: &mut Vec<(&str, Array)>) {
    fn padded<T: Clone>(of: impl Iterator<Item = Vec<T>>, length: usize, padding: &T) -> Vec<T> {
        let pad = |mut of: Vec<T>| {
            of.resize(length, padding.clone());
            of
        };
        of.flat_map(pad).collect()
    }
    let cases = data.cases.len();
    let title = |name: &String| ("target_name", Array { shape: vec![], data: Data::Text(vec![name.clone()]) });
    let classes = |names: &Vec<String>| ("classes", texts(names.clone()));
    let (shape, y, names) = match &data.targets {
        Targets::None => return,
        Targets::Classes { names, of } => {
            (vec![cases], Data::Int(of.iter().map(|&class| class as i64).collect()), classes(names))
        }
        Targets::ClassSteps { names, of } => {
            let number = |class: &Option<usize>| class.map_or(-1, |class| class as i64);
            let of = padded(of.iter().map(|of| of.iter().map(number).collect()), length, &-1);
            (vec![cases, length], Data::Int(of), classes(names))
        }
        Targets::Values { name, of } => (vec![cases], Data::F64(of.clone()), title(name)),
        Targets::ValueSteps { name, of } => {
            (vec![cases, length], Data::F64(padded(of.iter().cloned(), length, &f64::NAN)), title(name))
        }
    };
    arrays.extend([("y", Array { shape, data: y }), names]);
}
