//! Compositions of layers that are drawn and not trained: reservoirs, memories, random features.

use serde_json::{Value, json};

use crate::samples::{Sample, form, function, linear, log, norm, numbers, pool, reservoir, sample, with};

pub(crate) fn reservoirs() -> Vec<Sample> {
    let family = |groups: usize, pools: &[&str]| json!({"groups": groups, "pools": pools});
    let responses = |order: usize, spans: &[f64], delay: f64, families: Value| json!({"responses": {"order": order, "spans": spans, "delay": delay, "families": families}});
    let summary = |order: usize, spans: &[f64], memories: bool, moments: bool| json!({"summary": {"order": order, "spans": spans, "memories": memories, "moments": moments}});
    let none = || summary(1, &[], false, false);
    let silent = || responses(1, &[], 0.0, json!([]));
    let both = |a: Value, b: Value| reservoir(with(&a, b));
    let several = json!([
        family(1, &["mean", "share"]),
        family(0, &["share"]),
        family(3, &["place"]),
        family(2, &[]),
        family(1, &["longest"])
    ]);
    let readout = || json!([{"layer": "standardise"}, linear(2)]);
    let then = |first: Vec<Value>| json!([first, readout().as_array().unwrap().clone()].concat());
    let mut all = vec![
        sample("reservoir", numbers(3, 2), json!([reservoir(json!({}))])),
        sample("reservoir and its readout", numbers(3, 2), then(vec![reservoir(json!({}))])),
        sample(
            "reservoir, pooled",
            numbers(1, 0),
            json!([both(silent(), json!({})), pool("last"), {"layer": "standardise"}, linear(3)]),
        ),
        sample("reservoir after windows", numbers(2, 1), then(vec![log(3, 2, "lyndon"), reservoir(json!({}))])),
        sample("reservoir after increments", numbers(1, 0), then(vec![form(2, "increments"), both(silent(), json!({}))])),
        sample(
            "reservoir after layers without trained weights",
            numbers(3, 0),
            // Without a linear layer, as below.
            json!([{"layer": "standardise"}, norm(false), function("tanh"), reservoir(json!({}))]),
        ),
        sample(
            "residual around a reservoir",
            numbers(3, 1),
            json!([{"layer": "residual", "layers": [both(silent(), json!({})), linear(3)]}, linear(2)]),
        ),
        sample(
            "many signals",
            numbers(19, 0),
            // Without a linear layer, whose sum over so many features rounds otherwise in a batch.
            json!([both(responses(2, &[0.4], 0.0, json!([family(17, &["share"])])), json!({}))]),
        ),
    ];
    for width in [1, 3] {
        for (name, layer) in [
            ("one family", both(none(), responses(1, &[0.5], 0.0, json!([family(1, &["share"])])))),
            ("several families", both(none(), responses(5, &[0.1, 0.4, 3.0], 0.2, several.clone()))),
            ("the largest order", both(none(), responses(12, &[0.5], 9.0, json!([family(2, &["mean", "place"])])))),
            ("memories alone", both(silent(), summary(12, &[0.3], true, false))),
            ("moments alone", both(silent(), summary(1, &[0.3, 0.5], false, true))),
            (
                "groups without spans",
                both(summary(2, &[2.0], true, true), responses(3, &[], 0.1, json!([family(2, &["share"])]))),
            ),
        ] {
            let name = format!("reservoir, {name}, {width} channels");
            all.push(sample(name, numbers(width, usize::from(width == 3)), then(vec![layer])));
        }
    }
    all
}

pub(crate) fn memories() -> Vec<Sample> {
    let memory =
        |order: usize, spans: &[f64], values: bool| json!({"layer": "memory", "order": order, "spans": spans, "values": values});
    vec![
        sample("memory of one channel", numbers(1, 0), json!([memory(1, &[0.5], false)])),
        sample("memory of 17 channels", numbers(17, 1), json!([memory(3, &[2.0, 0.4, 9.0], true)])),
        sample("memory and its readout", numbers(3, 2), json!([memory(12, &[1.0, 3.0], false), linear(2)])),
        sample(
            "memory with turns",
            numbers(2, 1),
            json!([{"layer": "memory", "order": 2, "spans": [1.0], "turns": [[0.2, 3.0], [1.0, 0.0]], "values": true}, linear(2)]),
        ),
        sample("random features", numbers(3, 0), json!([{"layer": "random-features", "count": 5}, linear(2)])),
        sample(
            "memory and random features",
            numbers(2, 1),
            json!([memory(2, &[1.0], true), {"layer": "standardise"}, {"layer": "random-features", "count": 1}]),
        ),
        sample(
            "memory of windows",
            numbers(2, 0),
            json!([log(3, 2, "lyndon"), memory(2, &[1.0], true), pool("last"), linear(2)]),
        ),
    ]
}
