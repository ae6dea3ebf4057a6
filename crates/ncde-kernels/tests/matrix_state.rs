//! The recurrence of matrix-valued states: number by number, finite differences, streams, carried states, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::matrix_state::{Decay, Gradients, MatrixState, Step};
use ncde_kernels::{Error, Float};
use ncde_reference::matrix_state::{Case, Results, compare, named, specs};
use ncde_reference::{assert_close, assert_gradient, narrow, on_threads, wide};

/// Heads, keys, values, batch, length: less than a register, whole ones, several tiles with rest; one chunk, whole chunks, several with rest.
const SHAPES: [[usize; 5]; 8] = [
    [1, 1, 1, 1, 1],
    [2, 5, 3, 1, 1],
    [3, 3, 5, 2, 32],
    [1, 16, 16, 2, 33],
    [2, 17, 33, 1, 70],
    [1, 40, 9, 2, 64],
    [2, 8, 32, 1, 65],
    [1, 70, 50, 1, 100],
];

fn cases(shapes: &[[usize; 5]]) -> Vec<Case> {
    let of = |&[heads, keys, values, batch, length]: &[usize; 5]| {
        specs(heads, keys, values).into_iter().map(move |spec| Case::new(1, spec, [batch, length]))
    };
    shapes.iter().flat_map(of).collect()
}

#[test]
fn the_recurrence_number_by_number() {
    for case in cases(&SHAPES) {
        let right = case.reference();
        for ((outputs, last, _), tolerance) in [(case.run::<f64>(), 1e-13), (case.run::<f32>(), 1e-5)] {
            assert_close(&format!("{}: outputs", case.name()), &outputs, &right[0], tolerance);
            assert_close(&format!("{}: last state", case.name()), &last, &right[1], tolerance);
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for case in cases(&[[1, 1, 1, 1, 1], [2, 5, 3, 2, 3], [1, 2, 3, 1, 35], [1, 3, 2, 1, 66], [1, 17, 2, 1, 4], [1, 2, 17, 1, 4]])
    {
        let (_, _, gradients) = case.run::<f64>();
        for (i, (what, gradient)) in named(&gradients).into_iter().enumerate() {
            assert_gradient(&format!("{}: {what}", case.name()), &case.arrays[i], gradient, |x| {
                let mut moved = case.clone();
                moved.arrays[i] = x.to_vec();
                moved.loss()
            });
        }
    }
}

/// The gradients of larger shapes: those in single are those in double precision, and a batch has those of its series and heads.
#[test]
fn a_batch_is_its_series_and_heads() {
    for case in cases(&SHAPES) {
        let whole = case.run::<f64>();
        compare(&case.name(), &case.run::<f32>(), &whole, 3e-5);
        let MatrixState { heads, .. } = case.spec;
        for b in 0..case.batch {
            for h in 0..heads {
                let single = |array: &Vec<f64>, steps: usize| {
                    let width = array.len() / (case.batch * steps * heads);
                    let rows = (0..steps).map(|t| ((b * steps + t) * heads + h) * width);
                    rows.flat_map(|at| array[at..at + width].to_vec()).collect::<Vec<_>>()
                };
                let steps = |i: usize| if i == 6 { 1 } else { case.length };
                let part = Case {
                    spec: MatrixState { heads: 1, ..case.spec },
                    batch: 1,
                    arrays: std::array::from_fn(|i| single(&case.arrays[i], steps(i))),
                    weights: [single(&case.weights[0], case.length), single(&case.weights[1], 1)],
                    ..case.clone()
                };
                let (outputs, last, seen) = part.run::<f64>();
                assert_eq!((outputs, last), (single(&whole.0, case.length), single(&whole.1, 1)), "{}", case.name());
                let Gradients { w, a, c, k, q, v, initial } = &whole.2;
                for (i, ((what, seen), right)) in named(&seen).iter().zip([w, a, c, k, q, v, initial]).enumerate() {
                    assert_eq!(*seen, single(right, steps(i)), "{}: {what}", case.name());
                }
            }
        }
    }
}

/// The states and outputs of the first series, pushed one by one.
fn pushed<T: Float>(case: &Case) -> [Vec<f64>; 2] {
    let [w, a, c, k, q, v, initial] = case.arrays.each_ref().map(|array| narrow::<T>(array));
    let (mut state, mut outputs) = (initial[..case.spec.state()].to_vec(), Vec::new());
    let mut output = vec![T::ZERO; case.spec.heads * case.spec.values];
    for t in 0..case.length {
        let [w, a, c, k, q, v] = [&w, &a, &c, &k, &q, &v].map(|array| {
            let width = array.len() / (case.batch * case.length);
            &array[t * width..][..width]
        });
        case.spec.push(&mut state, &Step { w, a, c, k, q, v }, &mut output).unwrap();
        outputs.extend(wide(&output));
    }
    [outputs, wide(&state)]
}

#[test]
fn a_stream_is_the_recurrence() {
    for case in cases(&SHAPES) {
        let first = |(outputs, last, _): Results| {
            [outputs[..outputs.len() / case.batch].to_vec(), last[..last.len() / case.batch].to_vec()]
        };
        assert_eq!(pushed::<f64>(&case), first(case.run::<f64>()), "f64, {}", case.name());
        assert_eq!(pushed::<f32>(&case), first(case.run::<f32>()), "f32, {}", case.name());
    }
}

#[test]
fn a_carried_state_is_the_whole_series() {
    for case in cases(&[[2, 5, 3, 1, 9], [1, 20, 17, 1, 80]]) {
        let (outputs, last, right) = case.run::<f64>();
        for cut in [1, case.length / 2, case.length - 1] {
            let part = |from: usize, to: usize, initial: &[f64], d_last: &[f64]| {
                let rows = |array: &Vec<f64>| array[from * array.len() / case.length..to * array.len() / case.length].to_vec();
                let mut arrays = case.arrays.each_ref().map(rows);
                arrays[6] = initial.to_vec();
                Case { length: to - from, arrays, weights: [rows(&case.weights[0]), d_last.to_vec()], ..case.clone() }
            };
            let zeros = vec![0.0; last.len()];
            let (first_outputs, carried, _) = part(0, cut, &case.arrays[6], &zeros).run::<f64>();
            let (second_outputs, seen_last, second) = part(cut, case.length, &carried, &case.weights[1]).run::<f64>();
            let (_, _, first) = part(0, cut, &case.arrays[6], &second.initial).run::<f64>();
            let name = format!("{}, cut at {cut}", case.name());
            let join = |a: &[f64], b: &[f64]| [a, b].concat();
            let seen = Gradients {
                w: join(&first.w, &second.w),
                a: join(&first.a, &second.a),
                c: join(&first.c, &second.c),
                k: join(&first.k, &second.k),
                q: join(&first.q, &second.q),
                v: join(&first.v, &second.v),
                initial: first.initial,
            };
            let whole = (outputs.clone(), last.clone(), right.clone());
            compare(&name, &(join(&first_outputs, &second_outputs), seen_last, seen), &whole, 1e-12);
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for case in cases(&[[3, 20, 9, 2, 70]]) {
        let run = |threads| on_threads(threads, || (case.run::<f32>(), case.run::<f64>()));
        assert!(run(1) == run(4), "{}", case.name());
    }
}

#[test]
fn what_is_empty_is_zero() {
    let spec = MatrixState { decay: Decay::Vector, delta: true, ..MatrixState::new(2, 5, 3) };
    let mut case = Case::new(3, spec, [2, 40]);
    case.arrays[6].fill(0.0);
    case.weights[1].fill(0.0);
    let right = case.run::<f64>();
    case.arrays[6].clear();
    case.weights[1].clear();
    assert!(case.run::<f64>() == right);
}

#[test]
fn errors() {
    let spec = MatrixState { decay: Decay::Vector, delta: true, ..MatrixState::new(2, 5, 3) };
    let case = Case::new(5, spec, [2, 4]);
    let message = |case: &Case| case.spec.forward(&case.input()).unwrap_err().to_string();
    let start = "the matrix-state recurrence: ";
    for (i, what, wanted) in [
        (0, "w", "80 = batch 2 x length 4 x 2 heads x 5 of the decay"),
        (1, "a", "80 = batch 2 x length 4 x 2 heads x 5 keys of delta"),
        (2, "c", "80 = batch 2 x length 4 x 2 heads x 5 keys of delta"),
        (3, "k", "80 = batch 2 x length 4 x 2 heads x 5 keys"),
        (4, "q", "80 = batch 2 x length 4 x 2 heads x 5 keys"),
        (5, "v", "48 = batch 2 x length 4 x 2 heads x 3 values"),
        (6, "the initial state", "60 = batch 2 x 2 heads x 3 values x 5 keys"),
    ] {
        let mut wrong = case.clone();
        let seen = wrong.arrays[i].len() - 1;
        wrong.arrays[i].truncate(seen);
        assert_eq!(message(&wrong), format!("{start}{what} holds {seen} numbers, but {wanted} are needed"));
    }
    let wrong = Case { spec: MatrixState { decay: Decay::Scalar, ..spec }, ..case.clone() };
    let wanted = "16 = batch 2 x length 4 x 2 heads x 1 of the decay are needed";
    assert_eq!(message(&wrong), format!("{start}w holds 80 numbers, but {wanted}"));
    for (wrong, what) in [
        (Case { batch: 0, ..case.clone() }, "size"),
        (Case { length: 0, ..case.clone() }, "length"),
        (Case { spec: MatrixState { heads: 0, ..spec }, ..case.clone() }, "number of heads"),
        (Case { spec: MatrixState { keys: 0, ..spec }, ..case.clone() }, "number of keys"),
        (Case { spec: MatrixState { values: 0, ..spec }, ..case.clone() }, "number of values"),
    ] {
        assert_eq!(message(&wrong), format!("{start}the batch has {what} 0; at least 1 is needed"));
    }
    let mut wrong = case.clone();
    wrong.arrays[2][40 + 2 * 10 + 5 + 3] = f64::NAN;
    let tail = "remove or fill such values first";
    assert_eq!(message(&wrong), format!("{start}c holds NaN at series 1, step 2, head 1, number 3; {tail}"));
    let mut wrong = case.clone();
    wrong.arrays[6][30 + 15 + 2 * 5 + 4] = f64::INFINITY;
    assert_eq!(message(&wrong), format!("{start}the initial state holds inf at series 1, head 1, value 2, key 4; {tail}"));

    let mut wrong = case.clone();
    wrong.arrays[0][40 + 10..].fill(1e300);
    let exploded = Error::Exploded { structure: "matrix-state", step: 2, series: 1 };
    assert_eq!(spec.forward(&wrong.input()), Err(exploded));

    let outputs = spec.forward(&case.input()).unwrap();
    let [weights, last] = &case.weights;
    let backward = |checkpoints: &[f64], weights: &[f64], last: &[f64]| {
        spec.backward(&case.input(), checkpoints, weights, last).unwrap_err()
    };
    let error = backward(&outputs.checkpoints[1..], weights, last);
    assert!(matches!(error, Error::Size { what: "the array of checkpoints", seen: 47, wanted: 48, .. }), "{error}");
    let error = backward(&outputs.checkpoints, &weights[1..], last);
    assert!(matches!(error, Error::Size { what: "the gradient of the outputs", seen: 47, wanted: 48, .. }), "{error}");
    let error = backward(&outputs.checkpoints, weights, &last[1..]);
    assert!(matches!(error, Error::Size { what: "the gradient of the last state", seen: 59, wanted: 60, .. }), "{error}");
    let mut weights = vec![0.0; weights.len()];
    weights[24..].fill(f64::MAX);
    let error = backward(&outputs.checkpoints, &weights, last);
    assert_eq!(error, Error::GradientExploded { structure: "matrix-state", series: 1 });
}

/// Arrays are searched only after a result was not finite, so every such number has to reach a result, also through zeros.
#[test]
fn what_is_not_finite_is_found() {
    for spec in specs(2, 5, 3) {
        let mut zero = Case::new(5, spec, [2, 40]);
        zero.arrays.iter_mut().chain(&mut zero.weights).for_each(|array| array.fill(0.0));
        let checkpoints = vec![0.0; spec.checkpoints(2, 40)];
        for (i, what) in ["w", "a", "c", "k", "q", "v", "the initial state"].into_iter().enumerate() {
            for place in [0, zero.arrays[i].len() / 2, zero.arrays[i].len().saturating_sub(1)] {
                let mut wrong = zero.clone();
                let Some(number) = wrong.arrays[i].get_mut(place) else { continue };
                *number = f64::INFINITY;
                let forward = spec.forward(&wrong.input()).unwrap_err();
                let [weights, last] = &wrong.weights;
                let backward = spec.backward(&wrong.input(), &checkpoints, weights, last).unwrap_err();
                for error in [forward, backward] {
                    assert!(
                        matches!(&error, Error::NotFinite { what: seen, .. } if *seen == what),
                        "{what}, {place}, {spec:?}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_failed_step_leaves_the_state() {
    let spec = MatrixState::new(1, 2, 2);
    let (mut state, mut output) = ([1.0, 2.0, 3.0, 4.0], [0.0; 2]);
    let step = |k| Step { w: &[], a: &[], c: &[], k, q: &[1.0, 0.0], v: &[1e200, 0.0] };
    let error = spec.push(&mut state, &step(&[1e200, 0.0]), &mut output).unwrap_err();
    assert_eq!(error, Error::Exploded { structure: "matrix-state", step: 0, series: 0 });
    let error = spec.push(&mut state, &step(&[f64::NAN, 0.0]), &mut output).unwrap_err().to_string();
    let place = "k holds NaN at series 0, step 0, head 0, number 0; remove or fill such values first";
    assert_eq!(error, format!("a step of the matrix-state recurrence: {place}"));
    let error = spec.push(&mut state[1..], &step(&[1.0, 0.0]), &mut output).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the state", seen: 3, wanted: 4, .. }), "{error}");
    let error = spec.push(&mut state, &step(&[1.0, 0.0]), &mut output[1..]).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the output", seen: 1, wanted: 2, .. }), "{error}");
    assert_eq!(state, [1.0, 2.0, 3.0, 4.0]);
    spec.push(&mut state, &step(&[0.0; 2]), &mut output).unwrap();
    assert_eq!((state, output), ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0]));
}
