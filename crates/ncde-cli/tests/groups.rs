//! Series that belong together, ids of several columns, several labels.

use std::collections::BTreeSet;

use crate::common::Folder;

/// Windows of patients: noise, a clinic that tells the patient, and a label of the patient that nothing else tells.
fn windows(patients: usize, id: impl Fn(usize, usize) -> String) -> String {
    let mut state = 5_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut rows = "patient,window,time,x,clinic,label\n".to_owned();
    for patient in 0..patients {
        let label = if patient % 2 == 0 { "ill" } else { "well" };
        for window in 0..5 {
            for t in 0..6 {
                rows += &format!("p{patient},{},{t},{:.3},c{patient},{label}\n", id(patient, window), noise());
            }
        }
    }
    rows
}

const SMALL: &str = "--set model.spans=2 --set model.groups=1 --set test_share=0.3";

#[test]
fn series_of_one_group_are_on_one_side_of_every_split() {
    let folder = Folder::new().with("w.csv", windows(24, |patient, window| format!("w{}", patient * 5 + window)));
    let leaks = folder.run(&format!("train --data w.csv --id window --out leaks {SMALL}"));
    for told in ["column `patient` names what series belong to, and is ignored", "`--group patient`", "`clinic` has 24 values"] {
        assert!(leaks.ok().stderr.contains(told), "{told}: {}", leaks.stderr);
    }
    let grouped = folder.run(&format!("train --data w.csv --id window --group patient --out grouped {SMALL}"));
    for told in ["patient -> group", "split by group"] {
        assert!(grouped.ok().stderr.contains(told), "{told}: {}", grouped.stderr);
    }
    assert!(!grouped.stderr.contains("warning: static"), "{}", grouped.stderr);
    let record: serde_json::Value = serde_json::from_slice(&folder.read("grouped/run.json")).unwrap();
    let tested = record["predictions"].as_array().unwrap().iter();
    let tested: Vec<usize> = tested.map(|case| case["id"].as_str().unwrap()[1..].parse().unwrap()).collect();
    let patients: BTreeSet<usize> = tested.iter().map(|window| window / 5).collect();
    assert!(!patients.is_empty() && tested.len() == 5 * patients.len(), "{tested:?}");
    let spec: serde_json::Value = serde_json::from_slice(&folder.read("grouped/model.json")).unwrap();
    assert_eq!(spec["channels"], serde_json::json!(["x"]));
    // What is left out is left out by group: the error is that of guessing, where it was none before.
    let error = |text: &str| text.split("leave-out error (").nth(1).unwrap().split(')').next().unwrap().parse::<f64>().unwrap();
    let [leaks, grouped] = [&leaks.stderr, &grouped.stderr].map(|text| error(text));
    assert!(leaks < 0.05 && grouped > 0.15, "{leaks} {grouped}");
    // A model asks for no groups.
    assert_eq!(folder.run("predict grouped --data w.csv").csv().len(), 121);
}

#[test]
fn groups_that_make_no_sense_are_refused() {
    let folder = Folder::new()
        .with("w.csv", windows(6, |patient, window| format!("w{}", patient * 5 + window)))
        .with("mixed.csv", "id,g,time,x,label\na,1,0,1,u\na,2,1,2,u\nb,2,0,3,v\n")
        .with("partly.csv", "id,g,time,x,label\na,1,0,1,u\na,1,1,2,u\nb,,0,3,v\n");
    for (arguments, wanted) in [
        ("w.csv --id window --group ward", "no column for groups: `ward`"),
        ("mixed.csv --group g", "series `a` is of group `1` and of group `2`"),
        ("partly.csv --group g", "series `b` has no group"),
        ("w.csv --id window --label label,clinic", "`label,clinic` names several columns of labels"),
    ] {
        folder.run(&format!("train --data {arguments} --out none")).failed(2, &[wanted]);
    }
    let one = Folder::new().with("w.csv", windows(1, |_, window| format!("w{window}")));
    one.run("train --data w.csv --id window --group patient --set task=forecast --set validation=0 --out none")
        .failed(2, &["are of the group `p0`", "at least 2 groups"]);
}

#[test]
fn several_columns_name_a_series_together() {
    // The windows of each patient are counted anew; the group is a part of the id.
    let text = windows(12, |_, window| window.to_string());
    let folder = Folder::new().with("w.csv", &text);
    let run = folder.run(&format!("train --data w.csv --id patient,window --group patient --out run {SMALL}"));
    assert!(run.ok().stderr.contains("patient, window -> id") && run.stderr.contains("split by group"), "{}", run.stderr);
    let rows = folder.run("predict run --data w.csv").csv();
    let ids: BTreeSet<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    assert!(ids.len() == 60 && ids.contains("p0/0") && ids.contains("p11/4"), "{ids:?}");
    let stream = folder.run_with("stream run", &text);
    let last = stream.ok().stdout.lines().last().unwrap().to_owned();
    let predicted = rows.iter().find(|row| row[0] == "p11/4").unwrap();
    assert!(last.starts_with("p11/4,5,") && last.contains(&predicted[1]), "{last} {predicted:?}");
    // A file without one of them is another kind of file.
    let without: String = text.lines().map(|line| line.split_once(',').unwrap().1.to_owned() + "\n").collect();
    std::fs::write(folder.path("without.csv"), without).unwrap();
    folder
        .run("predict run --data without.csv")
        .failed(2, &["columns `window` name series, but `patient`, `window` did in training"]);
}
