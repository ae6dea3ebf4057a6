//! `ncde experiment`: the list, a short experiment, going on, and what is refused.

use crate::common::Folder;

#[test]
fn the_list_says_what_each_needs() {
    let run = Folder::new().run("experiment");
    for name in [
        "a5",
        "a5-length",
        "formal",
        "signature-regression",
        "toy",
        "uea",
        "ppg",
        "lip",
        "scan-table",
        "log-ode-table",
        "step-table",
        "eigenworms",
    ] {
        assert!(run.ok().stdout.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} in {}", run.stdout);
    }
    assert_eq!(run.stdout.matches("needs: ").count(), 12);
    let lines = Folder::new().run("experiment --json");
    assert!(lines.ok().stdout.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn a_finished_run_is_not_done_again_and_more_can_be_added() {
    let folder = Folder::new();
    let command = "experiment lip --model depth-2 --out lip";
    let run = folder.run(&format!("{command} --seeds 7,"));
    assert!(run.ok().stdout.contains("| depth-2 |") && run.stdout.contains("**How it was done**"), "{}", run.stdout);
    let first = folder.read("lip/depth-2/sign/seed-7/result.json");
    assert!(String::from_utf8(folder.read("lip/report.html")).unwrap().contains("composition bound"));
    assert!(String::from_utf8(folder.read("lip/table.tex")).unwrap().contains("\\begin{tabular}{lc}"));
    // Not by accident.
    folder.run(&format!("{command} --seeds 7,")).failed(2, &["holds 1 of these 1 runs", "--resume"]);
    let more = folder.run(&format!("{command} --seeds 7,8 --resume --json"));
    assert!(
        more.ok().stderr.contains("seed 7 was finished before") && more.stderr.contains("seed 8 is finished"),
        "{}",
        more.stderr
    );
    assert_eq!(folder.read("lip/depth-2/sign/seed-7/result.json"), first);
    let lines: Vec<serde_json::Value> = more.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let norms: Vec<f64> =
        lines.iter().filter(|line| line["metric"] == "norm").map(|line| line["value"].as_f64().unwrap()).collect();
    assert_eq!(norms.len(), 3);
    assert!((norms[2] - 0.5 * (norms[0] + norms[1])).abs() < 1e-9 * norms[2], "{norms:?}");
}

#[test]
fn timings_come_from_the_bench() {
    let run = Folder::new().run("experiment log-ode-table --model diagonal --task windows-of-12 --out times");
    assert!(run.ok().stdout.contains("| diagonal |") && run.stdout.contains("33.0"), "{}", run.stdout);
    let run = Folder::new().run("experiment step-table --model diagonal --task SelfRegulationSCP1 --out steps");
    assert!(run.ok().stdout.contains("SelfRegulationSCP1") && run.stdout.contains("published 11 s"), "{}", run.stdout);
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let folder = Folder::new().with("file", "");
    folder.run("experiment a6").failed(2, &["there is no experiment `a6`", "`a5`"]);
    folder.run("experiment a5 --model blok").failed(2, &["has no model `blok`", "`block`"]);
    folder.run("experiment a5 --seeds x").failed(2, &["wanted a number of seeds"]);
    folder.run("experiment scan-table --device cuda").failed(2, &["--device cpu"]);
    folder.run("experiment a5 --out file").failed(2, &["is a file", "--out DIR"]);
    folder.run("experiment uea").failed(2, &["--data DIR", "timeseriesclassification.com"]);
}
