//! `.ts`: a header, then a line for each case, dimensions separated by `:`; with time stamps unless times are counted.

use std::io::{self, Write};

use super::{cannot, number};
use crate::error::shown;
use crate::text::time;
use crate::{Case, Clock, Dataset, Error, Format, Targets};

pub(super) fn check(data: &Dataset) -> Result<(), Error> {
    let cannot = |why: &str, fix| Err(cannot(data, Format::Ts, why.into(), fix));
    if data.channels.is_empty() {
        return cannot("it has no channels", "write npz");
    }
    if data.vocabulary.is_some() {
        return cannot("it holds tokens", "write csv or npz");
    }
    if !data.statics.is_empty() {
        return cannot("it has static covariates", "write csv or npz");
    }
    if matches!(data.targets, Targets::ClassSteps { .. } | Targets::ValueSteps { .. }) {
        return cannot("observations have labels of their own", "write csv or npz");
    }
    let is_word = |name: &String| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || ":()".contains(c));
    if let Some(class) = data.targets.classes().iter().find(|class| !is_word(class)) {
        return cannot(&format!("the class `{}` is not one word", shown(class)), "rename it, or write csv or npz");
    }
    Ok(())
}

pub(super) fn write(data: &Dataset, out: &mut impl Write) -> io::Result<()> {
    let lengths: Vec<usize> = data.cases.iter().map(Case::len).collect();
    let is_equal = lengths.windows(2).all(|two| two[0] == two[1]);
    let is_missing = data.cases.iter().any(|case| case.values.iter().any(|x| x.is_nan()));
    let name: Vec<&str> = data.name.split_whitespace().collect();
    writeln!(out, "@problemName {}", name.join(" "))?;
    writeln!(out, "@timeStamps {}", data.times != Clock::Index)?;
    writeln!(out, "@missing {is_missing}")?;
    writeln!(out, "@univariate {}", data.channels.len() == 1)?;
    writeln!(out, "@dimensions {}", data.channels.len())?;
    writeln!(out, "@equalLength {is_equal}")?;
    if let (true, Some(length)) = (is_equal, lengths.first()) {
        writeln!(out, "@seriesLength {length}")?;
    }
    match &data.targets {
        Targets::Classes { names, .. } => writeln!(out, "@classLabel true {}", names.join(" "))?,
        Targets::Values { .. } => writeln!(out, "@targetLabel true")?,
        _ => writeln!(out, "@classLabel false")?,
    }
    writeln!(out, "@data")?;
    for (k, case) in data.cases.iter().enumerate() {
        for channel in 0..data.channels.len() {
            if channel > 0 {
                write!(out, ":")?;
            }
            dimension(data, case, channel, out)?;
        }
        match &data.targets {
            Targets::Classes { names, of } => write!(out, ":{}", names[of[k]])?,
            Targets::Values { of, .. } => {
                write!(out, ":")?;
                number(out, of[k], "?")?;
            }
            _ => {}
        }
        writeln!(out)?;
    }
    Ok(())
}

fn dimension(data: &Dataset, case: &Case, channel: usize, out: &mut impl Write) -> io::Result<()> {
    for (i, &t) in case.times.iter().enumerate() {
        if i > 0 {
            write!(out, ",")?;
        }
        let x = case.row(i, data.channels.len())[channel];
        if data.times == Clock::Index {
            number(out, x, "?")?;
        } else {
            write!(out, "({},", time::written(t, data.times))?;
            number(out, x, "?")?;
            write!(out, ")")?;
        }
    }
    Ok(())
}
