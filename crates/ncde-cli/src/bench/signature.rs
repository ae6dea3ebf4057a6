//! `ncde bench signature`: random walks `0.05 (z_1 + ... + z_t)`, `z` standard normal, `[batch, length, channels]`.

use ncde_signature::{Basis, Float, Paths, Signature};
use serde::Serialize;

use super::random::normal;
use super::{best, report};
use crate::args::{BenchSignatureArgs, Device, Dtype, Op};
use crate::error::Failure;
use crate::{memory, threads};

const SEED: u64 = 0;
const SCALE: f64 = 0.05;

pub(super) const WHAT: &str = "bench signature";

#[derive(Serialize)]
pub(super) struct Parameters {
    op: Op,
    batch: usize,
    length: usize,
    channels: usize,
    depth: usize,
    window: Option<usize>,
    dtype: Dtype,
    device: Device,
    threads: usize,
    repeat: usize,
    coordinates: usize,
    input_mib: f64,
    output_mib: f64,
}

pub(super) fn run(args: &BenchSignatureArgs) -> Result<(), Failure> {
    match args.run.on.device {
        Device::Cpu => {}
        #[cfg(feature = "cuda")]
        Device::Cuda => return super::device::signature(ncde_gpu::cuda, args),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => return super::device::signature(ncde_gpu::wgpu, args),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        other => return Err(Failure::NotBuilt { device: other }),
    }
    threads::on(args.run.on.threads, || match args.dtype {
        Dtype::F32 => time::<f32>(args),
        Dtype::F64 => time::<f64>(args),
    })
}

fn time<T: Float>(args: &BenchSignatureArgs) -> Result<(), Failure> {
    fits::<T>(args)?;
    let signature = transform(args)?;
    let values: Vec<T> = walks(args);
    let paths = Paths::new(&values, args.batch, args.length, args.channels).map_err(refused)?;
    let intervals = paths.windows(args.window.unwrap_or(usize::MAX)).map_err(refused)?;
    let outputs = intervals.len() * signature.len();
    let seconds = match args.op {
        Op::Sig | Op::Logsig => best(args.run.repeat, || signature.intervals(&paths, &intervals).map_err(refused))?,
        Op::SigBackward | Op::LogsigBackward => {
            let gradient = vec![T::ONE; outputs];
            best(args.run.repeat, || signature.intervals_backward(&paths, &intervals, &gradient).map_err(refused))?
        }
    };
    report("signature", &Parameters::new::<T>(args, signature.len(), intervals.len()), seconds)
}

pub(super) fn refused(source: ncde_signature::Error) -> Failure {
    Failure::Signature { what: WHAT.into(), source }
}

/// What is timed.
pub(super) fn transform(args: &BenchSignatureArgs) -> Result<Signature, Failure> {
    let signature = match args.op {
        Op::Sig | Op::SigBackward => Signature::new(args.channels, args.depth),
        Op::Logsig | Op::LogsigBackward => Signature::log(args.channels, args.depth, Basis::Lyndon),
    };
    signature.map_err(refused)
}

impl Parameters {
    pub(super) fn new<T>(args: &BenchSignatureArgs, coordinates: usize, results: usize) -> Self {
        let size = |numbers: usize| memory::mib((numbers * size_of::<T>()) as u64);
        Self {
            op: args.op,
            batch: args.batch,
            length: args.length,
            channels: args.channels,
            depth: args.depth,
            window: args.window,
            dtype: args.dtype,
            device: args.run.on.device,
            threads: args.run.on.threads,
            repeat: args.run.repeat,
            coordinates,
            input_mib: size(args.batch * args.length * args.channels),
            output_mib: size(results * coordinates),
        }
    }
}

/// Refuses walks that cannot be held.
pub(super) fn fits<T: Float>(args: &BenchSignatureArgs) -> Result<(), Failure> {
    let sizes = [args.batch, args.length, args.channels, size_of::<T>()];
    let bytes = sizes.iter().fold(1_u128, |bytes, &size| bytes.saturating_mul(size as u128));
    match memory::shortage(bytes) {
        None => Ok(()),
        Some(shortage) => Err(Failure::Refused(format!(
            "{WHAT}: for {} x {} x {} numbers {shortage}; lower `--batch` or `--length`",
            args.batch, args.length, args.channels
        ))),
    }
}

/// Walks as the peers draw them: cumulated in f64, rounded, then scaled.
pub(super) fn walks<T: Float>(args: &BenchSignatureArgs) -> Vec<T> {
    let &BenchSignatureArgs { batch, length, channels, .. } = args;
    let mut values = vec![T::ZERO; batch * length * channels];
    let scale = T::from_f64(SCALE);
    for (path, rows) in values.chunks_exact_mut(length * channels).enumerate() {
        let mut sums = vec![0.0; channels];
        for (i, value) in rows.iter_mut().enumerate() {
            let sum = &mut sums[i % channels];
            *sum += normal(SEED, (path * length * channels + i) as u64);
            *value = T::from_f64(*sum) * scale;
        }
    }
    values
}
