//! Log-ODE windows: words against sums of products, bracket matrices and vectors against commutators.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Bracket, Brackets, Contraction, Error, Recurrence, Structure, Transition};
use ncde_reference::matrix::{commutator, multiply};
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::{self, assert_gradients, words};
use ncde_reference::{assert_close, assert_gradient, dot, uniform};

/// Letters 0, 1, 2, then brackets up to length 4, not only those of a basis.
const TABLE: [Bracket; 11] = [
    Bracket::Letter(0),
    Bracket::Letter(1),
    Bracket::Letter(2),
    Bracket::Pair(0, 1),
    Bracket::Pair(0, 2),
    Bracket::Pair(2, 1),
    Bracket::Pair(0, 3),
    Bracket::Pair(3, 1),
    Bracket::Pair(4, 1),
    Bracket::Pair(6, 2),
    Bracket::Pair(3, 5),
];

fn with_words(model: &Model, depth: usize) -> Recurrence {
    Recurrence::new(model.field.clone()).with_contraction(Contraction::Words { depth }).unwrap()
}

#[test]
fn words_of_one_letter_are_matrices() {
    for (i, model) in small(3).into_iter().chain(large(2)).enumerate() {
        let case = Case::new(i as u64, &model, Recurrence::new(model.field.clone()), [3, 4, 2]).ragged();
        let words = Case { recurrence: with_words(&model, 1), ..case.clone() };
        let (states, gradients) = case.run::<f64>();
        let (seen, seen_gradients) = words.run::<f64>();
        assert_close(&words.name(), &seen, &states, 1e-13);
        assert_gradients(&words.name(), &seen_gradients, &gradients, 1e-12);
    }
}

#[test]
fn words_are_sums_of_products() {
    for (channels, depth) in [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (9, 2)] {
        for (i, model) in small(channels).iter().enumerate() {
            for transition in [Transition::Exp, Transition::Euler] {
                let recurrence = with_words(model, depth).with_transition(transition);
                let case = Case::new(i as u64, model, recurrence, [2, 2, 1 + i % 2]).ragged().rounded();
                assert_eq!(case.recurrence.coefficients(), words(channels, depth).len());
                let states = reference::states(&case);
                let gradients = reference::gradients(&case, &states);
                for ((seen, seen_gradients), tolerance) in [(case.run::<f64>(), 1e-11), (case.run::<f32>(), 1e-4)] {
                    assert_close(&case.name(), &seen, &states, tolerance);
                    assert_gradients(&case.name(), &seen_gradients, &gradients, tolerance);
                }
            }
        }
    }
}

#[test]
fn gradients_of_words_are_finite_differences() {
    for (i, model) in small(2).iter().enumerate() {
        let case = Case::new(i as u64, model, with_words(model, 2 + i % 2), [2, 2, 1]).ragged();
        let (_, gradients) = case.run::<f64>();
        let loss = |case: Case| dot(&case.forward().unwrap(), &case.weights);
        let name = case.name();
        assert_gradient(&name, &case.a, &gradients.a, |a| loss(Case { a: a.to_vec(), ..case.clone() }));
        assert_gradient(&name, &case.coefficients, &gradients.coefficients, |x| {
            loss(Case { coefficients: x.to_vec(), ..case.clone() })
        });
        assert_gradient(&name, &case.initial, &gradients.initial, |x| loss(Case { initial: x.to_vec(), ..case.clone() }));
        assert_gradient(&name, case.affine.as_ref().unwrap(), gradients.affine.as_ref().unwrap(), |x| {
            loss(Case { affine: Some(x.to_vec()), ..case.clone() })
        });
    }
}

fn closed() -> impl Iterator<Item = Model> {
    small(3).into_iter().chain(large(3)).filter(|model| model.field.structure().is_closed())
}

#[test]
fn bracket_matrices_are_commutators() {
    for (i, model) in closed().enumerate() {
        let brackets = Brackets::new(&model.field, 0, &TABLE).unwrap();
        assert_eq!(brackets.matrix_places(), (0..TABLE.len()).collect::<Vec<_>>());
        let a = model.parameters(i as u64);
        let seen = brackets.widened().unwrap().densify(&brackets.matrices(&a).unwrap()).unwrap();
        let n = model.hidden();
        let mut right: Vec<Vec<f64>> = Vec::new();
        let letters = model.matrices(&a);
        for bracket in TABLE {
            right.push(match bracket {
                Bracket::Letter(k) => letters[k].clone(),
                Bracket::Pair(p, q) => commutator(n, &right[p], &right[q]),
            });
        }
        for (place, (seen, right)) in seen.chunks_exact(n * n).zip(&right).enumerate() {
            let difference = seen.iter().zip(right).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(difference < 1e-13, "{}, element {place}: {difference:e}", model.name());
        }
    }
}

#[test]
fn the_sign_of_a_bracket() {
    // A^0 = E_12, A^1 = E_21: A_[0, 1] = A^1 A^0 - A^0 A^1 = diag(-1, 1).
    let model = Model::new(Structure::Dense { hidden: 2 }, 2);
    let brackets = Brackets::new(&model.field, 0, &[Bracket::Letter(0), Bracket::Letter(1), Bracket::Pair(0, 1)]).unwrap();
    let matrices = brackets.matrices(&[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
    assert_eq!(matrices[8..], [-1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn gradients_of_bracket_matrices_are_finite_differences() {
    for (i, model) in small(3).iter().filter(|model| model.field.structure().is_closed()).enumerate() {
        let brackets = Brackets::new(&model.field, 0, &TABLE).unwrap();
        let a = model.parameters(i as u64);
        let weights = uniform(7, brackets.matrices(&a).unwrap().len());
        let gradient = brackets.matrices_backward(&a, &weights).unwrap();
        assert_gradient(&model.name(), &a, &gradient, |a| dot(&brackets.matrices(a).unwrap(), &weights));
    }
}

/// Channels 0, 1, 2 and inputs 3, 4: brackets with no input letter, with one on either side, and with two.
const AFFINE_TABLE: [Bracket; 15] = [
    Bracket::Letter(0),
    Bracket::Letter(1),
    Bracket::Letter(3),
    Bracket::Letter(2),
    Bracket::Letter(4),
    Bracket::Pair(0, 1),
    Bracket::Pair(0, 2),
    Bracket::Pair(4, 3),
    Bracket::Pair(5, 2),
    Bracket::Pair(6, 1),
    Bracket::Pair(1, 6),
    Bracket::Pair(2, 4),
    Bracket::Pair(5, 3),
    Bracket::Pair(7, 12),
    Bracket::Pair(11, 0),
];

/// `(A^k, B^k)` as one matrix that acts on `(h, 1)`.
fn augmented(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut m = vec![0.0; (n + 1) * (n + 1)];
    for (r, row) in m.chunks_exact_mut(n + 1).take(n).enumerate() {
        row[..n].copy_from_slice(&a[r * n..(r + 1) * n]);
        row[n] = b[r];
    }
    m
}

#[test]
fn bracket_vectors_are_commutators_of_augmented_matrices() {
    for (i, model) in small(3).iter().enumerate() {
        let (n, inputs) = (model.hidden(), 2);
        let brackets = Brackets::new(&model.field, inputs, &AFFINE_TABLE).unwrap();
        assert_eq!(brackets.matrix_places(), [0, 1, 3, 5, 12]);
        assert_eq!(brackets.vector_places(), [2, 4, 6, 7, 8, 9, 10, 13]);
        let (a, b) = (model.parameters(i as u64), uniform(i as u64 + 50, inputs * n));
        let letters = model.matrices(&a);
        let mut right: Vec<Vec<f64>> = Vec::new();
        for bracket in AFFINE_TABLE {
            right.push(match bracket {
                Bracket::Letter(k) if k < 3 => augmented(n, &letters[k], &vec![0.0; n]),
                Bracket::Letter(k) => augmented(n, &vec![0.0; n * n], &b[(k - 3) * n..][..n]),
                Bracket::Pair(p, q) => commutator(n + 1, &right[p], &right[q]),
            });
        }
        let seen = brackets.vectors(&a, &b).unwrap();
        for (seen, &place) in seen.chunks_exact(n).zip(brackets.vector_places()) {
            let difference = (0..n).map(|r| (seen[r] - right[place][r * (n + 1) + n]).abs()).fold(0.0, f64::max);
            assert!(difference < 1e-13, "{}, element {place}: {difference:e}", model.name());
        }
        // What has two input letters vanishes.
        assert_eq!(right[11].iter().chain(&right[14]).fold(0.0_f64, |m, x| m.max(x.abs())), 0.0);

        let weights = uniform(9, seen.len());
        let (da, db) = brackets.vectors_backward(&a, &b, &weights).unwrap();
        assert_gradient(&model.name(), &a, &da, |a| dot(&brackets.vectors(a, &b).unwrap(), &weights));
        assert_gradient(&model.name(), &b, &db, |b| dot(&brackets.vectors(&a, b).unwrap(), &weights));
    }
}

#[test]
fn a_driving_path_that_is_added_has_a_vector_for_every_bracket() {
    for (i, model) in small(3).iter().enumerate() {
        let n = model.hidden();
        let brackets = Brackets::of_path(&model.field, &TABLE).unwrap();
        assert_eq!(brackets.vector_places(), brackets.matrix_places());
        let (a, b) = (model.parameters(i as u64), uniform(i as u64 + 60, 3 * n));
        let letters = model.matrices(&a);
        let mut right: Vec<Vec<f64>> = Vec::new();
        for bracket in TABLE {
            right.push(match bracket {
                Bracket::Letter(k) => augmented(n, &letters[k], &b[k * n..(k + 1) * n]),
                Bracket::Pair(p, q) => commutator(n + 1, &right[p], &right[q]),
            });
        }
        let seen = brackets.vectors(&a, &b).unwrap();
        assert_eq!(seen.len(), TABLE.len() * n);
        for (place, (seen, right)) in seen.chunks_exact(n).zip(&right).enumerate() {
            let difference = (0..n).map(|r| (seen[r] - right[r * (n + 1) + n]).abs()).fold(0.0, f64::max);
            assert!(difference < 1e-13, "{}, element {place}: {difference:e}", model.name());
        }
        let weights = uniform(10, seen.len());
        let (da, db) = brackets.vectors_backward(&a, &b, &weights).unwrap();
        assert_gradient(&model.name(), &a, &da, |a| dot(&brackets.vectors(a, &b).unwrap(), &weights));
        assert_gradient(&model.name(), &b, &db, |b| dot(&brackets.vectors(&a, b).unwrap(), &weights));
    }
    let wrong = Brackets::of_path(&small(3)[0].field, &[Bracket::Letter(3)]).unwrap_err().to_string();
    assert!(wrong.contains("letter 3"), "{wrong}");
}

/// The expanded coefficients of each element of the table: `[P, Q] = P Q - Q P` in the tensor algebra.
fn expanded(channels: usize, depth: usize, table: &[Bracket]) -> Vec<Vec<f64>> {
    let all = words(channels, depth);
    let place = |word: &[usize]| all.iter().position(|w| w == word);
    let mut elements: Vec<Vec<f64>> = Vec::new();
    for &bracket in table {
        let mut element = vec![0.0; all.len()];
        match bracket {
            Bracket::Letter(k) => element[k] = 1.0,
            Bracket::Pair(p, q) => {
                for (i, u) in all.iter().enumerate() {
                    for (j, v) in all.iter().enumerate() {
                        if let Some(at) = place(&[u.as_slice(), v].concat()) {
                            element[at] += elements[p][i] * elements[q][j] - elements[q][i] * elements[p][j];
                        }
                    }
                }
            }
        }
        elements.push(element);
    }
    elements
}

#[test]
fn words_of_lie_elements_are_bracket_matrices() {
    for (depth, table) in [(2, &TABLE[..6]), (3, &TABLE[..9])] {
        let elements = expanded(3, depth, table);
        for (i, model) in small(3).iter().filter(|model| model.field.structure().is_closed()).enumerate() {
            let brackets = Brackets::new(&model.field, 0, table).unwrap();
            let wide = Model::new(model.field.structure().clone(), table.len());
            let case = Case::new(i as u64, &wide, Recurrence::new(brackets.widened().unwrap()), [2, 3, 1]);
            let a = model.parameters(i as u64);
            let matrices = Case { a: brackets.matrices(&a).unwrap(), ..case.clone() };
            let expand = |lambda: &[f64]| {
                let mut sum = vec![0.0; elements[0].len()];
                for (lambda, element) in lambda.iter().zip(&elements) {
                    sum.iter_mut().zip(element).for_each(|(sum, x)| *sum += lambda * x);
                }
                sum
            };
            let coefficients = case.coefficients.chunks_exact(table.len()).flat_map(expand).collect();
            let words = Case { model: model.clone(), recurrence: with_words(model, depth), a: a.clone(), coefficients, ..case };
            let (states, gradients) = matrices.run::<f64>();
            let (seen, seen_gradients) = words.run::<f64>();
            assert_close(&words.name(), &seen, &states, 1e-12);
            let da = brackets.matrices_backward(&a, &gradients.a).unwrap();
            assert_close(&words.name(), &seen_gradients.a, &da, 1e-11);
            assert_close(&words.name(), &seen_gradients.initial, &gradients.initial, 1e-11);
        }
    }
}

/// Over a path of two segments, one step with the log-signature of depth 2 and 3 is nearer the exact flow the deeper it goes.
#[test]
fn brackets_of_the_right_sign_approach_the_flow() {
    let model = Model::new(Structure::Dense { hidden: 4 }, 2);
    let a = model.parameters(1);
    let letters = model.matrices(&a);
    // Segments x and y: log = x + y + [x, y] / 2 + ([x, [x, y]] + [y, [y, x]]) / 12.
    let (x, y) = ([0.2, -0.1], [0.05, 0.3]);
    let area = x[0] * y[1] - x[1] * y[0];
    let table = [Bracket::Letter(0), Bracket::Letter(1), Bracket::Pair(0, 1), Bracket::Pair(0, 2), Bracket::Pair(1, 2)];
    let lambda = [x[0] + y[0], x[1] + y[1], area / 2.0, area * (x[0] - y[0]) / 12.0, area * (x[1] - y[1]) / 12.0];
    let brackets = Brackets::new(&model.field, 0, &table).unwrap();
    let recurrence = Recurrence::new(brackets.widened().unwrap());
    let matrices = brackets.matrices(&a).unwrap();
    let flow = |x: [f64; 2]| {
        let omega: Vec<f64> = letters[0].iter().zip(&letters[1]).map(|(a, b)| x[0] * a + x[1] * b).collect();
        ncde_reference::matrix::exponential(4, &omega)
    };
    let initial = uniform(2, 4);
    let right = ncde_reference::matrix::apply(4, &multiply(4, &flow(y), &flow(x)), &initial);
    let error = |depth: usize, sign: f64| {
        let mut lambda = lambda;
        lambda[[0, 2, 3, 5][depth]..].fill(0.0);
        lambda[2] *= sign;
        let input = ncde_kernels::Input {
            batch: 1,
            length: 1,
            columns: 1,
            a: &matrices,
            coefficients: &lambda,
            initial: &initial,
            affine: None,
            lengths: None,
        };
        ncde_reference::distance(&recurrence.forward(&input).unwrap(), &right)
    };
    let errors = [error(1, 1.0), error(2, 1.0), error(3, 1.0)];
    assert!(errors[1] < 0.2 * errors[0] && errors[2] < 0.2 * errors[1], "{errors:?}");
    assert!(error(2, -1.0) > errors[0], "{} {errors:?}", error(2, -1.0));
}

#[test]
fn brackets_that_cannot_be() {
    let model = Model::new(Structure::Dplr { hidden: 4, rank: 1 }, 2);
    let error = Brackets::new(&model.field, 1, &[Bracket::Letter(3)]).unwrap_err();
    assert_eq!(error.to_string(), "brackets: letter 3, but there are 2 channels and 1 inputs");
    let error = Brackets::new(&model.field, 0, &[Bracket::Letter(0), Bracket::Pair(0, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "brackets: element 1 is the bracket of 0 and 1, which are not before it");
    let brackets = Brackets::new(&model.field, 0, &[Bracket::Letter(0), Bracket::Letter(1), Bracket::Pair(0, 1)]).unwrap();
    let message =
        "brackets: brackets of DPLR matrices have another structure; use the expanded log-signature (`Contraction::Words`)";
    assert_eq!(brackets.widened().unwrap_err().to_string(), message);
    assert_eq!(brackets.matrices(&model.parameters(1)).unwrap_err().to_string(), message);
    assert!(matches!(brackets.vectors(&[0.0; 3], &[]), Err(Error::Size { what: "A", seen: 3, wanted: 24, .. })));
}
