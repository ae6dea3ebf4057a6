//! Reservoirs, fitted in closed form: each task on small made-up data, streams, threads, settings.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::path::Path;

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_runtime::random::Stream;
use ncde_runtime::{Model, Prediction, SPEC, WEIGHTS};
use ncde_train::{Config, Event, Outcome, Run, TrainRequest, ignore, predict_all, score, watching};

/// A small model for series as a whole.
fn config(settings: &[&str]) -> Config {
    with(&["model.spans=3", "model.groups=1", "model.order=5"], settings)
}

fn with(base: &[&str], settings: &[&str]) -> Config {
    let mut config = Config::default();
    base.iter().chain(settings).for_each(|setting| config.set(setting).unwrap());
    config
}

/// What waves look like.
#[derive(Clone, Copy)]
struct Waves {
    cases: usize,
    channels: usize,
    longest: usize,
    /// The share of values that are missing.
    missing: f64,
    statics: bool,
}

const WAVES: Waves = Waves { cases: 40, channels: 2, longest: 40, missing: 0.0, statics: false };

impl Waves {
    /// Sines at irregular times; those of class 1 are three times as fast. Lengths are from half the longest to that.
    fn data(self) -> Dataset {
        let names = |prefix: &str, count: usize| (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
        let mut cases = Vec::new();
        for i in 0..self.cases {
            let stream = Stream::new(i as u64, 31);
            let (phase, speed) = (6.3 * stream.uniform(0), if i % 2 == 0 { 1.0 } else { 3.0 });
            let length = (self.longest - (stream.uniform(1) * self.longest as f64 / 2.0) as usize).max(1);
            let (mut time, mut times, mut values) = (5.0, Vec::new(), Vec::new());
            for t in 0..length as u64 {
                times.push(time);
                for channel in 0..self.channels as u64 {
                    let place = 20 * t + 2 * channel;
                    let x = (speed * time + phase + channel as f64).sin() + 0.1 * stream.normal(1000 + place);
                    values.push(if stream.uniform(5000 + place) < self.missing { f64::NAN } else { x });
                }
                time += 0.1 + 0.2 * stream.uniform(9000 + t);
            }
            let statics = if self.statics { vec![stream.normal(2), if i % 5 == 0 { f64::NAN } else { 1.0 }] } else { vec![] };
            cases.push(Case { id: format!("wave-{i}"), times, values, statics });
        }
        Dataset {
            name: "waves".into(),
            channels: names("x", self.channels),
            statics: names("s", if self.statics { 2 } else { 0 }),
            times: Clock::Numbers,
            targets: Targets::Classes {
                names: vec!["slow".into(), "fast".into()],
                of: (0..cases.len()).map(|i| i % 2).collect(),
            },
            cases,
            vocabulary: None,
            groups: None,
        }
    }
}

/// The speed of each wave.
fn speeds(data: &Dataset) -> Targets {
    Targets::Values { name: "speed".into(), of: (0..data.cases.len()).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect() }
}

/// At every observation whether the first channel has risen since the one before; some labels are missing.
fn rising(data: &Dataset) -> Targets {
    let (mut of, channels) = (Vec::new(), data.channels.len());
    for case in &data.cases {
        let rises = |t: usize| case.row(t, channels)[0] > case.row(t.max(1) - 1, channels)[0];
        of.push((0..case.len()).map(|t| (t % 5 != 4).then(|| usize::from(rises(t)))).collect());
    }
    Targets::ClassSteps { names: vec!["falls".into(), "rises".into()], of }
}

/// At every observation the sum of its values.
fn sums(data: &Dataset) -> Targets {
    let channels = data.channels.len();
    let one = |case: &Case| (0..case.len()).map(|t| case.row(t, channels).iter().sum()).collect();
    Targets::ValueSteps { name: "sum".into(), of: data.cases.iter().map(one).collect() }
}

fn fitted(config: &Config, data: Dataset, folder: &Path) -> Outcome {
    let run = Run::new(config, data, None).unwrap();
    assert_eq!((run.spec().name.as_str(), run.settings().is_closed_form()), ("reservoir", true));
    let mut seen = Vec::new();
    let outcome = run.train(
        &TrainRequest::new(folder),
        &mut watching(|event| match event {
            Event::Solved { chosen, error } => {
                assert!(!chosen.is_empty() && error.is_finite());
                seen.push("solved");
            }
            Event::Testing => seen.push("testing"),
            other => panic!("{other:?}"),
        }),
    );
    assert_eq!(seen, ["solved", "testing"]);
    outcome.unwrap()
}

fn numbers(prediction: &Prediction) -> Vec<f64> {
    match prediction {
        Prediction::Class { probabilities, .. } => {
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            probabilities.clone()
        }
        Prediction::Value(value) => vec![*value],
        Prediction::Values(forecasts) => forecasts.values.clone(),
    }
}

/// What a saved model says after each observation, pushed one by one, is what it says of the series cut there and pushed at once.
fn streams(folder: &Path, data: &Dataset) {
    let model = Model::load(folder).unwrap();
    let channels = data.channels.len();
    for case in data.cases.iter().take(2) {
        let mut series = model.start(&case.statics).unwrap();
        for t in 0..case.len() {
            model.push(&mut series, case.times[t], case.row(t, channels)).unwrap();
            let live = model.predict(&series).unwrap();
            let mut whole = model.start(&case.statics).unwrap();
            model.push_all(&mut whole, &case.times[..=t], &case.values[..(t + 1) * channels]).unwrap();
            let said = model.predict(&whole).unwrap();
            if let (Prediction::Class { class: a, .. }, Prediction::Class { class: b, .. }) = (&live, &said) {
                assert_eq!(a, b);
            }
            for (a, b) in numbers(&live).iter().zip(numbers(&said)) {
                assert!(a.is_finite() && (a - b).abs() < 1e-6, "{} after {t}: {a} {b}", case.id);
            }
        }
    }
}

/// Fits, looks at the metric of the test part and at streams; the metric.
fn check(settings: &[&str], data: &Dataset, metric: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    // A small one for every observation, if that is predicted at.
    let config = match data.targets {
        Targets::Classes { .. } | Targets::Values { .. } => config(settings),
        _ => with(&["model.spans=3", "model.order=5", "model.random=40"], settings),
    };
    let record = fitted(&config, data.clone(), folder.path()).record;
    // How far off forecasts are is seen on a validation part.
    assert_eq!(record.validation.is_some(), settings.contains(&"task=forecast"));
    assert!(record.best.is_none() && record.history.is_empty());
    streams(folder.path(), data);
    record.test.unwrap().get(metric).unwrap()
}

#[test]
fn classes_at_the_end() {
    for waves in [
        WAVES,
        Waves { channels: 1, ..WAVES },
        Waves { missing: 0.2, statics: true, ..WAVES },
        Waves { channels: 1, missing: 0.3, ..WAVES },
        Waves { longest: 90, channels: 3, ..WAVES },
    ] {
        let accuracy = check(&["test_share=0.4"], &waves.data(), "accuracy");
        assert!(accuracy > 0.8, "{accuracy}");
    }
}

#[test]
fn numbers_at_the_end() {
    for waves in [WAVES, Waves { channels: 1, missing: 0.2, statics: true, ..WAVES }] {
        let mut data = waves.data();
        data.targets = speeds(&data);
        let r2 = check(&["test_share=0.4"], &data, "r2");
        assert!(r2 > 0.5, "{r2}");
    }
}

#[test]
fn classes_and_numbers_at_steps() {
    for waves in [WAVES, Waves { channels: 1, statics: true, ..WAVES }] {
        let mut data = waves.data();
        data.targets = rising(&data);
        let accuracy = check(&["test_share=0.4"], &data, "accuracy");
        assert!(accuracy > 0.85, "{accuracy}");
        data.targets = sums(&data);
        let r2 = check(&["test_share=0.4"], &data, "r2");
        assert!(r2 > 0.95, "{r2}");
    }
}

/// A class of one observation in twenty, told apart badly: it is found more often if classes count the same, at the end of a series and at every observation.
#[test]
fn rare_classes_count_as_much_as_others_if_that_is_asked_for() {
    let noisy = |i: usize, t: usize| Stream::new(i as u64, 77).normal(t as u64);
    let rare = |i: usize, t: usize| Stream::new(i as u64, 78).uniform(t as u64) < 0.1;
    let mut data = Waves { cases: 200, longest: 16, channels: 1, ..WAVES }.data();
    let mut of = Vec::new();
    for (i, case) in data.cases.iter_mut().enumerate() {
        of.push((0..case.len()).map(|t| Some(usize::from(rare(i, t)))).collect());
        (0..case.len()).for_each(|t| case.values[t] = noisy(i, t) + if rare(i, t) { 1.5 } else { 0.0 });
    }
    let names = || vec!["usual".into(), "rare".into()];
    let at_steps = Dataset { targets: Targets::ClassSteps { names: names(), of }, ..data.clone() };
    let is_rare = |i: usize| i % 10 == 3;
    for (i, case) in data.cases.iter_mut().enumerate() {
        (0..case.len()).for_each(|t| case.values[t] = noisy(i, t) + if is_rare(i) { 0.4 } else { 0.0 });
    }
    let of = (0..data.cases.len()).map(|i| usize::from(is_rare(i))).collect();
    let at_end = Dataset { targets: Targets::Classes { names: names(), of }, ..data };
    for data in [at_end, at_steps] {
        let [plain, balanced] = ["none", "balanced"]
            .map(|weights| check(&["test_share=0.4", &format!("class_weights={weights}")], &data, "balanced_accuracy"));
        assert!(balanced > plain + 0.1, "{plain} {balanced}");
    }
}

#[test]
fn forecasts() {
    for (waves, horizon) in [(WAVES, 1), (Waves { channels: 1, missing: 0.15, statics: true, ..WAVES }, 2)] {
        let data = Dataset { targets: Targets::None, ..waves.data() };
        let r2 = check(&["test_share=0.4", "task=forecast", &format!("horizon={horizon}")], &data, "r2");
        assert!(r2 > 0.5, "{r2}");
    }
}

#[test]
fn one_observation_of_each_series() {
    let mut data = Waves { longest: 1, ..WAVES }.data();
    for (i, case) in data.cases.iter_mut().enumerate() {
        case.values[0] += 5.0 * (i % 2) as f64;
    }
    assert!(data.cases.iter().all(|case| case.len() == 1));
    let accuracy = check(&["test_share=0.4"], &data, "accuracy");
    assert!(accuracy > 0.9, "{accuracy}");
    // Some have one, others many.
    let mut data = WAVES.data();
    for case in data.cases.iter_mut().skip(1).step_by(3) {
        case.times.truncate(1);
        case.values.truncate(2);
    }
    check(&["test_share=0.4"], &data, "accuracy");
}

#[test]
fn two_cases_of_each_class() {
    let data = Waves { cases: 4, ..WAVES }.data();
    let folder = tempfile::tempdir().unwrap();
    let record = fitted(&config(&["test_share=0"]), data.clone(), folder.path()).record;
    assert!(record.test.is_none());
    streams(folder.path(), &data);
    let model = Model::load(folder.path()).unwrap();
    let metrics =
        score(&model.spec().task, &data, &predict_all(&model, &data, model.spec().task.at()).unwrap().predictions).unwrap();
    assert!(metrics.get("accuracy").unwrap() >= 0.5);
}

/// A channel that never changes, and nothing but such channels.
#[test]
fn constants_say_nothing() {
    let mut data = WAVES.data();
    data.cases.iter_mut().for_each(|case| case.values.chunks_exact_mut(2).for_each(|row| row[1] = 0.7));
    let accuracy = check(&["test_share=0.4"], &data, "accuracy");
    assert!(accuracy > 0.8, "{accuracy}");
    data.cases.iter_mut().for_each(|case| case.values.fill(0.7));
    let folder = tempfile::tempdir().unwrap();
    // The lengths of series differ, so something varies; whatever is said, it is a number.
    if let Ok(outcome) = Run::new(&config(&[]), data, None).unwrap().train(&TrainRequest::new(folder.path()), &mut ignore) {
        assert!(outcome.record.test.unwrap().get("loss").unwrap().is_finite());
    }
}

/// Mixes are chosen on some cases, and the readout is solved for from products of all pairs of cases or, of very many, of features: all of them find what few cases show.
#[test]
fn many_cases_are_learned_from_like_few() {
    let errors = [400, 1300, 8000].map(|cases| {
        let data = Waves { cases, longest: 9, ..WAVES }.data();
        let data = Dataset { targets: speeds(&data), ..data };
        // Many files are sorted by what is to be learned.
        let Targets::Values { of, .. } = &data.targets else { unreachable!("speeds are numbers") };
        let mut order: Vec<usize> = (0..cases).collect();
        order.sort_by(|&a, &b| of[a].total_cmp(&of[b]));
        check(&["model.spans=2", "train.seed=1"], &data.subset(&order), "mse")
    });
    assert!(errors[0] < 0.4 && errors[1] < 0.9 * errors[0] && errors[2] < errors[1], "{errors:?}");
}

#[test]
fn a_seed_decides_every_bit_with_any_threads() {
    let data = || Waves { missing: 0.1, statics: true, ..WAVES }.data();
    let files = |threads: usize, own: &Config| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(own, data(), folder.path()));
        [SPEC, WEIGHTS].map(|name| std::fs::read(folder.path().join(name)).unwrap())
    };
    let one = files(1, &config(&[]));
    assert!(one == files(2, &config(&[])), "threads change the model");
    assert!(one != files(2, &config(&["seed=1"])), "the seed changes nothing");
    // What is printed can be given back, and makes the same model.
    let run = Run::new(&config(&[]), data(), None).unwrap();
    let printed = Config::from_toml(&run.config().explained()).unwrap();
    assert_eq!(printed, *run.config());
    assert!(one == files(2, &printed), "what is printed makes another model");
}

#[test]
fn without_a_name_it_is_the_default() {
    let closed = |settings: &[&str]| {
        let mut config = Config::default();
        settings.iter().for_each(|setting| config.set(setting).unwrap());
        let run = Run::new(&config, Waves { cases: 12, ..WAVES }.data(), None).unwrap();
        (run.spec().name.clone(), run.settings().is_closed_form())
    };
    assert_eq!(closed(&[]), ("reservoir".into(), true));
    assert_eq!(closed(&["seed=3", "metric=auroc"]), ("reservoir".into(), true));
    assert_eq!(closed(&["model.hidden=8"]), ("slice".into(), false));
    assert_eq!(closed(&["train.steps=8"]), ("slice".into(), false));
    assert_eq!(closed(&["name=signature"]), ("signature".into(), false));
    let refused = |settings: &[&str]| {
        let mut config = config(&["name=reservoir"]);
        settings.iter().for_each(|setting| config.set(setting).unwrap());
        Run::new(&config, WAVES.data(), None).unwrap_err().to_string()
    };
    let message = refused(&["train.steps=8"]);
    assert!(message.contains("`train.steps` is set, but a `reservoir` is solved for, without steps; leave it out"), "{message}");
    assert!(refused(&["model.order=13"]).contains("`model.order` is 13; it is at most 12"));
    assert!(refused(&["model.spans=0"]).contains("`model.spans` is 0"));
    assert!(refused(&["model.spans=300"]).contains("at most 256 are possible"));
    assert!(refused(&["model.groups=1000000000"]).contains("too many families"));
    assert!(refused(&["model.random=8"]).contains("`model.random` is set, but it is for predictions at every observation"));
    assert!(refused(&["model.hidden=8"]).contains("`reservoir`, which has no `hidden`"));
}

#[test]
fn in_a_composition_of_ones_own_it_comes_before_what_is_trained() {
    let layers = |before: &str| {
        format!(
            r#"
            [data]
            validation = 0.2
            [train]
            steps = 4
            evaluate_every = 2
            {before}
            [[model.layers]]
            layer = "reservoir"
            horizon = 5.0
            responses = {{ order = 3, spans = [0.1, 0.5], delay = 0.2, families = [{{ groups = 1, pools = ["share", "place"] }}] }}
            summary = {{ order = 2, spans = [0.5], memories = true, moments = true }}
            [[model.layers]]
            layer = "pool"
            over = "last"
            [[model.layers]]
            layer = "standardise"
            [[model.layers]]
            layer = "linear"
            "#
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&Config::from_toml(&layers("")).unwrap(), WAVES.data(), None).unwrap();
    let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
    assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{best} {saved}");
    let trained = layers("[[model.layers]]\nlayer = \"linear\"\noutputs = 3\n");
    let message = Run::new(&Config::from_toml(&trained).unwrap(), WAVES.data(), None).unwrap_err().to_string();
    assert!(message.contains("`layers.1 (reservoir)`: no gradient comes through it"), "{message}");
}
