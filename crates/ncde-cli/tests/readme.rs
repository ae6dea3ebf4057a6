//! The tour in the README runs as it stands there, and what it says of the result is so.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::process::Command;

use crate::common::Folder;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

/// The commands of the tour.
fn tour(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn the_tour_runs_as_it_stands() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ncde"), folder.path("bin/ncde")).unwrap();
    let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    let commands = tour(&readme());
    assert!(commands.len() >= 8, "{commands:?}");
    let mut said = Vec::new();
    for command in &commands {
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", command])
            .current_dir(folder.path(""))
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        said.push((command.as_str(), String::from_utf8(output.stdout).unwrap()));
    }
    let of = |verb: &str| &said.iter().find(|(command, _)| command.starts_with(verb)).unwrap().1;
    // Fifty walks that were put aside, with a matrix of who was taken for whom, and better than a guess.
    let eval = of("ncde eval");
    assert!(eval.contains("cases              50") && eval.contains("a row for each true class"), "{eval}");
    let accuracy: f64 = eval.lines().find_map(|line| line.strip_prefix("accuracy ")).unwrap().trim().parse().unwrap();
    assert!(accuracy > 0.7, "{eval}");
    assert_eq!(crate::common::parse_csv(&String::from_utf8(folder.read("predictions.csv")).unwrap()).len(), 51);
    assert!(of("ncde train").contains("majority class"), "{}", of("ncde train"));
    assert!(of("ncde inspect").contains("says which of 3 classes"), "{}", of("ncde inspect"));
}

#[test]
fn the_first_screens_have_what_they_should() {
    let text = readme();
    assert!(text.lines().count() <= 80, "two screens, not {} lines", text.lines().count());
    for command in ["\n    cargo run --release -p ncde-cli -- train\n", "\n    cargo test --workspace\n"] {
        assert!(text.contains(command), "{command}");
    }
    // Every file that is linked to is there, and the picture is small.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let links: Vec<&str> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    for link in links.iter().filter(|link| !link.starts_with("http")) {
        assert!(root.join(link).exists(), "{link}");
    }
    let picture = std::fs::metadata(root.join("docs/report.png")).unwrap().len();
    assert!(picture < 150_000, "{picture}");
}
