//! Long csv: `id[,time],channels...,statics...[,label]`, statics on the first row of each case.

use std::io::{self, Write};

use super::{cannot, number};
use crate::error::{listed, shown};
use crate::text::cells::written;
use crate::text::number::{Cell, cell, is_missing};
use crate::text::time;
use crate::{Clock, Dataset, Error, Format, Targets};

/// The columns that are not channels or statics.
const RESERVED: [&str; 3] = ["id", "time", "label"];

pub(super) fn check(data: &Dataset) -> Result<(), Error> {
    let names: Vec<&String> = data.channels.iter().chain(&data.statics).collect();
    let cannot = |why: String, fix| Err(cannot(data, Format::Csv, why, fix));
    if names.is_empty() {
        return cannot("it has no channels".into(), "write npz");
    }
    let is_taken =
        |i: usize| RESERVED.iter().any(|reserved| names[i].eq_ignore_ascii_case(reserved)) || names[..i].contains(&names[i]);
    if let Some(i) = (0..names.len()).find(|&i| is_taken(i)) {
        return cannot(format!("the name `{}` is there twice, or taken", shown(names[i])), "rename the column");
    }
    let is_plain = |text: &str| !text.is_empty() && text.trim() == text && !text.contains(['\n', '\r']);
    let ids = data.cases.iter().map(|case| &case.id);
    if let Some(text) = names.iter().copied().chain(ids).find(|text| !is_plain(text)) {
        return cannot(format!("the name `{}` is blank or has blanks around it", shown(text)), "rename it");
    }
    if let Some(token) = data.vocabulary.iter().flatten().find(|token| !is_plain(token)) {
        return cannot(format!("the token `{}` is blank or has blanks around it", shown(token)), "write npz");
    }
    // Among texts `none` is a class; among numbers it is missing.
    let has_text = data.targets.classes().iter().any(|name| cell(name.as_bytes()) == Cell::Other);
    let is_read = |name: &String| !is_missing(name.as_bytes()) && (has_text || cell(name.as_bytes()) != Cell::Missing);
    let is_class = |name: &String| is_plain(name) && is_read(name);
    let bad: Vec<&String> = data.targets.classes().iter().filter(|name| !is_class(name)).collect();
    if !bad.is_empty() {
        return cannot(format!("classes {} would be read as missing", listed(&bad)), "rename them, or write npz");
    }
    Ok(())
}

pub(super) fn write(data: &Dataset, out: &mut impl Write) -> io::Result<()> {
    let has_times = data.times != Clock::Index;
    write!(out, "id")?;
    if has_times {
        write!(out, ",time")?;
    }
    for name in data.channels.iter().chain(&data.statics) {
        write!(out, ",{}", written(name))?;
    }
    writeln!(out, "{}", if data.targets == Targets::None { "" } else { ",label" })?;
    for (k, case) in data.cases.iter().enumerate() {
        let id = written(&case.id);
        for (i, &t) in case.times.iter().enumerate() {
            write!(out, "{id}")?;
            if has_times {
                write!(out, ",{}", time::written(t, data.times))?;
            }
            for &x in case.row(i, data.channels.len()) {
                match data.token(x) {
                    Some(token) => write!(out, ",{}", written(token))?,
                    None => {
                        write!(out, ",")?;
                        number(out, x, "")?;
                    }
                }
            }
            for &x in &case.statics {
                write!(out, ",")?;
                number(out, if i == 0 { x } else { f64::NAN }, "")?;
            }
            label(&data.targets, k, i, out)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn label(targets: &Targets, case: usize, step: usize, out: &mut impl Write) -> io::Result<()> {
    let class = |out: &mut _, name: &String| -> io::Result<()> { write!(out as &mut dyn Write, ",{}", written(name)) };
    let mut value = |x: f64| {
        write!(out, ",")?;
        number(out, x, "")
    };
    match targets {
        Targets::None => Ok(()),
        Targets::Values { of, .. } => value(of[case]),
        Targets::ValueSteps { of, .. } => value(of[case][step]),
        Targets::Classes { names, of } => class(out, &names[of[case]]),
        Targets::ClassSteps { names, of } => match of[case][step] {
            Some(index) => class(out, &names[index]),
            None => write!(out, ","),
        },
    }
}
