//! Compositions of layers: every layer, every setting that changes what is computed, at odd sizes.

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Rows, Signal};
use serde_json::{Value, json};

use crate::features::{memories, reservoirs};
use crate::sequences::sequences;

/// A list of layers and the rows it is given.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) input: Signal,
    pub(crate) layers: Vec<LayerSpec>,
}

pub(crate) fn sample(name: impl Into<String>, input: Signal, layers: Value) -> Sample {
    let layers = serde_json::from_value(layers.clone()).unwrap_or_else(|e| panic!("{e}: {layers}"));
    Sample { name: name.into(), input, layers }
}

pub(crate) fn numbers(width: usize, statics: usize) -> Signal {
    Signal { statics, ..Signal::values(width) }
}

pub(crate) fn tokens(vocabulary: usize) -> Signal {
    Signal { rows: Rows::Tokens { vocabulary }, statics: 0, pooled: false }
}

/// `base` with other settings.
pub(crate) fn with(base: &Value, more: Value) -> Value {
    let (mut all, Value::Object(more)) = (base.clone(), more) else { panic!("settings have names") };
    more.into_iter().for_each(|(name, value)| all[name] = value);
    all
}

pub(crate) fn log(window: usize, depth: usize, basis: &str) -> Value {
    json!({"layer": "windows", "window": window, "form": {"kind": "log-signature", "depth": depth, "basis": basis}})
}

pub(crate) fn form(window: usize, kind: &str) -> Value {
    json!({"layer": "windows", "window": window, "form": {"kind": kind}})
}

pub(crate) fn cde(hidden: usize, structure: Value, more: Value) -> Value {
    let base = json!({"layer": "linear-cde", "hidden": hidden, "structure": structure, "initial": "first",
        "drive": {"kind": "windows"}, "init": {"kind": "scaled", "deviation": 0.6}});
    with(&base, more)
}

pub(crate) fn neural(kind: &str, more: Value) -> Value {
    let base = json!({"layer": "neural-cde", "kind": kind, "hidden": 3, "width": 5, "layers": 1, "activation": "silu",
        "before_last": "silu", "last": "tanh", "solver": "heun", "steps": 2, "init": 1.0});
    with(&base, more)
}

/// Its horizon ends within the series of most tests.
pub(crate) fn reservoir(more: Value) -> Value {
    let base = json!({"layer": "reservoir", "horizon": 2.5,
        "responses": {"order": 4, "spans": [0.15, 0.6], "delay": 0.3, "families": [{"groups": 2, "pools": ["share", "mean", "longest", "place"]}]},
        "summary": {"order": 3, "spans": [0.2, 1.0], "memories": true, "moments": true, "areas": 1, "windows": 4, "depth": 3}});
    with(&base, more)
}

pub(crate) fn linear(outputs: usize) -> Value {
    json!({"layer": "linear", "outputs": outputs})
}

pub(crate) fn function(name: &str) -> Value {
    json!({"layer": "activation", "function": name})
}

pub(crate) fn norm(affine: bool) -> Value {
    json!({"layer": "layer-norm", "affine": affine})
}

pub(crate) fn pool(over: &str) -> Value {
    json!({"layer": "pool", "over": over})
}

/// Each structure with a number of states that suits it, and the basis that it needs beyond depth 1.
pub(crate) fn structures() -> Vec<(usize, Value, &'static str)> {
    vec![
        (3, json!({"kind": "dense"}), "lyndon"),
        (1, json!({"kind": "dense"}), "lyndon"),
        (3, json!({"kind": "dense"}), "expanded"),
        (5, json!({"kind": "diagonal"}), "lyndon"),
        (4, json!({"kind": "block", "block": 2}), "lyndon"),
        (6, json!({"kind": "block", "block": 3}), "expanded"),
        (5, json!({"kind": "blocks", "sizes": [3, 1, 1]}), "lyndon"),
        (5, json!({"kind": "diagonal-dense", "block": 2}), "lyndon"),
        (5, json!({"kind": "dplr", "rank": 2}), "expanded"),
        (5, json!({"kind": "sparse", "epsilon": 0.5}), "expanded"),
        (4, json!({"kind": "walsh-hadamard", "bound": "tanh"}), "expanded"),
        (4, json!({"kind": "walsh-hadamard", "bound": "none"}), "expanded"),
    ]
}

/// What a linear CDE may be driven by, windows aside.
pub(crate) fn drives() -> Vec<Value> {
    vec![
        json!({"kind": "tokens"}),
        json!({"kind": "increments", "time": true}),
        json!({"kind": "increments", "time": false}),
        json!({"kind": "values", "time": true}),
        json!({"kind": "values"}),
        json!({"kind": "time"}),
    ]
}

/// All of them.
pub(crate) fn all() -> Vec<Sample> {
    [
        windows(),
        linear_cdes(),
        other_drives(),
        permutations(),
        neural_cdes(),
        sequences(),
        reservoirs(),
        memories(),
        rows(),
        deep(),
    ]
    .concat()
}

fn windows() -> Vec<Sample> {
    let mut all = Vec::new();
    for (window, depth, basis) in [
        (1, 1, "lyndon"),
        (3, 1, "expanded"),
        (3, 2, "lyndon"),
        (1, 2, "expanded"),
        (3, 3, "lyndon"),
        (3, 3, "expanded"),
        (2, 3, "hall"),
    ] {
        for width in [1, 3] {
            let name = format!("windows of {window}, depth {depth}, {basis}, {width} channels");
            all.push(sample(name, numbers(width, 0), json!([log(window, depth, basis)])));
        }
    }
    for (window, kind, width) in [(1, "increments", 1), (3, "increments", 2), (1, "hermite", 1), (1, "hermite", 3)] {
        all.push(sample(format!("{kind} of {window}, {width} channels"), numbers(width, 0), json!([form(window, kind)])));
    }
    all
}

/// Over windows.
fn linear_cdes() -> Vec<Sample> {
    let mut all = Vec::new();
    for (hidden, structure, basis) in structures() {
        for (window, depth, more) in [
            (3, 2, json!({"input": "path"})),
            (1, 2, json!({"transition": "euler", "initial": "learned"})),
            (3, 1, json!({"scale": 0.3})),
        ] {
            let name = format!("linear-cde {structure} {basis}, windows of {window}, depth {depth}, {more}");
            let layers = json!([log(window, depth, basis), cde(hidden, structure.clone(), more)]);
            all.push(sample(name, numbers(2, 2), layers));
        }
    }
    let block = || json!({"kind": "block", "block": 2});
    for (basis, input) in [("lyndon", "none"), ("lyndon", "path"), ("expanded", "none"), ("expanded", "path")] {
        let layers = json!([log(3, 3, basis), cde(4, block(), json!({"input": input, "scale": 0.7}))]);
        all.push(sample(format!("linear-cde, depth 3, {basis}, {input}"), numbers(3, 0), layers));
    }
    for (window, structure, more) in [
        (1, json!({"kind": "dense"}), json!({})),
        (3, json!({"kind": "diagonal"}), json!({"input": "path", "initial": "learned"})),
        (3, block(), json!({"scale": 0.3})),
        (3, block(), json!({"scale": 0.3, "input": "path"})),
        (2, json!({"kind": "blocks", "sizes": [2, 2]}), json!({"input": "path", "transition": "euler"})),
    ] {
        let name = format!("linear-cde {structure}, increments of {window}, {more}");
        all.push(sample(name, numbers(3, 1), json!([form(window, "increments"), cde(4, structure, more)])));
    }
    for (hidden, structure, basis, more) in [
        (4, block(), "lyndon", json!({"forget": {"octaves": 2.0}, "input": "path"})),
        (5, json!({"kind": "dplr", "rank": 1}), "expanded", json!({"forget": {"octaves": 1.0}, "scale": 0.5})),
        (3, json!({"kind": "dense"}), "lyndon", json!({"init": {"kind": "maximally-expressive"}})),
    ] {
        let layers = json!([log(2, 2, basis), cde(hidden, structure, more.clone())]);
        all.push(sample(format!("linear-cde, {more}"), numbers(2, 0), layers));
    }
    let contractive = json!({"kind": "contractive", "rate": 0.5});
    for (hidden, structure) in [
        (3, json!({"kind": "dense"})),
        (5, json!({"kind": "diagonal"})),
        (6, json!({"kind": "block", "block": 3})),
        (6, json!({"kind": "blocks", "sizes": [1, 1, 3, 1]})),
        (5, json!({"kind": "diagonal-dense", "block": 2})),
    ] {
        for more in [json!({"input": "path", "forget": {"octaves": 2.0}}), json!({"scale": 0.3, "initial": "learned"})] {
            let name = format!("linear-cde {structure}, contractive, {more}");
            let more = with(&more, json!({"stability": contractive}));
            all.push(sample(name, numbers(2, 1), json!([log(3, 1, "lyndon"), cde(hidden, structure.clone(), more)])));
        }
    }
    for drive in [json!({"kind": "tokens"}), json!({"kind": "values", "time": true}), json!({"kind": "time"})] {
        let more = json!({"drive": drive, "stability": contractive});
        let layers = json!([cde(4, json!({"kind": "block", "block": 2}), more.clone())]);
        all.push(sample(format!("linear-cde {more}"), numbers(3, 0), layers));
    }
    all
}

/// Without windows.
fn other_drives() -> Vec<Sample> {
    let mut all = Vec::new();
    for drive in drives() {
        for input in ["none", "path", "values"] {
            for initial in ["first", "learned"] {
                if input == "values" && drive["kind"] == "tokens" {
                    continue;
                }
                let more = json!({"drive": drive, "input": input, "initial": initial, "scale": 0.8});
                let layers = json!([cde(4, json!({"kind": "block", "block": 2}), more.clone())]);
                all.push(sample(format!("linear-cde {more}"), numbers(3, 2), layers));
            }
        }
    }
    let one = cde(4, json!({"kind": "block", "block": 2}), json!({"drive": {"kind": "tokens"}, "initial": "one"}));
    all.push(sample("linear-cde from the first state", numbers(3, 2), json!([one])));
    for (hidden, structure, _) in structures() {
        let more = json!({"drive": {"kind": "increments", "time": true}, "input": "values", "transition": "euler"});
        all.push(sample(format!("linear-cde {structure}, euler"), numbers(1, 0), json!([cde(hidden, structure, more)])));
    }
    all
}

/// States that a row sends to each other; with one matrix the choice does not depend on the row.
fn permutations() -> Vec<Sample> {
    let layer = |hidden: usize, matrices: usize, more: Value| {
        with(&json!({"layer": "permutation-diagonal", "hidden": hidden, "matrices": matrices, "initial": "learned"}), more)
    };
    let mut all = Vec::new();
    for diagonal in ["one", "real", "complex"] {
        for (matrices, more) in [
            (1, json!({"initial": "first"})),
            (1, json!({"input": true, "time": true})),
            (3, json!({"initial": "first", "input": true, "time": true, "keep": 0.8})),
            (3, json!({"scores": 2.0, "sharpness": 3.0})),
            (3, json!({"one_hot": "rows", "initial": "first", "time": true, "keep": 0.8})),
            (2, json!({"one_hot": "rows", "input": true, "scores": 2.0, "initial": "one"})),
        ] {
            let more = with(&more, json!({"diagonal": diagonal}));
            let name = format!("permutation-diagonal of {matrices}, {more}");
            all.push(sample(name.clone(), numbers(3, 2), json!([layer(5, matrices, more.clone())])));
            all.push(sample(format!("{name}, windows"), numbers(2, 1), json!([log(3, 2, "lyndon"), layer(4, matrices, more)])));
        }
    }
    let residual = |layers: Value| json!({"layer": "residual", "layers": layers});
    all.push(sample("permutation-diagonal of one state", numbers(1, 0), json!([layer(1, 1, json!({"input": true}))])));
    all.push(sample(
        "permutation-diagonal stack",
        tokens(5),
        json!([
            {"layer": "embedding", "width": 4},
            residual(json!([layer(3, 5, json!({"input": true})), linear(4)])),
            norm(true),
            residual(json!([layer(4, 2, json!({"diagonal": "real"}))])),
            pool("last"),
            linear(2)
        ]),
    ));
    all
}

fn neural_cdes() -> Vec<Sample> {
    let mut all = Vec::new();
    for (solver, activation) in [("euler", "relu"), ("heun", "silu"), ("rk4", "tanh")] {
        let more = json!({"solver": solver, "activation": activation, "before_last": activation});
        all.push(sample(format!("ncde {solver}"), numbers(3, 2), json!([form(1, "hermite"), neural("ncde", more.clone())])));
        for (kind, depth, window) in
            [("nrde", 1, 1), ("nrde", 2, 3), ("nrde", 3, 3), ("log-ncde", 1, 3), ("log-ncde", 2, 3), ("log-ncde", 3, 3)]
        {
            if kind == "log-ncde" && activation == "relu" {
                continue;
            }
            let layers = json!([log(window, depth, "lyndon"), neural(kind, more.clone())]);
            all.push(sample(format!("{kind} {solver}, depth {depth}, windows of {window}"), numbers(2, 1), layers));
        }
    }
    let odd = json!({"hidden": 1, "width": 1, "layers": 2, "activation": "softplus", "before_last": "tanh", "last": "linear", "steps": 1});
    all.push(sample("log-ncde of 1 state", numbers(1, 0), json!([log(1, 2, "lyndon"), neural("log-ncde", odd.clone())])));
    all.push(sample("ncde of 1 state", numbers(1, 0), json!([form(1, "hermite"), neural("ncde", odd)])));
    all
}

/// Layers that take rows one by one, and those that sum them up.
fn rows() -> Vec<Sample> {
    let mut all = vec![
        sample("embedding", tokens(7), json!([{"layer": "embedding", "width": 5}])),
        sample("embedding of one token", tokens(1), json!([{"layer": "embedding", "width": 1}])),
        sample("linear", numbers(5, 0), json!([linear(3)])),
        sample("linear 1 to 1", numbers(1, 0), json!([linear(1)])),
        sample("standardise", numbers(3, 0), json!([{"layer": "standardise"}])),
        sample("dropout", numbers(3, 0), json!([{"layer": "dropout", "rate": 0.5}])),
        sample("convolution", numbers(3, 0), json!([{"layer": "convolution", "size": 3}])),
        sample("convolution of one row", numbers(1, 0), json!([{"layer": "convolution", "size": 1}])),
        sample("convolution after windows", numbers(2, 0), json!([log(3, 1, "lyndon"), {"layer": "convolution", "size": 2}])),
        sample("residual", numbers(3, 0), json!([{"layer": "residual", "layers": [linear(3)]}])),
        sample("signature", numbers(1, 0), json!([{"layer": "signature", "depth": 1}])),
        sample("signature of depth 3", numbers(3, 2), json!([{"layer": "signature", "depth": 3}])),
    ];
    for name in ["silu", "relu", "tanh", "softplus", "glu"] {
        for width in [2, 6] {
            all.push(sample(format!("{name} of {width}"), numbers(width, 0), json!([function(name)])));
        }
    }
    for (affine, width) in [(false, 1), (false, 5), (true, 1), (true, 5)] {
        all.push(sample(format!("layer-norm of {width}, affine {affine}"), numbers(width, 0), json!([norm(affine)])));
    }
    for over in ["last", "mean"] {
        all.push(sample(format!("pool {over}"), numbers(3, 0), json!([pool(over)])));
    }
    for (window, coordinates) in [(1, 0), (3, 2), (3, 3)] {
        let beside = json!({"layer": "beside", "coordinates": coordinates, "layers": [linear(3)]});
        let layers = json!([log(window, 2, "lyndon"), beside]);
        all.push(sample(format!("beside with {coordinates} coordinates, windows of {window}"), numbers(2, 0), layers));
    }
    for (from, to) in [(1, 2), (1, 1)] {
        let beside = json!({"layer": "beside", "coordinates": 1, "knot": [from, to], "layers": [linear(3)]});
        let layers = json!([log(2, 1, "lyndon"), beside]);
        all.push(sample(format!("beside with channels {from} to {to} of the knot"), numbers(3, 0), layers));
    }
    all
}

/// Stacks.
fn deep() -> Vec<Sample> {
    let block = || json!({"kind": "block", "block": 2});
    let residual = |layers: Value| json!({"layer": "residual", "layers": layers});
    let turn =
        |more: Value| cde(4, block(), with(&json!({"drive": {"kind": "tokens"}, "initial": "learned", "scale": 0.5}), more));
    let dropout = json!({"layer": "dropout", "rate": 0.1});
    let token_block = |more: Value| {
        vec![residual(json!([turn(more)])), residual(json!([linear(8), function("glu")])), norm(true), dropout.clone()]
    };
    let stack = [
        vec![json!({"layer": "embedding", "width": 4})],
        token_block(json!({})),
        token_block(json!({"initial": "first", "structure": {"kind": "walsh-hadamard"}})),
        vec![residual(json!([residual(json!([linear(5), function("tanh"), linear(4)])), norm(false)])), linear(3)],
    ]
    .concat();
    let pooled = [stack.clone(), vec![pool("mean"), linear(2)]].concat();
    let head = json!([{"layer": "signature", "depth": 2}, {"layer": "standardise"}, pool("last"), linear(2)]);
    let beside = json!({"layer": "beside", "coordinates": 2, "layers": [cde(4, block(), json!({"input": "path"})), norm(false)]});
    let members = json!([
        [beside.clone(), linear(3), function("silu"), pool("mean"), linear(2)],
        [{"layer": "standardise"}, linear(4), residual(json!([turn(json!({}))])), pool("last"), linear(2)],
        [{"layer": "parallel", "layers": [[linear(1)], [linear(3), function("tanh")]]}, pool("mean"), linear(2)],
    ]);
    let again = json!({"drive": {"kind": "increments", "time": true}, "input": "values"});
    let more = |drive: &str, input: &str| json!({"drive": {"kind": drive}, "input": input});
    vec![
        sample("token stack", tokens(5), json!(stack)),
        sample("token stack, pooled", tokens(5), json!(pooled)),
        sample("signature features", numbers(2, 1), head),
        sample("members of other kinds", numbers(3, 1), json!([log(3, 2, "lyndon"), {"layer": "parallel", "layers": members}])),
        sample(
            "lists in the middle",
            numbers(2, 0),
            json!([{"layer": "parallel", "layers": [[linear(2)], [norm(true)]]}, linear(3)]),
        ),
        sample(
            "beside a linear CDE",
            numbers(3, 1),
            json!([log(3, 2, "lyndon"), beside, linear(5), function("silu"), linear(1)]),
        ),
        sample(
            "CDE over a CDE over windows",
            numbers(2, 1),
            json!([
                log(3, 2, "lyndon"),
                cde(4, block(), json!({})),
                cde(3, json!({"kind": "dense"}), again),
                norm(true),
                linear(2)
            ]),
        ),
        sample(
            "CDEs by increments and time over a neural one",
            numbers(2, 2),
            json!([
                log(3, 2, "lyndon"),
                neural("log-ncde", json!({})),
                cde(4, block(), more("increments", "path")),
                // One state of three would grow to 87 without the scale, and leave its norm hardly a digit of the others.
                cde(3, json!({"kind": "diagonal"}), with(&more("time", "values"), json!({"scale": 0.3}))),
                norm(false),
                residual(json!([cde(3, json!({"kind": "dense"}), more("tokens", "path"))]))
            ]),
        ),
        sample(
            "CDE by values over a CDE",
            numbers(2, 0),
            json!([
                log(2, 2, "lyndon"),
                cde(4, block(), json!({})),
                norm(false),
                cde(3, json!({"kind": "dense"}), more("values", "path"))
            ]),
        ),
        sample(
            "windows of learned rows, pooled",
            numbers(3, 0),
            json!([linear(2), function("tanh"), log(2, 2, "lyndon"), neural("log-ncde", json!({})), pool("last"), linear(2)]),
        ),
        sample(
            "windows of the states of a CDE",
            numbers(2, 1),
            json!([
                cde(2, json!({"kind": "dense"}), json!({"drive": {"kind": "values", "time": true}})),
                log(3, 3, "expanded"),
                cde(5, json!({"kind": "dplr", "rank": 1}), json!({"input": "path"})),
                pool("mean")
            ]),
        ),
        sample(
            "increments of learned rows",
            numbers(1, 0),
            json!([
                linear(3),
                form(3, "increments"),
                cde(4, block(), json!({"input": "path", "scale": 0.5})),
                residual(json!([{"layer": "standardise"}]))
            ]),
        ),
        sample(
            "hermite of learned rows",
            numbers(2, 0),
            json!([linear(2), form(1, "hermite"), neural("ncde", json!({})), linear(1)]),
        ),
    ]
}
