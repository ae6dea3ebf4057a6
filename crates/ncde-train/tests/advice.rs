//! Every `--set KEY=...` that a message or a page advises is a key.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};

use ncde_train::Config;

/// All files below a folder that end so.
fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.extension().is_some_and(|own| own == ending) {
            into.push(path);
        }
    }
}

/// What is said behind `--set` on lines that are about training: settings of `ncde experiment` are others.
fn advised(text: &str) -> Vec<String> {
    let of_training = |line: &&str| !line.contains("ncde experiment");
    let keys = text.lines().filter(of_training).flat_map(|line| line.split("--set ").skip(1));
    let key = |rest: &str| rest.split_once('=').map(|(key, _)| key.trim_matches('"').to_owned());
    keys.filter_map(key).filter(|key| key != "key" && key.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c))).collect()
}

#[test]
fn every_setting_that_is_advised_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md")];
    for member in ["ncde-train", "ncde-cli", "ncde-data", "ncde-report", "ncde-layers", "ncde-runtime"] {
        files(&root.join("crates").join(member).join("src"), "rs", &mut all);
    }
    let mut pages = Vec::new();
    files(&root.join("docs"), "md", &mut pages);
    // Notes keep what was true once; settings of experiments on words are others, and tested with them.
    let other = ["notes", "experiments.md"];
    all.extend(pages.into_iter().filter(|page| !page.iter().any(|part| other.iter().any(|name| part == *name))));
    let mut seen = 0;
    for file in all {
        for key in advised(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            let found = Config::full_key(&key);
            assert!(found.is_ok(), "`{}` advises `--set {key}=...`: {}", file.display(), found.unwrap_err());
        }
    }
    assert!(seen > 20, "{seen}");
}
