//! What must not happen: two runs in one directory, files of others overwritten, a run resumed with other data, half a file.

use crate::common;

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, QUICK, demo, weights};

/// More steps than anybody waits for.
const ENDLESS: &str = "--set steps=100000000 --set evaluate_every=20 --set hidden=8 --set window=8 --set patience=0";

/// Waits until something is so, for a minute at most.
fn until(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_run_writes_to_a_directory_at_a_time_and_a_crash_leaves_no_lock() {
    let folder = demo();
    let mut first = folder
        .command(&format!("train --data demo.csv --out run {ENDLESS}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| folder.path("run/checkpoint.safetensors").exists());
    for resume in ["", "--resume"] {
        let second = folder.run(&format!("train --data demo.csv --out run {ENDLESS} {resume}"));
        second.failed(2, &["`run` is being written to by another run", "--out DIR"]);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    // Killed: there is no lock, but a run that would be lost.
    folder.run(&format!("train --data demo.csv --out run {QUICK}")).failed(2, &["a run that was interrupted", "--resume"]);
}

#[test]
fn files_of_others_are_not_overwritten() {
    let folder = demo();
    for name in ["config.toml", "model.json", "report.md", "run.json"] {
        let _ = std::fs::remove_dir_all(folder.path("other"));
        std::fs::create_dir(folder.path("other")).unwrap();
        std::fs::write(folder.path(&format!("other/{name}")), "mine").unwrap();
        let run = folder.run(&format!("train --data demo.csv --out other {QUICK}"));
        run.failed(2, &[&format!("`other` holds a `{name}` that no run has written")]);
        assert_eq!(folder.read(&format!("other/{name}")), b"mine");
        assert_eq!(std::fs::read_dir(folder.path("other")).unwrap().count(), 1);
    }
    folder.run(&format!("train --data demo.csv --out demo.csv {QUICK}")).failed(2, &["`demo.csv` is a file"]);
    // Beside files that have other names there is room.
    std::fs::create_dir(folder.path("notes")).unwrap();
    std::fs::write(folder.path("notes/notes.txt"), "mine").unwrap();
    folder.run(&format!("train --data demo.csv --out notes {QUICK}")).ok();
    assert_eq!(folder.read("notes/notes.txt"), b"mine");
}

#[test]
fn reports_are_written_as_their_name_says_and_over_reports_alone() {
    let folder = demo();
    folder.run("train --data demo.csv --out run").ok();
    assert_eq!(folder.run("report run --output x.md").ok().stdout, "x.md\n");
    let text = String::from_utf8(folder.read("x.md")).unwrap();
    assert!(text.starts_with("# reservoir on demo") && !text.contains("<html"), "{text}");
    assert!(!folder.path("x.html").exists());
    assert_eq!(folder.run("report run -o y.html").ok().stdout, "y.html\ny.md\ny.json\n");
    for name in ["x.txt", "x.pdf", "x", "x.json"] {
        folder.run(&format!("report run -o {name}")).failed(2, &[name, ".html or .md"]);
        assert!(!folder.path(name).exists());
    }
    // Again, over the same files; but not over those of others.
    folder.run("report run --output y.html").ok();
    let folder = folder.with("README.md", "# Mine\n");
    folder.run("report run --output README.html").failed(2, &["`README.md` is there and is no report of ncde"]);
    folder.run("report run --output README.md").failed(2, &["`README.md` is there and is no report of ncde"]);
    assert_eq!(folder.read("README.md"), b"# Mine\n");
    assert!(!folder.path("README.html").exists());
}

#[test]
fn a_run_goes_on_from_its_directory_with_the_same_data_and_settings_alone() {
    let folder = demo();
    let settings = "--set steps=60 --set evaluate_every=10 --set hidden=8 --set window=8 --set validation=0.1";
    folder.run(&format!("train --data demo.csv --out whole {settings}")).ok();
    folder.run("train --resume whole").ok();
    // Finished: nothing is left to do, and other settings or data are refused.
    assert!(folder.run("train --resume whole").ok().stderr.contains("already finished"));
    folder.run("train --resume whole --set hidden=12").failed(2, &["begun with other settings", "hidden = 8"]);
    folder.run("train --resume whole --steps 20").failed(2, &["`train.steps` is 20", "not shorter"]);
    let text = String::from_utf8(folder.read("demo.csv")).unwrap();
    let (head, rest) = text.split_at(text.len() / 2);
    let changed = format!("{head}{}", rest.replacen(".1", ".2", 1));
    assert_ne!(changed, text);
    std::fs::write(folder.path("demo.csv"), &changed).unwrap();
    folder.run("train --resume whole").failed(2, &["begun with other data"]);
    std::fs::write(folder.path("demo.csv"), &text).unwrap();
    // Elsewhere, with another name, they are the same data.
    std::fs::copy(folder.path("demo.csv"), folder.path("moved.csv")).unwrap();
    folder.run("train --resume whole --data moved.csv").ok();
    // Longer.
    let run = folder.run("train --resume whole --steps 90");
    assert!(run.ok().stderr.contains("going on after step 60"), "{}", run.stderr);
    let record: serde_json::Value = serde_json::from_slice(&folder.read("whole/run.json")).unwrap();
    assert_eq!(record["steps"], 90);
    assert_eq!(record["history"].as_array().unwrap().len(), 9);
    folder.run("train --resume nowhere").failed(2, &["`nowhere` holds no run that could be resumed"]);
    folder.run("train --resume").failed(2, &["which run goes on?"]);
    folder.run("train --resume whole --out other").failed(2, &["two directories"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_saves_and_says_how_to_go_on() {
    let folder = demo();
    let settings = "--set steps=400 --set evaluate_every=10 --set hidden=8 --set window=2 --set patience=0";
    folder.run(&format!("train --data demo.csv --out whole {settings}")).ok();
    let mut child = folder
        .command(&format!("train --data demo.csv --out run {settings}"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until(|| folder.path("run/checkpoint.safetensors").exists());
    let told = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted after step ") && stderr.contains("\n  ncde train --resume run\n"), "{stderr}");
    folder.run("train --resume run").ok();
    assert_eq!(weights(&folder, "run"), weights(&folder, "whole"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --out run {QUICK}")).ok();
    let before = folder.names();
    // A file of at most 512 bytes, and no signal about it, is what a full disk is to a program.
    let limited = |command: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec {} --quiet {command}", env!("CARGO_BIN_EXE_ncde"));
        let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for command in [
        "predict run --data demo.csv --output p.csv",
        "predict run --data demo.csv --output p.json",
        "report run --output page.html",
        "data demo.csv --output d.csv",
        "data demo.csv --output d.npz",
        "data demo.csv --output d.csv.gz",
    ] {
        let (code, stderr) = limited(command);
        assert!(code.is_some_and(|code| code > 0) && stderr.contains("cannot write"), "{command}: {code:?} {stderr}");
        assert_eq!((folder.names(), stderr.lines().count()), (before.clone(), 1), "{command}: {stderr}");
    }
    let (code, stderr) = limited(&format!("train --data demo.csv --out full {QUICK}"));
    assert_eq!(code, Some(1), "{stderr}");
    let left: Vec<_> = std::fs::read_dir(folder.path("full")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("part")), "{left:?}");
}

#[test]
fn places_that_cannot_be_written_are_told_in_a_line() {
    let folder = demo();
    folder.run("train --data demo.csv --out run").ok();
    for command in ["predict run --data demo.csv --output nowhere/p.csv", "report run --output nowhere/r.html"] {
        let run = folder.run(command);
        assert_eq!((run.code, run.stderr.lines().count()), (Some(1), 1), "{run:?}");
        assert!(run.stderr.contains("nowhere"), "{run:?}");
    }
    folder.run("train --data demo.csv --out demo.csv/run").failed(1, &["demo.csv/run"]);
    folder.run("predict run --data gone.csv").failed(2, &["gone.csv"]);
}

#[test]
fn sizes_beyond_reason_are_refused_in_a_moment() {
    let folder = demo();
    let begun = Instant::now();
    for model in ["slice", "signature", "log-ncde", "nrde"] {
        let run = folder.run(&format!("train --data demo.csv --model {model} --set depth=20 --out x"));
        run.failed(2, &["to depth 20 has", "coordinates", "lower the depth"]);
    }
    let run = folder.run("train --data demo.csv --model slice --structure dense --set hidden=100000 --out x");
    run.failed(2, &["weights, but a model has at most"]);
    let names: Vec<String> = (1..=200).map(|i| format!("c{i}")).collect();
    let mut text = format!("id,time,{},label\n", names.join(","));
    for case in 0..6 {
        for t in 0..5 {
            let cells: Vec<String> = (0..200).map(|k| ((case * 7 + t * 3 + k) % 11).to_string()).collect();
            text += &format!("{case},{t},{},{}\n", cells.join(","), ["a", "b"][case % 2]);
        }
    }
    let folder = folder.with("wide.csv", text);
    let run = folder.run("train --data wide.csv --model slice --set depth=3 --set window=4 --out x");
    run.failed(2, &["201 channels to depth 3 has 8161", "coordinates"]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(!folder.path("x").exists());
}

#[test]
fn quiet_says_nothing_and_json_lines_stay() {
    let folder = demo();
    let run = folder.run(&format!("train --data demo.csv --out a {QUICK} --quiet"));
    assert_eq!((run.ok().stdout.as_str(), run.stderr.as_str()), ("", ""));
    let run = folder.run(&format!("--quiet train --data demo.csv --out b {QUICK} --json"));
    assert_eq!(run.ok().stderr, "");
    assert!(run.stdout.lines().count() >= 6);
    // Errors are heard.
    folder.run("train --data gone.csv --quiet").failed(2, &["gone.csv"]);
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Folder::new().run(&format!("completions {shell}")).ok().stdout.clone();
        for verb in ["train", "predict", "completions", "resume"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn warnings_are_said_and_kept() {
    let folder = demo();
    let run = folder.run(&format!("train --data demo.csv --test demo.csv --out same {QUICK} --quiet"));
    assert!(run.ok().stderr.contains("warning: all 300 test cases are also training cases"), "{}", run.stderr);
    let record: serde_json::Value = serde_json::from_slice(&folder.read("same/run.json")).unwrap();
    assert_eq!(record["warnings"].as_array().unwrap().len(), 1);
    for report in ["same/report.html", "same/report.md"] {
        assert!(String::from_utf8(folder.read(report)).unwrap().contains("all 300 test cases are also training cases"));
    }
    let run = folder.run(&format!("train --data demo.csv --set test_share=0 --out all {QUICK}"));
    assert!(run.ok().stderr.contains("warning: nothing is held back to test on"), "{}", run.stderr);
}

#[test]
fn the_metric_that_was_asked_for_comes_first_beside_its_baselines() {
    let folder = demo();
    let text = folder.run("train --data demo.csv --set metric=auroc --out run").ok().stdout.clone();
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("test AUROC")).collect();
    assert!(lines[1].starts_with("majority class") && lines[1].contains("0.5"), "{text}");
    assert!(lines[2].starts_with("linear on signatures"), "{text}");
    let record: serde_json::Value = serde_json::from_slice(&folder.read("run/run.json")).unwrap();
    let names: Vec<&str> = record["baselines"].as_array().unwrap().iter().map(|own| own["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["majority class", "linear on signatures"]);
    let linear = record["baselines"][1]["metrics"]["accuracy"].as_f64().unwrap();
    let majority = record["baselines"][0]["metrics"]["accuracy"].as_f64().unwrap();
    assert!(linear > majority + 0.2, "{linear} {majority}");
}

#[test]
fn columns_are_guessed_aloud_for_a_model_that_has_seen_none() {
    let folder = demo();
    folder.run("data demo.csv --output demo.npz").ok();
    folder.run(&format!("train --data demo.npz --out run {QUICK}")).ok();
    let told = ["the model was trained on a file that has no columns", "id -> id", "--time"];
    let run = folder.run("predict run --data demo.csv --output p.csv");
    assert!(told.iter().all(|part| run.ok().stderr.contains(part)), "{}", run.stderr);
    let csv = String::from_utf8(folder.read("demo.csv")).unwrap();
    let streamed = folder.run_with("stream run", &csv.lines().take(5).collect::<Vec<_>>().join("\n"));
    assert!(streamed.ok().stderr.contains(told[0]) && streamed.stderr.contains("-> time"), "{}", streamed.stderr);
    // A file of the same kind says itself what it holds, and other names are refused.
    assert!(!folder.run("predict run --data demo.npz --output q.csv").ok().stderr.contains(told[0]));
    assert_eq!(folder.read("p.csv"), folder.read("q.csv"));
    let other = Folder::new().with("other.csv", "id,time,a,b\np,0,1,2\n");
    std::fs::rename(folder.path("run"), other.path("run")).unwrap();
    other.run("predict run --data other.csv").failed(2, &["which the model was trained on"]);
    // A model that was trained on a table has its own.
    folder.run(&format!("train --data demo.csv --out table {QUICK}")).ok();
    assert!(!folder.run("predict table --data demo.csv").ok().stderr.contains(told[0]));
    let page = String::from_utf8(folder.read("table/report.html")).unwrap();
    assert!(page.contains("Columns of the file") && page.contains(">ignored<") == csv.contains("row"), "no roles");
}

#[test]
fn the_metric_that_was_asked_for_comes_first() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --out usual {QUICK}")).ok();
    let asked = folder.run(&format!("train --data demo.csv --out asked --set metric=loss {QUICK}")).ok().stdout.clone();
    assert!(asked.contains("test log loss") && !asked.contains("test accuracy"), "{asked}");
    // Settings are written down with their defaults: a run that goes on still knows what was asked for.
    let longer = folder.run("train --resume usual --steps 50").ok().stdout.clone();
    assert!(longer.contains("test accuracy"), "{longer}");
    let longer = folder.run("train --resume asked --steps 50").ok().stdout.clone();
    assert!(longer.contains("test log loss"), "{longer}");
}

#[test]
fn a_stream_says_why_it_cannot_average() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --out run {QUICK}")).ok();
    let csv = String::from_utf8(folder.read("demo.csv")).unwrap();
    let twice: Vec<&str> = csv.lines().take(2).chain(csv.lines().skip(1).take(1)).collect();
    for policy in ["last", "mean"] {
        let run = folder.run_with(&format!("stream run --duplicates {policy}"), &twice.join("\n"));
        assert!(run.stderr.contains("already taken and predicted from") && run.stderr.contains("--duplicates first"), "{run:?}");
    }
    assert_eq!(folder.run_with("stream run --duplicates first", &twice.join("\n")).csv().len(), 2);
}
