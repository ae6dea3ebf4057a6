//! The linear recurrence against full matrices: states and gradients of every structure, at every kind of shape.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Controls, Gradients, Mode, Recurrence, Structure, Transition};
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::{self, assert_gradients};
use ncde_reference::{assert_close, assert_gradient, dot};

/// Both transitions, each without an affine input and with either treatment of it.
const STEPS: [(Transition, Option<Affine>); 6] = [
    (Transition::Exp, None),
    (Transition::Exp, Some(Affine::Exact)),
    (Transition::Exp, Some(Affine::Approximate)),
    (Transition::Euler, None),
    (Transition::Euler, Some(Affine::Exact)),
    (Transition::Euler, Some(Affine::Approximate)),
];

fn case(seed: u64, model: &Model, (transition, affine): (Transition, Option<Affine>), shape: [usize; 3]) -> Case {
    let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine.unwrap_or_default());
    let case = Case::new(seed, model, recurrence, shape);
    if affine.is_some() { case } else { case.without_affine() }
}

/// States and gradients in both number types.
fn check(case: &Case) {
    let case = case.clone().rounded();
    let states = reference::states(&case);
    let gradients = reference::gradients(&case, &states);
    for (number, (seen, seen_gradients), tolerance) in [("f64", case.run::<f64>(), 1e-11), ("f32", case.run::<f32>(), 1e-4)] {
        let name = format!("{number}, {}", case.name());
        assert_close(&name, &seen, &states, tolerance);
        assert_gradients(&name, &seen_gradients, &gradients, tolerance);
    }
}

#[test]
fn a_densified_field_is_its_definition() {
    for model in small(3).into_iter().chain(large(2)) {
        let a = model.parameters(5);
        let dense = model.field.densify(&a).unwrap();
        assert_close(&model.name(), &dense, &model.matrices(&a).concat(), 1e-15);
    }
}

#[test]
fn the_reference_is_its_own_derivative() {
    for (i, model) in small(2).iter().enumerate() {
        let case = case(i as u64, model, STEPS[i % STEPS.len()], [2, 3, 2]).ragged();
        let gradients = reference::gradients(&case, &reference::states(&case));
        let loss = |case: Case| dot(&reference::states(&case), &case.weights);
        let name = case.name();
        assert_gradient(&name, &case.a, &gradients.a, |a| loss(Case { a: a.to_vec(), ..case.clone() }));
        assert_gradient(&name, &case.coefficients, &gradients.coefficients, |x| {
            loss(Case { coefficients: x.to_vec(), ..case.clone() })
        });
        if let Some(affine) = &case.affine {
            assert_gradient(&name, affine, gradients.affine.as_ref().unwrap(), |x| {
                loss(Case { affine: Some(x.to_vec()), ..case.clone() })
            });
        }
    }
}

#[test]
fn small_models_at_all_shapes() {
    let mut seed = 100;
    for channels in [1, 3, 9, 20] {
        for model in small(channels) {
            for step in STEPS {
                for batch in [1, 3] {
                    for columns in [1, 3] {
                        // All lengths occur with all else over the whole loop, not within one turn.
                        let length = [1, 2, 7][seed as usize % 3];
                        let case = case(seed, &model, step, [batch, length, columns]);
                        check(&if seed.is_multiple_of(2) { case } else { case.ragged() });
                        seed += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn large_models() {
    for (i, model) in large(3).iter().enumerate() {
        for (j, step) in STEPS.into_iter().enumerate() {
            let case = case((10 * i + j) as u64, model, step, [1 + j % 2, 2, 1 + 2 * ((i + j) % 2)]);
            check(&if j % 2 == 0 { case } else { case.ragged() });
        }
    }
    for (i, model) in large(20).iter().enumerate() {
        check(&case(200 + i as u64, model, STEPS[i % STEPS.len()], [1, 1, 1]));
    }
    // Many gaps between blocks and more channels: products leave the gaps out.
    let gaps = Model::new(Structure::blocks(27, 3).unwrap(), 100);
    STEPS.into_iter().for_each(|step| check(&case(250, &gaps, step, [1, 2, 1])));
}

/// What is not wanted is not there, and all else is the same to the bit, whichever kernel computes.
#[test]
fn coefficients_that_are_data_have_no_gradient() {
    for (i, model) in small(3).into_iter().chain(small(20)).chain(large(2)).enumerate() {
        let all = case(600 + i as u64, &model, STEPS[i % STEPS.len()], [3, 5, 2]).ragged();
        let modes = if model.field.structure().is_closed() { vec![Mode::Recurrent, Mode::Parallel] } else { vec![Mode::Auto] };
        for mode in modes {
            let recurrence = all.recurrence.clone().with_mode(mode).unwrap().with_chunk(2);
            let constant = recurrence.clone().with_controls(Controls::Constant);
            let (_, wanted) = Case { recurrence, ..all.clone() }.run::<f64>();
            let (_, seen) = Case { recurrence: constant, ..all.clone() }.run::<f64>();
            assert!(seen.coefficients.is_empty() && !wanted.coefficients.is_empty());
            assert_eq!(seen, Gradients { coefficients: Vec::new(), ..wanted }, "{} {mode:?}", all.name());
        }
    }
}

#[test]
fn long_series() {
    for (i, model) in small(3).iter().enumerate() {
        for step in [STEPS[1], STEPS[3]] {
            check(&case(300 + i as u64, model, step, [3, 40, 1]).ragged());
        }
    }
}

#[test]
fn a_batch_is_its_series_one_by_one() {
    for (i, model) in small(3).into_iter().chain(large(2)).enumerate() {
        let all = case(400 + i as u64, &model, STEPS[1], [5, 4, 2]);
        let state_len = all.columns * model.hidden();
        let states = all.forward().unwrap();
        for b in 0..all.batch {
            let width = all.length * all.recurrence.coefficients();
            let one = Case {
                batch: 1,
                coefficients: all.coefficients[b * width..(b + 1) * width].to_vec(),
                initial: all.initial[b * state_len..(b + 1) * state_len].to_vec(),
                affine: all.affine.as_ref().map(|x| x[b * all.length * state_len..(b + 1) * all.length * state_len].to_vec()),
                ..all.clone()
            };
            assert_close(
                &one.name(),
                &one.forward().unwrap(),
                &states[b * all.length * state_len..][..all.length * state_len],
                1e-14,
            );
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for (i, model) in small(3).iter().enumerate() {
        for (j, step) in STEPS.into_iter().enumerate() {
            let columns = if (i + j) % 2 == 0 { 1 } else { 3 };
            let case = case((500 + 10 * i + j) as u64, model, step, [2, 3, columns]).ragged();
            let (_, gradients) = case.run::<f64>();
            let loss = |case: Case| dot(&case.forward().unwrap(), &case.weights);
            let name = case.name();
            assert_gradient(&format!("{name}: A"), &case.a, &gradients.a, |a| loss(Case { a: a.to_vec(), ..case.clone() }));
            assert_gradient(&format!("{name}: coefficients"), &case.coefficients, &gradients.coefficients, |x| {
                loss(Case { coefficients: x.to_vec(), ..case.clone() })
            });
            assert_gradient(&format!("{name}: initial"), &case.initial, &gradients.initial, |x| {
                loss(Case { initial: x.to_vec(), ..case.clone() })
            });
            if let Some(affine) = &case.affine {
                assert_gradient(&format!("{name}: affine"), affine, gradients.affine.as_ref().unwrap(), |x| {
                    loss(Case { affine: Some(x.to_vec()), ..case.clone() })
                });
            }
        }
    }
}
