//! The permutation-diagonal recurrence: full matrices, finite differences, chunks, streams, threads.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::permutation::{Diagonal, OneHot, OneHotMap, PermutationDiagonal, Stream};
use ncde_kernels::scan::Numbers;
use ncde_kernels::{Error, Mode};
use ncde_reference::permutation::{Case, KINDS, cases, compare};
use ncde_reference::{assert_close, assert_gradient, dot, on_threads};
use proptest::prelude::*;

/// One-hot by columns and by rows.
fn both(case: Case) -> [Case; 2] {
    [case.clone().by(OneHot::Columns), case.by(OneHot::Rows)]
}

#[test]
fn states_are_those_of_full_matrices() {
    for case in cases() {
        let right = case.reference(|row| case.hard(row));
        assert_close(&case.name(), &case.run::<f64>().0, &right, 1e-13);
        assert_close(&case.name(), &case.run::<f32>().0, &right, 2e-6);
    }
}

#[test]
fn gradients_are_those_of_the_soft_surrogate() {
    for case in cases() {
        let (_, of) = case.run::<f64>();
        // `P + S - S_0`: hard in value, soft in its derivative.
        let rows = case.batch * case.length;
        let shift: Vec<Vec<f64>> =
            (0..rows).map(|row| case.hard(row).iter().zip(case.soft(row)).map(|(p, s)| p - s).collect()).collect();
        let loss = |case: &Case| {
            let states = case.reference(|row| case.soft(row).iter().zip(&shift[row]).map(|(s, by)| s + by).collect());
            dot(&states, &case.weights)
        };
        let name = case.name();
        assert_gradient(&format!("{name}: dictionary"), &case.dictionary, &of.dictionary, |x| {
            loss(&Case { dictionary: x.to_vec(), ..case.clone() })
        });
        assert_gradient(&format!("{name}: control"), &case.control, &of.control, |x| {
            loss(&Case { control: x.to_vec(), ..case.clone() })
        });
        assert_gradient(&format!("{name}: initial"), &case.initial, &of.initial, |x| {
            loss(&Case { initial: x.to_vec(), ..case.clone() })
        });
    }
}

#[test]
fn what_is_differentiable_has_the_gradient_of_the_recurrence_itself() {
    for case in cases() {
        let (_, of) = case.run::<f64>();
        let loss = |case: &Case| dot(&case.spec.forward(&case.arrays()).unwrap(), &case.weights);
        // Scores stay, so does every choice.
        let columns = case.spec.columns();
        let is_score = |i: usize| i % columns < case.spec.matrices;
        let free: Vec<usize> = (0..case.control.len()).filter(|&i| !is_score(i)).collect();
        let (x, df): (Vec<f64>, Vec<f64>) = free.iter().map(|&i| (case.control[i], of.control[i])).unzip();
        assert_gradient(&format!("{}: diagonal and input", case.name()), &x, &df, |x| {
            let mut moved = case.clone();
            free.iter().zip(x).for_each(|(&i, &x)| moved.control[i] = x);
            loss(&moved)
        });
        assert_gradient(&format!("{}: initial", case.name()), &case.initial, &of.initial, |x| {
            loss(&Case { initial: x.to_vec(), ..case.clone() })
        });
    }
}

#[test]
fn parallel_is_recurrent() {
    for diagonal in KINDS {
        for (length, hidden) in [(1, 3), (7, 1), (9, 5), (100, 4)] {
            for chunk in [1, 3, 8, 1000] {
                let case = Case::new(3, diagonal, true, [2, length, hidden, 3]);
                for case in [case.clone(), case.harder()].into_iter().flat_map(both) {
                    let with = |mode: Mode| Case { spec: PermutationDiagonal { mode, chunk, ..case.spec }, ..case.clone() };
                    let right = with(Mode::Recurrent).run::<f64>();
                    compare(&with(Mode::Parallel).name(), &with(Mode::Parallel).run::<f64>(), &right, 1e-12);
                    compare(&with(Mode::Parallel).name(), &with(Mode::Parallel).run::<f32>(), &right, 2e-4);
                }
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for diagonal in KINDS {
        for (mode, one_hot) in [Mode::Recurrent, Mode::Parallel].into_iter().zip([OneHot::Columns, OneHot::Rows]) {
            let mut case = Case::new(4, diagonal, true, [5, 41, 6, 3]).harder().by(one_hot);
            // Some rows of scores differ from all others.
            let columns = case.spec.columns();
            (0..205).step_by(3).for_each(|row| case.control[row * columns] += row as f64 / 64.0);
            case.spec = PermutationDiagonal { mode, chunk: 8, ..case.spec };
            let run = |threads| on_threads(threads, || (case.run::<f32>(), case.run::<f64>()));
            let one = run(1);
            assert!(one == run(2), "2 threads, {}", case.name());
            assert!(one == run(5), "5 threads, {}", case.name());
        }
    }
}

/// More maps, and more steps of a map, than are worked on at once: what a batch gives is what its series give.
#[test]
fn a_batch_is_its_series() {
    for (case, seed) in KINDS.into_iter().flat_map(|kind| both(Case::new(5, kind, true, [70, 4, 6, 3]))).zip(0..) {
        let case = if seed % 2 == 0 { case } else { case.harder() };
        let whole = case.run::<f64>();
        let part = |values: &[f64], b: usize| values[b * (values.len() / case.batch)..][..values.len() / case.batch].to_vec();
        let mut dictionary = vec![0.0; case.dictionary.len()];
        for b in 0..case.batch {
            let single = Case {
                batch: 1,
                control: part(&case.control, b),
                initial: part(&case.initial, b),
                spans: case.spans.as_deref().map(|spans| part(spans, b)),
                lengths: case.lengths.as_ref().map(|lengths| vec![lengths[b]]),
                weights: part(&case.weights, b),
                ..case.clone()
            };
            let (states, of) = single.run::<f64>();
            let name = format!("{}, series {b}", case.name());
            assert_close(&name, &part(&whole.0, b), &states, 1e-13);
            assert_close(&name, &part(&whole.1.control, b), &of.control, 1e-12);
            assert_close(&name, &part(&whole.1.initial, b), &of.initial, 1e-12);
            dictionary.iter_mut().zip(of.dictionary).for_each(|(sum, g)| *sum += g);
        }
        assert_close(&case.name(), &whole.1.dictionary, &dictionary, 1e-12);
    }
}

#[test]
fn a_stream_is_the_recurrence() {
    for diagonal in KINDS {
        for case in [false, true].into_iter().flat_map(|input| both(Case::new(5, diagonal, input, [1, 9, 5, 3]))) {
            let case = Case { spans: Some((0..9).map(|t| 0.25 * f64::from(t)).collect()), ..case };
            let states = case.spec.forward(&case.arrays()).unwrap();
            let mut stream = Stream::new(case.spec, &case.dictionary).unwrap();
            let (mut state, columns) = (case.initial.clone(), case.spec.columns());
            for (t, right) in states.chunks(case.spec.width()).enumerate() {
                stream.push(&mut state, &case.control[t * columns..][..columns], 0.25 * t as f64).unwrap();
                assert_eq!(state, right, "step {t}, {}", case.name());
            }
        }
    }
}

/// A map and a state from any numbers.
fn map(one_hot: OneHot, numbers: Numbers, at: &[usize], scale: &[f64]) -> OneHotMap<f64> {
    let hidden = at.len();
    let at = at.iter().map(|at| (at % hidden) as u32).collect();
    OneHotMap::new(one_hot, numbers, at, scale[..numbers.parts() * hidden].to_vec()).unwrap()
}

proptest! {
    /// The product of two such matrices is another one: one entry a line, and it does what the two do.
    #[test]
    fn products_stay_in_the_structure(
        (a, b, h) in (1_usize..9).prop_flat_map(|n| {
            let numbers = || prop::collection::vec(-2.0..2.0_f64, 2 * n);
            ((prop::collection::vec(0..n, n), numbers()), (prop::collection::vec(0..n, n), numbers()), numbers())
        }),
        complex in any::<bool>(),
        rows in any::<bool>(),
    ) {
        let one_hot = if rows { OneHot::Rows } else { OneHot::Columns };
        let numbers = if complex { Numbers::Complex } else { Numbers::Real };
        let (a, b) = (map(one_hot, numbers, &a.0, &a.1), map(one_hot, numbers, &b.0, &b.1));
        let h = &h[..b.scale().len()];
        let product = a.after(&b).unwrap();
        prop_assert_eq!(product.at().len(), b.at().len());
        let (seen, right) = (product.apply(h).unwrap(), a.apply(&b.apply(h).unwrap()).unwrap());
        for (seen, right) in seen.iter().zip(&right) {
            prop_assert!((seen - right).abs() <= 1e-12, "{} {}", seen, right);
        }
    }

    /// Products are associative, which a scan rests on.
    #[test]
    fn products_are_associative(rows in any::<bool>(), maps in prop::collection::vec((prop::collection::vec(0_usize..6, 6), prop::collection::vec(-2.0..2.0_f64, 12)), 3)) {
        let one_hot = if rows { OneHot::Rows } else { OneHot::Columns };
        let [a, b, c] = [0, 1, 2].map(|i| map(one_hot, Numbers::Complex, &maps[i].0, &maps[i].1));
        let (left, right) = (a.after(&b).unwrap().after(&c).unwrap(), a.after(&b.after(&c).unwrap()).unwrap());
        prop_assert_eq!(left.at(), right.at());
        for (left, right) in left.scale().iter().zip(right.scale()) {
            prop_assert!((left - right).abs() <= 1e-12);
        }
    }
}

#[test]
fn errors() {
    let case = Case::new(6, Diagonal::Complex, true, [2, 3, 4, 2]);
    let message = |case: &Case| case.spec.forward(&case.arrays()).unwrap_err().to_string();
    let start = "the permutation-diagonal recurrence: ";
    let wrong = Case { batch: 0, ..case.clone() };
    assert_eq!(message(&wrong), format!("{start}the batch has size 0; at least 1 is needed"));
    let wrong = Case { dictionary: vec![0.0; 31], ..case.clone() };
    assert_eq!(message(&wrong), format!("{start}the dictionary holds 31 numbers, but 32 = 2 matrices of 4 x 4 are needed"));
    let wrong = Case { control: vec![0.0; 7], ..case.clone() };
    let tail = "108 = batch 2 x length 3 x 18 columns are needed";
    assert_eq!(message(&wrong), format!("{start}the control holds 7 numbers, but {tail}"));
    let wrong = Case { initial: vec![0.0; 7], ..case.clone() };
    assert_eq!(message(&wrong), format!("{start}the initial state holds 7 numbers, but 16 = batch 2 x 8 numbers are needed"));
    let wrong = Case { lengths: Some(vec![1, 4]), ..case.clone() };
    assert!(matches!(wrong.spec.forward(&wrong.arrays()), Err(Error::Length { series: 1, length: 4, longest: 3, .. })));
    let mut wrong = case.clone();
    wrong.control[18 + 5] = f64::NAN;
    let place = "series 0, step 1, column 5; remove or fill such values first";
    assert_eq!(message(&wrong), format!("{start}the control holds NaN at {place}"));
    // Padding is not looked at.
    wrong.lengths = Some(vec![1, 3]);
    assert!(wrong.spec.forward(&wrong.arrays()).is_ok());
    let mut wrong = Case::new(6, Diagonal::One, true, [2, 3, 4, 2]);
    wrong.control.iter_mut().for_each(|x| *x = 1.5e308);
    assert!(matches!(wrong.spec.forward(&wrong.arrays()), Err(Error::Exploded { structure: "permutation-diagonal", .. })));

    let text = OneHotMap::new(OneHot::Columns, Numbers::Real, vec![0, 2], vec![1.0, 1.0]).unwrap_err().to_string();
    assert_eq!(text, "permutation-diagonal: column 1 has its entry in row 2, but there are 2, counted from 0");
    let (small, large) =
        (map(OneHot::Columns, Numbers::Real, &[0], &[1.0]), map(OneHot::Columns, Numbers::Real, &[0, 1], &[1.0, 1.0]));
    let text = small.after(&large).unwrap_err().to_string();
    assert_eq!(text, "permutation-diagonal: a product of 1 real columns and 2 real columns; both must be the same");
}
