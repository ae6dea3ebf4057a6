//! Training: what the saved model says is what was trained; bad data and bad settings are told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde::demo::turns;
use ncde::train::{Config, Error, Event, Outcome, Run};
use ncde_data::{Dataset, Targets};

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for setting in ["train.steps=12", "train.evaluate_every=4", "model.hidden=8"].iter().chain(settings) {
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
    let cases: [&[&str]; 9] = [
        &[],
        &["window=7", "depth=3"],
        &["input=false", "forget=false", "norm=false", "skip=false", "head_layers=0"],
        &["readout=last", "head_layers=2", "head_width=5"],
        &["structure=dplr", "rank=2", "depth=2", "window=4"],
        &["structure=sparse", "transition=euler", "init=0.05"],
        &["structure=walsh-hadamard", "skip=false"],
        &["structure=diagonal-dense", "block=3", "missing=forward", "time=false"],
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
}

#[test]
fn a_loss_that_explodes_stops_with_advice() {
    let message = train(&["rate=1e30", "clip=0", "schedule=constant", "warmup=0"], small()).unwrap_err().to_string();
    assert!(message.contains("step") && message.contains("`walk-") && message.contains("--set rate="), "{message}");
}

#[test]
fn what_was_asked_for_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config(&["folds=5", "fold=2", "class_weights=balanced", "penalty=0.01", "dropout=0.2"]), small(), None)
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
