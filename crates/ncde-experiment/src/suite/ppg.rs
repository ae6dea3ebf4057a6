//! `ppg`: heart rates from signals at the wrist, windows of 13 minutes with a label every two seconds.
//!
//! Published: thesis, table of PPG-DaLiA results; mean square errors times 100 in the unit of labels scaled to [-1, 1], over five seeds.

use std::cell::RefCell;
use std::rc::Rc;

use ncde_report::statistics::Better;
use serde_json::json;

use super::trained::{self, Data, MEMORY, STEPS, TIME, TOTAL};
use crate::Error;
use crate::frontier::frontier;
use crate::plan::{Budget, Entry, Metric, Plan, Published, Request};
use crate::ppg::{Cut, Recording, Source, missing};
use crate::report::learning_curves;

pub(super) const ENTRY: Entry = Entry {
    name: "ppg",
    summary: "PPG-DaLiA: heart rate every 2 s from six signals at the wrist, windows of 49,920 observations",
    needs: "--data DIR with S1/S1.pkl to S15/S15.pkl (paper: about 12 GB of memory); quick draws recordings of the same form without",
    settings: true,
    plan,
};

const SEEDS: [u64; 5] = [2345, 3456, 4567, 5678, 6789];
/// The seed of the order of parts, and of recordings that are drawn: the same for all runs.
const DATA: u64 = 1234;
const TASK: &str = "heart-rate";

const ERROR: Metric =
    Metric { name: "mse", title: "test mean square error (x 1e-2)", factor: 100.0, digits: 2, better: Some(Better::Less) };
const VALIDATION: Metric = Metric { title: "validation mean square error (x 1e-2)", ..ERROR };

/// The models, and what was published for them: mean and deviation times 100.
const MODELS: [(&str, Option<[f64; 2]>); 12] = [
    ("log-ncde", Some([9.56, 0.59])),
    ("nrde", Some([9.90, 0.97])),
    ("ncde", Some([13.54, 0.69])),
    ("lru", Some([12.17, 0.49])),
    ("s5", Some([12.63, 1.25])),
    ("s6", Some([12.88, 2.05])),
    ("mamba", Some([10.65, 2.20])),
    ("block", None),
    ("diagonal", None),
    ("diagonal-dense", None),
    ("dense", None),
    ("stack", None),
];

/// The models that `quick` trains.
const QUICK: [&str; 3] = ["block", "diagonal", "log-ncde"];

/// What the search selected for a stacked model: rate, whether time is a channel, numbers between blocks, blocks and states, dropout, and what Mamba has more.
type Stacked = (&'static str, f64, bool, [usize; 3], f64, &'static str);

/// Of the states of S5 one of each conjugate pair is held.
const STACKED: [Stacked; 4] = [
    ("lru", 1e-3, false, [128, 6, 256], 0.1, ""),
    ("s5", 1e-3, true, [16, 6, 32], 0.05, ""),
    ("s6", 1e-4, true, [64, 2, 64], 0.1, ""),
    ("mamba", 1e-3, false, [128, 4, 64], 0.1, "convolution = 3\nexpand = 2\n"),
];

fn settings(budget: Budget, model: &str) -> String {
    let neural = ["ncde", "nrde", "log-ncde"].contains(&model);
    let stacked = STACKED.iter().find(|(name, ..)| *name == model);
    // Selected by the published search.
    let (rate, time) = stacked.map_or((1e-3, true), |&(_, rate, time, ..)| (rate, time));
    let published = stacked.map_or(if model == "ncde" { 16 } else { 128 }, |(_, _, _, [hidden, ..], ..)| *hidden);
    let hidden = budget.of(16, published);
    let [layers, width] = budget.of([2, 32], if model == "log-ncde" { [3, 64] } else { [4, 128] });
    let window = budget.of("depth = 2\nwindow = 16\n", "depth = 1\nwindow = 10\n");
    let plain = "norm = false\nskip = false\nhead_layers = 0\n";
    let field = format!("field_layers = {layers}\nfield_width = {width}\n{plain}");
    let body = match (model, stacked) {
        (_, Some((_, _, _, [_, blocks, states], dropout, more))) => {
            let [blocks, states] = budget.of([2, 16], [*blocks, *states]);
            format!("name = \"{model}\"\nblocks = {blocks}\nstates = {states}\n{more}real_gaps = false\ndropout = {dropout}\n")
        }
        ("stack", _) => "name = \"stack\"\nmembers = 1\ndrive = \"increments\"\n".into(),
        ("ncde", _) => format!("name = \"ncde\"\n{field}"),
        (model, _) if neural => format!("name = \"{model}\"\n{field}{window}solver_steps = 1\n"),
        // Over thousands of heartbeats a flow that can grow does: exact flows of blocks that never expand, the preset's own choice for labels at steps.
        (structure, _) => {
            let size = trained::structured(structure, hidden);
            format!("name = \"slice\"\nstructure = \"{structure}\"\n{size}depth = 1\nwindow = {}\n", budget.of(16, 10))
        }
    };
    let every = if neural { 100 } else { 1000 };
    let [steps, every, patience] = budget.of([200, 50, 0], [100_000, every, 11 * every]);
    let batch = budget.of(8, if model == "stack" || stacked.is_some() { 4 } else { 32 });
    format!(
        "[prepare]\nscale = \"none\"\ntime = {time}\n[model]\n{body}hidden = {hidden}\n[train]\nsteps = {steps}\nbatch = {batch}\nrate = {}\nschedule = \"constant\"\n\
         optimizer = \"adam\"\nclip = {}\nevaluate_every = {every}\npatience = {patience}\nmetric = \"mse\"\n",
        budget.of(3e-3, rate),
        budget.of("1.0", "0.0"),
    )
}

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    if request.split.is_some() {
        return Err(Error::Refused(
            "the parts of `ppg` are parts of recordings, so `--split` has no meaning here; leave it out".into(),
        ));
    }
    let source = match (&request.data, budget) {
        (Some(directory), _) => Source::files(directory, budget.of(3, usize::MAX))?,
        (None, Budget::Quick) => Source::Drawn { people: 3, seconds: 1200, seed: DATA },
        (None, Budget::Paper) => return Err(missing("no directory of recordings was given")),
    };
    let drawn = matches!(source, Source::Drawn { .. });
    let cut = Cut { length: budget.of(4992, 49920), stride: 4992, seed: DATA };
    let said = json!({"people": source.people(), "window": cut.length, "stride": cut.stride, "seed": cut.seed});
    let task = if drawn { format!("{TASK}-drawn") } else { TASK.into() };
    let read = kept(source);
    let (mut jobs, mut published) = (Vec::new(), Vec::new());
    for (model, known) in MODELS {
        if let Some([mean, deviation]) = known.filter(|_| !drawn) {
            let (metric, deviation) = (ERROR.name, Some(deviation / 100.0));
            published.push(Published { model, task: TASK, metric, mean: mean / 100.0, deviation });
        }
        if !request.wants(model, &QUICK) {
            continue;
        }
        for seed in request.seeds(&SEEDS) {
            let config = trained::config(&settings(budget, model), &[])?;
            let read = read.clone();
            let data = Rc::new(move || {
                let own = cut.windows(&read()?);
                Ok(Data::InParts { data: own.data, validation: own.validation, test: own.test })
            });
            jobs.push(trained::job((model.into(), task.clone(), seed), (config, request), Some(&said), data)?);
        }
    }
    Ok(Plan {
        title: format!("PPG-DaLiA ({budget})"),
        differences: differences(budget, drawn),
        jobs,
        metrics: vec![ERROR, TIME, STEPS, TOTAL, MEMORY],
        published,
        compared: false,
        figures: |records| {
            let mut all = vec![frontier(records, &ERROR, &TIME, Some(&MEMORY))];
            all.extend(learning_curves(records, "validation", &VALIDATION));
            all
        },
        findings: |_| Vec::new(),
    })
}

/// Reads recordings once, for all runs.
fn kept(source: Source) -> Rc<dyn Fn() -> Result<Rc<Vec<Recording>>, Error>> {
    let place: RefCell<Option<Rc<Vec<Recording>>>> = RefCell::new(None);
    Rc::new(move || {
        if let Some(own) = &*place.borrow() {
            return Ok(own.clone());
        }
        let own = Rc::new(source.recordings()?);
        *place.borrow_mut() = Some(own.clone());
        Ok(own)
    })
}

fn differences(budget: Budget, drawn: bool) -> Vec<String> {
    let mut all = vec![
        "LRU, S5, S6 and Mamba have layer norms and silu where the published blocks have batch norms (LRU, S5) and gelu.".to_owned(),
        "Which of the three parts of a person's recording is trained, validated and tested on is drawn from a seed, the same for all runs; the published order was \
         drawn without one."
            .into(),
        "Signals are scaled by the training part of a person; published by the whole recording. Labels are scaled by the whole recording, as published: that \
         is the unit of the errors."
            .into(),
        "An error is over all labels of all windows, at the last of the 128 observations of each; windows overlap, as published. The last layer is linear; \
         published: a tanh behind it."
            .into(),
        "Structures have no published setting: they take states and windows of the Log-NCDE, and exact flows of which no state grows, an added input and rates of \
         forgetting; those that have no such flow (dplr, sparse, walsh-hadamard) are left out. Also published: LinOSS-IM 6.40, D-LinOSS 6.16, LogSig-SSM 4.46.".into(),
    ];
    if drawn {
        all.push("DRAWN DATA: no `--data` was given, so these are three made-up recordings of 20 minutes in the form of the archive's; errors say nothing about it.".into());
    }
    if budget == Budget::Quick {
        all.push(format!(
            "Cut: {} alone (others with `--model`), three people at most, windows of 4992 observations instead of 49,920, 200 steps of 8 windows at rate 3e-3 instead of up to \
             100,000 of 32 at 1e-3, 16 states instead of 128, fields of 2 layers of 32, Log-ODE windows of 16 at depth 2 instead of 10 at depth 1. One seed.",
            QUICK.join(", ")
        ));
    }
    all
}
