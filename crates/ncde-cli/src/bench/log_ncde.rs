//! `ncde bench log-ncde`: one training step of a Log-NCDE without its optimizer, forward and reverse, gradients of the parameters;
//! loss = mean square of the last states.

use ncde_kernels::Float;
use ncde_kernels::neural::{Depth, Input, Network, Outputs, Solve};
use ncde_runtime::random::Stream;
use serde::Serialize;

use super::linear::{COEFFICIENTS, INITIAL, PARAMETERS, not_here, refused};
use super::{best, normal, on_device, report};
use crate::args::{BenchLogNcdeArgs, Dtype};
use crate::error::Failure;
use crate::memory;

pub(super) const WHAT: &str = "bench log-ncde";

/// Deviation of the log-signatures of windows.
const WINDOW: f64 = 0.3;

#[derive(Serialize)]
pub(super) struct Parameters<'a> {
    #[serde(flatten)]
    args: &'a BenchLogNcdeArgs,
    parameters: usize,
    coefficients: usize,
}

pub(super) fn run(args: &BenchLogNcdeArgs) -> Result<(), Failure> {
    on_device(args, &args.run.on, || match args.run.dtype {
        Dtype::F32 => time::<f32>(args),
        Dtype::F64 => Err(not_here()),
    })
}

pub(super) struct Job<T> {
    pub(super) solve: Solve,
    pub(super) parameters: Vec<T>,
    pub(super) coefficients: Vec<T>,
    pub(super) initial: Vec<T>,
    pub(super) dt: Vec<T>,
    /// The row of the control of each stage.
    pub(super) rows: Vec<usize>,
    /// The last step of each series.
    pub(super) last: Vec<usize>,
}

impl<T: Float> Job<T> {
    pub(super) fn new(args: &BenchLogNcdeArgs) -> Result<Self, Failure> {
        let &BenchLogNcdeArgs { batch, windows, channels, hidden, width, layers, steps, .. } = args;
        let network = Network::new(hidden, channels, &vec![width; layers]).map_err(refused(WHAT))?;
        let depth = if args.depth == 1 { Depth::One } else { Depth::Two };
        let solve = Solve::new(network).with_depth(depth);
        fits::<T>(args, &solve)?;
        let rate = WINDOW * windows as f64;
        let count = batch * windows * solve.coefficients();
        // Each stage reads the window that holds its time.
        let window = |n: usize| (n * windows / steps).min(windows - 1);
        let rows: Vec<usize> = (0..steps).flat_map(|n| [window(n), window(n + 1)]).collect();
        Ok(Self {
            parameters: parameters(&solve),
            coefficients: (0..count).map(|i| T::from_f64(rate * normal(COEFFICIENTS, i as u64))).collect(),
            initial: (0..batch * hidden).map(|i| T::from_f64(normal(INITIAL, i as u64))).collect(),
            dt: vec![T::from_f64(1.0 / steps as f64); batch * steps],
            rows: rows.repeat(batch),
            last: vec![steps - 1; batch],
            solve,
        })
    }
}

impl<'a> Parameters<'a> {
    pub(super) fn new(args: &'a BenchLogNcdeArgs, solve: &Solve) -> Self {
        Self { args, parameters: solve.network().parameters(), coefficients: solve.coefficients() }
    }
}

fn time<T: Float>(args: &BenchLogNcdeArgs) -> Result<(), Failure> {
    let &BenchLogNcdeArgs { batch, windows, hidden, steps, .. } = args;
    let Job { solve, parameters, coefficients, initial, dt, rows, last } = Job::<T>::new(args)?;
    let input = Input {
        batch,
        steps,
        control: windows,
        parameters: &parameters,
        coefficients: &coefficients,
        initial: &initial,
        dt: &dt,
        rows: &rows,
    };
    let factor = T::from_f64(2.0 / (batch * hidden) as f64);
    let mut states = Vec::new();
    let seconds = best(args.run.repeat, || {
        solve.forward_into(&input, Outputs::Every, &mut states).map_err(refused(WHAT))?;
        let ends = states.chunks_exact(steps * hidden).flat_map(|series| &series[(steps - 1) * hidden..]);
        let gradient: Vec<T> = ends.map(|&h| h * factor).collect();
        solve.backward(&input, &states, Outputs::At(&last), &gradient).map_err(refused(WHAT))
    })?;
    report("log-ncde", &Parameters::new(args, &solve), seconds)
}

/// Weights uniform within one over the square root of the inputs, no biases.
fn parameters<T: Float>(solve: &Solve) -> Vec<T> {
    let network = solve.network();
    let stream = Stream::from_key(PARAMETERS);
    let mut parameters = vec![T::ZERO; network.parameters()];
    for l in 0..network.layers() {
        let layer = network.layer(l);
        let scale = 1.0 / (layer.inputs as f64).sqrt();
        for i in layer.weight {
            parameters[i] = T::from_f64(scale * (2.0 * stream.uniform(i as u64) - 1.0));
        }
    }
    parameters
}

/// Refuses what cannot be held: states, controls and steps, parameters with the sums of their gradients.
fn fits<T: Float>(args: &BenchLogNcdeArgs, solve: &Solve) -> Result<(), Failure> {
    let size = size_of::<T>() as u128;
    let [batch, steps, windows] = [args.batch, args.steps, args.windows].map(|n| n as u128);
    let states = batch * steps * (args.hidden as u128 * size + size + 2 * size_of::<usize>() as u128);
    let controls = batch * windows * solve.coefficients() as u128 * size;
    memory::check(states + controls + 20 * solve.network().parameters() as u128 * size, |shortage| {
        format!("{WHAT}: for {batch} x {steps} x {} states {shortage}; lower `--batch` or `--steps`", args.hidden)
    })
}
