//! Random layers that remember rows: gated cells, state spaces, oscillators, attention, matrices.

use serde_json::{Value, json};

use super::dice::Dice;

/// A layer for rows one after the other, and how many numbers it hands on where it is given `width`.
pub(crate) fn remembering(dice: &mut Dice, width: usize) -> (Value, usize) {
    match dice.whole(0, 18) {
        0 | 1 => {
            let hidden = dice.whole(1, 6);
            (json!({"layer": dice.one_of(&["lstm", "gru"]), "hidden": hidden}), hidden)
        }
        2..=4 => (state_space(dice), width),
        5..=7 => (oscillators(dice), width),
        8 => {
            let mut layer = json!({"layer": "selective", "states": dice.whole(1, 5), "rank": dice.whole(1, 3)});
            gap(dice, &mut layer);
            (layer, width)
        }
        9 => {
            let (heads, head) = (dice.whole(1, 3), 2 * dice.whole(1, 3));
            let (context, gap) = (dice.whole(1, 6), 0.2 + dice.uniform());
            (json!({"layer": "attention", "heads": heads, "head": head, "context": context, "gap": gap}), width)
        }
        10 | 11 => {
            let heads = dice.whole(1, 3);
            let hidden = heads * dice.whole(1, 4);
            let mut layer = json!({"layer": "slstm", "hidden": hidden, "heads": heads});
            convolution(dice, &mut layer);
            (layer, hidden)
        }
        12 => (mlstm(dice, width), width),
        13 => {
            let layer = json!({"layer": "rwkv", "heads": divisor(dice, width), "rank": dice.whole(1, 3)});
            (layer, width)
        }
        14 | 15 => {
            let states = dice.whole(2, 5);
            let mut layer = json!({"heads": dice.whole(1, 3), "head": dice.whole(1, 3), "states": states});
            if dice.chance(0.5) {
                layer["layer"] = "mamba2".into();
                convolution(dice, &mut layer);
            } else {
                (layer["layer"], layer["angles"]) = ("mamba3".into(), dice.whole(1, states / 2).into());
            }
            gap(dice, &mut layer);
            (layer, width)
        }
        16 => gru_d(dice, width, false),
        _ => (delta_net(dice), width),
    }
}

/// Values that fade, some numbers of a row; counts are others. Where rows are computed, rounding decides which numbers have risen.
pub(crate) fn gru_d(dice: &mut Dice, width: usize, has_counts: bool) -> (Value, usize) {
    let (channels, hidden) = (dice.whole(1, width), dice.whole(1, 6));
    let from = dice.whole(0, width - channels);
    let mut layer = json!({"layer": "gru-d", "hidden": hidden, "values": [from, from + channels]});
    if has_counts {
        layer["counts"] = dice.whole(0, width - channels).into();
    } else if dice.chance(0.3) {
        layer["counts"] = Value::Null;
    }
    gap(dice, &mut layer);
    (layer, hidden)
}

/// How many rows a convolution sees, or nothing about it.
fn convolution(dice: &mut Dice, layer: &mut Value) {
    if dice.chance(0.7) {
        layer["convolution"] = dice.whole(1, 5).into();
    }
}

/// Rows are steps, or time is.
fn gap(dice: &mut Dice, layer: &mut Value) {
    match dice.whole(0, 3) {
        0 => layer["gap"] = Value::Null,
        1 | 2 => layer["gap"] = (0.3 + 2.0 * dice.uniform()).into(),
        _ => {}
    }
}

fn state_space(dice: &mut Dice) -> Value {
    let rule = dice.one_of(&["powers", "zero-order-hold", "bilinear"]);
    let mut layer = json!({"layer": "state-space", "states": dice.whole(1, 5), "discretisation": rule});
    if dice.chance(0.6) {
        layer["per_channel"] = dice.chance(0.7).into();
    }
    gap(dice, &mut layer);
    layer
}

fn oscillators(dice: &mut Dice) -> Value {
    let scheme = dice.one_of(&["implicit", "implicit", "explicit", "damped"]);
    let mut layer = json!({"layer": "oscillators", "states": dice.whole(1, 5), "scheme": scheme});
    if scheme == "implicit" {
        gap(dice, &mut layer);
    }
    layer
}

/// How many parts of one size a row has.
fn divisor(dice: &mut Dice, width: usize) -> usize {
    let divisors: Vec<usize> = (1..=width).filter(|size| width.is_multiple_of(*size)).collect();
    dice.one_of(&divisors)
}

fn mlstm(dice: &mut Dice, width: usize) -> Value {
    let (heads, block) = (divisor(dice, width), divisor(dice, width));
    let mut layer = json!({"layer": "mlstm", "heads": heads});
    if block != 4 || dice.chance(0.5) {
        layer["block"] = block.into();
    }
    convolution(dice, &mut layer);
    layer
}

fn delta_net(dice: &mut Dice) -> Value {
    let mut layer = json!({"layer": "delta-net", "heads": dice.whole(1, 3), "key": dice.whole(1, 4), "value": dice.whole(1, 4)});
    let sum = dice.chance(0.25);
    if !sum && dice.chance(0.5) {
        layer["products"] = dice.whole(1, 3).into();
    }
    convolution(dice, &mut layer);
    for setting in ["negative", "decay", "gate"] {
        if dice.chance(0.6) && !(sum && setting == "negative") {
            layer[setting] = dice.chance(0.8).into();
        }
    }
    if sum || dice.chance(0.3) {
        layer["sum"] = sum.into();
    }
    layer
}
