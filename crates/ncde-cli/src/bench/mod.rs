//! `ncde bench`: timings, one JSON line each, one file for each thing that is timed.

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod layer;
mod linear;
mod log_ncde;
mod signature;
mod slice;
mod stream;
mod train;

use std::time::Instant;

use ncde_runtime::random::Stream;
use serde::Serialize;

use crate::args::{Bench, BenchArgs, BenchTableArgs, Device, TableName, WhereArgs};
use crate::error::Failure;
use crate::verbs::experiment;
use crate::{memory, output, threads};

pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.bench {
        Bench::Signature(args) => signature::run(args),
        Bench::LogNcde(args) => log_ncde::run(args),
        Bench::Slice(args) => slice::run(args),
        Bench::Layer(args) => layer::run(args),
        Bench::Stream(args) => stream::run(args),
        Bench::Train(args) => train::run(args),
        Bench::Table(args @ BenchTableArgs { name: TableName::Thesis, .. }) => experiment::tables(args),
    }
}

/// A bench that runs on GPUs too.
trait OnGpu: Sync {
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    fn on_gpu<R: cubecl::prelude::Runtime>(&self, gpu: &ncde_gpu::Gpu<R>) -> Result<(), Failure>;
}

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
impl<T: Sync> OnGpu for T {}

/// Runs a bench on its device; on the processor that is `cpu`.
fn on_device(args: &impl OnGpu, place: &WhereArgs, cpu: impl FnOnce() -> Result<(), Failure> + Send) -> Result<(), Failure> {
    #[cfg(not(any(feature = "cuda", feature = "wgpu")))]
    let _ = args;
    match place.device {
        Device::Cpu => threads::on(place.threads, cpu),
        #[cfg(feature = "cuda")]
        Device::Cuda => device::run(ncde_gpu::cuda, args),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => device::run(ncde_gpu::wgpu, args),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        other => Err(Failure::NotBuilt { device: other }),
    }
}

/// The `i`-th of a stream of standard normal numbers.
fn normal(seed: u64, i: u64) -> f64 {
    Stream::from_key(seed).normal(i)
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

fn report<P: Serialize>(bench: &'static str, parameters: &P, seconds: f64) -> Result<(), Failure> {
    let peak_mib = memory::peak().map(memory::mib);
    output::json(&Measured { bench, parameters, seconds, peak_mib })
}
