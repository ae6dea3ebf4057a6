//! Streams that go on far beyond what was seen in training: nothing overflows, and errors stay what they were.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_runtime::random::Stream;
use ncde_runtime::{Model, Prediction};
use ncde_train::{Config, Run, TrainRequest, ignore};

const TRAINED: usize = 150;

/// Two noisy waves a quarter of a turn apart, at a place from 0; the speed changes every 40 observations.
struct Waves {
    stream: Stream,
    turned: f64,
    place: u64,
}

impl Waves {
    fn new(seed: u64) -> Self {
        let stream = Stream::new(seed, 0);
        Self { turned: 6.0 * stream.uniform(0), stream, place: 0 }
    }

    /// The next observation, and whether it is a fast one.
    fn next(&mut self) -> ([f64; 2], bool) {
        self.place += 1;
        let fast = self.stream.child(1).uniform(self.place / 40) < 0.5;
        self.turned += if fast { 0.4 } else { 0.15 };
        let noise = |i: u64| 0.05 * self.stream.child(2).normal(2 * self.place + i);
        ([self.turned.sin() + noise(0), self.turned.cos() + noise(1)], fast)
    }
}

/// Series of training, labels at every observation.
fn data() -> Dataset {
    let (mut cases, mut labels) = (Vec::new(), Vec::new());
    for i in 0..40 {
        let mut waves = Waves::new(i);
        let (rows, fast): (Vec<[f64; 2]>, Vec<bool>) = (0..TRAINED).map(|_| waves.next()).unzip();
        let times = (0..TRAINED).map(|t| t as f64).collect();
        cases.push(Case { id: i.to_string(), times, values: rows.concat(), statics: Vec::new() });
        labels.push(fast.into_iter().map(|fast| Some(usize::from(fast))).collect());
    }
    Dataset {
        name: "waves".into(),
        channels: vec!["x".into(), "y".into()],
        statics: Vec::new(),
        times: Clock::Numbers,
        cases,
        targets: Targets::ClassSteps { names: vec!["slow".into(), "fast".into()], of: labels },
        vocabulary: None,
        groups: None,
    }
}

fn trained(settings: &[&str]) -> Model {
    let mut config = Config::default();
    settings.iter().for_each(|setting| config.set(setting).unwrap());
    let run = Run::new(&config, data(), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap();
    Model::load(folder.path()).unwrap()
}

/// The mean of `errors` over the first observations, as many as were trained on and some more, and over the last tenth.
fn early_and_late(errors: &[f64]) -> [f64; 2] {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    [mean(&errors[50..4000]), mean(&errors[errors.len() * 9 / 10..])]
}

/// One observation after the other to a new series: `error` of each prediction.
fn streamed(
    model: &Model,
    count: usize,
    level: impl Fn(usize) -> f64,
    mut error: impl FnMut(&Prediction, [f64; 2], bool) -> f64,
) -> Vec<f64> {
    let (mut waves, mut series) = (Waves::new(1000), model.start(&[]).unwrap());
    let mut errors = Vec::with_capacity(count);
    for t in 0..count {
        let (row, fast) = waves.next();
        let row = row.map(|x| x + level(t));
        let prediction = model.step(&mut series, t as f64, &row).unwrap();
        let own = error(&prediction, row, fast);
        assert!(own.is_finite(), "observation {t}: {prediction:?}");
        errors.push(own);
    }
    assert!(model.beyond(&series, &[0.0, 0.0]).length && !model.beyond(&model.start(&[]).unwrap(), &[0.0, 0.0]).length);
    errors
}

/// The squared error of forecasts one observation ahead.
fn squared() -> impl FnMut(&Prediction, [f64; 2], bool) -> f64 {
    let mut said = None;
    move |prediction, row, _| {
        let Prediction::Values(ncde_runtime::Forecasts { values, .. }) = prediction else { unreachable!("it forecasts") };
        let now = [values[0], values[1]];
        let last = said.replace(now).unwrap_or(row);
        (0..2).map(|i| (last[i] - row[i]).powi(2)).sum()
    }
}

/// Whether a class is wrong.
fn wrong(prediction: &Prediction, _: [f64; 2], fast: bool) -> f64 {
    let Prediction::Class { class, probabilities } = prediction else { unreachable!("it classifies") };
    assert!(probabilities.iter().all(|p| p.is_finite()));
    f64::from(u8::from((*class == 1) != fast))
}

#[test]
fn a_forecast_holds_for_a_million_observations() {
    // Fewer random functions than by default, which would take six times as long.
    let model = trained(&["task=forecast", "horizon=1", "random=100"]);
    let [early, late] = early_and_late(&streamed(&model, 1_000_000, |_| 0.0, squared()));
    // Two channels whose noise has the deviation 0.05, seen twice: now and next.
    assert!(early < 0.015 && late < 1.05 * early, "{early} {late}");
}

#[test]
fn labels_hold_for_a_hundred_thousand_observations() {
    let [early, late] = early_and_late(&streamed(&trained(&[]), 100_000, |_| 0.0, wrong));
    assert!(early < 0.12 && late < early + 0.02, "{early} {late}");
}

#[test]
fn a_slice_holds_for_a_million_observations() {
    let model = trained(&["model.name=slice", "hidden=16", "steps=150"]);
    let [early, late] = early_and_late(&streamed(&model, 1_000_000, |_| 0.0, wrong));
    assert!(early < 0.3 && late < early + 0.03, "{early} {late}");
}
