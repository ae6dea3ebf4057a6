//! Flows of generators from almost nothing to far beyond the radius of one series: states and gradients in both number types.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Recurrence, Structure};
use ncde_reference::matrix::norm_2;
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::{self, assert_gradients};
use ncde_reference::{assert_close, scaled, uniform};

const NORMS: [f64; 9] = [1e-8, 1e-6, 1e-4, 1e-3, 0.1, 1.0, 5.0, 20.0, 50.0];

/// One step of two series whose generators have the given 2-norm.
fn case(seed: u64, model: &Model, a: &[f64], norm: f64, affine: Option<Affine>) -> Case {
    case_of_columns(seed, model, a, norm, affine, 1)
}

fn case_of_columns(seed: u64, model: &Model, a: &[f64], norm: f64, affine: Option<Affine>, columns: usize) -> Case {
    let recurrence = Recurrence::new(model.field.clone()).with_affine(affine.unwrap_or_default());
    let mut case = Case::new(seed, model, recurrence, [2, 1, columns]);
    case.a = a.to_vec();
    let n = model.hidden();
    let matrices = model.matrices(a);
    for lambda in case.coefficients.chunks_exact_mut(matrices.len()) {
        let mut omega = vec![0.0; n * n];
        for (lambda, matrix) in lambda.iter().zip(&matrices) {
            omega.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += lambda * x);
        }
        let factor = norm / norm_2(n, &omega);
        lambda.iter_mut().for_each(|x| *x *= factor);
    }
    if affine.is_some() { case.rounded() } else { case.without_affine().rounded() }
}

fn check(case: &Case, norm: f64) {
    let states = reference::states(case);
    let gradients = reference::gradients(case, &states);
    // Rounding Omega once changes its exponential by the norm of Omega times a rounding unit.
    for (number, (seen, seen_gradients), unit) in [("f64", case.run::<f64>(), 1e-15), ("f32", case.run::<f32>(), 1.2e-7)] {
        let tolerance = 40.0 * unit * (1.0 + norm);
        let name = format!("{number}, norm {norm:e}, {}", case.name());
        assert_close(&name, &seen, &states, tolerance);
        assert_gradients(&name, &seen_gradients, &gradients, tolerance);
    }
}

#[test]
fn random_generators() {
    for norm in NORMS {
        for (i, model) in small(3).iter().enumerate() {
            for (j, affine) in [None, Some(Affine::Exact), Some(Affine::Approximate)].into_iter().enumerate() {
                let seed = (10 * i + j) as u64;
                check(&case(seed, model, &model.parameters(seed), norm, affine), norm);
            }
        }
    }
}

#[test]
fn random_generators_of_large_models() {
    for (i, model) in large(2).iter().enumerate() {
        // The reference takes its time: each structure at two of the norms.
        for norm in [NORMS[i % NORMS.len()], NORMS[(i + 3) % NORMS.len()]] {
            check(&case(i as u64, model, &model.parameters(i as u64), norm, Some(Affine::Exact)), norm);
        }
    }
}

/// Blocks of 2, 4 and 8 that lie side by side, one and two registers of them, where large generators are squared; one of the blocks is
/// as large as asked for, the others are smaller.
#[test]
fn small_blocks_side_by_side() {
    for (i, [hidden, b]) in [[14, 2], [20, 4], [68, 4], [64, 8]].into_iter().enumerate() {
        let model = Model::new(Structure::blocks(hidden, b).unwrap(), 2);
        let a = model.parameters(i as u64);
        // Strictly triangular blocks: powers vanish however large the generator.
        let place = |j: usize| (j % (b * b) / b, j % b);
        let nilpotent: Vec<f64> = a.iter().enumerate().map(|(j, &x)| if place(j).0 < place(j).1 { x } else { 0.0 }).collect();
        for (j, norm) in [0.5, 1.0, 2.0, 3.5, 5.0, 9.0, 20.0, 50.0].into_iter().enumerate() {
            let affine = [None, Some(Affine::Exact), Some(Affine::Approximate)][(i + j) % 3];
            check(&case_of_columns(i as u64, &model, &a, norm, affine, 1 + j % 2), norm);
            check(&case_of_columns(i as u64, &model, &nilpotent, norm, affine, 1 + j % 2), norm);
        }
    }
}

/// Low rank and many channels, with and without a bound on the square of the generator.
#[test]
fn diagonal_plus_low_rank() {
    for (i, (hidden, rank, channels)) in [(40, 4, 3), (33, 5, 2), (20, 2, 12), (6, 1, 20)].into_iter().enumerate() {
        let model = Model::new(Structure::Dplr { hidden, rank }, channels);
        let a = model.parameters(i as u64);
        for (j, norm) in [1e-3, 0.3, 1.0, 5.0, 20.0].into_iter().enumerate() {
            let affine = [None, Some(Affine::Exact), Some(Affine::Approximate)][(i + j) % 3];
            check(&case_of_columns(i as u64, &model, &a, norm, affine, 1 + j % 2), norm);
        }
    }
}

/// Rotations: `A^k` antisymmetric in every block, so that no state grows however large the generator.
#[test]
fn rotations() {
    for sizes in [vec![2], vec![5], vec![1, 2, 3, 4], vec![9, 2], vec![4; 5], vec![8; 8]] {
        let model = Model::new(Structure::Block { sizes: sizes.clone() }, 2);
        let mut a = model.parameters(3);
        let mut at = 0;
        for &b in sizes.iter().chain(&sizes) {
            let block = a[at..at + b * b].to_vec();
            (0..b * b).for_each(|i| a[at + i] = block[i] - block[i % b * b + i / b]);
            at += b * b;
        }
        for norm in NORMS {
            let case = case(4, &model, &a, norm, None);
            check(&case, norm);
            for (h, start) in case.forward().unwrap().chunks_exact(model.hidden()).zip(case.initial.chunks_exact(model.hidden()))
            {
                let (after, before) = (ncde_reference::dot(h, h), ncde_reference::dot(start, start));
                assert!((after - before).abs() < 1e-13 * (1.0 + norm), "{sizes:?} at {norm}: {after} against {before}");
            }
        }
    }
}

/// Decay: every direction shrinks, the fastest by `exp(-norm)`.
#[test]
fn decay() {
    let hidden = 6;
    for structure in [Structure::Diagonal { hidden }, Structure::Dplr { hidden, rank: 2 }, Structure::Dense { hidden }] {
        let model = Model::new(structure.clone(), 1);
        let u = uniform(8, 3 * hidden * hidden);
        let a: Vec<f64> = match structure {
            Structure::Diagonal { .. } => u[..hidden].iter().map(|x| -x.abs()).collect(),
            // -D - v v^T.
            Structure::Dplr { .. } => {
                let d = u[..hidden].iter().map(|x| -x.abs());
                d.chain(scaled(&u[hidden..3 * hidden], -0.4)).chain(scaled(&u[hidden..3 * hidden], 0.4)).collect()
            }
            _ => (0..hidden * hidden)
                .map(|i| -(0..hidden).map(|k| u[i / hidden * hidden + k] * u[i % hidden * hidden + k]).sum::<f64>())
                .collect(),
        };
        for norm in NORMS {
            let mut case = case(9, &model, &a, norm, Some(Affine::Exact));
            case.coefficients.iter_mut().for_each(|x| *x = x.abs());
            check(&case, norm);
        }
    }
}

/// Diagonals are checked number by number: the large ones hide nothing.
#[test]
fn diagonals_element_by_element() {
    let model = Model::new(Structure::Diagonal { hidden: 21 }, 1);
    for norm in NORMS {
        let a: Vec<f64> = (0..21).map(|i| norm * (f64::from(i) - 10.0) / 10.0).collect();
        let recurrence = Recurrence::new(model.field.clone());
        let mut case = Case::new(3, &model, recurrence, [1, 1, 1]).without_affine().rounded();
        case.coefficients = vec![1.0];
        case.a = a.iter().map(|&x| f64::from(x as f32)).collect();
        for (seen, unit) in [(case.run::<f64>().0, 1e-15), (case.run::<f32>().0, 1.2e-7)] {
            for ((h, start), a) in seen.iter().zip(&case.initial).zip(&case.a) {
                let right = start * a.exp();
                assert!((h - right).abs() <= 40.0 * unit * (1.0 + norm) * right.abs(), "exp({a}) {start} = {right}, not {h}");
            }
        }
    }
}
