//! How weights are drawn: deviations, norms, rates of forgetting.

use ncde_runtime::layer::{Signal, weights};
use ncde_runtime::random::Stream;
use ncde_runtime::{LayerSpec, NamedWeight};
use serde_json::{Value, json};

use crate::common::apply;
use crate::samples::{cde, sample};

/// The parameters of a linear CDE driven by as many channels, and with a mask the places of its entries.
fn drawn(hidden: usize, structure: Value, channels: usize, more: Value) -> Vec<NamedWeight> {
    let layer = cde(hidden, structure, crate::samples::with(&json!({"drive": {"kind": "increments"}}), more));
    let sample = sample("drawn", Signal::values(channels), json!([layer]));
    let all = weights(&sample.layers, &sample.input).unwrap().into_iter().enumerate();
    all.map(|(i, weight)| NamedWeight {
        values: weight.draw(&Stream::new(11, 2).child(i as u64)),
        name: weight.name,
        shape: weight.shape,
    })
    .collect()
}

fn deviation(x: &[f32]) -> f64 {
    (x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
}

#[test]
fn scaled_weights_have_their_deviations() {
    let half = json!({"init": {"kind": "scaled", "deviation": 0.5}});
    let draw = |structure: Value| drawn(64, structure, 16, half.clone()).remove(0).values;
    for (structure, wanted) in [
        (json!({"kind": "dense"}), 0.5 / 8.0),
        (json!({"kind": "diagonal"}), 0.5),
        (json!({"kind": "block", "block": 4}), 0.25),
        (json!({"kind": "sparse", "epsilon": 0.5}), 0.5 / 8.0),
        (json!({"kind": "walsh-hadamard", "bound": "none"}), 0.5),
    ] {
        let seen = deviation(&draw(structure.clone()));
        assert!((seen / wanted - 1.0).abs() < 0.06, "{structure}: {seen} {wanted}");
    }
    let part = |all: &[f32], each: usize, range: std::ops::Range<usize>| -> Vec<f32> {
        all.chunks(each).flat_map(|own| own[range.clone()].to_vec()).collect()
    };
    let dplr = draw(json!({"kind": "dplr", "rank": 4}));
    assert!((deviation(&part(&dplr, 576, 0..64)) / 0.5 - 1.0).abs() < 0.06);
    assert!((deviation(&part(&dplr, 576, 64..576)) / 0.25 - 1.0).abs() < 0.06);
    let mut tail = draw(json!({"kind": "diagonal-dense", "block": 16}));
    assert!((deviation(&part(&tail, 48 + 256, 48..304)) / 0.125 - 1.0).abs() < 0.06);
    // No number is used twice.
    tail.sort_by(f32::total_cmp);
    assert!(tail.windows(2).filter(|pair| pair[0] == pair[1]).count() < 3);
}

/// `|A^k h|^2 / H` and `|A^k A^l h|^2 / H` are 1 on average, products with different words 0.
#[test]
fn expressive_weights_keep_norms() {
    let (hidden, channels) = (128, 48);
    let log = 5; // ceil(log 128)
    let sizes = [vec![log; 25], vec![3]].concat();
    for structure in [
        json!({"kind": "dense"}),
        json!({"kind": "blocks", "sizes": sizes}),
        json!({"kind": "dplr", "rank": log}),
        json!({"kind": "sparse", "epsilon": 0.5}),
        json!({"kind": "walsh-hadamard", "bound": "none"}),
    ] {
        let more = json!({"init": {"kind": "maximally-expressive"}});
        let all = drawn(hidden, structure.clone(), channels, more.clone());
        let mask = all.iter().find(|weight| weight.name == "layers.0.mask").map(|weight| weight.values.as_slice());
        let layer = cde(hidden, structure.clone(), crate::samples::with(&json!({"drive": {"kind": "increments"}}), more));
        let LayerSpec::LinearCde(spec) = serde_json::from_value(layer).unwrap() else { unreachable!("it is one") };
        let field = spec.prepare(&Signal::values(channels), mask).unwrap().field;
        let dense = field.densify(&all[0].values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()).unwrap();
        let h: Vec<f64> = (0..hidden as u64).map(|i| Stream::new(3, 0).normal(i)).collect();
        let matrix = |k: usize| &dense[k * hidden * hidden..][..hidden * hidden];
        let inner = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / hidden as f64;
        let once: Vec<Vec<f64>> = (0..channels).map(|k| apply(matrix(k), &h)).collect();
        let mean = |f: &dyn Fn(usize) -> f64| (0..channels).map(f).sum::<f64>() / channels as f64;
        let twice = |k: usize| apply(matrix((k + 1) % channels), &once[k]);
        let (first, second) = (mean(&|k| inner(&once[k], &once[k])), mean(&|k| inner(&twice(k), &twice(k))));
        let cross = mean(&|k| inner(&once[k], &once[(k + 1) % channels]));
        let size = inner(&h, &h);
        assert!((first / size - 1.0).abs() < 0.3 && (second / size - 1.0).abs() < 0.5, "{structure}: {first} {second}");
        assert!(cross.abs() < 0.15, "{structure}: {cross}");
    }
}

#[test]
fn a_mask_has_different_places_in_order() {
    let all = drawn(8, json!({"kind": "sparse", "epsilon": 0.5}), 3, json!({}));
    let mask = &all[1];
    assert_eq!((mask.name.as_str(), mask.shape.as_slice()), ("layers.0.mask", &[3, 23][..]));
    for own in mask.values.chunks(23) {
        assert!(own.windows(2).all(|two| two[0] < two[1]) && own.iter().all(|&x| x < 64.0 && x.fract() == 0.0));
    }
    assert!(mask.values[..23] != mask.values[23..46]);
}

#[test]
fn states_forget_at_their_rates() {
    let at = |more: Value| drawn(8, json!({"kind": "block", "block": 2}), 3, more).remove(0).values;
    let (plain, moved) = (at(json!({})), at(json!({"forget": {"octaves": 3.0}})));
    let by: Vec<f32> = moved.iter().zip(&plain).map(|(moved, plain)| moved - plain).collect();
    // The first matrix alone, its diagonal alone, one rate a block, growing.
    assert!(by[16..].iter().all(|&x| x == 0.0));
    let mut rates = Vec::new();
    for block in by[..16].chunks(4) {
        assert!(block[1] == 0.0 && block[2] == 0.0 && (block[0] - block[3]).abs() < 1e-6, "{block:?}");
        rates.push(-block[0]);
    }
    assert!(rates[0] == 0.0 && rates.windows(2).all(|two| two[0] < two[1]) && rates[3] < 8.0, "{rates:?}");
}

#[test]
fn a_seed_decides_everything() {
    let sample = sample(
        "seed",
        Signal::values(2),
        json!([cde(8, json!({"kind": "sparse", "epsilon": 0.5}), json!({"drive": {"kind": "tokens"}}))]),
    );
    let values = |seed| {
        let network =
            ncde_layers::layer::Network::<burn_flex::Flex>::drawn(&sample.layers, &sample.input, seed, &Default::default());
        network.unwrap().values()
    };
    assert_eq!(values(3), values(3));
    assert!(values(3).iter().zip(values(4)).all(|(three, four)| three.values != four.values));
}
