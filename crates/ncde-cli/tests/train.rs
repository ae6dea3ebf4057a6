//! From a file to a model to predictions, as a user does it.

use crate::common;

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Folder, QUICK, demo, parse_csv, weights};

#[test]
fn a_file_becomes_a_model_a_report_and_predictions() {
    let folder = demo();
    let run = folder.run(&format!("train --data demo.csv --out run {QUICK} --json"));
    run.ok();
    let lines: Vec<serde_json::Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["event"], "started");
    assert_eq!(lines.iter().filter(|line| line["event"] == "evaluated").count(), 4);
    let end = lines.last().unwrap();
    assert_eq!((&end["event"], &end["steps"]), (&"finished".into(), &40.into()));
    assert!(end["test"]["accuracy"].as_f64().unwrap() > 0.3);
    for file in ["model.json", "model.safetensors", "config.toml", "run.json", "report.html", "report.json", "report.md"] {
        assert!(folder.path(&format!("run/{file}")).exists(), "{file}");
    }
    assert!(!folder.path("run/checkpoint.safetensors").exists());

    let metrics = folder.run("eval run --data demo.csv --json").json();
    for name in ["accuracy", "balanced_accuracy", "auroc", "f1"] {
        assert!(metrics[name].as_f64().is_some_and(|x| (0.0..=1.0).contains(&x)), "{metrics}");
    }
    let rows = folder.run("predict run --data demo.csv").csv();
    assert_eq!(rows[0], ["id", "prediction", "left", "right", "straight"]);
    assert_eq!(rows.len(), 301);
    folder.run("predict run --data demo.csv --output p.json").ok();
    let text = std::fs::read_to_string(folder.path("p.json")).unwrap();
    let json: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(json[0]["id"], rows[1][0].as_str());
    assert_eq!(json[0]["prediction"], rows[1][1].as_str());
    assert!(folder.run("inspect run").ok().stdout.contains("slice"));
    folder.run("report run --output page.html").ok();
    assert!(folder.path("page.md").exists());
}

#[test]
fn a_stream_says_what_predict_says_and_goes_on_where_it_was() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --out run {QUICK}")).ok();
    let whole = folder.run("predict run --data demo.csv").csv();
    let wanted: HashMap<String, Vec<String>> = whole[1..].iter().map(|row| (row[0].clone(), row[1..].to_vec())).collect();
    let text = std::fs::read_to_string(folder.path("demo.csv")).unwrap();

    // As it is, below its header.
    let streamed = folder.run_with("stream run", &text).csv();
    let last: HashMap<String, Vec<String>> = streamed[1..].iter().map(|row| (row[0].clone(), row[2..].to_vec())).collect();
    assert_eq!(last, wanted);

    // Without times observations are counted, as `predict` does, but only if that is said.
    let untimed: String = parse_csv(&text).iter().map(|row| format!("{},{},{}\n", row[0], row[2], row[3])).collect();
    let folder = folder.with("untimed.csv", &untimed);
    folder.run("predict run --data untimed.csv").failed(2, &["the model was trained with times in `time`", "--time none"]);
    let counted = folder.run("predict run --data untimed.csv --time none").csv();
    let streamed = folder.run_with("stream run --time none", &untimed).csv();
    let last: HashMap<&String, &[String]> = streamed[1..].iter().map(|row| (&row[0], &row[2..])).collect();
    assert!(counted[1..].iter().all(|row| last[&row[0]] == &row[1..]));

    // As JSON, all series interleaved, in two processes.
    let rows = parse_csv(&text);
    let mut order: Vec<usize> = (1..rows.len()).collect();
    order.sort_by(|&i, &j| {
        let time = |k: usize| rows[k][1].parse::<f64>().unwrap();
        time(i).total_cmp(&time(j))
    });
    let cell = |text: &String| if text.is_empty() { "null".to_owned() } else { text.clone() };
    let line = |&k: &usize| {
        let row = &rows[k];
        format!("{{\"id\": \"{}\", \"time\": {}, \"values\": [{}, {}]}}\n", row[0], row[1], cell(&row[2]), cell(&row[3]))
    };
    let (first, second) = order.split_at(order.len() / 3);
    let mut seen = HashMap::new();
    for part in [first, second] {
        let input: String = part.iter().map(line).collect();
        let run = folder.run_with("stream run --state series.json", &input);
        for line in run.ok().stdout.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            seen.insert(value["id"].as_str().unwrap().to_owned(), value);
        }
    }
    for (id, wanted) in &wanted {
        let value = &seen[id];
        assert_eq!(value["prediction"], wanted[0].as_str(), "{id}");
        for (class, p) in ["left", "right", "straight"].iter().zip(&wanted[1..]) {
            assert!((value["probabilities"][class].as_f64().unwrap() - p.parse::<f64>().unwrap()).abs() < 1e-6);
        }
    }
}

#[test]
fn models_with_a_network_as_their_field_do_all_of_it() {
    let folder = demo();
    let text = std::fs::read_to_string(folder.path("demo.csv")).unwrap();
    for (model, more) in [("ncde", ""), ("nrde", "--set depth=2"), ("log-ncde", "--set depth=2 --set init=0.5")] {
        let window = if model == "ncde" { "" } else { "--set window=8" };
        let train = format!("train --data demo.csv --model {model} --steps 6 --set hidden=6 {window} {more}");
        folder.run(&format!("{train} --threads 1 --out {model}")).ok();
        folder.run(&format!("{train} --threads 2 --out {model}-2")).ok();
        assert_eq!(weights(&folder, model), weights(&folder, &format!("{model}-2")));
        let whole = folder.run(&format!("predict {model} --data demo.csv")).csv();
        let streamed = folder.run_with(&format!("stream {model}"), &text).csv();
        let last: HashMap<&String, &[String]> = streamed[1..].iter().map(|row| (&row[0], &row[2..])).collect();
        assert!(whole[1..].iter().all(|row| last[&row[0]] == &row[1..]), "{model}");
        let seen = folder.run(&format!("inspect {model}")).ok().stdout.clone();
        assert!(seen.contains(model) && seen.contains("in training"), "{seen}");
        // Brackets and bounds need derivatives; the others have ReLU.
        assert_eq!(seen.contains("at most 10^"), model == "log-ncde", "{seen}");
    }
}

#[test]
fn bad_lines_are_reported_by_number() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --out run {QUICK}")).ok();
    let input = "{\"id\": 1, \"time\": 0, \"values\": [1, 2]}\nnonsense\n{\"id\": 1, \"time\": 0, \"values\": [1, 2]}\n\
                 {\"id\": 1, \"time\": 1, \"values\": [1]}\n{\"id\": 1, \"time\": 2, \"values\": [null, 2]}\n{\"id\": 9, \"end\": true}\n";
    let run = folder.run_with("stream run", input);
    assert_eq!(run.ok().stdout.lines().count(), 2);
    let wanted = [
        "line 2: expected ident",
        "line 3: observation 1: its time `0` is not after the last one",
        "line 4: this line: 1 value, but the model has 2 channels; give one for each, or values by name",
        "line 6: there is no series `9` to end",
        "4 of 6 lines were skipped",
    ];
    for part in wanted {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let run = folder.run_with("stream run --bad stop", input);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(2), 1));
}

#[test]
fn a_run_killed_at_any_moment_ends_with_the_same_weights() {
    let folder = demo();
    let settings = "--data demo.csv --set steps=150 --set evaluate_every=5 --set hidden=16 --set window=2";
    folder.run(&format!("train {settings} --out whole")).ok();
    let wanted = weights(&folder, "whole");
    let checkpoint = || std::fs::metadata(folder.path("killed/checkpoint.safetensors")).and_then(|file| file.modified()).ok();
    for kill in 0..4 {
        let before = checkpoint();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ncde"))
            .args(format!("train {settings} --out killed --resume").split_whitespace())
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first one at once, the others some moments after the run has got further.
        while kill > 0 && checkpoint() == before {
            assert!(child.try_wait().unwrap().is_none(), "the run was over before it could be killed");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis([20, 3, 11, 27][kill]));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    folder.run(&format!("train {settings} --out killed --resume")).ok();
    assert_eq!(weights(&folder, "killed"), wanted);
    // Finished: nothing to do, and nothing is overwritten.
    let again = folder.run(&format!("train {settings} --out killed --resume"));
    assert!(again.ok().stderr.contains("already finished"));
    folder.run(&format!("train {settings} --out killed")).failed(2, &["holds a finished run", "--resume"]);
    folder.run(&format!("train {settings} --set rate=0.5 --out killed --resume")).failed(2, &["begun with other settings"]);
}

#[test]
fn threads_batches_and_padding_change_nothing() {
    let folder = demo();
    for threads in [1, 2, 3] {
        folder.run(&format!("train --data demo.csv {QUICK} --threads {threads} --out t{threads}")).ok();
    }
    assert_eq!(weights(&folder, "t1"), weights(&folder, "t2"));
    assert_eq!(weights(&folder, "t1"), weights(&folder, "t3"));
    // A case among others, or alone, or in another order.
    let all = folder.run("predict t1 --data demo.csv").csv();
    let text = std::fs::read_to_string(folder.path("demo.csv")).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let own: Vec<&str> = rows.lines().filter(|line| line.starts_with("walk-7,")).collect();
    std::fs::write(folder.path("one.csv"), format!("{head}\n{}\n", own.join("\n"))).unwrap();
    let one = folder.run("predict t1 --data one.csv").csv();
    assert!(all.contains(&one[1]), "{:?}", one[1]);
}

#[test]
fn settings_are_printed_read_and_checked() {
    let folder = demo();
    let printed = folder.run("train --data demo.csv --set hidden=16 --print-config").ok().stdout.clone();
    assert!(printed.contains("hidden = 16") && printed.contains("[train]") && printed.contains("steps = "), "{printed}");
    let folder = folder.with("run.toml", printed.clone());
    assert_eq!(folder.run("train --config run.toml --print-config").ok().stdout, printed);
    folder.run("train --data demo.csv --set hiden=3").failed(2, &["did you mean `hidden` of `[model]`?"]);
    folder.run("train --data demo.csv --set hidden=30 --out x").failed(2, &["30", "4"]);
    folder.run("train --data demo.csv --set metric=mse --out x").failed(2, &["`mse`", "accuracy"]);
    folder.run("train --data nothing.csv --out x").failed(2, &["nothing.csv"]);
    folder.run("train --data demo.csv --device cuda --out x").failed(2, &["built without `cuda`", "--device cpu"]);
    folder.run("predict nowhere --data demo.csv").failed(2, &["nowhere"]);
}

#[test]
fn numbers_every_step_and_the_future_are_predicted_too() {
    let mut text = String::from("id,time,x,y\n");
    let (mut values, mut steps) = (String::from("id,label\n"), String::from("id,time,x,label\n"));
    for case in 0..30 {
        let speed = 0.5 + f64::from(case % 10) / 10.0;
        values += &format!("{case},{speed}\n");
        for t in 0..20 {
            let (time, x) = (f64::from(t) * 0.1, (speed * f64::from(t) * 0.3).sin());
            text += &format!("{case},{time},{x},{}\n", x * x);
            steps += &format!("{case},{time},{x},{}\n", if x > 0.0 { "up" } else { "down" });
        }
    }
    let folder = Folder::new().with("x.csv", text).with("speed.csv", values).with("steps.csv", steps);
    let quick = "--steps 200 --set hidden=8 --set rate=0.02";
    folder.run(&format!("train --data x.csv --labels speed.csv --out number {quick}")).ok();
    let metrics = folder.run("eval number --data x.csv --labels speed.csv --json").json();
    assert!(metrics["mse"].as_f64().unwrap() < 0.05 && metrics["r2"].as_f64().unwrap() > 0.4, "{metrics}");
    folder.run(&format!("train --data steps.csv --out steps {quick}")).ok();
    let rows = folder.run("predict steps --data steps.csv").csv();
    assert_eq!((rows[0][1].as_str(), rows.len()), ("time", 601));
    let metrics = folder.run("eval steps --data steps.csv --json").json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.8, "{metrics}");
    folder.run(&format!("train --data x.csv --set task=forecast --set horizon=2 --out later {quick}")).ok();
    let rows = folder.run("predict later --data x.csv").csv();
    let columns = ["id", "time", "horizon", "forecast_time", "x", "x_low", "x_high", "y", "y_low", "y_high"];
    assert_eq!((&rows[0][..], rows.len()), (&columns.map(str::to_owned)[..], 61));
    folder.run("train --data x.csv --set task=forecast --set horizon=20 --out no").failed(2, &["the longest series has 20"]);
    folder.run("train --data x.csv --out no").failed(2, &["no labels", "--labels"]);
}

#[test]
fn the_signature_baseline_and_every_structure_train() {
    let folder = demo();
    folder.run("train --data demo.csv --model signature --steps 40 --out signature").ok();
    let metrics = folder.run("eval signature --data demo.csv --json").json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.5, "{metrics}");
    for structure in ["dense", "diagonal", "diagonal-dense", "dplr", "sparse", "walsh-hadamard"] {
        folder.run(&format!("train --data demo.csv --structure {structure} --out {structure} {QUICK} --steps 4")).ok();
        folder.run(&format!("eval {structure} --data demo.csv --json")).ok();
    }
}
