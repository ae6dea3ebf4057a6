//! Randomised signatures: a linear readout of random states learns signed areas, of diagonal ones it cannot.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde::model::{Error, Init, RandomisedSignatureConfig, StructureConfig};
use ncde::random::Stream;

const STEPS: usize = 8;
const CASES: usize = 240;

/// Increments of random plane paths, and their signed areas.
fn areas(stream: &Stream) -> (Vec<f64>, Vec<f64>) {
    let increments: Vec<f64> = (0..(CASES * STEPS * 2) as u64).map(|i| 0.15 * stream.normal(i)).collect();
    let area = |path: &[f64]| {
        let (mut x, mut y, mut area) = (0.0, 0.0, 0.0);
        for d in path.chunks(2) {
            area += 0.5 * (x * d[1] - y * d[0]);
            x += d[0];
            y += d[1];
        }
        area
    };
    let areas = increments.chunks(STEPS * 2).map(area).collect();
    (increments, areas)
}

/// The share of the variance that is explained on new paths.
fn score(config: &RandomisedSignatureConfig) -> f64 {
    let (x, y) = areas(&Stream::new(1, 0));
    let (x_new, y_new) = areas(&Stream::new(1, 1));
    let model = config.init(0).unwrap().fit(&x, &y, CASES, None, 1e-9).unwrap();
    let predicted = model.predict(&x_new, CASES, None).unwrap();
    let mean = y_new.iter().sum::<f64>() / CASES as f64;
    let squares = |f: &dyn Fn(usize) -> f64| (0..CASES).map(|i| f(i) * f(i)).sum::<f64>();
    1.0 - squares(&|i| predicted[i] - y_new[i]) / squares(&|i| y_new[i] - mean)
}

#[test]
fn areas_are_learned_unless_matrices_commute() {
    let config = RandomisedSignatureConfig::new(60, 2);
    let dense = score(&config);
    assert!(dense > 0.99, "{dense}");
    let block = score(&config.clone().with_structure(StructureConfig::Block { block: 5 }));
    assert!(block > 0.95, "{block}");
    let diagonal = RandomisedSignatureConfig { init: Init::Scaled { std: 1.0 }, ..config };
    let diagonal = score(&diagonal.with_structure(StructureConfig::Diagonal));
    assert!(diagonal < 0.3, "{diagonal}");
}

#[test]
fn ragged_series_end_where_they_end() {
    let signature = RandomisedSignatureConfig::new(6, 2).init(3).unwrap();
    let increments: Vec<f64> = (0..16).map(|i| f64::from(i).sin()).collect();
    let ragged = signature.features(&increments, 2, Some(&[4, 1])).unwrap();
    let alone = signature.features(&increments[8..10], 1, None).unwrap();
    assert_eq!(ragged[6..], alone[..]);
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let signature = RandomisedSignatureConfig::new(6, 2).init(3).unwrap();
    let increments: Vec<f64> = (0..16).map(|i| f64::from(i).sin()).collect();
    let refused = |targets: &[f64], ridge| signature.fit(&increments, targets, 2, None, ridge).unwrap_err();
    assert_eq!(refused(&[1.0, 2.0], 0.0), Error::Singular { rows: 2, columns: 7 });
    assert!(signature.fit(&increments, &[1.0, 2.0], 2, None, 0.1).is_ok());
    assert!(matches!(refused(&[1.0, 2.0, 3.0], 0.1), Error::Shape { .. }));
    assert!(matches!(refused(&[1.0, 2.0], -1.0), Error::Setting { .. }));
    assert!(matches!(signature.features(&increments[..15], 2, None), Err(Error::Kernel(_))));
}
