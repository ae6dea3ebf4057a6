//! Models that somebody has changed by hand, or that were damaged: an error, or a model that predicts, but never a panic and never more memory than
//! the files justify.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use ncde_reference::mutation::mutants;
use ncde_runtime::{Error, Model, ModelSpec, SPEC, Series, WEIGHTS};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

/// The directories of saved models.
fn fixtures() -> Vec<PathBuf> {
    fn visit(folder: &Path, all: &mut Vec<PathBuf>) {
        if folder.join(SPEC).exists() && folder.join(WEIGHTS).exists() {
            all.push(folder.into());
        }
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, all);
            }
        }
    }
    let mut all = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut all);
    all.sort();
    assert!(all.len() >= 10, "{all:?}");
    all
}

/// Every place of a value.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| places(item, &format!("{here}/{i}"), all)),
        Value::Object(map) => map.iter().for_each(|(key, item)| places(item, &format!("{here}/{key}"), all)),
        _ => {}
    }
}

/// What may stand anywhere.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u64..40).prop_map(Value::from),
        prop_oneof![Just(1_u64 << 20), Just(1_000_000_000), Just(1 << 32), Just(1 << 62), Just(u64::MAX)].prop_map(Value::from),
        (-3_i64..0).prop_map(Value::from),
        prop_oneof![Just(0.0), Just(1e-320), Just(1e300), Just(-1e300), Just(0.5), Just(f64::MAX)].prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        (0_usize..5, 0_u64..9).prop_map(|(count, x)| Value::from(vec![x; count])),
    ]
}

/// One change of a description.
#[derive(Debug, Clone)]
enum Change {
    Replace(Value),
    Remove,
    Twice,
    Extra,
    Scale(u64),
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let kind = prop_oneof![
        4 => anything().prop_map(Change::Replace),
        1 => Just(Change::Remove),
        1 => Just(Change::Twice),
        1 => Just(Change::Extra),
        3 => prop_oneof![Just(2_u64), Just(1000), Just(1 << 20), Just(1 << 40)].prop_map(Change::Scale),
    ];
    (any::<prop::sample::Index>(), kind)
}

fn apply(spec: &mut Value, place: &str, change: &Change) {
    match change {
        Change::Replace(value) => *spec.pointer_mut(place).unwrap() = value.clone(),
        Change::Scale(factor) => {
            let value = spec.pointer_mut(place).unwrap();
            if let Some(x) = value.as_u64() {
                *value = x.max(1).saturating_mul(*factor).into();
            }
        }
        Change::Remove | Change::Twice | Change::Extra => {
            let Some((parent, key)) = place.rsplit_once('/') else { return };
            match spec.pointer_mut(parent).unwrap() {
                Value::Array(items) => {
                    let i: usize = key.parse().unwrap();
                    match change {
                        Change::Remove => drop(items.remove(i)),
                        _ => items.insert(i, items[i].clone()),
                    }
                }
                Value::Object(map) => match change {
                    Change::Remove => drop(map.remove(key)),
                    _ => drop(map.insert("extra".into(), Value::Object(Map::new()))),
                },
                _ => {}
            }
        }
    }
}

/// Loads what was made of a fixture, and predicts if that succeeds; the files are those of one test.
fn take(spec: &[u8], weights: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(SPEC), spec).unwrap();
    std::fs::write(folder.path().join(WEIGHTS), weights).unwrap();
    let begun = Instant::now();
    if let Ok(model) = Model::load(folder.path()) {
        let (channels, statics) = (model.spec().channels.len(), model.spec().statics.len());
        if let Ok(mut series) = model.start(&vec![0.5; statics]) {
            for t in 0..4 {
                let _ = model.push(&mut series, f64::from(t), &vec![f64::from(t % 2); channels]);
                let _ = model.predict(&series);
            }
        }
    } else {
        let message = Model::load(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(!message.contains('\n') && message.len() < 2000, "{message}");
    }
    assert!(begun.elapsed().as_secs() < 20, "{}", String::from_utf8_lossy(spec));
}

/// The most memory that this process ever asked for, in bytes; nothing where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?)
}

/// The weights with a checksum that says they are whole, whatever they are.
fn believed(mut spec: Value, weights: &[u8]) -> Vec<u8> {
    if let Some(own) = spec.get_mut("weights").filter(|own| own.is_object()) {
        *own = json!({"bytes": weights.len(), "crc32": crc32fast::hash(weights)});
    }
    spec.to_string().into_bytes()
}

/// Runs a test on 400 changes, or for as many seconds as `FUZZ_SECONDS` asks for.
fn run<S: Strategy>(changes: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seconds: Option<f64> = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let begun = Instant::now();
    loop {
        let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
        TestRunner::new(config).run(changes, &test).unwrap();
        if seconds.is_none_or(|seconds| begun.elapsed().as_secs_f64() > seconds) {
            return;
        }
    }
}

/// One test, so that what is measured is of these models alone.
#[test]
fn changed_models_are_refused_or_predict() {
    let fixtures = fixtures();
    let read = |at: &prop::sample::Index| {
        let folder = at.get(&fixtures);
        let spec: Value = serde_json::from_slice(&std::fs::read(folder.join(SPEC)).unwrap()).unwrap();
        (spec, std::fs::read(folder.join(WEIGHTS)).unwrap())
    };
    let before = peak();
    // Values of the description.
    let changes = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..3));
    run(&changes, |(at, changes)| {
        let (mut spec, weights) = read(&at);
        for (place, change) in &changes {
            let mut all = Vec::new();
            places(&spec, "", &mut all);
            apply(&mut spec, place.get(&all).as_str(), change);
        }
        take(spec.to_string().as_bytes(), &weights);
        Ok(())
    });
    // Bytes of the description, and of the weights as if they were whole.
    let bytes =
        (any::<prop::sample::Index>(), any::<bool>(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6));
    run(&bytes, |(at, in_weights, flips)| {
        let (spec, mut weights) = read(&at);
        let mut text = spec.to_string().into_bytes();
        let own = if in_weights { &mut weights } else { &mut text };
        for (place, byte) in &flips {
            // Mostly in the header, where names and shapes are.
            let length = if in_weights { own.len().min(600) } else { own.len() };
            own[place.index(length)] = *byte;
        }
        take(&if in_weights { believed(spec, &weights) } else { text }, &weights);
        Ok(())
    });
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before < 1 << 30, "{} MiB were asked for", (after - before) >> 20);
    }
}

/// Counts in a saved series that lie beyond everything.
#[test]
fn counts_of_a_saved_series_are_not_believed() {
    for folder in fixtures() {
        let model = Model::load(&folder).unwrap();
        let (channels, statics) = (model.spec().channels.len(), model.spec().statics.len());
        let mut series = model.start(&vec![0.5; statics]).unwrap();
        for t in 0..3 {
            model.push(&mut series, f64::from(t), &vec![f64::from(t % 2); channels]).unwrap();
        }
        let saved = serde_json::to_value(&series).unwrap();
        let mut huge = saved.clone();
        huge["track"]["observations"] = u64::MAX.into();
        let message = model.check(&serde_json::from_value(huge).unwrap()).unwrap_err().to_string();
        assert!(message.contains("observations; at most 9007199254740992 are possible"), "{message}");
        let numbers = saved["memory"]["wide"].as_array().map_or(0, Vec::len);
        for i in 0..numbers.min(12) {
            let mut changed = saved.clone();
            changed["memory"]["wide"][i] = json!(1e9);
            let mut changed: Series = serde_json::from_value(changed).unwrap();
            model.check(&changed).unwrap();
            let _ = model.predict(&changed);
            let _ = model.step(&mut changed, 10.0, &vec![0.25; channels]);
        }
    }
}

/// Saved series, as `ncde stream --state` keeps them: refused, or gone on with.
#[test]
fn changed_series_are_refused_or_go_on() {
    let models: Vec<Model> = fixtures().iter().map(|folder| Model::load(folder).unwrap()).collect();
    let mut seeds = Vec::new();
    for model in &models {
        let (channels, statics) = (model.spec().channels.len(), model.spec().statics.len());
        let mut series = model.start(&vec![0.5; statics]).unwrap();
        for t in 0..3 {
            model.push(&mut series, f64::from(t), &vec![f64::from(t % 2); channels]).unwrap();
        }
        seeds.push(serde_json::to_vec(&series).unwrap());
    }
    // The most of a state is numbers that are all alike: the small ones have more that matters.
    let own: Vec<usize> = seeds.iter().map(Vec::len).collect();
    seeds.retain(|seed| seed.len() <= 1 << 14);
    assert!(seeds.len() >= 3, "{own:?}");
    let (good, bad) = mutants(&seeds, 200, |text| {
        let Ok(series) = serde_json::from_slice::<Series>(text) else { return false };
        let mut taken = false;
        for model in &models {
            let mut series = series.clone();
            if let Err(error) = model.check(&series) {
                assert!(!error.to_string().contains('\n'));
                continue;
            }
            let values = vec![0.25; model.spec().channels.len()];
            let _ = model.predict(&series);
            for t in [series.time().unwrap_or(0.0) + 1.0, 1e6] {
                let _ = model.step(&mut series, t, &values);
            }
            taken = true;
        }
        taken
    });
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad states");
}

/// Sizes that no file of weights could go with: told in a moment, with the place.
#[test]
fn sizes_are_held_against_the_file_of_weights() {
    let told = |fixture: &str, place: &str, value: Value, parts: &[&str]| {
        let folder = fixtures().into_iter().find(|folder| folder.ends_with(fixture)).unwrap();
        let mut spec: Value = serde_json::from_slice(&std::fs::read(folder.join(SPEC)).unwrap()).unwrap();
        *spec.pointer_mut(place).unwrap_or_else(|| panic!("{fixture} has no {place}")) = value;
        let copy = tempfile::tempdir().unwrap();
        std::fs::write(copy.path().join(SPEC), spec.to_string()).unwrap();
        std::fs::copy(folder.join(WEIGHTS), copy.path().join(WEIGHTS)).unwrap();
        let message = Model::load(copy.path()).map(|_| ()).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    let find = |fixture: &str, layer: &str| -> String {
        let folder = fixtures().into_iter().find(|folder| folder.ends_with(fixture)).unwrap();
        let spec: Value = serde_json::from_slice(&std::fs::read(folder.join(SPEC)).unwrap()).unwrap();
        let mut all = Vec::new();
        places(&spec, "", &mut all);
        all.into_iter().find(|place| spec.pointer(&format!("{place}/layer")) == Some(&layer.into())).unwrap()
    };
    let belongs = &["weights", "model.safetensors", "do not belong together"];
    for hidden in [1_000_000_000_u64, 1 << 20] {
        told("slice", &format!("{}/hidden", find("slice", "linear-cde")), hidden.into(), belongs);
        told("log-ncde", &format!("{}/hidden", find("log-ncde", "neural-cde")), hidden.into(), belongs);
        told("slice", &format!("{}/outputs", find("slice", "linear")), hidden.into(), belongs);
    }
    let depth = format!("{}/form/depth", find("slice", "windows"));
    told("slice", &depth, 20.into(), &["(windows)", "coordinates", "lower the depth"]);
    told("slice", &depth, 1_000_000.into(), &["(windows)", "`depth` is 1000000; at most 32"]);
    // Fewer that are not there either are told by name and shape.
    told(
        "slice",
        &format!("{}/outputs", find("slice", "linear")),
        64.into(),
        &["weight `layers.", "has shape", "do not belong together"],
    );
    told(
        "ncde",
        &format!("{}/steps", find("ncde", "neural-cde")),
        (1 << 20).into(),
        &["(neural-cde)", "multiplications for a row", "8589934592"],
    );
    let families = format!("{}/responses/families/0/groups", find("reservoir", "reservoir"));
    told("reservoir", &families, (1_u64 << 11).into(), &["do not belong together"]);
}

/// A model of `channels` channels with these layers before its head.
fn described(channels: usize, layers: &[Value]) -> ModelSpec {
    let head = [json!({"layer": "pool", "over": "last"}), json!({"layer": "linear", "outputs": 2})];
    let spec = json!({
        "format": 2, "ncde": "0.1.0", "name": "layers", "weights": {"bytes": 0, "crc32": 0}, "statics": [],
        "channels": (0..channels).map(|i| format!("x{i}")).collect::<Vec<_>>(),
        "task": {"kind": "classification", "classes": ["a", "b"], "at": "end"},
        "preparation": {
            "channels": vec![json!({"shift": 0.0, "factor": 1.0}); channels], "statics": [], "time": null, "missing": {"kind": "forward"},
        },
        "layers": Value::from([layers, &head].concat()),
    });
    serde_json::from_value(spec).unwrap()
}

/// What is computed from the settings alone, whatever the file of weights holds: tables of brackets, steps of a solver, wide rows.
#[test]
fn memory_and_work_are_counted_before_anything_is_computed() {
    let windows = |form: Value| json!({"layer": "windows", "window": 4, "form": form});
    let log = |depth: usize, basis: &str| windows(json!({"kind": "log-signature", "depth": depth, "basis": basis}));
    let cde = |hidden: usize, structure: &str| {
        json!({
            "layer": "linear-cde", "hidden": hidden, "structure": {"kind": structure}, "drive": {"kind": "windows"}, "initial": "first",
        })
    };
    let neural = |kind: &str, steps: usize| {
        json!({
            "layer": "neural-cde", "kind": kind, "hidden": 4, "width": 4, "layers": 1, "activation": "silu", "before_last": "silu",
            "last": "tanh", "solver": "rk4", "steps": steps, "init": 1.0,
        })
    };
    let memory = json!({"layer": "memory", "order": 12, "spans": vec![1.0; 256], "values": false});
    let wide = json!({"layer": "memory", "order": 12, "spans": vec![1.0; 80], "values": false});
    let bytes = "bytes of memory, but a model has at most 1073741824";
    let work = "multiplications for a row, but a model has at most 8589934592";
    let weights = "weights, but a model has at most 268435456";
    let cases = [
        (5, vec![log(6, "lyndon"), cde(256, "dense")], "`layers.1 (linear-cde)`", bytes),
        (20, vec![log(5, "expanded"), cde(256, "walsh-hadamard")], "`layers.1 (linear-cde)`", work),
        (2, vec![windows(json!({"kind": "increments"})), cde(400, "dense")], "`layers.1 (linear-cde)`", bytes),
        (2, vec![log(21, "lyndon")], "`layers.0 (windows)`", bytes),
        (2, vec![windows(json!({"kind": "hermite"}))], "`layers.0 (windows)`", "has one step in each"),
        (3, vec![log(3, "lyndon"), neural("log-ncde", 1 << 20)], "`layers.1 (neural-cde)`", work),
        (3, vec![log(2, "lyndon"), neural("nrde", 1 << 20)], "`layers.1 (neural-cde)`", work),
        (1000, vec![json!({"layer": "parallel", "layers": vec![vec![memory]; 200]})], "`layers.0.layers.", bytes),
        (1000, vec![wide, json!({"layer": "random-features", "count": 1 << 20})], "`layers.1 (random-features)`", weights),
    ];
    for (channels, layers, place, told) in cases {
        let begun = Instant::now();
        let spec = described(channels, &layers);
        let errors = [spec.check().unwrap_err(), spec.all_weights().unwrap_err(), Model::drawn(spec, 0).map(|_| ()).unwrap_err()];
        for error in errors {
            let message = error.to_string();
            assert!(message.starts_with(place) && message.contains(told), "{message}");
            assert_eq!(matches!(error, Error::TooLarge { .. }), told.contains("a model has"), "{message}");
        }
        assert!(begun.elapsed().as_secs() < 5, "{place} {told}");
    }
}

#[test]
fn a_description_has_a_largest_size() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read(fixtures()[0].join(SPEC)).unwrap();
    let padded = [&text[..], &vec![b' '; (1 << 25) + 1 - text.len()]].concat();
    std::fs::write(folder.path().join(SPEC), &padded).unwrap();
    let from_file = Model::load(folder.path()).map(|_| ()).unwrap_err().to_string();
    let from_bytes = Model::from_bytes(&padded, &[]).map(|_| ()).unwrap_err().to_string();
    for message in [from_file, from_bytes] {
        assert!(message.contains("33554433 bytes; the description of a model has at most 33554432"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn only_plain_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join(SPEC)).unwrap();
    let message = Model::load(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("a plain file is wanted"), "{message}");
    let fixture = &fixtures()[0];
    std::fs::remove_file(folder.path().join(SPEC)).unwrap();
    std::fs::copy(fixture.join(SPEC), folder.path().join(SPEC)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join(WEIGHTS)).unwrap();
    let message = Model::load(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("a plain file is wanted"), "{message}");
}
