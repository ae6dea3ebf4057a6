//! Predictions: the same for a series whole, cut, resumed, or among others.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod common;

use common::{all, feed, model, numbers, observations};
use ncde_runtime::{Error, Model, NamedWeight, Series, Weights};
use serde_json::json;

#[test]
fn a_prediction_is_that_of_the_series_cut_there() {
    for spec in all() {
        let model = model(&spec);
        let rows = observations(1, 23);
        let mut series = model.start(&[61.0]).unwrap();
        for n in 1..=rows.len() {
            model.push(&mut series, rows[n - 1].0, &rows[n - 1].1).unwrap();
            let before = series.clone();
            let live = model.predict(&series).unwrap();
            // Asking changes nothing.
            assert_eq!((model.predict(&series).unwrap(), &series), (live.clone(), &before));
            let cut = feed(&model, &rows[..n]);
            assert_eq!(model.predict(&cut).unwrap(), live);
            assert!((numbers(live).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert_eq!((series.observations(), series.time()), (23, Some(rows[22].0)));
    }
}

#[test]
fn series_share_a_model_and_survive_a_file() {
    for spec in all() {
        let model = model(&spec);
        let (first, second) = (observations(1, 17), observations(2, 17));
        let alone = [&first, &second].map(|rows| {
            let series = feed(&model, rows);
            model.predict(&series).unwrap()
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
        for (series, alone) in both.iter().zip(alone) {
            assert_eq!(model.predict(series).unwrap(), alone);
        }
    }
}

#[test]
fn a_bad_observation_changes_nothing() {
    for spec in all() {
        let model = model(&spec);
        let rows = observations(3, 9);
        let mut series = feed(&model, &rows);
        let before = series.clone();
        let last = rows[8].0;
        for (time, values) in [(last, vec![1.0, 2.0]), (last + 1.0, vec![1.0]), (last + 1.0, vec![f64::INFINITY, 0.0])] {
            model.push(&mut series, time, &values).unwrap_err();
            assert_eq!(series, before);
        }
    }
}

#[test]
fn a_state_that_grows_out_of_all_bounds_is_an_error_and_changes_nothing() {
    let mut json = serde_json::to_value(&all()[2]).unwrap();
    json["layers"][1]["scale"] = 1e6.into();
    let model = model(&common::spec(json));
    let rows = observations(3, 2);
    let mut series = feed(&model, &rows[..1]);
    let before = series.clone();
    let error = model.push(&mut series, rows[1].0, &rows[1].1).unwrap_err();
    assert!(error.is_overflow(), "{error}");
    assert_eq!(series, before);
}

#[test]
fn observations_one_by_one_or_all_at_once_are_the_same() {
    for spec in all() {
        let model = model(&spec);
        let rows = observations(1, 41);
        let (times, values): (Vec<f64>, Vec<[f64; 2]>) = rows.iter().copied().unzip();
        let mut series = model.start(&[61.0]).unwrap();
        for (from, to) in [(0, 1), (1, 17), (17, 17), (17, 41)] {
            model.push_all(&mut series, &times[from..to], &values[from..to].concat()).unwrap();
            assert_eq!(series, feed(&model, &rows[..to]));
        }
        // Nothing of a list is taken if one of it cannot be.
        let before = series.clone();
        model.push_all(&mut series, &[1e3, 1e3], &[1.0; 4]).unwrap_err();
        for values in [&[1.0, 2.0, 3.0][..], &[1.0; 6], &[]] {
            let error = model.push_all(&mut series, &[1e3, 1e4], values).unwrap_err();
            assert_eq!(error, Error::ValueCount { seen: values.len(), times: 2, channels: 2 });
        }
        model.push_all(&mut series, &[], &[1.0, 2.0]).unwrap_err();
        assert_eq!(series, before);
    }
}

/// Responses that are no numbers lie above no threshold, so that outputs do not show it.
#[test]
fn a_memory_that_overflows_is_an_error_and_changes_nothing() {
    let layer = json!({
        "layer": "reservoir", "horizon": 1.5,
        "responses": {"order": 3, "spans": [0.4], "delay": 0.0, "families": [{"groups": 1, "pools": ["share"]}]},
        "summary": {"order": 1, "spans": [], "memories": false, "moments": false},
    });
    let layers = json!([layer, {"layer": "pool", "over": "last"}, {"layer": "linear", "outputs": 3}]);
    let model = model(&common::spec(common::json(&layers)));
    let rows = observations(3, 6);
    let mut series = feed(&model, &rows[..4]);
    let before = series.clone();
    let (time, later) = (rows[4].0, rows[5].0);
    let error = model.push(&mut series, time, &[1e300, 0.0]).unwrap_err();
    assert!(error.is_overflow() && series == before, "{error}");
    let error = model.push_all(&mut series, &[time, later], &[1e300, 0.0, 1.0, 1.0]).unwrap_err();
    assert!(error.is_overflow() && series == before, "{error}");
    model.push(&mut series, time, &rows[4].1).unwrap();
}

#[test]
fn static_covariates_and_missing_ones_count() {
    // Models with an initial state that reads them, or with signatures.
    for spec in all() {
        let model = model(&spec);
        let rows = observations(4, 5);
        let of = |age: f64| {
            let mut series = model.start(&[age]).unwrap();
            for (time, values) in &rows {
                model.push(&mut series, *time, values).unwrap();
            }
            model.predict(&series).unwrap()
        };
        assert_ne!(of(20.0), of(80.0));
        // Missing is the mean of training.
        assert_eq!(of(f64::NAN), of(50.0));
    }
}

#[test]
fn statics_that_are_too_many_or_infinite_are_refused() {
    let model = model(&all()[0]);
    for (statics, wanted) in
        [(vec![], "0 static covariates, but the model has 1"), (vec![f64::INFINITY], "static covariate 1 is inf")]
    {
        let message = model.start(&statics).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn a_state_of_another_model_is_refused() {
    let models = all();
    let saved = feed(&model(&models[1]), &observations(1, 4));
    for other in [&models[0], &models[2]] {
        let message = model(other).check(&saved).unwrap_err().to_string();
        assert!(message.contains("was it saved by another model?"), "{message}");
    }
    let model = model(&models[1]);
    let mut json = serde_json::to_value(&saved).unwrap();
    json["open"] = 17.into();
    let message = model.check(&serde_json::from_value(json).unwrap()).unwrap_err().to_string();
    assert!(message.contains("a layer that the model does not have"), "{message}");
    let mut json = serde_json::to_value(&saved).unwrap();
    json["outputs"] = json!([1.0]);
    let message = model.check(&serde_json::from_value(json).unwrap()).unwrap_err().to_string();
    assert!(message.contains("1 outputs, but the model has 3"), "{message}");
    let empty = model.start(&[1.0]).unwrap();
    assert!(model.predict(&empty).unwrap_err().to_string().contains("no observation yet"));
}

/// Nobody has to call `check`: a series of another model, or one that was changed, is an error wherever it is used.
#[test]
fn a_wrong_series_is_an_error_of_every_method() {
    let models: Vec<Model> = all().iter().map(model).collect();
    let used = |model: &Model, series: &Series| {
        let mut own = series.clone();
        let errors = [
            model.check(series).unwrap_err(),
            model.push(&mut own, 1e3, &[1.0, 2.0]).unwrap_err(),
            model.step(&mut own, 1e3, &[1.0, 2.0]).unwrap_err(),
            model.push_all(&mut own, &[1e3, 1e4], &[1.0; 4]).unwrap_err(),
            model.predict(series).unwrap_err(),
            model.resume(series.clone()).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| matches!(error, Error::State(_))), "{errors:?}");
        assert_eq!(&own, series);
    };
    let saved = feed(&models[1], &observations(1, 4));
    [&models[0], &models[2]].into_iter().for_each(|other| used(other, &saved));
    let saved = serde_json::to_value(feed(&models[0], &observations(1, 4))).unwrap();
    let changes = [
        ("/track/knot", json!([0.0])),
        ("/track/observations", (1_u64 << 60).into()),
        ("/statics", json!([])),
        ("/memory/wide", json!([0.0, 1.0])),
        ("/memory/narrow", json!([0.0])),
        ("/open", 17.into()),
        ("/outputs", json!([])),
    ];
    for (place, value) in changes {
        let mut changed = saved.clone();
        match changed.pointer_mut(place) {
            Some(own) => *own = value,
            None => changed["memory"]["narrow"] = value,
        }
        used(&models[0], &serde_json::from_value(changed).unwrap());
    }
}

#[test]
fn one_model_serves_many_threads() {
    for spec in all() {
        let model = model(&spec);
        let alone: Vec<_> = (0..8).map(|seed| model.predict(&feed(&model, &observations(seed, 40))).unwrap()).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let one = |seed: u64| {
                let mut session = model.session(&[61.0]).unwrap();
                scope.spawn(move || {
                    let mut last = None;
                    for (time, values) in observations(seed, 40) {
                        last = Some(session.step(time, &values).unwrap());
                    }
                    assert_eq!(last, session.predict().ok());
                    last.unwrap()
                })
            };
            let threads: Vec<_> = (0..8).map(one).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }
}

#[test]
fn a_session_is_saved_and_resumed() {
    for spec in all() {
        let model = model(&spec);
        let rows = observations(5, 12);
        let (times, values): (Vec<f64>, Vec<[f64; 2]>) = rows.iter().copied().unzip();
        let mut session = model.session(&[61.0]).unwrap();
        session.push_all(&times[..7], &values[..7].concat()).unwrap();
        let saved = session.clone().into_state();
        let mut resumed = model.clone().resume(saved).unwrap();
        for own in [&mut session, &mut resumed] {
            rows[7..].iter().for_each(|(time, values)| own.push(*time, values).unwrap());
        }
        assert_eq!((session.state(), session.predict()), (resumed.state(), resumed.predict()));
        assert_eq!(session.state(), &feed(&model, &rows));
    }
}

#[test]
fn a_model_is_bytes_too() {
    for spec in all() {
        let model = model(&spec);
        let (description, weights) = model.to_bytes().unwrap();
        let read = Model::from_bytes(&description, &weights).unwrap();
        assert_eq!((read.spec(), read.weights()), (model.spec(), model.weights()));
        let series = feed(&model, &observations(1, 9));
        assert_eq!(read.predict(&series), model.predict(&series));
        let message = Model::from_bytes(&description, &weights[1..]).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("`model.safetensors`") && message.contains("bytes, but `model.json` says"), "{message}");
    }
}

#[test]
fn tokens_are_whole_numbers_below_their_count() {
    let mut json = common::json(&json!([
        {"layer": "embedding", "width": 3},
        {"layer": "pool", "over": "last"},
        {"layer": "linear", "outputs": 3},
    ]));
    json["channels"] = json!(["token"]);
    json["vocabulary"] = json!(["a", "b", "<unknown>"]);
    json["preparation"] = json!({
        "channels": [{"shift": 0.0, "factor": 1.0}], "statics": [{"shift": 50.0, "factor": 0.1}], "time": null, "missing": {"kind": "refuse"},
    });
    let model = model(&common::spec(json));
    let mut series = model.start(&[61.0]).unwrap();
    model.push(&mut series, 0.0, &[2.0]).unwrap();
    for token in [3.0, -1.0, 0.5] {
        let message = model.push(&mut series, 1.0, &[token]).unwrap_err().to_string();
        assert!(message.contains("the model knows tokens 0 to 2"), "{message}");
    }
    assert_eq!(series.observations(), 1);
}

/// The example of a reservoir in `docs/model-format.md`.
#[test]
fn the_worked_example_of_a_reservoir_is_what_the_library_computes() {
    let reservoir = json!({
        "layer": "reservoir", "horizon": 2.0,
        "responses": {"order": 2, "spans": [0.5], "delay": 0.0, "families": [{"groups": 1, "pools": ["share", "mean", "longest", "place"]}]},
        "summary": {"order": 2, "spans": [1.0], "memories": true, "moments": true, "areas": 1, "windows": 2},
    });
    let features = 4 * 64 + 3 + 8 + 1 + 2;
    let mut spec = common::json(&json!([reservoir, {"layer": "linear", "outputs": features}]));
    spec["channels"] = json!(["x"]);
    spec["statics"] = json!([]);
    spec["task"] = json!({"kind": "forecast", "from": 1, "horizon": features});
    spec["preparation"] = json!({
        "channels": [{"shift": 0.0, "factor": 1.0}], "statics": [], "time": null, "missing": {"kind": "refuse"},
    });
    let spec = common::spec(spec);
    let value = |name: &str, i: usize| match name {
        "layers.0.mix" => 1.0,
        // The response is the first number of the memory, and a tenth of the second.
        "layers.0.taps" => [1.0, 0.1, 0.0][i / 16],
        "layers.0.cuts" => (i / 16) as f32,
        "layers.1.weight" => f32::from(u8::from(i / features == i % features)),
        _ => 0.0,
    };
    let weights = spec.all_weights().unwrap().into_iter().map(|weight| {
        let values = (0..weight.count()).map(|i| value(&weight.name, i)).collect();
        NamedWeight { name: weight.name, shape: weight.shape, values }
    });
    let model = Model::new(spec.clone(), Weights::of(weights.collect())).unwrap();
    let mut series = model.session(&[]).unwrap();
    for (time, x) in [(0.0, 1.0), (0.5, 3.0), (1.5, 2.0), (2.5, 4.0)] {
        series.push(time, &[x]).unwrap();
    }
    let row = numbers(series.predict().unwrap());
    let (responses, summary) = row.split_at(4 * 64);
    let close = |seen: &[f64], wanted: &[f64]| {
        assert!(seen.len() == wanted.len() && seen.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-6), "{seen:?} {wanted:?}");
    };
    let pools = [
        [1.0, 1.0, 0.833333, 0.0],
        [2.544290, 1.544290, 0.756571, 0.0],
        [1.0, 1.0, 0.833333, 0.0],
        [0.666667, 0.666667, 0.8, 0.0],
    ];
    // All 16 lanes are alike.
    close(responses, &pools.concat().into_iter().flat_map(|x| [x; 16]).collect::<Vec<_>>());
    let memories = [2.669256, -0.806697, 4.0];
    let moments = [2.226446, -0.676337, 3.166667, 0.897528, 4.0, 4.0, 1.722222, 1.0];
    close(summary, &[&memories[..], &moments, &[3.0], &[1.5, 0.5]].concat());
}

/// Forecasts of the first channel one and two steps ahead, with `known` told of the second.
fn forecaster(known: &serde_json::Value) -> Model {
    let mut spec = common::json(&json!([{"layer": "linear", "outputs": 2}]));
    spec["channels"] = json!(["sold", "holiday"]);
    spec["statics"] = json!([]);
    let smoothing = json!({"lags": [1, 2], "log": [true], "experts": [{"level": 1.0}, {"level": 0.3}]});
    spec["task"] = json!({"kind": "forecast", "from": 1, "horizon": 2, "targets": [0], "smoothing": smoothing, "known": known});
    let identity = json!({"shift": 0.0, "factor": 1.0});
    spec["preparation"] = json!({"channels": [identity, identity], "statics": [], "time": null, "missing": {"kind": "forward"}});
    let spec = common::spec(spec);
    let zeros = spec.all_weights().unwrap().into_iter().map(|weight| NamedWeight {
        values: vec![0.0; weight.count()],
        name: weight.name,
        shape: weight.shape,
    });
    Model::new(spec.clone(), Weights::of(zeros.collect())).unwrap()
}

#[test]
fn a_forecast_series_begins_again_as_it_began() {
    let model = forecaster(&serde_json::Value::Null);
    let mut series = model.start(&[]).unwrap();
    model.push(&mut series, 0.0, &[3.0, 0.0]).unwrap();
    let mut again = model.begin_again(&series);
    assert_eq!(again, model.start(&[]).unwrap());
    model.push(&mut again, 0.0, &[3.0, 0.0]).unwrap();
    assert_eq!(model.predict(&again).unwrap(), model.predict(&series).unwrap());
}

#[test]
fn what_is_known_ahead_counts_until_the_next_observation() {
    let model = forecaster(&json!({"channels": [1], "means": [0.0], "effects": [[2.0_f64.ln()]]}));
    let mut series = model.session(&[]).unwrap();
    // Without the holiday on the third day all days are alike.
    for (t, holiday) in [0.0, 0.0, 1.0, 0.0].into_iter().enumerate() {
        series.push(t as f64, &[10.0 * (1.0 + holiday), holiday]).unwrap();
    }
    let near = |series: &ncde_runtime::Session, wanted: [f64; 2]| {
        let seen = numbers(series.predict().unwrap());
        assert!(seen.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-9), "{seen:?} {wanted:?}");
    };
    near(&series, [10.0, 10.0]);
    series.know_ahead(&[f64::NAN, 1.0]).unwrap();
    near(&series, [10.0, 20.0]);
    // One row is enough, and more than the horizon are too many to count.
    series.know_ahead(&[1.0]).unwrap();
    near(&series, [20.0, 10.0]);
    series.know_ahead(&[0.0, 1.0, 1.0, 1.0]).unwrap();
    near(&series, [10.0, 20.0]);
    let refused = series.know_ahead(&[f64::INFINITY]).unwrap_err().to_string();
    assert!(refused.contains("known ahead is inf"), "{refused}");
    near(&series, [10.0, 20.0]);
    let mut state = series.state().clone();
    let said = model.step_knowing(&mut state, 4.0, &[10.0, 0.0], &[1.0, 0.0]).unwrap();
    series.push(4.0, &[10.0, 0.0]).unwrap();
    near(&series, [10.0, 10.0]);
    assert_eq!(numbers(said), numbers(model.predict(&state).unwrap()));
    assert!((numbers(model.predict(&state).unwrap())[0] - 20.0).abs() < 1e-9);
    let blind = forecaster(&serde_json::Value::Null);
    assert!(blind.session(&[]).unwrap().know_ahead(&[1.0]).unwrap_err().to_string().contains("rows of 0"));
}
