//! Streams as people run them: refused lines, signals, pipes that break, states that cannot be saved, series beyond training.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;

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
        let mut child = folder.spawn(&format!("stream steps --state {state}"));
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
    let mut child = folder.spawn("stream steps --state now.json --save-every 1");
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
    let mut child = folder.spawn("stream steps --state s.json");
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

/// The lines of several series, one after the other at each time.
fn interleaved(ids: &[&str], times: std::ops::Range<u32>) -> String {
    let line = |id: &str, t: u32| {
        format!("{{\"id\": \"{id}\", \"time\": {t}, \"values\": [{:.3}]}}\n", (0.4 * f64::from(t) + id.len() as f64).sin())
    };
    times.flat_map(|t| ids.iter().map(move |id| line(id, t))).collect()
}

#[test]
fn a_series_of_a_small_reservoir_takes_a_few_kilobytes() {
    let folder = trained();
    folder.run("train --data whole.csv --out small --set memory=small").ok();
    let text = String::from_utf8(folder.read("whole.csv")).unwrap();
    let whole = folder.run("predict small --data whole.csv").csv();
    let streamed = folder.run_with("stream small --state s.json", &text).csv();
    for row in &whole[1..] {
        let last = streamed.iter().rfind(|line| line[0] == row[0]).unwrap();
        assert_eq!(last[2..], row[1..]);
    }
    let saved: serde_json::Value = serde_json::from_slice(&folder.read("s.json")).unwrap();
    let count = |kind: &str| saved["series"]["0"]["memory"][kind].as_array().map_or(0, Vec::len);
    let bytes = 8 * count("wide") + 4 * count("narrow");
    assert!((100..4096).contains(&bytes), "{bytes}");
}

#[test]
fn series_that_are_let_go_wait_in_the_state_file_or_begin_anew() {
    let folder = trained();
    let (first, second) = (interleaved(&["a", "bb", "ccc"], 0..6), interleaved(&["a", "bb", "ccc"], 6..12));
    let all = folder.run_with("stream steps", &format!("{first}{second}"));
    // In two processes, which hold one of three.
    let seen: String =
        [&first, &second].map(|part| folder.run_with("stream steps --most 1 --state s.json", part).ok().stdout.clone()).concat();
    assert_eq!(seen, all.ok().stdout);
    let saved: serde_json::Value = serde_json::from_slice(&folder.read("s.json")).unwrap();
    assert_eq!(saved["series"].as_object().unwrap().len(), 3);
    let dropped = folder.run_with("stream steps --most 2", &first);
    assert!(dropped.ok().stderr.contains("16 series were dropped"), "{}", dropped.stderr);
    assert_ne!(dropped.stdout, folder.run_with("stream steps", &first).stdout);
    folder.run_with("stream steps --idle 5", "").failed(2, &["--idle", "wanted a unit"]);
}

#[test]
fn idle_series_are_let_go() {
    let folder = trained();
    let mut child = folder.spawn("stream steps --idle 20ms");
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    input.write_all(interleaved(&["a", "bb"], 0..1).as_bytes()).unwrap();
    for _ in 0..2 {
        output.read_line(&mut text).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(60));
    input.write_all(interleaved(&["a"], 1..2).as_bytes()).unwrap();
    drop(input);
    let end = child.wait_with_output().unwrap();
    let talk = String::from_utf8(end.stderr).unwrap();
    assert!(end.status.success() && talk.contains("2 series were dropped"), "{talk}");
}

#[test]
fn a_series_ends_in_csv_as_in_json() {
    let folder = trained();
    let rows = |id: &str| -> String { (0..5).map(|t| format!("{id},{t},{:.3},\n", 0.2 * f64::from(t))).collect() };
    let (a, end) = (rows("a"), "a,,,true\n");
    let run = folder.run_with("stream steps", &format!("id,time,x,end\n{a}{end}{a}a,5,1.0,yes\n{a}a,,,1\na,,,1\n"));
    let csv = run.csv();
    assert_eq!((csv.len(), &csv[1..6], &csv[1..6]), (17, &csv[6..11], &csv[12..17]));
    assert!(run.stderr.contains("line 20: there is no series `a` to end") && !run.stderr.contains("ignore"), "{}", run.stderr);
    let run = folder.run_with("stream steps", &format!("id,time,x,end\n{a}a,5,1.0,perhaps\n"));
    assert!(run.ok().stderr.contains("`perhaps` does not say whether the series ends"), "{}", run.stderr);
}

#[test]
fn one_stream_writes_a_state_file() {
    let folder = trained();
    let mut child = folder.spawn("stream steps --state s.json");
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(lines(0..1).as_bytes()).unwrap();
    output.read_line(&mut String::new()).unwrap();
    let second = folder.run_with("stream steps --state s.json", &lines(0..3));
    second.failed(2, &["`s.json`: another stream saves its series there"]);
    drop(input);
    assert!(child.wait().unwrap().success());
    folder.run_with("stream steps --state s.json", &lines(1..3)).ok();
    std::fs::write(folder.path("s.json"), "{\"model\": 1").unwrap();
    folder.run_with("stream steps --state s.json", &lines(1..3)).failed(2, &["s.json", "not the state of a stream"]);
}

#[test]
fn a_time_far_ahead_and_late_lines_are_up_to_the_user() {
    let folder = trained();
    let far = "{\"id\": \"a\", \"time\": 4e9, \"values\": [0.1]}\n";
    let input = format!("{}{far}{}{}", lines(0..5), lines(5..8), lines(6..7));
    let run = folder.run_with("stream steps --max-gap 10", &input);
    assert_eq!(run.ok().stdout, folder.run_with("stream steps", &lines(0..8)).stdout);
    assert!(run.stderr.contains("line 6: its time is 3999999996 after the last one"), "{}", run.stderr);
    assert!(run.stderr.contains("2 of 10 lines were skipped"), "{}", run.stderr);
    let run = folder.run_with("stream steps --max-gap 10 --late skip", &input);
    assert!(run.ok().stderr.contains("1 of 10 lines came late and were left out"), "{}", run.stderr);
    folder.run_with("stream steps --max-gap 1h", "").failed(2, &["the times of this model are numbers"]);
    // Where nobody would see that lines are missing, the exit code says it.
    let quiet = folder.run_with("-q stream steps --max-gap 10", &input);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(1), "error: 2 of 10 lines were skipped\n"));
    folder.run_with("stream steps", "nonsense\n{}\n").failed(1, &["error: 2 of 2 lines were skipped"]);
}

#[test]
fn a_state_that_overflows_is_begun_anew_and_said_once() {
    let folder = trained();
    folder.run(&format!("train --data whole.csv --out free --model slice --set stability=free {}", crate::common::QUICK)).ok();
    let steep: String = (0..200).map(|t| format!("{{\"time\": {t}, \"values\": [{}]}}\n", 200 * t * (1 - 2 * (t % 2)))).collect();
    let run = folder.run_with("stream free", &steep);
    assert!(run.code == Some(1) && (100..200).contains(&run.stdout.lines().count()), "{run:?}");
    assert_eq!(run.stderr.matches("its state overflowed after").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("the state of a series overflowed and it began anew"), "{}", run.stderr);
    // A single wild line is refused and changes nothing.
    let wild = "{\"id\": \"a\", \"time\": 7.5, \"values\": [1e20]}\n";
    let run = folder.run_with("stream free", &(lines(0..8) + wild + &lines(8..12)));
    assert_eq!(run.ok().stdout, folder.run_with("stream free", &lines(0..12)).stdout, "{}", run.stderr);
}

#[test]
fn metrics_are_text_for_prometheus() {
    use std::io::Read;
    let folder = trained();
    let far = "{\"id\": \"b\", \"time\": 1, \"values\": [40.0]}\nnonsense\n";
    folder.run_with("stream steps --metrics m.prom", &(lines(0..3) + far)).ok();
    let text = String::from_utf8(folder.read("m.prom")).unwrap();
    for line in [
        "# TYPE ncde_stream_lines_total counter",
        "ncde_stream_lines_total 5",
        "ncde_stream_refused_total 1",
        "ncde_stream_series{in=\"memory\"} 2",
        "ncde_stream_values_total{channel=\"x\"} 4",
        "ncde_stream_values_outside_total{channel=\"x\"} 1",
        "ncde_stream_outside_share 0.25",
        "ncde_stream_latency_seconds_count 4",
    ] {
        assert!(text.lines().any(|seen| seen == line), "no {line} in {text}");
    }
    let mut child = folder.spawn("stream steps --metrics 0");
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    input.write_all(lines(0..3).as_bytes()).unwrap();
    for _ in 0..3 {
        output.read_line(&mut String::new()).unwrap();
    }
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("metrics: http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\nncde_stream_lines_total 3\n"), "{answer}");
    drop(input);
    assert!(child.wait().unwrap().success());
}
