//! Made-up runs that look like real ones, the same every time.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use ncde_report::metrics::{Tally, predicted};
use ncde_report::record::{
    Baseline, Best, ColumnSummary, DataSummary, Forecasted, ModelSummary, Outcome, Point, Prediction, StopReason, Threshold,
};
use ncde_report::{Classification, Metrics, Regression, RunRecord};

/// Numbers between -1 and 1 from a linear congruential generator.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// What of a made-up run is chosen.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) model: &'a str,
    pub(crate) detail: &'a str,
    pub(crate) classes: &'a [&'a str],
    /// How strongly the true class stands out; about 3 is good.
    pub(crate) skill: f64,
    pub(crate) seconds_per_step: f64,
    pub(crate) seed: u64,
}

impl Default for Made<'_> {
    fn default() -> Self {
        let classes = &["walking", "running", "standing still"];
        Self {
            model: "slice",
            detail: "block 4, H = 64, depth 2, windows of 16",
            classes,
            skill: 2.5,
            seconds_per_step: 0.0123,
            seed: 1,
        }
    }
}

/// Names of channels, one of them long.
const CHANNELS: [&str; 6] = ["x", "y", "acceleration of the left wrist, vertical (m/s^2)", "gyro_x", "gyro_y", "gyro_z"];

fn column(name: &str) -> ColumnSummary {
    ColumnSummary { name: name.into(), range: Some([-1234.5, 0.0213, 987.0]), missing: 0.012 }
}

fn frame(made: Made<'_>, task: &str, history: Vec<Point>, best: Best) -> RunRecord {
    RunRecord {
        format: RunRecord::FORMAT,
        version: "0.1.0".into(),
        command: format!("ncde train --data motions.csv --model {} --seed {} --out runs/{}", made.model, made.seed, made.model),
        started: "2026-01-31T12:00:00Z".into(),
        seed: made.seed,
        threads: 2,
        data: DataSummary {
            name: "Motions".into(),
            train: 1280,
            validation: 160,
            test: 240,
            channels: 6,
            observations: None,
            statics: 0,
            classes: made.classes.iter().map(ToString::to_string).collect(),
            task: task.into(),
            removed_duplicates: 3,
            lengths: Some([40, 97, 128]),
            missing: 0.043,
            counts: made.classes.iter().enumerate().map(|(k, _)| [400 + 3 * k, 50 + k, 80]).collect(),
            columns: CHANNELS.iter().map(|name| column(name)).collect(),
            ..DataSummary::default()
        },
        model: ModelSummary { name: made.model.into(), detail: made.detail.into(), parameters: 48_213 },
        config: format!("seed = {}\n\n[model]\nkind = \"{}\"\nhidden = 64\n# {}\n", made.seed, made.model, made.detail),
        steps: history.last().map_or(0, |point| point.step),
        seconds: 187.5,
        seconds_per_step: made.seconds_per_step,
        stopped: StopReason::Patience,
        recoveries: Vec::new(),
        overflowed: Default::default(),
        metric: String::new(),
        threshold: None,
        baselines: Vec::new(),
        forecasts: Vec::new(),
        warnings: Vec::new(),
        directory: String::new(),
        best: Some(best),
        history,
        validation: None,
        test: None,
        predictions: Vec::new(),
    }
}

fn history(made: Made<'_>, metric: impl Fn(f64, f64) -> f64) -> Vec<Point> {
    let mut noise = Noise::new(made.seed);
    let point = |at: usize| {
        let progress = 1.0 - (-(at as f64) / 12.0 * made.skill / 2.5).exp();
        let loss = 1.1 * (1.0 - 0.97 * progress) * (1.0 + 0.1 * noise.draw());
        let validation = at.is_multiple_of(2).then_some(1.15 - 0.9 * progress + 0.004 * at as f64);
        Point {
            step: 25 * at,
            seconds: 2.5 * at as f64,
            loss,
            rate: 1e-3,
            validation,
            metric: validation.map(|_| metric(progress, noise.draw())),
        }
    };
    (0..=60).map(point).collect()
}

/// A run of a classifier.
pub(crate) fn classifier(made: Made<'_>) -> RunRecord {
    let history = history(made, |progress, noise| (0.33 + 0.6 * progress + 0.01 * noise).min(1.0));
    let mut run = frame(made, "classification", history, Best { step: 1100, metric: "accuracy".into(), value: 0.9375 });
    let classes = made.classes.len();
    let mut noise = Noise::new(made.seed + 77);
    let truth: Vec<usize> = (0..240).map(|case| (case * 7 + case / 5) % classes).collect();
    let logits: Vec<f64> = truth
        .iter()
        .flat_map(|class| (0..classes).map(move |other| (class, other)))
        .map(|(class, other)| made.skill * (if *class == other { 1.0 } else { 0.0 }) + 2.0 * noise.draw())
        .collect();
    let probabilities = ncde_report::metrics::softmax(&logits, classes);
    let metrics = Classification::of(&probabilities, classes, &truth);
    run.predictions = probabilities
        .chunks(classes)
        .zip(&truth)
        .enumerate()
        .map(|(case, (row, class))| Prediction {
            id: format!("case {case}"),
            truth: Outcome::from(made.classes[*class]),
            predicted: Outcome::from(made.classes[predicted(row)]),
            probabilities: row.to_vec(),
        })
        .collect();
    let constant: Vec<f64> =
        (0..240 * classes).map(|at| if at % classes == 0 { 0.5 } else { 0.5 / (classes - 1).max(1) as f64 }).collect();
    let guess = Metrics::Classification(Classification::of(&constant, classes, &truth));
    run.baselines = vec![
        Baseline { name: "majority class".into(), note: format!("always `{}`", made.classes[0]), metrics: guess.clone() },
        Baseline { name: "linear on signatures".into(), note: String::new(), metrics: guess },
    ];
    run.test = Some(Metrics::Classification(metrics));
    run
}

/// A run of a regressor.
pub(crate) fn regressor(made: Made<'_>) -> RunRecord {
    let history = history(made, |progress, noise| 4.0 * (1.0 - 0.95 * progress) * (1.0 + 0.05 * noise));
    let made = Made { classes: &[], ..made };
    let mut run = frame(made, "regression", history, Best { step: 1500, metric: "mse".into(), value: 0.21 });
    run.data.name = "Heart rates".into();
    let mut noise = Noise::new(made.seed + 5);
    let truth: Vec<f64> = (0..240).map(|_| 60.0 + 40.0 * noise.draw()).collect();
    let values: Vec<f64> = truth.iter().map(|y| y + 12.0 / made.skill * noise.draw()).collect();
    run.test = Some(Metrics::Regression(Regression::of(&values, &truth)));
    let case = |(case, (y, f)): (usize, (&f64, &f64))| Prediction {
        id: format!("case {case}"),
        truth: Outcome::from(*y),
        predicted: Outcome::from(*f),
        probabilities: Vec::new(),
    };
    run.predictions = truth.iter().zip(&values).enumerate().map(case).collect();
    let wave = |t: usize| [t as f64, (t as f64 / 7.0).sin() * 20.0 + 1000.0];
    run.forecasts = vec![Forecasted {
        id: "meter 7".into(),
        channel: "load (kW)".into(),
        seen: (0..60).map(wave).collect(),
        truth: (60..84).map(wave).collect(),
        forecast: (60..84).map(|t| [t as f64, wave(t)[1] + 3.0]).collect(),
        interval: (60..84).map(|t| [wave(t)[1] - 5.0, wave(t)[1] + 11.0]).collect(),
    }];
    run
}

/// A run of a forecaster on hourly loads, with dates; `scale` is the size of its errors.
pub(crate) fn forecaster(scale: f64) -> RunRecord {
    const FIRST: f64 = 1_713_400_200.0;
    let mut run = regressor(Made { model: "reservoir", ..Made::default() });
    run.data.name = "Electricity".into();
    (run.data.task, run.data.dates, run.data.horizon) = ("forecast".into(), true, Some(24));
    (run.predictions, run.metric) = (Vec::new(), "mase".into());
    let channels = ["load (kW)", "temperature of the outside air, measured at the northern wall"].map(String::from);
    let naive = ["last value", "seasonal", "mean"];
    let horizons: Vec<usize> = (1..=24).collect();
    let wave = |t: usize, c: usize| 100.0 * (c + 1) as f64 + 20.0 * (t as f64 * std::f64::consts::TAU / 24.0).sin();
    let mut noise = Noise::new(3);
    let mut tally = Tally::new(&horizons, &channels, &[5.0, 5.0], Some(0.9), &naive).with_period(Some(24));
    for t in 200..300 {
        if t % 40 == 0 {
            tally.begin(["meter 8", "meter 9", "meter 7"][t / 40 - 5]);
        }
        for (place, k) in horizons.iter().enumerate() {
            for c in 0..2 {
                let truth = wave(t + k, c) + 4.0 * noise.draw();
                let ours = wave(t + k, c) + scale * noise.draw() * (t / 40) as f64 / 6.0;
                tally.push([place, c], truth, ours, Some(scale + 4.0), &[wave(t, c), wave(t + k - 24, c) + 4.0, 100.0]);
            }
        }
    }
    run.test = Some(Metrics::Forecast(tally.finish(3).unwrap()));
    run.forecasts = ["meter 7", "meter 8"]
        .into_iter()
        .flat_map(|id| channels.iter().enumerate().map(move |(c, channel)| (id, c, channel)))
        .map(|(id, c, channel)| {
            let point = |t: usize| [FIRST + 3600.0 * t as f64, wave(t, c)];
            Forecasted {
                id: id.into(),
                channel: channel.clone(),
                seen: (0..72).map(point).collect(),
                truth: (72..96).map(point).collect(),
                forecast: (72..96).map(|t| [point(t)[0], point(t)[1] + 0.3 * scale]).collect(),
                interval: (72..96).map(|t| [point(t)[1] - scale, point(t)[1] + scale]).collect(),
            }
        })
        .collect();
    run
}

/// A run that looks for a rare class from a threshold on.
pub(crate) fn rare_class() -> RunRecord {
    let classes = &["the machine runs as it should", "bearing fault"];
    let mut run = classifier(Made { classes, ..Made::default() });
    run.threshold = Some(Threshold { class: classes[1].into(), at: 0.31 });
    let rare = |case: &Prediction| case.truth == Outcome::from(classes[1]);
    let mut at = 0;
    run.predictions.retain(|case| {
        at += usize::from(rare(case));
        !rare(case) || at.is_multiple_of(8)
    });
    for case in &mut run.predictions {
        case.predicted = Outcome::from(classes[usize::from(case.probabilities[1] >= 0.31)]);
    }
    let of = |outcome: &Outcome| usize::from(*outcome == Outcome::from(classes[1]));
    let rows: Vec<f64> = run.predictions.iter().flat_map(|case| case.probabilities.clone()).collect();
    let [truth, decided] = [|case: &Prediction| case.truth.clone(), |case: &Prediction| case.predicted.clone()]
        .map(|side| run.predictions.iter().map(|case| of(&side(case))).collect::<Vec<_>>());
    run.test = Some(Metrics::Classification(Classification::decided(&rows, 2, &decided, &truth)));
    run.baselines.truncate(1);
    run.baselines[0].metrics = Metrics::Classification(Classification::of(&[0.9, 0.1].repeat(truth.len()), 2, &truth));
    run
}

/// Several models with several seeds each, on two sets of data.
pub(crate) fn several() -> Vec<RunRecord> {
    let models = [
        ("slice", "block 4, H = 64, depth 2, windows of 16", 2.5, 0.0123),
        ("slice", "diagonal, H = 128", 1.6, 0.0041),
        ("log-ncde", "H = 64, width 128, 3 layers, depth 2", 2.8, 0.19),
        ("ncde", "H = 64, width 128, 3 layers", 2.0, 0.31),
        ("nrde", "H = 64, width 128, 3 layers, depth 2, windows of 8", 2.52, 0.0125),
    ];
    let mut runs = Vec::new();
    for (at, (model, detail, skill, seconds_per_step)) in models.into_iter().enumerate() {
        for seed in 1..=[5, 3, 3, 1, 1][at] {
            runs.push(classifier(Made { model, detail, skill, seconds_per_step, seed, ..Made::default() }));
        }
    }
    runs.push(regressor(Made::default()));
    runs
}

/// A run that is hard to show: names that are markup or very long, numbers that are none.
pub(crate) fn hostile() -> RunRecord {
    let long = "an_unbroken_name_of_a_class_that_is_far_longer_than_any_phone_is_wide_".repeat(3);
    let mut run =
        classifier(Made { classes: &["<script>alert(1)</script>", "a|b `c` *d* \u{1b}[31m", &long], ..Made::default() });
    run.model.name = "\"><img src=x onerror=alert(2)>".into();
    run.model.detail = long.clone();
    run.data.name = long;
    run.command = "ncde train --note '</pre><script>alert(3)</script>' ```".into();
    run.config = "</pre></details><b>\n```\n".repeat(3);
    run.seconds = f64::NAN;
    run.seconds_per_step = f64::INFINITY;
    for point in &mut run.history[5..20] {
        point.loss = f64::NAN;
        point.metric = Some(f64::INFINITY);
    }
    run
}

/// A run that ended before anything happened.
pub(crate) fn empty() -> RunRecord {
    let mut run = classifier(Made::default());
    run.history.clear();
    run.predictions.clear();
    (run.best, run.test, run.steps) = (None, None, 0);
    run
}

/// A classifier of many classes.
pub(crate) fn many_classes(classes: usize) -> RunRecord {
    let names: Vec<String> = (1..=classes).map(|class| format!("class number {class}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    classifier(Made { classes: &names, ..Made::default() })
}
