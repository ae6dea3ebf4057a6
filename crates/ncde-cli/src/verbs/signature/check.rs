//! From an array to observations: every check that can name a place in the file is made here.

use std::borrow::Cow;

use ncde_signature::Float;

use super::request::Request;
use crate::args::Missing;
use crate::array::{Input, Origin};
use crate::error::{Failure, refuse};

/// Observations `[batch, length, channels]`, without the column of times.
#[derive(Debug)]
pub(super) struct Observations<'a, T: Clone> {
    pub(super) name: &'a str,
    /// How many paths there are; none if the file holds a single one, without an axis for it.
    pub(super) batch: Option<usize>,
    pub(super) length: usize,
    pub(super) channels: usize,
    /// Finite, or NaN where missing values are to be filled.
    pub(super) values: Cow<'a, [T]>,
    /// Increasing along each path, `[batch, length]`.
    pub(super) times: Option<Vec<f64>>,
}

pub(super) fn observations<'a, T: Float>(
    request: &Request,
    input: &'a Input,
    values: &'a [T],
) -> Result<Observations<'a, T>, Failure> {
    let (batch, length, columns) = shape(request, input)?;
    let column = match &request.times_column {
        None => None,
        Some(name) => Some(times_column(input, name, columns)?),
    };
    finite(request, input, values, column)?;
    starts(request, input, values, column)?;
    let channels = columns - usize::from(column.is_some());
    if request.channels(channels) == 0 {
        return refuse(input, "has no channel beside the times; add `--time` to make the time a channel");
    }
    let (values, times) = match column {
        None => (Cow::Borrowed(values), None),
        Some(column) => {
            let times = times(input, values, column, length)?;
            let others = values.iter().enumerate().filter(|(i, _)| i % columns != column);
            (Cow::Owned(others.map(|(_, &x)| x).collect()), Some(times))
        }
    };
    Ok(Observations { name: &input.name, batch, length, channels, values, times })
}

fn refuse<R>(input: &Input, what: &str) -> Result<R, Failure> {
    Err(Failure::Refused(format!("`{}` {what}", input.name)))
}

fn shape(request: &Request, input: &Input) -> Result<(Option<usize>, usize, usize), Failure> {
    let shape = &input.array.shape;
    let (batch, length, columns) = match shape.as_slice() {
        [length, columns] => (None, *length, *columns),
        [batch, length, columns] => (Some(*batch), *length, *columns),
        _ => {
            let (n, noun) = (shape.len(), if shape.len() == 1 { "dimension" } else { "dimensions" });
            let hint = if n == 1 { "; `x.reshape(-1, 1)` makes one channel" } else { "" };
            return refuse(
                input,
                &format!("has {n} {noun}, {shape:?}; wanted [length, channels] or [batch, length, channels]{hint}"),
            );
        }
    };
    if batch == Some(0) || length == 0 || columns == 0 {
        return refuse(input, &format!("is empty: its shape is {shape:?}"));
    }
    if request.length(length) < 2 {
        return refuse(
            input,
            "has one observation; a path needs at least two (`--basepoint` puts an observation of zeros in front)",
        );
    }
    Ok((batch, length, columns))
}

/// The column, counted from 0, that a name or a number counted from 1 means.
fn times_column(input: &Input, name: &str, columns: usize) -> Result<usize, Failure> {
    let named = match &input.origin {
        Origin::Text { columns, .. } => columns.iter().position(|column| column == name),
        Origin::Entries => None,
    };
    let numbered = || name.parse().ok().filter(|n| (1..=columns).contains(n)).map(|n: usize| n - 1);
    if let Some(column) = named.or_else(numbered) {
        return Ok(column);
    }
    let has = match &input.origin {
        Origin::Text { columns, .. } => columns.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", "),
        Origin::Entries => format!("channels 1 to {columns}"),
    };
    refuse(input, &format!("has no column `{name}` for `--times`; it has {has}"))
}

fn finite<T: Float>(request: &Request, input: &Input, values: &[T], times: Option<usize>) -> Result<(), Failure> {
    let columns = input.array.shape.last().copied().unwrap_or(1);
    let is_bad = |i: usize, x: T| match request.missing {
        Some(_) if times != Some(i % columns) => !x.is_finite() && !x.is_nan(),
        _ => !x.is_finite(),
    };
    let Some(at) = values.iter().enumerate().position(|(i, &x)| is_bad(i, x)) else {
        return Ok(());
    };
    let place = input.place(at);
    let message = if !values[at].is_nan() {
        format!("the value is {}; wanted finite numbers", values[at])
    } else if times == Some(at % columns) {
        "the time is missing; drop the observation".into()
    } else {
        "the value is missing; fill gaps with `--missing forward` or `--missing interpolate`".into()
    };
    Err(Failure::Refused(format!("`{}`, {place}: {message}", input.name)))
}

/// Checks that every channel has a value from which, or along which, its gaps can be filled.
fn starts<T: Float>(request: &Request, input: &Input, values: &[T], times: Option<usize>) -> Result<(), Failure> {
    let [.., length, columns] = input.array.shape[..] else {
        return Ok(());
    };
    let Some(missing) = request.missing.filter(|_| !request.basepoint) else {
        return Ok(());
    };
    for (path, rows) in values.chunks_exact(length * columns).enumerate() {
        for column in (0..columns).filter(|&column| Some(column) != times) {
            let place = || input.place(path * length * columns + column);
            if rows[column..].iter().step_by(columns).all(|x| x.is_nan()) {
                refuse!(
                    "`{}`, {}: from here on this channel has no value at all; drop it, or start from zero with `--basepoint`",
                    input.name,
                    place()
                );
            }
            if missing == Missing::Forward && rows[column].is_nan() {
                refuse!(
                    "`{}`, {}: the first value is missing, so there is nothing to carry forward; start from zero with `--basepoint`, or use `--missing interpolate`",
                    input.name,
                    place()
                );
            }
        }
    }
    Ok(())
}

fn times<T: Float>(input: &Input, values: &[T], column: usize, length: usize) -> Result<Vec<f64>, Failure> {
    let columns = input.array.shape.last().copied().unwrap_or(1);
    let times: Vec<f64> = values[column..].iter().step_by(columns).map(|t| t.to_f64()).collect();
    for i in 1..times.len() {
        if i % length != 0 && times[i] <= times[i - 1] {
            refuse!(
                "`{}`, {}: the time {} comes after {}, but times must increase; sort the rows and merge repeated times",
                input.name,
                input.place(i * columns + column),
                times[i],
                times[i - 1]
            );
        }
    }
    Ok(times)
}
