//! Forecasts: one long series is a data set, all horizons in one model, intervals that hold, and metrics beside naive forecasts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_report::Metrics;
use ncde_report::metrics::Forecast;
use ncde_runtime::random::Stream;
use ncde_runtime::{Forecast as Task, Forecasts, Model, Prediction};
use ncde_train::{Config, Outcome, Run, TrainRequest, ignore, score};

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|setting| config.set(setting).unwrap());
    config
}

fn dataset(channels: &[&str], cases: Vec<Case>) -> Dataset {
    Dataset {
        name: "made".into(),
        channels: channels.iter().map(ToString::to_string).collect(),
        statics: vec![],
        times: Clock::Numbers,
        cases,
        targets: Targets::None,
        vocabulary: None,
        groups: None,
    }
}

fn case(id: &str, times: Vec<f64>, values: Vec<f64>) -> Case {
    Case { id: id.into(), times, values, statics: vec![] }
}

/// Hours with a daily season, a trend and noise in two channels of different level; some rows are left out, and some values missing.
fn seasonal(length: usize) -> Dataset {
    let noise = Stream::new(11, 0);
    let (mut times, mut values, mut slow) = (Vec::new(), Vec::new(), 0.0);
    for t in 0..length as u64 {
        slow = 0.7 * slow + 0.5 * noise.child(0).normal(t);
        if noise.child(1).uniform(t) < 0.03 {
            continue;
        }
        let hour = t as f64 * std::f64::consts::TAU / 24.0;
        let load = 1000.0 + 0.02 * t as f64 + 10.0 * hour.sin() + 4.0 * (2.0 * hour + 1.0).sin() + slow;
        let heat = 15.0 + 5.0 * (hour - 1.0).sin() + 0.5 * noise.child(2).normal(t);
        times.push(3600.0 * t as f64);
        values.extend([if noise.child(3).uniform(t) < 0.05 { f64::NAN } else { load }, heat]);
    }
    dataset(&["load", "heat"], vec![case("plant", times, values)])
}

/// A stationary series: each value is a share of the one before it, and noise.
fn drifting(id: &str, length: usize, seed: u64) -> Case {
    let noise = Stream::new(seed, 0);
    let step = |x: &mut f64, t: u64| {
        *x = 0.8 * *x + noise.normal(t);
        Some(*x)
    };
    case(id, (0..length).map(|t| t as f64).collect(), (0..length as u64).scan(0.0, step).collect())
}

fn trained(config: &Config, data: Dataset, folder: &std::path::Path) -> Outcome {
    let run = Run::new(config, data, None).unwrap();
    run.train(&TrainRequest::new(folder), &mut ignore).unwrap()
}

fn metrics(metrics: Option<&Metrics>) -> &Forecast {
    match metrics {
        Some(Metrics::Forecast(metrics)) => metrics,
        other => panic!("{other:?}"),
    }
}

#[test]
fn with_defaults_a_long_seasonal_series_with_trend_and_gaps_is_forecast_better_than_by_its_season() {
    let data = seasonal(4000);
    let own = config(&["task=forecast", "horizon=24"]);
    let run = Run::new(&own, data.clone(), None).unwrap();
    let cut = &run.cuts().unwrap()[0];
    let length = data.cases[0].len();
    assert_eq!((cut.train.start, cut.test.end), (0, length));
    // What is solved for has no targets beyond its part, so nothing is left out between parts.
    assert_eq!((cut.validation.start, cut.test.start), (cut.train.end, cut.validation.end));
    let task = run.spec().task.forecast().unwrap();
    assert!(task.grid && task.smoothing.is_some() && task.step == Some(3600.0) && task.horizons() == (1..=24), "{task:?}");
    assert_eq!(task.baseline.as_ref().unwrap().period, Some(24));

    let folder = tempfile::tempdir().unwrap();
    let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    assert_eq!((record.data.test, record.data.observations.unwrap()[2]), (1, cut.test.len()));
    let test = metrics(record.test.as_ref());
    let names: Vec<&str> = test.naive.iter().map(|naive| naive.name.as_str()).collect();
    assert_eq!(names, ["last value", "seasonal", "mean"]);
    let seasonal = test.naive[1].mase.unwrap();
    assert!(test.mase.unwrap() < 0.9 * seasonal, "{:?} {seasonal}", test.mase);
    // For every channel, though one is a hundred times as large.
    for (name, means) in test.by_channel() {
        assert!(means[0].mase.unwrap() < means[2].mase.unwrap(), "{name}: {means:?}");
        assert!(means[0].r2.unwrap() > 0.8, "{name}: {means:?}");
    }
    assert!((0.8..0.97).contains(&test.coverage.unwrap()), "{:?}", test.coverage);
    assert_eq!((test.cases, test.scores.len(), record.forecasts.len()), (1, 48, 2));
    let sample = &record.forecasts[0];
    let last = sample.seen[sample.seen.len() - 1][0];
    assert!(sample.forecast.len() == 24 && sample.forecast[23][0] == last + 24.0 * 3600.0);
    assert!(sample.interval.len() == 24 && !sample.truth.is_empty() && sample.seen.len() > 19);

    // What was tested had seen all that came before: the same numbers come from the whole series.
    let model = Model::load(folder.path()).unwrap();
    assert!(model.spec().task.forecast().unwrap().intervals.is_some());
    let mut series = model.start(&[]).unwrap();
    let t = length - 25;
    model.push_all(&mut series, &data.cases[0].times[..=t], &data.cases[0].values[..2 * (t + 1)]).unwrap();
    let Prediction::Values(Forecasts { values, .. }) = model.predict(&series).unwrap() else { panic!() };
    assert_eq!(values.len(), 48);
    assert!((values[0] - data.cases[0].values[2 * (t + 1)]).abs() < 8.0 || data.cases[0].values[2 * (t + 1)].is_nan());
}

#[test]
fn intervals_of_90_percent_hold_90_percent() {
    let folder = tempfile::tempdir().unwrap();
    let data = dataset(&["x"], vec![drifting("a", 30_000, 1)]);
    let own = config(&[
        "task=forecast",
        "horizon=3",
        "validation=0.25",
        "test_share=0.25",
        "model.spans=3",
        "model.order=4",
        "model.random=20",
    ]);
    let record = trained(&own, data, &folder.path().join("long")).record;
    let test = metrics(record.test.as_ref());
    assert_eq!(test.level, Some(0.9));
    for score in &test.scores {
        assert!((0.88..=0.92).contains(&score.errors.coverage.unwrap()), "{score:?}");
    }
    // Nothing repeats, and what can be known is known: the noise has variance 1, and 1 + 0.64 two ahead.
    assert!(test.period.is_none() && test.naive.len() == 2);
    assert!(
        (test.scores[0].errors.mse - 1.0).abs() < 0.1 && (test.scores[1].errors.mse - 1.64).abs() < 0.15,
        "{:?}",
        test.scores
    );
    // Each channel has its own: widths that were shared would hold all of what is quiet, and too little of what is loud.
    let [quiet, loud] = [2, 3].map(|seed| drifting("a", 20_000, seed));
    let values = quiet.values.iter().zip(&loud.values).flat_map(|(x, y)| [0.01 * x, 5.0 * y + 100.0]).collect();
    let both = dataset(&["quiet", "loud"], vec![case("a", quiet.times, values)]);
    let record = trained(&own, both, &folder.path().join("both")).record;
    let scores = &metrics(record.test.as_ref()).scores;
    assert_eq!(scores.len(), 6);
    for score in scores {
        assert!((0.88..=0.92).contains(&score.errors.coverage.unwrap()), "{score:?}");
    }
    // From many short series as well.
    let cases = (0..60).map(|i| drifting(&format!("s{i}"), 200, i + 10)).collect();
    let own = config(&[
        "task=forecast",
        "horizon=2",
        "validation=0.3",
        "test_share=0.3",
        "model.spans=3",
        "model.order=4",
        "model.random=20",
    ]);
    let record = trained(&own, dataset(&["x"], cases), &folder.path().join("short")).record;
    let test = metrics(record.test.as_ref());
    assert_eq!((test.cases, record.data.observations), (60, Some([4800, 3600, 3600])));
    assert!((0.88..=0.92).contains(&test.coverage.unwrap()), "{:?}", test.coverage);
}

#[test]
fn a_forecast_follows_a_level_that_was_never_seen() {
    let noise = Stream::new(5, 0);
    let step = |x: &mut f64, t: u64| {
        *x += 0.5 + noise.normal(t);
        Some(*x)
    };
    let values: Vec<f64> = (0..1500).scan(0.0, step).collect();
    let data = dataset(&["x"], vec![case("a", (0..1500).map(f64::from).collect(), values)]);
    let mase = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let small = ["task=forecast", "horizon=4", "model.spans=3", "model.order=4", "model.random=0"];
        let record = trained(&config(&[&small, more].concat()), data.clone(), folder.path()).record;
        let test = metrics(record.test.as_ref());
        (test.mase.unwrap(), test.naive[0].mase.unwrap(), record)
    };
    // The test part lies above all that was trained on, and the drift is known: better than the last value.
    let (own, last, _) = mase(&[]);
    assert!(own < 0.9 * last, "{own} {last}");
    let (_, _, record) = mase(&["relative=false", "first_horizon=3"]);
    assert_eq!(metrics(record.test.as_ref()).scores.iter().map(|score| score.horizon).collect::<Vec<_>>(), [3, 4]);
    let run = Run::new(&config(&["task=forecast", "relative=false", "first_horizon=3", "horizon=4"]), data, None).unwrap();
    let task = run.spec().task.forecast().unwrap();
    assert!(!task.relative && task.horizons() == (3..=4));
}

#[test]
fn models_trained_by_steps_take_stretches_of_a_long_series_with_any_threads() {
    let data = seasonal(1500);
    let own = config(&[
        "task=forecast",
        "horizon=6",
        "name=slice",
        "hidden=8",
        "steps=20",
        "evaluate_every=10",
        "batch=4",
        "stretch=128",
    ]);
    let run = Run::new(&own, data.clone(), None).unwrap();
    assert!(run.parts().train.len() > 10 && run.parts().test.is_empty() && run.series() == [1, 1, 1]);
    let weights = |threads: usize| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let record = pool.install(|| trained(&own, data.clone(), folder.path()).record);
        assert!(record.best.is_some() && record.history.len() == 2);
        assert!(
            metrics(record.test.as_ref()).mase.unwrap().is_finite() && metrics(record.validation.as_ref()).coverage.is_some()
        );
        (std::fs::read(folder.path().join(ncde_runtime::WEIGHTS)).unwrap(), record.test)
    };
    assert_eq!(weights(1), weights(2));
}

#[test]
fn labels_at_the_steps_of_one_long_series_are_split_by_time_and_count_as_one_series() {
    let mut data = dataset(&["x"], vec![drifting("a", 1200, 5)]);
    let of = data.cases[0].values.windows(2).map(|w| Some(usize::from(w[1] > w[0]))).collect::<Vec<_>>();
    let of = vec![std::iter::once(None).chain(of).collect()];
    data.targets = Targets::ClassSteps { names: vec!["down".into(), "up".into()], of };
    for settings in [
        &["name=slice", "hidden=8", "steps=150", "rate=0.02", "evaluate_every=50"][..],
        &["name=reservoir", "model.spans=3", "model.order=5", "model.random=40"],
    ] {
        let run = Run::new(&config(settings), data.clone(), None).unwrap();
        assert!(run.cuts().is_some());
        let folder = tempfile::tempdir().unwrap();
        let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
        let Some(Metrics::Classification(test)) = &record.test else { panic!("{:?}", record.test) };
        assert_eq!((test.cases, test.series.as_ref().unwrap().count, test.interval()), (180, 1, None));
        assert!(test.accuracy > 0.8, "{settings:?}: {}", test.accuracy);
    }
    // Of several series, a series is the unit.
    let model = ncde_runtime::Task::Classification { classes: vec!["down".into(), "up".into()], at: ncde_runtime::At::Steps };
    let cases: Vec<Case> = (0..4).map(|i| drifting(&format!("s{i}"), 50, i)).collect();
    let mut data = dataset(&["x"], cases);
    data.targets = Targets::ClassSteps { names: vec!["down".into(), "up".into()], of: vec![vec![Some(0); 50]; 4] };
    let said = |right: bool| {
        vec![
            Prediction::Class {
                class: usize::from(!right),
                probabilities: vec![f64::from(u8::from(right)), f64::from(u8::from(!right))]
            };
            50
        ]
    };
    let Some(Metrics::Classification(metrics)) = score(&model, &data, &[said(true), said(true), said(true), said(false)]) else {
        panic!()
    };
    let interval = metrics.interval().unwrap();
    assert!(metrics.accuracy == 0.75 && interval.low < 0.35 && interval.high > 0.94, "{interval:?}");
}

#[test]
fn naive_forecasts_are_what_they_say() {
    // 0 1 2 10 11 12 20 21 22 ...: three steps make a period, and one period adds 10.
    let values: Vec<f64> = (0..30).map(|t| f64::from(t / 3 * 10 + t % 3)).collect();
    let data = dataset(&["x"], vec![case("a", (0..30).map(f64::from).collect(), values.clone())]);
    let baseline = ncde_runtime::Baseline { period: Some(3), means: vec![4.0], scales: vec![10.0] };
    let task = Task { from: Some(1), baseline: Some(baseline), ..Task::one(4) };
    // A forecast that is 1 too large.
    let ahead =
        |t: usize| Forecasts::from((1..=4).map(|k| values.get(t + k).copied().unwrap_or(0.0) + 1.0).collect::<Vec<f64>>());
    let said: Vec<Prediction> = (0..30).map(|t| Prediction::Values(ahead(t))).collect();
    let scored = score(&ncde_runtime::Task::Forecast(task), &data, &[said]);
    let own = metrics(scored.as_ref());
    assert_eq!((own.mae, own.mse, own.mase, own.cases), (1.0, 1.0, Some(0.1), 1));
    assert_eq!((own.scores[0].errors.numbers, own.scores[3].errors.numbers), (29, 26));
    // The last value, three ahead, is 10 off; four ahead the season is two periods before.
    assert_eq!(own.naive[0].scores[2].errors.mae, 10.0);
    let late = &own.naive[1].scores;
    assert!(late[0].errors.mae < 10.5 && late[3].errors.mae > 15.0, "{late:?}");
    let mean: f64 = values[1..].iter().map(|x| (x - 4.0).abs()).sum::<f64>() / 29.0;
    assert!((own.naive[2].scores[0].errors.mae - mean).abs() < 1e-12);
}

#[test]
fn what_cannot_be_split_by_time_is_told() {
    let message = |settings: &[&str], data: Dataset| Run::new(&config(settings), data, None).unwrap_err().to_string();
    let one = || dataset(&["x"], vec![drifting("a", 300, 3)]);
    let told = message(&["task=forecast", "horizon=3", "first_horizon=4"], one());
    assert!(told.contains("`data.first_horizon` is 4, but `horizon`, the last one, is 3"), "{told}");
    assert!(message(&["task=forecast", "split=time", "folds=3"], one()).contains("no folds"));
    let many = dataset(&["x"], (0..12).map(|i| drifting(&format!("s{i}"), 10, i)).collect());
    assert!(message(&["task=forecast", "stretch=64"], many).contains("not split by time"));
    let mut whole = dataset(&["x"], (0..12).map(|i| drifting(&format!("s{i}"), 40, i)).collect());
    whole.targets = Targets::Values { name: "y".into(), of: vec![1.0; 12] };
    assert!(message(&["split=time"], whole).contains("series as a whole have labels"));
    let short = dataset(&["x"], vec![drifting("a", 30, 3)]);
    assert!(
        message(&["task=forecast", "horizon=20", "split=time", "validation=0.15", "test_share=0.15"], short)
            .contains("`data.horizon` is 20, but the training part of a series has at most 20")
    );
    // Without a test part there are no metrics of one.
    let folder = tempfile::tempdir().unwrap();
    let own = config(&["task=forecast", "test_share=0", "model.spans=2", "model.order=3", "model.random=10"]);
    let run = Run::new(&own, one(), None).unwrap();
    assert_eq!(run.series(), [1, 1, 0]);
    assert!(run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record.test.is_none());
}
