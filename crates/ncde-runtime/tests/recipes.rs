//! The pages tell the truth: what a recipe names is there, and every layer has what the recipe of layers asks for.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::PathBuf;

use ncde_runtime::LayerSpec;

fn root() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn every_layer_has_its_file_and_its_section() {
    let format = page("docs/model-format.md");
    for name in LayerSpec::NAMES {
        assert!(format.contains(&format!("\n### `{name}`\n")), "docs/model-format.md has no section of `{name}`");
        let file = format!("crates/ncde-runtime/src/layer/{}.rs", name.replace('-', "_"));
        assert!(root().join(&file).exists(), "`{name}` has no `{file}`");
    }
}

/// Paths in backquotes, below the root, `crates/` or a crate; as far as `NAME`, which stands for any.
#[test]
fn every_path_that_a_page_names_is_there() {
    let mut below = vec![root(), root().join("crates")];
    below.extend(std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()));
    let is_path =
        |span: &&str| (span.contains("/src/") || span.contains("tests/") || span.starts_with("docs/")) && !span.contains(' ');
    let mut seen = 0;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = page(name);
        for path in text.split('`').skip(1).step_by(2).filter(is_path) {
            let path = path.split("NAME").next().unwrap_or_default();
            assert!(below.iter().any(|folder| folder.join(path).exists()), "{name} names `{path}`, which is not there");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
