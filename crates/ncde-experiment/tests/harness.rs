//! Runs that are not repeated, records, tables.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ncde::train::Device;
use ncde_experiment::{
    Budget, Control, Error, Event, Job, Mean, Measured, Metric, Plan, Published, RESULT, Record, Seeds, lines, markdown, page,
    run, tables,
};
use serde_json::json;

const VALUE: Metric = Metric { name: "value", title: "a value (%)", factor: 100.0, digits: 1 };

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
                    if control.is_over() {
                        return Ok(None);
                    }
                    control.say("at it", 0.5);
                    done.borrow_mut().push(format!("{model} {task} {seed}"));
                    let value = if model == "dense" { 0.5 + 0.1 * seed as f64 } else { 0.25 };
                    Ok(Some(Measured::of(&[("value", value), ("nothing", f64::NAN)]).with_curve("line", vec![[0.0, value]])))
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
    assert_eq!(table.rows, [["dense", "70.0 ± 8.2", "71.0 ± 2.0", "70.0 ± 8.2"], ["block", "25.0 ± 0.0", "", "25.0 ± 0.0"]]);
    let own = Mean::of(&[0.6, 0.7, 0.8]).unwrap();
    assert!((own.deviation - (0.02_f64 / 3.0).sqrt()).abs() < 1e-15);
    let text = markdown(&plan, &records);
    assert!(text.contains("| dense | 70.0 ± 8.2 | 71.0 ± 2.0 | 70.0 ± 8.2 |") && text.contains("- nothing was cut"), "{text}");
    let html = page(&plan, &records);
    assert!(html.contains("A &lt; test") && html.contains("70.0 ± 8.2") && html.contains("12 records"));
    let lines: Vec<serde_json::Value> = lines(&plan, &records).iter().map(|line| serde_json::to_value(line).unwrap()).collect();
    assert_eq!(lines.len(), 12 + 4);
    assert!(lines[0]["seed"] == 1 && lines[0]["published"] == 0.71 && lines[0]["experiment"] == "test");
    assert!(lines[12]["mean_of"] == 3 && lines[12].get("seed").is_none());
}

#[test]
fn seeds_are_counted_or_listed() {
    assert_eq!("3".parse(), Ok(Seeds::First(3)));
    assert_eq!("7,9".parse(), Ok(Seeds::List(vec![7, 9])));
    assert_eq!("7,".parse(), Ok(Seeds::List(vec![7])));
    for wrong in ["", "0", "-1", ",", "a,b", "1.5"] {
        assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
    }
    assert_eq!(Seeds::First(3).of(&[10, 20]), [10, 20, 21]);
    assert_eq!(Seeds::First(1).of(&[10, 20]), [10]);
}
