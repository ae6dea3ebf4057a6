//! Run records: both ways, and what a bad file is told.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Made, classifier, regressor, several};
use ncde_report::record::Outcome;
use ncde_report::{RecordError, RunRecord};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn failure(text: &str) -> RecordError {
    RunRecord::from_json(text, Path::new("runs/run.json")).unwrap_err()
}

#[test]
fn a_record_comes_back_as_it_was() {
    let file = folder("both_ways").join("run.json");
    for run in several().into_iter().chain([regressor(Made::default())]) {
        run.write(&file).unwrap();
        assert_eq!(RunRecord::read(&file).unwrap(), run);
    }
    // Nothing is left beside it.
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_run_that_diverged_can_be_written_and_read() {
    let mut run = regressor(Made::default());
    run.history[3].loss = f64::NAN;
    run.history[4].validation = Some(f64::INFINITY);
    run.seconds_per_step = f64::NAN;
    run.predictions[0].predicted = Outcome::Number(f64::NAN);
    run.predictions[0].probabilities = vec![f64::NAN, 0.5];
    let text = run.to_json().unwrap();
    assert!(!text.contains("NaN") && !text.contains("inf"));
    let read = RunRecord::from_json(&text, Path::new("run.json")).unwrap();
    assert!(read.history[3].loss.is_nan() && read.seconds_per_step.is_nan());
    assert_eq!((read.history[4].validation, read.predictions[0].predicted.number()), (None, None));
    assert!(read.predictions[0].probabilities[0].is_nan() && read.predictions[0].probabilities[1] == 0.5);
}

#[test]
fn bad_files_are_told_what_is_wrong_with_them() {
    let good = classifier(Made::default()).to_json().unwrap();
    let newer = good.replacen("\"format\": 1", "\"format\": 7", 1);
    assert_eq!(
        failure(&newer).to_string(),
        "the run record `runs/run.json` has format `7`, but this version reads formats up to `1`; update ncde"
    );
    for foreign in ["{}", "[1, 2]", "3", "{\"format\": \"one\"}"] {
        assert_eq!(
            failure(foreign).to_string(),
            "`runs/run.json` is no run record: it has no number `format`; give the `run.json` of a training run"
        );
    }
    for damaged in ["", "{\"format\": 1", &good[..good.len() / 2], "{\"format\": 1}"] {
        let error = failure(damaged);
        assert!(matches!(error, RecordError::Damaged { .. }), "{damaged:.40} {error}");
        let words = error.to_string();
        assert!(words.starts_with("the run record `runs/run.json` is damaged: ") && words.contains(" at line "), "{words}");
    }
    let missing = good.replacen("\"seed\"", "\"sead\"", 1);
    assert!(failure(&missing).to_string().contains("missing field `seed`"));
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let nowhere = folder("nowhere").join("missing").join("run.json");
    let read = RunRecord::read(&nowhere).unwrap_err().to_string();
    assert!(read.starts_with("cannot read the run record `") && read.contains("missing"), "{read}");
    let written = classifier(Made::default()).write(&nowhere).unwrap_err().to_string();
    assert!(
        written.starts_with("cannot write the run record `") && written.contains("check that the folder exists"),
        "{written}"
    );
}

#[test]
fn texts_and_numbers_are_told_apart() {
    let outcomes = [Outcome::from("3"), Outcome::from(3.0), Outcome::from("class".to_string())];
    let text = serde_json::to_string(&outcomes).unwrap();
    assert_eq!(text, r#"["3",3.0,"class"]"#);
    assert_eq!(serde_json::from_str::<Vec<Outcome>>(&text).unwrap(), outcomes);
    assert_eq!((outcomes[0].number(), outcomes[1].number()), (None, Some(3.0)));
}
