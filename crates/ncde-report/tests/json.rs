//! JSON: the tables of the page, and metrics as numbers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use ncde_report::{RunRecord, html, is_report, json, markdown};
use serde_json::Value;

use crate::common::{Made, classifier, empty, forecaster, hostile, many_classes, rare_class, regressor, several};

fn read(runs: &[RunRecord]) -> Value {
    let text = json(runs);
    assert!(is_report(&text) && text.ends_with("}\n"));
    serde_json::from_str(&text).unwrap()
}

fn titles(tables: &Value) -> Vec<&str> {
    tables.as_array().unwrap().iter().map(|table| table["title"].as_str().unwrap()).collect()
}

#[test]
fn the_tables_of_a_run_are_those_of_its_page() {
    for run in
        [classifier(Made::default()), regressor(Made::default()), forecaster(30.0), rare_class(), many_classes(60), empty()]
    {
        let runs = [run];
        let (report, page, text) = (read(&runs), html(&runs), markdown(&runs));
        for table in report["runs"][0]["tables"].as_array().unwrap() {
            let title = table["title"].as_str().unwrap();
            assert!(title == "Training" || page.contains(&format!("<h3>{title}</h3>")), "{title}");
            assert!(text.contains(&format!("\n## {title}\n")), "{title}");
            let columns = table["columns"].as_array().unwrap().len();
            assert!(table["rows"].as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == columns), "{table}");
        }
    }
}

#[test]
fn metrics_are_numbers_and_the_verdict_is_there() {
    let run = forecaster(30.0);
    let report = read(std::slice::from_ref(&run));
    let first = &report["runs"][0];
    assert_eq!(first["metrics"]["mase"].as_f64(), run.test.as_ref().unwrap().get("mase"));
    assert_eq!((&first["better"], &first["part"]), (&Value::from(false), &Value::from("test")));
    assert!(first["verdict"].as_str().unwrap().starts_with("No better than the seasonal naive forecast: MASE "));
    let by_horizon = &first["tables"][1];
    assert_eq!((&by_horizon["title"], &by_horizon["columns"][3]), (&Value::from("By horizon"), &Value::from("seasonal")));
    assert_eq!(by_horizon["rows"].as_array().unwrap().len(), 12);
}

#[test]
fn several_runs_have_a_leaderboard() {
    let report = read(&several());
    assert_eq!(titles(&report["tables"]), ["Leaderboard", "Motions: runs by seed"]);
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0][2]), (6, &Value::from("log-ncde: H = 64, width 128, 3 layers, depth 2")));
    assert_eq!(report["runs"].as_array().unwrap().len(), 14);
    assert_eq!(read(&[hostile()])["runs"][0]["warnings"], Value::Array(Vec::new()));
    assert!(!is_report("{\"generator\": \"others\"}"));
}
