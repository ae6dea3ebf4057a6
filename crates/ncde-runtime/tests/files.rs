//! What is said of a directory that is not a whole model.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod common;

use std::path::Path;

use common::{all, spec, weights, write};
use ncde_runtime::{Model, SPEC, WEIGHTS};

/// A good model, then what `spoil` does to it; the message.
fn message(spoil: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(all().remove(1));
    write(folder.path(), spec.clone(), &weights(&spec));
    Model::load(folder.path()).unwrap();
    spoil(folder.path());
    Model::load(folder.path()).unwrap_err().to_string()
}

fn edit(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join(SPEC);
    let mut value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn damaged_models_are_told_apart() {
    let wanted = |text: String, parts: &[&str]| assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    wanted(message(|f| std::fs::remove_file(f.join(SPEC)).unwrap()), &["model.json", "No such file"]);
    wanted(message(|f| std::fs::remove_file(f.join(WEIGHTS)).unwrap()), &["model.safetensors", "No such file"]);
    let truncated = |f: &Path| {
        let bytes = std::fs::read(f.join(WEIGHTS)).unwrap();
        std::fs::write(f.join(WEIGHTS), &bytes[..bytes.len() / 2]).unwrap();
    };
    wanted(message(truncated), &["bytes, but `model.json` says", "copy the model again"]);
    let flipped = |f: &Path| {
        let mut bytes = std::fs::read(f.join(WEIGHTS)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(f.join(WEIGHTS), bytes).unwrap();
    };
    wanted(message(flipped), &["checksum"]);
    wanted(message(|f| std::fs::write(f.join(SPEC), "{").unwrap()), &["model.json", "not the description of a model"]);
    wanted(message(|f| std::fs::write(f.join(SPEC), "[1]").unwrap()), &["not the description of a model"]);
    let newer = |f: &Path| {
        edit(f, |spec| {
            spec["format"] = 99.into();
            spec["ncde"] = "7.1.0".into();
            spec["what"] = "ever".into();
        });
    };
    wanted(message(newer), &["format 99", "up to 1", "use ncde 7.1.0 or later"]);
    wanted(message(|f| edit(f, |spec| spec["model"]["hidden"] = 12.into())), &["weight `a` has shape", "do not belong together"]);
    wanted(message(|f| edit(f, |spec| spec["model"]["window"] = 0.into())), &["window"]);
    wanted(message(|f| edit(f, |spec| spec["model"]["name"] = "other".into())), &["unknown variant `other`"]);
    wanted(message(|f| edit(f, |spec| spec["extra"] = 1.into())), &["unknown field `extra`"]);
    wanted(message(|f| edit(f, |spec| spec["statics"] = Vec::<String>::new().into())), &["1 static covariates, but there are 0"]);
}

#[test]
fn weights_must_be_finite_and_all_of_them_known() {
    let spec = spec(all().remove(0));
    let load = |change: &dyn Fn(&mut Vec<ncde_runtime::Weight>)| {
        let folder = tempfile::tempdir().unwrap();
        let mut weights = weights(&spec);
        change(&mut weights);
        write(folder.path(), spec.clone(), &weights);
        Model::load(folder.path()).map(|_| ()).map_err(|e| e.to_string())
    };
    load(&|_| {}).unwrap();
    assert!(load(&|all| all[1].values[3] = f32::NAN).unwrap_err().contains("is NaN at place 3"));
    assert!(load(&|all| all[0].name = "shiftt".into()).unwrap_err().contains("weight `shift` is not in"));
    let extra = |all: &mut Vec<ncde_runtime::Weight>| {
        let mut more = all[0].clone();
        more.name = "more".into();
        all.push(more);
    };
    assert!(load(&extra).unwrap_err().contains("weight `more` is not one of the model's"));
}
