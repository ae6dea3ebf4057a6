//! The elementwise recurrence: number by number, finite differences, chunks, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::scan::{Input, Numbers, Scan};
use ncde_kernels::{Error, Mode};
use ncde_reference::scan::{Case, KINDS, compare};
use ncde_reference::{assert_gradient, dot, on_threads};

#[test]
fn the_recurrence_number_by_number() {
    for numbers in KINDS {
        for batch in [1, 3] {
            for length in [1, 2, 7, 40] {
                for width in [1, 3, 8, 16, 17, 40] {
                    let case = Case::new(1, numbers, [batch, length, width]);
                    let right = case.reference();
                    compare(&format!("f64, {}", case.name()), case.run::<f64>(), &right, 1e-14);
                    compare(&format!("f32, {}", case.name()), case.run::<f32>(), &right, 3e-6);
                }
            }
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for numbers in KINDS {
        for (length, width) in [(1, 1), (1, 3), (5, 1), (4, 3), (3, 17)] {
            for mode in [Mode::Recurrent, Mode::Parallel] {
                let mut case = Case::new(2, numbers, [2, length, width]);
                case.scan = Scan { mode, chunk: 2, ..case.scan };
                let (_, gradients) = case.run::<f64>();
                let loss = |case: Case| dot(&case.forward().unwrap(), &case.weights);
                let name = case.name();
                assert_gradient(&format!("{name}: a"), &case.a, &gradients.a, |a| loss(Case { a: a.to_vec(), ..case.clone() }));
                assert_gradient(&format!("{name}: b"), &case.b, &gradients.b, |b| loss(Case { b: b.to_vec(), ..case.clone() }));
                assert_gradient(&format!("{name}: initial"), &case.initial, &gradients.initial, |x| {
                    loss(Case { initial: x.to_vec(), ..case.clone() })
                });
            }
        }
    }
}

#[test]
fn parallel_is_recurrent() {
    for numbers in KINDS {
        for (length, width) in [(1, 3), (7, 1), (8, 17), (9, 3), (100, 5)] {
            for chunk in [1, 3, 8, 1000] {
                let case = Case::new(3, numbers, [2, length, width]);
                let with = |mode: Mode| Case { scan: Scan { mode, chunk, ..case.scan }, ..case.clone() };
                let right = with(Mode::Recurrent).run::<f64>();
                compare(&with(Mode::Parallel).name(), with(Mode::Parallel).run::<f64>(), &right, 1e-13);
                compare(&with(Mode::Auto).name(), with(Mode::Auto).run::<f64>(), &right, 1e-13);
                compare(&with(Mode::Parallel).name(), with(Mode::Parallel).run::<f32>(), &right, 1e-5);
            }
        }
    }
}

/// One row of `a` for all steps is that row at each of them, and its gradient the sum of theirs.
#[test]
fn one_row_of_a_is_that_of_all_steps() {
    for numbers in KINDS {
        for ([batch, length, width], mode) in [([1, 1, 3], Mode::Auto), ([3, 8, 5], Mode::Auto), ([2, 9, 17], Mode::Parallel)] {
            let mut case = Case::new(6, numbers, [batch, length, width]);
            case.scan = Scan { mode, chunk: 4, ..case.scan };
            let row = case.a[..case.row()].to_vec();
            case.a = row.repeat(batch * length);
            let (states, mut right) = case.run::<f64>();
            right.a = (0..row.len()).map(|i| right.a.iter().skip(i).step_by(row.len()).sum()).collect();
            let one = Case { a: row, ..case.clone() };
            compare(&case.name(), one.run::<f64>(), &(states.clone(), right.clone()), 1e-13);
            compare(&case.name(), one.run::<f32>(), &(states, right), 1e-5);
            assert!(on_threads(1, || one.run::<f32>()) == on_threads(3, || one.run::<f32>()), "{}", case.name());
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for numbers in KINDS {
        for mode in [Mode::Recurrent, Mode::Parallel, Mode::Auto] {
            let mut case = Case::new(4, numbers, [5, 111, 19]);
            case.scan = Scan { mode, chunk: 8, ..case.scan };
            let run = |threads| on_threads(threads, || (case.run::<f32>(), case.run::<f64>()));
            let one = run(1);
            assert!(one == run(2), "2 threads, {}", case.name());
            assert!(one == run(5), "5 threads, {}", case.name());
        }
    }
}

#[test]
fn a_closed_form() {
    // A geometric sum: a constant, b = 1: h_t = a^t h_0 + (1 - a^t) / (1 - a).
    let (a, length) = (0.9_f64, 50);
    let input = Input { batch: 1, length, a: &vec![a; length], b: &vec![1.0; length], initial: &[2.0] };
    for mode in [Mode::Recurrent, Mode::Parallel] {
        let states = Scan { mode, chunk: 7, ..Scan::new(Numbers::Real, 1) }.forward(&input).unwrap();
        for (t, h) in states.iter().enumerate() {
            let power = a.powi(t as i32 + 1);
            assert!((h - (2.0 * power + (1.0 - power) / (1.0 - a))).abs() < 1e-13);
        }
    }
}

#[test]
fn errors() {
    let message = |case: &Case| case.forward().unwrap_err().to_string();
    let case = Case::new(5, Numbers::Complex, [2, 3, 4]);
    let wrong = Case { length: 0, ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has length 0; at least 1 is needed");
    let wrong = Case { batch: 0, ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has size 0; at least 1 is needed");
    let wrong = Case { scan: Scan::new(Numbers::Real, 0), ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has width 0; at least 1 is needed");
    let wrong = Case { a: vec![0.0; 47], ..case.clone() };
    let tail = "48 = batch 2 x length 3 x 4 complex numbers of 2 parts are needed";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: a holds 47 numbers, but {tail}"));
    let wrong = Case { b: vec![0.0; 49], ..case.clone() };
    assert_eq!(message(&wrong), format!("the elementwise recurrence: b holds 49 numbers, but {tail}"));
    let wrong = Case { initial: vec![0.0; 8], ..case.clone() };
    let tail = "16 = batch 2 x 4 complex numbers of 2 parts are needed";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: the initial state holds 8 numbers, but {tail}"));
    let states = case.forward().unwrap();
    let error = case.scan.backward(&case.input(), &states[1..], &states).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the array of states", seen: 47, wanted: 48, .. }), "{error}");
    let error = case.scan.backward(&case.input(), &states, &states[1..]).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", seen: 47, wanted: 48, .. }), "{error}");

    let tail = "remove or fill such values first";
    let mut wrong = case.clone();
    wrong.b[24 + 8 + 5] = f64::NAN;
    let place = "b holds NaN at series 1, step 1, number 1, imaginary part";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: {place}; {tail}"));
    let mut wrong = case.clone();
    wrong.initial[8 + 3] = f64::INFINITY;
    let place = "the initial state holds inf at series 1, number 3, real part";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: {place}; {tail}"));

    let mut wrong = Case::new(5, Numbers::Real, [2, 9, 3]);
    wrong.a[27 + 4 * 3..27 + 6 * 3].fill(1e300);
    wrong.b[27 + 4 * 3..27 + 6 * 3].fill(1e300);
    for mode in [Mode::Recurrent, Mode::Parallel] {
        wrong.scan = Scan { mode, chunk: 2, ..wrong.scan };
        assert_eq!(wrong.forward(), Err(Error::Exploded { structure: "elementwise", step: 5, series: 1 }));
    }
    let start = "the state of the elementwise recurrence overflows at step 5 of series 1";
    assert!(message(&wrong).starts_with(start), "{}", message(&wrong));

    let right = Case::new(5, Numbers::Real, [2, 9, 3]);
    let states = right.forward().unwrap();
    let mut weights = vec![0.0; states.len()];
    weights[27..].fill(f64::MAX);
    let error = right.scan.backward(&right.input(), &states, &weights).unwrap_err();
    assert_eq!(error, Error::GradientExploded { structure: "elementwise", series: 1 });
}
