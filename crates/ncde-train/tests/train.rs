//! Training: what the saved model says is what was trained; bad data and bad settings are told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_report::record::StopReason;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Form;
use ncde_train::demo::turns;
use ncde_train::{Config, Error, Event, Outcome, Run, TrainRequest, ignore, watching};

pub(crate) fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for setting in ["train.steps=12", "train.evaluate_every=4", "model.hidden=8", "data.validation=0.2"].iter().chain(settings) {
        config.set(setting).unwrap();
    }
    config
}

pub(crate) fn small() -> Dataset {
    turns(3).subset(&(0..60).collect::<Vec<_>>())
}

pub(crate) fn train(settings: &[&str], data: Dataset) -> Result<Outcome, Error> {
    let folder = tempfile::tempdir().unwrap();
    Run::new(&config(settings), data, None)?.train(&TrainRequest::new(folder.path()), &mut ignore)
}

#[test]
fn the_saved_model_says_what_the_trained_one_said() {
    let cases: [&[&str]; 25] = [
        &[],
        &["window=7", "depth=3"],
        &["input=false", "forget=false", "norm=false", "skip=false", "head_layers=0"],
        &["readout=last", "head_layers=2", "head_width=5"],
        &["structure=dplr", "rank=2", "depth=2", "window=4"],
        &["structure=sparse", "transition=euler", "init=0.05", "depth=2", "window=3"],
        &["structure=walsh-hadamard", "skip=false"],
        &["structure=diagonal-dense", "block=3", "missing=forward", "time=false"],
        &["log_scale=0.3", "window=3", "depth=2"],
        &["name=ncde", "solver=rk4", "solver_steps=2", "last=linear"],
        &["name=nrde", "depth=3", "window=4", "solver=euler", "readout=last"],
        &["name=log-ncde", "depth=2", "window=5", "solver_steps=3", "init=0.5", "skip=false"],
        // Brackets of three fields have no kernel: a third of the steps.
        &["name=log-ncde", "depth=3", "window=20", "init=0.5", "field_width=8", "hidden=4", "train.steps=4"],
        &["name=signature"],
        &["name=stack", "blocks=2", "block=2", "members=1"],
        &["name=stack", "blocks=1", "members=3", "window=4"],
        &["name=stack", "blocks=1", "drive=increments", "block_activation=glu", "readout=mean", "dropout=0.1"],
        &["name=stack", "blocks=1", "first=drives", "structure=dense", "transition=euler", "step=0.1"],
        &["structure=sparse", "epsilon=0.3", "input=false"],
        &["structure=diagonal", "depth=2", "window=4"],
        &["name=nrde", "window=7", "depth=1", "head_layers=0"],
        &["stability=contractive", "window=3"],
        &["stability=contractive", "structure=diagonal-dense", "block=3", "log_scale=0.5"],
        &["name=stack", "blocks=1", "stability=contractive", "structure=dense"],
        &["name=stack", "blocks=1", "structure=permutation-diagonal", "matrices=3", "diagonal=complex"],
    ];
    for settings in cases {
        let mut own = config(settings);
        if settings.contains(&"name=signature") {
            own.model.keys.remove("hidden");
        }
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&own, small(), None).unwrap();
        let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
        let (best, validation) = (record.best.unwrap(), record.validation.unwrap());
        let saved = validation.get("loss").unwrap();
        assert_eq!(best.metric, "loss");
        assert!((best.value - saved).abs() < 2e-4 * (1.0 + saved), "{settings:?}: {} {saved}", best.value);
    }
}

/// The models that the thesis compares with, on irregular series and on words: what the saved one says is what the trained one said, for each by its name.
#[test]
fn every_model_by_name_trains_on_numbers_and_on_words() {
    let names: Vec<&str> = ncde_train::presets().map(|(name, _)| name).collect();
    let others = ["reservoir", "slice", "stack", "ncde", "nrde", "log-ncde", "signature"];
    let compared: Vec<&str> = names.into_iter().filter(|name| !others.contains(name)).collect();
    assert!(compared.len() >= 24, "{compared:?}");
    for name in compared {
        for data in [small(), words()] {
            let of_words = data.vocabulary.is_some();
            let own = config(&[&format!("name={name}"), "blocks=1"]);
            let folder = tempfile::tempdir().unwrap();
            let run = Run::new(&own, data, None).unwrap();
            let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
            let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
            assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{name}, words {of_words}: {best} {saved}");
        }
    }
}

/// A key that a model does not have is refused by name.
#[test]
fn keys_of_other_models_are_refused() {
    for (name, key) in [
        ("lstm", "heads=2"),
        ("lru", "heads=2"),
        ("transformer", "states=3"),
        ("deltanet", "products=2"),
        ("mamba3", "convolution=2"),
        ("gru-d", "states=3"),
        ("d-linoss", "real_gaps=true"),
    ] {
        let error = Run::new(&config(&[&format!("name={name}"), key]), small(), None).unwrap_err().to_string();
        assert!(error.contains(key.split('=').next().unwrap()) && error.contains(name), "{error}");
    }
}

/// Words of two letters and different lengths, by whether the second letter is there an odd number of times.
fn words() -> Dataset {
    let word = |i: usize| -> Vec<f64> { (0..3 + i % 6).map(|t| f64::from(u8::from((i * 7 + t * t * 3) % 5 < 2))).collect() };
    let case = |i: usize| Case {
        id: format!("{i:03}"),
        times: (0..word(i).len()).map(|t| t as f64).collect(),
        values: word(i),
        statics: Vec::new(),
    };
    Dataset {
        name: "words".into(),
        channels: vec!["letter".into()],
        statics: Vec::new(),
        times: Clock::Index,
        cases: (0..60).map(case).collect(),
        targets: Targets::Classes {
            names: vec!["even".into(), "odd".into()],
            of: (0..60).map(|i| word(i).iter().sum::<f64>() as usize % 2).collect(),
        },
        vocabulary: Some(vec!["a".into(), "b".into()]),
        groups: None,
    }
}

/// What is asked for of a stack's matrices holds for all members that vote.
#[test]
fn members_have_the_same_matrices() {
    for (structure, members) in [("dense", 4), ("dplr", 4), ("block", 3), ("permutation-diagonal", 1)] {
        let own = config(&["name=stack", "blocks=1", &format!("structure={structure}"), &format!("members={members}")]);
        let run = Run::new(&own, small(), None).unwrap();
        let text = serde_json::to_string(&run.spec().layers).unwrap();
        let named = if structure == "permutation-diagonal" { "\"layer\":" } else { "\"kind\":" };
        assert_eq!(text.matches(&format!("{named}\"{structure}\"")).count(), members, "{text}");
    }
}

/// The same walks, seen in many channels.
#[test]
fn a_dataset_whose_parts_do_not_fit_together_is_refused() {
    let mut data = small();
    data.cases[3].values.pop();
    let refused = |train, test| Run::new(&config(&[]), train, test).map(|_| ()).unwrap_err().to_string();
    let message = refused(data.clone(), None);
    assert!(message.contains("values, wanted"), "{message}");
    assert_eq!(refused(small(), Some(data)), message);
}

fn wide() -> Dataset {
    let mut data = small();
    let channels = data.channels.len();
    data.channels = (0..30).map(|k| format!("x{k}")).collect();
    for case in &mut data.cases {
        let seen =
            |row: &[f64]| (0..30).map(|k| row[k % channels] * (1.0 + k as f64) + 0.1 * (k as f64).sin()).collect::<Vec<_>>();
        case.values = case.values.chunks_exact(channels).flat_map(seen).collect();
    }
    data
}

#[test]
fn short_windows_of_many_channels_come_as_increments() {
    for more in [
        ["window=2", "skip=true", "block=2", "input=false"],
        ["window=2", "skip=true", "block=2", "input=true"],
        ["window=3", "skip=false", "block=4", "input=true"],
    ] {
        let settings = ["depth=2", "log_scale=0.3", "missing=forward"].iter().chain(&more).copied();
        let own = config(&settings.collect::<Vec<_>>());
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&own, wide(), None).unwrap();
        let LayerSpec::Windows(windows) = &run.spec().layers[0] else { panic!("{}", run.spec().detail()) };
        assert_eq!(windows.form, Form::Increments {});
        let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
        let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
        assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{best} {saved}");
    }
}

#[test]
fn events_come_in_order_and_the_loss_falls() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config(&["steps=120", "evaluate_every=40", "rate=0.03"]), small(), None).unwrap();
    let mut seen = Vec::new();
    let outcome = run.train(
        &TrainRequest::new(folder.path()),
        &mut watching(|event| {
            seen.push(match event {
                Event::Started { done, steps, parameters } => {
                    assert!(done == 0 && steps == 120 && parameters > 0);
                    'a'
                }
                Event::Step { .. } => 's',
                Event::Evaluated { .. } => 'e',
                Event::Testing => 't',
                _ => '?',
            });
        }),
    );
    let text: String = seen.into_iter().collect();
    let part = format!("{}e", "s".repeat(40));
    assert_eq!(text, format!("a{part}{part}{part}t"));
    let history = outcome.unwrap().record.history;
    assert!(history[2].loss < 0.8 * history[0].loss, "{history:?}");
}

#[test]
fn what_cannot_be_trained_on_is_told() {
    let message = |settings: &[&str], data: Dataset| train(settings, data).unwrap_err().to_string();
    let none = Dataset { targets: Targets::None, ..small() };
    assert!(message(&[], none.clone()).contains("the data has no labels"));
    assert!(message(&["task=forecast", "horizon=500"], none).contains("the longest series has"));
    let one = Dataset { targets: Targets::Classes { names: vec!["left".into()], of: vec![0; 60] }, ..small() };
    assert!(message(&[], one).contains("every case has the class `left`"));
    assert!(message(&["validation=0.6", "test_share=0.5"], small()).contains("leave nothing to train on"));
    assert!(message(&["missing=refuse"], small()).contains("is missing, and the model was trained to refuse that"));
    assert!(message(&["weight_decay=0.1", "optimizer=adam"], small()).contains("use `optimizer = \"adamw\"`"));
    assert!(message(&["split=files"], small()).contains("there is no test file"));
    assert!(message(&["readout=mean", "task=forecast"], small()).contains("at every observation"));
    assert!(message(&["hidden=9"], small()).contains('9'));
    assert!(
        message(&["name=log-ncde", "block=4"], small()).contains("`log-ncde`, which has no `block`; `slice`, `stack` have one")
    );
    assert!(message(&["solver=rk4"], small()).contains("`slice`, which has no `solver`"));
    assert!(message(&["name=ncde", "window=4"], small()).contains("one observation at a time; use `log-ncde`"));
    assert!(message(&["name=log-ncde", "depth=2", "activation=relu"], small()).contains("use `silu`"));
    assert!(message(&["structure=dplr", "block=4"], small()).contains("the structure `dplr` has none"));
    assert!(message(&["structure=permutation-diagonal"], small()).contains("use it in a `stack`"));
    assert!(message(&["name=stack", "matrices=4"], small()).contains("the structure `block` has none"));
    let permutation = ["name=stack", "structure=permutation-diagonal", "transition=euler"];
    assert!(message(&permutation, small()).contains("the structure `permutation-diagonal` has none"));
    assert!(message(&["structure=dense", "stability=free", "forget=true"], small()).contains("no diagonal of their own"));
    assert!(message(&["forget=true", "time=false"], small()).contains("states forget with time"));
    assert!(message(&["stability=contractive", "time=false"], small()).contains("states forget with time"));
    assert!(message(&["stability=contractive", "depth=2"], small()).contains("depth 1"));
    assert!(message(&["name=stack", "embedding=4"], small()).contains("not tokens"));
    assert!(message(&["name=slise"], small()).contains("there are `reservoir`, `slice`, `stack`"));
    assert!(message(&["name=nrde", "solver_steps=0"], small()).contains("`model.solver_steps` is 0"));
    assert!(message(&["name=log-ncde", "init=1e9", "last=linear", "window=2"], small()).contains("--set init="));
}

#[test]
fn few_cases_are_all_learned_from_unless_asked_otherwise() {
    let mut own = config(&[]);
    own.data.validation = None;
    let run = Run::new(&own, small(), None).unwrap();
    assert_eq!((run.parts().train.len(), run.parts().validation.len()), (51, 0));
    let folder = tempfile::tempdir().unwrap();
    let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    assert!(record.best.is_none() && record.validation.is_none() && record.test.is_some());
    assert_eq!(Run::new(&config(&[]), small(), None).unwrap().parts().validation.len(), 12);
}

#[test]
fn the_largest_state_of_a_neural_model_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config(&["name=log-ncde", "init=1.0"]), small(), None).unwrap();
    run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap();
    let model = ncde_runtime::Model::load(folder.path()).unwrap();
    let radius = model.weights().iter().find(|weight| weight.name.ends_with(".radius")).unwrap().values[0];
    assert!(radius > 0.1 && radius < 100.0, "{radius}");
}

#[test]
fn what_was_asked_for_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(
        &config(&["folds=5", "fold=2", "class_weights=balanced", "penalty=0.01", "dropout=0.2", "patience=99"]),
        small(),
        None,
    )
    .unwrap();
    assert_eq!(run.parts().test.len(), 12);
    let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    assert_eq!((record.steps, record.stopped), (12, StopReason::Steps));
    let twice = small().concat(small()).unwrap();
    let record = train(&["deduplicate=true"], twice).unwrap().record;
    assert_eq!(record.data.removed_duplicates, 60);
    let quick = train(&["minutes=0.0001", "steps=100000", "evaluate_every=50000"], small()).unwrap().record;
    assert_eq!(quick.stopped, StopReason::Time);
}

/// Bits, and whether their sum so far is odd: a label at every observation, or only where `keep` says.
fn bits(cases: u64, length: u64, keep: impl Fn(u64) -> bool) -> Dataset {
    let mut data = small();
    data.channels = vec!["bit".into()];
    data.vocabulary = Some(vec!["0".into(), "1".into()]);
    data.cases.clear();
    let mut of = Vec::new();
    for case in 0..cases {
        let stream = ncde_runtime::random::Stream::new(case, 9);
        let word: Vec<u64> = (0..length - case % 3).map(|t| stream.bits(t) & 1).collect();
        let parity = word.iter().scan(0, |sum, bit| {
            *sum ^= bit;
            Some(*sum)
        });
        of.push(parity.zip(0..).map(|(odd, t)| keep(t).then_some(odd as usize)).collect());
        data.cases.push(ncde_data::Case {
            id: format!("word-{case}"),
            times: (0..word.len()).map(|t| t as f64).collect(),
            values: word.iter().map(|&bit| bit as f64).collect(),
            statics: Vec::new(),
        });
    }
    data.targets = Targets::ClassSteps { names: vec!["even".into(), "odd".into()], of };
    data
}

#[test]
fn tokens_are_embedded_and_a_model_of_numbers_refuses_them() {
    let data = bits(40, 9, |_| true);
    let record = train(&["name=stack", "blocks=1", "block=2"], data.clone()).unwrap().record;
    let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
    assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{best} {saved}");
    let chosen = ["name=stack", "blocks=1", "structure=permutation-diagonal"];
    assert!(train(&chosen, data.clone()).is_ok());
    assert!(train(&["name=slice"], data.clone()).unwrap_err().to_string().contains("the data are tokens; use `stack`"));
    assert!(train(&["name=stack", "time=true"], data).unwrap_err().to_string().contains("the data are tokens"));
}

#[test]
fn labels_in_the_middle_of_windows_are_learned_from_as_they_are_predicted() {
    let mut data = bits(40, 23, |t| t % 4 != 1);
    data.vocabulary = None;
    for settings in [
        &["window=5", "depth=2"][..],
        &["window=4", "depth=2", "input=false", "norm=false", "skip=false", "head_layers=0"],
        &["window=3", "name=log-ncde", "depth=2", "init=0.5"],
        &["window=3", "name=nrde", "depth=2"],
        &["window=30"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&config(settings), data.clone(), None).unwrap();
        let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
        let (best, saved) = (record.best.unwrap().value, record.validation.unwrap());
        // Every label counts: the saved model is scored at each, and so was the trained one.
        assert_eq!(
            saved.cases(),
            run.parts().validation.iter().map(|&i| data.cases[i].len() - (data.cases[i].len() + 2) / 4).sum::<usize>()
        );
        let saved = saved.get("loss").unwrap();
        assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{settings:?}: {best} {saved}");
    }
}

#[test]
fn a_composition_of_ones_own_is_trained_saved_and_checked() {
    let toml = |layers: &str| format!("[data]\nvalidation = 0.2\n[train]\nsteps = 8\nevaluate_every = 4\n{layers}");
    let own = toml(
        r#"
        [[model.layers]]
        layer = "linear"
        outputs = 6
        [[model.layers]]
        layer = "residual"
        [[model.layers.layers]]
        layer = "linear-cde"
        hidden = 6
        structure = { kind = "block", block = 3 }
        drive = { kind = "increments", time = true }
        initial = "first"
        [[model.layers]]
        layer = "pool"
        over = "mean"
        [[model.layers]]
        layer = "linear"
        "#,
    );
    let config = Config::from_toml(&own).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config, small(), None).unwrap();
    assert_eq!(
        (run.spec().name.as_str(), run.spec().detail().as_str()),
        ("layers", "linear, residual [linear-cde], pool, linear")
    );
    let record = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
    assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{best} {saved}");
    // What is printed can be given back.
    let printed = run.config().explained();
    assert_eq!(Config::from_toml(&printed).unwrap(), *run.config());

    let wrong = |layers: &str| Run::new(&Config::from_toml(&toml(layers)).unwrap(), small(), None).unwrap_err().to_string();
    let message = wrong("[[model.layers]]\nlayer = \"linear\"\n");
    assert!(message.contains("`pool` is needed"), "{message}");
    let message = wrong(
        "[[model.layers]]\nlayer = \"pool\"\nover = \"mean\"\n[[model.layers]]\nlayer = \"windows\"\nwindow = 2\nform = { kind = \"increments\" }\n",
    );
    assert!(message.contains("layers.1 (windows)") && message.contains("after `pool`"), "{message}");
    let message = wrong("[[model.layers]]\nlayer = \"embedding\"\nwidth = 2\n");
    assert!(message.contains("layers.0 (embedding)") && message.contains("use `linear`"), "{message}");
    let message = Config::from_toml(&toml("[[model.layers]]\nlayer = \"linear\"\nwidth = 2\n")).unwrap_err().to_string();
    assert!(message.contains("unknown field `width`"), "{message}");
}
