//! Series without a label among others that have one, and labels that do not matter.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_data::{Loaded, ReadOptions, Targets, load, load_bytes};

const CSV: &str = "id,time,x,label\na,0,1,up\na,1,2,up\nb,0,3,\nb,1,4,\nc,0,5,down\nc,1,6,down\n";
const TS: &str = "@problemName p\n@classLabel true up down\n@data\n1,2:up\n3,4:?\n5,6:down\n";
const ARFF: &str =
    "@relation p\n@attribute x numeric\n@attribute y numeric\n@attribute class {up,down}\n@data\n1,2,up\n3,4,?\n5,6,down\n";

fn read(name: &str, text: &str, without_labels: bool) -> Loaded {
    load_bytes(name, text.as_bytes(), &ReadOptions { without_labels, ..ReadOptions::default() }).unwrap()
}

#[test]
fn series_without_a_label_are_left_out_and_said() {
    for (name, text) in [("p.csv", CSV), ("p.ts", TS), ("p.arff", ARFF)] {
        let loaded = read(name, text, false);
        assert_eq!((loaded.data.cases.len(), loaded.data.cases[1].values[1]), (2, 6.0), "{name}");
        assert_eq!(loaded.data.targets.classes().len(), 2, "{name}");
        let said = loaded.warnings.iter().filter(|warning| warning.seen == "1 of 3 series has no label, and is left out").count();
        assert_eq!(said, 1, "{name}: {:?}", loaded.warnings);
    }
}

#[test]
fn a_file_of_labels_may_leave_some_blank() {
    let folder = tempfile::tempdir().unwrap();
    let (series, labels) = (folder.path().join("series.csv"), folder.path().join("labels.csv"));
    std::fs::write(&series, "id,time,x\na,0,1\nb,0,3\nc,0,5\n").unwrap();
    std::fs::write(&labels, "id,label,age\na,up,1\nb,,2\nc,down,3\n").unwrap();
    let options = ReadOptions { labels: Some(labels), ..ReadOptions::default() };
    let loaded = load(&series, &options).unwrap();
    assert_eq!(loaded.data.cases.iter().map(|case| case.statics[0]).collect::<Vec<_>>(), [1.0, 3.0]);
    assert!(loaded.warnings.iter().any(|warning| warning.seen.starts_with("1 of 3 series")), "{:?}", loaded.warnings);
    let all = load(&series, &ReadOptions { without_labels: true, ..options }).unwrap();
    assert_eq!((all.data.cases.len(), all.data.statics.len(), all.data.targets), (3, 1, Targets::None));
}

#[test]
fn without_labels_whatever_stands_there_is_right() {
    for (name, text) in [("p.csv", CSV), ("p.ts", &TS.replace(":?", ":sideways")), ("p.arff", &ARFF.replace("4,?", "4,sideways"))]
    {
        let loaded = read(name, text, true);
        assert_eq!((loaded.data.cases.len(), loaded.data.targets), (3, Targets::None), "{name}");
        assert_eq!(loaded.data.channels.len(), 1, "{name}");
    }
}

#[test]
fn series_of_an_array_without_a_label_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.npz");
    let mut data = read("p.csv", "id,time,x,label\na,0,1,0.5\nb,0,3,1\nc,0,5,2\n", false).data;
    data.targets = Targets::Values { name: "y".into(), of: vec![0.5, f64::NAN, 2.0] };
    ncde_data::write(&data, &file, ncde_data::Format::Npz).unwrap();
    let loaded = load(&file, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(loaded.data.targets, Targets::Values { name: "y".into(), of: vec![0.5, 2.0] });
    assert_eq!(loaded.warnings.len(), 1);
}

#[test]
fn all_classes_that_training_did_not_see_are_named() {
    let schema = read("p.csv", CSV, false).schema();
    let new = CSV.replace("up", "left").replace("down", "right");
    let error = read("new.csv", &new, false).data.aligned(&schema).unwrap_err().to_string();
    assert!(error.contains("`left`, `right` (2 labels); known are `down`, `up`"), "{error}");
    assert!(read("new.csv", &new, true).data.aligned(&schema).is_ok());
}
