//! Files the way people write them: each gets the right schema, or a question that names the flag which answers it; and lines one
//! at a time give what the file gives.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod files;

use std::collections::HashMap;

use files::Wanted::{Question, Schema};
use files::{Person, people, sorted};
use ncde_data::{Dataset, Duplicates, LineReader, Loaded, ReadOptions, Shape, TimeFormat, Warning, load_bytes, read_bytes};

/// Flags as the command line takes them.
fn options(flags: &str) -> ReadOptions {
    let mut options = ReadOptions::default();
    let mut words = flags.split_whitespace();
    while let Some(flag) = words.next() {
        if flag == "--sort" {
            options.columns.sort = Some(true);
            continue;
        }
        let value = words.next().unwrap();
        let list = || value.split(',').map(Into::into).collect::<Vec<String>>();
        match flag {
            "--id" => options.columns.id = Some(value.into()),
            "--time" => options.columns.time = Some(value.into()),
            "--label" => options.columns.label = Some(value.into()),
            "--static" => options.columns.statics = Some(list()),
            "--ignore" => options.columns.ignore = Some(list()),
            "--channels" => options.columns.channels = Some(list()),
            "--duplicates" => options.columns.duplicates = Some(named(&Duplicates::ALL, value)),
            "--time-format" => options.columns.time_format = Some(named(&TimeFormat::ALL, value)),
            "--missing" => options.columns.missing = Some(list()),
            "--shape" => options.columns.shape = Some(named(&Shape::ALL, value)),
            "--time-zone" => options.columns.time_zone = Some(value.into()),
            "--decimal" => options.columns.decimal = value.chars().next(),
            _ => panic!("no flag {flag}"),
        }
    }
    options
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> T {
    all.iter().find(|(known, _)| *known == name).unwrap().1
}

fn check(person: &Person) -> Result<(), String> {
    let loaded = load_bytes("people.csv", person.text.as_bytes(), &options(person.flags));
    let (schema, loaded) = match (person.wanted, loaded) {
        (Question(parts), Err(error)) => {
            let error = error.to_string();
            return if parts.iter().all(|part| error.contains(part)) { Ok(()) } else { Err(error) };
        }
        (Question(_), Ok(loaded)) => return Err(format!("no question: {}", loaded.layout.unwrap())),
        (Schema(_), Err(error)) => return Err(error.to_string()),
        (Schema(schema), Ok(loaded)) => (schema, loaded),
    };
    let told = loaded.layout.as_ref().unwrap().to_string();
    if told != schema {
        return Err(format!("{told}\n    wanted {schema}"));
    }
    let warnings: Vec<String> = loaded.warnings.iter().map(Warning::to_string).collect();
    let is_told =
        if person.warning.is_empty() { warnings.is_empty() } else { warnings.iter().any(|own| own.contains(person.warning)) };
    if !is_told {
        return Err(format!("warnings: {warnings:?}"));
    }
    // Read again, with the layout alone.
    let again = ReadOptions { layout: loaded.layout.clone(), ..ReadOptions::default() };
    let data = load_bytes("people.csv", person.text.as_bytes(), &again).map_err(|e| e.to_string())?;
    if format!("{:?}", data.data) != format!("{:?}", loaded.data) || !data.warnings.is_empty() {
        return Err(format!("another reading with its layout: {:?}", data.warnings));
    }
    lines(person, &loaded)
}

/// Every line through the reader of streams: the same numbers, bit for bit.
fn lines(person: &Person, loaded: &Loaded) -> Result<(), String> {
    let text = if person.flags == "--sort" { sorted(&person.text) } else { person.text.clone() };
    let mut reader = LineReader::new(loaded.schema(), ReadOptions::default());
    let mut lines = text.lines();
    let Some(_) = lines.by_ref().find(|line| reader.header(line.trim_start_matches('\u{feff}').as_bytes()).is_ok()) else {
        return Err("no line is a header".into());
    };
    let mut next: HashMap<String, usize> = HashMap::new();
    let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    for text in lines {
        let line = reader.row(text.as_bytes()).map_err(|e| format!("{text}: {e}"))?;
        let id = line.id.clone().unwrap();
        let case = loaded.data.cases.iter().find(|case| case.id == id).unwrap();
        let i = next.entry(id).or_default();
        if line.time.is_some_and(|time| *i > 0 && time == case.times[*i - 1]) {
            continue; // The first of several rows of one time counts.
        }
        let is_same = line.time.is_none_or(|time| time == case.times[*i])
            && bits(&line.values) == bits(case.row(*i, loaded.data.channels.len()))
            && (*i > 0 || bits(&line.statics) == bits(&case.statics));
        if !is_same {
            return Err(format!("{text}: {line:?}, but observation {i} of {case:?}"));
        }
        *i += 1;
    }
    let read: usize = next.values().sum();
    let all: usize = loaded.data.cases.iter().map(ncde_data::Case::len).sum();
    if read == all && loaded.data.cases.len() == 12 { Ok(()) } else { Err(format!("{read} of {all} lines")) }
}

#[test]
fn every_file_gets_its_schema_or_its_question() {
    let people = people();
    assert!(people.len() >= 60, "{}", people.len());
    let problems: String =
        people.iter().filter_map(|person| check(person).err().map(|e| format!("{}: {e}\n", person.name))).collect();
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn the_same_numbers_however_they_are_written() {
    let numbers = |data: &Dataset| data.cases.iter().map(|case| (case.id.clone(), case.values.clone())).collect::<Vec<_>>();
    let people = people();
    let read = |name: &str| {
        let person = people.iter().find(|person| person.name == name).unwrap();
        read_bytes("people.csv", person.text.as_bytes(), &options(person.flags)).unwrap()
    };
    let plain = read("plain");
    for name in ["tabs", "bars", "semicolons", "windows", "spreadsheet", "comments", "decimal comma", "decimal comma and points"]
        .into_iter()
        .chain([
            "decimal comma and spaces",
            "thousands",
            "apostrophes",
            "units in headers",
            "iso",
            "unix",
            "patient_id",
            "pandas",
        ])
    {
        assert_eq!(numbers(&read(name)), numbers(&plain), "{name}");
        assert_eq!(read(name).targets, plain.targets, "{name}");
    }
    // Days and months in their places.
    let times = |name: &str| read(name).cases.iter().map(|case| case.times.clone()).collect::<Vec<_>>();
    assert_eq!(times("us"), times("slashes"));
    assert_eq!(times("european slashes"), times("days"));
    assert_eq!(times("compact"), times("days"));
    assert_eq!(times("iso"), times("unix"));
    assert_eq!(times("unix ms").concat()[0], times("unix").concat()[0] + 0.5);
    let sorted = read("unsorted, answered");
    let by_id = |data: &Dataset| numbers(data).into_iter().collect::<HashMap<_, _>>();
    assert_eq!(by_id(&sorted), by_id(&plain));
    assert_eq!(by_id(&read("twice, answered")), by_id(&plain));
}
