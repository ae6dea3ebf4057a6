//! Recurrences of matrix-valued states: the cases of the CPU kernels from states of zeros, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::matrix_state::{Arrays, Decay, Gradients, MatrixState, Stored};
use ncde_gpu::{Error, Gpu};
use ncde_kernels::matrix_state::{Decay as Form, MatrixState as Spec};
use ncde_reference::matrix_state::{Case, Results, compare, specs};
use ncde_reference::{narrow, wide};

use crate::device::{EVERY, gpu};

/// Heads, keys, values, batch, length: one number; a unit a row; ragged pieces and tiles; several blocks, chunks and tiles.
const SHAPES: [[usize; 5]; 6] =
    [[1, 1, 1, 1, 1], [2, 5, 3, 1, 1], [3, 3, 5, 2, 16], [2, 17, 35, 1, 41], [1, 32, 32, 2, 64], [1, 70, 70, 1, 50]];

/// From zeros, and without a gradient in the last state.
fn case(seed: u64, spec: Spec, shape: [usize; 2]) -> Case {
    let mut case = Case::new(seed, spec, shape);
    case.arrays[6].fill(0.0);
    case.weights[1].fill(0.0);
    case
}

fn spec(case: &Case) -> MatrixState {
    let Spec { heads, keys, values, decay, delta } = case.spec;
    let decay = match decay {
        Form::None => Decay::None,
        Form::Scalar => Decay::Scalar,
        Form::Vector => Decay::Vector,
    };
    MatrixState { heads, keys, values, decay, delta }
}

fn arrays<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> Arrays {
    let put = |i: usize| gpu.put(&if case.arrays[i].is_empty() { vec![0.0] } else { narrow::<f32>(&case.arrays[i]) });
    let [w, a, c, k, q, v] = std::array::from_fn(put);
    Arrays { batch: case.batch, length: case.length, w, a, c, k, q, v }
}

/// What the device gives; of the last state, which it does not give, what is right.
fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case, right: &Results) -> Results {
    let (spec, arrays) = (spec(case), arrays(gpu, case));
    let (outputs, stored) = spec.forward(gpu, &arrays).unwrap();
    let of = spec.backward(gpu, &arrays, &stored, &gpu.put(&narrow::<f32>(&case.weights[0]))).unwrap();
    let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..case.arrays[i].len()]);
    let Gradients { w, a, c, k, q, v } = &of;
    let gradients = ncde_kernels::matrix_state::Gradients {
        w: get(w, 0),
        a: get(a, 1),
        c: get(c, 2),
        k: get(k, 3),
        q: get(q, 4),
        v: get(v, 5),
        initial: right.2.initial.clone(),
    };
    (get(&outputs, 5), right.1.clone(), gradients)
}

#[test]
fn all_shapes() {
    let gpu = gpu();
    for (i, [heads, keys, values, batch, length]) in SHAPES.into_iter().enumerate() {
        // In software one form of each shape, and all of the first two.
        for (j, spec) in specs(heads, keys, values).into_iter().enumerate() {
            if EVERY || i < 2 || j == 2 * (i % 3) + 1 || (i == 4 && j == 0) {
                let case = case(1, spec, [batch, length]);
                let right = case.run::<f64>();
                compare(&case.name(), &run(&gpu, &case, &right), &right, 3e-5);
            }
        }
    }
}

#[test]
fn the_same_numbers_every_time() {
    let gpu = gpu();
    let case = case(2, Spec { delta: true, decay: Form::Scalar, ..Spec::new(2, 17, 9) }, [2, 40]);
    let right = case.run::<f64>();
    assert!(run(&gpu, &case, &right) == run(&gpu, &case, &right));
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = case(3, Spec { delta: true, ..Spec::new(2, 5, 3) }, [2, 4]);
    let (own, right) = (spec(&case), arrays(&gpu, &case));
    let refused = |own: MatrixState, arrays: &Arrays| own.forward(&gpu, arrays).unwrap_err();
    assert_eq!(refused(own, &Arrays { batch: 0, ..right.clone() }), Error::Empty { what: "the batch" });
    assert_eq!(refused(MatrixState { values: 0, ..own }, &right), Error::Empty { what: "the number of values" });
    assert!(matches!(refused(own, &Arrays { length: 30, ..right.clone() }), Error::Size { what: "a", .. }));
    let wrong = MatrixState { decay: Decay::Vector, ..own };
    assert!(matches!(refused(wrong, &right), Error::Size { what: "w", .. }));
    let large = MatrixState { keys: 1 << 15, ..own };
    assert!(!large.fits(&gpu) && own.fits(&gpu));
    let (_, stored) = own.forward(&gpu, &right).unwrap();
    let refused =
        |stored: &Stored, gradient: usize| own.backward(&gpu, &right, stored, &gpu.put(&vec![0.0; gradient])).unwrap_err();
    assert!(matches!(refused(&stored, 47), Error::Size { what: "the gradient", .. }));
    let short = Stored { states: gpu.put(&[0.0]), ..stored };
    assert!(matches!(refused(&short, 48), Error::Size { what: "the stored states", .. }));
}
