//! JSON as a table: records, columns, lines of records, or an object a series with lists of its values.
//!
//! | file | what it is |
//! | --- | --- |
//! | `[{"id": "a", "time": 0, "x": 1}, ...]`, or such a list under a key | a row an object |
//! | `{"id": "a", "time": 0, "x": 1}` on each line (`.jsonl`, `.ndjson`) | the same |
//! | `{"id": ["a", ...], "x": [1, ...]}`, `{"columns": [...], "data": [[...], ...]}` | columns; pandas writes the latter as `split` |
//! | `{"id": "a", "label": "up", "time": [0, 1], "x": [1, 2]}` | a series: an object of these, or one a row of any of the above |
//!
//! The cells are those of a csv file of the same data, and all that follows is the same. `NaN`, as Python writes it, is missing.

mod rows;
mod value;

use std::borrow::Cow;

use super::Input;
use crate::Error;
use crate::error::at_line;
use rows::Rows;
use value::Value;

/// What a file should hold.
const WANTED: &str =
    "wanted a list of objects such as `[{\"id\": \"a\", \"time\": 0, \"x\": 1}]`, one a line, or an object of columns";

/// Keys under which a list of records may stand beside others.
const RECORDS: [&str; 9] = ["data", "records", "rows", "items", "results", "cases", "series", "observations", "values"];

/// The table of a file.
pub(super) fn open(input: &Input<'_>) -> Result<Input<'static>, Error> {
    let bytes = input.text()?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let values = parsed(bytes).or_else(|error| parsed(&without_nan(bytes)).map_err(|_| error));
    let values = values.map_err(|problem| Error::Broken { file: input.file().into(), what: "a JSON file", problem })?;
    let mut rows = Rows::new(input.file(), bytes.len());
    match <[(u64, Value); 1]>::try_from(values) {
        Ok([(_, only)]) => document(only, &mut rows)?,
        Err(lines) => lines.into_iter().try_for_each(|(line, value)| rows.record(line, value))?,
    }
    Ok(Input::grid(input.file(), rows.finish()?))
}

/// All values, each with the line it ends in.
fn parsed(bytes: &[u8]) -> Result<Vec<(u64, Value)>, String> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let (mut found, mut line, mut at) = (Vec::new(), 1, 0);
    while let Some(value) = values.next() {
        let value = value.map_err(|error| error.to_string())?;
        let end = values.byte_offset();
        line += bytes[at..end].iter().filter(|&&byte| byte == b'\n').count() as u64;
        at = end;
        found.push((line, value));
    }
    Ok(found)
}

/// The rows of a whole file.
fn document(value: Value, rows: &mut Rows) -> Result<(), Error> {
    match value {
        Value::List(records) => records.into_iter().try_for_each(|record| rows.record(0, record)),
        Value::Object(members) => object(members, rows),
        Value::Cell(_) => Err(Error::header(at_line(rows.file(), 0), "the file holds a single value", WANTED)),
    }
}

fn object(mut members: Vec<(String, Value)>, rows: &mut Rows) -> Result<(), Error> {
    let is_list =
        |value: &Value, is: fn(&Value) -> bool| matches!(value, Value::List(list) if !list.is_empty() && list.iter().all(is));
    let place = |members: &[(String, Value)], name: &str| members.iter().position(|(key, _)| key == name);
    if let (Some(names), Some(data)) = (place(&members, "columns"), place(&members, "data"))
        && is_list(&members[names].1, Value::is_cell)
        && is_list(&members[data].1, |value| matches!(value, Value::List(_)))
    {
        let data = std::mem::replace(&mut members[data].1, Value::List(vec![]));
        let names = std::mem::replace(&mut members[names].1, Value::List(vec![]));
        return split(names, data, rows);
    }
    let lists: Vec<usize> = (0..members.len()).filter(|&i| is_list(&members[i].1, Value::is_object)).collect();
    let named = lists.iter().copied().find(|&i| RECORDS.contains(&members[i].0.as_str()));
    let has_id = members.iter().any(|(key, value)| value.is_cell() && super::long::is_id(key));
    if let Some(i) = named.or(if let [only] = lists[..] { Some(only) } else { None }).filter(|_| !has_id) {
        return document(members.swap_remove(i).1, rows);
    }
    // Columns: lists, or objects by the number of the row, as pandas writes them.
    let columns: Option<Vec<(String, Vec<Value>)>> = members
        .iter()
        .map(|(name, value)| match value {
            Value::List(list) => Some((name.clone(), list.clone())),
            Value::Object(entries) => Some((name.clone(), entries.iter().map(|(_, value)| value.clone()).collect())),
            Value::Cell(_) => None,
        })
        .collect();
    match columns {
        Some(columns) if columns.iter().all(|(_, list)| list.iter().all(Value::is_cell)) => rows.columns(columns),
        _ => rows.record(0, Value::Object(members)),
    }
}

/// Names of columns, and rows of cells below them.
fn split(names: Value, data: Value, rows: &mut Rows) -> Result<(), Error> {
    let (Value::List(names), Value::List(data)) = (names, data) else { return Ok(()) };
    for (i, row) in data.into_iter().enumerate() {
        let Value::List(cells) = row else { continue };
        if cells.len() != names.len() {
            let seen = format!("entry {} of `data` has {} values, but there are {} columns", i + 1, cells.len(), names.len());
            return Err(Error::header(at_line(rows.file(), 0), seen, "write one for each column"));
        }
        let named = names.iter().zip(cells).filter_map(|(name, cell)| match name {
            Value::Cell(name) => Some((name.clone(), cell)),
            _ => None,
        });
        rows.record(0, Value::Object(named.collect()))?;
    }
    Ok(())
}

/// The same with `null` instead of `NaN`, and a text instead of `Infinity`, outside of texts.
fn without_nan(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (mut out, mut rest, mut is_text) = (Vec::with_capacity(bytes.len()), bytes, false);
    while let Some((&byte, after)) = rest.split_first() {
        let words: [(&[u8], &[u8]); 3] = [(b"NaN", b"null"), (b"-Infinity", b"\"-inf\""), (b"Infinity", b"\"inf\"")];
        if let Some((word, instead)) = words.iter().find(|(word, _)| !is_text && rest.starts_with(word)) {
            out.extend_from_slice(instead);
            rest = &rest[word.len()..];
            continue;
        }
        out.push(byte);
        rest = after;
        match byte {
            b'"' => is_text = !is_text,
            b'\\' if is_text => {
                out.extend(rest.first());
                rest = rest.get(1..).unwrap_or_default();
            }
            _ => {}
        }
    }
    Cow::Owned(out)
}
