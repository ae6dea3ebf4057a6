//! The Log-ODE method against exact flows: its order in the size of the windows and in the depth.
//!
//! ```text
//! h_{l+1} = exp(sum_P lambda^l_P A_P) h_l,   log S^N(omega)_[r_l, r_{l+1}] = sum_P lambda^l_P P,   A_[P, Q] = A_Q A_P - A_P A_Q
//! ```
//!
//! Run backwards a path has the opposite log-signature, so around the middle of a window of size `r` each level is odd in `r`: on a
//! smooth path level 2 is of order `r^3`, levels 3 and 4 of order `r^5`. Over all windows depth 1 has order 2, depths 2 and 3 order 4.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Bound, Bracket, Brackets, Contraction, Input, Recurrence, Structure};
use ncde_reference::matrix::{apply, commutator, exponential};
use ncde_reference::model::{Model, small};
use ncde_reference::{assert_close, distance, normal, scaled, uniform};
use ncde_signature::algebra::{Tree, words};
use ncde_signature::{Basis, Paths, Signature};

/// Segments of the polygons that stand for smooth paths.
const SEGMENTS: usize = 2048;

/// Numbers of windows.
const WINDOWS: [usize; 4] = [8, 16, 32, 64];

/// Smooth, and no two channels alike.
fn smooth(t: f64) -> [f64; 3] {
    [t, 0.8 * (2.0 * t + 0.3).sin() + 0.1 * (5.0 * t).cos(), 0.6 * (3.0 * t).cos() - 0.3 * t * t]
}

fn polygon<const D: usize>(path: impl Fn(f64) -> [f64; D]) -> Vec<f64> {
    (0..=SEGMENTS).flat_map(|i| path(i as f64 / SEGMENTS as f64)).collect()
}

/// The states after each segment of a polygon, by one matrix exponential a segment.
fn exact(matrices: &[Vec<f64>], polygon: &[f64], initial: &[f64]) -> Vec<f64> {
    let (n, d) = (initial.len(), matrices.len());
    let (mut h, mut states) = (initial.to_vec(), Vec::new());
    for (now, next) in polygon.chunks_exact(d).zip(polygon[d..].chunks_exact(d)) {
        let mut omega = vec![0.0; n * n];
        for ((matrix, now), next) in matrices.iter().zip(now).zip(next) {
            omega.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += (next - now) * x);
        }
        h = apply(n, &exponential(n, &omega), &h);
        states.extend_from_slice(&h);
    }
    states
}

/// What each coordinate of a log-signature stands for.
fn brackets_of(log: &Signature) -> Vec<Bracket> {
    let bracket = |tree: &Tree| match *tree {
        Tree::Letter(i) => Bracket::Letter(i - 1),
        Tree::Bracket(p, q) => Bracket::Pair(p, q),
    };
    log.basis().unwrap().trees().iter().map(bracket).collect()
}

/// The states after each window of `size` segments: bracket matrices for closed structures, words for the others.
fn log_ode(model: &Model, a: &[f64], paths: &Paths<'_, f64>, size: usize, depth: usize, initial: &[f64]) -> Vec<f64> {
    let field = &model.field;
    let windows = paths.windows(size).unwrap();
    let (log, recurrence, a) = if field.structure().is_closed() {
        let log = Signature::log(field.channels(), depth, Basis::Lyndon).unwrap();
        let brackets = Brackets::new(field, 0, &brackets_of(&log)).unwrap();
        (log, Recurrence::new(brackets.widened().unwrap()), brackets.matrices(a).unwrap())
    } else {
        let log = Signature::log(field.channels(), depth, Basis::Expanded).unwrap();
        (log, Recurrence::new(field.clone()).with_contraction(Contraction::Words { depth }).unwrap(), a.to_vec())
    };
    let input = Input {
        batch: paths.batch(),
        length: windows.len() / paths.batch(),
        columns: 1,
        a: &a,
        coefficients: &log.intervals(paths, &windows).unwrap(),
        initial,
        affine: None,
        lengths: None,
    };
    recurrence.forward(&input).unwrap()
}

/// The largest difference at the ends of the largest windows; `states` has one state for each of `windows` windows.
fn error(states: &[f64], windows: usize, exact: &[f64], hidden: usize) -> f64 {
    let ends = |states: &[f64], each: usize| -> Vec<f64> {
        states.chunks_exact(each * hidden).flat_map(|window| window[(each - 1) * hidden..].to_vec()).collect()
    };
    distance(&ends(states, windows / WINDOWS[0]), &ends(exact, SEGMENTS / WINDOWS[0]))
}

/// The order in the size of a window: the slope of the straight line nearest to the logarithms.
fn slope(errors: &[f64]) -> f64 {
    let x: Vec<f64> = WINDOWS.iter().map(|&m| -(m as f64).ln()).collect();
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let above: f64 = x.iter().zip(errors).map(|(x, e)| (x - mean) * e.ln()).sum();
    above / x.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
}

fn models(channels: usize) -> Vec<Model> {
    vec![
        Model::new(Structure::Dense { hidden: 5 }, channels),
        Model::new(Structure::Block { sizes: vec![2, 3] }, channels),
        Model::new(Structure::DiagonalDense { hidden: 5, block: 3 }, channels),
        Model::new(Structure::Dplr { hidden: 5, rank: 2 }, channels),
        Model::new(Structure::WalshHadamard { hidden: 4, bound: Bound::None }, channels),
    ]
}

#[test]
fn orders_on_a_smooth_path_are_two_four_and_four() {
    let polygon = polygon(smooth);
    let paths = Paths::single(&polygon, 3).unwrap();
    for (i, model) in models(3).iter().enumerate() {
        let (n, a) = (model.hidden(), model.parameters(i as u64 + 3));
        let initial = uniform(i as u64 + 20, n);
        let right = exact(&model.matrices(&a), &polygon, &initial);
        let errors = |depth: usize| -> Vec<f64> {
            let states = |m: usize| log_ode(model, &a, &paths, SEGMENTS / m, depth, &initial);
            WINDOWS.iter().map(|&m| error(&states(m), m, &right, n)).collect()
        };
        let all = [errors(1), errors(2), errors(3)];
        for (errors, order) in all.iter().zip([2.0, 4.0, 4.0]) {
            assert!((slope(errors) - order).abs() < 0.2, "{}, order {order}: {} of {errors:?}", model.name(), slope(errors));
        }
        for ((one, two), three) in all[0].iter().zip(&all[1]).zip(&all[2]) {
            assert!(three < &(0.9 * two) && two < &(0.1 * one), "{}: {all:?}", model.name());
        }
    }
}

#[test]
fn diagonal_matrices_need_level_one_alone() {
    let polygon = polygon(smooth);
    let model = Model::new(Structure::Diagonal { hidden: 6 }, 3);
    let (a, initial) = (model.parameters(1), uniform(2, 6));
    let right = exact(&model.matrices(&a), &polygon, &initial);
    for depth in 1..=3 {
        let states = log_ode(&model, &a, &Paths::single(&polygon, 3).unwrap(), SEGMENTS, depth, &initial);
        assert_close("one window", &states, &right[right.len() - 6..], 1e-11);
    }
}

#[test]
fn on_rough_paths_every_level_helps() {
    let (paths, segments, d) = (64, 256, 3);
    let mut values = Vec::new();
    for path in 0..paths {
        let mut at = vec![0.0; d];
        values.extend_from_slice(&at);
        for step in normal(1000 + path as u64, segments * d, (1.0 / segments as f64).sqrt()).chunks_exact(d) {
            at.iter_mut().zip(step).for_each(|(x, dx)| *x += dx);
            values.extend_from_slice(&at);
        }
    }
    let batch = Paths::new(&values, paths, segments + 1, d).unwrap();
    for structure in [Structure::Dense { hidden: 4 }, Structure::WalshHadamard { hidden: 4, bound: Bound::Tanh }] {
        let model = Model::new(structure, d);
        let (n, a) = (model.hidden(), model.parameters(5));
        let matrices = model.matrices(&a);
        let initial = uniform(6, n);
        let right: Vec<Vec<f64>> = (0..paths).map(|i| exact(&matrices, batch.path(i), &initial)).collect();
        let mean = |depth: usize| {
            let states = log_ode(&model, &a, &batch, 16, depth, &initial.repeat(paths));
            let last = |states: &[f64]| states[states.len() - n..].to_vec();
            let errors = states.chunks_exact(n * segments / 16).zip(&right).map(|(s, right)| distance(&last(s), &last(right)));
            errors.sum::<f64>() / paths as f64
        };
        let errors = [mean(1), mean(2), mean(3)];
        assert!(errors[1] < 0.5 * errors[0] && errors[2] < 0.5 * errors[1], "{}: {errors:?}", model.name());
    }
}

#[test]
fn one_window_a_segment_is_exact() {
    let (d, segments) = (3, 12);
    let steps = uniform(31, segments * d);
    let mut corners = vec![0.0; d];
    let mut refined = vec![0.0; d];
    for (i, step) in steps.chunks_exact(d).enumerate() {
        let from = corners[i * d..].to_vec();
        corners.extend(from.iter().zip(step).map(|(x, dx)| x + dx));
        // The same segment in three uneven pieces.
        for part in [0.2, 0.7, 1.0] {
            refined.extend(from.iter().zip(step).map(|(x, dx)| x + part * dx));
        }
    }
    for (i, model) in small(d).iter().enumerate() {
        let a = model.parameters(i as u64);
        let initial = uniform(i as u64 + 40, model.hidden());
        let right = exact(&model.matrices(&a), &corners, &initial);
        for depth in 1..=3 {
            let name = format!("{}, depth {depth}", model.name());
            let states = log_ode(model, &a, &Paths::single(&corners, d).unwrap(), 1, depth, &initial);
            assert_close(&name, &states, &right, 1e-10);
            let states = log_ode(model, &a, &Paths::single(&refined, d).unwrap(), 3, depth, &initial);
            assert_close(&format!("{name}, refined"), &states, &right, 1e-10);
        }
    }
}

/// Two channels of omega, then two of xi.
fn joint(t: f64) -> [f64; 4] {
    let [_, x, y] = smooth(t);
    [x, y, 0.7 * (4.0 * t).sin() + t, (2.5 * t + 1.0).cos()]
}

/// Which log-signature an affine field is given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    /// That of `(omega, xi)`.
    Both,
    /// That of `omega`, with `beta = B dxi`.
    Omega,
}

/// The states of `dh = A h domega + B dxi` after each window, at depth 2.
fn affine_log_ode(model: &Model, [a, b, initial]: [&[f64]; 3], path: &[f64], windows: usize, of: Of) -> Vec<f64> {
    let (field, n, size) = (&model.field, model.hidden(), SEGMENTS / windows);
    let closed = field.structure().is_closed();
    let basis = if closed { Basis::Lyndon } else { Basis::Expanded };
    let both = Signature::log(4, 2, basis).unwrap();
    // Elements, and the coordinate of each. Over words, A^k B^j is the vector of [xi_j, e_k].
    let (table, coordinates): (Vec<Bracket>, Vec<usize>) = if closed {
        brackets_of(&both).into_iter().zip(0..).unzip()
    } else {
        let letters = (0..4).map(|k| (Bracket::Letter(k), k));
        let place = |j: usize, k: usize| words::index(both.shape(), &[j + 1, k + 1]).unwrap();
        letters.chain([(2, 0), (2, 1), (3, 0), (3, 1)].map(|(j, k)| (Bracket::Pair(j, k), place(j, k)))).unzip()
    };
    let brackets = Brackets::new(field, 2, &table).unwrap();
    let vectors = brackets.vectors(a, b).unwrap();
    let paths = Paths::single(path, 4).unwrap();
    let lambda = both.intervals(&paths, &paths.windows(size).unwrap()).unwrap();
    let mut beta = vec![0.0; windows * n];
    for (lambda, beta) in lambda.chunks_exact(both.len()).zip(beta.chunks_exact_mut(n)) {
        for (c, &place) in vectors.chunks_exact(n).zip(brackets.vector_places()) {
            if of == Of::Both || matches!(table[place], Bracket::Letter(_)) {
                beta.iter_mut().zip(c).for_each(|(beta, c)| *beta += lambda[coordinates[place]] * c);
            }
        }
    }
    // The elements without a xi letter are those of omega alone.
    let omega: Vec<f64> = path.chunks_exact(4).flat_map(|row| [row[0], row[1]]).collect();
    let omega = Paths::single(&omega, 2).unwrap();
    let alone = Signature::log(2, 2, basis).unwrap();
    let coefficients = alone.intervals(&omega, &omega.windows(size).unwrap()).unwrap();
    let (recurrence, a) = if closed {
        let brackets = Brackets::new(field, 0, &brackets_of(&alone)).unwrap();
        (Recurrence::new(brackets.widened().unwrap()), brackets.matrices(a).unwrap())
    } else {
        (Recurrence::new(field.clone()).with_contraction(Contraction::Words { depth: 2 }).unwrap(), a.to_vec())
    };
    let input = Input {
        batch: 1,
        length: windows,
        columns: 1,
        a: &a,
        coefficients: &coefficients,
        initial,
        affine: Some(&beta),
        lengths: None,
    };
    recurrence.forward(&input).unwrap()
}

#[test]
fn affine_fields_need_the_joint_log_signature() {
    let path = polygon(joint);
    for (i, model) in models(2).iter().enumerate() {
        let n = model.hidden();
        let (a, b, initial) = (model.parameters(i as u64 + 5), uniform(i as u64 + 60, 2 * n), uniform(i as u64 + 70, n));
        // dh = A h domega + B dxi is linear in (h, 1).
        let mut matrices = Vec::new();
        for k in 0..4 {
            let mut m = vec![0.0; (n + 1) * (n + 1)];
            for r in 0..n {
                let row = &mut m[r * (n + 1)..(r + 1) * (n + 1)];
                match k {
                    0 | 1 => row[..n].copy_from_slice(&model.matrices(&a)[k][r * n..(r + 1) * n]),
                    _ => row[n] = b[(k - 2) * n + r],
                }
            }
            matrices.push(m);
        }
        let extended = exact(&matrices, &path, &[initial.as_slice(), &[1.0]].concat());
        let right: Vec<f64> = extended.chunks_exact(n + 1).flat_map(|h| h[..n].to_vec()).collect();
        let errors = |of: Of| -> Vec<f64> {
            let states = |m: usize| affine_log_ode(model, [&a, &b, &initial], &path, m, of);
            WINDOWS.iter().map(|&m| error(&states(m), m, &right, n)).collect()
        };
        for (of, order) in [(Of::Both, 4.0), (Of::Omega, 2.0)] {
            let errors = errors(of);
            assert!((slope(&errors) - order).abs() < 0.2, "{}, {of:?}: {} of {errors:?}", model.name(), slope(&errors));
        }
    }
}

/// One window over a quarter of the path: `A_Q A_P - A_P A_Q` brings the state nearer the exact one, `A_P A_Q - A_Q A_P` takes it away.
#[test]
fn the_bracket_of_p_and_q_is_qp_minus_pq() {
    let polygon = polygon(smooth);
    let quarter = &polygon[..(SEGMENTS / 4 + 1) * 3];
    let paths = Paths::single(quarter, 3).unwrap();
    let log = Signature::log(3, 2, Basis::Lyndon).unwrap();
    let lambda = log.of(&paths).unwrap();
    for (i, model) in models(3).iter().enumerate() {
        let (n, a) = (model.hidden(), model.parameters(i as u64 + 3));
        let (letters, initial) = (model.matrices(&a), uniform(i as u64 + 20, n));
        let states = exact(&letters, quarter, &initial);
        let right = &states[states.len() - n..];
        let step = |sign: f64| {
            let mut omega = vec![0.0; n * n];
            for (bracket, lambda) in brackets_of(&log).into_iter().zip(&lambda) {
                let matrix = match bracket {
                    Bracket::Letter(k) => letters[k].clone(),
                    Bracket::Pair(p, q) => scaled(&commutator(n, &letters[p], &letters[q]), sign),
                };
                omega.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += lambda * x);
            }
            apply(n, &exponential(n, &omega), &initial)
        };
        let ours = log_ode(model, &a, &paths, SEGMENTS / 4, 2, &initial);
        assert_close(&model.name(), &ours, &step(1.0), 1e-12);
        let errors = [1.0, 0.0, -1.0].map(|sign| distance(&step(sign), right));
        assert!(10.0 * errors[0] < errors[1] && errors[1] < errors[2], "{}: {errors:?}", model.name());
        assert!(distance(&ours, right) < 0.1 * errors[2], "{}", model.name());
    }
}
