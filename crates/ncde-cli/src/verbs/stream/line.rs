//! One line of input as an observation: a JSON object, or cells of CSV below a header.

use std::collections::HashMap;

use ncde_runtime::ModelSpec;
use serde::Deserialize;

/// An observation, or the end of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observation {
    /// The name of its series; empty if it has none.
    pub(super) id: String,
    /// When it was made.
    pub(super) time: When,
    /// NaN where a value is missing.
    pub(super) values: Vec<f64>,
    /// Counted only with the first observation of a series.
    pub(super) statics: Option<Vec<f64>>,
    /// The series ends after it.
    pub(super) end: bool,
}

/// When an observation was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum When {
    At(f64),
    /// The file has no times: observations of a series are counted from 0, as `predict` does.
    Next,
    /// There is none: the line only ends the series.
    Never,
}

/// What the first line decides.
enum Format {
    Unknown,
    Json,
    Csv(Columns),
}

/// Where cells are.
struct Columns {
    id: Option<usize>,
    time: Option<usize>,
    channels: Vec<usize>,
    statics: Option<Vec<usize>>,
    width: usize,
}

pub(super) struct Reader {
    format: Format,
    channels: Vec<String>,
    statics: Vec<String>,
    tokens: Option<Tokens>,
    record: csv::StringRecord,
}

/// The numbers of tokens, for a model of tokens.
struct Tokens {
    numbers: HashMap<String, usize>,
}

impl Tokens {
    fn new(vocabulary: &[String]) -> Self {
        Self { numbers: vocabulary.iter().enumerate().map(|(i, token)| (token.clone(), i)).collect() }
    }

    fn number(&self, token: &str) -> Result<f64, String> {
        let found = self.numbers.get(token).or_else(|| self.numbers.get(ncde_data::UNKNOWN));
        found.map(|&i| i as f64).ok_or_else(|| {
            let mut known: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
            known.sort_unstable();
            known.truncate(8);
            format!(
                "token `{token}` is not one the model was trained on ({}, ...); train with `--set unknown=true` to allow others",
                known.join(", ")
            )
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    id: Option<Id>,
    time: Option<f64>,
    #[serde(default)]
    values: Vec<Option<Value>>,
    #[serde(default)]
    statics: Option<Vec<Option<f64>>>,
    #[serde(default)]
    end: bool,
}

/// A number, or a token.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(serde_json::Number),
}

impl Reader {
    pub(super) fn new(spec: &ModelSpec) -> Self {
        Self {
            format: Format::Unknown,
            channels: spec.channels.clone(),
            statics: spec.statics.clone(),
            tokens: spec.vocabulary.as_deref().map(Tokens::new),
            record: csv::StringRecord::new(),
        }
    }

    pub(super) fn is_csv(&self) -> bool {
        matches!(self.format, Format::Csv(_))
    }

    /// The observation of a line; none for a header or an empty line.
    pub(super) fn read(&mut self, text: &[u8]) -> Result<Option<Observation>, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        if matches!(self.format, Format::Unknown) {
            if text.starts_with(b"{") {
                self.format = Format::Json;
            } else {
                let header = cells(text, &mut self.record)?;
                self.format = Format::Csv(columns(header, &self.channels, &self.statics)?);
                return Ok(None);
            }
        }
        match &self.format {
            Format::Csv(columns) => row(columns, cells(text, &mut self.record)?, self.tokens.as_ref()).map(Some),
            Format::Json | Format::Unknown => object(text, self.tokens.as_ref()).map(Some),
        }
    }
}

fn object(text: &[u8], tokens: Option<&Tokens>) -> Result<Observation, String> {
    let wanted = "wanted an object such as {\"id\": \"a\", \"time\": 0.5, \"values\": [1.0, null]}";
    let line: Line = serde_json::from_slice(text).map_err(|e| format!("{e}; {wanted}"))?;
    if line.time.is_none() && !line.end {
        return Err(format!("there is no `time`; {wanted}"));
    }
    let numbers = |values: Vec<Option<f64>>| values.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect();
    let value = |value: Option<Value>| match (value, tokens) {
        (None, _) => Ok(f64::NAN),
        (Some(Value::Number(x)), None) => Ok(x),
        (Some(Value::Number(x)), Some(tokens)) => tokens.number(&x.to_string()),
        (Some(Value::Text(token)), Some(tokens)) => tokens.number(&token),
        (Some(Value::Text(text)), None) => Err(format!("`{text}` is not a number; {wanted}")),
    };
    Ok(Observation {
        id: match line.id {
            None => String::new(),
            Some(Id::Text(text)) => text,
            Some(Id::Number(number)) => number.to_string(),
        },
        time: line.time.map_or(When::Never, When::At),
        values: line.values.into_iter().map(value).collect::<Result<_, _>>()?,
        statics: line.statics.map(numbers),
        end: line.end,
    })
}

fn cells<'a>(text: &[u8], record: &'a mut csv::StringRecord) -> Result<&'a csv::StringRecord, String> {
    let text = std::str::from_utf8(text).map_err(|e| format!("not CSV: {e}"))?;
    // A CSV reader is made for whole files: to make one for each line takes far longer than to predict.
    if !text.contains('"') {
        record.clear();
        text.split(',').for_each(|cell| record.push_field(cell.trim()));
        return Ok(record);
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    reader.read_record(record).map_err(|e| format!("not CSV: {e}"))?;
    Ok(record)
}

fn columns(header: &csv::StringRecord, channels: &[String], statics: &[String]) -> Result<Columns, String> {
    let find = |name: &str| header.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    let need = |name: &String| {
        find(name).ok_or_else(|| {
            format!("the first line is neither JSON nor a CSV header with a column `{name}`, a channel of the model")
        })
    };
    let statics: Option<Vec<usize>> = statics.iter().map(|name| find(name)).collect();
    Ok(Columns {
        id: find("id"),
        time: find("time"),
        channels: channels.iter().map(need).collect::<Result<_, _>>()?,
        statics: statics.filter(|own| !own.is_empty()),
        width: header.len(),
    })
}

fn row(columns: &Columns, cells: &csv::StringRecord, tokens: Option<&Tokens>) -> Result<Observation, String> {
    if cells.len() != columns.width {
        return Err(format!("{} cells, but the header has {}", cells.len(), columns.width));
    }
    let number = |i: usize| match &cells[i] {
        "" | "?" | "NA" | "NaN" | "nan" | "null" => Ok(f64::NAN),
        cell => cell.parse::<f64>().map_err(|_| format!("column {}: `{cell}` is not a number", i + 1)),
    };
    let numbers = |places: &[usize]| places.iter().map(|&i| number(i)).collect::<Result<Vec<f64>, String>>();
    Ok(Observation {
        id: columns.id.map_or(String::new(), |i| cells[i].to_owned()),
        time: columns.time.map_or(Ok(When::Next), |i| number(i).map(When::At))?,
        values: match tokens {
            None => numbers(&columns.channels)?,
            Some(tokens) => columns.channels.iter().map(|&i| tokens.number(&cells[i])).collect::<Result<_, _>>()?,
        },
        statics: columns.statics.as_deref().map(numbers).transpose()?,
        end: false,
    })
}
