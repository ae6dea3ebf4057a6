//! Searches over settings, as a user does them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use crate::common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, Run, weights};
use serde_json::Value;

/// Seconds for a whole search.
const QUICK: &str = "--model slice --steps 20 --set evaluate_every=5 --set window=8 --set hidden=8";
/// Runs that can be caught at work.
const SLOW: &str = "--model slice --steps 150 --set evaluate_every=2 --set window=1";

fn lines(run: &Run) -> Vec<Value> {
    run.ok().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

/// What happened to a run, in order.
fn attempts(folder: &Folder, run: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path(&format!("{run}/attempts.jsonl"))).unwrap_or_default();
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned();
    text.lines().map(event).collect()
}

fn spawn(folder: &Folder, arguments: &str) -> Child {
    folder.command(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_grid_is_run_ranked_and_its_best_can_be_trained_again() {
    let folder = Folder::new();
    let run =
        folder.run(&format!("tune {QUICK} --vary rate=1e-4,3e-2,1e-2 --vary structure=block,diagonal --jobs 2 --out s --json"));
    let all = lines(&run);
    let (runs, trials) = (of(&all, "run"), of(&all, "trial"));
    assert_eq!((runs.len(), trials.len()), (6, 6));
    // Nobody looks at the test part but at the end, for the best.
    assert!(runs.iter().chain(&trials).all(|line| line.get("test").is_none()));
    let values: Vec<f64> = trials.iter().map(|trial| trial["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted(), "{values:?}");
    for trial in &trials {
        let own = runs.iter().find(|run| run["trial"] == trial["trial"]).unwrap();
        assert_eq!((&own["value"], &own["set"]), (&trial["value"], &trial["set"]));
    }
    let best = all.last().unwrap();
    assert_eq!((&best["event"], &best["value"], &best["trial"]), (&"best".into(), &trials[0]["value"], &trials[0]["trial"]));
    assert!(best["test"]["accuracy"]["mean"].as_f64().is_some());

    let name = format!("s/runs/{:03}-seed-0", best["trial"].as_u64().unwrap());
    folder.run("train --config s/best.toml --out again").ok();
    assert_eq!(weights(&folder, "again"), weights(&folder, &name));
    let table = String::from_utf8(folder.read("s/table.md")).unwrap();
    assert!(table.contains("| rank | trial | structure | rate") && table.contains("On the test part"), "{table}");
    assert!(folder.run("tune --collect s").ok().stdout.starts_with(&table));
    // A run is what `ncde train` makes of the command that it records.
    let record: Value = serde_json::from_slice(&folder.read(&format!("{name}/run.json"))).unwrap();
    assert!(record["command"].as_str().unwrap().starts_with("ncde train --config "), "{record}");
}

#[test]
fn nothing_is_done_twice_and_trials_can_be_added() {
    let folder = Folder::new();
    let search = |more: &str| folder.run(&format!("tune {QUICK} --set rate=0.01 --out s --json {more}"));
    search("--vary hidden=4,8").ok();
    search("--vary hidden=4,8").failed(2, &["holds a search", "--resume"]);
    let record = folder.read("s/runs/001-seed-0/run.json");
    // All that it does is in its directory.
    let again = lines(&folder.run("tune --resume s --json"));
    assert!(of(&again, "run").iter().all(|run| run["already"] == true) && again.len() == 5, "{again:?}");
    let more = lines(&search("--vary hidden=4,8,12 --seeds 2 --resume"));
    let done: Vec<bool> = of(&more, "run").iter().map(|run| run["already"].as_bool().unwrap()).collect();
    assert_eq!(done, [true, false, true, false, false, false]);
    assert_eq!(folder.read("s/runs/001-seed-0/run.json"), record);
    assert_eq!(attempts(&folder, "s/runs/001-seed-0"), ["started", "finished"]);
    search("--vary hidden=8,4 --seeds 2 --resume").failed(2, &["`model.hidden=4` as trial 1, but now there is `model.hidden=8`"]);
    search("--vary hidden=4,8,12 --seeds 2 --set dropout=0.1 --resume").failed(2, &["other settings (`dropout = 0.1`)"]);
    folder.run("tune --resume s --seeds 3").failed(2, &["give the whole command again"]);
    folder.run("tune --resume nowhere").failed(2, &["holds no search"]);
}

#[test]
fn a_trial_is_the_mean_over_its_seeds_and_folds() {
    let folder = Folder::new();
    let all = lines(&folder.run(&format!("tune {QUICK} --vary rate=1e-2,1e-3 --seeds 3,5 --folds 2 --jobs 2 --out s --json")));
    let (runs, trials) = (of(&all, "run"), of(&all, "trial"));
    assert_eq!((runs.len(), trials.len()), (8, 2));
    for trial in trials {
        let own: Vec<f64> =
            runs.iter().filter(|run| run["trial"] == trial["trial"]).map(|run| run["value"].as_f64().unwrap()).collect();
        let mean = own.iter().sum::<f64>() / 4.0;
        assert!(
            (trial["value"].as_f64().unwrap() - mean).abs() < 1e-12 && own.windows(2).all(|pair| pair[0] != pair[1]),
            "{own:?}"
        );
    }
    assert!(runs.iter().any(|run| run["run"] == "002-seed-5-fold-1"));
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let bad = "[vary]\n\"train.rat\" = [1, 2]\n";
    let folder = Folder::new().with("bad.toml", bad).with("table.toml", "[trian]\nrate = 1\n[vary]\nrate = [1, 2]\n");
    let cases = [
        ("--vary hiden=1,2", "did you mean `hidden` of `[model]`?"),
        ("--vary xyzzy=1,2", "in `[train]` steps, batch, rate"),
        ("--vary train.hidden=1,2", "belongs to `[model]`"),
        ("--grid bad.toml", "did you mean `rate` of `[train]`?"),
        ("--grid table.toml", "there is no table `[trian]`"),
        ("--vary rate=1e-3,fast", "trial 2"),
        ("--vary rate=1e-3 --vary train.rate=1e-4", "varied twice"),
        ("--vary rank=2,4 --model ncde", "which has no `rank`"),
        ("--vary metric=loss,accuracy", "decides between runs"),
        ("--vary seed=1,2", "use `--seeds`"),
        ("--vary rate=1e-4..1e-2", "`--method random`"),
        ("--vary rate=1e-4,1e-2 --method random", "--trials 20"),
        ("--vary rate=1e-4,1e-2 --trials 2 --method grid", "a grid has all"),
        ("--vary hidden=4,8 --model slice --set validation=0", "trials are compared on that part"),
        ("--vary spans=2,3 --method halving", "solved for without any"),
        ("--vary steps=20,30 --model slice --method halving", "which decides how many steps"),
        ("--model slice", "nothing is varied"),
        ("--vary rate=1,2 --data nowhere.csv", "nowhere.csv"),
        ("--vary rate=1,2 --data -", "standard input"),
    ];
    for (arguments, part) in cases {
        folder.run(&format!("tune {arguments} --out s")).failed(2, &[part]);
        assert!(!folder.path("s").exists(), "{arguments}");
    }
}

#[test]
fn a_run_that_fails_is_told_and_the_others_go_on() {
    let folder = Folder::new();
    // Blocks of 4 do not fill 6 states.
    let run = folder.run(&format!("tune {QUICK} --set rate=0.01 --vary hidden=8,6,4 --out s --json"));
    let all = lines(&run);
    let runs = of(&all, "run");
    assert!(runs[1]["failed"].as_str().unwrap().contains("blocks of 4 do not fill 6 states"), "{}", runs[1]);
    let trials = of(&all, "trial");
    assert_eq!((&trials[2]["trial"], &trials[2]["rank"]), (&2.into(), &Value::Null));
    assert!(String::from_utf8(folder.read("s/table.md")).unwrap().contains("- 002-seed-0: block-diagonal"));
    assert_eq!(attempts(&folder, "s/runs/002-seed-0"), ["started", "failed"]);
    // It would fail again, so it is done again only if that is asked for.
    folder.run("tune --resume s").ok();
    assert_eq!(attempts(&folder, "s/runs/002-seed-0").len(), 2);
    folder.run("tune --resume s --retry").ok();
    assert_eq!(attempts(&folder, "s/runs/002-seed-0"), ["started", "failed", "started", "failed"]);
    assert_eq!(attempts(&folder, "s/runs/001-seed-0"), ["started", "finished"]);
    // If all fail there is nothing to show.
    let none = folder.run(&format!("tune {QUICK} --set rate=0.01 --vary hidden=6,7 --out t"));
    none.failed(2, &["do not fill 6 states"]);
}

#[test]
fn few_trials_go_far() {
    let folder = Folder::new();
    let search = "--model slice --steps 27 --set window=8 --vary rate=log:1e-4..3e-2 --vary hidden=4,8 --method halving";
    let all = lines(&folder.run(&format!("tune {search} --trials 9 --jobs 2 --out s --json")));
    assert_eq!(of(&all, "run").len(), 9 + 3 + 1);
    let trials = of(&all, "trial");
    let steps: Vec<u64> = trials.iter().map(|trial| trial["steps"].as_u64().unwrap()).collect();
    assert_eq!(steps, [27, 9, 9, 3, 3, 3, 3, 3, 3]);
    // The three that went on were the best three of the first rung.
    let decided: Value = serde_json::from_slice(&folder.read("s/halving.json")).unwrap();
    let first: Vec<u64> =
        decided["rungs"][0]["trials"].as_array().unwrap().iter().map(|own| own["trial"].as_u64().unwrap() + 1).collect();
    let mut on: Vec<u64> = trials[..3].iter().map(|trial| trial["trial"].as_u64().unwrap()).collect();
    on.sort_unstable();
    let mut kept = first[..3].to_vec();
    kept.sort_unstable();
    assert_eq!(on, kept);
    let best = format!("s/runs/{:03}-seed-0", trials[0]["trial"].as_u64().unwrap());
    assert_eq!(attempts(&folder, &best).iter().filter(|event| *event == "finished").count(), 3);
    // Everything is decided: nothing is done, and the table is the same.
    let again = lines(&folder.run("tune --resume s --json"));
    assert!(of(&again, "run").is_empty() && again.last() == all.last());
    folder.run(&format!("tune {search} --trials 9 --emit slurm --out t")).failed(2, &["not known ahead"]);
}

#[test]
fn ctrl_c_stops_the_runs_and_the_search_goes_on_to_the_same_weights() {
    let folder = Folder::new();
    let search = format!("tune {SLOW} --set hidden=8 --vary rate=1e-2,1e-3 --jobs 2");
    folder.run(&format!("{search} --out whole")).ok();
    let mut child = spawn(&folder, &format!("{search} --out s"));
    let at_work = |i: usize| folder.path(&format!("s/runs/00{i}-seed-0/checkpoint.safetensors")).exists();
    wait_until("two runs at work", || at_work(1) && at_work(2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("interrupted after 0 of 2 runs") && told.contains("ncde tune --resume"), "{told}");
    for run in ["s/runs/001-seed-0", "s/runs/002-seed-0"] {
        assert_eq!(attempts(&folder, run), ["started", "interrupted"]);
    }
    folder.run("tune --resume s --jobs 2").ok();
    for run in ["runs/001-seed-0", "runs/002-seed-0"] {
        assert_eq!(attempts(&folder, &format!("s/{run}")), ["started", "interrupted", "started", "finished"]);
        assert_eq!(weights(&folder, &format!("s/{run}")), weights(&folder, &format!("whole/{run}")));
    }
}

#[test]
fn the_run_of_a_killed_worker_is_done_by_another_and_by_one_alone() {
    let folder = Folder::new();
    folder.run(&format!("tune {SLOW} --set hidden=8 --vary rate=1e-2,1e-3 --out s --emit hyperqueue")).ok();
    folder.run(&format!("train {SLOW} --set hidden=8 --set rate=1e-2 --seed 0 --out whole")).ok();
    let (run, only) = ("s/runs/001-seed-0", "tune --out s --only 001-seed-0");
    let mut killed = spawn(&folder, only);
    wait_until("a checkpoint", || folder.path(&format!("{run}/checkpoint.safetensors")).exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let open = folder.run("tune --collect s");
    assert!(open.stderr.contains("2 runs are not done yet"), "{}", open.stderr);

    // Two at once: one goes on from the checkpoint, the other waits for it and has nothing to do.
    let both = [spawn(&folder, only), spawn(&folder, only)];
    let told = both.map(|mut child| {
        let mut told = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
        assert!(child.wait().unwrap().success(), "{told}");
        told
    });
    assert_eq!(told.iter().filter(|text| text.contains("going on after step")).count(), 1, "{told:?}");
    assert_eq!(told.iter().filter(|text| text.contains("already finished: nothing to do")).count(), 1, "{told:?}");
    assert_eq!(attempts(&folder, run), ["started", "started", "finished"]);
    assert_eq!(weights(&folder, run), weights(&folder, "whole"));

    folder.run("tune --out s --only 003-seed-0").failed(2, &["there is no run `003-seed-0`", "001-seed-0 to 002-seed-0"]);
    let left = folder.run("tune --collect s");
    assert!(left.ok().stderr.contains("1 run is not done yet"), "{}", left.stderr);
    // What an engine has left is finished here.
    let all = lines(&folder.run("tune --resume s --json"));
    assert_eq!(of(&all, "run").iter().map(|run| run["already"].as_bool().unwrap()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn engines_get_one_command_for_each_run() {
    let folder = Folder::new().with(
        "space.toml",
        "[model]\nname = \"slice\"\n[vary]\n\"depth, window\" = [[1, 8], [2, 8]]\nrate = [1e-3, 1e-4]\n[train]\nsteps = 10\n",
    );
    let target = folder.run("tune --grid space.toml --emit hyperqueue --seeds 2 --threads 2 --out hq").ok().stdout.clone();
    assert!(target.trim().ends_with("hq/hyperqueue.toml"), "{target}");
    let text = String::from_utf8(folder.read("hq/hyperqueue.toml")).unwrap();
    assert_eq!(text.matches("[[task]]").count(), 8);
    assert!(text.contains("\"--threads\", \"2\", \"--only\", \"004-seed-1\"]") && text.contains("cpus = 2"), "{text}");
    folder.run("tune --space space.toml --emit slurm --jobs 3 --out slurm").ok();
    let text = String::from_utf8(folder.read("slurm/slurm.sh")).unwrap();
    assert!(text.starts_with("#!/bin/bash\n") && text.contains("--array=0-3%3"), "{text}");
    // As Slurm runs it.
    let mut script = Command::new("bash");
    script.arg("slurm.sh").env("SLURM_ARRAY_TASK_ID", "2").current_dir(folder.path("slurm"));
    assert!(script.status().unwrap().success());
    assert_eq!(attempts(&folder, "slurm/runs/003-seed-0"), ["started", "finished"]);
}

#[test]
fn the_grids_of_the_thesis_are_those_of_its_tables() {
    let of_neural = [("ncde", 72), ("nrde", 432), ("log-ncde", 1296), ("slice", 324), ("nrde-ppg", 288), ("log-ncde-ppg", 864)];
    let counts = [&of_neural[..], &[("lru", 162), ("s5", 162), ("s6", 162), ("mamba", 1458)]].concat();
    let grids = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grids");
    assert_eq!(std::fs::read_dir(grids).unwrap().count(), counts.len());
    let folder = Folder::new();
    for (name, count) in counts {
        // The demo's data have classes, but the error that these are compared by is of numbers.
        let metric = if name.ends_with("ppg") { "--set metric=loss" } else { "" };
        folder.run(&format!("tune --grid {grids}/{name}.toml --emit slurm --out {name} {metric}")).ok();
        let sweep: Value = serde_json::from_slice(&folder.read(&format!("{name}/sweep.json"))).unwrap();
        assert_eq!(sweep["trials"].as_array().unwrap().len(), count, "{name}");
        let text = String::from_utf8(std::fs::read(format!("{grids}/{name}.toml")).unwrap()).unwrap();
        assert!(text.contains(&format!(": {count} trials")), "{name}");
    }
}
