//! `signature-regression`: a random dense Linear NCDE with a linear readout, against diagonal ones that are trained.
//!
//! ```text
//! area S^(1,2) of walks in 2 channels, volume S^(1,2,3) of walks in 3;   inputs and labels divided by their largest absolute value;   80/20, not shuffled
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
    summary: "signed area and volume of walks: a random Linear NCDE and least squares, against trained diagonal ones",
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

/// Published by the thesis's models of the same kind, which are not these models: S6 recurrences, and the random Linear NCDE.
const PUBLISHED: [(&str, [f64; 2]); 3] =
    [("random-dense", [0.0022, 0.0066]), ("diagonal-1", [0.0215, 0.035]), ("diagonal-2", [0.0016, 0.0042])];

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
    for (model, layers) in models(budget.of(64, hidden)) {
        for (task, channels) in TASKS {
            for seed in request.seeds(&SEEDS) {
                let config = trained::config(&format!("{}{layers}", training(budget)), &[])?;
                let data = Rc::new(move || {
                    let [train, test] = Scaled::drawn(channels, count).datasets();
                    Ok(trained::Data::Files(train, Some(test)))
                });
                jobs.push(trained::job((model.into(), task.into(), seed), (config, request), None, data)?);
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
        let values = [
            ("rmse", rmse(test, &data.labels[data.train()..])),
            ("train_rmse", rmse(train, &data.labels[..data.train()])),
            ("solve_seconds", begun.elapsed().as_secs_f64()),
        ];
        Ok(Some(Measured::of(&values)))
    };
    Job { model: "random-dense".into(), task: task.into(), seed, settings, spare: None, work: Box::new(work) }
}

/// Trained models: diagonal Linear NCDEs, one, two with a linear layer between them, and two with a linear layer and `ReLU`.
fn models(hidden: usize) -> [(&'static str, String); 3] {
    let cde = format!(
        "[[model.layers]]\nlayer = \"linear-cde\"\nhidden = {hidden}\nstructure = {{ kind = \"diagonal\" }}\n\
         drive = {{ kind = \"increments\", time = true }}\ninput = \"path\"\ninitial = \"first\"\n"
    );
    let mix = format!("[[model.layers]]\nlayer = \"linear\"\noutputs = {hidden}\n");
    let relu = "[[model.layers]]\nlayer = \"activation\"\nfunction = \"relu\"\n";
    let last = "[[model.layers]]\nlayer = \"pool\"\nover = \"last\"\n[[model.layers]]\nlayer = \"linear\"\noutputs = 1\n";
    [
        ("diagonal-1", format!("{cde}{last}")),
        ("diagonal-2", format!("{cde}{mix}{cde}{last}")),
        ("diagonal-2-relu", format!("{cde}{mix}{relu}{cde}{last}")),
    ]
}

fn training(budget: Budget) -> String {
    let [steps, every] = budget.of([1000, 250], [1_000_000, 10_000]);
    let rate = budget.of(3e-3, 1e-4);
    format!(
        "[prepare]\nscale = \"none\"\ntime = true\n[data]\nvalidation = 0.1\n[train]\nsteps = {steps}\nevaluate_every = {every}\nbatch = 32\n\
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
        "Published beside diagonal-1 and diagonal-2 are one and two S6 recurrences, another diagonal model; ours are diagonal Linear NCDEs with the gates \
         (t, X) of the thesis. S4D, which is not selective, has 0.112 and 0.0585 in one layer, and 0.0145 and 0.0196 in two with a non-linearity."
            .into(),
        format!("How many walks were published on is not said; here {}.", budget.of("4000", "100,000")),
    ];
    if budget == Budget::Quick {
        all.push(
            "Cut: trained models have 64 states instead of 256, and 1000 steps at rate 3e-3 instead of a million at 1e-4; the random one is whole. One seed."
                .into(),
        );
    }
    all
}

fn findings(records: &[Record]) -> Vec<String> {
    let limits = [("area-2d", 0.01), ("volume-3d", 0.02)];
    let one = |(task, limit): (&str, f64)| {
        let own = mean(records, "random-dense", task, RMSE.name)?;
        let verdict = if own.mean <= limit { "at most" } else { "NOT at most" };
        Some(format!("{task}: the random Linear NCDE has RMSE {:.4}, {verdict} {limit}.", own.mean))
    };
    limits.into_iter().filter_map(one).collect()
}
