//! Predictions for files: cases that have none, and data from standard input.

use crate::common::{Folder, QUICK, demo};

#[test]
fn a_case_without_a_prediction_is_named_and_the_others_go_on() {
    let folder = demo();
    folder.run(&format!("train --data demo.csv --model slice --out slice {QUICK}")).ok();
    folder.run("train --data demo.csv --out reservoir --set groups=1 --set spans=2").ok();
    let csv = String::from_utf8(folder.read("demo.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    let id = |row: &str| row.split(',').next().unwrap_or_default().to_owned();
    // The first case, one whose numbers no state can hold, and the last.
    let (first, last) = (id(rows[1]), id(rows[rows.len() - 1]));
    let own = |wanted: &str| rows.iter().filter(|row| id(row) == wanted).map(|row| format!("{row}\n")).collect::<String>();
    let cells = rows[1].split(',').count();
    let huge: String = (0..4)
        .map(|t| {
            format!(
                "huge,{t}{},{}\n",
                format!(",{}1e38", ["", "-"][t % 2]).repeat(cells - 3),
                rows[1].rsplit(',').next().unwrap()
            )
        })
        .collect();
    let text = format!("{}\n{}{huge}{}", rows[0], own(&first), own(&last));
    let good = format!("{}\n{}{}", rows[0], own(&first), own(&last));
    let folder = folder.with("mixed.csv", &text).with("good.csv", &good);
    for model in ["slice", "reservoir"] {
        let wanted = folder.run(&format!("predict {model} --data good.csv")).ok().stdout.clone();
        let run = folder.run(&format!("predict {model} --data mixed.csv"));
        assert_eq!((run.code, &run.stdout), (Some(1), &wanted), "{run:?}");
        assert!(run.stderr.contains("1 of 3 cases have no prediction") && run.stderr.contains("`huge`"), "{}", run.stderr);
        let run = folder.run(&format!("predict {model} --data mixed.csv --output p.json"));
        assert_eq!(run.code, Some(1), "{run:?}");
        let json: serde_json::Value = serde_json::from_slice(&folder.read("p.json")).unwrap();
        assert_eq!(json.as_array().unwrap().len(), 2, "{json}");
        let streamed = folder.run_with(&format!("stream {model}"), &text);
        assert!(!streamed.stdout.contains("NaN") && !streamed.stdout.contains("inf"), "{}", streamed.stdout);
    }
}

#[test]
fn a_minus_is_standard_input() {
    let folder = demo();
    let csv = String::from_utf8(folder.read("demo.csv")).unwrap();
    folder.run(&format!("train --data demo.csv --out file {QUICK}")).ok();
    folder.run_with(&format!("train --data - --out pipe {QUICK}"), &csv).ok();
    assert_eq!(folder.read("file/model.safetensors"), folder.read("pipe/model.safetensors"));
    let wanted = folder.run("predict file --data demo.csv").ok().stdout.clone();
    assert_eq!(folder.run_with("predict pipe --data -", &csv).ok().stdout, wanted);
    let accuracy = |run: crate::common::Run| run.json()["accuracy"].clone();
    assert_eq!(
        accuracy(folder.run_with("eval file --data - --json", &csv)),
        accuracy(folder.run("eval file --data demo.csv --json"))
    );
    let empty = Folder::new().run("data -");
    empty.failed(2, &["standard input"]);
}

/// Before anything is read: a program that was built without GPUs says so in one line.
#[test]
#[cfg(not(feature = "cuda"))]
fn a_device_that_is_not_built_in_is_refused() {
    let folder = demo();
    for verb in ["predict", "eval"] {
        let run = folder.run(&format!("{verb} nothing --data demo.csv --device cuda"));
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("built without `cuda`") && run.stderr.trim_end().lines().count() == 1, "{}", run.stderr);
    }
}

#[test]
fn values_outside_of_training_are_named_and_a_series_without_a_value_gets_no_answer() {
    let series = |scale: f64, shift: f64, empty: usize| {
        let mut text = "id,time,celsius,class\n".to_owned();
        for i in 0..24 {
            for t in 0..12 {
                let x = scale * (f64::from(t) * [0.2, 0.9][i % 2]).sin() + shift + 0.01 * i as f64;
                let x = if i < empty { String::new() } else { x.to_string() };
                text += &format!("{i},{t},{x},{}\n", ["slow", "fast"][i % 2]);
            }
        }
        text
    };
    let folder = Folder::new()
        .with("c.csv", series(5.0, 20.0, 0))
        .with("f.csv", series(9.0, 68.0, 0))
        .with("gone.csv", series(5.0, 20.0, 2));
    folder.run("train --data c.csv --out model").ok();
    let said = folder.run("predict model --data f.csv");
    assert!(
        said.ok().stderr.contains("100 % of the values of `celsius` lie outside of what was seen in training"),
        "{}",
        said.stderr
    );
    assert!(!folder.run("predict model --data c.csv").ok().stderr.contains("outside"));
    let said = folder.run("predict model --data gone.csv");
    assert!(said.ok().stderr.contains("no prediction of `0`, `1`, as there is not one value"), "{}", said.stderr);
    assert_eq!(said.csv().len(), 1 + 22);
}
