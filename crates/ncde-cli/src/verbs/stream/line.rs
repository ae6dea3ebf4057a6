//! One line of input as an observation: a JSON object, or cells of CSV below a header. Cells, times and categories are read
//! as in the files that the model was trained on.

use std::borrow::Cow;

use ncde_data::{Clock, Duplicates, Given, Line, LineReader, ReadOptions, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::Span;

/// An observation, or the end of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observation {
    /// The name of its series; empty if it has none.
    pub(super) id: String,
    pub(super) time: When,
    /// NaN where a value is missing.
    pub(super) values: Vec<f64>,
    /// Counted only with the first observation of a series.
    pub(super) statics: Option<Vec<f64>>,
    /// The series ends after it.
    pub(super) end: bool,
    /// Rows of all channels for the next times; NaN where nothing is known.
    pub(super) ahead: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum When {
    At(f64),
    /// The file has no times: observations of a series are counted from 0, as `predict` does.
    Next,
    /// There is none: the line only ends the series.
    Never,
}

/// What the first line decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Unknown,
    Json,
    Csv,
}

pub(super) struct Reader {
    format: Format,
    lines: LineReader,
    has_statics: bool,
    duplicates: Duplicates,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    time: Value,
    #[serde(default)]
    values: Value,
    #[serde(default)]
    statics: Value,
    #[serde(default)]
    end: bool,
    #[serde(default)]
    ahead: Vec<Value>,
}

const WANTED: &str = "wanted an object such as {\"id\": \"a\", \"time\": 0.5, \"values\": [1.0, null]}";

impl Reader {
    pub(super) fn new(schema: Schema, options: ReadOptions) -> Self {
        let in_training = schema.table.as_ref().map(|layout| layout.duplicates);
        let duplicates = options.columns.duplicates.or(in_training).unwrap_or_default();
        let has_statics = !schema.statics.is_empty();
        Self { format: Format::Unknown, lines: LineReader::new(schema, options), has_statics, duplicates }
    }

    pub(super) fn is_csv(&self) -> bool {
        self.format == Format::Csv
    }

    /// What times are.
    pub(super) fn clock(&self) -> Clock {
        self.lines.clock()
    }

    /// A length of time in the unit of the times.
    pub(super) fn gap(&self, gap: Span) -> Result<f64, String> {
        match (self.lines.clock(), gap.has_unit) {
            (Clock::Dates, false) => Err("`--max-gap`: the times of this model are dates, so give a unit (s, m, h, d)".into()),
            (Clock::Numbers | Clock::Index, true) => {
                Err("`--max-gap`: the times of this model are numbers, so give a number in their unit".into())
            }
            _ => Ok(gap.amount),
        }
    }

    /// Whether a further observation of one time is left out, as it was in training; else it is refused as any time that does not increase.
    pub(super) fn leaves_out(&self) -> Result<bool, String> {
        let name = match self.duplicates {
            Duplicates::First => return Ok(true),
            Duplicates::Refuse => return Ok(false),
            Duplicates::Last => "last",
            Duplicates::Mean => "mean",
        };
        Err(format!(
            "a second observation of one time, where `--duplicates {name}` counts: in a stream the first was already taken and predicted from; \
             send one observation a time, or say `--duplicates first`"
        ))
    }

    /// The observation of a line; none for a header or an empty line. `say` is told of guesses.
    pub(super) fn read(&mut self, text: &[u8], say: impl Fn(&str)) -> Result<Option<Observation>, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        if self.format == Format::Unknown {
            if text.starts_with(b"{") {
                self.format = Format::Json;
            } else {
                // Before the header a spreadsheet says what stands between cells, and others write comments.
                let is_separator = text.len() == 5 && text[..4].eq_ignore_ascii_case(b"sep=");
                let is_comment = text.starts_with(b"#") && self.lines.header(&text[1..]).is_err();
                if is_separator || is_comment {
                    return Ok(None);
                }
                let text = text.strip_prefix(b"#").unwrap_or(text);
                let warnings = self.lines.header(text).map_err(|e| format!("this is neither JSON nor a CSV header: {e}"))?;
                self.format = Format::Csv;
                warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
                return Ok(None);
            }
        }
        let read = if self.format == Format::Csv { self.row(text) } else { self.object(text) };
        read.map(Some)
    }

    fn row(&mut self, text: &[u8]) -> Result<Observation, String> {
        let Line { id, time, values, statics, end } = self.lines.row(text).map_err(|e| e.to_string())?;
        let time = match time {
            None if end && values.iter().all(|x| x.is_nan()) => When::Never,
            time => time.map_or(When::Next, When::At),
        };
        Ok(Observation {
            id: id.unwrap_or_default(),
            time,
            values,
            statics: self.has_statics.then_some(statics),
            end,
            ahead: Vec::new(),
        })
    }

    fn object(&mut self, text: &[u8]) -> Result<Observation, String> {
        let text = without_nan(text);
        let line: Object = serde_json::from_slice(&text).map_err(|e| format!("{e}; {WANTED}"))?;
        if line.time.is_null() && !line.end {
            return Err(format!("there is no `time`; {WANTED}"));
        }
        let words = |e: ncde_data::Error| e.to_string();
        let id = match line.id {
            Value::Null => String::new(),
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            other => return Err(format!("the id is `{other}`; wanted a text or a number")),
        };
        let time = match &line.time {
            Value::Null => When::Never,
            time => When::At(self.lines.time(&given(time)?).map_err(words)?),
        };
        let values = match time {
            When::Never => Vec::new(),
            _ => self.numbers(&line.values, false)?,
        };
        let statics = match &line.statics {
            Value::Null => None,
            statics => Some(self.numbers(statics, true)?),
        };
        let ahead = line.ahead.iter().map(|row| self.numbers(row, false)).collect::<Result<_, _>>()?;
        Ok(Observation { id, time, values, statics, end: line.end, ahead })
    }

    /// The numbers of a list, or of values by name.
    fn numbers(&mut self, value: &Value, statics: bool) -> Result<Vec<f64>, String> {
        let what = if statics { "statics" } else { "values" };
        let numbers = match value {
            Value::Array(list) => {
                let list = list.iter().map(given).collect::<Result<Vec<Given>, String>>()?;
                self.lines.listed(&list, statics)
            }
            Value::Object(map) => self.lines.named(&pairs(map)?, statics),
            Value::Null => self.lines.listed(&[], statics),
            other => return Err(format!("`{what}` is `{other}`; {WANTED}, or values by name: {{\"x\": 1.0}}")),
        };
        numbers.map_err(|e| e.to_string())
    }
}

fn pairs(map: &Map<String, Value>) -> Result<Vec<(String, Given)>, String> {
    map.iter().map(|(name, value)| Ok((name.clone(), given(value)?))).collect()
}

fn given(value: &Value) -> Result<Given, String> {
    match value {
        Value::Null => Ok(Given::Missing),
        Value::Bool(is) => Ok(Given::Text(is.to_string())),
        Value::Number(number) => {
            let x = number.as_f64().filter(|x| x.is_finite());
            x.map(Given::Number).ok_or_else(|| format!("`{number}` is no number of 64 bits"))
        }
        Value::String(text) => Ok(Given::Text(text.clone())),
        other => Err(format!("`{other}` is no value; {WANTED}")),
    }
}

/// JSON with `null` for every `NaN`, which Python writes.
fn without_nan(text: &[u8]) -> Cow<'_, [u8]> {
    let is_nan = |at: usize| text[at..].len() >= 3 && text[at..at + 3].eq_ignore_ascii_case(b"nan");
    if !(0..text.len()).any(is_nan) {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len() + 8);
    let (mut at, mut is_text, mut is_escaped) = (0, false, false);
    while at < text.len() {
        let byte = text[at];
        if !is_text && is_nan(at) {
            plain.extend_from_slice(b"null");
            at += 3;
            continue;
        }
        if byte == b'"' && !is_escaped {
            is_text = !is_text;
        }
        is_escaped = is_text && byte == b'\\' && !is_escaped;
        plain.push(byte);
        at += 1;
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_null_but_not_in_texts() {
        let plain = |text: &str| String::from_utf8(without_nan(text.as_bytes()).into_owned()).unwrap();
        assert_eq!(plain(r#"{"values": [NaN, 1, nan]}"#), r#"{"values": [null, 1, null]}"#);
        assert_eq!(plain(r#"{"id": "NaN \" NaN", "values": [NaN]}"#), r#"{"id": "NaN \" NaN", "values": [null]}"#);
        assert_eq!(plain(r#"{"id": "a\\", "values": [NaN]}"#), r#"{"id": "a\\", "values": [null]}"#);
    }

    #[test]
    fn broken_lines_are_refused_or_observations() {
        let table =
            b"patient_id;Datum;Wert;sex;label\np1;03.04.2021 10:00;1,5;f;u\np1;14.04.2021;2,5;f;u\np2;03.04.2021;1.234,5;m;v\n";
        let numbers = b"id,time,x,y,label\na,0,1,2,u\na,1,3,,u\nb,0,5,6,v\n";
        let schemas = [&table[..], numbers]
            .map(|table| ncde_data::load_bytes("table.csv", table, &ReadOptions::default()).unwrap().schema());
        let seeds = [
            r#"{"id": "p1", "time": "15.04.2021", "values": {"Wert": "2,5"}, "statics": {"sex": "f"}}"#,
            r#"{"id": 7, "time": 0.5, "values": [1.0, null], "end": true}"#,
            r#"{"time": 2, "values": {"x": NaN, "y": -1e3}}"#,
            r#"{"id": "p1", "end": true}"#,
        ];
        let seeds = seeds.map(|seed| seed.as_bytes().to_vec());
        let (good, bad) = ncde_reference::mutation::mutants(&seeds, 2_000, |text| {
            let mut taken = false;
            for schema in &schemas {
                let mut reader = Reader::new(schema.clone(), ReadOptions::default());
                for line in text.split(|&byte| byte == b'\n') {
                    match reader.read(line, |_| {}) {
                        Ok(Some(line)) => {
                            let numbers = line.values.iter().chain(line.statics.iter().flatten());
                            assert!(numbers.clone().all(|x| !x.is_infinite()));
                            assert!(line.time == When::Never || line.values.len() == schema.channels.len());
                            assert!(line.statics.is_none_or(|statics| statics.len() == schema.statics.len()));
                            taken = true;
                        }
                        Ok(None) => {}
                        Err(problem) => assert!(problem.chars().count() < 10_000, "{problem}"),
                    }
                }
            }
            taken
        });
        assert!(good > 0 && bad > 0, "{good} good and {bad} bad lines");
    }
}
