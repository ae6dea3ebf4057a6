//! The permutation-diagonal recurrence: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::permutation::{Arrays, Diagonal, PermutationDiagonal};
use ncde_gpu::{Error, Gpu, Limits};
use ncde_kernels::permutation::{Diagonal as Kind, Gradients};

use crate::common::permutation::{Case, KINDS, cases, compare};
use crate::common::{narrow, wide};
use crate::device::gpu;

fn spec(case: &Case) -> PermutationDiagonal {
    let diagonal = match case.spec.diagonal() {
        Kind::One => Diagonal::One,
        Kind::Real => Diagonal::Real,
        Kind::Complex => Diagonal::Complex,
    };
    PermutationDiagonal { hidden: case.spec.hidden(), matrices: case.spec.matrices(), diagonal, input: case.spec.has_input() }
}

fn arrays<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> Arrays {
    Arrays {
        batch: case.batch,
        length: case.length,
        dictionary: gpu.put(&narrow::<f32>(&case.dictionary)),
        control: gpu.put(&narrow::<f32>(&case.control)),
        initial: gpu.put(&narrow::<f32>(&case.initial)),
        spans: case.spans.as_deref().map(narrow),
        lengths: case.lengths.clone(),
    }
}

fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> (Vec<f64>, Gradients<f64>) {
    let (spec, arrays) = (spec(case), arrays(gpu, case));
    let get = |handle, count: usize| wide::<f32>(&gpu.get(handle).unwrap()[..count]);
    let states = spec.forward(gpu, &arrays).unwrap();
    let of = spec.backward(gpu, &arrays, &states, &gpu.put(&narrow::<f32>(&case.weights))).unwrap();
    let gradients = Gradients {
        dictionary: get(&of.dictionary, case.dictionary.len()),
        control: get(&of.control, case.control.len()),
        initial: get(&of.initial, case.initial.len()),
    };
    (get(&states, case.weights.len()), gradients)
}

fn check<R: Runtime>(gpu: &Gpu<R>, case: &Case) {
    compare(&case.name(), &run(gpu, case), &case.run::<f64>(), 1e-4);
}

#[test]
fn all_shapes_and_diagonals() {
    let gpu = gpu();
    for case in cases() {
        check(&gpu, &case);
    }
}

/// More columns than a cube has, more states than a series has units, steps in slabs.
#[test]
fn slabs_and_many_states() {
    for (i, (shape, slab)) in
        [([3, 5, 70, 5], 1 << 28), ([3, 5, 70, 5], 1 << 16), ([2, 3, 600, 2], 1 << 22)].into_iter().enumerate()
    {
        let gpu = gpu().with_limits(Limits { slab, ..Limits::default() });
        let case = Case::new(20, KINDS[2 - i], true, shape);
        check(&gpu, &case);
        check(&gpu, &case.harder());
    }
}

/// Entries that are equal, alone and after they were mixed, in all places of a column: the first is chosen.
#[test]
fn of_equal_entries_the_first_is_chosen() {
    let gpu = gpu();
    for (hidden, matrices) in [(5, 1), (37, 2), (70, 4)] {
        let mut case = Case::new(30, Kind::One, false, [2, 3, hidden, matrices]);
        // Small whole numbers with equal weights: nothing is rounded.
        case.dictionary.iter_mut().for_each(|x| *x = (2.0 * *x).round());
        case.control.fill(0.25);
        assert_eq!(run(&gpu, &case).0, case.run::<f32>().0, "{}", case.name());
    }
}

/// What lies past the end of a series is not looked at.
#[test]
fn padding_may_hold_anything() {
    let gpu = gpu();
    for kind in KINDS {
        let mut case = Case::new(40, kind, true, [2, 4, 9, 3]);
        case.lengths = Some(vec![2, 3]);
        let right = case.run::<f64>();
        let columns = case.spec.columns();
        case.control[2 * columns..4 * columns].fill(f64::NAN);
        compare(&case.name(), &run(&gpu, &case), &right, 1e-4);
    }
}

#[test]
fn the_same_numbers_every_time() {
    let gpu = gpu().with_limits(Limits { slab: 1 << 14, ..Limits::default() });
    let case = Case::new(50, Kind::Complex, true, [5, 11, 33, 4]).harder();
    assert!(run(&gpu, &case) == run(&gpu, &case));
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(6, Kind::Complex, true, [2, 3, 4, 2]);
    let (own, right) = (spec(&case), arrays(&gpu, &case));
    let refused = |own: PermutationDiagonal, arrays: &Arrays| own.forward(&gpu, arrays).unwrap_err();
    let wrong = Arrays { lengths: Some(vec![1, 4]), ..right.clone() };
    assert_eq!(refused(own, &wrong), Error::Length { series: 1, length: 4, longest: 3 });
    let wrong = Arrays { lengths: Some(vec![1]), ..right.clone() };
    assert!(matches!(refused(own, &wrong), Error::Size { what: "the list of lengths", .. }));
    let wrong = Arrays { spans: Some(vec![1.0; 5]), ..right.clone() };
    assert!(matches!(refused(own, &wrong), Error::Size { what: "the list of spans", .. }));
    let wrong = Arrays { length: 30, ..right.clone() };
    assert!(matches!(refused(own, &wrong), Error::Size { what: "the control", .. }));
    let wrong = Arrays { batch: 0, ..right.clone() };
    assert_eq!(refused(own, &wrong), Error::Empty { what: "the batch" });
    let large = PermutationDiagonal { hidden: 1 << 15, matrices: 1, ..own };
    assert!(!large.fits(&gpu) && own.fits(&gpu));
    assert!(matches!(refused(large, &right), Error::TooLarge { .. }));
}
