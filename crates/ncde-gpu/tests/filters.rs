//! Banks of filters: the cases of the CPU kernel, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::filters::Filters;
use ncde_gpu::{DeviceKernel, Error, Gpu};
use ncde_kernels::filters::{Input, backward, forward};
use ncde_reference::{assert_close, narrow, uniform, wide};

use crate::device::gpu;

struct Case {
    /// Batch, length, channels and states.
    shape: [usize; 4],
    /// `u`, `a`, `c`, and the gradient in `y`.
    arrays: [Vec<f64>; 4],
    aside: Option<Vec<bool>>,
}

impl Case {
    fn new(seed: u64, shape: [usize; 4], aside: bool) -> Self {
        let [batch, length, channels, states] = shape;
        let drawn = |i: u64, count: usize| uniform(seed + i, count).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        let (rows, numbers) = (batch * length, 2 * states * channels);
        let a = drawn(1, numbers).into_iter().map(|x| 0.6875 * x).collect();
        Self {
            shape,
            arrays: [drawn(0, rows * channels), a, drawn(2, numbers), drawn(3, rows * channels)],
            aside: aside.then(|| (0..rows).map(|i| i % 3 == 1).collect()),
        }
    }

    /// `y`, and the gradients in `u`, `a` and `c`.
    fn reference(&self) -> [Vec<f64>; 4] {
        let ([batch, length, channels, _], [u, a, c, w]) = (self.shape, &self.arrays);
        let input = Input { batch, length, channels, u, a, c, aside: self.aside.as_deref() };
        let (y, starts) = forward(&input).unwrap();
        let of = backward(&input, &starts, w).unwrap();
        [y, of.u, of.a, of.c]
    }

    fn inputs<R: Runtime>(&self, gpu: &Gpu<R>) -> [Handle; 3] {
        std::array::from_fn(|i| gpu.put(&narrow::<f32>(&self.arrays[i])))
    }

    fn filters(&self) -> Filters {
        let [_, _, channels, states] = self.shape;
        Filters { channels, states, aside: self.aside.as_deref().map(Into::into) }
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> [Vec<f64>; 4] {
        let (filters, inputs, shape) = (self.filters(), self.inputs(gpu), [self.shape[0], self.shape[1]]);
        let (y, stored) = filters.forward(gpu, shape, inputs.each_ref()).unwrap();
        let w = gpu.put(&narrow::<f32>(&self.arrays[3]));
        let of = filters.backward(gpu, shape, inputs.each_ref(), &stored, &w).unwrap();
        let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..self.arrays[i].len()]);
        [get(&y, 3), get(&of[0], 0), get(&of[1], 1), get(&of[2], 2)]
    }
}

#[test]
fn all_shapes() {
    let gpu = gpu();
    for (shape, aside) in [([1, 1, 1, 1], false), ([2, 5, 3, 2], true), ([3, 41, 17, 5], false), ([1, 33, 40, 3], true)] {
        let case = Case::new(1, shape, aside);
        let (seen, right) = (case.run(&gpu), case.reference());
        for (what, (seen, right)) in ["y", "u", "a", "c"].iter().zip(seen.iter().zip(&right)) {
            assert_close(&format!("{shape:?}, aside {aside}: {what}"), seen, right, 1e-5);
        }
        assert!(seen == case.run(&gpu), "{shape:?}: other bits the second time");
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(2, [2, 3, 4, 2], true);
    let (right, inputs) = (case.filters(), case.inputs(&gpu));
    let refused = |filters: Filters| filters.forward(&gpu, [2, 3], inputs.each_ref()).unwrap_err();
    assert_eq!(refused(Filters { channels: 0, ..right.clone() }), Error::Empty { what: "the number of channels" });
    assert!(matches!(refused(Filters { states: 3, ..right.clone() }), Error::Size { what: "a", .. }));
    assert!(matches!(refused(Filters { states: 1000, ..right.clone() }), Error::TooLarge { .. }));
    let wrong = Filters { aside: Some([false; 5].into()), ..right.clone() };
    assert!(matches!(refused(wrong), Error::Size { what: "the list of steps aside", .. }));
    let (_, stored) = right.forward(&gpu, [2, 3], inputs.each_ref()).unwrap();
    let error = right.backward(&gpu, [2, 3], inputs.each_ref(), &stored, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", .. }));
}
