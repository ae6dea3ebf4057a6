//! Models with random weights, written to a folder as training writes them.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use ncde_runtime::layer::Role;
use ncde_runtime::random::Stream;
use ncde_runtime::{Model, ModelSpec, NamedWeight, Prediction, SPEC, Series, WEIGHTS, to_bytes};
use serde_json::{Value, json};

pub(crate) const CHANNELS: usize = 2;

/// A model of two channels with gaps, a static covariate and three classes.
pub(crate) fn json(layers: &Value) -> Value {
    json!({
        "format": 2,
        "ncde": "0.1.0",
        "name": "layers",
        "weights": {"bytes": 0, "crc32": 0},
        "channels": ["x", "y"],
        "statics": ["age"],
        "task": {"kind": "classification", "classes": ["a", "b", "c"], "at": "end"},
        "preparation": {
            "channels": [{"shift": 0.1, "factor": 0.7}, {"shift": -0.2, "factor": 0.4}],
            "statics": [{"shift": 50.0, "factor": 0.1}],
            "time": {"shift": 0.0, "factor": 0.3},
            "missing": {"kind": "counts", "factors": [0.1, 0.1]},
        },
        "layers": layers,
    })
}

pub(crate) fn spec(json: Value) -> ModelSpec {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn windows(window: usize, depth: usize, basis: &str) -> Value {
    json!({"layer": "windows", "window": window, "form": {"kind": "log-signature", "depth": depth, "basis": basis}})
}

/// A model of Log-ODE windows, what it makes of a window beside that window, and a network with one hidden layer as its head.
pub(crate) fn slice() -> ModelSpec {
    let flow = linear_cde(&json!({"kind": "block", "block": 4}), "path");
    spec(json(&json!([
        windows(3, 2, "lyndon"),
        {"layer": "beside", "coordinates": 5, "layers": [flow, {"layer": "layer-norm"}]},
        {"layer": "linear", "outputs": 5},
        {"layer": "activation", "function": "silu"},
        {"layer": "pool", "over": "mean"},
        {"layer": "linear", "outputs": 3},
    ])))
}

fn linear_cde(structure: &Value, input: &str) -> Value {
    let drive = json!({"kind": "windows"});
    json!({"layer": "linear-cde", "hidden": 8, "structure": structure, "drive": drive, "input": input, "initial": "first", "scale": 0.5})
}

fn neural_cde(kind: &str, solver: &str) -> Value {
    json!({
        "layer": "neural-cde", "kind": kind, "hidden": 5, "width": 7, "layers": 2, "activation": "silu", "before_last": "tanh",
        "last": "tanh", "solver": solver, "steps": 3, "init": 1.0,
    })
}

/// Every kind of model.
pub(crate) fn all() -> Vec<ModelSpec> {
    let model = |layers: Vec<Value>, over: &str| {
        let head = [json!({"layer": "pool", "over": over}), json!({"layer": "linear", "outputs": 3})];
        spec(json(&layers.into_iter().chain(head).collect()))
    };
    let mut all = vec![model(vec![json!({"layer": "signature", "depth": 2}), json!({"layer": "standardise"})], "last"), slice()];
    let structures = [
        (json!({"kind": "dense"}), "lyndon"),
        (json!({"kind": "diagonal"}), "lyndon"),
        (json!({"kind": "diagonal-dense", "block": 3}), "lyndon"),
        (json!({"kind": "blocks", "sizes": [3, 5]}), "lyndon"),
        (json!({"kind": "dplr", "rank": 2}), "expanded"),
        (json!({"kind": "sparse", "epsilon": 0.5}), "expanded"),
        (json!({"kind": "walsh-hadamard"}), "expanded"),
    ];
    for (i, (structure, basis)) in structures.iter().enumerate() {
        let flow = linear_cde(structure, ["none", "path"][i % 2]);
        all.push(model(vec![windows(1 + i % 3, 1 + (i + 1) % 2, basis), flow], ["mean", "last"][i % 2]));
    }
    let increments = json!({"layer": "windows", "window": 4, "form": {"kind": "increments"}});
    all.push(model(vec![increments, linear_cde(&json!({"kind": "block", "block": 4}), "path")], "mean"));
    let hermite = json!({"layer": "windows", "window": 1, "form": {"kind": "hermite"}});
    all.push(model(vec![hermite, neural_cde("ncde", "rk4")], "mean"));
    all.push(model(vec![windows(3, 2, "lyndon"), neural_cde("nrde", "heun")], "last"));
    for depth in 1..=3 {
        all.push(model(vec![windows(2, depth, "lyndon"), neural_cde("log-ncde", "euler")], "mean"));
    }
    let responses =
        json!({"order": 6, "spans": [0.2, 1.0], "delay": 0.3, "families": [{"groups": 2, "pools": ["share", "mean", "place"]}]});
    let summary = json!({"order": 4, "spans": [0.5], "memories": true, "moments": true});
    let reservoir = json!({"layer": "reservoir", "horizon": 1.5, "responses": responses, "summary": summary});
    all.push(model(vec![reservoir, json!({"layer": "standardise"})], "last"));
    // A weight without numbers.
    let flow = linear_cde(&json!({"kind": "dense"}), "none");
    all.push(model(vec![windows(2, 1, "lyndon"), json!({"layer": "beside", "coordinates": 0, "layers": [flow]})], "mean"));
    // Windows of a flow over windows, and flows that rows drive.
    let driven = |drive: Value| json!({"layer": "linear-cde", "hidden": 3, "structure": {"kind": "dense"}, "drive": drive, "initial": "first"});
    let narrow = json!({"layer": "linear", "outputs": 3});
    let two =
        vec![windows(2, 2, "lyndon"), linear_cde(&json!({"kind": "dense"}), "none"), narrow.clone(), windows(3, 1, "lyndon")];
    all.push(model([two, vec![driven(json!({"kind": "windows"}))]].concat(), "mean"));
    for drive in [
        json!({"kind": "tokens"}),
        json!({"kind": "increments", "time": true}),
        json!({"kind": "values"}),
        json!({"kind": "time"}),
    ] {
        let residual = json!({"layer": "residual", "layers": [driven(drive)]});
        all.push(model(vec![narrow.clone(), residual], "last"));
    }
    all
}

/// As they are drawn; what would be fitted is random too.
pub(crate) fn weights(spec: &ModelSpec) -> Vec<NamedWeight> {
    let stream = Stream::new(11, 2);
    let draw = |(i, weight): (usize, ncde_runtime::layer::Weight)| {
        let stream = stream.child(i as u64);
        let mut values = weight.draw(&stream);
        if matches!(weight.role, Role::Fitted | Role::Undecayed) {
            (0..).zip(&mut values).for_each(|(i, x)| *x += 0.2 * stream.normal(i) as f32);
        }
        NamedWeight { name: weight.name, shape: weight.shape, values }
    };
    spec.all_weights().unwrap().into_iter().enumerate().map(draw).collect()
}

pub(crate) fn write(folder: &Path, mut spec: ModelSpec, weights: &[NamedWeight]) {
    let (bytes, remembered) = to_bytes(weights).unwrap();
    spec.weights = remembered;
    std::fs::write(folder.join(WEIGHTS), bytes).unwrap();
    std::fs::write(folder.join(SPEC), serde_json::to_string_pretty(&spec).unwrap() + "\n").unwrap();
}

pub(crate) fn model(spec: &ModelSpec) -> Model {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), spec.clone(), &weights(spec));
    Model::load(folder.path()).unwrap()
}

/// Irregular times, some values missing.
pub(crate) fn observations(seed: u64, length: usize) -> Vec<(f64, [f64; CHANNELS])> {
    let stream = Stream::new(seed, 1);
    let mut time = 0.0;
    let row = |i: u64| {
        let value = |k: u64| if stream.uniform(9 * i + k) < 0.2 { f64::NAN } else { stream.normal(9 * i + k) };
        time += 0.1 + stream.uniform(9 * i + 5);
        (time, [value(1), value(2)])
    };
    (0..length as u64).map(row).collect()
}

/// All numbers of a prediction.
pub(crate) fn numbers(prediction: Prediction) -> Vec<f64> {
    match prediction {
        Prediction::Class { probabilities, .. } => probabilities,
        Prediction::Value(value) => vec![value],
        Prediction::Values(forecasts) => forecasts.values,
    }
}

/// The series after these observations.
pub(crate) fn feed(model: &Model, rows: &[(f64, [f64; 2])]) -> Series {
    let mut series = model.start(&[61.0]).unwrap();
    for (time, values) in rows {
        model.push(&mut series, *time, values).unwrap();
    }
    series
}
