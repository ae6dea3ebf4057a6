//! Numbers that overflow: steps are taken again, cases are named, and what was good before is kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_report::Metrics;
use ncde_report::record::StopReason;
use ncde_train::{Device, Event, Run, TrainRequest, ignore, watching};

use crate::common::devices;
use crate::train::{config, small, train};

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
    let message = run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap_err().to_string();
    assert!(message.contains("--set rate=") && message.contains("those of step 1, are saved"), "{message}");
    let again = run.train(&TrainRequest::new(folder.path()).resumed(), &mut ignore).unwrap();
    assert!(again.already && again.record.stopped == StopReason::Diverged && again.record.best.is_some());
    ncde_runtime::Model::load(folder.path()).unwrap();
}

#[test]
fn a_validation_case_that_overflows_does_not_end_a_run() {
    let own = config(&["norm=false", "skip=false", "head_layers=0", "transition=euler", "window=1"]);
    let case = Run::new(&own, small(), None).unwrap().parts().validation[0];
    let mut data = small();
    data.cases[case].values.iter_mut().for_each(|x| *x *= 1e12);
    let folder = tempfile::tempdir().unwrap();
    let record = Run::new(&own, data, None).unwrap().train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    assert!(record.history.iter().all(|point| point.metric.is_none()));
    // The case that has no prediction is wrong, and the others are scored.
    assert_eq!((record.overflowed.validation.len(), record.validation.unwrap().cases()), (1, 12));
    assert!(record.test.is_some() && record.steps == 12 && record.overflowed.test.is_empty());
}

#[test]
fn a_test_case_that_overflows_is_named_and_counts_as_wrong() {
    let own = config(&["norm=false", "skip=false", "head_layers=0", "transition=euler", "window=1"]);
    let case = Run::new(&own, small(), None).unwrap().parts().test[0];
    let mut data = small();
    data.cases[case].values.iter_mut().for_each(|x| *x *= 1e12);
    let id = data.cases[case].id.clone();
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&own, data, None).unwrap();
    let mut told = Vec::new();
    let outcome = run.train(
        &TrainRequest::new(folder.path()),
        &mut watching(|event| {
            if let Event::Overflowed { part, cases } = event {
                told.push((part.to_owned(), cases.to_vec()));
            }
        }),
    );
    let record = outcome.unwrap().record;
    assert_eq!(told, [("test".to_owned(), vec![id.clone()])]);
    assert_eq!(record.overflowed.test, std::slice::from_ref(&id));
    // No class is printed for it.
    assert!(record.predictions.len() == run.parts().test.len() - 1 && record.predictions.iter().all(|own| own.id != id));
    let Some(Metrics::Classification(metrics)) = &record.test else { panic!("{:?}", record.test) };
    assert_eq!(metrics.cases, run.parts().test.len());
    assert_eq!(metrics.accuracy, metrics.correct() as f64 / metrics.cases as f64);
    assert_eq!(metrics.confusion.iter().flatten().sum::<u64>() as usize, metrics.cases - 1);
    let again = run.train(&TrainRequest::new(folder.path()).resumed(), &mut ignore).unwrap();
    assert!(again.already && again.record == record);
}

/// Settings under which a step explodes, and later ones do not.
const EXPLODES: &[&str] = &[
    "rate=300",
    "clip=0",
    "schedule=constant",
    "warmup=0",
    "time=false",
    "missing=forward",
    "transition=euler",
    "window=1",
    "norm=false",
    "head_layers=0",
    "steps=70",
    "evaluate_every=7",
];

#[test]
fn a_step_that_explodes_is_taken_again_from_earlier_weights() {
    for device in devices() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&config(EXPLODES), small(), None).unwrap().with_device(device);
        let (mut told, mut steps) = (0, Vec::new());
        let outcome = run.train(
            &TrainRequest::new(folder.path()),
            &mut watching(|event| match event {
                Event::Recovered { recovery, count, most } => {
                    told += 1;
                    assert!(count == told && count <= most && recovery.from < recovery.step, "{recovery:?}");
                    assert!((recovery.factor - 0.3_f64.powi(count as i32)).abs() < 1e-12 && !recovery.reason.is_empty());
                }
                Event::Step { step, loss } => {
                    assert!(loss.is_finite());
                    steps.push(step);
                }
                _ => {}
            }),
        );
        let record = outcome.unwrap().record;
        assert!(told > 0 && record.recoveries.len() == told, "{:?}", record.recoveries);
        // Every step is told once and in order, also where a device had begun the next.
        assert!(steps.into_iter().eq(1..=70), "{device:?}");
        assert_eq!((record.steps, record.stopped), (70, StopReason::Steps));
        let last = record.history.last().unwrap();
        assert!((last.rate - 300.0 * record.recoveries[told - 1].factor).abs() < 1e-9, "{last:?}");
        assert!(record.test.is_some_and(|test| test.cases() > 0));
    }
}

/// Where it goes back to is part of the checkpoint: a run that is killed after it went back comes to the same weights.
#[test]
fn a_run_that_went_back_is_resumed_to_the_same_bits() {
    devices().into_iter().for_each(resumed_to_the_same_bits);
}

fn resumed_to_the_same_bits(device: Device) {
    let run = Run::new(&config(EXPLODES), small(), None).unwrap().with_device(device);
    let whole = tempfile::tempdir().unwrap();
    let record = run.train(&TrainRequest::new(whole.path()), &mut ignore).unwrap().record;
    let weights = std::fs::read(whole.path().join(ncde_runtime::WEIGHTS)).unwrap();
    for killed in [5, 36, 57] {
        let folder = tempfile::tempdir().unwrap();
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run.train(
                &TrainRequest::new(folder.path()),
                &mut watching(|event| {
                    if let Event::Step { step, .. } = event
                        && step == killed
                    {
                        std::panic::resume_unwind(Box::new("killed"));
                    }
                }),
            )
        }));
        assert!(stopped.is_err());
        let resumed = run.train(&TrainRequest::new(folder.path()).resumed(), &mut ignore).unwrap().record;
        assert_eq!(resumed.recoveries, record.recoveries);
        assert!(
            std::fs::read(folder.path().join(ncde_runtime::WEIGHTS)).unwrap() == weights,
            "{device:?}, killed at step {killed}"
        );
    }
}
