//! The elementwise recurrence: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::scan::Scan;
use ncde_gpu::{DeviceKernel, Error, Gpu, Limits};
use ncde_kernels::scan::{Gradients, Numbers};

use crate::device::gpu;
use ncde_reference::scan::{Case, KINDS, compare};
use ncde_reference::{narrow, wide};

fn scan(case: &Case) -> Scan {
    Scan { width: case.scan.width, complex: case.scan.numbers == Numbers::Complex, shared: case.a.len() < case.b.len() }
}

fn arrays<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> [Handle; 3] {
    [&case.a, &case.b, &case.initial].map(|x| gpu.put(&narrow::<f32>(x)))
}

fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> (Vec<f64>, Gradients<f64>) {
    let (scan, arrays, shape) = (scan(case), arrays(gpu, case), [case.batch, case.length]);
    let get = |handle, count: usize| wide::<f32>(&gpu.get(handle).unwrap()[..count]);
    let (states, stored) = scan.forward(gpu, shape, arrays.each_ref()).unwrap();
    let weights = gpu.put(&narrow::<f32>(&case.weights));
    let [a, b, initial] = scan.backward(gpu, shape, arrays.each_ref(), &stored, &weights).unwrap();
    let gradients = Gradients { a: get(&a, case.a.len()), b: get(&b, case.b.len()), initial: get(&initial, case.initial.len()) };
    (get(&states, case.b.len()), gradients)
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
                // One row of `a` for all steps: the gradient in it is the sum of theirs.
                let one = Case { a: case.a[..case.row()].to_vec(), ..case.clone() };
                let (states, mut right) = Case { a: one.a.repeat(shape[0] * shape[1]), ..case.clone() }.reference();
                right.a = (0..one.a.len()).map(|i| right.a.iter().skip(i).step_by(one.a.len()).sum()).collect();
                compare(&format!("{units} units, one row, {}", case.name()), run(&gpu, &one), &(states, right), 1e-5);
            }
        }
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(6, Numbers::Complex, [2, 3, 4]);
    let (own, right) = (scan(&case), arrays(&gpu, &case));
    let refused = |own: Scan, shape, arrays: [&Handle; 3]| own.forward(&gpu, shape, arrays).unwrap_err();
    assert_eq!(refused(own, [0, 3], right.each_ref()), Error::Empty { what: "the batch" });
    assert_eq!(refused(Scan { width: 0, ..own }, [2, 3], right.each_ref()), Error::Empty { what: "the width" });
    assert!(matches!(refused(own, [2, 30], right.each_ref()), Error::Size { what: "a", .. }));
    let short = gpu.put(&[0.0; 3]);
    assert!(matches!(refused(own, [2, 3], [&right[0], &right[1], &short]), Error::Size { what: "the initial state", .. }));
    let (_, stored) = own.forward(&gpu, [2, 3], right.each_ref()).unwrap();
    let refused = own.backward(&gpu, [2, 3], right.each_ref(), &stored, &short).unwrap_err();
    assert!(matches!(refused, Error::Size { what: "the gradient", .. }));
}
