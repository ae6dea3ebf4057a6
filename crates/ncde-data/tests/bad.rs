//! Bad input is a folder of files with the message each must produce.
//!
//! `bad/expected.txt` names a file and the options it is read with, then, indented, the message. Files too large for a folder
//! are made here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ncde_data::{Format, ReadOptions, Targets, TaskName, read, read_bytes};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

/// `labels=FILE`, `task=regression` and so on.
fn options(words: &[&str]) -> ReadOptions {
    let mut options = ReadOptions::default();
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        let text = Some(value.to_string());
        match key {
            "labels" => options.labels = Some(folder().join(value)),
            "id" => options.columns.id = text,
            "time" => options.columns.time = text,
            "tokens" => options.columns.tokens = text,
            "label" => options.columns.label = text,
            "ignore" => options.columns.ignore = Some(value.split(',').map(Into::into).collect()),
            "channels" => options.columns.channels = Some(value.split(',').map(Into::into).collect()),
            "statics" => options.columns.statics = Some(value.split(',').map(Into::into).collect()),
            "format" => options.format = Some(value.parse().unwrap()),
            "task" => options.task = Some(if value == "regression" { TaskName::Regression } else { TaskName::Classification }),
            _ => panic!("no option {key}"),
        }
    }
    options
}

#[test]
fn every_bad_file_gives_its_message() {
    let folder = folder();
    let prefix = format!("{}/", folder.display());
    let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
    let mut lines = expected.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = String::new();
    let mut count = 0;
    while let (Some(name), Some(message)) = (lines.next(), lines.next()) {
        let words: Vec<&str> = name.split(' ').collect();
        let seen = match read(folder.join(words[0]), &options(&words[1..])) {
            Ok(data) => format!("nothing is wrong: {} cases", data.cases.len()),
            Err(error) => error.to_string().replace(&prefix, ""),
        };
        if seen != message.trim_start() {
            wrong += &format!("{name}\n    {seen}\n");
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "other messages:\n{wrong}");
    assert!(count >= 45, "only {count} bad files");
}

#[test]
fn every_file_of_the_folder_is_expected() {
    let folder = folder();
    let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
    let named: BTreeSet<&str> = expected.split([' ', '\n', '=']).collect();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(["expected.txt", ".gitattributes"].contains(&name.as_str()) || named.contains(name.as_str()), "{name}");
    }
}

#[test]
fn messages_are_of_one_kind() {
    let expected = fs::read_to_string(folder().join("expected.txt")).unwrap();
    for message in expected.lines().filter(|line| line.starts_with("    ")) {
        assert!(!message.ends_with('.'), "no period at the end: {message}");
        assert!(message.starts_with("    `") || message.trim_start().starts_with(char::is_lowercase), "lower case: {message}");
        assert!(message.len() < 400, "too long: {message}");
    }
}

fn of(format: Format) -> ReadOptions {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

#[test]
fn a_line_of_ten_megabytes_is_fine() {
    let values = vec!["1.25"; 2_000_000].join(",");
    let text = format!("@problemName p\n@classLabel true a\n@data\n{values}:a\n");
    assert!(text.len() > 9_900_000);
    let data = read_bytes("long.ts", text.as_bytes(), &of(Format::Ts)).unwrap();
    assert_eq!(data.cases[0].len(), 2_000_000);
}

#[test]
fn a_long_line_without_sense_gives_a_short_message() {
    let nonsense = vec![b'x'; 10_000_000];
    for format in [Format::Ts, Format::Arff, Format::Csv, Format::Npz, Format::Npy] {
        let message = read_bytes("long", &nonsense, &of(format)).unwrap_err().to_string();
        assert!(message.len() < 300, "{message}");
    }
    let text = format!("id,time,x\na,0,1\na,1,{}\n", "x".repeat(10_000_000));
    let message = read_bytes("long.csv", text.as_bytes(), &of(Format::Csv)).unwrap_err().to_string();
    let start = "`long.csv`, line 3, column `x`: `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...` is not a number;";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn a_file_that_is_not_there() {
    let message = read(Path::new("nowhere.ts"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("cannot open `nowhere.ts`: "), "{message}");
    let options = ReadOptions { labels: Some("nowhere.csv".into()), ..ReadOptions::default() };
    let message = read(folder().join("series.csv"), &options).unwrap_err().to_string();
    assert!(message.starts_with("cannot open `nowhere.csv`: "), "{message}");
}

#[test]
fn odd_but_good_files_are_read() {
    let csv = |text: &str| read_bytes("odd.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
    let plain = csv("id,time,x,label\na,0,1,up\nb,0,2,up\n");
    // Windows, a byte order mark, blank lines at the end, tabs, and no end of the last line.
    assert_eq!(csv("\u{feff}id,time,x,label\r\na,0,1,up\r\nb,0,2,up\r\n\r\n\n"), plain);
    assert_eq!(csv("id\ttime\tx\tlabel\na\t0\t1\tup\nb\t0\t2\tup"), plain);
    assert_eq!(csv("id;time;x;label\na;0;1;up\nb;0;2;up"), plain);
    // One class is enough to be read.
    assert_eq!(plain.targets, Targets::Classes { names: vec!["up".into()], of: vec![0, 0] });
    let ts = |text: &[u8]| read_bytes("odd.ts", text, &ReadOptions::default()).unwrap();
    let plain = ts(b"@problemName p\n@classLabel true a b\n@data\n1,2:a\n");
    assert_eq!(ts(b"\xef\xbb\xbf# caf\xe9\r\n@PROBLEMNAME p\r\n@classlabel TRUE a b\r\n\r\n@DATA\r\n 1 , 2 : a \r\n\r\n"), plain);
}
