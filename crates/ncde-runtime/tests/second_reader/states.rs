//! Random layers that have states: linear and neural CDEs, permutations.

use serde_json::{Value, json};

use super::dice::Dice;
use super::draw::Given;

/// A linear CDE that rows drive.
pub(crate) fn driven(dice: &mut Dice, given: &Given, hidden: usize) -> Value {
    let drive = match dice.whole(0, 6) {
        0 => json!({"kind": "tokens"}),
        1 => json!({"kind": "time"}),
        2 => json!({"kind": "values"}),
        3 => json!({"kind": "increments"}),
        kind => json!({"kind": if kind == 4 { "values" } else { "increments" }, "time": dice.chance(0.8)}),
    };
    linear_cde(dice, given, hidden, &drive)
}

pub(crate) fn linear_cde(dice: &mut Dice, given: &Given, hidden: usize, drive: &Value) -> Value {
    let form = given.windows.clone().filter(|_| drive["kind"] == "windows").map(|(_, form)| form);
    // What suits windows: any structure at depth 1; blocks for brackets; all but diagonal for words; equal blocks for increments.
    let (closed, open) = match &form {
        Some(form) if form["kind"] == "increments" => (vec!["dense", "diagonal", "block"], vec![]),
        Some(form) if form["depth"] == 1 => {
            (vec!["dense", "diagonal", "block", "blocks", "diagonal-dense"], vec!["dplr", "sparse", "walsh-hadamard"])
        }
        Some(form) if form["basis"] == "expanded" => {
            (vec!["dense", "block", "blocks", "diagonal-dense"], vec!["dplr", "sparse", "walsh-hadamard"])
        }
        Some(_) => (vec!["dense", "diagonal", "block", "blocks", "diagonal-dense"], vec![]),
        None => (vec!["dense", "diagonal", "block", "blocks", "diagonal-dense"], vec!["dplr", "sparse", "walsh-hadamard"]),
    };
    let mut kind = if open.is_empty() || dice.chance(0.5) { dice.one_of(&closed) } else { dice.one_of(&open) };
    if kind == "walsh-hadamard" && !hidden.is_power_of_two() {
        kind = "dplr";
    }
    let mut structure = json!({"kind": kind});
    match kind {
        "block" => {
            let divisors: Vec<usize> = (1..=hidden).filter(|b| hidden.is_multiple_of(*b)).collect();
            structure["block"] = dice.one_of(&divisors).into();
        }
        "blocks" => structure["sizes"] = json!([1, hidden - 1]),
        "diagonal-dense" => structure["block"] = dice.whole(1, hidden).into(),
        "dplr" => structure["rank"] = dice.whole(1, hidden.min(3)).into(),
        "sparse" => structure["epsilon"] = dice.uniform().into(),
        "walsh-hadamard" if dice.chance(0.95) => structure["bound"] = dice.one_of(&["none", "tanh"]).into(),
        _ => {}
    }
    let looks_back = ["increments", "values", "time"].contains(&drive["kind"].as_str().unwrap_or(""));
    let mut layer = json!({
        "layer": "linear-cde", "hidden": hidden, "structure": structure, "drive": drive,
        "initial": dice.one_of(&["first", "learned", "one"]),
    });
    if dice.chance(0.7) {
        layer["input"] = dice.one_of(&["none", "path", "values"][..if looks_back { 3 } else { 2 }]).into();
    }
    if dice.chance(0.5) {
        layer["transition"] = dice.one_of(&["exp", "euler"]).into();
    }
    if dice.chance(0.5) {
        layer["scale"] = (0.3 + dice.uniform()).into();
    }
    if dice.chance(0.5) {
        layer["init"] = json!({"kind": "scaled", "deviation": 0.1 + 0.4 * dice.uniform()});
    }
    if ["diagonal", "block", "blocks", "diagonal-dense", "dplr"].contains(&kind) && dice.chance(0.2) {
        layer["forget"] = json!({"octaves": 1.0});
    }
    let blocks = ["dense", "diagonal", "block", "blocks", "diagonal-dense"].contains(&kind);
    let timed = match layer["drive"]["kind"].as_str() {
        Some("windows") => given.windows.as_ref().is_some_and(|(_, form)| form["kind"] == "log-signature" && form["depth"] == 1),
        Some("tokens" | "time") => true,
        _ => layer["drive"]["time"] == true,
    };
    if blocks && timed && layer["transition"] != "euler" && dice.chance(0.5) {
        layer["stability"] = json!({"kind": "contractive", "rate": 0.1 + dice.uniform()});
    } else if blocks {
        layer["stability"] = json!({"kind": "free"});
    }
    layer
}

/// A permutation-diagonal layer that rows drive, and the numbers of its states.
pub(crate) fn permutation_diagonal(dice: &mut Dice) -> (Value, usize) {
    let (hidden, diagonal) = (dice.whole(1, 6), dice.one_of(&["one", "real", "complex"]));
    let mut layer = json!({
        "layer": "permutation-diagonal", "hidden": hidden, "matrices": dice.whole(1, 4), "initial": dice.one_of(&["first", "learned", "one"]),
    });
    if diagonal != "complex" || dice.chance(0.7) {
        layer["diagonal"] = diagonal.into();
    }
    for key in ["input", "time"] {
        if dice.chance(0.5) {
            layer[key] = dice.chance(0.7).into();
        }
    }
    if dice.chance(0.7) {
        layer["one_hot"] = dice.one_of(&["columns", "rows"]).into();
    }
    (layer, if diagonal == "complex" { 2 * hidden } else { hidden })
}

/// The last four are of two that read the path where an `ncde` does not know it; twice, as they are drawn for the others alone.
const SOLVERS: [&str; 10] = [
    "euler",
    "heun",
    "rk4",
    "midpoint",
    "ralston",
    "bogacki-shampine",
    "dormand-prince",
    "tsitouras",
    "dormand-prince",
    "tsitouras",
];

pub(crate) fn neural_cde(dice: &mut Dice, given: &Given, hidden: usize) -> Value {
    let form = given.windows.clone().map_or(Value::Null, |(_, form)| form);
    let kind = if form["kind"] == "hermite" { "ncde" } else { dice.one_of(&["nrde", "log-ncde"]) };
    let smooth = kind == "log-ncde" && form["depth"] != 1;
    let mut activation =
        || dice.one_of(&["silu", "tanh", "softplus", "shifted-softplus", "identity", "relu"][..if smooth { 5 } else { 6 }]);
    let (activation, before_last) = (activation(), activation());
    json!({
        "layer": "neural-cde", "kind": kind, "hidden": hidden, "width": dice.whole(1, 6), "layers": dice.whole(0, 3),
        "activation": activation, "before_last": before_last, "last": dice.one_of(&["tanh", "linear"]),
        "solver": dice.one_of(&SOLVERS[..if kind == "ncde" { 6 } else { 10 }]), "steps": dice.whole(1, 3), "init": 1.0,
    })
}
