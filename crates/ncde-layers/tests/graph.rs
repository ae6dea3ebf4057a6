//! Threads that differentiate at once, each under the lock: every gradient is there, and right.
#![allow(clippy::unwrap_used, reason = "a test")]

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde_layers::layer::{Context, Network, Places, Rows};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;

type B = Autodiff<Flex>;

const THREADS: usize = 4;
const PASSES: usize = 1_000;

fn layers() -> Vec<LayerSpec> {
    let layers = r#"[
        {"layer": "linear-cde", "hidden": 4, "structure": {"kind": "block", "block": 2}, "drive": {"kind": "tokens"}, "initial": "learned"},
        {"layer": "residual", "layers": [{"layer": "linear", "outputs": 4}, {"layer": "activation", "function": "tanh"}]},
        {"layer": "layer-norm", "affine": true},
        {"layer": "pool", "over": "mean"},
        {"layer": "linear", "outputs": 2}
    ]"#;
    serde_json::from_str(layers).unwrap()
}

/// One pass forward and back, under the lock: the bits of all gradients.
fn pass(network: &mut Network<B>, weights: &Network<Flex>) -> Vec<Vec<u32>> {
    let _graph = ncde_layers::graph::lock();
    network.track(weights);
    let values = (0..2 * 5 * 3).map(|i| (0.7 * i as f32).sin()).collect::<Vec<f32>>();
    let values = Tensor::from_data(TensorData::new(values, [2, 5, 3]), &Default::default());
    let rows = Rows { values, places: Places::regular(&[5, 3]).into() };
    let loss = network.forward(rows, &Context::predict()).unwrap().values.square().sum();
    let gradients = network.gradients(&loss.backward()).unwrap();
    gradients.into_iter().map(|own| own.unwrap().into_data().iter().map(f32::to_bits).collect()).collect()
}

#[test]
fn threads_do_not_disturb_each_other_under_the_lock() {
    let weights = || Network::<Flex>::drawn(&layers(), &Signal::values(3), 1, &Default::default()).unwrap();
    let tracked = || Network::<B>::drawn(&layers(), &Signal::values(3), 1, &Default::default()).unwrap();
    let wanted = pass(&mut tracked(), &weights());
    assert!(wanted.iter().all(|own| own.iter().any(|&bits| f32::from_bits(bits) != 0.0)));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (wanted, weights, tracked) = (&wanted, &weights, &tracked);
            scope.spawn(move || {
                let (weights, mut network) = (weights(), tracked());
                for i in 0..PASSES {
                    assert_eq!(pass(&mut network, &weights), *wanted, "thread {thread}, pass {i}");
                }
            });
        }
    });
}
