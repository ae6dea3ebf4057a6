//! Files in other forms than a row an observation: what is said of them is told, remembered, and read the same way by other verbs.

use crate::common::Folder;

const QUICK: &str = "--model signature --set depth=2 --steps 10 --threads 1 --set test_share=0.25";

/// Twelve series of ten values, a class each: `(id, class, values)`.
fn series() -> impl Iterator<Item = (usize, &'static str, Vec<f64>)> {
    (0..12).map(|i| {
        let values = (0..10).map(|t| f64::from(t) * [1.0, -1.0][i % 2] + (i as f64).sin()).collect();
        (i, ["up", "down"][i % 2], values)
    })
}

#[test]
fn wide_melted_and_json_files_say_the_same_as_a_long_one() {
    let (mut long, mut melted, mut json) =
        ("id,time,x,label\n".to_owned(), "id,time,sensor,value,label\n".to_owned(), String::new());
    let mut wide = "id,label,".to_owned() + &(0..10).map(|t| t.to_string()).collect::<Vec<_>>().join(",") + "\n";
    for (i, class, values) in series() {
        let texts: Vec<String> = values.iter().map(|x| format!("{x:.3}")).collect();
        for (t, x) in texts.iter().enumerate() {
            long += &format!("s{i},{t},{x},{class}\n");
            melted += &format!("s{i},{t},x,{x},{class}\n");
        }
        wide += &format!("s{i},{class},{}\n", texts.join(","));
        json += &format!("{{\"id\": \"s{i}\", \"label\": \"{class}\", \"x\": [{}]}}\n", texts.join(","));
    }
    let folder = Folder::new().with("long.csv", long).with("wide.csv", wide).with("melted.csv", melted).with("lines.jsonl", json);
    let classes = |file: &str, flags: &str| -> Vec<[String; 2]> {
        let name = file.split('.').next().unwrap();
        folder.run(&format!("train --data {file} {flags} --out {name} {QUICK}")).ok();
        let rows = folder.run(&format!("predict {name} --data {file}")).csv();
        let place = rows[0].iter().position(|name| name == "prediction").unwrap();
        rows[1..].iter().map(|row| [row[0].clone(), row[place].clone()]).collect()
    };
    let wanted = classes("long.csv", "");
    assert_eq!(wanted.len(), 12);
    assert_eq!(classes("wide.csv", ""), wanted);
    assert_eq!(classes("melted.csv", "--shape melted"), wanted);
    assert_eq!(classes("lines.jsonl", ""), wanted);
    // What it was trained on in one form, it reads in another.
    let long = String::from_utf8(folder.read("long.csv")).unwrap().replacen(",x,", ",value,", 1);
    let folder = folder.with("values.csv", long);
    assert_eq!(folder.run("predict wide --data values.csv").csv().len(), 13);
    folder.run("predict wide --data long.csv").failed(2, &["`value`", "it has `id`, `time`, `x`, `label`"]);
    folder.run(&format!("train --data long.csv --shape tall --out no {QUICK}")).failed(2, &["long", "wide", "melted"]);
}

#[test]
fn other_words_for_missing_are_missing() {
    let mut text = "id,time,x,label\n".to_owned();
    for (i, class, values) in series() {
        for (t, x) in values.iter().enumerate() {
            text += &if t == 4 { format!("{i},{t},-999,{class}\n") } else { format!("{i},{t},{x:.3},{class}\n") };
        }
    }
    let folder = Folder::new().with("gaps.csv", text);
    let seen = folder.run("data gaps.csv --missing -999,9999 --json").ok().stdout.clone();
    let summary: serde_json::Value = serde_json::from_str(&seen).unwrap();
    let low = |value: &serde_json::Value| value["channels"][0]["min"].as_f64();
    let plain: serde_json::Value = serde_json::from_str(&folder.run("data gaps.csv --json").ok().stdout).unwrap();
    assert!(low(&plain) == Some(-999.0) && low(&summary) > Some(-20.0), "{summary} {plain}");
    folder.run(&format!("train --data gaps.csv --missing -999 --out run {QUICK}")).ok();
    // The model remembers it: no value is said to be far below those of training.
    let predicted = folder.run("predict run --data gaps.csv");
    assert!(predicted.ok().stderr.is_empty(), "{}", predicted.stderr);
}

#[test]
fn local_times_come_back_as_local_times() {
    let row = |hour: i64| {
        let time = jiff::Timestamp::from_second(1_711_756_800 + 3600 * hour).unwrap();
        let local = time.in_tz("Europe/Berlin").unwrap();
        format!("{},{:.3}\n", local.strftime("%d.%m.%Y %H:%M"), (hour as f64 * 0.5).sin())
    };
    // From Saturday noon of the weekend on which clocks are put forward.
    let text = "time,x\n".to_owned() + &(0..60).map(row).collect::<String>();
    let folder = Folder::new().with("hours.csv", text);
    let flags = "--time-zone Europe/Berlin --set horizon=2 --set model.spans=2 --set model.order=4 --set model.random=30";
    folder.run(&format!("train --data hours.csv {flags} --out run")).ok();
    let rows = folder.run("predict run --data hours.csv").csv();
    let place = rows[0].iter().position(|name| name == "forecast_time").unwrap();
    let wanted: Vec<String> = (60..62).map(|hour| row(hour).split(',').next().unwrap().to_owned()).collect();
    let seen: Vec<String> = rows[1..].iter().map(|row| row[place].trim_end_matches(":00").to_owned()).collect();
    assert!(seen.iter().zip(&wanted).all(|(seen, wanted)| wanted.starts_with(seen.as_str())), "{seen:?} {wanted:?}");
    folder.run("data hours.csv --time-zone Europe/Berlinn").failed(2, &["Europe/Berlinn"]);
}
