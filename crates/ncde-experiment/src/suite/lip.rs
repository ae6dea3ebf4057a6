//! `lip`: how the Lip(2) norm of a network grows with its depth, and the constants of the composition bound.
//!
//! ```text
//! |f|_Lip(2) <= 5^(2^(m-1) - 1) prod_i max{1, |L^i|^(2^(m-i))},   1 + a^(-gamma) <= C_gamma <= 1 + 2^gamma,   a + a^gamma = 1
//! ```
//!
//! Networks of width 8 with `SiLU` and 2, 3 or 4 hidden layers, fitted to `sign(x)` on `[-1, 1]`. Published: thesis, section on Lip(gamma) neural networks:
//! about 297 and 16910 at depths 3 and 4. How they were trained is not said.

use ncde_kernels::neural::Activation as Pointwise;
use ncde_report::plot::{Axis, Spacing};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Activation, Function, Linear, Signal};
use ncde_solve::field::{Activation as Smooth, Network};
use ncde_solve::lip;
use ncde_train::{Event, FitRequest, Padded, Plan as TrainPlan, Schedule, Shape, Source, Targets, fit, watching};
use serde_json::json;

use crate::plan::{Control, Entry, Job, Metric, Plan, Published, Request};
use crate::record::{Measured, Record};
use crate::table::mean;
use crate::{Error, Figure};

pub(super) const ENTRY: Entry = Entry {
    name: "lip",
    summary: "Lip(2) norms of networks fitted to sign(x), and the constants of the composition bound",
    needs: "nothing",
    settings: false,
    plan,
};

const WIDTH: usize = 8;
const DEPTHS: [usize; 3] = [2, 3, 4];
const SEEDS: [u64; 5] = [0, 1, 2, 3, 4];
const TASK: &str = "sign";
/// Points to train on, and points on each side of 0 to measure on.
const POINTS: usize = 400;
const MEASURED: usize = 300;

const NORM: Metric = Metric { name: "norm", title: "Lip(2) norm on points of [-1, 1]", factor: 1.0, digits: 1, better: None };
const BOUND: Metric =
    Metric { name: "log10_bound", title: "logarithm (base 10) of its bound", factor: 1.0, digits: 1, better: None };
const BEND: Metric =
    Metric { name: "bend", title: "its largest part: the slope of the derivative", factor: 1.0, digits: 1, better: None };
const ERROR: Metric = Metric { name: "error", title: "mean square error of the fit", factor: 1.0, digits: 4, better: None };

/// Curves of a run.
const FIT: &str = "fit of sign(x)";
const DERIVATIVE: &str = "derivative of the fit";

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    let steps = budget.of(3000, 20_000);
    let mut jobs = Vec::new();
    for depth in DEPTHS {
        for seed in request.seeds.clone().map_or_else(|| SEEDS.to_vec(), |seeds| seeds.of(&SEEDS)) {
            let work = move |control: &mut Control<'_>| fitted(depth, seed, steps, control);
            let settings = json!({"width": WIDTH, "depth": depth, "steps": steps, "points": POINTS, "rate": RATE});
            jobs.push(Job { model: name(depth), task: TASK.into(), seed, settings, spare: None, work: Box::new(work) });
        }
    }
    let known = |model, mean| Published { model, task: TASK, metric: NORM.name, mean, deviation: None };
    Ok(Plan {
        title: format!("Lip(gamma) norms ({budget})"),
        differences: vec![
            format!(
                "Training is not said in the thesis; here {steps} steps of Adam on {POINTS} points, rate from {RATE} down to 0. The norm depends on it."
            ),
            "The norm is the largest of its four parts over points, dense around 0: a lower bound of the norm on the interval."
                .into(),
        ],
        jobs,
        metrics: vec![NORM, BOUND, BEND, ERROR],
        published: vec![known("depth-3", 297.0), known("depth-4", 16910.0)],
        compared: false,
        figures,
        findings,
    })
}

fn name(depth: usize) -> String {
    format!("depth-{depth}")
}

/// The first learning rate.
const RATE: f64 = 0.02;

/// All points, and their signs, in every step.
struct Sign {
    rows: Padded,
    sign: Vec<f32>,
}

impl Source for Sign {
    fn batch(&mut self, _: usize) -> (Padded, Targets) {
        (self.rows.clone(), Targets::Numbers(vec![self.sign.clone()]))
    }
}

/// Fits a network to the sign, and measures its norm and its bound.
fn fitted(depth: usize, seed: u64, steps: usize, control: &mut Control<'_>) -> Result<Option<Measured>, Error> {
    let silu = || LayerSpec::Activation(Activation { function: Function::Each(Pointwise::Silu) });
    let hidden = (0..depth).flat_map(|_| [LayerSpec::Linear(Linear { outputs: WIDTH }), silu()]);
    let layers: Vec<LayerSpec> = hidden.chain([LayerSpec::Linear(Linear { outputs: 1 })]).collect();
    // Halfway between the places of a grid, so that 0, where the sign jumps, is none of them.
    let x: Vec<f32> = (0..POINTS).map(|i| ((i as f64 + 0.5) / POINTS as f64 * 2.0 - 1.0) as f32).collect();
    let sign: Vec<f32> = x.iter().map(|x| x.signum()).collect();
    // From the whole rate in the first step down to 0 in one more, which changes nothing.
    let schedule = Schedule { peak: RATE, floor: 0.0, warmup: 1.0, shape: Shape::Cosine };
    let plan = TrainPlan { schedule, seed, evaluate_every: steps + 1, recoveries: 0, ..TrainPlan::new(steps + 1, RATE) };
    let input = Signal::values(1);
    let request = FitRequest { stop: Some(control.stop), ..FitRequest::new(&layers, &input, &plan) };
    let mut error = f64::NAN;
    let trained = fit(
        &request,
        &mut Sign { rows: Padded::of([&x[..]], 1), sign },
        &mut watching(|event| {
            if let Event::Step { step, loss } = event {
                error = loss;
                if step % 100 == 0 {
                    (control.say)(&format!("step {step} of {steps}, error {error:.4}"), step as f64 / steps as f64);
                }
            }
        }),
    )?;
    if trained.reason.is_none() {
        return Ok(None);
    }
    let network = Network::new(1, 1, WIDTH, depth, Smooth::Silu, Smooth::Identity)?;
    // Layer by layer the matrix, then the vector, as both have them.
    let weights: Vec<f64> = trained.network.weights().iter().flat_map(|own| own.values.iter().map(|&x| f64::from(x))).collect();
    let side = (1..=MEASURED).map(|i| (i as f64 / MEASURED as f64).powi(3));
    let points: Vec<f64> = side.flat_map(|x| [-x, x]).chain([0.0]).collect();
    let jets = lip::Jets::of(&network, &weights, &points)?;
    let norm = jets.norm(2.0)?;
    let curve = |values: &[f64]| {
        let mut curve: Vec<[f64; 2]> = points.iter().zip(values).map(|(&x, &y)| [x, y]).collect();
        curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
        curve
    };
    let bound = lip::bound(&network, &weights, 1.0, 2.0)?;
    let values = [
        ("norm", norm.norm()),
        ("value", norm.value),
        ("slope", norm.slope),
        ("bend", norm.bend),
        ("log10_bound", bound.whole()),
        ("error", error),
    ];
    let measured = Measured::of(&values).with_curve(FIT, curve(&jets.values));
    Ok(Some(measured.with_curve(DERIVATIVE, curve(&jets.derivatives))))
}

fn figures(records: &[Record]) -> Vec<Figure> {
    let curve = |of: &dyn Fn(f64) -> Option<f64>| -> Vec<[f64; 2]> {
        (1..=100).map(|i| 1.0 + f64::from(i) / 100.0).filter_map(|gamma| Some([gamma, of(gamma)?])).collect()
    };
    let bounds = vec![
        ("at most 1 + 2^gamma".to_owned(), curve(&|gamma| Some(lip::constant(gamma)))),
        ("at least 1 + a^-gamma".to_owned(), curve(&|gamma| lip::optimal::smallest_constant(gamma).ok())),
    ];
    let (x, y) = (Axis::new("gamma", Spacing::Linear), Axis::new("C_gamma", Spacing::Linear));
    let constants = Figure::lines("The constant of the composition bound", x, y, bounds);
    let over = |metric: &str| -> Vec<[f64; 2]> {
        let point = |depth: usize| Some([depth as f64, mean(records, &name(depth), TASK, metric)?.mean]);
        DEPTHS.into_iter().filter_map(point).collect()
    };
    let measured = over(NORM.name).into_iter().map(|[depth, norm]| [depth, norm.log10()]).collect();
    let lines = vec![("norm".to_owned(), measured), ("bound".to_owned(), over(BOUND.name))];
    let (x, y) = (Axis::new("hidden layers", Spacing::Whole), Axis::new("log10", Spacing::Linear));
    let norms = Figure::lines("Lip(2) norm and its bound against depth", x, y, lines);
    // Of each depth the first seed.
    let drawn = |curve: &str| {
        let line = |&depth: &usize| {
            let first = records.iter().find(|record| record.model == name(depth))?;
            Some((name(depth), first.measured.curves.get(curve)?.clone()))
        };
        let (x, y) = (Axis::new("x", Spacing::Linear), Axis::new(curve, Spacing::Linear));
        Figure::lines(&format!("The {curve} against x, one seed"), x, y, DEPTHS.iter().filter_map(line).collect())
    };
    vec![constants, norms, drawn(FIT), drawn(DERIVATIVE)]
}

fn findings(records: &[Record]) -> Vec<String> {
    let norms: Vec<f64> =
        DEPTHS.iter().filter_map(|&depth| mean(records, &name(depth), TASK, NORM.name)).map(|own| own.mean).collect();
    let below = records.iter().all(|record| match (record.value(NORM.name), record.value(BOUND.name)) {
        (Some(norm), Some(bound)) => norm.log10() <= bound,
        _ => true,
    });
    let mut all = Vec::new();
    if norms.len() == DEPTHS.len() {
        let grows = norms.windows(2).all(|pair| pair[0] < pair[1]);
        all.push(format!("The norm {} with depth.", if grows { "grows" } else { "does NOT grow" }));
    }
    all.push(format!("Every norm {} its bound.", if below { "is below" } else { "is NOT below" }));
    all
}
