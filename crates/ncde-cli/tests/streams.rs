//! Streams as people run them: refused lines, signals, pipes that break, states that cannot be saved, series beyond training.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::common::Folder;

/// A model of labels at every observation, and of whole series, on short made-up waves.
fn trained() -> Folder {
    let mut steps = "id,time,x,label\n".to_owned();
    let mut whole = "id,time,x,label\n".to_owned();
    for i in 0..12 {
        for t in 0..20 {
            let x = (0.3 * f64::from(t + i) * f64::from(1 + i % 2)).sin();
            steps += &format!("{i},{t},{x:.4},{}\n", if x > 0.0 { "up" } else { "down" });
            whole += &format!("{i},{t},{x:.4},{}\n", ["slow", "fast"][i as usize % 2]);
        }
    }
    let folder = Folder::new().with("steps.csv", steps).with("whole.csv", whole);
    folder.run("train --data steps.csv --out steps --set random=20").ok();
    folder.run("train --data whole.csv --out whole --set groups=1 --set spans=2").ok();
    folder
}

fn lines(times: std::ops::Range<u32>) -> String {
    times.map(|t| format!("{{\"id\": \"a\", \"time\": {t}, \"values\": [{:.3}]}}\n", (0.4 * f64::from(t)).sin())).collect()
}

#[test]
fn a_refused_line_changes_nothing() {
    let folder = trained();
    for model in ["steps", "whole"] {
        let (before, after) = (lines(0..8), lines(8..16));
        let clean = folder.run_with(&format!("stream {model}"), &format!("{before}{after}"));
        let bad = [
            "{\"id\": \"a\", \"time\": 3, \"values\": [1.0]}",
            "{\"id\": \"a\", \"time\": 7.5, \"values\": [1.0, 2.0]}",
            // Numbers that no state can hold.
            "{\"id\": \"a\", \"time\": 7.6, \"values\": [1e300]}",
            "{\"id\": \"b\", \"time\": 1, \"values\": [\"x\"]}",
            "not a line",
        ]
        .join("\n");
        let dirty = folder.run_with(&format!("stream {model}"), &format!("{before}{bad}\n{after}"));
        assert_eq!(dirty.ok().stdout, clean.ok().stdout, "{}", dirty.stderr);
        assert!(dirty.stderr.contains("5 of 21 lines were skipped"), "{}", dirty.stderr);
    }
}

#[test]
fn what_lies_beyond_training_is_said_once_and_in_every_line() {
    let folder = trained();
    let far = "{\"id\": \"a\", \"time\": 30, \"values\": [4.0]}\n{\"id\": \"a\", \"time\": 31, \"values\": [4.0]}\n";
    let run = folder.run_with("stream steps", &(lines(0..23) + far));
    let said: Vec<serde_json::Value> = run.ok().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(said[..20].iter().all(|line| line.get("beyond").is_none()), "{said:?}");
    assert_eq!(said[20]["beyond"], serde_json::json!(["length", "duration"]));
    assert_eq!(said[24]["beyond"], serde_json::json!(["length", "duration", "x"]));
    let warnings: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("series `a`, observation 21: it is longer than any of training (20 observations)"));
    assert!(warnings[1].contains("observation 24: `x` lies outside of its range in training"));
}

#[test]
#[cfg(unix)]
fn signals_save_the_state_first() {
    use std::os::unix::process::ExitStatusExt;
    let folder = trained();
    let whole = folder.run_with("stream steps", &lines(0..12));
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let state = format!("{signal}.json");
        let mut child = folder
            .command(&format!("stream steps --state {state}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        input.write_all(lines(0..5).as_bytes()).unwrap();
        input.flush().unwrap();
        let mut text = String::new();
        for _ in 0..5 {
            output.read_line(&mut text).unwrap();
        }
        assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        let rest = folder.run_with(&format!("stream steps --state {state}"), &lines(5..12));
        assert_eq!(text + &rest.ok().stdout, whole.ok().stdout);
    }
    assert!(folder.names().iter().all(|name| !name.starts_with(".tmp")), "{:?}", folder.names());
}

#[test]
fn the_state_is_saved_every_so_often() {
    let folder = trained();
    let mut child = folder
        .command("stream steps --state now.json --save-every 1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines(0..5).as_bytes()).unwrap();
    let begun = std::time::Instant::now();
    while !folder.path("now.json").exists() && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let text = String::from_utf8(folder.read("now.json")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(saved["series"]["a"].is_object(), "{text}");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_state_that_cannot_be_saved_is_refused_at_the_start() {
    let folder = trained();
    for path in ["no/such/folder/state.json", "whole"] {
        let run = folder.run_with(&format!("stream steps --state {path}"), &lines(0..3));
        assert!(matches!(run.code, Some(1 | 2)) && run.stdout.is_empty() && run.stderr.contains(path), "{run:?}");
    }
    folder.run_with("stream steps --save-every 3", "").failed(2, &["--state"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_stream_quietly() {
    let folder = trained();
    let mut child = folder
        .command("stream steps --state s.json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut first = String::new();
    input.write_all(lines(0..1).as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut first).unwrap();
    drop(output);
    let _ = input.write_all(lines(1..3000).as_bytes());
    drop(input);
    let end = child.wait_with_output().unwrap();
    // A series that is longer than training is named; nothing is said of the pipe.
    let talk = String::from_utf8(end.stderr).unwrap();
    assert!(end.status.success() && !talk.contains("error"), "{talk}");
    assert!(folder.path("s.json").exists());
}
