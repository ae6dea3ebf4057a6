//! Whole entry points with every instruction set of the machine, not just its widest: others run the plainer ones. The choice is that of
//! the process, so that these tests have one of their own.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::neural::Gradients;
use ncde_kernels::{Affine, Controls, Float, Mode, Recurrence, Stream, Transition};
use ncde_reference::matrix_state::{Case as MatrixCase, compare, specs};
use ncde_reference::model::{Case, large};
use ncde_reference::reference::{assert_gradients, gradients, states};
use ncde_reference::{assert_close, scaled, wide};
use ncde_simd::with_each;

/// The states of the first series, pushed one by one.
fn pushed<T: Float>(case: &Case) -> Vec<f64> {
    let (a, coefficients, mut h) =
        (ncde_reference::narrow::<T>(&case.a), ncde_reference::narrow::<T>(&case.coefficients), Vec::new());
    let state_len = case.columns * case.model.hidden();
    let mut stream = Stream::new(&case.recurrence, &a).unwrap();
    let mut state = ncde_reference::narrow::<T>(&case.initial[..state_len]);
    for (t, lambda) in coefficients.chunks_exact(case.recurrence.coefficients()).take(case.length).enumerate() {
        let beta = case.affine.as_ref().map(|affine| ncde_reference::narrow::<T>(&affine[t * state_len..(t + 1) * state_len]));
        stream.push(&mut state, lambda, beta.as_deref()).unwrap();
        h.extend_from_slice(&wide(&state));
    }
    h
}

#[test]
fn linear_recurrences_with_every_instruction_set() {
    let steps = [(Transition::Exp, Affine::Exact), (Transition::Euler, Affine::Approximate)];
    // Norms for which a few terms are enough, and such as take squares and several stages.
    for (size, double, single) in [(1.0, 1e-13, 2e-6), (6.0, 1e-12, 2e-5)] {
        for (i, model) in large(3).iter().enumerate() {
            for (transition, affine) in steps {
                let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine);
                let mut case = Case::new(i as u64, model, recurrence, [2, 3, 1 + 2 * (i % 2)]);
                case.coefficients = scaled(&case.coefficients, size);
                case = case.rounded();
                let h = states(&case);
                let back = gradients(&case, &h);
                let first = &h[..h.len() / 2];
                let modes =
                    if model.field.structure().is_closed() { vec![Mode::Recurrent, Mode::Parallel] } else { vec![Mode::Auto] };
                with_each(|set| {
                    for mode in &modes {
                        let recurrence = case.recurrence.clone().with_mode(*mode).unwrap().with_chunk(2);
                        let case = Case { recurrence, ..case.clone() };
                        for (number, (seen, seen_back), tolerance) in
                            [("f64", case.run::<f64>(), double), ("f32", case.run::<f32>(), single)]
                        {
                            let name = format!("{set:?}, {number}, {mode:?}, {}", case.name());
                            assert_close(&name, &seen, &h, tolerance);
                            assert_gradients(&name, &seen_back, &back, tolerance);
                        }
                    }
                    let name = format!("{set:?}, a stream of {}", case.name());
                    assert_close(&name, &pushed::<f64>(&case), first, double);
                    assert_close(&name, &pushed::<f32>(&case), first, single);
                });
            }
        }
    }
}

#[test]
fn neural_solves_with_every_instruction_set() {
    fn all<T: Float>(h: &[T], back: &Gradients<T>) -> [Vec<f64>; 4] {
        [wide(h), wide(&back.parameters), wide(back.coefficients.as_deref().unwrap()), wide(&back.initial)]
    }
    for mut case in ncde_reference::neural::case::cases() {
        case.solve = case.solve.with_controls(Controls::Variable);
        let right = case.reference();
        let weights = ncde_reference::neural::case::numbers(77, right.len());
        let single = case.to::<f32>();
        let results = with_each(|set| {
            let back = case.gradients(&weights);
            assert_close(&format!("{set:?}, {}", case.name), &case.forward(), &right, 1e-13);
            let single_back = single.gradients(&ncde_reference::narrow::<f32>(&weights));
            (set, all(&case.forward(), &back), all(&single.forward(), &single_back))
        });
        // Gradients by central differences are elsewhere: here those of the plainest are right.
        let plain = results[0].1.clone();
        for (set, double, single) in results {
            for ((seen, tolerance), number) in [(double, 1e-12), (single, 2e-5)].iter().zip(["f64", "f32"]) {
                for (seen, plain) in seen.iter().zip(&plain) {
                    assert_close(&format!("{set:?}, {number}, {}", case.name), seen, plain, *tolerance);
                }
            }
        }
    }
}

#[test]
fn matrix_states_with_every_instruction_set() {
    for [keys, values, length] in [[1, 1, 1], [5, 3, 7], [8, 8, 65], [17, 9, 40], [9, 17, 66], [33, 40, 33]] {
        for spec in specs(2, keys, values) {
            let case = MatrixCase::new(1, spec, [1, length]);
            let [outputs, last] = case.reference();
            let results = with_each(|set| (set, case.run::<f64>(), case.run::<f32>()));
            // Gradients by central differences are elsewhere: here those of the plainest are right.
            let right = (outputs, last, results[0].1.2.clone());
            for (set, double, single) in results {
                compare(&format!("{set:?}, f64, {}", case.name()), &double, &right, 1e-12);
                compare(&format!("{set:?}, f32, {}", case.name()), &single, &right, 3e-5);
            }
        }
    }
}

/// The tests above are about something: on this machine more than one instruction set was chosen, in order.
#[test]
fn instruction_sets_are_chosen() {
    let sets = with_each(|set| set);
    assert!(!sets.is_empty() && sets.is_sorted(), "{sets:?}");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        assert!(sets.len() >= 2, "{sets:?}");
    }
}
