//! Parquet and Arrow files as other programs write them (`columnar/make.py`), from training to predictions; a build without them says
//! how to get one that reads them.

use crate::common::Folder;

const CSV: &str = include_str!("columnar/stays.csv");
const PARQUET: &[u8] = include_bytes!("columnar/stays.parquet");
const FEATHER: &[u8] = include_bytes!("columnar/stays.feather");

fn folder() -> Folder {
    Folder::new().with("stays.csv", CSV).with("stays.parquet", PARQUET).with("stays.feather", FEATHER)
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_them_names_the_feature() {
    let folder = folder();
    folder.run("train --data stays.csv --model signature --steps 10 --out run").ok();
    for (file, what) in [("stays.parquet", "a Parquet file"), ("stays.feather", "an Arrow file")] {
        for command in [
            format!("train --data {file} --out other"),
            format!("predict run --data {file}"),
            format!("eval run --data {file}"),
            format!("data {file}"),
        ] {
            let run = folder.run(&command);
            run.failed(2, &[file, what, "this build does not read", "`--features parquet`", "to_csv"]);
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        }
    }
    assert!(!folder.path("other").exists());
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_is_trained_on_predicted_and_judged_as_its_csv() {
    const SCHEMA: &str = "schema: patient_id -> id, timestamp -> time (ISO, UTC), label -> label, sex -> static (category of 2), \
                          x, y -> channel, alarm -> channel (category of 2)";
    let folder = folder();
    for (file, out) in [("stays.csv", "csv"), ("stays.parquet", "parquet"), ("stays.feather", "feather")] {
        let run = folder.run(&format!("train --data {file} --out {out}"));
        assert!(run.ok().stderr.lines().any(|line| line == SCHEMA), "{}", run.stderr);
    }
    let said = folder.run("predict csv --data stays.csv").csv();
    assert_eq!(said.len(), 25);
    let judged = folder.run("eval csv --data stays.csv --json").json();
    for out in ["parquet", "feather"] {
        assert_eq!(folder.read(&format!("{out}/model.safetensors")), folder.read("csv/model.safetensors"), "{out}");
        for file in ["stays.csv", "stays.parquet", "stays.feather"] {
            assert_eq!(folder.run(&format!("predict {out} --data {file}")).csv(), said, "{out} {file}");
            assert_eq!(folder.run(&format!("eval {out} --data {file} --json")).json()["accuracy"], judged["accuracy"]);
        }
        // Lines of the csv mean the same to a model of another kind of file.
        let streamed = folder.run_with(&format!("stream {out}"), CSV).csv();
        for row in &said[1..] {
            let last = streamed.iter().rfind(|own| own[0] == row[0]).unwrap();
            assert_eq!(last[2], row[1], "{row:?} {last:?}");
        }
    }
    assert!(folder.run("data stays.parquet").ok().stderr.contains(SCHEMA));
    let cut = folder.with("cut.parquet", &PARQUET[..PARQUET.len() - 20]);
    let run = cut.run("predict csv --data cut.parquet");
    run.failed(2, &["`cut.parquet` cannot be read as a Parquet file"]);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}
