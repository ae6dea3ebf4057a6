//! Files the way people write them: each gets the right schema, or a question that names the flag which answers it; and a
//! stream of its lines says what `predict` says of the file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use crate::common::{Folder, parse_csv};

use std::collections::HashMap;

#[path = "../../ncde-data/tests/people/files/mod.rs"]
mod files;

use files::Wanted::{Question, Schema};
use files::{Person, marked, people, sorted, table};

/// A model that is trained in a moment.
const QUICK: &str = "--model signature --set depth=2 --steps 10 --threads 1";

/// The last prediction of each series.
fn last(rows: &[Vec<String>]) -> HashMap<String, Vec<String>> {
    let before = rows[0].iter().position(|name| name == "prediction").unwrap();
    rows[1..].iter().map(|row| (row[0].clone(), row[before..].to_vec())).collect()
}

fn check(person: &Person) -> Result<(), String> {
    let folder = Folder::new().with("people.csv", &person.text);
    let train = folder.run(&format!("train --data people.csv {} --out run {QUICK}", person.flags));
    let schema = match person.wanted {
        Question(parts) => {
            let missing: Vec<&&str> = parts.iter().filter(|part| !train.stderr.contains(**part)).collect();
            return if train.code == Some(2) && missing.is_empty() {
                Ok(())
            } else {
                Err(format!("no {missing:?} in {train:?}"))
            };
        }
        Schema(schema) => schema,
    };
    if train.code != Some(0) {
        return Err(train.stderr);
    }
    let told = train.stderr.lines().find_map(|line| line.strip_prefix("schema: ")).unwrap_or("none");
    if told != schema {
        return Err(format!("{told}\n    wanted {schema}"));
    }
    if !train.stderr.contains(person.warning) || (person.warning.is_empty() && train.stderr.contains("warning: column")) {
        return Err(format!("warnings: {}", train.stderr));
    }
    // Nothing is said to these: the model knows.
    let whole = folder.run("predict run --data people.csv");
    let lines = if person.flags == "--sort" { sorted(&person.text) } else { person.text.clone() };
    let streamed = folder.run_with("stream run --bad stop", &lines);
    if whole.code != Some(0) || streamed.code != Some(0) {
        return Err(format!("{}{}", whole.stderr, streamed.stderr));
    }
    let (whole, streamed) = (last(&parse_csv(&whole.stdout)), last(&parse_csv(&streamed.stdout)));
    if whole.len() != 12 || streamed.len() != 12 {
        return Err(format!("{} and {} series", whole.len(), streamed.len()));
    }
    for (id, wanted) in &whole {
        let seen = &streamed[id];
        let number = |text: &String| text.parse::<f64>().unwrap();
        let is_close = wanted[1..].iter().zip(&seen[1..]).all(|(a, b)| (number(a) - number(b)).abs() <= 1e-5);
        if wanted[0] != seen[0] || !is_close {
            return Err(format!("{id}: {wanted:?} of the file, {seen:?} of the stream"));
        }
    }
    Ok(())
}

#[test]
fn people_write_files_in_many_ways() {
    let people = people();
    assert!(people.len() >= 60, "{}", people.len());
    // Side by side: most of the time goes into starting programs.
    let each = |people: &[Person]| -> String {
        people.iter().filter_map(|person| check(person).err().map(|problem| format!("{}: {problem}\n", person.name))).collect()
    };
    let half = people.len() / 2;
    let problems = std::thread::scope(|scope| {
        let first = scope.spawn(|| each(&people[..half]));
        let second = each(&people[half..]);
        first.join().unwrap() + &second
    });
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn what_a_model_remembers_is_obeyed_and_overridden() {
    let text = table("who;wann;x;sex;what", |r| {
        format!(
            "{};{:02}.03.2021;{};{};{}",
            r.id(),
            r.day(),
            marked(r.x, ",", ""),
            if r.series.is_multiple_of(3) { "f" } else { "m" },
            r.label()
        )
    });
    let folder = Folder::new().with("train.csv", &text);
    folder.run(&format!("train --data train.csv --id who --time wann --label what --out run {QUICK}")).ok();
    let all = folder.run("predict run --data train.csv").ok().stdout.clone();
    // Another order, no labels, a column that is not known, and a comma between cells.
    let other = table("extra,sex,wann,x,who", |r| {
        format!(
            "7,{},{:02}.03.2021,\"{}\",{}",
            if r.series.is_multiple_of(3) { "f" } else { "m" },
            r.day(),
            marked(r.x, ",", ""),
            r.id()
        )
    });
    let folder = folder.with("other.csv", &other);
    let run = folder.run("predict run --data other.csv");
    assert_eq!(run.ok().stdout, all);
    assert!(run.stderr.contains("columns `extra` are not known to the model"), "{}", run.stderr);
    assert!(folder.run("eval run --data train.csv --json").json()["accuracy"].is_number());
    assert!(folder.run("data other.csv --model run").ok().stderr.contains("schema: who -> id, wann -> time (day first, UTC)"));
    // A category, a time, a column that training did not see.
    let word = other.replace("7,f", "7,x");
    let folder = folder.with("word.csv", &word);
    folder.run("predict run --data word.csv").failed(2, &["column `sex`: `x` is not one of those seen in training: `f`, `m`"]);
    let point = folder.run_with("stream run", "who;wann;x;sex\na;01.03.2021;1.5;f\n");
    assert!(point.stderr.contains("line 2: column `x`: `1.5` is not a number") && point.stdout.is_empty(), "{point:?}");
    let folder = folder.with("renamed.csv", other.replace("wann", "when").replace("who", "subject"));
    folder.run("predict run --data renamed.csv").failed(2, &["the model was trained with times in `wann`", "--time none"]);
    folder.run("predict run --data renamed.csv --time when").failed(2, &["there is no column `who`", "`subject`", "--id"]);
    assert_eq!(folder.run("predict run --data renamed.csv --time when --id subject").ok().stdout, all);
    let late = folder.run_with("stream run --id subject", &other.replace("wann", "when").replace("who", "subject"));
    assert!(late.stderr.contains("the model was trained with times in `wann`"), "{}", late.stderr);
}

#[test]
fn lines_of_json_have_names_words_and_gaps() {
    let text = table("id,timestamp,state,sex,x,label", |r| {
        let (state, sex) = (["on", "off"][(r.series + r.k) % 2], if r.series.is_multiple_of(3) { "f" } else { "m" });
        let x = if r.k == 1 { String::new() } else { r.x.to_string() };
        format!("{},2021-03-04 {},{state},{sex},{x},{}", r.id(), r.clock(), r.label())
    });
    let folder = Folder::new().with("train.csv", &text);
    folder.run(&format!("train --data train.csv --out run {QUICK}")).ok();
    let whole = last(&folder.run("predict run --data train.csv").csv());
    let json: String = parse_csv(&text)[1..]
        .iter()
        .map(|row| {
            let x = if row[4].is_empty() { "NaN" } else { &row[4] };
            format!("{{\"id\": \"{}\", \"time\": \"{}\", \"values\": {{\"x\": {x}, \"state\": \"{}\"}}, \"statics\": {{\"sex\": \"{}\"}}}}\n", row[0], row[1], row[2], row[3])
        })
        .collect();
    let run = folder.run_with("stream run", &json);
    let mut seen = HashMap::new();
    for line in run.ok().stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        seen.insert(value["id"].as_str().unwrap().to_owned(), value);
    }
    for (id, wanted) in &whole {
        assert_eq!(seen[id]["prediction"], wanted[0].as_str(), "{id}");
        let up = seen[id]["probabilities"]["up"].as_f64().unwrap();
        assert!((up - wanted[2].parse::<f64>().unwrap()).abs() <= 1e-5, "{id}: {up} and {wanted:?}");
    }
    let bad = "{\"time\": \"2021-03-04\", \"values\": {\"z\": 1}}\n{\"time\": \"2021-03-04\", \"values\": {\"state\": \"half\"}}\n{\"time\": \"4.3.2021\", \"values\": {\"x\": 1}}\n";
    let run = folder.run_with("stream run", bad);
    for part in [
        "line 1: `z`: this is no channel of the model",
        "line 2: `state`: `half` is not one of those seen in training",
        "line 3: `time`: `4.3.2021` is not a date with the year first",
    ] {
        assert!(run.stderr.contains(part), "no {part:?} in {}", run.stderr);
    }
}

#[test]
fn the_order_of_rows_and_cases_changes_nothing() {
    let text = table("id,time,state,x,label", |r| {
        format!("{},{},{},{},{}", r.id(), r.hours(), ["on", "off", "idle"][(r.series + r.k) % 3], r.x, r.label())
    });
    let (header, rows) = text.split_once('\n').unwrap();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.reverse();
    let backwards = format!("{header}\n{}\n", lines.join("\n"));
    let folder = Folder::new().with("a.csv", &text).with("b.csv", backwards);
    for (file, out, model) in
        [("a", "one", QUICK), ("b", "two", QUICK), ("a", "three", "--model reservoir"), ("b", "four", "--model reservoir")]
    {
        folder.run(&format!("train --data {file}.csv --sort --out {out} {model}")).ok();
    }
    for (a, b) in [("one", "two"), ("three", "four")] {
        for file in ["model.json", "model.safetensors"] {
            assert!(
                folder.read(&format!("{a}/{file}")) == folder.read(&format!("{b}/{file}")),
                "{a}/{file} and {b}/{file} differ"
            );
        }
    }
}
