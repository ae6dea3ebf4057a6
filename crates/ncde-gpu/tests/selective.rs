//! The selective scan: the cases of the CPU kernel, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::selective::{Arrays, Selective};
use ncde_gpu::{Error, Gpu};
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

    fn arrays<R: Runtime>(&self, gpu: &Gpu<R>) -> Arrays {
        let put = |i: usize| gpu.put(&narrow::<f32>(&self.arrays[i]));
        let ([batch, length], [step, u, a, b, c]) = (self.shape, std::array::from_fn(put));
        Arrays { batch, length, step, u, a, b, c, aside: self.aside.as_deref().map(Into::into) }
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> Results {
        let (own, arrays) = (self.own(), self.arrays(gpu));
        let (y, starts) = own.forward(gpu, &arrays).unwrap();
        let of = own.backward(gpu, &arrays, &starts, &gpu.put(&narrow::<f32>(&self.arrays[5]))).unwrap();
        let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..self.arrays[i].len()]);
        [get(&y, 5), get(&of.step, 0), get(&of.u, 1), get(&of.a, 2), get(&of.b, 3), get(&of.c, 4)]
    }

    fn own(&self) -> Selective {
        Selective { channels: self.spec.channels, states: self.spec.states }
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
    let (own, right) = (case.own(), case.arrays(&gpu));
    let refused = |own: Selective, arrays: &Arrays| own.forward(&gpu, arrays).unwrap_err();
    assert_eq!(refused(own, &Arrays { length: 0, ..right.clone() }), Error::Empty { what: "the length" });
    assert!(matches!(refused(Selective { states: 3, ..own }, &right), Error::Size { what: "b", .. }));
    let wrong = Arrays { aside: Some([false; 5].into()), ..right.clone() };
    assert!(matches!(refused(own, &wrong), Error::Size { what: "the list of steps aside", .. }));
    let large = Selective { states: 1000, ..own };
    assert!(!large.fits(&gpu) && own.fits(&gpu));
    let (_, starts) = own.forward(&gpu, &right).unwrap();
    let error = own.backward(&gpu, &right, &starts, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", .. }));
}
