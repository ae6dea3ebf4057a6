//! Random matrices of each structure make `A^I h_0` and `A^J h_0` nearly orthogonal (thesis, section "Expressiveness"):
//!
//! ```text
//! || <A^I h_0, A^J h_0> / H - [I = J] ||_{L2} = O(H^(-1/2)),   A^I = A^{i_k} ... A^{i_1},   h_0 ~ N(0, 1)
//! ```
//!
//! for dense, sparse and Walsh-Hadamard matrices; for blocks of fixed size and for fixed rank the limit is not zero.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Bound, Structure};
use ncde_reference::matrix::apply;
use ncde_reference::model::Model;
use ncde_reference::{dot, normal, uniform};

const SEEDS: u64 = 80;

/// The L2 norm over seeds of `<A^I h_0, A^J h_0> / H - [I = J]` for each pair of words; `draw` gives a model and its parameters.
fn errors(hidden: usize, pairs: &[(&[usize], &[usize])], draw: impl Fn(u64) -> (Model, Vec<f64>)) -> Vec<f64> {
    let mut squares = vec![0.0; pairs.len()];
    for seed in 0..SEEDS {
        let (model, a) = draw(seed);
        let dense = model.field.densify(&a).unwrap();
        let initial = normal(10_000 + seed, hidden, 1.0);
        let act = |word: &[usize]| {
            let matrix = |k: usize| &dense[k * hidden * hidden..(k + 1) * hidden * hidden];
            word.iter().fold(initial.clone(), |h, &k| apply(hidden, matrix(k), &h))
        };
        for (square, (i, j)) in squares.iter_mut().zip(pairs) {
            let delta = if i == j { 1.0 } else { 0.0 };
            *square += (dot(&act(i), &act(j)) / hidden as f64 - delta).powi(2) / SEEDS as f64;
        }
    }
    squares.iter().map(|square: &f64| square.sqrt()).collect()
}

const PAIRS: [(&[usize], &[usize]); 8] =
    [(&[], &[]), (&[0], &[]), (&[0], &[0]), (&[0], &[1]), (&[0, 0], &[]), (&[0, 1], &[]), (&[0, 1], &[1, 0]), (&[0, 1], &[0, 1])];

/// The exponent of `H`, from 16 to 256 states, of each pair's error.
#[track_caller]
fn assert_falls(name: &str, draw: impl Fn(u64, usize) -> (Model, Vec<f64>)) {
    let (few, many) = (errors(16, &PAIRS, |seed| draw(seed, 16)), errors(256, &PAIRS, |seed| draw(seed, 256)));
    for ((pair, few), many) in PAIRS.iter().zip(few).zip(many) {
        let exponent = (many / few).log2() / 4.0;
        assert!((-0.8..-0.38).contains(&exponent), "{name}, words {pair:?}: {few} to {many}, exponent {exponent}");
        assert!(many < 0.35, "{name}, words {pair:?}: {many}");
    }
}

#[test]
fn dense() {
    assert_falls("dense", |seed, hidden| {
        let model = Model::new(Structure::Dense { hidden }, 2);
        let a = normal(seed, model.field.parameters(), (hidden as f64).powf(-0.5));
        (model, a)
    });
}

#[test]
fn sparse() {
    assert_falls("sparse", |seed, hidden| {
        // H^(1/2) entries a row, on average.
        let keep = (hidden as f64).powf(-0.5);
        let u = uniform(20_000 + seed, 2 * hidden * hidden);
        let mask = |k: usize| {
            let entries = (0..hidden * hidden).filter(|i| u[k * hidden * hidden + i] + 0.5 < keep);
            entries.map(|i| (i / hidden, i % hidden)).collect()
        };
        let model = Model::with_masks(hidden, (0..2).map(mask).collect());
        let a = normal(seed, model.field.parameters(), (hidden as f64 * keep).powf(-0.5));
        (model, a)
    });
}

#[test]
fn walsh_hadamard() {
    assert_falls("Walsh-Hadamard", |seed, hidden| {
        let model = Model::new(Structure::WalshHadamard { hidden, bound: Bound::None }, 2);
        let a = normal(seed, model.field.parameters(), 1.0);
        (model, a)
    });
}

/// `<A A h_0, h_0> / H` has mean `1 / b`: more states do not help, larger blocks do.
#[test]
fn blocks() {
    let error = |hidden: usize, b: usize| {
        errors(hidden, &[(&[0, 0], &[])], |seed| {
            let model = Model::new(Structure::blocks(hidden, b).unwrap(), 2);
            let a = normal(seed, model.field.parameters(), (b as f64).powf(-0.5));
            (model, a)
        })[0]
    };
    for b in [2, 4, 8] {
        let (few, many) = (error(64, b), error(256, b));
        assert!(many > 0.5 * few, "blocks of {b}: {few} falls to {many}");
        assert!((0.75..1.6).contains(&(many * b as f64)), "blocks of {b}: {many}");
    }
    assert!(error(256, 16) < 0.3 * error(256, 2));
}

/// `|A h_0|^2 / H` is a mean over the rank: its error is `sqrt(2 / r)`, however many states.
#[test]
fn low_rank() {
    let error = |hidden: usize, rank: usize| {
        errors(hidden, &[(&[0], &[0])], |seed| {
            let model = Model::new(Structure::Dplr { hidden, rank }, 2);
            // A = u v^T / sqrt(r H), and no diagonal.
            let deviation = (rank as f64 * hidden as f64).powf(-0.25);
            let mut a = normal(seed, model.field.parameters(), deviation);
            for k in 0..2 {
                a[model.field.channel(k)][..hidden].fill(0.0);
            }
            (model, a)
        })[0]
    };
    for rank in [1, 4, 16] {
        for hidden in [64, 192] {
            let relative = error(hidden, rank) / (2.0 / rank as f64).sqrt();
            assert!((0.7..1.6).contains(&relative), "rank {rank}, {hidden} states: {relative}");
        }
    }
}
