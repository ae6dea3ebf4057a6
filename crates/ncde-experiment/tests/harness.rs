//! Runs that are not repeated, records, tables.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ncde_experiment::{
    Budget, Control, Error, Event, Job, Mean, Measured, Metric, Plan, Published, RESULT, Record, Seeds, latex, lines, markdown,
    page, run, standing, tables,
};
use ncde_report::statistics::Better;
use ncde_train::Device;
use serde_json::json;

const VALUE: Metric = Metric { name: "value", title: "a value (%)", factor: 100.0, digits: 1, better: Some(Better::More) };

/// A plan of two models, two tasks and three seeds, which notes what is done and is stopped in the middle of run `stop`.
fn plan(done: &Rc<RefCell<Vec<String>>>, stop: Option<usize>, flag: &Arc<AtomicBool>) -> Plan {
    let mut jobs = Vec::new();
    for model in ["dense", "block"] {
        for task in ["a", "b"] {
            for seed in [1, 2, 3] {
                let (done, flag, place) = (done.clone(), flag.clone(), jobs.len());
                let work = move |control: &mut Control<'_>| {
                    if stop == Some(place) {
                        flag.store(true, Ordering::Relaxed);
                    }
                    if control.stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return Ok(None);
                    }
                    (control.say)("at it", 0.5);
                    done.borrow_mut().push(format!("{model} {task} {seed}"));
                    let value = if model == "dense" { 0.5 + 0.1 * seed as f64 } else { 0.25 };
                    let values = [("value", value), ("nothing", f64::NAN), ("steps", 40.0), ("step_seconds", 0.5)];
                    Ok(Some(Measured::of(&values).with_curve("line", vec![[0.0, value]])))
                };
                let settings = json!({"size": 4});
                jobs.push(Job { model: model.into(), task: task.into(), seed, settings, spare: None, work: Box::new(work) });
            }
        }
    }
    let published = vec![Published { model: "dense", task: "a", metric: "value", mean: 0.71, deviation: Some(0.02) }];
    Plan {
        title: "A < test".into(),
        differences: vec!["nothing was cut".into()],
        jobs,
        metrics: vec![VALUE],
        published,
        compared: true,
        figures: |_| Vec::new(),
        findings: |records| vec![format!("{} records", records.len())],
    }
}

fn execute(plan: &Plan, directory: &Path, resume: bool, flag: &Arc<AtomicBool>) -> Result<Vec<Record>, Error> {
    run(("test", Budget::Quick, Device::Cpu), plan, directory, resume, flag, &mut |_| {})
}

#[test]
fn an_interrupted_experiment_goes_on_without_repeating_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (done, flag) = (Rc::new(RefCell::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let stopped = execute(&plan(&done, Some(5), &flag), folder.path(), false, &flag).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted { done: 5, all: 12 }), "{stopped}");
    assert_eq!(done.borrow().len(), 5);
    assert!(
        folder.path().join("dense/b/seed-2").join(RESULT).exists() && !folder.path().join("dense/b/seed-3").join(RESULT).exists()
    );

    flag.store(false, Ordering::Relaxed);
    let whole = plan(&done, None, &flag);
    let refused = execute(&whole, folder.path(), false, &flag).unwrap_err().to_string();
    assert!(refused.contains("holds 5 of these 12 runs") && refused.contains("--resume"), "{refused}");
    let records = execute(&whole, folder.path(), true, &flag).unwrap();
    assert_eq!((records.len(), done.borrow().len()), (12, 12));
    assert!(
        records.iter().all(|record| (20.0..21.0).contains(&record.seconds)),
        "40 steps of half a second, whenever they were taken"
    );
    let mut once = done.borrow().clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 12);

    // Nothing is left to do, and what is read is what was written.
    let mut already = 0;
    let again = run(("test", Budget::Quick, Device::Cpu), &whole, folder.path(), true, &flag, &mut |event| {
        already += usize::from(matches!(event, Event::Finished { already: true, .. }));
    });
    assert_eq!((again.unwrap(), already, done.borrow().len()), (records, 12, 12));
}

#[test]
fn a_run_with_other_settings_or_a_broken_record_is_not_taken_for_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let (done, flag) = (Rc::new(RefCell::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    execute(&plan(&done, None, &flag), folder.path(), false, &flag).unwrap();
    let mut other = plan(&done, None, &flag);
    other.jobs[2].settings = json!({"size": 5});
    let message = execute(&other, folder.path(), true, &flag).unwrap_err().to_string();
    assert!(message.contains("other settings") && message.contains("seed-3"), "{message}");
    std::fs::write(folder.path().join("dense/a/seed-1").join(RESULT), "{}").unwrap();
    let message = execute(&plan(&done, None, &flag), folder.path(), true, &flag).unwrap_err().to_string();
    assert!(message.contains("no record of an experiment") && message.contains("seed-1"), "{message}");
    assert_eq!(done.borrow().len(), 12);
}

#[test]
fn a_job_that_earlier_records_make_unnecessary_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (done, flag) = (Rc::new(RefCell::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let mut plan = plan(&done, None, &flag);
    for job in plan.jobs.iter_mut().filter(|job| job.model == "block") {
        job.spare = Some(Box::new(|records| records.iter().any(|record| record.value("value").is_some_and(|x| x > 0.7))));
    }
    let records = execute(&plan, folder.path(), false, &flag).unwrap();
    assert!(records.len() == 6 && records.iter().all(|record| record.model == "dense"));
}

#[test]
fn tables_have_means_and_population_deviations_beside_published_values() {
    let folder = tempfile::tempdir().unwrap();
    let (done, flag) = (Rc::new(RefCell::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let plan = plan(&done, None, &flag);
    let records = execute(&plan, folder.path(), false, &flag).unwrap();
    // 60, 70, 80: the mean is 70, the deviation the root of 200/3.
    let table = &tables(&plan, &records)[0];
    assert_eq!(table.columns, ["model", "a", "published", "b"]);
    let texts: Vec<Vec<&str>> = table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
    assert_eq!(texts, [["dense", "70.0 ± 8.2", "71.0 ± 2.0", "70.0 ± 8.2"], ["block", "25.0 ± 0.0", "", "25.0 ± 0.0"]]);
    // The best of two is bold; a published value alone is not.
    let bold: Vec<Vec<bool>> = table.rows.iter().map(|row| row.iter().map(|cell| cell.bold).collect()).collect();
    assert_eq!(bold, [[false, true, false, true], [false; 4]]);
    let own = Mean::of(&[0.6, 0.7, 0.8]).unwrap();
    assert!((own.deviation - (0.02_f64 / 3.0).sqrt()).abs() < 1e-15);
    let text = markdown(&plan, &records);
    assert!(
        text.contains("| dense | **70.0 ± 8.2** | 71.0 ± 2.0 | **70.0 ± 8.2** |") && text.contains("- nothing was cut"),
        "{text}"
    );
    let html = page(&plan, &records);
    assert!(html.contains("A &lt; test") && html.contains("<b>70.0 ± 8.2</b>") && html.contains("12 records"));
    let tex = latex(&plan, &records);
    assert!(
        tex.contains("dense & \\textbf{70.0 $\\pm$ 8.2} & 71.0 $\\pm$ 2.0 &") && tex.contains("A $<$ test: a value (\\%)"),
        "{tex}"
    );
    // Two models are too few to test.
    assert!(standing(&plan, &records).is_none() && !text.contains("Statistics"));
    let lines: Vec<serde_json::Value> = lines(&plan, &records).iter().map(|line| serde_json::to_value(line).unwrap()).collect();
    assert_eq!(lines.len(), 12 + 4);
    assert!(lines[0]["seed"] == 1 && lines[0]["published"] == 0.71 && lines[0]["experiment"] == "test");
    assert!(lines[12]["mean_of"] == 3 && lines[12].get("seed").is_none());
}

/// A record of a model on a task.
fn record(model: &str, task: &str, value: f64) -> Record {
    let measured = Measured::of(&[("value", value)]);
    let (experiment, budget, settings) = ("test".into(), Budget::Quick, json!({}));
    Record { experiment, budget, model: model.into(), task: task.into(), seed: 1, settings, measured, seconds: 1.0 }
}

#[test]
fn complete_models_are_ranked_and_tested_over_tasks() {
    let (done, flag) = (Rc::new(RefCell::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let plan = plan(&done, None, &flag);
    let mut records: Vec<Record> = Vec::new();
    for (model, shift) in [("a", 0.0), ("b", 0.3), ("c", 0.1)] {
        records.extend((0..4).map(|task| record(model, &format!("task-{task}"), shift + 0.1 * f64::from(task))));
    }
    // One that lacks tasks is left out.
    records.push(record("d", "task-0", 0.9));
    let own = standing(&plan, &records).unwrap();
    assert_eq!(
        (own.models.as_slice(), own.tasks.len(), own.comparison.order.as_slice()),
        (["a", "b", "c"].as_slice(), 4, [1, 2, 0].as_slice())
    );
    assert_eq!((own.rank("b"), own.rank("d")), (Some(1.0), None));
    let table = &tables(&plan, &records)[0];
    assert_eq!(table.columns.last().map(String::as_str), Some("average rank"));
    let ranks: Vec<(&str, bool)> =
        table.rows.iter().map(|row| row.last().map(|cell| (cell.text.as_str(), cell.bold)).unwrap()).collect();
    assert_eq!(ranks, [("3.00", false), ("1.00", true), ("2.00", false), ("", false)]);
    let (text, html, tex) = (markdown(&plan, &records), page(&plan, &records), latex(&plan, &records));
    for said in [&text, &html, &tex] {
        assert!(said.contains("chi-square = 8.00 with 2 degrees of freedom, p = 0.0183"), "{said}");
    }
    assert!(html.contains("class=\"clique\"") && html.contains("b (1.00)"), "{html}");
    let line = serde_json::to_value(&own).unwrap();
    assert!(line["metric"] == "value" && line["friedman"]["freedom"] == 2 && line["ranks"][0] == 3.0, "{line}");

    // Where too few models have all tasks, all models are compared on what they share.
    records.retain(|record| record.model != "d" && (record.model == "b" || record.task != "task-3"));
    let own = standing(&plan, &records).unwrap();
    assert_eq!((own.models.len(), own.tasks), (3, vec!["task-0", "task-1", "task-2"]));
    // On one task, or where the plan does not want it, there is no standing.
    records.retain(|record| record.task == "task-0");
    assert!(standing(&plan, &records).is_none());
}

#[test]
fn seeds_are_counted_or_listed() {
    assert_eq!("3".parse(), Ok(Seeds::First(3)));
    assert_eq!("2345".parse::<Seeds>(), Err("that is 2345 seeds; for seed 2345 alone write 2345,".into()));
    assert_eq!("7,9".parse(), Ok(Seeds::List(vec![7, 9])));
    assert_eq!("7,".parse(), Ok(Seeds::List(vec![7])));
    for wrong in ["", "0", "-1", ",", "a,b", "1.5"] {
        assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
    }
    assert_eq!(Seeds::First(3).of(&[10, 20]), [10, 20, 21]);
    assert_eq!(Seeds::First(1).of(&[10, 20]), [10]);
}
