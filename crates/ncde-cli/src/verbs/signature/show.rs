//! Answers on stdout: a table if it is small, a summary if it is not, or JSON.

use serde::Serialize;

use super::compute::Answer;
use crate::array::Data;
use crate::error::Failure;
use crate::output;
use crate::table::{Column, Table, short};

/// What can be read as a table.
const MAX_COORDINATES: usize = 64;
const MAX_ROWS: usize = 8;

/// How many coordinates a summary picks out.
const LARGEST: usize = 5;

#[derive(Serialize)]
struct Json<'a> {
    labels: Vec<String>,
    shape: &'a [usize],
    values: &'a Data,
}

pub(super) fn json(answer: &Answer) -> Result<(), Failure> {
    let array = &answer.rows.array;
    let json = Json { labels: answer.signature.labels(), shape: &array.shape, values: &array.data };
    output::json(&json)
}

pub(super) fn table(answer: &Answer) -> Result<(), Failure> {
    let is_small = answer.signature.len() <= MAX_COORDINATES && answer.rows.count() <= MAX_ROWS;
    let text = if is_small { whole(answer) } else { summary(answer) };
    output::data(|out| out.write_all(text.as_bytes()))?;
    if !is_small {
        output::info("this is a summary; `--output FILE.npy`, .npz or .csv keeps all coordinates");
    }
    Ok(())
}

/// A column for each row of the answer.
pub(super) fn whole(answer: &Answer) -> String {
    let width = answer.signature.len();
    let column = |row: usize| Column {
        head: name(answer, row),
        cells: (0..width).map(|i| short(answer.rows.array.data.get(row * width + i))).collect(),
    };
    let table = Table {
        corner: "coordinate".into(),
        labels: answer.signature.labels(),
        columns: (0..answer.rows.count()).map(column).collect(),
    };
    format!("{}\n{}", answer.title(), table.render(output::width()))
}

/// `path 2, window 3`.
fn name(answer: &Answer, row: usize) -> String {
    let index = answer.rows.index(row);
    let parts = answer.rows.axes.iter().zip(index).map(|(axis, i)| format!("{axis} {i}"));
    let name = parts.collect::<Vec<_>>().join(", ");
    if name.is_empty() { "value".into() } else { name }
}

fn summary(answer: &Answer) -> String {
    let (array, width) = (&answer.rows.array, output::width());
    let levels = answer.levels();
    let levels = Table {
        corner: "level".into(),
        labels: (1..=levels.len()).map(|k| k.to_string()).collect(),
        columns: vec![Column { head: "coordinates".into(), cells: levels.iter().map(ToString::to_string).collect() }],
    };
    let labels = answer.signature.labels();
    let largest = largest(&array.data);
    let label = |&i: &usize| match answer.rows.axes.as_slice() {
        [] => labels[i].clone(),
        _ => format!("{}: {}", name(answer, i / labels.len()), labels[i % labels.len()]),
    };
    let largest = Table {
        corner: "largest".into(),
        labels: largest.iter().map(label).collect(),
        columns: vec![Column { head: "value".into(), cells: largest.iter().map(|&i| short(array.data.get(i))).collect() }],
    };
    let mut axes: Vec<&str> = answer.rows.axes.clone();
    axes.push("coordinate");
    format!(
        "{}\nshape {:?} ({}), {}\n\n{}\n{}",
        answer.title(),
        array.shape,
        axes.join(", "),
        array.data.dtype(),
        levels.render(width),
        largest.render(width)
    )
}

/// The places of the largest absolute values, largest first.
fn largest(data: &Data) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    for i in 0..data.len() {
        let x = data.get(i).abs();
        let place = places.partition_point(|&j| data.get(j).abs() >= x);
        if place < LARGEST {
            places.insert(place, i);
            places.truncate(LARGEST);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first() {
        let data = Data::F64(vec![1.0, -7.0, 3.0, 0.0, 5.0, -2.0, 7.0]);
        assert_eq!(largest(&data), [1, 6, 4, 2, 5]);
    }
}
