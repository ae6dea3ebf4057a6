//! Datasets in the form of others: aligned, joined, without duplicates.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use ncde_data::{Dataset, Layout, ReadOptions, Schema, Targets, read_bytes};

fn csv(text: &str) -> Dataset {
    read_bytes("new.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn schema(channels: &[&str], statics: &[&str], classes: &[&str]) -> Schema {
    let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
    Schema { channels: names(channels), statics: names(statics), classes: names(classes), ..Schema::default() }
}

fn message(result: Result<Dataset, ncde_data::Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn columns_go_by_name() {
    let data = csv("id,time,extra,b,a\n1,0,9,2,1\n1,1,9,4,3\n");
    let aligned = data.aligned(&schema(&["a", "b"], &[], &[])).unwrap();
    assert_eq!(aligned.channels, ["a", "b"]);
    assert_eq!(aligned.cases[0].values, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_missing_column_is_named() {
    let data = csv("id,time,Temperature,HR\n1,0,9,2\n");
    assert_eq!(
        message(data.aligned(&schema(&["HR", "temprature"], &[], &[]))),
        "`new` has no channel `temprature`, which the model was trained on; it has `Temperature`, `HR`; \
         did you mean `Temperature`?"
    );
}

#[test]
fn files_without_names_go_by_number() {
    let ts = || read_bytes("new.ts", b"@problemName n\n@data\n1,2:3,4\n", &ReadOptions::default()).unwrap();
    let aligned = ts().aligned(&schema(&["a", "b"], &[], &[])).unwrap();
    assert_eq!(aligned.channels, ["a", "b"]);
    assert_eq!(aligned.cases[0].values, [1.0, 3.0, 2.0, 4.0]);
    let wanted = "`n` has 2 channels without names, but the model was trained on 3; give the file names, or as many channels";
    assert_eq!(message(ts().aligned(&schema(&["a", "b", "c"], &[], &[]))), wanted);
    // The model was trained on such a file.
    let data = csv("id,time,p,q\n1,0,9,2\n");
    assert_eq!(data.aligned(&schema(&["channel_1", "channel_2"], &[], &[])).unwrap().cases[0].values, [9.0, 2.0]);
}

#[test]
fn categories_that_are_not_seen_are_zero() {
    let wanted = schema(&["unit=g", "unit=kg", "x"], &[], &[]);
    let other = || csv("id,time,unit,x\n1,0,kg,1\n1,1,t,2\n1,2,,3\n");
    let error = "`new`, column `unit`: `t` is not one of those seen in training: `g`, `kg`; correct it, or train with `--set \
                 unknown=true` to take it for none of these";
    assert_eq!(message(other().aligned(&wanted)), error);
    let table = Layout { unknown: true, ..Layout::default() };
    let aligned = other().aligned(&Schema { table: Some(table), ..wanted }).unwrap();
    let known: Vec<Option<f64>> = aligned.cases[0].values.iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
    let rows = [[Some(0.0), Some(1.0), Some(1.0)], [Some(0.0), Some(0.0), Some(2.0)], [None, None, Some(3.0)]];
    assert_eq!(known, rows.concat());
    // Here all categories are numbers, so the file has a column of numbers.
    let wanted = schema(&["ward=2", "ward=w"], &[], &[]);
    let aligned = csv("id,time,ward\n1,0,2\n1,1,3\n").aligned(&wanted).unwrap();
    assert_eq!(aligned.cases[0].values, [1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn what_is_static_is_up_to_the_model() {
    // With one case nothing tells that the age is static.
    let data = csv("id,time,age,x\n1,0,30,1\n1,1,,2\n");
    assert_eq!(data.statics.len(), 0);
    let aligned = data.aligned(&schema(&["x"], &["age"], &[])).unwrap();
    assert_eq!(
        (aligned.cases[0].values.as_slice(), aligned.cases[0].statics.as_slice()),
        ([1.0, 2.0].as_slice(), [30.0].as_slice())
    );
    let data = csv("id,time,age,x\n1,0,30,1\n1,1,31,2\n");
    let wanted = "column `age` is to be static, but in case `1` it is both `30` and `31`; leave it out of the statics";
    assert_eq!(message(data.aligned(&schema(&["x"], &["age"], &[]))), wanted);
    // And the other way round.
    let data = csv("id,time,age,x\n1,0,30,1\n1,1,30,2\n2,0,40,3\n");
    assert_eq!(data.statics, ["age"]);
    let aligned = data.aligned(&schema(&["age", "x"], &[], &[])).unwrap();
    assert_eq!(aligned.cases[0].values, [30.0, 1.0, 30.0, 2.0]);
}

#[test]
fn classes_go_by_name_or_number() {
    let label = |labels: &[&str], classes: &[&str]| {
        let rows: String = labels.iter().enumerate().map(|(i, label)| format!("{i},0,1,{label}\n")).collect();
        csv(&format!("id,time,x,label\n{rows}")).aligned(&schema(&["x"], &[], classes))
    };
    let of = |result: Result<Dataset, _>| match result.unwrap().targets {
        Targets::Classes { of, .. } => of,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(label(&["b", "a"], &["c", "b", "a"])), [1, 2]);
    assert_eq!(of(label(&["1", "2"], &["2.0", "1.0"])), [1, 0]);
    // Read as quantities, but the model knows classes.
    assert_eq!(of(label(&["1.5", "2"], &["2", "1.5"])), [1, 0]);
    let wanted = "`new` has classes that the model was not trained on: `d` (1 label); known are `a`, `b`; correct or leave out these rows, or train again with them; `ncde predict` needs no labels";
    assert_eq!(message(label(&["a", "d"], &["a", "b"])), wanted);
    // A model of numbers takes classes that are numbers.
    let values = label(&["1", "2"], &[]).unwrap().targets;
    assert_eq!(values, Targets::Values { name: "label".into(), of: vec![1.0, 2.0] });
    let steps = csv("time,x,label\n0,1,a\n1,1,b\n2,1,\n").aligned(&schema(&["x"], &[], &["b", "a"])).unwrap().targets;
    assert_eq!(steps, Targets::ClassSteps { names: vec!["b".into(), "a".into()], of: vec![vec![Some(1), Some(0), None]] });
}

#[test]
fn joined_datasets_keep_their_order() {
    let first = csv("id,time,x,label\na,0,1,u\nb,0,2,v\n");
    let second = csv("id,time,x,label\nb,0,3,w\nc,0,4,u\n");
    let both = first.clone().concat(second).unwrap();
    let ids: Vec<&str> = both.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "b#2", "c"]);
    let names = ["u", "v", "w"].map(String::from).to_vec();
    assert_eq!(both.targets, Targets::Classes { names, of: vec![0, 1, 2, 0] });
    let other = csv("id,time,z,label\nb,0,3,w\n");
    let wanted = "cannot join `new` and `new`: channels are `x` and `z`; bring both into one form first";
    assert_eq!(message(first.clone().concat(other)), wanted);
    let other = csv("id,time,x,label\nb,0,3,0.5\n");
    let wanted = "cannot join `new` and `new`: targets are classes of cases and numbers of cases; bring both into one form first";
    assert_eq!(message(first.concat(other)), wanted);
}

#[test]
fn duplicates_are_dropped() {
    let data = csv("id,time,x,label\na,0,1,u\nb,0,,v\nc,0,1,v\nd,0,?,u\ne,1,1,u\n");
    let (unique, dropped) = data.without_duplicates();
    let ids: Vec<&str> = unique.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!((ids.as_slice(), dropped), (["a", "b", "e"].as_slice(), 2));
    assert!(matches!(unique.targets, Targets::Classes { of, .. } if of == [0, 1, 0]));
}

#[test]
fn a_summary_fits_on_a_screen() {
    let data =
        csv("id,time,a_name_that_is_much_too_long_to_be_shown_in_one_row,x,label\na,0,1,1e-300,u\na,2,1,,v\nb,0.5,5,-1e300,\n");
    let summary = data.summary();
    let text = summary.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for line in [
        "new: 2 cases, 2 channels",
        "  length       1 to 2, median 1",
        "  time         0 to 2",
        "  step         2, all the same",
        "  missing      16.7 % of values",
        "  duplicates   none",
        "  target       2 classes, one for each observation",
        "  unlabelled   1 observation",
        "  u                                       1    50.0 %",
        "  x                               33.3 %  -1.000e300  -5.000e299  1.000e-300",
    ] {
        assert!(text.lines().any(|seen| seen == line), "`{line}` is not in\n{text}");
    }
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["channels"][1]["missing"], 1.0 / 3.0);
    assert_eq!(json["target"]["kind"], "class-steps");
    assert_eq!(json["clock"], "numbers");
}
