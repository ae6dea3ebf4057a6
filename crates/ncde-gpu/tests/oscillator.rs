//! Forced oscillators: the cases of the CPU kernel, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::oscillator::{Oscillators, Rates};
use ncde_gpu::{DeviceKernel, Error, Gpu};
use ncde_kernels::oscillator::{Input, backward, forward};
use ncde_reference::{assert_close, narrow, uniform, wide};

use crate::device::gpu;

struct Case {
    shape: [usize; 3],
    rates: Rates,
    /// `p`, `d`, `k`, the force, and the gradient in `y`.
    arrays: [Vec<f64>; 5],
    aside: Option<Vec<bool>>,
}

impl Case {
    fn new(seed: u64, [batch, length, width]: [usize; 3], rates: Rates, aside: bool) -> Self {
        let drawn = |i: u64, count: usize| uniform(seed + i, count).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        let above = |i: u64, count: usize, least: f64| drawn(i, count).into_iter().map(|x| x.abs() + least).collect();
        let rows = batch * length;
        let of_rates = if rates == Rates::Shared { width } else { rows * width };
        let numbers = rows * 2 * width;
        Self {
            shape: [batch, length, width],
            rates,
            arrays: [
                above(0, of_rates, 0.375),
                above(1, of_rates, 0.125),
                above(2, width, 0.25),
                drawn(3, numbers),
                drawn(4, numbers),
            ],
            aside: aside.then(|| (0..rows).map(|i| i % 3 == 1).collect()),
        }
    }

    /// `y`, and the gradients in `p`, `d`, `k` and the force.
    fn reference(&self) -> [Vec<f64>; 5] {
        let ([batch, length, _], [p, step, stiffness, force, w]) = (self.shape, &self.arrays);
        let input = Input { batch, length, p, step, stiffness, force, aside: self.aside.as_deref() };
        let (y, states) = forward(&input).unwrap();
        let of = backward(&input, &states, w).unwrap();
        [y, of.p, of.step, of.stiffness, of.force]
    }

    fn inputs<R: Runtime>(&self, gpu: &Gpu<R>) -> [Handle; 4] {
        std::array::from_fn(|i| gpu.put(&narrow::<f32>(&self.arrays[i])))
    }

    fn oscillators(&self) -> Oscillators {
        Oscillators { width: self.shape[2], rates: self.rates, aside: self.aside.as_deref().map(Into::into) }
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> [Vec<f64>; 5] {
        let (oscillators, inputs, shape) = (self.oscillators(), self.inputs(gpu), [self.shape[0], self.shape[1]]);
        let (y, stored) = oscillators.forward(gpu, shape, inputs.each_ref()).unwrap();
        let w = gpu.put(&narrow::<f32>(&self.arrays[4]));
        let of = oscillators.backward(gpu, shape, inputs.each_ref(), &stored, &w).unwrap();
        let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..self.arrays[i].len()]);
        [get(&y, 4), get(&of[0], 0), get(&of[1], 1), get(&of[2], 2), get(&of[3], 3)]
    }
}

#[test]
fn all_shapes() {
    let gpu = gpu();
    for shape in [[1, 1, 1], [2, 5, 3], [3, 41, 17]] {
        for (rates, aside) in [(Rates::Shared, false), (Rates::PerStep, true), (Rates::Shared, true), (Rates::PerStep, false)] {
            let case = Case::new(1, shape, rates, aside);
            let (seen, right) = (case.run(&gpu), case.reference());
            for (what, (seen, right)) in ["y", "p", "steps", "k", "force"].iter().zip(seen.iter().zip(&right)) {
                assert_close(&format!("{shape:?}, {rates:?}, aside {aside}: {what}"), seen, right, 1e-5);
            }
            assert!(seen == case.run(&gpu), "{shape:?}: other bits the second time");
        }
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(2, [2, 3, 4], Rates::Shared, true);
    let (oscillators, right) = (case.oscillators(), case.inputs(&gpu));
    let refused = |oscillators: Oscillators| oscillators.forward(&gpu, [2, 3], right.each_ref()).unwrap_err();
    assert_eq!(refused(Oscillators { width: 0, ..oscillators.clone() }), Error::Empty { what: "the number of oscillators" });
    let wrong = Oscillators { rates: Rates::PerStep, ..oscillators.clone() };
    assert!(matches!(refused(wrong), Error::Size { what: "p", .. }));
    let wrong = Oscillators { aside: Some([false; 5].into()), ..oscillators.clone() };
    assert!(matches!(refused(wrong), Error::Size { what: "the list of steps aside", .. }));
    let (_, stored) = oscillators.forward(&gpu, [2, 3], right.each_ref()).unwrap();
    let error = oscillators.backward(&gpu, [2, 3], right.each_ref(), &stored, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", .. }));
}
