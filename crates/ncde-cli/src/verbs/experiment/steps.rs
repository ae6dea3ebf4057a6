//! Whole training steps at published shapes: `step-table`, and on a GPU the tables of `timing`.
//!
//! Each line is a process of `ncde bench train`: a batch, forward, in reverse, update. On a GPU the kernels choose the chunks of the scan themselves, so that
//! tables have one column where the thesis has one for each size of chunk.

use ncde_experiment::{Budget, Error, Job, Mean, Measured, Plan, Published, Record, Request, mean, names, uea_shapes};

use super::timing::{self, LENGTH, TIME, known};

/// Published means over the six data sets, seconds for 1000 steps on an H100.
const PUBLISHED: [(&str, Option<f64>); 10] = [
    ("block", Some(68.1)),
    ("diagonal", Some(11.0)),
    ("diagonal-dense", Some(66.7)),
    ("dense", Some(77.2)),
    ("walsh-hadamard", None),
    ("dplr", None),
    ("sparse", None),
    ("log-ncde", Some(1321.7)),
    ("nrde", Some(3431.0)),
    ("ncde", Some(6923.0)),
];

/// The models that `quick` times.
const QUICK: [&str; 2] = ["block", "diagonal"];

/// Steps of a model on series of a shape.
fn job((model, task): (&str, &str), shape: &str, settings: &[String], request: &Request) -> Job {
    // A model whose field is a network takes seconds a step on a processor.
    let steps = request.budget.of(3, if request.device == ncde_train::Device::Cpu { 5 } else { 20 });
    let mut arguments: Vec<String> = format!("train {shape} --steps {steps}").split_whitespace().map(str::to_owned).collect();
    arguments.extend(settings.iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
    timing::process(model, task, arguments, |line| Measured::of(&[("seconds", line("seconds"))]))
}

fn plan(title: &str, request: &Request, jobs: Vec<Job>, published: Vec<Published>, notes: &[&str]) -> Plan {
    let mut differences = vec![
        "Whole training steps, the best of some after five that warm up; data are drawn at the shapes of the data sets."
            .to_owned(),
        "Published times are of an H100, those of `eigenworms` of an RTX 4090.".into(),
    ];
    differences.extend(notes.iter().map(|&note| note.to_owned()));
    if request.budget == Budget::Quick {
        differences.push("Cut: three steps are timed.".into());
    }
    Plan {
        title: format!("{title} ({})", request.budget),
        differences,
        jobs,
        metrics: vec![TIME],
        published,
        compared: false,
        figures: |_| Vec::new(),
        findings: |_| Vec::new(),
    }
}

/// A Linear NCDE of 128 states on series as long as those of `EigenWorms`.
fn linear(task: &str, (model, structure): (&str, &str), (batch, window): (usize, usize), request: &Request) -> Job {
    let depth = if window > 1 && structure != "diagonal" { 2 } else { 1 };
    let settings = format!(
        "structure={structure} hidden=128 window={window} depth={depth} transition=euler skip=false input=false forget=false norm=false head_layers=0"
    );
    let mut settings: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
    settings.extend((structure == "block").then(|| "block=4".into()));
    job((model, task), &format!("--batch {batch} --length {LENGTH} --channels 6"), &settings, request)
}

const OWN_CHUNKS: &str = "Our kernels choose their chunks themselves; published is the fastest of its chunks.";

pub(super) fn scan(request: &Request) -> Result<Plan, Error> {
    const ROWS: [(&str, f64); 3] = [("diagonal", 21.1), ("block", 30.53), ("dense", 71.54)];
    let jobs = ROWS.iter().map(|(structure, _)| linear("own-chunks", (structure, structure), (1, 1), request)).collect();
    let published = ROWS.iter().map(|&(structure, seconds)| known(structure, "own-chunks", TIME.name, seconds / 1e3)).collect();
    Ok(plan("The parallel scan", request, jobs, published, &[OWN_CHUNKS]))
}

pub(super) fn log_ode(request: &Request) -> Result<Plan, Error> {
    const ROWS: [(&str, [f64; 2]); 3] = [("diagonal", [23.51, 10.96]), ("block", [48.74, 13.24]), ("dense", [167.86, 29.37])];
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for (structure, times) in ROWS {
        for ((task, window), seconds) in [("every-observation", 1), ("windows-of-12", 12)].into_iter().zip(times) {
            jobs.push(linear(task, (structure, structure), (4, window), request));
            published.push(known(structure, task, TIME.name, seconds / 1e3));
        }
    }
    Ok(plan("Log-ODE windows", request, jobs, published, &[OWN_CHUNKS]))
}

pub(super) fn eigenworms(request: &Request) -> Result<Plan, Error> {
    let neural = |model: &'static str, window: usize| {
        let settings = "hidden=128 field_layers=2 field_width=32 readout=last norm=false skip=false head_layers=0";
        let mut settings: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
        if window > 1 {
            settings.extend([format!("window={window}"), "depth=2".into(), "solver_steps=1".into()]);
        }
        job((model, "step"), &format!("--model {model} --batch 1 --length {LENGTH} --channels 6"), &settings, request)
    };
    let jobs = vec![
        neural("ncde", 1),
        neural("log-ncde", 12),
        linear("step", ("linear-ncde", "dense"), (1, 1), request),
        linear("step", ("log-linear-ncde", "dense"), (1, 12), request),
    ];
    let known = |(model, seconds): (&'static str, f64)| known(model, "step", TIME.name, seconds / 1e3);
    let published = [("ncde", 26020.0), ("log-ncde", 2263.0), ("linear-ncde", 100.4), ("log-linear-ncde", 17.5)].map(known);
    Ok(plan("Linear and non-linear models on EigenWorms", request, jobs, published.into(), &[OWN_CHUNKS]))
}

pub(super) fn six(request: &Request) -> Result<Plan, Error> {
    let mut jobs = Vec::new();
    for (model, _) in PUBLISHED {
        if request.budget == Budget::Quick && !QUICK.contains(&model) && !request.models.iter().any(|name| name == model) {
            continue;
        }
        let preset = if ["ncde", "nrde", "log-ncde"].contains(&model) { model } else { "slice" };
        for shape in uea_shapes(model) {
            let size = format!(
                "--model {preset} --batch 32 --length {} --channels {} --classes {}",
                shape.length, shape.channels, shape.classes
            );
            jobs.push(job((model, shape.name), &size, &shape.settings, request));
        }
    }
    let notes = ["Models have the settings that the published search selected for each data set, batches of 32."];
    let cut = format!("Cut: {} alone (others with `--model`).", QUICK.join(" and "));
    let mut plan = plan("Training steps on the six data sets", request, jobs, Vec::new(), &notes);
    plan.differences.extend((request.budget == Budget::Quick).then_some(cut));
    plan.findings = means;
    Ok(plan)
}

/// The mean over the six data sets beside what was published.
fn means(records: &[Record]) -> Vec<String> {
    let tasks = names(records, |record| &record.task);
    let one = |(model, published): (&str, Option<f64>)| {
        let all: Option<Vec<f64>> = tasks.iter().map(|task| Some(mean(records, model, task, TIME.name)?.mean)).collect();
        let seconds = 1e3 * Mean::of(&all?)?.mean;
        let published = published.map_or_else(String::new, |seconds| format!("; published {seconds} s"));
        Some(format!("{model}: {seconds:.1} s for 1000 steps, the mean of {} data sets{published}.", tasks.len()))
    };
    PUBLISHED.into_iter().filter_map(one).collect()
}
