//! Training: what the saved model says is what was trained; bad data and bad settings are told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde::demo::turns;
use ncde::train::{Config, Error, Event, Outcome, Run};
use ncde_data::{Dataset, Targets};

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for setting in ["train.steps=12", "train.evaluate_every=4", "model.hidden=8", "data.validation=0.2"].iter().chain(settings) {
        config.set(setting).unwrap();
    }
    config
}

fn small() -> Dataset {
    turns(3).subset(&(0..60).collect::<Vec<_>>())
}

fn train(settings: &[&str], data: Dataset) -> Result<Outcome, Error> {
    let folder = tempfile::tempdir().unwrap();
    Run::new(&config(settings), data, None)?.train(folder.path(), false, ["test", "now"], &mut |_| {})
}

#[test]
fn the_saved_model_says_what_the_trained_one_said() {
    let cases: [&[&str]; 14] = [
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
        &["name=log-ncde", "depth=3", "window=20", "init=0.5", "field_width=8", "hidden=4"],
        &["name=signature"],
    ];
    for settings in cases {
        let mut own = config(settings);
        if settings.contains(&"name=signature") {
            own.model.hidden = None;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&own, small(), None).unwrap();
        let record = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap().record;
        let (best, validation) = (record.best.unwrap(), record.validation.unwrap());
        let saved = validation.get("loss").unwrap();
        assert_eq!(best.metric, "loss");
        assert!((best.value - saved).abs() < 2e-4 * (1.0 + saved), "{settings:?}: {} {saved}", best.value);
    }
}

/// The same walks, seen in many channels.
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
fn short_windows_of_many_channels_are_saved_as_log_signatures() {
    for (more, steps) in [
        (["window=2", "skip=true", "block=2", "input=false"], 2),
        (["window=2", "skip=true", "block=2", "input=true"], 2),
        (["window=3", "skip=false", "block=4", "input=true"], 3),
    ] {
        let settings = ["depth=2", "log_scale=0.3", "missing=forward"].iter().chain(&more).copied();
        let own = config(&settings.collect::<Vec<_>>());
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&own, wide(), None).unwrap();
        let structure = ncde_kernels::Structure::blocks(8, if steps == 2 { 2 } else { 4 }).unwrap();
        assert!(ncde::model::short_windows_pay(&structure, 31, steps));
        let record = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap().record;
        let (best, saved) = (record.best.unwrap().value, record.validation.unwrap().get("loss").unwrap());
        assert!((best - saved).abs() < 2e-4 * (1.0 + saved), "{best} {saved}");
    }
}

#[test]
fn events_come_in_order_and_the_loss_falls() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config(&["steps=120", "evaluate_every=40", "rate=0.03"]), small(), None).unwrap();
    let mut seen = Vec::new();
    let outcome = run.train(folder.path(), false, ["test", "now"], &mut |event| {
        seen.push(match event {
            Event::Started { done, steps, parameters } => {
                assert!(done == 0 && steps == 120 && parameters > 0);
                'a'
            }
            Event::Step { .. } => 's',
            Event::Evaluated { .. } => 'e',
            Event::Testing => 't',
        });
    });
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
    assert!(message(&["name=log-ncde", "block=4"], small()).contains("`log-ncde`, which has no `block`; `slice` has"));
    assert!(message(&["solver=rk4"], small()).contains("`slice`, which has no `solver`"));
    assert!(message(&["name=ncde", "window=4"], small()).contains("one observation at a time; use `log-ncde`"));
    assert!(message(&["name=log-ncde", "depth=2", "activation=relu"], small()).contains("use `silu`"));
    assert!(message(&["name=nrde", "solver_steps=0"], small()).contains("`model.solver_steps` is 0"));
    assert!(message(&["name=log-ncde", "init=1e9", "last=linear", "window=2"], small()).contains("--set init="));
}

#[test]
fn a_loss_that_explodes_stops_with_advice() {
    let message = train(&["rate=1e30", "clip=0", "schedule=constant", "warmup=0"], small()).unwrap_err().to_string();
    assert!(message.contains("step") && message.contains("`walk-") && message.contains("--set rate="), "{message}");
}

#[test]
fn what_was_good_before_an_explosion_is_kept() {
    let own = config(&[
        "rate=1e6",
        "clip=0",
        "schedule=constant",
        "warmup=0",
        "evaluate_every=1",
        "time=false",
        "missing=forward",
        "transition=euler",
    ]);
    let mut data = small();
    // Series that stand still do not explode, whatever the weights.
    for case in Run::new(&own, small(), None).unwrap().parts().validation.clone() {
        data.cases[case].values.fill(0.5);
    }
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&own, data, None).unwrap();
    let message = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("--set rate=") && message.contains("those of step 1, are saved"), "{message}");
    let again = run.train(folder.path(), true, ["test", "now"], &mut |_| {}).unwrap();
    assert!(again.already && again.record.stopped == "explosion" && again.record.best.is_some());
    ncde_runtime::Model::load(folder.path()).unwrap();
}

#[test]
fn few_cases_are_all_learned_from_unless_asked_otherwise() {
    let mut own = config(&[]);
    own.data.validation = None;
    let run = Run::new(&own, small(), None).unwrap();
    assert_eq!((run.parts().train.len(), run.parts().validation.len()), (51, 0));
    let folder = tempfile::tempdir().unwrap();
    let record = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap().record;
    assert!(record.best.is_none() && record.validation.is_none() && record.test.is_some());
    assert_eq!(Run::new(&config(&[]), small(), None).unwrap().parts().validation.len(), 12);
}

#[test]
fn the_largest_state_of_a_neural_model_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config(&["name=log-ncde", "init=1.0"]), small(), None).unwrap();
    run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap();
    let model = ncde_runtime::Model::load(folder.path()).unwrap();
    let ncde_runtime::Architecture::Neural(neural) = &model.spec().model else { panic!("{:?}", model.spec()) };
    assert!(neural.radius > 0.1 && neural.radius < 100.0, "{}", neural.radius);
}

#[test]
fn a_validation_case_that_overflows_does_not_end_a_run() {
    let own = config(&["norm=false", "skip=false", "head_layers=0", "transition=euler", "window=1"]);
    let case = Run::new(&own, small(), None).unwrap().parts().validation[0];
    let mut data = small();
    data.cases[case].values.iter_mut().for_each(|x| *x *= 1e12);
    let folder = tempfile::tempdir().unwrap();
    let record = Run::new(&own, data, None).unwrap().train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap().record;
    assert!(record.history.iter().all(|point| point.metric.is_none()) && record.validation.is_none());
    assert!(record.test.is_some() && record.steps == 12);
}

#[test]
fn a_test_case_that_overflows_is_named_and_nothing_is_lost() {
    let own = config(&["norm=false", "skip=false", "head_layers=0", "transition=euler", "window=1"]);
    let case = Run::new(&own, small(), None).unwrap().parts().test[0];
    let mut data = small();
    data.cases[case].values.iter_mut().for_each(|x| *x *= 1e12);
    let id = format!("`{}`", data.cases[case].id);
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&own, data, None).unwrap();
    let error = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains(&id) && error.contains("`run.json` are saved"), "{error}");
    // What there is, is there, and the run counts as done.
    let again = run.train(folder.path(), true, ["test", "now"], &mut |_| {}).unwrap();
    assert!(again.already && again.record.steps == 12 && again.record.test.is_none() && again.record.validation.is_some());
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
    let record = run.train(folder.path(), false, ["test", "now"], &mut |_| {}).unwrap().record;
    assert_eq!((record.steps, record.stopped.as_str()), (12, "steps"));
    let twice = small().concat(small()).unwrap();
    let record = train(&["deduplicate=true"], twice).unwrap().record;
    assert_eq!(record.data.removed_duplicates, 60);
    let quick = train(&["minutes=0.0001", "steps=100000", "evaluate_every=50000"], small()).unwrap().record;
    assert_eq!(quick.stopped, "time");
}
