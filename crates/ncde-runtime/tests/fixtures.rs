//! Saved models that every version must read and that predict the same for ever: `fixtures/NAME`.
//!
//! `NCDE_WRITE_FIXTURES=1 cargo test -p ncde-runtime --test fixtures` writes them again, which is right only if the format itself has changed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, numbers, spec, weights, windows, write};
use ncde_runtime::random::Stream;
use ncde_runtime::{Model, ModelSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What stands in `expected.json`.
#[derive(Serialize, Deserialize)]
struct Case {
    statics: Vec<Option<f64>>,
    /// The time, and the values; none is a missing one.
    observations: Vec<(f64, Vec<Option<f64>>)>,
    /// After each observation: probabilities, a value, or the values of all channels.
    predictions: Vec<Vec<f64>>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Small models like those of the presets.
fn models() -> Vec<(&'static str, ModelSpec)> {
    let pool = |over: &str| json!({"layer": "pool", "over": over});
    let linear = |outputs: usize| json!({"layer": "linear", "outputs": outputs});
    let activation = |function: &str| json!({"layer": "activation", "function": function});
    let flow = |drive: Value, structure: Value, hidden: usize, initial: &str| {
        json!({
            "layer": "linear-cde", "hidden": hidden, "structure": structure, "drive": drive, "input": "path", "initial": initial,
        })
    };
    let slice = flow(json!({"kind": "windows"}), json!({"kind": "block", "block": 2}), 6, "first");
    let beside = |coordinates: usize, flow: &Value| json!({"layer": "beside", "coordinates": coordinates, "layers": [flow, {"layer": "layer-norm"}]});
    let neural = |kind: &str, solver: &str| {
        json!({
            "layer": "neural-cde", "kind": kind, "hidden": 4, "width": 5, "layers": 1, "activation": "silu", "before_last": "silu",
            "last": "tanh", "solver": solver, "steps": 2, "init": 1.0,
        })
    };
    let reservoir = |families: Value, spans: Value| {
        json!({
            "layer": "reservoir", "horizon": 1.1,
            "responses": {"order": 5, "spans": spans, "delay": 0.25, "families": families},
            "summary": {"order": 3, "spans": [0.1, 0.6], "memories": true, "moments": true},
        })
    };
    let hermite = json!({"layer": "windows", "window": 1, "form": {"kind": "hermite"}});
    let steps = json!({"kind": "regression", "target": "z", "at": "steps", "scaling": {"shift": 3.0, "factor": 0.5}});
    let end = json!({"kind": "regression", "target": "z", "at": "end", "scaling": {"shift": 3.0, "factor": 0.5}});
    let plain = |name: &'static str, layers: Value, change: &dyn Fn(&mut Value)| {
        let mut model = json(&layers);
        model["name"] = name.into();
        change(&mut model);
        (name, spec(model))
    };
    let same = |_: &mut Value| {};
    vec![
        plain(
            "slice",
            json!([windows(3, 2, "lyndon"), beside(15, &slice), linear(5), activation("silu"), pool("mean"), linear(3)]),
            &same,
        ),
        plain(
            "slice-steps",
            json!([windows(1, 1, "lyndon"), beside(5, &slice), linear(5), activation("silu"), linear(1)]),
            &|m| {
                m["task"] = steps.clone();
            },
        ),
        plain("ncde", json!([hermite, neural("ncde", "rk4"), pool("last"), linear(3)]), &same),
        plain("nrde", json!([windows(3, 2, "lyndon"), neural("nrde", "heun"), pool("last"), linear(3)]), &|m| {
            m["preparation"]["missing"] = json!({"kind": "forward"});
        }),
        plain("log-ncde", json!([windows(4, 2, "lyndon"), neural("log-ncde", "heun"), pool("mean"), linear(1)]), &|m| {
            m["task"] = end.clone();
        }),
        plain(
            "signature",
            json!([{"layer": "signature", "depth": 2}, {"layer": "standardise"}, pool("last"), linear(1)]),
            &|m| {
                m["task"] = end.clone();
            },
        ),
        plain(
            "stack-tokens",
            json!([
                {"layer": "embedding", "width": 4},
                {"layer": "residual", "layers": [flow(json!({"kind": "tokens"}), json!({"kind": "diagonal-dense", "block": 2}), 4, "learned")]},
                {"layer": "residual", "layers": [linear(4), activation("tanh")]},
                {"layer": "layer-norm", "affine": true},
                pool("last"),
                linear(3),
            ]),
            &|m| {
                m["channels"] = json!(["token"]);
                m["statics"] = json!([]);
                m["vocabulary"] = json!(["<unknown>", "a", "b", "c", "d"]);
                let identity = json!({"shift": 0.0, "factor": 1.0});
                m["preparation"] = json!({"channels": [identity], "statics": [], "time": null, "missing": {"kind": "refuse"}});
            },
        ),
        plain(
            "stack-values",
            json!([
                linear(4),
                {"layer": "residual", "layers": [
                    {"layer": "layer-norm", "affine": true},
                    flow(json!({"kind": "increments", "time": true}), json!({"kind": "dplr", "rank": 1}), 4, "first"),
                    linear(8), activation("glu"), {"layer": "dropout", "rate": 0.1},
                ]},
                {"layer": "residual", "layers": [
                    flow(json!({"kind": "values", "time": true}), json!({"kind": "walsh-hadamard", "bound": "tanh"}), 4, "learned"),
                ]},
                linear(2),
            ]),
            &|m| m["task"] = json!({"kind": "forecast", "horizon": 2}),
        ),
        plain(
            "reservoir",
            json!([
                reservoir(json!([{"groups": 2, "pools": ["share", "place"]}, {"groups": 1, "pools": ["mean", "longest"]}]), json!([0.3, 1.0])),
                pool("last"), {"layer": "standardise"}, linear(3),
            ]),
            &same,
        ),
        plain(
            "reservoir-steps",
            json!([reservoir(json!([{"groups": 1, "pools": ["longest"]}]), json!([0.5])), {"layer": "standardise"}, linear(2)]),
            &|m| m["task"] = json!({"kind": "forecast", "horizon": 1}),
        ),
        plain(
            "structures",
            json!([
                windows(2, 2, "expanded"),
                flow(json!({"kind": "windows"}), json!({"kind": "sparse", "epsilon": 0.3}), 4, "first"),
                {"layer": "windows", "window": 2, "form": {"kind": "increments"}},
                flow(json!({"kind": "windows"}), json!({"kind": "dense"}), 3, "learned"),
                linear(1),
            ]),
            &|m| m["task"] = steps.clone(),
        ),
    ]
}

/// Two series, the first with gaps where the model takes them.
fn cases(spec: &ModelSpec) -> Vec<Case> {
    let gaps = spec.preparation.missing != ncde_runtime::Missing::Refuse {};
    let short = |x: f64| (x * 1000.0).round() / 1000.0;
    let case = |seed: u64| {
        let (stream, mut time) = (Stream::new(seed, 5), -2.0);
        let row = |i: u64| {
            time = short(time + 0.1 + stream.uniform(20 * i));
            let value = |k: u64| match &spec.vocabulary {
                Some(tokens) => Some((stream.uniform(20 * i + k) * tokens.len() as f64).floor()),
                None if gaps && stream.uniform(20 * i + 10 + k) < 0.2 => None,
                None => Some(short(stream.normal(10 * i + k))),
            };
            (time, (1..=spec.channels.len() as u64).map(value).collect())
        };
        let observations = (0..[11, 8][seed as usize]).map(row).collect();
        Case {
            statics: spec.statics.iter().map(|_| [Some(61.5), None][seed as usize]).collect(),
            observations,
            predictions: Vec::new(),
        }
    };
    (0..2).map(case).collect()
}

/// What the model predicts after each observation.
fn predictions(model: &Model, case: &Case) -> Vec<Vec<f64>> {
    let plain = |values: &[Option<f64>]| values.iter().map(|x| x.unwrap_or(f64::NAN)).collect::<Vec<_>>();
    let mut series = model.start(&plain(&case.statics)).unwrap();
    let push = |(time, values): &(f64, Vec<Option<f64>>)| {
        model.push(&mut series, *time, &plain(values)).unwrap();
        numbers(model.predict(&series).unwrap())
    };
    case.observations.iter().map(push).collect()
}

fn make() {
    for (name, spec) in models() {
        std::fs::create_dir_all(folder(name)).unwrap();
        write(&folder(name), spec.clone(), &weights(&spec));
        let model = Model::load(folder(name)).unwrap();
        let mut cases = cases(&spec);
        for case in &mut cases {
            case.predictions = predictions(&model, case);
            // Seven digits are more than is compared.
            case.predictions.iter_mut().flatten().for_each(|y| *y = (*y * 1e7).round() / 1e7);
        }
        let lines: Vec<String> = cases.iter().map(|case| serde_json::to_string(case).unwrap()).collect();
        std::fs::write(folder(name).join("expected.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
}

#[test]
fn saved_models_predict_what_they_always_did() {
    if std::env::var_os("NCDE_WRITE_FIXTURES").is_some() {
        make();
    }
    for (name, spec) in models() {
        let model = Model::load(folder(name)).unwrap();
        assert_eq!(model.spec(), &ModelSpec { weights: model.spec().weights.clone(), ..spec }, "{name}");
        let cases: Vec<Case> =
            serde_json::from_str(&std::fs::read_to_string(folder(name).join("expected.json")).unwrap()).unwrap();
        assert_eq!(cases.len(), 2);
        for case in cases {
            let ours = predictions(&model, &case);
            assert_eq!(ours.len(), case.predictions.len());
            for (n, (ours, wanted)) in ours.iter().flatten().zip(case.predictions.iter().flatten()).enumerate() {
                assert!(
                    (ours - wanted).abs() <= 1e-5 * wanted.abs().max(1.0),
                    "{name}, number {n}: {ours}, but {wanted} is wanted"
                );
            }
        }
    }
}

#[test]
fn a_model_of_format_1_is_refused_in_one_line_that_says_what_to_do() {
    let message = Model::load(folder("format-1")).unwrap_err().to_string();
    let wanted = "has format 1 (written by ncde 0.1.0), but this version reads format 2; train the model again with this version";
    assert!(message.ends_with(wanted) && !message.contains('\n'), "{message}");
}
