//! A driving path that is also added to the state, and short windows: the same as log-signatures of the joint path.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use burn::tensor::Tensor;
use common::linear::{BATCH, OMEGA, STEPS, config, drive, model, structures};
use common::{B, difference, numbers};
use ncde::model::{Drive, Driving, InputTerm, LinearNcde, LinearNcdeConfig, StructureConfig};

/// States, and the gradients of the sum of their squares in `A` and `B`.
fn states_and_gradients(model: &LinearNcde<B>, states: Tensor<B, 4>) -> Vec<Vec<f64>> {
    let gradients = states.clone().square().sum().backward();
    let mut all = vec![numbers(states), numbers(model.a.grad(&gradients).unwrap())];
    all.extend(model.b.as_ref().map(|b| numbers(b.grad(&gradients).unwrap())));
    all
}

/// A path that is added to the state needs no second copy of itself in the log-signature.
#[test]
fn the_driving_path_as_its_own_input() {
    let cases = (1..=3).flat_map(|depth| [Driving::LogOde { depth, steps: 2 }, Driving::LogOde { depth, steps: 5 }]);
    for driving in cases.chain([Driving::Increments]) {
        for (structure, bracket_bytes) in structures().into_iter().flat_map(|s| [(s.clone(), 0), (s, 1 << 20)]) {
            let config = LinearNcdeConfig { bracket_bytes, ..config(structure.clone()) }.with_driving(driving);
            let own = model(&config.clone().with_input(InputTerm::Path));
            let twice = model(&config.with_input(InputTerm::Vector { channels: OMEGA }));
            let alone = drive(STEPS, 0.5, 0);
            let joint = Drive { xi: Some(alone.omega.clone()), ..alone.clone() };
            let seen = states_and_gradients(&own, own.states(&alone).unwrap());
            let wanted = states_and_gradients(&twice, twice.states(&joint).unwrap());
            for (what, (seen, wanted)) in ["states", "A", "B"].iter().zip(seen.iter().zip(&wanted)) {
                let error = difference(seen, wanted);
                assert!(error < 1e-11, "{structure:?} {driving:?}, {what}: {error}");
            }
        }
    }
    let refused = config(StructureConfig::Dense).with_columns(2).with_input(InputTerm::Path).init::<B>(&Default::default(), 0);
    assert!(refused.unwrap_err().to_string().contains("use `columns`"));
}

/// The same states and gradients from the increments of windows as from their log-signatures.
#[test]
fn short_windows_need_no_log_signature() {
    for structure in [StructureConfig::Dense, StructureConfig::Block { block: 2 }, StructureConfig::Diagonal] {
        for (steps, scale, input) in [
            (1, 1.0, InputTerm::None),
            (2, 0.3, InputTerm::Path),
            (3, 1.0, InputTerm::None),
            (3, 1.0, InputTerm::Path),
            (6, 0.5, InputTerm::Path),
        ] {
            let config = config(structure.clone()).with_driving(Driving::LogOde { depth: 2, steps }).with_input(input);
            let (model, drive) = (model(&config), drive(6, 0.5, 0));
            let transform = Arc::new(ncde_signature::Signature::log(OMEGA, 2, model.plan().basis()).unwrap());
            let path = Tensor::cat(vec![drive.omega.clone().narrow(1, 0, 1) * 0.0, drive.omega.clone().cumsum(1)], 1);
            let log = ncde::signature::windows(&transform, path, steps).unwrap() * scale;
            let lengths: Option<Arc<[usize]>> = Some([6 / steps, 1].into());
            let increments = (drive.omega.clone() * scale).reshape([BATCH, 6 / steps, steps, OMEGA]);
            let initial = || model.initial(&drive.first).unwrap();
            let both = [
                model.over_windows(initial(), log, lengths.clone()).unwrap(),
                model.over_increments(initial(), increments, scale, lengths).unwrap(),
            ];
            let [wanted, seen] = both.map(|states| states_and_gradients(&model, states));
            for (seen, wanted) in seen.iter().zip(&wanted) {
                let error = difference(seen, wanted);
                assert!(error < 1e-12, "{structure:?} {input:?} {steps}: {error}");
            }
        }
    }
    let (model, drive) = (model(&config(StructureConfig::Blocks { sizes: vec![3, 1] })), drive(6, 0.5, 0));
    let increments = drive.omega.reshape([BATCH, 3, 2, OMEGA]);
    let refused = model.over_increments(model.initial(&drive.first).unwrap(), increments, 1.0, None).unwrap_err().to_string();
    assert!(refused.contains("blocks of one size"), "{refused}");
}
