//! The parallel scan is the recurrence, and nothing depends on the number of threads.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Error, Mode, Recurrence, Structure, Transition};
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::assert_gradients;
use ncde_reference::{assert_close, on_threads};

fn closed(channels: usize) -> impl Iterator<Item = Model> {
    small(channels).into_iter().chain(large(channels)).filter(|model| model.field.structure().is_closed())
}

fn compare(case: &Case, chunk: usize) {
    let with = |mode: Mode| {
        let recurrence = case.recurrence.clone().with_mode(mode).unwrap().with_chunk(chunk);
        Case { recurrence, ..case.clone() }
    };
    let name = format!("chunks of {chunk}, {}", case.name());
    let (states, gradients) = with(Mode::Recurrent).run::<f64>();
    let (seen, seen_gradients) = with(Mode::Parallel).run::<f64>();
    assert_close(&name, &seen, &states, 1e-10);
    assert_gradients(&name, &seen_gradients, &gradients, 1e-10);
    let (seen, seen_gradients) = with(Mode::Auto).run::<f64>();
    assert_close(&name, &seen, &states, 1e-10);
    assert_gradients(&name, &seen_gradients, &gradients, 1e-10);
    let (seen, seen_gradients) = with(Mode::Parallel).run::<f32>();
    assert_close(&name, &seen, &states, 1e-4);
    assert_gradients(&name, &seen_gradients, &gradients, 1e-4);
}

#[test]
fn parallel_is_recurrent() {
    let mut seed = 0;
    for model in closed(3) {
        for chunk in [1, 3, 8, 1000] {
            for (transition, affine) in [
                (Transition::Exp, None),
                (Transition::Exp, Some(Affine::Exact)),
                (Transition::Exp, Some(Affine::Approximate)),
                (Transition::Euler, Some(Affine::Exact)),
            ] {
                let columns = [1, 3][seed as usize % 2];
                let recurrence =
                    Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine.unwrap_or_default());
                let case = Case::new(seed, &model, recurrence, [1 + seed as usize % 3, 17, columns]);
                let case = if affine.is_some() { case } else { case.without_affine() };
                compare(&if seed.is_multiple_of(3) { case } else { case.ragged() }, chunk);
                seed += 1;
            }
        }
    }
}

#[test]
fn parallel_on_short_series() {
    for (i, model) in closed(1).enumerate() {
        for length in [1, 2, 3, 8, 9] {
            let case = Case::new(i as u64, &model, Recurrence::new(model.field.clone()), [2, length, 1]);
            compare(&case, 3);
        }
    }
}

#[test]
fn parallel_is_refused_where_products_leave_the_structure() {
    let mut refused = 0;
    for model in small(2) {
        let structure = model.field.structure();
        let recurrence = Recurrence::new(model.field.clone()).with_mode(Mode::Parallel);
        match structure {
            Structure::Dplr { .. } | Structure::Sparse { .. } | Structure::WalshHadamard { .. } => {
                assert_eq!(recurrence, Err(Error::NotClosed { structure: structure.name() }));
                refused += 1;
            }
            _ => assert_eq!(recurrence.unwrap().mode(), Mode::Parallel),
        }
    }
    assert_eq!(refused, 5);
}

#[test]
fn results_do_not_depend_on_threads() {
    for (i, model) in small(3).into_iter().chain(large(3)).enumerate() {
        for mode in [Mode::Recurrent, Mode::Parallel, Mode::Auto] {
            let Ok(recurrence) = Recurrence::new(model.field.clone()).with_mode(mode) else { continue };
            let case = Case::new(i as u64, &model, recurrence.with_chunk(4), [19, 11, 1 + i % 2]).ragged();
            let run = |threads| on_threads(threads, || (case.run::<f32>(), case.run::<f64>()));
            let one = run(1);
            assert!(one == run(2), "2 threads, {mode:?}, {}", case.name());
            assert!(one == run(5), "5 threads, {mode:?}, {}", case.name());
        }
    }
}
