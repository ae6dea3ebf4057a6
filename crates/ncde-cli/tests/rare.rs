//! A class that is rare: how well it is found stands first, it can count more, and be predicted from a lower probability on.

use crate::common::{Folder, QUICK, Run};

/// Noisy series, every twentieth of which is a bit wilder and of the class `fraud`.
fn payments(cases: usize, seed: u64) -> String {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut rows = "id,time,x,label\n".to_owned();
    for i in 0..cases {
        let (label, wild) = if i % 20 == 7 { ("fraud", 1.7) } else { ("fine", 1.0) };
        for t in 0..12 {
            let noise: f64 = (0..6).map(|_| uniform() - 0.5).sum();
            rows += &format!("c{i},{t},{:.4},{label}\n", wild * noise);
        }
    }
    rows
}

fn folder() -> Folder {
    Folder::new().with("old.csv", payments(200, 1)).with("new.csv", payments(200, 2))
}

/// A number that `ncde eval` prints.
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]
fn shown(run: &Run, name: &str) -> f64 {
    let line = run.ok().stdout.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {}", run.stdout));
    line[name.len()..].split_whitespace().next().unwrap().parse().unwrap()
}

const SMALL: &str = "--set model.spans=2 --set model.groups=1";

#[test]
fn classes_count_the_same_in_a_reservoir_if_that_is_asked_for() {
    let folder = folder();
    let plain = folder.run(&format!("train --data old.csv --out plain {SMALL}"));
    // What the accuracy hides comes first.
    let [recall, accuracy] = ["recall of `fraud`", "test accuracy"].map(|name| plain.ok().stdout.find(name));
    assert!(recall < accuracy && recall.is_some() && plain.stdout.contains("average precision"), "{}", plain.stdout);
    let balanced = folder.run(&format!("train --data old.csv --out balanced --set class_weights=balanced {SMALL}"));
    assert!(balanced.ok().stderr.contains("; reservoir: "), "{}", balanced.stderr);
    let recall = |model: &str| shown(&folder.run(&format!("eval {model} --data new.csv")), "recall of fraud");
    let [plain, balanced] = [recall("plain"), recall("balanced")];
    assert!(balanced > plain + 0.3, "{plain} {balanced}");
    folder
        .run("train --data old.csv --set task=forecast --set class_weights=balanced")
        .failed(2, &["`train.class_weights` is set, but numbers are predicted, not classes; leave it out"]);
}

#[test]
fn another_model_than_the_default_is_not_trained_in_silence() {
    let folder = folder();
    let told = "is of models that are trained step by step, so `slice` is trained in place of the default";
    let run = folder.run("train --data old.csv --out run --steps 20");
    assert!(run.ok().stderr.contains(told), "{}", run.stderr);
    let run = folder.run(&format!("train --data old.csv --out named --model slice {QUICK}"));
    assert!(!run.ok().stderr.contains("step by step"), "{}", run.stderr);
}

#[test]
fn a_threshold_decides_wherever_a_class_is_predicted() {
    let folder = folder();
    folder.run(&format!("train --data old.csv --out likeliest {SMALL}")).ok();
    let trained = folder.run(&format!("train --data old.csv --out run --set threshold=cost --set miss_cost=30 {SMALL}"));
    assert!(trained.ok().stdout.contains("threshold of `fraud`"), "{}", trained.stdout);
    let spec: serde_json::Value = serde_json::from_slice(&folder.read("run/model.json")).unwrap();
    let at = spec["threshold"]["at"].as_f64().unwrap();
    assert!(spec["threshold"]["class"] == "fraud" && at < 0.3, "{spec}");
    let rows = folder.run("predict run --data new.csv").csv();
    assert_eq!(rows[0], ["id", "prediction", "fine", "fraud"]);
    let taken = |row: &Vec<String>| if row[3].parse::<f64>().unwrap() >= at { "fraud" } else { "fine" };
    assert!(rows[1..].iter().all(|row| row[1] == taken(row)), "{at} {rows:?}");
    let (evaluated, likeliest) = (folder.run("eval run --data new.csv"), folder.run("eval likeliest --data new.csv"));
    let predicted = rows[1..].iter().enumerate().filter(|(i, row)| i % 20 == 7 && row[1] == "fraud").count();
    assert!((shown(&evaluated, "recall of fraud") - predicted as f64 / 10.0).abs() < 1e-9, "{}", evaluated.stdout);
    assert!(shown(&evaluated, "recall of fraud") > shown(&likeliest, "recall of fraud") + 0.3);
    let stream = folder.run_with("stream run", &String::from_utf8(folder.read("new.csv")).unwrap());
    let last = |id: &str| stream.stdout.lines().rfind(|line| line.starts_with(&format!("{id},"))).unwrap().to_owned();
    for row in &rows[1..] {
        assert!(last(&row[0]).contains(&format!(",{},", row[1])), "{} {row:?}", last(&row[0]));
    }
    assert!(folder.run("inspect run").ok().stdout.contains("threshold    `fraud` from a probability of"));
    // A model that is trained step by step has its threshold from the validation part.
    let slice =
        folder.run(&format!("train --data old.csv --out slice --model slice --set threshold=f1 {QUICK} --set validation=0.3"));
    assert!(slice.ok().stdout.contains("threshold of `fraud`"), "{}", slice.stdout);
    for (settings, wanted) in [
        ("threshold=often", "it is `f1`, `cost` or a probability between 0 and 1"),
        ("threshold=1.5", "it is `f1`, `cost` or a probability between 0 and 1"),
        ("positive=fraud", "`train.positive` is set without a threshold"),
        ("threshold=f1 --set positive=theft", "`theft`, which is no class; there are fine, fraud"),
        ("threshold=f1 --set miss_cost=3", "is not chosen by cost"),
        ("threshold=f1 --set validation=0 --model slice", "found on cases that are held back, but none are"),
        ("threshold=0.2 --set task=forecast", "numbers are predicted, not classes"),
    ] {
        folder.run(&format!("train --data old.csv --out none --set {settings}")).failed(2, &[wanted]);
    }
}
