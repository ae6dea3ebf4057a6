//! Each format, from a few bytes to the dataset they mean.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ncde_data::npy::{Array, Data, write_npz};
use ncde_data::{Clock, Columns, Dataset, Format, ReadOptions, Targets, TaskName, read, read_bytes};

fn parse(name: &str, text: &str) -> Dataset {
    read_bytes(name, text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn with(name: &str, text: &str, options: &ReadOptions) -> Dataset {
    read_bytes(name, text.as_bytes(), options).unwrap()
}

/// Numbers, with -99 for what is missing, so that they can be compared.
fn known(values: &[f64]) -> Vec<f64> {
    values.iter().map(|x| if x.is_nan() { -99.0 } else { *x }).collect()
}

fn classes(names: &[&str], of: &[usize]) -> Targets {
    Targets::Classes { names: names.iter().map(|&name| name.into()).collect(), of: of.into() }
}

const TS: &str = "# about\n@problemName demo set\n@timeStamps false\n@missing true\n@univariate false\n@dimensions 2\n\
    @equalLength false\n@classLabel true up down\n@data\n1,2,?:4,5e-1,6:down\n7:-8:up\n";

#[test]
fn ts_with_classes() {
    let data = parse("x.ts", TS);
    assert_eq!(data.name, "demo set");
    assert_eq!(data.channels, ["channel_1", "channel_2"]);
    assert_eq!(data.times, Clock::Index);
    assert_eq!(data.cases[0].times, [0.0, 1.0, 2.0]);
    assert_eq!(known(&data.cases[0].values), [1.0, 4.0, 2.0, 0.5, -99.0, 6.0]);
    assert_eq!(data.cases[1].values, [7.0, -8.0]);
    assert_eq!(data.cases[1].id, "2");
    assert_eq!(data.targets, classes(&["up", "down"], &[1, 0]));
}

#[test]
fn ts_with_targets_and_without_labels() {
    let data = parse("x.ts", "@problemName p\n@targetLabel true\n@data\n1,2:3\n4,5:6\n");
    assert_eq!(data.targets, Targets::Values { name: "target".into(), of: vec![3.0, 6.0] });
    let data = parse("x.ts", "@problemName p\n@classLabel false\n@data\n1,2:3,4\n");
    assert_eq!(data.targets, Targets::None);
    assert_eq!(data.cases[0].values, [1.0, 3.0, 2.0, 4.0]);
    let options = ReadOptions { task: Some(TaskName::Regression), ..ReadOptions::default() };
    let data = with("x.ts", "@classLabel true 1 2.5\n@data\n1:2.5\n2:1\n", &options);
    assert_eq!(data.targets, Targets::Values { name: "label".into(), of: vec![2.5, 1.0] });
    assert_eq!(data.name, "x");
}

#[test]
fn ts_with_time_stamps() {
    let header = "@timeStamps true\n@dimensions 2\n@classLabel true a\n@data\n";
    let data = parse("x.ts", &format!("{header}(0,1.5),(2,3):(0,7),(1,?):a\n(5,1)::a\n"));
    assert_eq!(data.times, Clock::Numbers);
    assert_eq!(data.cases[0].times, [0.0, 1.0, 2.0]);
    assert_eq!(known(&data.cases[0].values), [1.5, 7.0, -99.0, -99.0, 3.0, -99.0]);
    assert_eq!(known(&data.cases[1].values), [1.0, -99.0]);
    let dates = format!("{header}(1970-01-01T00:00:10,1),(1970-01-01 00:01:00,2):(1970-01-01T00:00:10Z,3):a\n");
    let data = parse("x.ts", &dates);
    assert_eq!(data.times, Clock::Dates);
    assert_eq!(data.cases[0].times, [10.0, 60.0]);
    assert_eq!(known(&data.cases[0].values), [1.0, 3.0, 2.0, -99.0]);
}

#[test]
fn arff_gives_what_ts_gives() {
    let text = "% about\n@relation 'demo set'\n\n@attribute series relational\n@attribute t0 numeric\n@attribute t1 numeric\n\
        @attribute t2 numeric\n@end series\n@attribute target {up,down}\n\n@data\n'1,2,?\\n4,5e-1,6',down\n\"7\\n-8\",up\n";
    assert_eq!(format!("{:?}", parse("x.arff", text)), format!("{:?}", parse("x.ts", TS)));
}

#[test]
fn arff_of_one_channel() {
    let header = "@RELATION one\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n";
    let data = parse("x.arff", &format!("{header}@ATTRIBUTE what {{'x y', z}}\n@DATA\n1,2,z\n3,?,'x y'\n"));
    assert_eq!(known(&data.cases[1].values), [3.0, -99.0]);
    assert_eq!(data.targets, classes(&["x y", "z"], &[1, 0]));
    let data = parse("x.arff", &format!("{header}@ATTRIBUTE target REAL\n@DATA\n1,2,0.5\n3,4,1\n"));
    assert_eq!(data.targets, Targets::Values { name: "target".into(), of: vec![0.5, 1.0] });
    let data = parse("x.arff", &format!("{header}@DATA\n1,2\n3,4\n"));
    assert_eq!(data.targets, Targets::None);
    let options = ReadOptions { columns: Columns { label: Some("a".into()), ..Columns::default() }, ..ReadOptions::default() };
    let data = with("x.arff", &format!("{header}@DATA\n1,2\n3,4\n"), &options);
    assert_eq!(data.targets, classes(&["1", "3"], &[0, 1]));
    assert_eq!(data.cases[1].values, [4.0]);
}

#[test]
fn csv_gathers_cases() {
    let data = parse("x.csv", "id,time,p,q,label\nb,0.5,1,NA,no\na,0,3,4,yes\nb,2,?,5,no\na,1,nan,6,yes\na,2,7,8,yes\n");
    assert_eq!(data.channels, ["p", "q"]);
    assert_eq!(data.times, Clock::Numbers);
    assert_eq!(data.cases[0].id, "b");
    assert_eq!(data.cases[0].times, [0.5, 2.0]);
    assert_eq!(known(&data.cases[0].values), [1.0, -99.0, -99.0, 5.0]);
    assert_eq!(known(&data.cases[1].values), [3.0, 4.0, -99.0, 6.0, 7.0, 8.0]);
    assert_eq!(data.targets, classes(&["no", "yes"], &[0, 1]));
}

#[test]
fn csv_without_ids_or_times() {
    let data = parse("walk.csv", "x,target\n1,0.5\n2,0.25\n");
    assert_eq!((data.name.as_str(), data.times), ("walk", Clock::Index));
    assert_eq!(data.cases.len(), 1);
    assert_eq!(data.cases[0].times, [0.0, 1.0]);
    assert_eq!(data.targets, Targets::ValueSteps { name: "target".into(), of: vec![vec![0.5, 0.25]] });
    let data = parse("x.csv", "date,x\n1970-01-02,1\n1970-01-03 12:00,2\n");
    assert_eq!((data.times, data.cases[0].times.as_slice()), (Clock::Dates, [86_400.0, 216_000.0].as_slice()));
}

#[test]
fn csv_labels_of_cases_and_of_observations() {
    let label = |rows: &str| parse("x.csv", &format!("id,time,x,label\n{rows}")).targets;
    assert_eq!(label("a,0,1,u\na,1,2,u\nb,0,3,v\n"), classes(&["u", "v"], &[0, 1]));
    // Only on the first row, or only on the last, of each case.
    assert_eq!(label("a,0,1,u\na,1,2,\nb,0,3,v\nb,1,4,\n"), classes(&["u", "v"], &[0, 1]));
    assert_eq!(label("a,0,1,\na,1,2,u\nb,0,3,\nb,1,4,v\n"), classes(&["u", "v"], &[0, 1]));
    let names = vec!["u".to_string(), "v".into()];
    let of = vec![vec![Some(0), Some(1), None], vec![Some(1)]];
    assert_eq!(label("a,0,1,u\na,1,2,v\na,2,2,\nb,0,3,v\n"), Targets::ClassSteps { names, of });
    // In the middle: a label of that observation.
    let of = vec![vec![None, Some(0), None]];
    assert_eq!(label("a,0,1,\na,1,2,u\na,2,3,\n"), Targets::ClassSteps { names: vec!["u".into()], of });
    assert_eq!(label("a,0,1,\na,1,2,NA\n"), Targets::None);
}

#[test]
fn csv_text_becomes_categories() {
    let data = parse("x.csv", "id,time,unit,x\na,0,kg,1\na,1,,2\na,2,g,3\nb,0,kg,4\n");
    assert_eq!(data.channels, ["unit=g", "unit=kg", "x"]);
    assert_eq!(known(&data.cases[0].values), [0.0, 1.0, 1.0, -99.0, -99.0, 2.0, 1.0, 0.0, 3.0]);
    let data = parse("x.csv", "id,time,ward,x\na,0,w,1\na,1,10,2\na,2,9.0,3\na,3,9,3\na,4,v,3\na,5,v,3\n");
    assert_eq!(data.channels, ["ward=9", "ward=10", "ward=v", "ward=w", "x"]);
    assert_eq!(data.cases[0].values[10..20], [1.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
}

#[test]
fn csv_static_covariates_are_found() {
    // Age on first rows, sex on all rows, height missing for b: all static. Weight on first rows, but once later: not.
    let text = "id,time,age,sex,height,weight,x\na,0,30,f,170,60,\na,1,,f,,,1\nb,0,40,m,,70,1\nb,1,,m,,71,2\nc,0,50,m,180,80,3\n";
    let data = parse("x.csv", text);
    assert_eq!(data.statics, ["age", "sex=f", "sex=m", "height"]);
    assert_eq!(data.channels, ["weight", "x"]);
    assert_eq!(known(&data.cases[1].statics), [40.0, 0.0, 1.0, -99.0]);
    assert_eq!(known(&data.cases[0].values), [60.0, -99.0, -99.0, 1.0]);
    // On all rows of one case but on the first row only of another: not static.
    let data = parse("x.csv", "id,time,age,x\na,0,30,1\na,1,30,2\nb,0,40,3\nb,1,,4\n");
    assert_eq!(data.channels, ["age", "x"]);
    // The same in all cases, or a single row a case: nothing to tell.
    assert_eq!(parse("x.csv", "id,time,k,x\na,0,5,1\na,1,5,2\nb,0,5,3\n").statics.len(), 0);
    assert_eq!(parse("x.csv", "id,time,k,x\na,0,5,1\nb,0,6,2\n").statics.len(), 0);
    // All of them would leave no channel.
    assert_eq!(parse("x.csv", "id,time,k\na,0,5\na,1,5\nb,0,6\n").channels, ["k"]);
}

#[test]
fn csv_static_covariates_are_those_that_are_named() {
    let text = "id,time,unit,age,x\na,0,kg,30,1\na,1,kg,30,2\nb,0,g,40,1\n";
    let statics = |names: &[&str]| {
        let statics = Some(names.iter().map(|&name| name.into()).collect());
        with("x.csv", text, &ReadOptions { columns: Columns { statics, ..Columns::default() }, ..ReadOptions::default() })
    };
    assert_eq!(statics(&[]).channels, ["unit=g", "unit=kg", "age", "x"]);
    assert_eq!(statics(&["age"]).statics, ["age"]);
    assert_eq!(statics(&["unit=kg", "unit=t"]).statics, ["unit=g", "unit=kg"]);
}

#[test]
fn labels_in_a_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("x.csv"), "id,time,x\na,0,1\nb,0,2\n").unwrap();
    fs::write(path("y.csv"), "label,id,age,sex\n0.5,b,40,f\n1,a,30,\n").unwrap();
    let options = ReadOptions { labels: Some(path("y.csv")), ..ReadOptions::default() };
    let data = read(path("x.csv"), &options).unwrap();
    assert_eq!(data.targets, Targets::Values { name: "label".into(), of: vec![1.0, 0.5] });
    assert_eq!(data.statics, ["age", "sex=f"]);
    assert_eq!(known(&data.cases[0].statics), [30.0, -99.0]);
    // Of a .ts file the cases are counted.
    fs::write(path("x.ts"), "@classLabel false\n@data\n1,2\n3,4\n").unwrap();
    fs::write(path("y.csv"), "case,outcome\n2,dead\n1,alive\n").unwrap();
    assert_eq!(read(path("x.ts"), &options).unwrap().targets, classes(&["alive", "dead"], &[0, 1]));
}

#[test]
fn a_folder_of_csv_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("p2.csv"), "time,x,z\n0,1,2\n1,3,4\n").unwrap();
    fs::write(path("p1.csv"), "z,time,x\n6,0,5\n").unwrap();
    fs::write(path("notes.txt"), "not data\n").unwrap();
    let data = read(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(data.cases[0].id, "p1");
    assert_eq!(data.channels, ["z", "x"]);
    assert_eq!(data.cases[0].values, [6.0, 5.0]);
    assert_eq!(data.cases[1].values, [2.0, 1.0, 4.0, 3.0]);
    fs::write(path("labels.csv"), "id,class\np2,b\np1,a\n").unwrap();
    assert_eq!(read(folder.path(), &ReadOptions::default()).unwrap().targets, classes(&["a", "b"], &[0, 1]));
}

#[test]
fn a_folder_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (class, name, x) in [("up", "a", 1), ("up", "b", 2), ("down", "a", 3)] {
        fs::create_dir_all(path(class)).unwrap();
        fs::write(path(&format!("{class}/{name}.csv")), format!("time,x\n0,{x}\n1,5\n")).unwrap();
    }
    let data = read(folder.path(), &ReadOptions::default()).unwrap();
    let ids: Vec<&str> = data.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["down/a", "up/a", "up/b"]);
    assert_eq!(data.targets, classes(&["down", "up"], &[0, 1, 1]));
    assert_eq!(data.cases[0].values, [3.0, 5.0]);
    let error = |options: &ReadOptions| read(folder.path(), options).unwrap_err().to_string();
    fs::write(path("up/b.csv"), "time,x\n0,oops\n").unwrap();
    assert!(error(&ReadOptions::default()).contains("`oops` is not a number"));
    fs::write(path("c.csv"), "time,x\n0,1\n").unwrap();
    assert!(error(&ReadOptions::default()).contains("a folder for each class"));
}

#[test]
fn gzip_of_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.ts.gz");
    let mut packed = GzEncoder::new(fs::File::create(&file).unwrap(), Compression::fast());
    packed.write_all(TS.as_bytes()).unwrap();
    packed.finish().unwrap();
    assert_eq!(format!("{:?}", read(&file, &ReadOptions::default()).unwrap()), format!("{:?}", parse("x.ts", TS)));
}

#[test]
fn content_decides_where_the_name_does_not() {
    assert_eq!(format!("{:?}", parse("x.dat", TS)), format!("{:?}", parse("x.ts", TS)));
    assert_eq!(parse("x.dat", "id,time,x\na,0,1\n").channels, ["x"]);
    let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    assert_eq!(with("x.ts", "id,time,x\na,0,1\n", &options).channels, ["x"]);
}

fn npz(arrays: &[(&str, Array)]) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    write_npz(arrays, &mut out).unwrap();
    out.into_inner()
}

fn array(shape: &[usize], data: Data) -> Array {
    Array { shape: shape.into(), data }
}

#[test]
fn npz_of_any_names() {
    let cube = array(&[2, 3, 1], Data::F32(vec![1.0, 2.0, f32::NAN, 4.0, 5.0, 6.0]));
    let text = |texts: &[&str]| Data::Text(texts.iter().map(|&text| text.into()).collect());
    let bytes = npz(&[
        ("series", cube.clone()),
        ("labels", array(&[2], text(&["b", "a"]))),
        ("times", array(&[3], Data::F64(vec![0.0, 0.5, 2.0]))),
        ("lengths", array(&[2], Data::Int(vec![3, 2]))),
    ]);
    let data = read_bytes("x.npz", &bytes, &ReadOptions::default()).unwrap();
    assert_eq!(data.times, Clock::Numbers);
    assert_eq!(data.cases[1].times, [0.0, 0.5]);
    assert_eq!(data.cases[1].values, [4.0, 5.0]);
    assert_eq!(known(&data.cases[0].values), [1.0, 2.0, -99.0]);
    assert_eq!(data.targets, classes(&["a", "b"], &[1, 0]));
    // Whole numbers are classes, others are quantities, and a second axis is one of observations.
    let target = |shape: &[usize], entries: Data| {
        let bytes = npz(&[("X", cube.clone()), ("y", array(shape, entries))]);
        read_bytes("x.npz", &bytes, &ReadOptions::default()).unwrap().targets
    };
    assert_eq!(target(&[2], Data::Int(vec![7, 3])), classes(&["3", "7"], &[1, 0]));
    assert_eq!(target(&[2, 1], Data::F64(vec![7.5, 3.0])), Targets::Values { name: "y".into(), of: vec![7.5, 3.0] });
    let steps = target(&[2, 3], Data::F64(vec![0.5, f64::NAN, 1.0, 2.0, 3.0, 4.0]));
    let Targets::ValueSteps { of, .. } = steps else { panic!("{steps:?}") };
    assert_eq!(known(&of.concat()), [0.5, -99.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn npy_in_two_and_three_axes() {
    for shape in [&[2, 2][..], &[2, 2, 1]] {
        let mut bytes = Vec::new();
        ncde_data::npy::write(&array(shape, Data::Int(vec![1, 2, 3, 4])), &mut bytes).unwrap();
        let data = read_bytes("x.npy", &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(data.cases[1].values, [3.0, 4.0]);
        assert_eq!(data.targets, Targets::None);
    }
}
