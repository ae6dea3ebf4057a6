//! `signature-regression`: a random dense Linear NCDE with a linear readout, against recurrences of S4D and S6 that are trained.
//!
//! ```text
//! area S^(1,2) of walks in 2 channels, volume S^(1,2,3) of walks in 3;   inputs and labels divided by their largest absolute value;   80/20, not shuffled
//! y = W r_m(... V r_1(U x)),   r a recurrence of S4D or S6, m = 1 or 2, between two of them V, or relu of it
//! ```
//!
//! Published: thesis, section on the expressivity of SSMs, as a figure; root mean square errors from the arrays beside its code.

use std::rc::Rc;

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_layers::expressive::features;
use serde_json::json;

use super::trained::{self, MSE, RMSE};
use crate::Error;
use crate::plan::{Budget, Control, Entry, Job, Plan, Published, Request};
use crate::record::{Measured, Record};
use crate::report::learning_curves;
use crate::series::{LeastSquares, Walks, term};
use crate::table::mean;

pub(super) const ENTRY: Entry = Entry {
    name: "signature-regression",
    summary: "signed area and volume of walks: a random Linear NCDE and least squares, against trained S4D and S6",
    needs: "nothing; walks are drawn",
    settings: true,
    plan,
};

/// The seed of the walks.
const DATA: u64 = 1234;
/// The seeds of weights.
const SEEDS: [u64; 5] = [1234, 1235, 1236, 1237, 1238];
const LENGTH: usize = 100;
/// Tasks: a name and how many channels; the word has each once, in order.
const TASKS: [(&str, usize); 2] = [("area-2d", 2), ("volume-3d", 3)];

/// Published root mean square errors; the two others are in the figure alone.
const PUBLISHED: [(&str, [f64; 2]); 5] = [
    (RANDOM, [0.0022, 0.0066]),
    ("s4d-1", [0.112, 0.0585]),
    ("s4d-2-relu", [0.0145, 0.0196]),
    ("s6-1", [0.0215, 0.035]),
    ("s6-2", [0.0016, 0.0042]),
];

const RANDOM: &str = "random-dense";
/// The error of guessing the mean of the training labels.
const GUESS: &str = "guess_rmse";

/// Walks and their labels, both divided by the largest absolute value of all.
#[derive(Debug)]
struct Scaled {
    channels: usize,
    walks: Vec<f64>,
    labels: Vec<f64>,
}

impl Scaled {
    fn drawn(channels: usize, count: usize) -> Self {
        let walks = Walks { channels, length: LENGTH, seed: DATA };
        let word: Vec<usize> = (0..channels).collect();
        let all: Vec<Vec<f64>> = (0..count as u64).map(|i| walks.walk(i)).collect();
        let labels = all.iter().map(|walk| term(walk, channels, &word)).collect();
        Self { channels, walks: unit(all.concat()), labels: unit(labels) }
    }

    fn train(&self) -> usize {
        self.labels.len() * 4 / 5
    }

    /// Those to train on, and those to test on.
    fn datasets(&self) -> [Dataset; 2] {
        let times: Vec<f64> = (0..LENGTH).map(|t| t as f64).collect();
        let case = |(i, values): (usize, &[f64])| Case {
            id: format!("walk-{i:06}"),
            times: times.clone(),
            values: values.to_vec(),
            statics: Vec::new(),
        };
        let cases: Vec<Case> = self.walks.chunks_exact(LENGTH * self.channels).enumerate().map(case).collect();
        let part = |range: std::ops::Range<usize>| Dataset {
            name: "walks".into(),
            channels: (1..=self.channels).map(|k| format!("x{k}")).collect(),
            statics: Vec::new(),
            times: Clock::Numbers,
            cases: cases[range.clone()].to_vec(),
            targets: Targets::Values { name: "term".into(), of: self.labels[range].to_vec() },
            vocabulary: None,
            groups: None,
        };
        [part(0..self.train()), part(self.train()..self.labels.len())]
    }
}

fn unit(values: Vec<f64>) -> Vec<f64> {
    let most = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    values.into_iter().map(|x| x / most.max(f64::MIN_POSITIVE)).collect()
}

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    let count = budget.of(4000, 100_000);
    let hidden = 256;
    let mut jobs = Vec::new();
    // The random one has no settings.
    for (task, channels) in TASKS.into_iter().filter(|_| request.set.is_empty()) {
        for seed in request.seeds(&SEEDS) {
            jobs.push(random((task, channels), count, hidden, seed));
        }
    }
    for (model, layers) in models(budget.of([32, 16], [hidden, 256])) {
        for (task, channels) in TASKS {
            for seed in request.seeds(&SEEDS) {
                let config = trained::config(&format!("{}{layers}", training(budget)), &[])?;
                let data = Rc::new(move || {
                    let [train, test] = Scaled::drawn(channels, count).datasets();
                    Ok(trained::Data::Files(train, Some(test)))
                });
                jobs.push(trained::job((model.clone(), task.into(), seed), (config, request), None, data)?);
            }
        }
    }
    let published = PUBLISHED.iter().flat_map(|(model, values)| {
        let one = |((task, _), &mean): ((&'static str, usize), &f64)| Published {
            model,
            task,
            metric: RMSE.name,
            mean,
            deviation: None,
        };
        TASKS.into_iter().zip(values).map(one)
    });
    Ok(Plan {
        title: format!("Terms of signatures, regressed ({budget})"),
        differences: differences(budget),
        jobs,
        metrics: vec![RMSE, trained::TIME],
        published: published.collect(),
        compared: true,
        figures: |records| learning_curves(records, "validation", &MSE),
        findings,
    })
}

fn random((task, channels): (&str, usize), count: usize, hidden: usize, seed: u64) -> Job {
    let settings = json!({"walks": count, "length": LENGTH, "channels": channels, "hidden": hidden, "data_seed": DATA});
    let work = move |control: &mut Control<'_>| {
        let data = Scaled::drawn(channels, count);
        (control.say)("walks are drawn, states are computed", 0.1);
        let walks: Vec<f32> = data.walks.iter().map(|&x| x as f32).collect();
        let begun = std::time::Instant::now();
        let states = features(&walks, [LENGTH, channels], hidden, seed)?;
        (control.say)("least squares", 0.7);
        let (train, test) = states.split_at(data.train() * hidden);
        let fitted = LeastSquares::fit(train, hidden, &data.labels[..data.train()]);
        let rmse = |states: &[f32], labels: &[f64]| {
            let errors = states.chunks_exact(hidden).zip(labels).map(|(row, y)| (fitted.predict(row) - y).powi(2));
            (errors.sum::<f64>() / labels.len().max(1) as f64).sqrt()
        };
        let (before, after) = data.labels.split_at(data.train());
        let mean = before.iter().sum::<f64>() / before.len() as f64;
        let guess = after.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / after.len() as f64;
        let values = [
            (RMSE.name, rmse(test, after)),
            (GUESS, guess.sqrt()),
            ("train_rmse", rmse(train, before)),
            ("solve_seconds", begun.elapsed().as_secs_f64()),
        ];
        Ok(Some(Measured::of(&values)))
    };
    Job { model: RANDOM.into(), task: task.into(), seed, settings, spare: None, work: Box::new(work) }
}

/// Trained models: one recurrence, two with a linear layer between them, and two with a linear layer and `ReLU`.
fn models([hidden, states]: [usize; 2]) -> Vec<(String, String)> {
    let layer = |text: String| format!("[[model.layers]]\nlayer = {text}\n");
    let linear = |outputs: usize| layer(format!("\"linear\"\noutputs = {outputs}"));
    let relu = layer("\"activation\"\nfunction = \"relu\"".into());
    let recurrences = [
        ("s4d", format!("\"state-space\"\nstates = {states}\ndiscretisation = \"zero-order-hold\"\nper_channel = true")),
        ("s6", format!("\"selective\"\nstates = {states}\nrank = {}", hidden.div_ceil(16))),
    ];
    let ends = [linear(hidden), layer("\"pool\"\nover = \"last\"".into()) + &linear(1)];
    let of = |(name, recurrence): (&str, String)| {
        let (recurrence, mix) = (layer(recurrence), linear(hidden));
        let bodies = [
            ("1", recurrence.clone()),
            ("2", format!("{recurrence}{mix}{recurrence}")),
            ("2-relu", format!("{recurrence}{mix}{relu}{recurrence}")),
        ];
        bodies.map(|(depth, body)| (format!("{name}-{depth}"), format!("{}{body}{}", ends[0], ends[1])))
    };
    recurrences.into_iter().flat_map(of).collect()
}

fn training(budget: Budget) -> String {
    let [steps, every] = budget.of([300, 100], [1_000_000, 10_000]);
    let rate = budget.of(1e-2, 1e-4);
    format!(
        "[prepare]\nscale = \"none\"\ntime = false\n[data]\nvalidation = 0.1\n[train]\nsteps = {steps}\nevaluate_every = {every}\nbatch = 32\n\
         rate = {rate}\nschedule = \"{}\"\noptimizer = \"adam\"\npatience = 0\nclip = {}\nmetric = \"mse\"\n",
        budget.of("cosine", "constant"),
        budget.of("1.0", "0.0"),
    )
}

fn differences(budget: Budget) -> Vec<String> {
    let mut all = vec![
        "The flow of the random Linear NCDE is exact on every straight piece; published: an adaptive solver at tolerance 1e-2. Its initial state is standard \
         normal and the same for all walks."
            .to_owned(),
        "S4D and S6 have a step for every observation, S4D by zero-order hold from S4D-Lin, and see the walk without time. Of s4d-2 and s6-2-relu the figure \
         alone was published."
            .into(),
        format!("How many walks were published on is not said; here {}.", budget.of("4000", "100,000")),
    ];
    if budget == Budget::Quick {
        all.push(
            "Cut: S4D and S6 have 32 numbers with 16 states each instead of 256 with 256, and 300 steps at rate 1e-2 that falls instead of a million at 1e-4; the random \
             one is whole. One seed."
                .into(),
        );
    }
    all
}

/// Whether a random Linear NCDE succeeds where one recurrence of S4D and of S6 fail.
fn findings(records: &[Record]) -> Vec<String> {
    let one = |(task, _): (&str, usize)| {
        let of = |model: &str, metric: &str| mean(records, model, task, metric).map(|seen| seen.mean);
        let (random, guess) = (of(RANDOM, RMSE.name)?, of(RANDOM, GUESS)?);
        let share = |model: &str| Some(format!("{model} {:.0} %", 100.0 * of(model, RMSE.name)? / guess));
        let list = |models: &[String]| models.iter().filter_map(|model| share(model)).collect::<Vec<_>>().join(", ");
        let all: Vec<String> = models([1, 1]).into_iter().map(|(model, _)| model).collect();
        let fail = ["s4d-1", "s6-1"].iter().filter_map(|model| of(model, RMSE.name)).all(|rmse| rmse > 2.0 * random);
        let holds = if fail { "holds" } else { "does NOT hold" };
        Some(format!(
            "{task}: of the error of a constant the random Linear NCDE has {:.1} %, {}. That one recurrence of S4D or S6 has more than twice the error of the random one, as published, {holds}.",
            100.0 * random / guess,
            list(&all)
        ))
    };
    TASKS.into_iter().filter_map(one).collect()
}
