//! What is said of a directory that is not a whole model.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod common;

use std::path::Path;

use common::{all, slice, weights, windows, write};
use ncde_runtime::{Model, NamedWeight, SPEC, WEIGHTS};
use serde_json::{Value, json};

/// A good model, then what `spoil` does to it; the message.
fn message(spoil: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let spec = slice();
    write(folder.path(), spec.clone(), &weights(&spec));
    Model::load(folder.path()).unwrap();
    spoil(folder.path());
    let message = Model::load(folder.path()).map(|_| "a model").unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

fn edit(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join(SPEC);
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// The message of a good model whose description is changed like this.
fn edited(change: impl FnOnce(&mut Value)) -> String {
    message(|folder| edit(folder, change))
}

fn wanted(text: &str, parts: &[&str]) {
    assert!(parts.iter().all(|part| text.contains(part)), "{text}\nhas not all of {parts:?}");
}

#[test]
fn damaged_files_are_told_apart() {
    wanted(&message(|f| std::fs::remove_file(f.join(SPEC)).unwrap()), &["model.json", "No such file"]);
    wanted(&message(|f| std::fs::remove_file(f.join(WEIGHTS)).unwrap()), &["model.safetensors", "No such file"]);
    let truncated = |f: &Path| {
        let bytes = std::fs::read(f.join(WEIGHTS)).unwrap();
        std::fs::write(f.join(WEIGHTS), &bytes[..bytes.len() / 2]).unwrap();
    };
    wanted(&message(truncated), &["bytes, but `model.json` says", "copy the model again"]);
    let flipped = |f: &Path| {
        let mut bytes = std::fs::read(f.join(WEIGHTS)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(f.join(WEIGHTS), bytes).unwrap();
    };
    wanted(&message(flipped), &["checksum"]);
    let garbage = |f: &Path| {
        std::fs::write(f.join(WEIGHTS), "no").unwrap();
        edit(f, |spec| spec["weights"] = json!({"bytes": 2, "crc32": crc32fast::hash(b"no")}));
    };
    wanted(&message(garbage), &["not a safetensors file"]);
    wanted(&message(|f| std::fs::write(f.join(SPEC), "{").unwrap()), &["model.json", "not the description of a model"]);
    wanted(&message(|f| std::fs::write(f.join(SPEC), "[1]").unwrap()), &["not the description of a model"]);
    wanted(&message(|f| std::fs::write(f.join(SPEC), [0xff, 0xfe]).unwrap()), &["model.json"]);
}

#[test]
fn the_format_is_looked_at_first() {
    let newer = |spec: &mut Value| {
        spec["format"] = 99.into();
        spec["ncde"] = "7.1.0".into();
        spec["what"] = "ever".into();
    };
    let told = ["has format 99 (written by ncde 7.1.0), but this version reads format 2; use that version or a later one"];
    wanted(&edited(newer), &told);
    wanted(&edited(|spec| spec["format"] = "2".into()), &["not the description of a model", "invalid type"]);
    wanted(&edited(|spec| drop(spec.as_object_mut().unwrap().remove("format"))), &["missing field `format`"]);
}

#[test]
fn unknown_keys_are_refused_everywhere() {
    let places = [
        "",
        "/weights",
        "/task",
        "/preparation",
        "/preparation/channels/0",
        "/preparation/time",
        "/preparation/missing",
        "/layers/0",
        "/layers/0/form",
        "/layers/1",
        "/layers/1/layers/0",
        "/layers/1/layers/0/structure",
        "/layers/1/layers/0/drive",
        "/layers/1/layers/0/init",
        "/layers/1/layers/1",
        "/layers/2",
        "/layers/3",
        "/layers/4",
    ];
    for place in places {
        let text = edited(|spec| spec.pointer_mut(place).unwrap()["extra"] = 1.into());
        wanted(&text, &["model.json", "unknown field `extra`"]);
    }
    // Variants without keys of their own, and what the model above does not have.
    let flow = |change: &dyn Fn(&mut Value)| edited(|spec| change(&mut spec["layers"][1]["layers"][0]));
    let bare = [
        flow(&|flow| flow["structure"] = json!({"kind": "dense", "block": 4})),
        flow(&|flow| flow["structure"] = json!({"kind": "walsh-hadamard", "extra": 4})),
        flow(&|flow| flow["drive"] = json!({"kind": "increments", "times": true})),
        flow(&|flow| flow["init"] = json!({"kind": "maximally-expressive", "deviation": 1.0})),
        flow(&|flow| flow["forget"] = json!({"octaves": 1.0, "extra": 1})),
        edited(|spec| spec["preparation"]["missing"] = json!({"kind": "forward", "factors": [1.0, 1.0]})),
        edited(|spec| spec["layers"][0]["form"] = json!({"kind": "increments", "depth": 2})),
        edited(|spec| spec["layers"][0]["form"] = json!({"kind": "hermite", "depth": 2})),
        edited(|spec| spec["task"] = json!({"kind": "forecast", "horizon": 1, "at": "steps"})),
        edited(|spec| spec["layers"][3] = json!({"layer": "standardise", "width": 5})),
        edited(|spec| spec["layers"][3] = json!({"layer": "dropout", "rate": 0.1, "seed": 5})),
        edited(|spec| spec["layers"][3] = json!({"layer": "residual", "layers": [], "extra": 5})),
    ];
    bare.iter().for_each(|text| wanted(text, &["model.json", "unknown field"]));
    let twice = |f: &Path| {
        let text = std::fs::read_to_string(f.join(SPEC)).unwrap();
        std::fs::write(f.join(SPEC), text.replace("\"block\": 4", "\"block\": 4, \"block\": 2")).unwrap();
    };
    wanted(&message(twice), &["model.json", "duplicate field `block`"]);
}

#[test]
fn unknown_names_and_other_types_are_refused() {
    let list = |place: &str, list: Value| edited(|spec| *spec.pointer_mut(place).unwrap() = list);
    wanted(&list("/preparation/time", json!([0.0, 0.3])), &["`preparation/time` is a list or a value, but an object is wanted"]);
    wanted(&list("/layers/5", json!(["linear", 3])), &["`layers/5` is a list or a value, but an object is wanted"]);
    wanted(&list("", json!([2, "0.1.0"])), &["not the description of a model: it is a list or a value"]);
    wanted(&edited(|spec| spec["layers"][3]["layer"] = "other".into()), &["unknown variant `other`", "linear-cde"]);
    wanted(&edited(|spec| spec["layers"][3]["function"] = "gelu".into()), &["unknown variant `gelu`", "silu"]);
    wanted(
        &edited(|spec| spec["layers"][1]["layers"][0]["structure"]["kind"] = "full".into()),
        &["unknown variant `full`", "dense"],
    );
    wanted(&edited(|spec| spec["layers"][0]["form"]["basis"] = "words".into()), &["unknown variant `words`", "lyndon"]);
    wanted(&edited(|spec| spec["preparation"]["missing"]["kind"] = "linear".into()), &["unknown variant `linear`"]);
}

#[test]
fn channels_statics_and_scalings_belong_together() {
    wanted(&edited(|spec| spec["statics"] = json!([])), &["scalings of 1 static covariates, but there are 0"]);
    wanted(&edited(|spec| spec["channels"] = json!(["x"])), &["scalings of 2 channels, but there are 1"]);
    wanted(&edited(|spec| spec["channels"] = json!(["x", "x"])), &["two channels are called `x`"]);
    let twice = |spec: &mut Value| {
        spec["statics"] = json!(["age", "age"]);
        spec["preparation"]["statics"] = json!([{"shift": 0.0, "factor": 1.0}, {"shift": 0.0, "factor": 1.0}]);
    };
    wanted(&edited(twice), &["two static covariates are called `age`"]);
    wanted(&edited(|spec| spec["task"]["classes"] = json!(["a", "b", "a"])), &["two classes are called `a`"]);
    wanted(
        &edited(|spec| spec["preparation"]["missing"]["factors"] = json!([0.1])),
        &["1 factors of counts, but there are 2 channels"],
    );
    let flat = |place: &str| edited(|spec| spec.pointer_mut(place).unwrap()["factor"] = 0.0.into());
    for place in ["/preparation/channels/1", "/preparation/statics/0", "/preparation/time"] {
        wanted(&flat(place), &["a scaling with the factor 0"]);
    }
    let scaling = json!({"shift": 1.0, "factor": 0.0});
    let task = json!({"kind": "regression", "target": "z", "at": "end", "scaling": scaling});
    wanted(&edited(|spec| spec["task"] = task), &["a scaling with the factor 0"]);
    let forecasts = [
        (json!({"horizon": 0}), "a horizon of 0"),
        (json!({"horizon": 2, "from": 0}), "a horizon of 0"),
        (json!({"horizon": 2, "from": 3}), "horizons from 3 to 2"),
        (json!({"horizon": 2, "step": 0.0}), "forecasts in steps of 0"),
        (json!({"horizon": 2, "grid": true}), "a `grid` without a `step`"),
        (json!({"horizon": 2, "intervals": {"level": 1.0, "widths": [[1.0, 1.0]]}}), "intervals of level 1"),
        (json!({"horizon": 2, "intervals": {"level": 0.9, "widths": [[1.0, 1.0], [1.0, 1.0]]}}), "not 1 lists of 2"),
        (json!({"horizon": 2, "from": 1, "intervals": {"level": 0.9, "widths": [[1.0], [1.0, 1.0]]}}), "not 2 lists of 2"),
        (json!({"horizon": 2, "intervals": {"level": 0.9, "widths": [[1.0, -1.0]]}}), "an interval of width -1"),
        (json!({"horizon": 2, "baseline": {"means": [0.0], "scales": [1.0, 1.0]}}), "1 means and 2 scales"),
        (json!({"horizon": 2, "baseline": {"period": 1, "means": [0.0, 0.0], "scales": [1.0, 1.0]}}), "a period of 1"),
        (json!({"horizon": u64::MAX, "from": 1}), "there can be no `pool`"),
    ];
    for (mut task, told) in forecasts {
        task["kind"] = "forecast".into();
        wanted(&edited(|spec| spec["task"] = task), &[told]);
    }
}

#[test]
fn tokens_are_one_number_as_it_is() {
    let tokens = |change: &dyn Fn(&mut Value)| {
        edited(|spec| {
            spec["channels"] = json!(["token"]);
            spec["vocabulary"] = json!(["a", "b"]);
            spec["preparation"]["channels"] = json!([{"shift": 0.0, "factor": 1.0}]);
            spec["preparation"]["time"] = Value::Null;
            spec["preparation"]["missing"] = json!({"kind": "refuse"});
            change(spec);
        })
    };
    wanted(&tokens(&|_| {}), &["layers.0 (windows)", "it is given tokens; put an `embedding` before it"]);
    wanted(&tokens(&|spec| spec["vocabulary"] = json!(["a", "a"])), &["two tokens are called `a`"]);
    wanted(&tokens(&|spec| spec["vocabulary"] = json!([])), &["a vocabulary"]);
    wanted(&tokens(&|spec| spec["preparation"]["channels"][0]["factor"] = 2.0.into()), &["tokens are numbers as they are"]);
    wanted(
        &tokens(&|spec| spec["preparation"]["time"] = json!({"shift": 0.0, "factor": 1.0})),
        &["knots of 2 numbers; tokens are one"],
    );
    wanted(
        &edited(|spec| spec["layers"][0] = json!({"layer": "embedding", "width": 3})),
        &["layers.0 (embedding)", "it takes tokens"],
    );
}

#[test]
fn misplaced_layers_are_told_with_their_place() {
    let linear = || json!({"layer": "linear", "outputs": 4});
    let insert = |place: usize, layer: Value| edited(|spec| spec["layers"].as_array_mut().unwrap().insert(place, layer));
    wanted(&insert(5, windows(3, 2, "lyndon")), &["layers.5 (windows)", "it comes after `pool`"]);
    wanted(&insert(1, windows(3, 2, "lyndon")), &["layers.1 (windows)", "it is given windows already"]);
    wanted(&insert(5, json!({"layer": "pool", "over": "last"})), &["layers.5 (pool)", "it comes after `pool`"]);
    wanted(&insert(1, linear()), &["layers.2 (beside)", "put `windows` right before it"]);
    let inside = |layer: Value| edited(|spec| spec["layers"][1]["layers"].as_array_mut().unwrap().insert(0, layer));
    wanted(&inside(linear()), &["layers.1.layers.1 (linear-cde)", "it is driven by windows"]);
    let pooled =
        edited(|spec| spec["layers"][1]["layers"].as_array_mut().unwrap().push(json!({"layer": "pool", "over": "last"})));
    wanted(&pooled, &["layers.1 (beside)", "put `windows` and `pool` outside"]);
    wanted(&edited(|spec| spec["layers"][1]["layers"] = json!([])), &["layers.1 (beside)", "it has no layers inside"]);
    wanted(&edited(|spec| spec["layers"] = json!([])), &["no layers"]);
    let without_pool = edited(|spec| drop(spec["layers"].as_array_mut().unwrap().remove(4)));
    wanted(&without_pool, &["layers.4 (linear)", "a `pool` is needed before the end"]);
    wanted(&edited(|spec| spec["task"]["at"] = "steps".into()), &["layers.5 (linear)", "there can be no `pool`"]);
    let deep = json!({"layer": "residual", "layers": [{"layer": "residual", "layers": [{"layer": "linear", "outputs": 2}]}]});
    wanted(&insert(3, deep), &["layers.3.layers.0 (residual)", "2 numbers of 5"]);
    wanted(
        &edited(|spec| spec["layers"][0]["form"] = json!({"kind": "hermite"})),
        &["layers.0 (windows)", "`window` is 3; the form `hermite` has one step in each"],
    );
    wanted(
        &edited(|spec| spec["layers"][0]["form"]["basis"] = "hall".into()),
        &["layers.1.layers.0 (linear-cde)", "needs `lyndon`"],
    );
}

#[test]
fn widths_and_ranges_are_checked_with_the_place() {
    let flow = |change: &dyn Fn(&mut Value)| edited(|spec| change(&mut spec["layers"][1]["layers"][0]));
    let at = "layers.1.layers.0 (linear-cde)";
    wanted(
        &edited(|spec| spec["layers"][5]["outputs"] = 4.into()),
        &["layers.5 (linear)", "4 numbers come out, but the task needs 3"],
    );
    wanted(&edited(|spec| spec["layers"][5]["outputs"] = 0.into()), &["layers.5 (linear)", "`outputs` is missing or 0"]);
    wanted(&edited(|spec| spec["layers"][3]["function"] = "glu".into()), &["layers.3 (activation)", "they have 5 numbers"]);
    wanted(&edited(|spec| spec["layers"][1]["coordinates"] = 16.into()), &["layers.1 (beside)", "16, but a window has 15"]);
    wanted(
        &edited(|spec| spec["layers"][0]["window"] = 0.into()),
        &["layers.0 (windows)", "`window` is 0; at least 1 is needed"],
    );
    wanted(&edited(|spec| spec["layers"][0]["form"]["depth"] = 0.into()), &["depth"]);
    wanted(&edited(|spec| spec["layers"][3] = json!({"layer": "dropout", "rate": 1.0})), &["layers.3 (dropout)", "`rate` is 1"]);
    wanted(&flow(&|flow| flow["hidden"] = 0.into()), &[at, "`hidden` is 0"]);
    wanted(&flow(&|flow| flow["hidden"] = (-1).into()), &["invalid value"]);
    wanted(&flow(&|flow| flow["hidden"] = 10.into()), &[at, "blocks of 4 do not fill 10 states"]);
    wanted(&flow(&|flow| flow["scale"] = 0.0.into()), &[at, "`scale` is 0; it is a positive number"]);
    wanted(&flow(&|flow| flow["init"]["deviation"] = (-1.0).into()), &[at, "a deviation of -1"]);
    wanted(&flow(&|flow| flow["input"] = "values".into()), &[at, "the drive does not look at the row before"]);
    wanted(&flow(&|flow| flow["structure"] = json!({"kind": "blocks", "sizes": [3, 4]})), &[at, "blocks of 7 states in all"]);
    wanted(&flow(&|flow| flow["structure"] = json!({"kind": "sparse", "epsilon": 1.5})), &[at, "`epsilon` is 1.5"]);
    wanted(&flow(&|flow| flow["structure"] = json!({"kind": "dplr", "rank": 2})), &[at, "needs `expanded`"]);
    wanted(
        &flow(&|flow| flow["structure"] = json!({"kind": "diagonal-dense", "block": 9})),
        &[at, "a dense block of 9 in 8 states"],
    );
    let relu = json!({
        "layer": "neural-cde", "kind": "log-ncde", "hidden": 8, "width": 2, "layers": 1, "activation": "silu", "before_last": "relu",
        "last": "tanh", "solver": "heun", "steps": 1, "init": 1.0,
    });
    wanted(&flow(&|flow| *flow = relu.clone()), &["layers.1.layers.0 (neural-cde)", "`relu`, which has no derivative at 0"]);
    wanted(
        &edited(|spec| spec["layers"][2]["outputs"] = 12.into()),
        &["weight `layers.2.weight` has shape", "do not belong together"],
    );
}

#[test]
fn sizes_beyond_reason_are_refused_before_memory_is_asked_for() {
    let huge = 1_u64 << 62;
    let flow = |change: &dyn Fn(&mut Value)| edited(|spec| change(&mut spec["layers"][1]["layers"][0]));
    for kind in ["dense", "diagonal", "walsh-hadamard"] {
        flow(&|flow| (flow["hidden"], flow["structure"]) = (huge.into(), json!({"kind": kind})));
    }
    flow(&|flow| (flow["hidden"], flow["structure"]) = (huge.into(), json!({"kind": "sparse", "epsilon": 1.0})));
    flow(&|flow| (flow["hidden"], flow["structure"]) = (huge.into(), json!({"kind": "block", "block": 1})));
    flow(&|flow| flow["structure"] = json!({"kind": "blocks", "sizes": [huge, huge, huge, huge, 8]}));
    flow(&|flow| flow["structure"] = json!({"kind": "dplr", "rank": huge}));
    for setting in ["layers", "width", "hidden", "steps"] {
        let mut network = json!({
            "layer": "neural-cde", "kind": "nrde", "hidden": 8, "width": 2, "layers": 1, "activation": "silu", "before_last": "silu",
            "last": "tanh", "solver": "heun", "steps": 1, "init": 1.0,
        });
        network[setting] = huge.into();
        flow(&|flow| *flow = network.clone());
    }
    edited(|spec| spec["layers"][0]["form"]["depth"] = huge.into());
    edited(|spec| (spec["layers"][0]["window"], spec["layers"][0]["form"]) = (huge.into(), json!({"kind": "increments"})));
    edited(|spec| spec["layers"][2]["outputs"] = huge.into());
    edited(|spec| spec["layers"][0] = json!({"layer": "signature", "depth": huge}));
}

#[test]
fn a_reservoir_beyond_reason_is_refused_before_memory_is_asked_for() {
    let layer = || {
        json!({
            "layer": "reservoir", "horizon": 1.5,
            "responses": {"order": 6, "spans": [0.2], "delay": 0.3, "families": [{"groups": 2, "pools": ["share"]}]},
            "summary": {"order": 4, "spans": [0.5], "memories": true, "moments": true},
        })
    };
    let at = "layers.0 (reservoir)";
    let with = |place: &str, value: Value| {
        edited(|spec| {
            spec["layers"][0] = layer();
            *spec["layers"][0].pointer_mut(place).unwrap() = value;
        })
    };
    for (place, value, told) in [
        ("/horizon", json!(0), "`horizon` is 0; a positive time is needed"),
        ("/responses/order", json!(13), "`responses.order` is 13; it is from 1 to 12"),
        ("/summary/order", json!(u64::MAX), "it is from 1 to 12"),
        ("/responses/spans/0", json!(0.0), "spans are positive"),
        ("/summary/spans/0", json!(-1e-9), "spans are positive"),
        ("/summary/spans", json!(vec![1.0; 100_000]), "at most 256 are possible"),
        ("/responses/delay", json!(-1), "it is 0 or more"),
        ("/responses/families/0/groups", json!(u64::MAX), "too many families, groups"),
        ("/responses/families/0/groups", json!(1 << 20), "numbers are worked on"),
        ("/responses/families/0/pools", json!(vec!["share"; 8]), "ways of pooling"),
        ("/responses/families", json!(vec![json!({"groups": 1 << 20, "pools": ["share"]}); 256]), "numbers are worked on"),
        ("/responses/families", json!(vec![json!({"groups": 0, "pools": []}); 100_000]), "too many families"),
    ] {
        wanted(&with(place, value), &[at, told]);
    }
    for (place, value, told) in [
        ("/responses/spans/0", Value::Null, "invalid type: null"),
        ("/responses/families/0/pools", json!(["most"]), "unknown variant `most`"),
        ("/responses/families/0/groups", json!(-1), "invalid value"),
    ] {
        wanted(&with(place, value), &["not the description of a model", told]);
    }
    for place in ["", "/responses", "/summary", "/responses/families/0"] {
        let extra = edited(|spec| {
            spec["layers"][0] = layer();
            spec["layers"][0].pointer_mut(place).unwrap()["extra"] = 1.into();
        });
        wanted(&extra, &["unknown field `extra`"]);
    }
    // Not a number, and one beyond all numbers.
    for number in ["NaN", "1e999"] {
        let text = message(|folder| {
            edit(folder, |spec| spec["layers"][0] = layer());
            let text = std::fs::read_to_string(folder.join(SPEC)).unwrap();
            std::fs::write(folder.join(SPEC), text.replace("\"spans\":[0.5]", &format!("\"spans\":[{number}]"))).unwrap();
        });
        wanted(&text, &["not the description of a model"]);
    }
    // Rows so wide, without a weight, that memories of them would take gigabytes.
    let wide = edited(|spec| {
        spec["layers"] = json!([{"layer": "signature", "depth": 9}, layer(), {"layer": "pool", "over": "last"}, {"layer": "linear", "outputs": 3}]);
    });
    wanted(&wide, &["layers.1 (reservoir)", "numbers are worked on"]);
}

#[test]
fn weights_must_be_finite_and_all_of_them_known() {
    let spec = all().remove(0);
    let load = |change: &dyn Fn(&mut Vec<NamedWeight>)| {
        let folder = tempfile::tempdir().unwrap();
        let mut weights = weights(&spec);
        change(&mut weights);
        write(folder.path(), spec.clone(), &weights);
        Model::load(folder.path()).map(|_| ()).map_err(|e| e.to_string())
    };
    load(&|_| {}).unwrap();
    // Their order means nothing.
    load(&|all| all.reverse()).unwrap();
    wanted(&load(&|all| all[1].values[3] = f32::NAN).unwrap_err(), &["`layers.1.factor` is NaN at place 3"]);
    wanted(&load(&|all| all[0].name = "layers.1.shiftt".into()).unwrap_err(), &["weight `layers.1.shift` is not in"]);
    let extra = |all: &mut Vec<NamedWeight>| {
        let mut more = all[0].clone();
        more.name = "layers.9.more".into();
        all.push(more);
    };
    wanted(&load(&extra).unwrap_err(), &["weight `layers.9.more` is not one of the model's"]);
    wanted(&load(&|all| drop(all.pop())).unwrap_err(), &["weight `layers.3.bias` is not in", "do not belong together"]);
}

#[test]
fn weights_of_another_type_are_refused() {
    let half = |f: &Path| {
        let mut bytes = std::fs::read(f.join(WEIGHTS)).unwrap();
        let at = bytes.windows(3).position(|three| three == b"F32").unwrap();
        bytes[at..at + 3].copy_from_slice(b"I32");
        std::fs::write(f.join(WEIGHTS), &bytes).unwrap();
        edit(f, |spec| spec["weights"]["crc32"] = crc32fast::hash(&bytes).into());
    };
    wanted(&message(half), &["is of type I32, but f32 is wanted"]);
}

#[test]
fn masks_are_different_places_of_the_matrix() {
    let spec = all().remove(7);
    let mask = |change: &dyn Fn(&mut [f32])| {
        let folder = tempfile::tempdir().unwrap();
        let mut weights = weights(&spec);
        change(&mut weights.iter_mut().find(|weight| weight.name == "layers.1.mask").unwrap().values);
        write(folder.path(), spec.clone(), &weights);
        Model::load(folder.path()).map(|_| ()).map_err(|e| e.to_string())
    };
    mask(&|_| {}).unwrap();
    wanted(&mask(&|mask| mask[1] = mask[0]).unwrap_err(), &["layers.1 (linear-cde)", "listed twice"]);
    for place in [64.0, -1.0, 0.5] {
        wanted(&mask(&|mask| mask[1] = place).unwrap_err(), &["layers.1 (linear-cde)", "`mask` is", "8 x 8"]);
    }
}

/// As the specification has it: nothing inside `schema` has an effect on predictions.
#[test]
fn any_keys_are_taken_inside_the_schema_alone() {
    let folder = tempfile::tempdir().unwrap();
    let spec = slice();
    write(folder.path(), spec.clone(), &weights(&spec));
    let text = std::fs::read_to_string(folder.path().join(SPEC)).unwrap();
    let inside = text.replacen('{', r#"{"schema": {"what": 1, "what": {"ever": []}},"#, 1);
    std::fs::write(folder.path().join(SPEC), inside).unwrap();
    Model::load(folder.path()).unwrap();
    std::fs::write(folder.path().join(SPEC), text.replacen('{', r#"{"name": "twice","#, 1)).unwrap();
    let message = Model::load(folder.path()).map(|_| ()).unwrap_err().to_string();
    wanted(&message, &["duplicate field `name`"]);
}

#[test]
fn what_a_file_says_breaks_no_line_of_a_message() {
    let escape = "a\n\u{1b}[31m";
    let message = edited(|spec| spec["layers"][0]["layer"] = escape.into());
    wanted(&message, &[r"unknown variant `a\n\u{1b}[31m`"]);
    assert!(!message.chars().any(char::is_control));
    wanted(&edited(|spec| spec["channels"] = json!([escape, escape])), &[r"two channels are called `a\n\u{1b}[31m`"]);
}
