//! Timings on a GPU: warmed up, and waited for. The best and the median, what was launched, and the memory of the device.

use std::time::Instant;

use cubecl::prelude::Runtime;
use ncde_gpu::neural::{self, Last, Method, Network, NeuralSolve};
use ncde_gpu::signature::{self as on_gpu, Coordinates, Output, Over};
use ncde_gpu::{Activation, Affine, Arrays, Error, Flow, Gpu, Recurrence, Shapes};
use ncde_kernels::{Mode, Transition};
use serde::Serialize;

use super::linear::{COEFFICIENTS, INITIAL};
use super::slice::{Parameters, STEP, WHAT};
use super::{OnGpu, log_ncde, normal, signature as of_walks};
use crate::args::{BenchLogNcdeArgs, BenchSignatureArgs, BenchSliceArgs, Dtype, Op};
use crate::error::{Failure, refuse};
use crate::{memory, output};

/// Runs before the clock starts: kernels are compiled in the first, and memory is taken.
const WARM: usize = 3;

#[allow(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
pub(super) fn failed(source: Error) -> Failure {
    Failure::Refused(source.to_string())
}

pub(super) fn run<R: Runtime>(device: fn() -> Result<Gpu<R>, Error>, args: &impl OnGpu) -> Result<(), Failure> {
    let gpu = device().map_err(failed)?;
    ncde_gpu::guarded(device, || args.on_gpu(&gpu)).map_err(failed)?
}

/// What a line ends with.
#[derive(Serialize)]
struct Measured<'a, P> {
    bench: &'static str,
    #[serde(flatten)]
    parameters: &'a P,
    seconds: f64,
    median: f64,
    launches: usize,
    peak_mib: f64,
    products: &'static str,
}

impl OnGpu for BenchSliceArgs {
    /// One forward and one reverse pass of the recurrence, loss = mean square of all states.
    fn on_gpu<R: Runtime>(&self, gpu: &Gpu<R>) -> Result<(), Failure> {
        let args = self;
        let field = args.field.field(WHAT)?;
        let Some(blocks) = field.structure().sizes() else {
            let name = field.structure().name();
            refuse!("{WHAT}: timings on a GPU are of block-diagonal structures, not {name}; use `--device cpu`");
        };
        if args.depth > 1 || args.run.dtype != Dtype::F32 {
            refuse!("{WHAT}: GPU kernels compute in f32 and at depth 1; use `--device cpu` for others");
        }
        let (batch, length, channels, hidden) = (args.batch, args.length, args.field.channels, args.field.hidden);
        let draw = |stream, count: usize, scale: f64| -> Vec<f32> {
            (0..count).map(|i| (scale * normal(stream, i as u64)) as f32).collect()
        };
        let arrays = Arrays {
            a: gpu.put(&args.field.parameters::<f32>(&field)?),
            coefficients: gpu.put(&draw(COEFFICIENTS, batch * length * channels, STEP * args.scale)),
            initial: gpu.put(&draw(INITIAL, batch * hidden, 1.0)),
            affine: None,
            lengths: None,
        };
        let flow = Flow { exact: args.field.transition == Transition::Exp, affine: Affine::None };
        let recurrence = Recurrence::new(blocks, flow).map_err(failed)?;
        let chunk = match args.mode {
            Mode::Auto => None,
            Mode::Recurrent => Some(length),
            Mode::Parallel => Some(args.chunk),
        };
        let gpu = &Gpu::new(gpu.client().clone()).with_chunk(chunk);
        let shapes = Shapes { batch, length, columns: 1, coefficients: channels };
        let factor = 2.0 / (batch * length * hidden) as f32;
        let run = || -> Result<(), Error> {
            let (states, saved) = recurrence.forward_kept(gpu, shapes, &arrays)?;
            let gradient = gpu.scaled(&states, factor);
            recurrence.backward(gpu, shapes, &arrays, (&states, &gradient), saved.as_ref(), true)?;
            gpu.wait()
        };
        let states = recurrence.forward(gpu, shapes, &arrays).and_then(|states| gpu.get(&states)).map_err(failed)?;
        if !states.iter().all(|x| x.is_finite()) {
            refuse!("{WHAT}: states overflow with these steps; lower `--scale` or `--length`");
        }
        measure(gpu, "slice", &Parameters { args, coefficients: channels, norm: f64::NAN, restart: None }, args.run.repeat, run)
    }
}

impl OnGpu for BenchLogNcdeArgs {
    /// One training step of a Log-NCDE without its optimizer: gradients of the parameters, loss = mean square of the last states.
    fn on_gpu<R: Runtime>(&self, gpu: &Gpu<R>) -> Result<(), Failure> {
        let args = self;
        if args.run.dtype != Dtype::F32 {
            refuse!("{}: GPU kernels compute in f32; use `--device cpu` for f64", log_ncde::WHAT);
        }
        let &BenchLogNcdeArgs { batch, windows, hidden, channels, steps, .. } = args;
        let job = log_ncde::Job::<f32>::new(args)?;
        let tableau = job.solve.method().tableau();
        let narrow = |row: &[f64]| row.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let method = Method { a: (0..tableau.stages()).map(|s| narrow(tableau.row(s))).collect(), b: narrow(tableau.b) };
        // What `ncde_kernels::neural::Network` has unless told otherwise.
        let (activation, last) = (Activation::Silu, Last::Tanh);
        let widths = job.solve.network().widths().to_vec();
        let network = Network { hidden, channels, widths, activation, before_last: activation, last };
        let solve = NeuralSolve::new(&network, &method, args.depth == 2).map_err(failed)?;
        let arrays = neural::Arrays {
            batch,
            steps,
            control: windows,
            parameters: gpu.put(&job.parameters),
            coefficients: gpu.put(&job.coefficients),
            initial: gpu.put(&job.initial),
            dt: &job.dt,
            rows: &job.rows,
        };
        let factor = 2.0 / (batch * hidden) as f32;
        let states = solve.forward(gpu, &arrays).and_then(|states| gpu.get(&states)).map_err(failed)?;
        if !states.iter().all(|x| x.is_finite()) {
            refuse!("{}: states overflow with these steps; take more `--steps`", log_ncde::WHAT);
        }
        let run = || -> Result<(), Error> {
            let states = solve.forward(gpu, &arrays)?;
            let ends = solve.states_at(gpu, &arrays, &states, &job.last)?;
            let gradient = gpu.scaled(&ends, factor);
            solve.backward(gpu, &arrays, (&states, &gradient), Some(&job.last), false)?;
            gpu.wait()
        };
        measure(gpu, "log-ncde", &log_ncde::Parameters::new(args, &job.solve), args.run.repeat, run)
    }
}

impl OnGpu for BenchSignatureArgs {
    /// Signatures or log-signatures of random walks, or one reverse pass of them from a gradient of ones.
    fn on_gpu<R: Runtime>(&self, gpu: &Gpu<R>) -> Result<(), Failure> {
        let args = self;
        if args.run.dtype != Dtype::F32 {
            refuse!("{}: GPU kernels compute in f32; use `--device cpu` for f64", of_walks::WHAT);
        }
        of_walks::fits::<f32>(args)?;
        let &BenchSignatureArgs { batch, length, channels, depth, .. } = args;
        let transform = of_walks::transform(args)?;
        let output = match transform.basis() {
            None => Output::Signature,
            Some(basis) => {
                let rows = basis.combinations().map_err(of_walks::refused)?;
                Output::Basis(Coordinates::new(channels, depth, rows).map_err(failed)?)
            }
        };
        let signature = on_gpu::Signature { channels, depth, output };
        let over = args.window.map_or(Over::Whole, Over::Windows);
        let arrays = on_gpu::Arrays { batch, length, path: gpu.put(&of_walks::walks::<f32>(args)) };
        let results = batch * over.results(length);
        let values = signature.forward(gpu, over, &arrays).and_then(|values| gpu.get(&values)).map_err(failed)?;
        if !values.iter().all(|x| x.is_finite()) {
            refuse!("{}: values overflow; lower `--length` or `--depth`", of_walks::WHAT);
        }
        let ones = gpu.put(&vec![1.0; results * signature.len()]);
        let run = || -> Result<(), Error> {
            match args.op {
                Op::Sig | Op::Logsig => signature.forward(gpu, over, &arrays)?,
                Op::SigBackward | Op::LogsigBackward => signature.backward(gpu, over, &arrays, &ones)?,
            };
            gpu.wait()
        };
        measure(gpu, "signature", &of_walks::Parameters::new::<f32>(args, signature.len(), results), args.run.repeat, run)
    }
}

/// Times some runs after those that warm up, and prints the line.
fn measure<R: Runtime, P: Serialize>(
    gpu: &Gpu<R>,
    bench: &'static str,
    parameters: &P,
    repeat: usize,
    run: impl Fn() -> Result<(), Error>,
) -> Result<(), Failure> {
    for _ in 0..WARM {
        run().map_err(failed)?;
    }
    let before = gpu.launches();
    let mut times = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        run().map_err(failed)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let line = Measured {
        bench,
        parameters,
        seconds: times[0],
        median: times[times.len() / 2],
        launches: (gpu.launches() - before) / repeat,
        peak_mib: memory::mib(gpu.memory().map_err(failed)?),
        products: gpu.rounding().name(),
    };
    output::json(&line)
}
