//! Datasets that were made by hand: what does not fit together is an error that names the case.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use ncde_data::{Case, Clock, Dataset, Error, Flaw, Targets};

fn data() -> Dataset {
    let case = |id: &str, length: usize| Case {
        id: id.into(),
        times: (0..length).map(|i| i as f64).collect(),
        values: vec![f64::NAN; 2 * length],
        statics: vec![1.0],
    };
    Dataset {
        name: "made".into(),
        channels: vec!["x".into(), "y".into()],
        statics: vec!["age".into()],
        times: Clock::Numbers,
        cases: vec![case("a", 3), case("b", 1)],
        targets: Targets::Classes { names: vec!["u".into(), "v".into()], of: vec![1, 0] },
        vocabulary: None,
        groups: None,
    }
}

fn names() -> Vec<String> {
    vec!["u".into(), "v".into()]
}

#[test]
fn parts_that_fit_together_are_taken() {
    let targets = [
        Targets::None,
        Targets::Classes { names: names(), of: vec![1, 0] },
        Targets::Values { name: "z".into(), of: vec![-1.5, 0.0] },
        Targets::ClassSteps { names: names(), of: vec![vec![None, Some(1), Some(0)], vec![None]] },
        Targets::ValueSteps { name: "z".into(), of: vec![vec![f64::NAN; 3], vec![2.0]] },
    ];
    for targets in targets {
        Dataset { targets, ..data() }.check().unwrap();
    }
    let mut tokens = Dataset { channels: vec!["token".into()], vocabulary: Some(names()), ..data() };
    tokens.cases[0].values = vec![0.0, 1.0, 1.0];
    tokens.cases[1].values = vec![0.0];
    tokens.check().unwrap();
    tokens.cases[0].values[1] = 2.0;
    let message = tokens.check().unwrap_err().to_string();
    assert_eq!(message, "case `a` of `made`: observation 1 is 2, wanted the number of a token, a whole one below 2");
}

#[test]
fn what_does_not_fit_is_told_with_its_case() {
    type Change = fn(&mut Dataset);
    let cases: [(Change, &str); 13] = [
        (|d| d.cases[1].values.push(0.0), "case `b` of `made`: 3 values, wanted 2"),
        (|d| d.cases[0].times.truncate(2), "case `a` of `made`: 6 values, wanted 4"),
        (|d| (d.cases[1].times, d.cases[1].values) = (vec![], vec![]), "case `b` of `made`: 0 observations, wanted 1"),
        (|d| d.cases[1].statics.clear(), "case `b` of `made`: 0 static covariates, wanted 1"),
        (|d| d.cases[0].times[2] = 1.0, "case `a` of `made`: observation 2 has the time 1, which is not a finite time after 1"),
        (|d| d.cases[1].times[0] = f64::NAN, "case `b` of `made`: observation 0 has the time NaN, wanted a finite one"),
        (
            |d| d.cases[0].values[3] = f64::INFINITY,
            "case `a` of `made`: number 3 of its values is infinite; a missing one is NaN",
        ),
        (
            |d| d.targets = Targets::Classes { names: names(), of: vec![0] },
            "`made` has 1 targets, but 2 cases; give each case its target",
        ),
        (
            |d| d.targets = Targets::Classes { names: names(), of: vec![0, 2] },
            "case `b` of `made`: class 2, but there are 2 classes, counted from 0",
        ),
        (
            |d| d.targets = Targets::ClassSteps { names: names(), of: vec![vec![None, None, Some(7)], vec![None]] },
            "case `a` of `made`: class 7 at observation 2, but there are 2 classes, counted from 0",
        ),
        (
            |d| d.targets = Targets::ClassSteps { names: names(), of: vec![vec![None; 3], vec![None; 2]] },
            "case `b` of `made`: 2 targets, wanted 1",
        ),
        (
            |d| d.targets = Targets::ValueSteps { name: "z".into(), of: vec![vec![0.0; 2], vec![0.0]] },
            "case `a` of `made`: 2 targets, wanted 3",
        ),
        (
            |d| d.targets = Targets::Values { name: "z".into(), of: vec![0.0, f64::INFINITY] },
            "case `b` of `made`: its target is inf, wanted a finite number",
        ),
    ];
    for (change, wanted) in cases {
        let mut changed = data();
        change(&mut changed);
        assert_eq!(changed.check().unwrap_err().to_string(), wanted);
    }
    let mut changed = data();
    changed.cases[0].statics.clear();
    let Err(Error::Malformed { case, flaw, .. }) = changed.check() else { panic!() };
    assert_eq!((&case[..], flaw), ("a", Flaw::Length { what: "static covariates", seen: 0, wanted: 1 }));
}
