//! Layers: one body of tests over all of them, at odd shapes, on ragged batches.
//!
//! | file | what it says |
//! | --- | --- |
//! | `samples` | compositions of layers; every layer must have one |
//! | `run` | series, weights, and both forms of a sample |
//! | `foreign` | a layer of another crate trains, is saved and streams |
//! | `forms` | a batch is its series one row at a time, also in the middle of windows |
//! | `gpu` | a device gives what the processor gives |
//! | `gradients` | gradients are finite differences |
//! | `invariance` | neither padding nor batch nor order nor threads nor a file change anything |
//! | `identities` | layers against their equations |
//! | `linear_ncdes` | S4D, S6 and DeltaNet against Linear NCDEs with their drives and structures |
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
mod foreign;
mod forms;
#[cfg(feature = "gpu")]
mod gpu;
mod gradients;
mod identities;
mod invariance;
mod linear_ncdes;
mod neural;
mod precision;
mod refusals;
mod run;
mod samples;
mod sequences;
mod stability;

use std::collections::BTreeSet;

use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Resolved;

#[test]
fn every_layer_has_a_sample() {
    let mut seen = BTreeSet::new();
    for sample in samples::all() {
        let layers = Resolved::new(&sample.layers, &sample.input).unwrap();
        layers.visit(&mut |node| {
            seen.insert(node.spec.name().to_owned());
        });
    }
    let missing: Vec<_> = LayerSpec::NAMES.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "no sample has {missing:?}");
}
