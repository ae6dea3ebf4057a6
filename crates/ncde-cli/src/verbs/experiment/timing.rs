//! `scan-table`, `log-ode-table`, `eigenworms`: time and memory of a recurrence on series as long as those of `EigenWorms`; on a GPU, whole training steps.
//!
//! Each line is a process of its own, `ncde bench ...`, so that its peak of memory is its own. Numbers are drawn: what a step takes does not depend on
//! them. Published: thesis, tables of the sections on Linear NCDEs and on Structured Linear NCDEs, on GPUs, with the layers around the recurrence.

use ncde_experiment::{Budget, Control, Entry, Error, Figure, Job, Measured, Metric, Plan, Published, Record, Request};
use ncde_report::plot::{Axis, Spacing};
use ncde_report::statistics::Better;
use ncde_signature::algebra::words::witt;
use ncde_train::Device;
use serde_json::{Value, json};

use super::steps;
use crate::program;

pub(super) const EXPERIMENTS: &[Entry] = &[
    entry(
        "scan-table",
        "time of a training step against the chunks of the parallel scan, at the shape of EigenWorms",
        scan_table,
    ),
    entry(
        "log-ode-table",
        "time and memory with and without Log-ODE windows and the parallel scan, at the shape of EigenWorms",
        log_ode_table,
    ),
    entry("eigenworms", "time and memory of NCDE, Log-NCDE, Linear and Log-Linear NCDE, at the shape of EigenWorms", eigenworms),
    entry("step-table", "time of a training step of every model at the shapes of the six UEA data sets", steps::six),
];

const fn entry(name: &'static str, summary: &'static str, plan: fn(&Request) -> Result<Plan, Error>) -> Entry {
    Entry { name, summary, needs: "nothing; numbers are drawn", settings: false, plan }
}

/// Observations of a series, and windows of 12 of them.
pub(super) const LENGTH: usize = 17984;
const WINDOWS: usize = 1499;

pub(super) const TIME: Metric =
    Metric { name: "seconds", title: "time of 1000 training steps (s)", factor: 1e3, digits: 1, better: Some(Better::Less) };
pub(super) const MEMORY: Metric =
    Metric { name: "peak_mib", title: "peak of memory (MiB)", factor: 1.0, digits: 0, better: Some(Better::Less) };

/// A structure as it is typed, and what was published for each column.
type Known<const N: usize> = (&'static str, [f64; N]);

/// Published seconds of 1000 training steps against the steps of the scan that are taken at once.
pub(super) const CHUNKS: [(&str, Option<usize>); 5] =
    [("recurrent", None), ("chunk-4", Some(4)), ("chunk-16", Some(16)), ("chunk-64", Some(64)), ("chunk-256", Some(256))];
pub(super) const SCAN: [Known<5>; 3] = [
    ("diagonal", [311.0, 134.2, 57.5, 31.01, 21.1]),
    ("block", [374.89, 326.75, 161.74, 68.59, 30.53]),
    ("dense", [444.68, 439.51, 257.56, 126.01, 71.54]),
];

/// The same for every observation and for windows of 12, each without and with a scan of 128 steps, and gigabytes of a GPU.
pub(super) const LOG_ODE: [Known<4>; 3] = [
    ("diagonal", [317.49, 23.51, 33.03, 10.96]),
    ("block", [378.2, 48.74, 46.98, 13.24]),
    ("dense", [465.94, 167.86, 47.95, 29.37]),
];
pub(super) const GIGABYTES: [[f64; 4]; 3] = [[2.69, 2.69, 2.69, 2.69], [2.69, 4.73, 2.69, 2.69], [35.45, 51.84, 2.69, 6.79]];

/// Published megabytes in the unit of our tables.
pub(super) fn mebibytes(megabytes: f64) -> f64 {
    megabytes * 1e6 / f64::from(1 << 20)
}

/// A job that is a process of `ncde bench` on the device of the experiment; it measures the time and the peak of memory of the line it prints.
pub(super) fn process(model: &str, task: &str, arguments: Vec<String>) -> Job {
    let settings = json!({"command": arguments.join(" ")});
    let work = move |control: &mut Control<'_>| {
        let device = format!("{:?}", control.device).to_lowercase();
        let mut program = program::command().map_err(Error::Refused)?;
        let ran = program.arg("bench").args(&arguments).args(["--device", &device]).output();
        let ran = ran.map_err(|e| Error::Refused(format!("cannot start `ncde bench`: {e}")))?;
        let line: Value = serde_json::from_slice(&ran.stdout).map_err(|_| {
            Error::Refused(format!("`ncde bench {}`: {}", arguments.join(" "), String::from_utf8_lossy(&ran.stderr)))
        })?;
        let number = |metric: Metric| (metric.name, line.get(metric.name).and_then(Value::as_f64).unwrap_or(f64::NAN));
        Ok(Some(Measured::of(&[number(TIME), number(MEMORY)])))
    };
    Job { model: model.into(), task: task.into(), seed: 0, settings, spare: None, work: Box::new(work) }
}

/// A line of time and memory.
pub(super) fn timed(model: &str, task: &str, bench: &str, budget: Budget) -> Job {
    let repeat = budget.of(1, 5);
    process(model, task, format!("{bench} --repeat {repeat}").split_whitespace().map(str::to_owned).collect())
}

pub(super) fn linear(structure: &str, batch: usize, length: usize, scan: Option<usize>) -> String {
    let mode = scan.map_or_else(|| "--mode recurrent".to_owned(), |chunk| format!("--mode parallel --chunk {chunk}"));
    // With windows the coefficients are those of log-signatures; all brackets of diagonal matrices vanish.
    let depth = if length < LENGTH && structure != "diagonal" { 2 } else { 1 };
    format!(
        "slice --structure {structure} --block 4 --hidden 128 --channels 7 --batch {batch} --length {length} --depth {depth} --transition euler {mode}"
    )
}

fn plan(title: &str, budget: Budget, jobs: Vec<Job>, published: Vec<Published>, figures: fn(&[Record]) -> Vec<Figure>) -> Plan {
    let mut differences = vec![
        "Ours is one forward and one reverse pass of the recurrence, on this machine's processor; published is a whole training step on a GPU.".to_owned(),
        "Data are drawn at the shape of EigenWorms: 17984 observations, 7 channels with time, 128 states, blocks of 4.".into(),
    ];
    if budget == Budget::Quick {
        differences.push("Cut: each is timed once after a warm-up, not the best of five.".into());
    }
    let (title, metrics) = (format!("{title} ({budget})"), vec![TIME, MEMORY]);
    Plan { title, differences, jobs, metrics, published, compared: false, figures, findings: |_| Vec::new() }
}

pub(super) fn known(model: &'static str, task: &'static str, metric: &'static str, mean: f64) -> Published {
    Published { model, task, metric, mean, deviation: None }
}

fn scan_table(request: &Request) -> Result<Plan, Error> {
    if request.device != Device::Cpu {
        return steps::scan(request);
    }
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for (structure, times) in SCAN {
        for ((task, scan), seconds) in CHUNKS.into_iter().zip(times) {
            jobs.push(timed(structure, task, &linear(structure, 1, LENGTH, scan), request.budget));
            published.push(known(structure, task, TIME.name, seconds / 1e3));
        }
    }
    Ok(plan("The parallel scan against its chunks", request.budget, jobs, published, |_| Vec::new()))
}

fn log_ode_table(request: &Request) -> Result<Plan, Error> {
    if request.device != Device::Cpu {
        return steps::log_ode(request);
    }
    const WAYS: [(&str, usize, Option<usize>); 4] = [
        ("every-observation", LENGTH, None),
        ("every-observation-chunk-128", LENGTH, Some(128)),
        ("windows-of-12", WINDOWS, None),
        ("windows-of-12-chunk-128", WINDOWS, Some(128)),
    ];
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for ((structure, times), memory) in LOG_ODE.into_iter().zip(GIGABYTES) {
        for (i, (task, length, scan)) in WAYS.into_iter().enumerate() {
            jobs.push(timed(structure, task, &linear(structure, 4, length, scan), request.budget));
            published.push(known(structure, task, TIME.name, times[i] / 1e3));
            published.push(known(structure, task, MEMORY.name, mebibytes(1e3 * memory[i])));
        }
    }
    Ok(plan("Log-ODE windows and the parallel scan", request.budget, jobs, published, terms))
}

fn eigenworms(request: &Request) -> Result<Plan, Error> {
    if request.device != Device::Cpu {
        return steps::eigenworms(request);
    }
    // The fields that the published search selected for each.
    let [ncde, field] = [(3, 128), (2, 32)]
        .map(|(layers, width)| format!("--channels 7 --hidden 128 --width {width} --layers {layers} --batch 1"));
    let budget = request.budget;
    let jobs = vec![
        timed("ncde", "recurrent", &format!("log-ncde {ncde} --depth 1 --windows {LENGTH} --steps {LENGTH}"), budget),
        timed("log-ncde", "recurrent", &format!("log-ncde {field} --depth 2 --windows {WINDOWS} --steps {WINDOWS}"), budget),
        timed("linear-ncde", "recurrent", &linear("dense", 1, LENGTH, None), budget),
        timed("linear-ncde", "chunk-128", &linear("dense", 1, LENGTH, Some(128)), budget),
        timed("log-linear-ncde", "recurrent", &linear("dense", 1, WINDOWS, None), budget),
        timed("log-linear-ncde", "chunk-128", &linear("dense", 1, WINDOWS, Some(128)), budget),
    ];
    let values = [
        ("ncde", "recurrent", 26020.0, 3484.0),
        ("log-ncde", "recurrent", 2263.0, 3494.0),
        ("linear-ncde", "recurrent", 299.4, 9624.0),
        ("linear-ncde", "chunk-128", 100.4, 13730.0),
        ("log-linear-ncde", "recurrent", 29.9, 3486.0),
        ("log-linear-ncde", "chunk-128", 17.5, 3492.0),
    ];
    let both = |(model, task, seconds, megabytes): (&'static str, &'static str, f64, f64)| {
        [known(model, task, TIME.name, seconds / 1e3), known(model, task, MEMORY.name, mebibytes(megabytes))]
    };
    Ok(plan("Linear and non-linear models on EigenWorms", budget, jobs, values.into_iter().flat_map(both).collect(), |_| {
        Vec::new()
    }))
}

/// How many coordinates a log-signature has.
fn terms(_: &[Record]) -> Vec<Figure> {
    let line = |depth: usize| {
        let points = (1..=15).filter_map(|channels| {
            let count: u128 = (1..=depth).map(|level| witt(channels, level)).sum::<Option<u128>>()?;
            Some([channels as f64, count as f64])
        });
        (format!("depth {depth}"), points.collect())
    };
    let (x, y) = (Axis::new("channels", Spacing::Whole), Axis::new("terms", Spacing::Auto));
    vec![Figure::lines("Terms of the Log-ODE, beta(d, N)", x, y, (1..=5).map(line).collect())]
}
