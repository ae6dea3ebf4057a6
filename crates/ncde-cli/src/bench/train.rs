//! `ncde bench train`: whole steps of training on random series, as `ncde train` takes them: a batch, forward, in reverse, update.

use std::ops::ControlFlow;
use std::time::Instant;

use ncde_data::{Case, Clock, Dataset, Targets};
use ncde_train::{Config, Event, Run, TrainRequest};
use serde::Serialize;

use super::normal;
use crate::args::BenchTrainArgs;
use crate::error::Failure;
use crate::verbs::train::device;
use crate::{memory, output, threads};

/// Steps before the clock starts: kernels are compiled in the first, and memory is taken.
const WARM: usize = 5;
/// Steps whose mean counts as one.
const TOGETHER: usize = 10;
/// Batches that there are cases for.
const BATCHES: usize = 4;
/// Numbers of the stream of values; that of classes is the next.
const VALUES: u64 = 40;

#[derive(Serialize)]
struct Measured<'a> {
    bench: &'static str,
    #[serde(flatten)]
    args: &'a BenchTrainArgs,
    parameters: usize,
    steps: usize,
    /// A step: the best mean of [`TOGETHER`], as a device has two at a time, and the median.
    seconds: f64,
    median: f64,
    peak_mib: Option<f64>,
}

pub(super) fn run(args: &BenchTrainArgs) -> Result<(), Failure> {
    let device = device(args.run.device)?;
    let mut config = Config::default();
    let steps = WARM + args.steps;
    let fixed = [
        format!("model.name={}", args.model),
        format!("train.batch={}", args.batch),
        format!("train.steps={steps}"),
        format!("train.evaluate_every={steps}"),
        "train.patience=0".into(),
        "train.seed=0".into(),
    ];
    for assignment in fixed.iter().chain(&args.set) {
        config.set(assignment)?;
    }
    threads::on(args.run.threads, || {
        let directory = std::env::temp_dir().join(format!("ncde-bench-{}", std::process::id()));
        let run = Run::new(&config, series(args), None)?.with_device(device);
        let (mut times, mut parameters, mut last) = (Vec::with_capacity(steps), 0, Instant::now());
        let done = run.train(&TrainRequest::new(&directory), &mut |event| {
            match event {
                Event::Started { parameters: count, .. } => (parameters, last) = (count, Instant::now()),
                Event::Step { .. } => {
                    times.push(last.elapsed().as_secs_f64());
                    last = Instant::now();
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        // Whatever happened, nothing stays behind.
        let _ = std::fs::remove_dir_all(&directory);
        done?;
        let mut times = times.split_off(WARM.min(times.len()));
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let best = times.chunks_exact(TOGETHER.min(times.len()).max(1)).map(mean).reduce(f64::min);
        times.sort_by(f64::total_cmp);
        output::json(&Measured {
            bench: "train",
            args,
            parameters,
            steps: times.len(),
            seconds: best.unwrap_or(f64::NAN),
            median: times.get(times.len() / 2).copied().unwrap_or(f64::NAN),
            peak_mib: device.reserved().or_else(memory::peak).map(memory::mib),
        })
    })
}

/// Random walks, or random tokens with a label at each.
fn series(args: &BenchTrainArgs) -> Dataset {
    let (cases, classes) = (BATCHES * args.batch + args.batch, args.classes);
    let number = |i: usize, below: usize, stream: u64| ((normal(stream, i as u64).abs() * 1e6) as usize) % below;
    let values = |i: usize| -> Vec<f64> {
        let first = i * args.length * args.channels;
        if let Some(vocabulary) = args.tokens {
            return (0..args.length).map(|t| number(i * args.length + t, vocabulary, VALUES) as f64).collect();
        }
        let mut at = vec![0.0; args.channels];
        let mut out = Vec::with_capacity(args.length * args.channels);
        for t in 0..args.length {
            for (c, at) in at.iter_mut().enumerate() {
                *at += normal(VALUES, (first + t * args.channels + c) as u64);
                out.push(*at);
            }
        }
        out
    };
    let case = |i: usize| Case {
        id: format!("{i:06}"),
        times: (0..args.length).map(|t| t as f64).collect(),
        values: values(i),
        statics: Vec::new(),
    };
    let names: Vec<String> = (0..classes).map(|class| format!("{class}")).collect();
    // The first cases have every class, so that none is unknown.
    let class = |i: usize| if i < classes { i } else { number(i, classes, VALUES + 1) };
    let steps = |i: usize| (0..args.length).map(|t| Some(class(i * args.length + t))).collect();
    let targets = match args.tokens {
        Some(_) => Targets::ClassSteps { names, of: (0..cases).map(steps).collect() },
        None => Targets::Classes { names, of: (0..cases).map(class).collect() },
    };
    let channels = if args.tokens.is_some() { 1 } else { args.channels };
    Dataset {
        name: "random walks".into(),
        channels: (0..channels).map(|c| format!("x{c}")).collect(),
        statics: Vec::new(),
        times: Clock::Index,
        cases: (0..cases).map(case).collect(),
        targets,
        vocabulary: args.tokens.map(|count| (0..count).map(|token| format!("{token}")).collect()),
        groups: None,
    }
}
