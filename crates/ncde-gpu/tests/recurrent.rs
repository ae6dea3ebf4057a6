//! Recurrent cells: those of the CPU kernel, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::recurrent::Recurrent;
use ncde_gpu::{DeviceKernel, Error, Gpu};
use ncde_kernels::recurrent::{self as cpu, Cell, Input};
use ncde_reference::{assert_close, narrow, scaled, uniform, wide};

use crate::device::gpu;

struct Case {
    of: Recurrent,
    shape: [usize; 2],
    /// `x`, `W`, `U`, and the gradient in `h`.
    arrays: [Vec<f64>; 4],
}

impl Case {
    fn new(seed: u64, gru: bool, [batch, length, inputs, hidden]: [usize; 4]) -> Self {
        let gates = if gru { 3 } else { 4 };
        let of_states = (hidden + usize::from(gru)) * gates * hidden;
        let numbers = [batch * length * inputs, (inputs + 1) * gates * hidden, of_states, batch * length * hidden];
        let drawn = |i: usize| uniform(seed + i as u64, numbers[i]).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        let mut arrays: [Vec<f64>; 4] = std::array::from_fn(drawn);
        arrays[2] = scaled(&arrays[2], 2.0 / (hidden as f64).sqrt()).into_iter().map(|x| f64::from(x as f32)).collect();
        Self { of: Recurrent { gru, inputs, hidden }, shape: [batch, length], arrays }
    }

    /// `h`, and the gradients in `x`, `W` and `U`.
    fn reference(&self) -> [Vec<f64>; 4] {
        let ([batch, length], [x, w, u, of_h]) = (self.shape, &self.arrays);
        let Recurrent { gru, inputs, hidden } = self.of;
        let cell = if gru { Cell::Gru } else { Cell::Lstm };
        let cells = cpu::Recurrent { cell, inputs, heads: 1, size: hidden };
        let input = Input { batch, length, x, w, u, aside: None };
        let outputs = cells.forward(&input).unwrap();
        let of = cells.backward(&input, &outputs.stored, of_h).unwrap();
        [outputs.h, of.x, of.w, of.u]
    }

    fn inputs<R: Runtime>(&self, gpu: &Gpu<R>) -> [Handle; 3] {
        std::array::from_fn(|i| gpu.put(&narrow::<f32>(&self.arrays[i])))
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> [Vec<f64>; 4] {
        let inputs = self.inputs(gpu);
        let (h, stored) = self.of.forward(gpu, self.shape, inputs.each_ref()).unwrap();
        let of_h = gpu.put(&narrow::<f32>(&self.arrays[3]));
        let [x, w, u] = self.of.backward(gpu, self.shape, inputs.each_ref(), &stored, &of_h).unwrap();
        let get = |handle, i: usize| wide::<f32>(&gpu.get(handle).unwrap()[..self.arrays[i].len()]);
        [get(&h, 3), get(&x, 0), get(&w, 1), get(&u, 2)]
    }
}

/// 5 states: all of `U` in registers. 50: in registers of many units. 70: some rows beyond registers.
#[test]
fn all_shapes() {
    let gpu = gpu();
    for gru in [false, true] {
        for shape in [[1, 1, 1, 1], [2, 5, 3, 5], [3, 9, 2, 50], [1, 4, 7, 64], [2, 3, 4, 70]] {
            let case = Case::new(1, gru, shape);
            if !case.of.fits(&gpu) {
                continue;
            }
            let (seen, right) = (case.run(&gpu), case.reference());
            for (what, (seen, right)) in ["h", "x", "W", "U"].iter().zip(seen.iter().zip(&right)) {
                assert_close(&format!("GRU {gru}, {shape:?}: {what}"), seen, right, 1e-5);
            }
            assert!(seen == case.run(&gpu), "{shape:?}: other bits the second time");
        }
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let case = Case::new(2, true, [2, 3, 4, 5]);
    let (of, right) = (case.of, case.inputs(&gpu));
    let refused = |of: Recurrent| of.forward(&gpu, [2, 3], right.each_ref()).unwrap_err();
    assert_eq!(refused(Recurrent { hidden: 0, ..of }), Error::Empty { what: "the number of states" });
    assert!(matches!(refused(Recurrent { hidden: 5000, ..of }), Error::TooLarge { what: "the number of states", .. }));
    assert!(matches!(refused(Recurrent { inputs: 40, ..of }), Error::Size { what: "the rows", .. }));
    let (_, stored) = of.forward(&gpu, [2, 3], right.each_ref()).unwrap();
    let error = of.backward(&gpu, [2, 3], right.each_ref(), &stored, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", .. }));
}
