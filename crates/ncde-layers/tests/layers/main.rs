//! Layers: one body of tests over all of them, at odd shapes, on ragged batches.
//!
//! | file | what it says |
//! | --- | --- |
//! | `samples` | compositions of layers; every layer must have one |
//! | `run` | series, weights, and both forms of a sample |
//! | `forms` | a batch is its series one row at a time, also in the middle of windows |
//! | `gpu` | a device gives what the processor gives |
//! | `gradients` | gradients are finite differences |
//! | `invariance` | neither padding nor batch nor order nor threads nor a file change anything |
//! | `identities` | layers against their equations |
//! | `neural` | the same for neural CDEs |
//! | `precision` | numbers in f32 are those in f64 |
//! | `first_values` | how weights are drawn |
//! | `stability` | contractive flows never expand |
//! | `refusals` | what makes no sense is refused, by place and name |
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]
#![allow(clippy::needless_pass_by_value, reason = "settings are written where they are used")]

#[path = "../common/mod.rs"]
mod common;
mod features;
mod first_values;
mod forms;
#[cfg(feature = "gpu")]
mod gpu;
mod gradients;
mod identities;
mod invariance;
mod neural;
mod precision;
mod refusals;
mod run;
mod samples;
mod stability;

use ncde_runtime::LayerSpec;

/// All layers of the registry by name; it does not compile if one is missing.
macro_rules! every {
    ($($name:ident),*) => {
        fn variant(layer: &LayerSpec) -> &'static str {
            match layer {
                $(LayerSpec::$name(_) => stringify!($name),)*
            }
        }
        const VARIANTS: &[&str] = &[$(stringify!($name)),*];
    };
}

every!(
    Windows,
    LinearCde,
    PermutationDiagonal,
    NeuralCde,
    Reservoir,
    Memory,
    RandomFeatures,
    Signature,
    Embedding,
    Linear,
    Activation,
    LayerNorm,
    Standardise,
    Dropout,
    Residual,
    Beside,
    Parallel,
    Convolution,
    Pool
);

#[test]
fn every_layer_has_a_sample() {
    fn collect(layers: &[LayerSpec], seen: &mut Vec<&'static str>) {
        for layer in layers {
            seen.push(variant(layer));
            layer.layer().inside().into_iter().for_each(|list| collect(list, seen));
        }
    }
    let mut seen = Vec::new();
    samples::all().iter().for_each(|sample| collect(&sample.layers, &mut seen));
    let missing: Vec<_> = VARIANTS.iter().filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no sample has {missing:?}");
}
