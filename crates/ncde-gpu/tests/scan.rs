//! The elementwise recurrence: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::scan::{Arrays, Scan};
use ncde_gpu::{Error, Gpu, Limits};
use ncde_kernels::scan::{Gradients, Numbers};

use crate::device::gpu;
use ncde_reference::scan::{Case, KINDS, compare};
use ncde_reference::{narrow, wide};

fn scan(case: &Case) -> Scan {
    Scan { width: case.scan.width, complex: case.scan.numbers == Numbers::Complex }
}

fn arrays<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> Arrays {
    let put = |x: &[f64]| gpu.put(&narrow::<f32>(x));
    Arrays { batch: case.batch, length: case.length, a: put(&case.a), b: put(&case.b), initial: put(&case.initial) }
}

fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> (Vec<f64>, Gradients<f64>) {
    let (scan, arrays) = (scan(case), arrays(gpu, case));
    let get = |handle, count: usize| wide::<f32>(&gpu.get(handle).unwrap()[..count]);
    let states = scan.forward(gpu, &arrays).unwrap();
    let of = scan.backward(gpu, &arrays, &states, &gpu.put(&narrow::<f32>(&case.weights))).unwrap();
    let gradients =
        Gradients { a: get(&of.a, case.a.len()), b: get(&of.b, case.b.len()), initial: get(&of.initial, case.initial.len()) };
    (get(&states, case.a.len()), gradients)
}

/// Few units: one chunk; many: as many as there are steps for.
#[test]
fn all_shapes_and_chunks() {
    for units in [1, 1 << 8, 1 << 16] {
        let gpu = gpu().with_limits(Limits { units, ..Limits::default() });
        for numbers in KINDS {
            for shape in [[1, 1, 1], [3, 2, 17], [2, 63, 3], [1, 64, 5], [2, 257, 33], [1, 1000, 1]] {
                let case = Case::new(1, numbers, shape);
                compare(&format!("{units} units, {}", case.name()), run(&gpu, &case), &case.reference(), 1e-5);
            }
        }
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(6, Numbers::Complex, [2, 3, 4]);
    let (own, right) = (scan(&case), arrays(&gpu, &case));
    let refused = |own: Scan, arrays: &Arrays| own.forward(&gpu, arrays).unwrap_err();
    assert_eq!(refused(own, &Arrays { batch: 0, ..right.clone() }), Error::Empty { what: "the batch" });
    assert_eq!(refused(Scan { width: 0, ..own }, &right), Error::Empty { what: "the width" });
    assert!(matches!(refused(own, &Arrays { length: 30, ..right.clone() }), Error::Size { what: "a", .. }));
    let short = Arrays { initial: gpu.put(&[0.0; 3]), ..right.clone() };
    assert!(matches!(refused(own, &short), Error::Size { what: "the initial state", .. }));
    let states = own.forward(&gpu, &right).unwrap();
    let refused = own.backward(&gpu, &right, &states, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(refused, Error::Size { what: "the gradient", .. }));
}
