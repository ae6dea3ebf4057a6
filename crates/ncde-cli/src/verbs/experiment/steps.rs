//! Whole training steps at published shapes: `step-table`, and on a GPU the tables of `timing`.
//!
//! Each line is a process of `ncde bench train`: a batch, forward, in reverse, update. Its memory is that of the process, on a GPU what it reserves there. On a GPU the kernels choose the
//! chunks of the scan themselves; with the five sizes of the thesis the recurrence is timed alone.

use ncde_experiment::{Budget, Error, Job, Mean, Plan, Published, Record, Request, mean, names, uea_shapes};

use super::timing::{self, CHUNKS, GIGABYTES, LENGTH, LOG_ODE, MEMORY, SCAN, TIME, known, mebibytes};

/// Published means over the six data sets: seconds for 1000 steps and megabytes on an H100.
const PUBLISHED: [(&str, Option<[f64; 2]>); 14] = [
    ("block", Some([68.1, 2344.0])),
    ("diagonal", Some([11.0, 1875.0])),
    ("diagonal-dense", Some([66.7, 2302.0])),
    ("dense", Some([77.2, 12756.0])),
    ("walsh-hadamard", None),
    ("dplr", None),
    ("sparse", None),
    ("log-ncde", Some([1321.7, 2177.0])),
    ("nrde", Some([3431.0, 2858.0])),
    ("ncde", Some([6923.0, 1962.0])),
    ("lru", Some([26.9, 4308.0])),
    ("s5", Some([21.9, 3327.0])),
    ("s6", Some([20.1, 2938.0])),
    ("mamba", Some([60.0, 4535.0])),
];

/// The models whose preset is `slice`.
const STRUCTURES: [&str; 7] = ["block", "diagonal", "diagonal-dense", "dense", "walsh-hadamard", "dplr", "sparse"];

/// The models that `quick` times.
const QUICK: [&str; 2] = ["block", "diagonal"];

/// Steps of a model on series of a shape.
fn job((model, task): (&str, &str), shape: &str, settings: &[String], request: &Request) -> Job {
    // A model whose field is a network takes seconds a step on a processor.
    let steps = request.budget.of(3, if request.device == ncde_train::Device::Cpu { 5 } else { 20 });
    let mut arguments: Vec<String> = format!("train {shape} --steps {steps}").split_whitespace().map(str::to_owned).collect();
    arguments.extend(settings.iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
    timing::process(model, task, arguments)
}

fn plan(title: &str, request: &Request, jobs: Vec<Job>, published: Vec<Published>, notes: &[&str]) -> Plan {
    let mut differences = vec![
        "Whole training steps, the best of some after five that warm up; data are drawn at the shapes of the data sets."
            .to_owned(),
        "Published times and memories are of an H100, those of `eigenworms` of an RTX 4090.".into(),
    ];
    differences.extend(notes.iter().map(|&note| note.to_owned()));
    if request.budget == Budget::Quick {
        differences.push("Cut: three steps are timed.".into());
    }
    Plan {
        title: format!("{title} ({})", request.budget),
        differences,
        jobs,
        metrics: vec![TIME, MEMORY],
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
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for (structure, times) in SCAN {
        let task = "own-chunks";
        jobs.push(linear(task, (structure, structure), (1, 1), request));
        published.push(known(structure, task, TIME.name, times[4] / 1e3));
        // So many chunks are worked on at once as the published scan has parallel steps.
        for ((task, parallel), seconds) in CHUNKS.into_iter().zip(times) {
            let chunk = parallel.map(|parallel| LENGTH.div_ceil(parallel));
            jobs.push(timing::timed(structure, task, &timing::linear(structure, 1, LENGTH, chunk), request.budget));
            published.push(known(structure, task, TIME.name, seconds / 1e3));
        }
    }
    let alone = "Columns with chunks are one forward and one reverse pass of the recurrence alone.";
    Ok(plan("The parallel scan", request, jobs, published, &[OWN_CHUNKS, alone]))
}

pub(super) fn log_ode(request: &Request) -> Result<Plan, Error> {
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for ((structure, times), gigabytes) in LOG_ODE.into_iter().zip(GIGABYTES) {
        // Those with a parallel scan.
        for ((task, window), i) in [("every-observation", 1), ("windows-of-12", 12)].into_iter().zip([1, 3]) {
            jobs.push(linear(task, (structure, structure), (4, window), request));
            published.push(known(structure, task, TIME.name, times[i] / 1e3));
            published.push(known(structure, task, MEMORY.name, mebibytes(1e3 * gigabytes[i])));
        }
    }
    Ok(plan("Log-ODE windows", request, jobs, published, &[OWN_CHUNKS]))
}

pub(super) fn eigenworms(request: &Request) -> Result<Plan, Error> {
    // The fields that the published search selected for each.
    let neural = |(model, field): (&'static str, &str), window: usize| {
        let settings = format!("hidden=128 {field} readout=last norm=false skip=false head_layers=0");
        let mut settings: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
        if window > 1 {
            settings.extend([format!("window={window}"), "depth=2".into(), "solver_steps=1".into()]);
        }
        job((model, "step"), &format!("--model {model} --batch 1 --length {LENGTH} --channels 6"), &settings, request)
    };
    let jobs = vec![
        neural(("ncde", "field_layers=3 field_width=128"), 1),
        neural(("log-ncde", "field_layers=2 field_width=32"), 12),
        linear("step", ("linear-ncde", "dense"), (1, 1), request),
        linear("step", ("log-linear-ncde", "dense"), (1, 12), request),
    ];
    let known = |(model, seconds, megabytes): (&'static str, f64, f64)| {
        [known(model, "step", TIME.name, seconds / 1e3), known(model, "step", MEMORY.name, mebibytes(megabytes))]
    };
    let published = [
        ("ncde", 26020.0, 3484.0),
        ("log-ncde", 2263.0, 3494.0),
        ("linear-ncde", 100.4, 13730.0),
        ("log-linear-ncde", 17.5, 3492.0),
    ];
    let published = published.into_iter().flat_map(known).collect();
    Ok(plan("Linear and non-linear models on EigenWorms", request, jobs, published, &[OWN_CHUNKS]))
}

pub(super) fn six(request: &Request) -> Result<Plan, Error> {
    let mut jobs = Vec::new();
    for (model, _) in PUBLISHED {
        if request.budget == Budget::Quick && !QUICK.contains(&model) && !request.models.iter().any(|name| name == model) {
            continue;
        }
        let preset = if STRUCTURES.contains(&model) { "slice" } else { model };
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
    let one = |(model, published): (&str, Option<[f64; 2]>)| {
        let over = |metric: &str| -> Option<f64> {
            let all: Option<Vec<f64>> = tasks.iter().map(|task| Some(mean(records, model, task, metric)?.mean)).collect();
            Some(Mean::of(&all?)?.mean)
        };
        let (seconds, held) = (1e3 * over(TIME.name)?, over(MEMORY.name).unwrap_or(f64::NAN));
        let published =
            published.map_or_else(String::new, |[seconds, held]| format!("; published {seconds} s, {:.0} MiB", mebibytes(held)));
        let count = tasks.len();
        Some(format!("{model}: {seconds:.1} s for 1000 steps and {held:.0} MiB, the means of {count} data sets{published}."))
    };
    PUBLISHED.into_iter().filter_map(one).collect()
}
