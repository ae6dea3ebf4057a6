//! Compositions of the layers of other models: recurrent cells, state-space models, attention, matrix-valued states.

use serde_json::{Value, json};

use crate::samples::{Sample, function, linear, log, norm, numbers, pool, sample, tokens, with};

/// All of them.
pub(crate) fn sequences() -> Vec<Sample> {
    [
        gated("lstm"),
        gated("gru"),
        fading(),
        state_spaces(),
        selective(),
        attention(),
        delta_nets(),
        mambas(),
        oscillators(),
        exponential(),
    ]
    .concat()
}

/// A layer with gates, whose only key is `hidden`.
fn gated(name: &str) -> Vec<Sample> {
    let layer = |hidden: usize| json!({"layer": name, "hidden": hidden});
    let stack = json!([
        {"layer": "embedding", "width": 3},
        {"layer": "residual", "layers": [layer(3)]},
        layer(4),
        pool("last"),
        linear(2)
    ]);
    vec![
        sample(name, numbers(3, 1), json!([layer(4)])),
        sample(format!("{name} of one state"), numbers(1, 0), json!([layer(1)])),
        sample(format!("{name} over windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer(3), linear(2)])),
        sample(format!("{name} stack"), tokens(5), stack),
    ]
}

/// Values that fade where they are missing, which counts say, or none is. Counts that stand still are beside no threshold.
fn fading() -> Vec<Sample> {
    let mut all = Vec::new();
    for more in [json!({}), json!({"counts": 3}), json!({"counts": 3, "gap": 0.4}), json!({"gap": 0.7})] {
        let layer = with(&json!({"layer": "gru-d", "hidden": 7, "values": [1, 3]}), more.clone());
        all.push(sample(format!("{layer}"), numbers(5, 1), json!([layer])));
        all.push(sample(format!("{layer}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
        if more.get("counts").is_none() {
            let layer = with(&layer, json!({"hidden": 4}));
            all.push(sample(format!("{layer}, stack"), tokens(5), residual_stack(&layer)));
        }
    }
    all
}

/// A stack on tokens with a layer that hands on as many numbers as it is given.
fn residual_stack(layer: &Value) -> Value {
    json!([
        {"layer": "embedding", "width": 4},
        {"layer": "residual", "layers": [norm(true), layer, function("silu"), linear(4)]},
        {"layer": "product", "layers": [[layer], [linear(4), function("tanh")]]},
        pool("last"),
        linear(2)
    ])
}

/// Diagonal states, all rows on shared ones or each number on its own, by rows and by time.
fn state_spaces() -> Vec<Sample> {
    let mut all = Vec::new();
    for rule in ["powers", "zero-order-hold", "bilinear"] {
        for more in [json!({}), json!({"per_channel": true}), json!({"gap": 0.7}), json!({"per_channel": true, "gap": 0.3})] {
            let layer = with(&json!({"layer": "state-space", "states": 3, "discretisation": rule}), more.clone());
            let name = format!("state-space {rule} {more}");
            all.push(sample(name.clone(), numbers(3, 1), json!([layer])));
            all.push(sample(format!("{name}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
            all.push(sample(format!("{name}, stack"), tokens(5), residual_stack(&layer)));
        }
        let one = json!({"layer": "state-space", "states": 1, "discretisation": rule});
        all.push(sample(format!("state-space {rule} of one state"), numbers(1, 0), json!([one])));
    }
    all
}

/// States that rows choose among, by rows and by time.
fn selective() -> Vec<Sample> {
    let mut all = Vec::new();
    for (states, more) in [(1, json!({})), (3, json!({})), (2, json!({"gap": 0.4})), (35, json!({"rank": 1}))] {
        let layer = with(&json!({"layer": "selective", "states": states, "rank": 2}), more.clone());
        let name = format!("selective of {states} states {more}");
        all.push(sample(name.clone(), numbers(3, 1), json!([layer])));
        all.push(sample(format!("{name}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
        all.push(sample(format!("{name}, stack"), tokens(5), residual_stack(&layer)));
    }
    all
}

/// Matrix-valued states: what is taken away, forgotten and gated, one factor a row or several.
fn delta_nets() -> Vec<Sample> {
    let mut all = Vec::new();
    for (heads, key, value, more) in [
        (1, 5, 6, json!({})),
        (2, 6, 5, json!({"convolution": 1})),
        (2, 5, 5, json!({"negative": true, "convolution": 3})),
        (2, 6, 5, json!({"decay": true, "gate": true})),
        (2, 5, 6, json!({"decay": true, "gate": true, "negative": true, "products": 2})),
        (2, 5, 6, json!({"products": 2, "convolution": 2})),
        (2, 5, 6, json!({"sum": true})),
        (2, 6, 5, json!({"sum": true, "gate": true})),
    ] {
        let layer = with(&json!({"layer": "delta-net", "heads": heads, "key": key, "value": value}), more.clone());
        let name = format!("delta-net of {heads} heads, {key} by {value}, {more}");
        // Keys far from 0: near it their direction says nothing but rounding.
        all.push(sample(name.clone(), numbers(3, 1), json!([linear(6), norm(true), layer])));
        let windows = json!([log(3, 2, "lyndon"), linear(6), norm(true), layer, linear(2)]);
        all.push(sample(format!("{name}, windows"), numbers(2, 0), windows));
        all.push(sample(format!("{name}, stack"), tokens(5), residual_stack(&layer)));
    }
    all
}

/// Heads that fade, and turn, at rates of their own, by rows and by time: two at least, as the norm of one leaves nothing of its size. (With two heads of 2 and 3 states what the first values of steps
/// bring to values and to decays happens to cancel to a hundredth.)
fn mambas() -> Vec<Sample> {
    let mut all = Vec::new();
    for (heads, head, states, more) in
        [(2, 2, 4, json!({"convolution": 1})), (2, 3, 5, json!({"gap": 0.4, "convolution": 3})), (3, 1, 4, json!({}))]
    {
        let layer = json!({"heads": heads, "head": head, "states": states});
        let turning = with(&layer, json!({"layer": "mamba3", "angles": states / 2, "gap": more["gap"]}));
        for layer in [with(&with(&layer, json!({"layer": "mamba2"})), more), turning] {
            all.push(sample(format!("{layer}"), numbers(3, 1), json!([layer])));
            all.push(sample(format!("{layer}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
            all.push(sample(format!("{layer}, stack"), tokens(5), residual_stack(&layer)));
        }
    }
    all
}

/// Exponential gates over numbers and over matrices, and decays by keys.
fn exponential() -> Vec<Sample> {
    let mut all = Vec::new();
    for (layer, width) in [
        // Heads of a few numbers at least: the norm of one, or of two alike, says nothing but rounding.
        (json!({"layer": "slstm", "hidden": 8, "heads": 2}), 3),
        (json!({"layer": "slstm", "hidden": 4, "heads": 1, "convolution": 1}), 4),
        (json!({"layer": "mlstm", "heads": 2, "block": 2, "convolution": 3}), 8),
        (json!({"layer": "mlstm", "heads": 1, "block": 4, "convolution": 1}), 4),
        (json!({"layer": "rwkv", "heads": 2, "rank": 1}), 6),
        (json!({"layer": "rwkv", "heads": 1, "rank": 2}), 4),
    ] {
        all.push(sample(format!("{layer}"), numbers(width, 1), json!([layer])));
        let windows = json!([log(3, 2, "lyndon"), linear(width), norm(true), layer, linear(2)]);
        all.push(sample(format!("{layer}, windows"), numbers(2, 0), windows));
        if width == 4 && layer["layer"] != "rwkv" {
            all.push(sample(format!("{layer}, stack"), tokens(5), residual_stack(&layer)));
        }
    }
    // A new memory of rwkv says little, which a skip connection beside it would drown: a norm makes it as large as rows are.
    let layer = json!({"layer": "rwkv", "heads": 1, "rank": 2});
    let product = json!({"layer": "product", "layers": [[layer, norm(true)], [linear(4), function("tanh")]]});
    let stack = json!([{"layer": "embedding", "width": 4}, layer, norm(true), product, pool("last"), linear(2)]);
    all.push(sample(format!("{layer}, stack"), tokens(5), stack));
    all
}

/// Driven oscillators, by rows and by time.
fn oscillators() -> Vec<Sample> {
    let mut all = Vec::new();
    for (states, scheme, more) in [
        (3, "implicit", json!({})),
        (2, "implicit", json!({"gap": 0.4})),
        (3, "explicit", json!({})),
        (2, "damped", json!({})),
        (4, "damped", json!({})),
    ] {
        let layer = with(&json!({"layer": "oscillators", "states": states, "scheme": scheme}), more);
        all.push(sample(format!("{layer}"), numbers(3, 1), json!([layer])));
        all.push(sample(format!("{layer}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
        all.push(sample(format!("{layer}, stack"), tokens(5), residual_stack(&layer)));
    }
    all
}

/// Contexts below and above the lengths of series.
fn attention() -> Vec<Sample> {
    let mut all = Vec::new();
    for (heads, head, context) in [(1, 2, 1), (2, 4, 3), (3, 2, 100)] {
        let layer = json!({"layer": "attention", "heads": heads, "head": head, "context": context, "gap": 0.4});
        let name = format!("attention of {heads} heads to {context} rows");
        all.push(sample(name.clone(), numbers(3, 1), json!([layer])));
        all.push(sample(format!("{name}, windows"), numbers(2, 0), json!([log(3, 2, "lyndon"), layer, linear(2)])));
        all.push(sample(format!("{name}, stack"), tokens(5), residual_stack(&layer)));
    }
    all
}
