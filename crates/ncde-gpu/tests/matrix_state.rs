//! Recurrences of matrix-valued states: the cases of the CPU kernels from states of zeros, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::matrix_state::{Decay, MatrixState};
use ncde_gpu::{DeviceKernel, Error, Gpu};
use ncde_kernels::matrix_state::{Decay as Form, Gradients, MatrixState as Spec};
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

fn inputs<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> [Handle; 6] {
    std::array::from_fn(|i| gpu.put(&if case.arrays[i].is_empty() { vec![0.0] } else { narrow::<f32>(&case.arrays[i]) }))
}

/// What the device gives; of the last state, which it does not give, what is right.
fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case, right: &Results) -> Results {
    let (spec, inputs, shape) = (spec(case), inputs(gpu, case), [case.batch, case.length]);
    let (outputs, stored) = spec.forward(gpu, shape, inputs.each_ref()).unwrap();
    let weights = gpu.put(&narrow::<f32>(&case.weights[0]));
    let of = spec.backward(gpu, shape, inputs.each_ref(), &stored, &weights).unwrap();
    let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..case.arrays[i].len()]);
    let [w, a, c, k, q, v] = std::array::from_fn(|i| get(&of[i], i));
    (get(&outputs, 5), right.1.clone(), Gradients { w, a, c, k, q, v, initial: right.2.initial.clone() })
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
    let (own, right) = (spec(&case), inputs(&gpu, &case));
    let refused = |own: MatrixState, shape| own.forward(&gpu, shape, right.each_ref()).unwrap_err();
    assert_eq!(refused(own, [0, 4]), Error::Empty { what: "the batch" });
    assert_eq!(refused(MatrixState { values: 0, ..own }, [2, 4]), Error::Empty { what: "the number of values" });
    assert!(matches!(refused(own, [2, 30]), Error::Size { what: "a", .. }));
    assert!(matches!(refused(MatrixState { decay: Decay::Vector, ..own }, [2, 4]), Error::Size { what: "w", .. }));
    let large = MatrixState { keys: 1 << 15, ..own };
    assert!(!large.fits(&gpu) && own.fits(&gpu));
    assert!(matches!(refused(large, [2, 4]), Error::TooLarge { .. }));
    let (_, stored) = own.forward(&gpu, [2, 4], right.each_ref()).unwrap();
    let refused = |stored: &[Handle], gradient: usize| {
        own.backward(&gpu, [2, 4], right.each_ref(), stored, &gpu.put(&vec![0.0; gradient])).unwrap_err()
    };
    assert!(matches!(refused(&stored, 47), Error::Size { what: "the gradient", .. }));
    assert!(matches!(refused(&stored[1..], 48), Error::Empty { what: "what the forward pass stored" }));
    let short = [stored[0].clone(), gpu.put(&[0.0])];
    assert!(matches!(refused(&short, 48), Error::Size { what: "what the forward pass stored", .. }));
}
