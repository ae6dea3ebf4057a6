//! What makes no sense is refused, by the place and the name of the layer, and with what to try.

use std::sync::Arc;

use burn_flex::Flex;
use burn_tensor::DType;
use ncde_layers::layer::{Branches, Context, Network, Places, Rows};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Signal, output};
use serde_json::{Value, json};

use crate::run::{Data, tensor};
use crate::samples::{cde, form, function, linear, log, neural, numbers, reservoir, sample, tokens, with};

fn refused(input: &Signal, layers: Value) -> String {
    let layers: Vec<LayerSpec> = serde_json::from_value(layers).unwrap();
    let error = output(&layers, input).unwrap_err();
    // Weights cannot be had either, nor a network.
    assert!(ncde_runtime::layer::weights(&layers, input).is_err());
    assert!(Network::<Flex>::drawn(&layers, input, 0, &Default::default()).is_err());
    error.to_string()
}

#[test]
fn a_misplaced_layer_is_named_by_its_place() {
    let pool = || json!({"layer": "pool", "over": "last"});
    let dense = |more: Value| cde(3, json!({"kind": "dense"}), more);
    let windows = || log(3, 2, "lyndon");
    let cases = [
        (
            numbers(2, 0),
            json!([dense(json!({}))]),
            "`layers.0 (linear-cde)`: it is driven by windows; put `windows` right before it, or choose another `drive`",
        ),
        (
            numbers(2, 0),
            json!([linear(2), neural("nrde", json!({}))]),
            "`layers.1 (neural-cde)`: it takes windows; put `windows` right before it",
        ),
        (
            numbers(2, 0),
            json!([{"layer": "beside", "coordinates": 1, "layers": [linear(2)]}]),
            "`layers.0 (beside)`: it takes windows; put `windows` right before it",
        ),
        (
            tokens(5),
            json!([{"layer": "permutation-diagonal", "hidden": 2, "matrices": 2, "initial": "first"}]),
            "`layers.0 (permutation-diagonal)`: it is given tokens; put an `embedding` before it",
        ),
        (tokens(5), json!([linear(2)]), "`layers.0 (linear)`: it is given tokens; put an `embedding` before it"),
        (tokens(5), json!([windows()]), "`layers.0 (windows)`: it is given tokens; put an `embedding` before it"),
        (
            numbers(2, 0),
            json!([{"layer": "embedding", "width": 3}]),
            "`layers.0 (embedding)`: it takes tokens, and is given numbers; use `linear`, or read a column of tokens",
        ),
        (
            numbers(2, 0),
            json!([windows(), windows()]),
            "`layers.1 (windows)`: it is given windows already; one such layer is enough",
        ),
        (
            numbers(2, 0),
            json!([pool(), pool()]),
            "`layers.1 (pool)`: it comes after `pool`, where a series has one row; put it before",
        ),
        (
            numbers(2, 0),
            json!([pool(), dense(json!({"drive": {"kind": "tokens"}}))]),
            "`layers.1 (linear-cde)`: it comes after `pool`, where a series has one row; put it before",
        ),
        (
            numbers(2, 0),
            json!([windows(), pool(), neural("log-ncde", json!({}))]),
            "`layers.2 (neural-cde)`: it comes after `pool`, where a series has one row; put it before",
        ),
        (
            numbers(2, 0),
            json!([linear(3), {"layer": "residual", "layers": [linear(3), linear(2)]}]),
            "`layers.1 (residual)`: its layers make 2 numbers of 3; they must make as many, to be added",
        ),
        (
            numbers(2, 0),
            json!([{"layer": "residual", "layers": [linear(2), pool()]}]),
            "`layers.0 (residual)`: the layers inside must hand on a row for each row; put `windows` and `pool` outside",
        ),
        (numbers(2, 0), json!([{"layer": "parallel", "layers": []}]), "`layers.0 (parallel)`: it has no lists of layers"),
        (
            numbers(2, 0),
            json!([{"layer": "parallel", "layers": [[linear(2)], []]}]),
            "`layers.0 (parallel)`: list 1 has no layers",
        ),
        (
            numbers(2, 0),
            json!([{"layer": "parallel", "layers": [[linear(2)], [linear(2), pool()]]}]),
            "`layers.0 (parallel)`: a `pool` is in some lists and not in others; all are needed, or none",
        ),
        (
            numbers(2, 0),
            json!([{"layer": "parallel", "layers": [[windows()]]}]),
            "`layers.0 (parallel)`: the lists must hand on a row for each row; put `windows` before them",
        ),
        (numbers(2, 0), json!([{"layer": "residual", "layers": []}]), "`layers.0 (residual)`: it has no layers inside"),
        (
            numbers(3, 0),
            json!([linear(3), {"layer": "residual", "layers": [{"layer": "residual", "layers": [linear(3), function("glu")]}]}]),
            "`layers.1.layers.0.layers.1 (activation)`: `glu` halves rows, but they have 3 numbers; give it an even count",
        ),
        (
            numbers(2, 0),
            json!([form(1, "hermite"), dense(json!({}))]),
            "`layers.1 (linear-cde)`: windows of the form `hermite` are for a `neural-cde`",
        ),
        (
            numbers(2, 0),
            json!([windows(), neural("ncde", json!({}))]),
            "`layers.1 (neural-cde)`: an `ncde` needs windows of the form `hermite`",
        ),
        (
            numbers(2, 0),
            json!([log(3, 2, "expanded"), neural("log-ncde", json!({}))]),
            "`layers.1 (neural-cde)`: it needs windows of the form `log-signature` in the basis `lyndon`",
        ),
        (
            numbers(2, 0),
            json!([form(2, "increments"), cde(3, json!({"kind": "dplr", "rank": 1}), json!({}))]),
            "`layers.1 (linear-cde)`: windows come as increments, which need blocks of one size; use the form `log-signature`",
        ),
        (
            numbers(2, 0),
            json!([windows(), cde(3, json!({"kind": "dplr", "rank": 1}), json!({}))]),
            "a DPLR structure needs `expanded`",
        ),
    ];
    for (input, layers, wanted) in cases {
        let message = refused(&input, layers);
        assert!(message.ends_with(wanted), "{message}");
    }
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    let token = |more: Value| json!([cde(4, json!({"kind": "dense"}), with(&json!({"drive": {"kind": "tokens"}}), more))]);
    let structure = |structure: Value| token(json!({"structure": structure}));
    let deep = |depth: usize, more: Value| json!([log(2, depth, "lyndon"), neural("log-ncde", more)]);
    let cases = [
        (json!([linear(0)]), "`layers.0 (linear)`: `outputs` is missing or 0; only the last layer of a model may leave it out"),
        (json!([log(0, 2, "lyndon")]), "`layers.0 (windows)`: `window` is 0; at least 1 is needed"),
        (json!([log(1, 0, "lyndon")]), "`layers.0 (windows)`: "),
        (json!([form(2, "hermite")]), "`layers.0 (windows)`: `window` is 2; the form `hermite` has one step in each"),
        (json!([{"layer": "dropout", "rate": 1.0}]), "`layers.0 (dropout)`: `rate` is 1; it is a probability, from 0 to below 1"),
        (json!([{"layer": "signature", "depth": 0}]), "`layers.0 (signature)`: "),
        (
            json!([log(1, 1, "lyndon"), {"layer": "beside", "coordinates": 3, "layers": [linear(1)]}]),
            "`layers.1 (beside)`: `coordinates` is 3, but a window has 2",
        ),
        (
            json!([log(1, 1, "lyndon"), {"layer": "beside", "coordinates": 1, "knot": [1, 3], "layers": [linear(1)]}]),
            "`layers.1 (beside)`: `knot` is [1, 3], but a knot has 2 channels",
        ),
        (json!([{"layer": "random-features", "count": 0}]), "`layers.0 (random-features)`: `count` is 0; at least 1 is needed"),
        (
            json!([{"layer": "memory", "order": 13, "spans": [1.0], "values": true}]),
            "`layers.0 (memory)`: `order` is 13; it is from 1 to 12",
        ),
        (
            json!([{"layer": "memory", "order": 3, "spans": [1.0], "turns": [[0.0, 1.0]], "values": true}]),
            "`layers.0 (memory)`: `turns` is a list with [0, 1]; the first number of a pair is positive",
        ),
        (json!([{"layer": "memory", "order": 3, "spans": [], "values": true}]), "`layers.0 (memory)`: `spans` is a list of 0"),
        (
            json!([{"layer": "memory", "order": 3, "spans": [1.0, 0.0], "values": true}]),
            "`layers.0 (memory)`: `spans` is a list with 0; spans are positive",
        ),
        (token(json!({"hidden": 0})), "`layers.0 (linear-cde)`: `hidden` is 0; at least 1 is needed"),
        (token(json!({"scale": -1.0})), "`scale` is -1; it is a positive number"),
        (
            token(json!({"input": "values"})),
            "`input` is `values`, but the drive does not look at the row before; use `path`, or drive by `time`",
        ),
        (structure(json!({"kind": "blocks", "sizes": [2, 3]})), "`structure` is blocks of 5 states in all, but `hidden` is 4"),
        (structure(json!({"kind": "block", "block": 3})), "divisor"),
        (
            structure(json!({"kind": "sparse", "epsilon": 1.5})),
            "`epsilon` is 1.5; a matrix has hidden^(1 + epsilon) entries, with epsilon between 0 and 1",
        ),
        (deep(7, json!({})), "`layers.1 (neural-cde)`: `depth` is 7; brackets are computed to depth 6"),
        (
            deep(2, json!({"activation": "relu"})),
            "`activation` is `relu`, which has no derivative at 0, and brackets are made of derivatives; use `silu`, `tanh` or `softplus`",
        ),
        (deep(2, json!({"before_last": "relu"})), "use `silu`, `tanh` or `softplus`"),
        (deep(1, json!({"init": 0.0})), "`init` is 0; it is a positive number"),
        (deep(1, json!({"steps": 0})), "`steps` is 0; at least 1 is needed"),
    ];
    for (layers, wanted) in cases {
        let message = refused(&numbers(2, 0), layers);
        assert!(message.contains(wanted) && message.contains("`layers."), "{message}");
    }
}

/// `base.place` is `value`.
fn set(place: &[&str], value: Value) -> Value {
    let mut layer = reservoir(json!({}));
    *place.iter().fold(&mut layer, |at, key| &mut at[*key]) = value;
    json!([layer])
}

#[test]
fn settings_of_a_reservoir_that_make_no_sense_are_named() {
    let families = |groups: u64| set(&["responses", "families"], json!([{"groups": groups, "pools": ["share"]}]));
    let nothing = json!({"order": 1, "spans": [], "memories": false, "moments": false});
    let cases = [
        (set(&["horizon"], json!(0.0)), "`horizon` is 0; a positive time is needed"),
        (set(&["horizon"], json!(-1.0)), "`horizon` is -1; a positive time is needed"),
        (set(&["responses", "order"], json!(0)), "`responses.order` is 0; it is from 1 to 12"),
        (set(&["responses", "order"], json!(13)), "`responses.order` is 13; it is from 1 to 12"),
        (set(&["summary", "order"], json!(1_u64 << 40)), "`summary.order` is 1099511627776; it is from 1 to 12"),
        (set(&["responses", "spans"], json!([0.5, 0.0])), "`responses.spans` is a list with 0; spans are positive"),
        (set(&["summary", "spans"], json!([-0.5])), "`summary.spans` is a list with -0.5; spans are positive"),
        (set(&["summary", "spans"], json!(vec![0.5; 257])), "`summary.spans` is a list of 257; at most 256 are possible"),
        (set(&["summary", "spans"], json!([])), "`summary.spans` is empty, but memories or moments are asked for"),
        (set(&["responses", "delay"], json!(-0.1)), "`responses.delay` is -0.1; it is 0 or more"),
        (families(1 << 40), "`responses.families` is too many families, groups or ways of pooling"),
        (families(1 << 19), "`responses.families` is so large that "),
        (set(&["responses", "families"], json!(vec![json!({"groups": 1, "pools": []}); 257])), "too many families"),
        (
            json!([reservoir(
                json!({"summary": nothing, "responses": {"order": 1, "spans": [0.5], "delay": 0.0, "families": []}})
            )]),
            "`responses.families` is empty, and the summary has no features: nothing would come out",
        ),
    ];
    for (layers, wanted) in cases {
        let message = refused(&numbers(2, 0), layers);
        assert!(message.starts_with("`layers.0 (reservoir)`: ") && message.contains(wanted), "{message}");
    }
    // TOML has numbers that JSON has not.
    for (number, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let LayerSpec::Reservoir(mut spec) = serde_json::from_value(reservoir(json!({}))).unwrap() else {
            unreachable!("it is one")
        };
        spec.summary.spans[0] = number;
        let message = output(&[LayerSpec::Reservoir(spec)], &numbers(2, 0)).unwrap_err().to_string();
        assert!(message.contains(&format!("`summary.spans` is a list with {text}")), "{message}");
    }
    // Rows so wide that their memories would take gigabytes.
    let message = refused(&numbers(1 << 21, 0), json!([reservoir(json!({}))]));
    assert!(message.contains("numbers are worked on"), "{message}");
    let message = refused(&numbers(2, 0), json!([{"layer": "pool", "over": "last"}, reservoir(json!({}))]));
    assert!(message.contains("`layers.1 (reservoir)`: it comes after `pool`"), "{message}");
    assert!(refused(&tokens(4), json!([reservoir(json!({}))])).contains("put an `embedding` before it"));
}

#[test]
fn nothing_that_is_trained_comes_before_a_reservoir() {
    let inside = |layers: Value| json!([{"layer": "residual", "layers": layers}]);
    for (input, layers, wanted) in [
        (
            numbers(2, 0),
            json!([linear(3), reservoir(json!({}))]),
            "`layers.1 (reservoir)`: no gradient comes through it, but `layers.0.weight`",
        ),
        (
            tokens(4),
            json!([{"layer": "embedding", "width": 2}, reservoir(json!({}))]),
            "`layers.0.weight` before it is trained; put it before that",
        ),
        (numbers(2, 0), inside(json!([linear(3), reservoir(json!({})), linear(2)])), "`layers.0.layers.1 (reservoir)`: "),
        (
            numbers(2, 0),
            json!([linear(3), {"layer": "memory", "order": 3, "spans": [1.0], "values": true}]),
            "`layers.1 (memory)`: no gradient comes through it",
        ),
        // The skip would bring a gradient, but not all of it.
        (
            numbers(2, 0),
            json!([linear(3), inside(json!([reservoir(json!({})), linear(3)]))[0]]),
            "`layers.1.layers.0 (reservoir)`: ",
        ),
        (
            numbers(2, 0),
            json!([{"layer": "residual", "layers": [linear(2)]}, reservoir(json!({}))]),
            "`layers.0.layers.0.weight`",
        ),
    ] {
        let layers: Vec<LayerSpec> = serde_json::from_value(layers).unwrap();
        // What is saved already can be predicted with.
        output(&layers, &input).unwrap();
        let message = Network::<Flex>::drawn(&layers, &input, 0, &Default::default()).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn weights_that_cannot_be_drawn_are_named() {
    let token = |structure: Value, more: Value| cde(4, structure, with(&json!({"drive": {"kind": "tokens"}}), more));
    let cases = [
        (
            token(json!({"kind": "dense"}), json!({"init": {"kind": "scaled", "deviation": -1.0}})),
            "`init` is a deviation of -1; it is a positive number",
        ),
        (
            token(json!({"kind": "diagonal"}), json!({"init": {"kind": "maximally-expressive"}})),
            "diagonal states are not expressive",
        ),
        (token(json!({"kind": "walsh-hadamard"}), json!({"init": {"kind": "maximally-expressive"}})), "use bound `none`"),
        (
            token(json!({"kind": "dense"}), json!({"forget": {"octaves": 1.0}})),
            "`forget` is set, but dense matrices have no diagonal of their own",
        ),
    ];
    for (layer, wanted) in cases {
        let layers: Vec<LayerSpec> = serde_json::from_value(json!([layer])).unwrap();
        let message = ncde_runtime::layer::weights(&layers, &numbers(2, 0)).unwrap_err().to_string();
        assert!(message.starts_with("`layers.0 (linear-cde)`: ") && message.contains(wanted), "{message}");
    }
}

#[test]
fn settings_survive_a_file_and_unknown_ones_are_refused() {
    for sample in crate::samples::all() {
        let text = serde_json::to_string(&sample.layers).unwrap();
        assert_eq!(serde_json::from_str::<Vec<LayerSpec>>(&text).unwrap(), sample.layers, "{text}");
    }
    for layer in [
        json!({"layer": "linear", "outputs": 2, "bias": true}),
        json!({"layer": "no-such-layer"}),
        cde(2, json!({"kind": "block", "block": 1, "rank": 2}), json!({})),
        cde(2, json!({"kind": "dense"}), json!({"drive": {"kind": "tokens", "time": true}})),
    ] {
        assert!(serde_json::from_value::<LayerSpec>(layer.clone()).is_err(), "{layer}");
    }
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let sample = sample("rows", numbers(3, 1), json!([{"layer": "signature", "depth": 1}, linear(2)]));
    let network = sample.network::<Flex>();
    let data = Data::new(&sample.input, &[4, 2], 1);
    let (rows, context) = (|| data.batch::<Flex>(4, 0.0, DType::F32), || data.context::<Flex>(DType::F32));
    assert!(network.forward(rows(), &context()).is_ok());
    let refused = |rows: Rows<Flex>, context: &Context<Flex>| network.forward(rows, context).unwrap_err().to_string();
    let message = refused(rows(), &Context::predict());
    assert_eq!(message, "layers: the tensor of statics has 2 series of 0 numbers, but 2 of 1 is needed");
    let narrow = rows().with(rows().values.narrow(2, 0, 2));
    assert_eq!(refused(narrow, &context()), "layers: the batch of rows has 2 series of 2 numbers, but 2 of 3 is needed");
    let at = |places: Places| Rows { values: rows().values, places: Arc::new(places) };
    let places = (*rows().places).clone();
    for wrong in [
        Places { lengths: vec![4, 5], ..places.clone() },
        Places { lengths: vec![4, 0], ..places.clone() },
        Places { lengths: vec![4], ..places.clone() },
        Places { times: vec![0.0; 7], ..places.clone() },
        Places { trunk: 3, lengths: vec![3, 2], branches: Some(Branches { count: 1, parents: vec![3, 0] }), ..places.clone() },
        Places { trunk: 3, lengths: vec![3, 2], branches: Some(Branches { count: 1, parents: vec![2] }), ..places.clone() },
    ] {
        let message = refused(at(wrong), &context());
        assert!(message.starts_with("layers: the batch of rows has [2, 4] rows, but "), "{message}");
    }
    let branched = Places { trunk: 3, lengths: vec![3, 2], branches: Some(Branches { count: 1, parents: vec![2, 0] }), ..places };
    let message = refused(at(branched), &context());
    assert_eq!(
        message,
        "signature: the batch of rows has rows in the middle of windows, but rows that follow each other is needed"
    );
}

#[test]
fn a_token_that_is_none_is_refused() {
    let sample = sample("tokens", tokens(5), json!([{"layer": "embedding", "width": 2}]));
    let run = |all: [f64; 3]| {
        let places = Places { lengths: vec![2], ..Places::regular(&[3]) };
        let rows = Rows { values: tensor(all.to_vec(), [1, 3, 1], DType::F32), places: Arc::new(places) };
        sample.network::<Flex>().forward(rows, &Context::predict()).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(run([0.0, 4.0, 0.0]), Ok(()));
    // What lies past the end is not read.
    assert_eq!(run([0.0, 4.0, f64::NAN]), Ok(()));
    for (token, seen) in [(5.0, "5"), (-1.0, "-1"), (1.5, "1.5"), (f64::NAN, "NaN")] {
        let wanted = format!("embedding: the batch of tokens has token {seen}, but a whole number below 5 is needed");
        assert_eq!(run([0.0, token, 0.0]), Err(wanted));
    }
}

#[test]
fn flows_that_could_expand_are_not_called_contractive() {
    let own = |structure: Value, more: Value| {
        let base = json!({"drive": {"kind": "tokens"}, "stability": {"kind": "contractive", "rate": 1.0}});
        cde(4, structure, with(&base, more))
    };
    let block = || json!({"kind": "block", "block": 2});
    let windows = json!({"drive": {"kind": "windows"}});
    let cases = [
        (json!([own(json!({"kind": "dplr", "rank": 1}), json!({}))]), "no skew form"),
        (json!([own(json!({"kind": "sparse", "epsilon": 0.5}), json!({}))]), "no skew form"),
        (json!([own(json!({"kind": "walsh-hadamard"}), json!({}))]), "no skew form"),
        (json!([own(block(), json!({"transition": "euler"}))]), "`I + Omega` expands"),
        (json!([own(block(), json!({"drive": {"kind": "increments"}}))]), "time does not drive"),
        (json!([own(block(), json!({"stability": {"kind": "contractive", "rate": 0.0}}))]), "a positive number"),
        (json!([log(3, 2, "lyndon"), own(block(), windows.clone())]), "depth 1"),
        (json!([form(2, "increments"), own(block(), windows)]), "depth 1"),
    ];
    for (layers, wanted) in cases {
        let message = refused(&numbers(2, 0), layers);
        assert!(message.contains("`stability` is") && message.contains(wanted), "{message}");
    }
}
