//! `ncde bench`: timings, one JSON line each, one file for each thing that is timed.

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod linear;
mod log_ncde;
mod random;
mod signature;
mod slice;
mod stream;
mod train;

use std::time::Instant;

use serde::Serialize;

use crate::args::{Bench, BenchArgs, BenchTableArgs, TableName};
use crate::error::Failure;
use crate::verbs::experiment;
use crate::{memory, output};

pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.bench {
        Bench::Signature(args) => signature::run(args),
        Bench::LogNcde(args) => log_ncde::run(args),
        Bench::Slice(args) => slice::run(args),
        Bench::Stream(args) => stream::run(args),
        Bench::Train(args) => train::run(args),
        Bench::Table(args @ BenchTableArgs { name: TableName::Thesis, .. }) => experiment::tables(args),
    }
}

/// The best of `repeat` runs after one that warms up, in seconds.
fn best<R>(repeat: usize, mut run: impl FnMut() -> Result<R, Failure>) -> Result<f64, Failure> {
    run()?;
    let mut best = f64::INFINITY;
    for _ in 0..repeat {
        let start = Instant::now();
        let result = run()?;
        best = best.min(start.elapsed().as_secs_f64());
        // Freeing the result is not part of the work.
        drop(result);
    }
    Ok(best)
}

/// What every line ends with.
#[derive(Serialize)]
struct Measured<'a, P> {
    bench: &'static str,
    #[serde(flatten)]
    parameters: &'a P,
    seconds: f64,
    peak_mib: Option<f64>,
}

/// Prints the line.
fn report<P: Serialize>(bench: &'static str, parameters: &P, seconds: f64) -> Result<(), Failure> {
    let peak_mib = memory::peak().map(memory::mib);
    let line = Measured { bench, parameters, seconds, peak_mib };
    output::data(|out| {
        serde_json::to_writer(&mut *out, &line)?;
        writeln!(out)
    })
}
