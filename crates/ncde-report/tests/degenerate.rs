//! Records with next to nothing in them, or with numbers that are none: every report shows them, none panics.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use ncde_report::metrics::Tally;
use ncde_report::record::{Forecasted, Outcome};
use ncde_report::{Classification, Glyphs, Metrics, Regression, RunRecord, html, markdown, terminal};

use crate::common::{Made, classifier, forecaster, rare_class, regressor};

/// Every report of these runs, alone and beside others; what they are called comes back with them.
fn reports(run: &RunRecord) -> Vec<String> {
    let mut all: Vec<String> = [0, 1, 32, 80]
        .into_iter()
        .flat_map(|width| [Glyphs::Ascii, Glyphs::Unicode].map(|glyphs| terminal(run, width, glyphs)))
        .collect();
    let pair = [run.clone(), classifier(Made::default())];
    all.extend([markdown(&pair[..1]), html(&pair[..1]), markdown(&pair), html(&pair)]);
    all
}

fn of_classes(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut run = classifier(Made::default());
    change(&mut run);
    run
}

fn of_numbers(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut run = regressor(Made::default());
    change(&mut run);
    run
}

/// Forecasts of three horizons, of which the last has no case.
fn forecast(level: Option<f64>, error: f64) -> Metrics {
    let mut tally = Tally::new(&[1, 2, 3], &["x".to_owned()], &[1.0], level, &["last value", "seasonal"]);
    for t in 0..4 {
        tally.push([t % 2, 0], f64::from(t as u8), f64::from(t as u8) + error, level, &[0.5, f64::NAN]);
    }
    Metrics::Forecast(tally.finish(1).unwrap())
}

fn degenerate() -> Vec<(&'static str, RunRecord)> {
    let nan =
        |metrics: Classification| Classification { accuracy: f64::NAN, loss: f64::NAN, f1: f64::NAN, auroc: None, ..metrics };
    let empty_forecast = |metrics: Metrics| match metrics {
        Metrics::Forecast(own) => {
            let naive = own.naive.into_iter().map(|naive| ncde_report::metrics::Naive { scores: vec![], ..naive }).collect();
            Metrics::Forecast(ncde_report::metrics::Forecast { scores: vec![], channels: vec![], naive, ..own })
        }
        other => other,
    };
    let class = |probabilities: &[f64], classes, truth: &[usize]| Classification::of(probabilities, classes, truth);
    vec![
        ("no test part", of_classes(|run| run.validation = run.test.take())),
        ("no part at all", of_classes(|run| (run.test, run.validation) = (None, None))),
        (
            "one case",
            of_classes(|run| {
                run.test = Some(Metrics::Classification(class(&[0.2, 0.3, 0.5], 3, &[2])));
                run.predictions.truncate(1);
            }),
        ),
        ("no case", of_classes(|run| run.test = Some(Metrics::Classification(class(&[], 3, &[]))))),
        (
            "one class in the test part",
            of_classes(|run| {
                run.test = Some(Metrics::Classification(class(&[0.2, 0.3, 0.5].repeat(20), 3, &[1; 20])));
                run.predictions.retain(|case| case.truth == Outcome::from("running"));
            }),
        ),
        (
            "one class at all",
            of_classes(|run| {
                run.data.classes.truncate(1);
                run.test = Some(Metrics::Classification(class(&[1.0; 20], 1, &[0; 20])));
                run.predictions.iter_mut().for_each(|case| case.probabilities = vec![1.0]);
            }),
        ),
        ("no names of classes", of_classes(|run| run.data.classes.clear())),
        (
            "no confusion",
            of_classes(|run| {
                let own = class(&[0.2, 0.3, 0.5], 3, &[2]);
                run.test = Some(Metrics::Classification(Classification { confusion: vec![], ..own }));
            }),
        ),
        ("no history", of_classes(|run| run.history.clear())),
        ("one point", of_classes(|run| run.history.truncate(1))),
        (
            "two points at one step",
            of_classes(|run| {
                run.history.truncate(2);
                run.history.iter_mut().for_each(|point| point.step = usize::MAX);
            }),
        ),
        (
            "a history of nothing but NaN",
            of_classes(|run| {
                for point in &mut run.history {
                    (point.loss, point.metric, point.validation) = (f64::NAN, Some(f64::NAN), Some(f64::INFINITY));
                }
            }),
        ),
        (
            "NaN metrics",
            of_classes(|run| {
                run.test = Some(Metrics::Classification(nan(class(&[f64::NAN; 60], 3, &[1; 20]))));
                run.predictions.iter_mut().for_each(|case| case.probabilities.fill(f64::NAN));
                run.best.iter_mut().for_each(|best| best.value = f64::NAN);
            }),
        ),
        (
            "NaN numbers",
            of_numbers(|run| {
                run.test = Some(Metrics::Regression(Regression::of(&[f64::NAN, 1.0], &[1.0, f64::NAN])));
                run.predictions.iter_mut().for_each(|case| case.predicted = Outcome::from(f64::NAN));
                run.forecasts[0].truth.iter_mut().for_each(|point| point[1] = f64::NAN);
            }),
        ),
        (
            "one number",
            of_numbers(|run| {
                run.test = Some(Metrics::Regression(Regression::of(&[1.0], &[1.0])));
                run.predictions.truncate(1);
            }),
        ),
        ("no number", of_numbers(|run| run.test = Some(Metrics::Regression(Regression::of(&[], &[]))))),
        ("forecasts of nothing", of_numbers(|run| run.forecasts = vec![Forecasted::default()])),
        ("a horizon without a case", of_numbers(|run| run.test = Some(forecast(Some(0.9), 0.1)))),
        ("the same without intervals", of_numbers(|run| run.test = Some(forecast(None, 0.1)))),
        ("forecasts that are NaN", of_numbers(|run| run.test = Some(forecast(Some(0.9), f64::NAN)))),
        ("forecasts without scores", of_numbers(|run| run.test = Some(empty_forecast(forecast(Some(0.9), 0.1))))),
    ]
}

#[test]
fn every_report_survives_every_record() {
    for (name, run) in degenerate() {
        for (at, report) in reports(&run).into_iter().enumerate() {
            assert!(
                report.contains("on Motions") || report.contains("on Heart rates") || report.contains("slice"),
                "{name}, {at}"
            );
            assert!(!report.contains("NaN"), "{name}, {at}: {report}");
        }
    }
}

#[test]
fn a_horizon_without_a_case_has_no_numbers() {
    let run = of_numbers(|run| run.test = Some(forecast(Some(0.9), 0.1)));
    let text = terminal(&run, 80, Glyphs::Ascii);
    let cells = |ahead: &str| -> Vec<String> {
        let row = text.lines().find(|line| line.trim_start().starts_with(ahead)).unwrap_or_default();
        row.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(cells("3  "), ["3", "n/a", "n/a", "n/a", "n/a", "n/a", "n/a"], "{text}");
    assert_eq!(cells("ahead").len(), cells("2  ").len(), "{text}");
}

/// A class of which 3 of 60 cases are, found so often.
fn rare(found: usize) -> RunRecord {
    of_classes(|run| {
        run.data.classes = ["fraud", "fine"].map(String::from).to_vec();
        let truth: Vec<usize> = (0..60).map(|case| usize::from(case >= 3)).collect();
        let row = |case: usize| if case < found { [0.9, 0.1] } else { [0.1, 0.9] };
        let rows: Vec<f64> = (0..60).flat_map(row).collect();
        run.test = Some(Metrics::Classification(Classification::of(&rows, 2, &truth)));
        run.baselines.clear();
    })
}

#[test]
fn a_rare_class_is_in_the_headline() {
    for report in [terminal(&rare(0), 80, Glyphs::Ascii), markdown(&[rare(0)]), html(&[rare(0)])] {
        for word in
            ["95.0 %", "recall of", "0 of 3 cases found, 60 in all", "precision of", "never predicted; average precision 5.0 %"]
        {
            assert!(report.contains(word), "{word}: {report}");
        }
    }
    let found = terminal(&rare(2), 80, Glyphs::Ascii);
    for words in [" 66.7 %  2 of 3 cases found, 60 in all", "2 of 2 predictions right; average precision 68.3 %"] {
        assert!(found.contains(words), "{found}");
    }
    let [recall, accuracy] = ["recall of", "accuracy"].map(|word| found.find(word).unwrap());
    assert!(recall < accuracy, "{found}");
    // Their own verdict is by that class: a model that always says the other one has the higher accuracy.
    let verdict = html(&[rare_class()]);
    let verdict = verdict.split("<p class=\"verdict\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert_eq!(verdict, "Better than the baseline `majority class`: average precision of `bearing fault` 95.9 % against 7.7 %.");
    let asked = html(&[RunRecord { metric: "accuracy".into(), ..rare_class() }]);
    assert!(asked.contains("No better than the baseline `majority class`: accuracy 83.3 % against 92.3 %."));
    // Classes of even size are in no headline.
    assert!(!terminal(&classifier(Made::default()), 80, Glyphs::Ascii).contains("recall of"));
}

#[test]
fn a_forecast_that_is_no_better_than_a_naive_one_says_so() {
    let plain = |error: f64| terminal(&of_numbers(|run| run.test = Some(forecast(None, error))), 80, Glyphs::Ascii);
    let line = |text: &str| text.lines().find(|line| line.starts_with("last value")).map(str::to_owned).unwrap_or_default();
    assert!(line(&plain(5.0)).ends_with("naive forecast; the model is no better"), "{}", plain(5.0));
    assert!(line(&plain(0.1)).ends_with("naive forecast"), "{}", plain(0.1));
    // It is the first thing that is said, in every report.
    for report in [plain(5.0), markdown(&[forecaster(30.0)]), html(&[forecaster(30.0)])] {
        let verdict = report.find("No better than the").unwrap();
        assert!(verdict < report.find("aive forecast; the model is no better").unwrap(), "{report}");
    }
    assert!(html(&[forecaster(3.0)]).contains("<p class=\"verdict\">Better than the seasonal naive forecast, the best of 3: "));
}
