//! `ncde bench signature`: random walks `0.05 (z_1 + ... + z_t)`, `z` standard normal, `[batch, length, channels]`.

use ncde_signature::{Basis, Float, Paths, Signature};
use serde::Serialize;

use super::{best, normal, on_device, report};
use crate::args::{BenchSignatureArgs, Dtype, Op};
use crate::error::Failure;
use crate::memory;

const SEED: u64 = 0;
const SCALE: f64 = 0.05;

pub(super) const WHAT: &str = "bench signature";

#[derive(Serialize)]
pub(super) struct Parameters<'a> {
    #[serde(flatten)]
    args: &'a BenchSignatureArgs,
    coordinates: usize,
    input_mib: f64,
    output_mib: f64,
}

pub(super) fn run(args: &BenchSignatureArgs) -> Result<(), Failure> {
    on_device(args, &args.run.on, || match args.run.dtype {
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

#[allow(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
pub(super) fn refused(source: ncde_signature::Error) -> Failure {
    Failure::Refused(format!("{WHAT}: {source}"))
}

pub(super) fn transform(args: &BenchSignatureArgs) -> Result<Signature, Failure> {
    let signature = match args.op {
        Op::Sig | Op::SigBackward => Signature::new(args.channels, args.depth),
        Op::Logsig | Op::LogsigBackward => Signature::log(args.channels, args.depth, Basis::Lyndon),
    };
    signature.map_err(refused)
}

impl<'a> Parameters<'a> {
    pub(super) fn new<T>(args: &'a BenchSignatureArgs, coordinates: usize, results: usize) -> Self {
        let mib = |numbers: usize| memory::mib((numbers * size_of::<T>()) as u64);
        let input_mib = mib(args.batch * args.length * args.channels);
        Self { args, coordinates, input_mib, output_mib: mib(results * coordinates) }
    }
}

pub(super) fn fits<T: Float>(args: &BenchSignatureArgs) -> Result<(), Failure> {
    let sizes = [args.batch, args.length, args.channels, size_of::<T>()];
    let bytes = sizes.iter().fold(1_u128, |bytes, &size| bytes.saturating_mul(size as u128));
    let &BenchSignatureArgs { batch, length, channels, .. } = args;
    memory::check(bytes, |shortage| {
        format!("{WHAT}: for {batch} x {length} x {channels} numbers {shortage}; lower `--batch` or `--length`")
    })
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
