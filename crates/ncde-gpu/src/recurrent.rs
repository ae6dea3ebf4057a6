//! Recurrent cells on device buffers: LSTM and GRU with the equations of `ncde_kernels::recurrent`, whole sequences in one launch.
//!
//! ```text
//! what rows bring: one product  ->  all steps of all series: one launch
//! all steps back: one launch    ->  gradients of rows and weights: three products
//! ```
//!
//! A series is a cube that keeps what it can of `U` in registers and shared memory. Memory of the reverse pass: four gates for each state, and the `c` of an LSTM.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::recurrent::{self as kernel, SizesLaunch};
use crate::product::Matrix;
use crate::recurrence::{want, want_countable, want_some};
use crate::rows::RowsOf;

/// The most rows of `U` that a unit holds: more and it holds them in slow memory.
const MAX_HELD: usize = 64;
/// Registers that a cube has, and that a unit needs beside its rows.
const REGISTERS: usize = 1 << 16;
const BESIDE: usize = 48;

/// How rows of `U` are cut: a pure function of sizes and of what the device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    pub(crate) gru: bool,
    pub(crate) hidden: usize,
    /// Rows in registers, and in shared memory.
    pub(crate) held: usize,
    pub(crate) shared: usize,
}

impl Cut {
    /// None where a cube of so many units and bytes has no room for the gates of a series.
    fn new(of: &Recurrent, units: usize, bytes: usize) -> Option<Self> {
        let cut = Self { gru: of.gru, hidden: of.hidden, held: 0, shared: 0 };
        let own = cut.units();
        // Vectors of a step: gates and states, or two of gates.
        let left = (bytes / size_of::<f32>()).checked_sub(2 * own + 5 * of.hidden)?;
        if own == 0 || own > units {
            return None;
        }
        let held = of.hidden.min(MAX_HELD).min((REGISTERS / own.next_multiple_of(32)).saturating_sub(BESIDE));
        Some(Self { held, shared: (of.hidden - held).min(left / own), ..cut })
    }

    pub(crate) fn gates(&self) -> usize {
        if self.gru { 3 } else { 4 }
    }

    /// Units of a cube: `G H`.
    pub(crate) fn units(&self) -> usize {
        self.gates() * self.hidden
    }
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recurrent {
    /// Whether it is a GRU, not an LSTM.
    pub gru: bool,
    /// `n`: the numbers of a row.
    pub inputs: usize,
    /// `H`: how many states.
    pub hidden: usize,
}

impl Recurrent {
    /// Whether a cube of the device holds the gates of a series.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        Cut::new(self, hardware.max_units_per_cube as usize, hardware.max_shared_memory_size)
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how it is cut and the number of rows.
    fn checked<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        [batch, length]: [usize; 2],
        [x, w, u]: [&Handle; 3],
    ) -> Result<(Cut, usize), Error> {
        let &Self { inputs, hidden, .. } = self;
        want_some(&[
            ("the batch", batch),
            ("the length", length),
            ("the number of inputs", inputs),
            ("the number of states", hidden),
        ])?;
        let fix = "take fewer states, or `--device cpu`";
        let cut = self.cut(gpu).ok_or(Error::TooLarge { what: "the number of states", seen: hidden, most: 256, fix })?;
        let rows = batch * length;
        want_countable(rows * cut.units().max(inputs))?;
        want("the rows", x, rows * inputs)?;
        want("the input weights", w, (inputs + 1) * cut.units())?;
        want("the recurrent weights", u, (hidden + usize::from(self.gru)) * cut.units())?;
        Ok((cut, rows))
    }

    fn sizes<R: Runtime>(&self, [batch, length]: [usize; 2], cut: Cut) -> SizesLaunch<R> {
        SizesLaunch::new(length, batch, self.inputs * cut.units(), self.hidden * cut.units())
    }
}

/// Inputs are `x, W, U`, in the layouts of `ncde_kernels::recurrent::Input`.
impl DeviceKernel<3> for Recurrent {
    fn width(&self) -> usize {
        self.hidden
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 3]) -> Result<(Handle, Vec<Handle>), Error> {
        let ((cut, rows), [x, w, u]) = (self.checked(gpu, shape, inputs)?, inputs);
        let brought = gpu.product(Matrix::new(x, rows, self.inputs), Matrix::new(w, self.inputs, cut.units()), None)?;
        let cells = if self.gru { 1 } else { rows * self.hidden };
        let [h, gates, cells] = [rows * self.hidden, 4 * rows * self.hidden, cells].map(|numbers| gpu.floats(numbers));
        launch!(gpu, kernel::states, gpu.spread(shape[0]), cut.units();
            [brought, w, u, h, gates, cells], self.sizes(shape, cut), cut);
        Ok((h.clone(), vec![h, gates, cells]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 3],
        after: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 3], Error> {
        let ((cut, rows), [x, w, u], hidden) = (self.checked(gpu, shape, inputs)?, inputs, self.hidden);
        let [h, gates, cells] = stored(after, [rows * hidden, 4 * rows * hidden, if self.gru { 1 } else { rows * hidden }])?;
        want("the gradient", gradient, rows * hidden)?;
        let units = hidden * cut.units();
        let across = gpu.floats(units);
        launch!(gpu, kernel::turn, each units; [u, across], units, cut);
        let [of_rows, of_states] = [rows, if self.gru { rows } else { 1 }].map(|rows| gpu.floats(rows * cut.units()));
        launch!(gpu, kernel::gradients, gpu.spread(shape[0]), cut.units();
            [across, h, gates, cells, gradient, of_rows, of_states], self.sizes(shape, cut), cut);
        let by_rows = Matrix::new(&of_rows, rows, cut.units());
        let dx = gpu.product(by_rows, Matrix::new(w, self.inputs, cut.units()).transposed(), None)?;
        let dw = gpu.product_and_sums(Matrix::new(x, rows, self.inputs).transposed(), by_rows)?;
        let before = gpu.move_rows(RowsOf { numbers: h, rows, width: hidden }, shape[1], shape[1], -1)?;
        let before = Matrix::new(&before, rows, hidden).transposed();
        let du = if self.gru {
            join(gpu, gpu.product_and_sums(before, Matrix::new(&of_states, rows, cut.units()))?, [hidden, 1], cut)
        } else {
            gpu.product(before, by_rows, None)?
        };
        Ok([dx, join(gpu, dw, [self.inputs, 1], cut), du])
    }
}

/// So many rows of gates behind others.
fn join<R: Runtime>(gpu: &Gpu<R>, [a, b]: [Handle; 2], rows: [usize; 2], cut: Cut) -> Handle {
    let [first, second] = rows.map(|rows| rows * cut.units());
    let out = gpu.floats(first + second);
    launch!(gpu, kernel::join, each first + second; [a, b, out], first, first + second);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_have_a_place_and_units_are_enough() {
        let of = |gru, hidden| Recurrent { gru, inputs: 3, hidden };
        let cut = Cut::new(&of(false, 128), 1024, 227 << 10).unwrap();
        assert_eq!((cut.units(), cut.held, cut.shared), (512, 64, 64));
        let cut = Cut::new(&of(true, 100), 1024, 48 << 10).unwrap();
        assert!(cut.held + cut.shared <= 100 && (cut.shared * cut.units() + 2 * cut.units() + 500) * 4 <= 48 << 10);
        assert!(Cut::new(&of(false, 257), 1024, 227 << 10).is_none() && Cut::new(&of(false, 0), 1024, 1 << 16).is_none());
    }
}
