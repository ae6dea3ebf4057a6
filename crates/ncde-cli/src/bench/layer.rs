//! `ncde bench layer`: one forward and one reverse pass of any layers on random rows, loss = mean square of what comes out; or one row after the other.

use std::time::Instant;

use ncde_layers::burn::autodiff::Autodiff;
use ncde_layers::burn::flex::Flex;
use ncde_layers::burn::tensor::{Tensor, TensorData};
use ncde_layers::dense;
use ncde_layers::layer::{Context, LayerBackend, Network, Places, Rows};
use ncde_runtime::layer::{Resolved, Row, Signal, StateMemory, StepChain};
use ncde_runtime::{LayerSpec, Weights};
use serde::Serialize;

use super::{best, normal, report};
use crate::args::{BenchLayerArgs, Device, LayerOp};
use crate::error::{Failure, refuse};
use crate::threads;

/// Numbers of the stream of rows.
const ROWS: u64 = 50;
/// Rows of a run one after the other.
const OBSERVATIONS: usize = 10_000;

#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(flatten)]
    args: &'a BenchLayerArgs,
    parameters: usize,
}

/// The layers that are asked for: one in braces, or a list.
fn layers(args: &BenchLayerArgs) -> Result<Vec<LayerSpec>, Failure> {
    let text = args.layers.trim();
    let list = if text.starts_with('[') { text.to_owned() } else { format!("[{text}]") };
    serde_json::from_str(&list)
        .map_err(|e| Failure::Refused(format!("`{text}` is no layer of a model, or a list of them in brackets: {e}")))
}

pub(super) fn run(args: &BenchLayerArgs) -> Result<(), Failure> {
    let layers = layers(args)?;
    if args.op == LayerOp::Stream {
        if args.run.on.device != Device::Cpu {
            refuse!("rows are taken one by one on the CPU; use `--device cpu`");
        }
        return threads::on(args.run.on.threads, || stream(args, &layers));
    }
    match args.run.on.device {
        Device::Cpu => threads::on(args.run.on.threads, || time::<Flex>(args, &layers)),
        #[cfg(feature = "cuda")]
        Device::Cuda => time::<ncde_layers::gpu::Cuda>(args, &layers),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => time::<ncde_layers::gpu::Wgpu>(args, &layers),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        device => Err(Failure::NotBuilt { device }),
    }
}

fn failed(error: &impl std::fmt::Display) -> Failure {
    Failure::Refused(format!("bench layer: {error}"))
}

fn time<B: LayerBackend>(args: &BenchLayerArgs, layers: &[LayerSpec]) -> Result<(), Failure> {
    let (signal, device, shape) = (Signal::values(args.width), B::Device::default(), [args.batch, args.length, args.width]);
    let weights = Network::<B>::drawn(layers, &signal, 0, &device).map_err(|e| failed(&e))?;
    let values: Vec<f32> = (0..shape.iter().product()).map(|i| normal(ROWS, i as u64) as f32).collect();
    let values = Tensor::<B, 1>::from_data(TensorData::new(values, [shape.iter().product::<usize>()]), &device).reshape(shape);
    let places = std::sync::Arc::new(Places::regular(&vec![args.length; args.batch]));
    // What a device does is awaited by reading one number.
    let wait = |of: Tensor<B, 1>| of.into_scalar();
    let seconds = if args.op == LayerOp::Forward {
        best(args.run.repeat, || {
            let rows = Rows { values: values.clone(), places: places.clone() };
            Ok(wait(weights.forward(rows, &Context::predict()).map_err(|e| failed(&e))?.values.sum()))
        })?
    } else {
        let mut network = Network::<Autodiff<B>>::drawn(layers, &signal, 0, &device).map_err(|e| failed(&e))?;
        best(args.run.repeat, || {
            let _graph = ncde_layers::graph::lock();
            network.track(&weights);
            let rows = Rows { values: Tensor::from_inner(values.clone()).require_grad(), places: places.clone() };
            let squares = network.forward(rows, &Context::predict()).map_err(|e| failed(&e))?.values.square();
            // The mean by way of a product with one column: in reverse that of `mean` goes number by number through one that is spread over all.
            let ([batch, length, width], count) = (squares.dims(), squares.shape().num_elements());
            let shares = Tensor::full([width, 1], 1.0 / count as f64, &device);
            let loss = dense::product(squares.reshape([batch * length, width]), shares).map_err(|e| failed(&e))?.sum();
            let gradients = network.gradients(&loss.backward()).map_err(|e| failed(&e))?;
            let sums = gradients.into_iter().flatten().map(Tensor::sum);
            Ok(sums.reduce(|sum, next| sum + next).map(wait))
        })?
    };
    report("layer", &Parameters { args, parameters: weights.parameters() }, seconds)
}

/// The time of one row.
fn stream(args: &BenchLayerArgs, layers: &[LayerSpec]) -> Result<(), Failure> {
    let resolved = Resolved::new(layers, &Signal::values(args.width))?;
    let (drawn, count) = (resolved.drawn(0), args.width);
    let parameters = drawn.iter().map(|weight| weight.values.len()).sum();
    let mut chain = StepChain::new(&resolved, &mut Weights::of(drawn))?;
    let rows: Vec<f64> = (0..1024 * count).map(|i| normal(ROWS, i as u64)).collect();
    let mut seconds = f64::INFINITY;
    for _ in 0..=args.run.repeat {
        let mut memory = StateMemory::new(chain.memory());
        let start = Instant::now();
        for (t, values) in rows.chunks_exact(count).cycle().take(OBSERVATIONS).enumerate() {
            chain.push(0, memory.share(), Row { time: t as f64, values, statics: &[] })?;
        }
        seconds = seconds.min(start.elapsed().as_secs_f64() / OBSERVATIONS as f64);
    }
    report("layer", &Parameters { args, parameters }, seconds)
}
