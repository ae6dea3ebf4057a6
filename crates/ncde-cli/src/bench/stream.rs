//! `ncde bench stream`: the time of one observation, one after the other, on one thread.

use ncde_kernels::{Float, Recurrence, Stream};
use serde::Serialize;

use super::linear::{COEFFICIENTS, INITIAL, not_here, refused};
use super::{best, normal, report};
use crate::args::{BenchStreamArgs, Device, Dtype};
use crate::error::{Failure, refuse};
use crate::threads;

const WHAT: &str = "bench stream";

/// Observations of a run.
const OBSERVATIONS: usize = 100_000;

/// Different steps; they repeat.
const STEPS: usize = 1024;

/// Deviation of the coefficients, small enough that no state explodes in a run.
const STEP: f64 = 0.05;

#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(flatten)]
    args: &'a BenchStreamArgs,
    observations: usize,
}

pub(super) fn run(args: &BenchStreamArgs) -> Result<(), Failure> {
    if args.run.on.device != Device::Cpu {
        refuse!("observations are streamed on the CPU; use `--device cpu`");
    }
    threads::on(args.run.on.threads, || match args.run.dtype {
        Dtype::F32 => time::<f32>(args),
        Dtype::F64 => Err(not_here()),
    })
}

fn time<T: Float>(args: &BenchStreamArgs) -> Result<(), Failure> {
    let field = args.field.field(WHAT)?;
    let a: Vec<T> = args.field.parameters(&field)?;
    let channels = args.field.channels;
    let recurrence = Recurrence::new(field).with_transition(args.field.transition);
    let mut stream = Stream::new(&recurrence, &a).map_err(refused(WHAT))?;
    let steps: Vec<T> = (0..STEPS * channels).map(|i| T::from_f64(STEP * normal(COEFFICIENTS, i as u64))).collect();
    let initial: Vec<T> = (0..args.field.hidden).map(|i| T::from_f64(normal(INITIAL, i as u64))).collect();
    let mut state = initial.clone();
    let all = best(args.run.repeat, || {
        for i in 0..OBSERVATIONS {
            let step = i % STEPS;
            if step == 0 {
                state.copy_from_slice(&initial);
            }
            stream.push(&mut state, &steps[step * channels..(step + 1) * channels], None).map_err(refused(WHAT))?;
        }
        Ok(())
    })?;
    report("stream", &Parameters { args, observations: OBSERVATIONS }, all / OBSERVATIONS as f64)
}
