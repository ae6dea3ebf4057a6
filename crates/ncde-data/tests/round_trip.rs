//! What is written is read: any dataset, through each format that can hold it.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use ncde_data::{Case, Clock, Columns, Dataset, Format, ReadOptions, Targets, TaskName, TimeFormat, read, write};
use proptest::collection::vec;
use proptest::prelude::*;

/// What is asked of a dataset, so that a format can hold it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    None,
    Classes,
    Values,
    ClassSteps,
    ValueSteps,
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -1e6..1e6_f64,
        2 => (-50..50_i32).prop_map(f64::from),
        2 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
        2 => Just(f64::NAN),
    ]
}

/// Strictly increasing times: whole numbers of nanoseconds, so that dates hold them too.
fn times(clock: Clock, length: usize) -> BoxedStrategy<Vec<f64>> {
    if clock == Clock::Index {
        return Just((0..length).map(|i| i as f64).collect()).boxed();
    }
    let steps = (-1_000_000_000..2_000_000_000_i64, vec(1..5_000_i64, length));
    let times = move |(start, steps): (i64, Vec<i64>)| {
        let mut at = start * 1000;
        let next = |step: i64| {
            at += step;
            at as f64 / 1000.0
        };
        steps.into_iter().map(next).collect()
    };
    steps.prop_map(times).boxed()
}

fn case(clock: Clock, channels: usize, statics: usize) -> impl Strategy<Value = Case> {
    (1..6_usize).prop_flat_map(move |length| {
        (times(clock, length), vec(number(), length * channels), vec(number(), statics))
            .prop_map(|(times, values, statics)| Case { id: String::new(), times, values, statics })
    })
}

fn targets(kind: Kind, lengths: Vec<usize>) -> BoxedStrategy<Targets> {
    let cases = lengths.len();
    let names = || ["up", "down", "3"].map(String::from).to_vec();
    match kind {
        Kind::None => Just(Targets::None).boxed(),
        Kind::Classes => vec(0..3_usize, cases).prop_map(move |of| Targets::Classes { names: names(), of }).boxed(),
        Kind::Values => vec(-1e3..1e3_f64, cases).prop_map(|of| Targets::Values { name: "label".into(), of }).boxed(),
        Kind::ClassSteps => lengths
            .into_iter()
            .map(|length| vec(proptest::option::of(0..3_usize), length))
            .collect::<Vec<_>>()
            .prop_map(move |of| Targets::ClassSteps { names: names(), of })
            .boxed(),
        Kind::ValueSteps => lengths
            .into_iter()
            .map(|length| vec(prop_oneof![4 => -1e3..1e3_f64, 1 => Just(f64::NAN)], length))
            .collect::<Vec<_>>()
            .prop_map(|of| Targets::ValueSteps { name: "label".into(), of })
            .boxed(),
    }
}

fn dataset(kinds: &'static [Kind], most_statics: usize) -> impl Strategy<Value = Dataset> {
    let clock = prop_oneof![Just(Clock::Index), Just(Clock::Numbers), Just(Clock::Dates)];
    let shape = (clock, 1..4_usize, 0..=most_statics, 1..6_usize, proptest::sample::select(kinds));
    shape.prop_flat_map(|(clock, channels, statics, cases, kind)| {
        vec(case(clock, channels, statics), cases).prop_flat_map(move |cases| {
            let lengths = cases.iter().map(Case::len).collect();
            targets(kind, lengths).prop_map(move |targets| {
                let id = |(i, case): (usize, &Case)| Case { id: format!("case, {i}"), ..case.clone() };
                Dataset {
                    name: "any data".into(),
                    channels: (0..channels).map(|i| format!("ch \"{i}\"")).collect(),
                    statics: (0..statics).map(|i| format!("s={i}")).collect(),
                    times: clock,
                    cases: cases.iter().enumerate().map(id).collect(),
                    targets,
                    vocabulary: None,
                    groups: None,
                }
            })
        })
    })
}

fn through(data: &Dataset, format: Format, name: &str, options: &ReadOptions) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(Path::new(name));
    write(data, &file, format).unwrap();
    read(&file, options).unwrap()
}

/// Bits, so that missing values compare and -0 does not become 0.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

fn assert_same_cases(a: &Dataset, b: &Dataset) {
    assert_eq!(a.times, b.times);
    assert_eq!(a.cases.len(), b.cases.len());
    for (a, b) in a.cases.iter().zip(&b.cases) {
        assert_eq!(bits(&a.times), bits(&b.times));
        assert_eq!(bits(&a.values), bits(&b.values));
        assert_eq!(bits(&a.statics), bits(&b.statics));
    }
}

/// Targets with the bits of numbers.
fn plain(targets: &Targets) -> String {
    format!("{targets:?}")
}

const ALL: &[Kind] = &[Kind::None, Kind::Classes, Kind::Values, Kind::ClassSteps, Kind::ValueSteps];
const WHOLE: &[Kind] = &[Kind::None, Kind::Classes, Kind::Values];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn npz_holds_everything(data in dataset(ALL, 2)) {
        for name in ["x.npz", "x.npz.gz"] {
            // With one observation a case, a label that is missing is one of a case.
            let gaps = match &data.targets {
                Targets::ClassSteps { of, .. } => of.iter().flatten().any(Option::is_none),
                Targets::ValueSteps { of, .. } => of.iter().flatten().any(|x| x.is_nan()),
                _ => false,
            };
            prop_assume!(!gaps || data.cases.iter().any(|case| case.len() > 1));
            // Observations that are all unlabelled are no targets; whole numbers may look like classes.
            let is_quantity = matches!(data.targets, Targets::Values { .. } | Targets::ValueSteps { .. });
            let task = is_quantity.then_some(TaskName::Regression);
            let back = through(&data, Format::Npz, name, &ReadOptions { task, ..ReadOptions::default() });
            assert_same_cases(&data, &back);
            prop_assert_eq!(&data.name, &back.name);
            prop_assert_eq!(&data.channels, &back.channels);
            prop_assert_eq!(&data.statics, &back.statics);
            let ids = |data: &Dataset| data.cases.iter().map(|case| case.id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&data), ids(&back));
            let is_blank = match &data.targets {
                Targets::ClassSteps { of, .. } => of.iter().flatten().all(Option::is_none),
                Targets::ValueSteps { of, .. } => of.iter().flatten().all(|x| x.is_nan()),
                _ => false,
            };
            // With one observation a case, labels of observations are those of cases.
            let is_single = data.cases.iter().all(|case| case.len() == 1) && !matches!(data.targets, Targets::None);
            if !is_blank && !is_single {
                prop_assert_eq!(plain(&data.targets), plain(&back.targets));
            }
        }
    }

    #[test]
    fn ts_holds_series_and_labels(data in dataset(WHOLE, 0)) {
        for name in ["x.ts", "x.ts.gz"] {
            let back = through(&data, Format::Ts, name, &ReadOptions::default());
            assert_same_cases(&data, &back);
            prop_assert_eq!(&data.name, &back.name);
            match (&data.targets, &back.targets) {
                (Targets::Values { of: a, .. }, Targets::Values { of: b, .. }) => prop_assert_eq!(bits(a), bits(b)),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }

    #[test]
    fn csv_holds_all_but_the_order_of_classes(data in dataset(WHOLE, 2)) {
        let statics = Some(data.statics.clone());
        let task = matches!(data.targets, Targets::Values { .. }).then_some(TaskName::Regression);
        // Numbers may look like seconds since 1970.
        let time_format = (data.times == Clock::Numbers).then_some(TimeFormat::Number);
        let columns = Columns { statics, time_format, ..Columns::default() };
        let options = ReadOptions { columns, task, ..ReadOptions::default() };
        for name in ["x.csv", "x.csv.gz"] {
            let back = through(&data, Format::Csv, name, &options).aligned(&data.schema()).unwrap();
            assert_same_cases(&data, &back);
            prop_assert_eq!(&data.channels, &back.channels);
            prop_assert_eq!(&data.statics, &back.statics);
            prop_assert_eq!(plain(&data.targets), plain(&back.targets));
            prop_assert_eq!(&data.cases[0].id, &back.cases[0].id);
        }
    }
}

#[test]
fn csv_holds_labels_of_observations() {
    let text = b"id,time,x,label\na,0,1,u\na,1,2,v\na,2,2,\nb,0,3,v\n";
    let data = ncde_data::read_bytes("x.csv", text, &ReadOptions::default()).unwrap();
    assert!(matches!(data.targets, Targets::ClassSteps { .. }));
    assert_eq!(through(&data, Format::Csv, "x.csv", &ReadOptions::default()), data);
}

#[test]
fn csv_and_ts_as_text() {
    let text = b"id,time,age,x,label\na,0,30,1e-9,u\na,1,,-2,u\na,2,,,u\nb,0.5,40,12345678901234567890,v\n";
    let data = ncde_data::read_bytes("x.csv", text, &ReadOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    write(&data, &file, Format::Csv).unwrap();
    let wanted = "id,time,x,age,label\na,0,1e-9,30,u\na,1,-2,,u\na,2,,,u\nb,0.5,1.2345678901234567e19,40,v\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wanted);
    let data =
        Dataset { statics: vec![], cases: data.cases.into_iter().map(|case| Case { statics: vec![], ..case }).collect(), ..data };
    write(&data, &file, Format::Ts).unwrap();
    let wanted = "@problemName x\n@timeStamps true\n@missing true\n@univariate true\n@dimensions 1\n@equalLength false\n\
        @classLabel true u v\n@data\n(0,1e-9),(1,-2),(2,?):u\n(0.5,1.2345678901234567e19):v\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wanted);
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let data = |text: &str| ncde_data::read_bytes("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
    let refused = |data: &Dataset, format| write(data, Path::new("never-written"), format).unwrap_err().to_string();
    let statics = data("id,time,age,x\na,0,30,1\na,1,30,2\nb,0,40,3\n");
    assert_eq!(refused(&statics, Format::Ts), "cannot write `x` as ts: it has static covariates; write csv or npz");
    let steps = data("time,x,label\n0,1,u\n1,2,v\n");
    assert_eq!(refused(&steps, Format::Ts), "cannot write `x` as ts: observations have labels of their own; write csv or npz");
    let spaces = data("time,x,label\n0,1,too long\n");
    let wanted = "cannot write `x` as ts: the class `too long` is not one word; rename it, or write csv or npz";
    assert_eq!(refused(&spaces, Format::Ts), wanted);
    assert_eq!(refused(&steps, Format::Arff), "cannot write `x` as arff: this format is only read; write csv, ts or npz");
    let mut taken = steps.clone();
    taken.channels[0] = "label".into();
    let wanted = "cannot write `x` as csv: the name `label` is there twice, or taken; rename the column";
    assert_eq!(refused(&taken, Format::Csv), wanted);
    let mut missing = spaces;
    missing.targets = Targets::Classes { names: vec!["NA".into()], of: vec![0] };
    let wanted = "cannot write `x` as csv: classes `NA` would be read as missing; rename them, or write npz";
    assert_eq!(refused(&missing, Format::Csv), wanted);
    assert!(!Path::new("never-written").exists());
}
