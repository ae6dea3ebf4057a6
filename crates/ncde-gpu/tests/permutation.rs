//! The permutation-diagonal recurrence: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::permutation::{Arrays, Diagonal, OneHot, PermutationDiagonal};
use ncde_gpu::{Error, Gpu, Limits};
use ncde_kernels::permutation::{Diagonal as Kind, Gradients, OneHot as Lines};

const LINES: [Lines; 2] = [Lines::Columns, Lines::Rows];

use crate::device::{EVERY, gpu, some};
use ncde_reference::permutation::{Case, KINDS, cases, compare};
use ncde_reference::{narrow, wide};

fn spec(case: &Case) -> PermutationDiagonal {
    let diagonal = match case.spec.diagonal {
        Kind::One => Diagonal::One,
        Kind::Real => Diagonal::Real,
        Kind::Complex => Diagonal::Complex,
    };
    let one_hot = match case.spec.one_hot {
        Lines::Columns => OneHot::Columns,
        Lines::Rows => OneHot::Rows,
    };
    let (hidden, matrices) = (case.spec.hidden, case.spec.matrices);
    PermutationDiagonal { hidden, matrices, diagonal, one_hot, input: case.spec.input }
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

/// All shapes with a diagonal. Kernels of a process are compiled one after the other: tests of their own can be run at once as processes. In software one of nine, others for each kind.
fn all_shapes(kind: Kind) {
    let gpu = gpu();
    let own = cases().into_iter().filter(|case| case.spec.diagonal == kind);
    let (first, by) = if EVERY { (0, 1) } else { (kind as usize, 9) };
    own.skip(first).step_by(by).for_each(|case| check(&gpu, &case));
}

#[test]
fn all_shapes_without_a_diagonal() {
    all_shapes(Kind::One);
}

#[test]
fn all_shapes_with_a_real_diagonal() {
    all_shapes(Kind::Real);
}

#[test]
fn all_shapes_with_a_complex_diagonal() {
    all_shapes(Kind::Complex);
}

/// A line of one entry has no other choice: its gradient is 0, not nearly 0.
#[test]
fn one_state_leaves_nothing_to_choose() {
    let gpu = gpu();
    for (kind, one_hot) in KINDS.into_iter().flat_map(|kind| LINES.map(|one_hot| (kind, one_hot))) {
        let case = Case::new(10, kind, true, [3, 7, 1, 3]).by(one_hot);
        let (_, gradients) = run(&gpu, &case);
        assert!(gradients.dictionary.iter().all(|&x| x == 0.0), "{}: {:?}", case.name(), gradients.dictionary);
        let columns = case.spec.columns();
        assert!(gradients.control.chunks(columns).all(|row| row[..3].iter().all(|&x| x == 0.0)), "{}", case.name());
    }
}

/// More lines than a cube has, more states than a series has units, more matrices than registers, lines that shared memory does not hold at once, sums in parts.
#[test]
fn many_lines_states_matrices_and_parts() {
    // (Mesa's software Vulkan gives up after 65,535 turns of all loops of a unit: one of few units has few lines and matrices.)
    let [many, few] = [Limits { units: 1 << 14, slab: 1 << 28 }, Limits { units: 64, slab: 1 }];
    let shapes = [([3, 15, 70, 5], many), ([3, 15, 70, 5], few), ([2, 3, 600, 2], many), ([2, 2, 70, 70], many)];
    for (i, (shape, limits)) in shapes.into_iter().enumerate() {
        let gpu = gpu().with_limits(limits);
        let case = Case::new(20, KINDS[2 - i % 3], true, shape).by(LINES[i % 2]);
        let harder = case.clone().harder().by(LINES[(i + 1) % 2]);
        some(&if i % 2 == 0 { [case, harder] } else { [harder, case] }, 1).iter().for_each(|case| check(&gpu, case));
    }
}

/// Entries that are equal, alone and after they were mixed, in all places of a column: the first is chosen.
#[test]
fn of_equal_entries_the_first_is_chosen() {
    let gpu = gpu();
    for (i, (hidden, matrices)) in [(5, 1), (37, 2), (70, 4)].into_iter().enumerate() {
        let mut case = Case::new(30, Kind::One, false, [2, 3, hidden, matrices]).by(LINES[i % 2]);
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
        let mut case = Case::new(40, kind, true, [2, 4, 9, 3]).by(LINES[kind as usize % 2]);
        case.lengths = Some(vec![2, 3]);
        let right = case.run::<f64>();
        let columns = case.spec.columns();
        case.control[2 * columns..4 * columns].fill(f64::NAN);
        compare(&case.name(), &run(&gpu, &case), &right, 1e-4);
    }
}

#[test]
fn the_same_numbers_every_time() {
    let gpu = gpu().with_limits(Limits { units: 1 << 14, ..Limits::default() });
    let case = Case::new(50, Kind::Complex, true, [5, 11, 33, 4]).harder();
    let first = run(&gpu, &case);
    compare(&case.name(), &first, &case.run::<f64>(), 1e-4);
    assert!(first == run(&gpu, &case));
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
