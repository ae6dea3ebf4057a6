//! What labels are taken for, and files whose labels are blank or unknown.

use crate::common::{Folder, QUICK};

/// Series whose slope is their label, each with the text that `label` makes of it.
fn slopes(count: usize, label: impl Fn(usize) -> String) -> String {
    let row = |i: usize, t: usize| format!("s{i},{t},{},{}\n", i * t, label(i));
    let rows: String = (0..count).flat_map(|i| (0..5).map(move |t| (i, t))).map(|(i, t)| row(i, t)).collect();
    format!("id,time,x,label\n{rows}")
}

#[test]
fn a_number_of_many_values_is_predicted_as_a_number_and_said_first() {
    let folder =
        Folder::new().with("life.csv", slopes(60, |i| format!("{}", 77 - i))).with("new.csv", slopes(70, |i| i.to_string()));
    let run = folder.run("train --data life.csv --out life");
    let first = run.ok().stderr.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first, "regression of `label` (60 whole numbers); classes instead: --set task=classification");
    assert_eq!(folder.run("predict life --data new.csv").csv()[0], ["id", "prediction"]);
    let two = Folder::new().with("two.csv", slopes(40, |i| (i % 2).to_string()));
    let run = two.run("train --data two.csv --out two");
    let first = run.ok().stderr.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first, "classification of `label`: 2 classes, `0`, `1`; numbers instead: --set task=regression");
    let ahead = two.run(&format!("train --data two.csv --set task=forecast --set horizon=2 --out ahead --model slice {QUICK}"));
    assert!(ahead.ok().stderr.starts_with("forecast of `x`, 1 to 2 ahead\n"), "{}", ahead.stderr);
}

#[test]
fn labels_that_are_blank_or_unknown_stop_no_prediction() {
    let names = |i: usize| ["low", "high"][usize::from(i > 19)].to_owned();
    let folder = Folder::new()
        .with("train.csv", slopes(40, |i| if i % 10 == 3 { String::new() } else { names(i) }))
        .with("new.csv", slopes(6, |i| ["huge", "", "low", "tiny", "huge", "high"][i].into()));
    let run = folder.run("train --data train.csv --out model");
    assert!(run.ok().stderr.contains("warning: 4 of 40 series have no label, and are left out"), "{}", run.stderr);
    assert_eq!(folder.run("predict model --data new.csv").csv().len(), 7);
    let all = "`huge`, `tiny` (3 labels); known are `high`, `low`";
    folder.run("eval model --data new.csv").failed(2, &["has classes that the model was not trained on", all, "`ncde predict`"]);
}

#[test]
fn a_forecast_whose_last_horizons_no_case_reaches_has_a_report() {
    let rows: String = (0..120).map(|t| format!("{t},{}\n", (f64::from(t) / 3.0).sin())).collect();
    let folder = Folder::new().with("short.csv", format!("time,x\n{rows}"));
    let run = folder.run("train --data short.csv --set task=forecast --set horizon=24 --set test_share=0.15 --out run");
    assert!(run.ok().stdout.contains("by horizon") && run.stdout.contains("n/a"), "{}", run.stdout);
}
