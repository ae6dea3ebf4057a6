//! Predictions: the same for a series whole, cut, resumed, or among others; and right, against plain matrices.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod common;

use common::{all, model, observations};
use ncde_runtime::{Model, Prediction, Series};

fn probabilities(prediction: Prediction) -> Vec<f64> {
    match prediction {
        Prediction::Class { probabilities, .. } => probabilities,
        other => panic!("{other:?}"),
    }
}

fn feed(model: &mut Model, rows: &[(f64, [f64; 2])]) -> Series {
    let mut series = model.start(&[61.0]).unwrap();
    for (time, values) in rows {
        model.push(&mut series, *time, values).unwrap();
    }
    series
}

#[test]
fn a_prediction_is_that_of_the_series_cut_there() {
    for architecture in all() {
        let mut model = model(architecture);
        let rows = observations(1, 23);
        let mut series = model.start(&[61.0]).unwrap();
        for n in 1..=rows.len() {
            model.push(&mut series, rows[n - 1].0, &rows[n - 1].1).unwrap();
            let live = model.predict(&mut series).unwrap();
            // Asking changes nothing.
            assert_eq!(model.predict(&mut series).unwrap(), live);
            let mut cut = feed(&mut model, &rows[..n]);
            assert_eq!(model.predict(&mut cut).unwrap(), live);
            assert!((probabilities(live).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn series_share_a_model_and_survive_a_file() {
    for architecture in all() {
        let mut model = model(architecture);
        let (first, second) = (observations(1, 17), observations(2, 17));
        let alone = [&first, &second].map(|rows| {
            let mut series = feed(&mut model, rows);
            model.predict(&mut series).unwrap()
        });
        let mut both = [model.start(&[61.0]).unwrap(), model.start(&[61.0]).unwrap()];
        for i in 0..17 {
            for (series, rows) in both.iter_mut().zip([&first, &second]) {
                model.push(series, rows[i].0, &rows[i].1).unwrap();
                let text = serde_json::to_string(series).unwrap();
                let read: Series = serde_json::from_str(&text).unwrap();
                model.check(&read).unwrap();
                assert_eq!(&read, series);
                *series = read;
            }
        }
        for (series, alone) in both.iter_mut().zip(alone) {
            assert_eq!(model.predict(series).unwrap(), alone);
        }
    }
}

#[test]
fn a_bad_observation_changes_nothing() {
    for architecture in all() {
        let mut model = model(architecture);
        let rows = observations(3, 9);
        let mut series = feed(&mut model, &rows);
        let before = series.clone();
        let last = rows[8].0;
        for (time, values) in [(last, vec![1.0, 2.0]), (last + 1.0, vec![1.0]), (last + 1.0, vec![f64::INFINITY, 0.0])] {
            model.push(&mut series, time, &values).unwrap_err();
            assert_eq!(series, before);
        }
    }
}

#[test]
fn static_covariates_and_missing_ones_count() {
    for architecture in all() {
        let mut model = model(architecture);
        let rows = observations(4, 5);
        let mut of = |age: f64| {
            let mut series = model.start(&[age]).unwrap();
            for (time, values) in &rows {
                model.push(&mut series, *time, values).unwrap();
            }
            model.predict(&mut series).unwrap()
        };
        assert_ne!(of(20.0), of(80.0));
        // Missing is the mean of training.
        assert_eq!(of(f64::NAN), of(50.0));
    }
}

#[test]
fn a_state_of_another_model_is_refused() {
    let models = all();
    let saved = feed(&mut model(models[1].clone()), &observations(1, 4));
    for other in [&models[0], &models[2]] {
        let message = model(other.clone()).check(&saved).unwrap_err().to_string();
        assert!(message.contains("was it saved by another model?"), "{message}");
    }
    let mut model = model(models[1].clone());
    let mut empty = model.start(&[1.0]).unwrap();
    assert!(model.predict(&mut empty).unwrap_err().to_string().contains("no observation yet"));
}
