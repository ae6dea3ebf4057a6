//! The selective scan: the cases of the CPU kernel, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::selective::Selective;
use ncde_gpu::{DeviceKernel, Error, Gpu};
use ncde_kernels::selective::{Input, Selective as Spec};
use ncde_reference::{assert_close, narrow, scaled, uniform, wide};

use crate::device::{gpu, some};

struct Case {
    spec: Spec,
    shape: [usize; 2],
    /// Steps, `u`, `a`, `b`, `c`; then the gradient in `y`.
    arrays: [Vec<f64>; 6],
    aside: Option<Vec<bool>>,
}

/// `y`, and the gradients in steps, `u`, `a`, `b` and `c`.
type Results = [Vec<f64>; 6];

impl Case {
    fn new(seed: u64, [batch, length, channels, states]: [usize; 4], aside: bool) -> Self {
        let rows = batch * length;
        let drawn = |i: u64, count: usize, factor: f64, shift: f64| {
            let numbers = scaled(&uniform(seed + i, count), factor);
            numbers.into_iter().map(|x| f64::from((x + shift) as f32)).collect::<Vec<_>>()
        };
        let arrays = [
            drawn(0, rows * channels, 0.9, 0.5),
            drawn(1, rows * channels, 2.0, 0.0),
            drawn(2, states * channels, 1.0, -0.5),
            drawn(3, rows * states, 2.0, 0.0),
            drawn(4, rows * states, 2.0, 0.0),
            drawn(5, rows * channels, 2.0, 0.0),
        ];
        let aside = aside.then(|| (0..rows).map(|i| i % 3 == 1 || i % 16 == 0).collect());
        Self { spec: Spec { channels, states }, shape: [batch, length], arrays, aside }
    }

    fn reference(&self) -> Results {
        let ([batch, length], [step, u, a, b, c, w]) = (self.shape, &self.arrays);
        let input = Input { batch, length, step, u, a, b, c, aside: self.aside.as_deref() };
        let outputs = self.spec.forward(&input).unwrap();
        let of = self.spec.backward(&input, &outputs.starts, w).unwrap();
        [outputs.y, of.step, of.u, of.a, of.b, of.c]
    }

    fn inputs<R: Runtime>(&self, gpu: &Gpu<R>) -> [Handle; 5] {
        std::array::from_fn(|i| gpu.put(&narrow::<f32>(&self.arrays[i])))
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> Results {
        let (scan, inputs) = (self.scan(), self.inputs(gpu));
        let (y, stored) = scan.forward(gpu, self.shape, inputs.each_ref()).unwrap();
        let w = gpu.put(&narrow::<f32>(&self.arrays[5]));
        let of = scan.backward(gpu, self.shape, inputs.each_ref(), &stored, &w).unwrap();
        let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..self.arrays[i].len()]);
        [get(&y, 5), get(&of[0], 0), get(&of[1], 1), get(&of[2], 2), get(&of[3], 3), get(&of[4], 4)]
    }

    fn scan(&self) -> Selective {
        let (Spec { channels, states }, aside) = (self.spec, self.aside.as_deref().map(Into::into));
        Selective { channels, states, aside }
    }
}

/// Batch, length, channels, states: one number; less than a chunk; several chunks, and blocks of channels; more sums than units.
const SHAPES: [[usize; 4]; 5] = [[1, 1, 1, 1], [2, 70, 5, 3], [1, 150, 140, 2], [2, 64, 32, 16], [1, 33, 3, 20]];

#[test]
fn all_shapes() {
    let gpu = gpu();
    for (i, &shape) in some(&SHAPES, 4).iter().enumerate() {
        for &aside in some(&[i % 2 == 1, i % 2 == 0], 1) {
            let case = Case::new(1, shape, aside);
            let (seen, right) = (case.run(&gpu), case.reference());
            for (what, (seen, right)) in ["y", "steps", "u", "a", "b", "c"].iter().zip(seen.iter().zip(&right)) {
                assert_close(&format!("{shape:?}, aside {aside}: {what}"), seen, right, 2e-5);
            }
            assert!(seen == case.run(&gpu), "{shape:?}: other bits the second time");
        }
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(2, [2, 3, 4, 2], true);
    let (scan, right) = (case.scan(), case.inputs(&gpu));
    let refused = |scan: Selective, shape| scan.forward(&gpu, shape, right.each_ref()).unwrap_err();
    assert_eq!(refused(scan.clone(), [2, 0]), Error::Empty { what: "the length" });
    assert!(matches!(refused(Selective { states: 3, ..scan.clone() }, [2, 3]), Error::Size { what: "a", .. }));
    let wrong = Selective { aside: Some([false; 5].into()), ..scan.clone() };
    assert!(matches!(refused(wrong, [2, 3]), Error::Size { what: "the list of steps aside", .. }));
    let large = Selective { states: 1000, ..scan.clone() };
    assert!(!large.fits(&gpu) && scan.fits(&gpu));
    let (_, stored) = scan.forward(&gpu, [2, 3], right.each_ref()).unwrap();
    let error = scan.backward(&gpu, [2, 3], right.each_ref(), &stored, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", .. }));
}
