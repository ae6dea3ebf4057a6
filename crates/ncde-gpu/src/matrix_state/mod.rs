//! Recurrences of matrix-valued states on device buffers: the same equations as `ncde_kernels::matrix_state`, from a state of zeros.
//!
//! ```text
//! S_t = S_{t-1} (diag(w_t) + a_t c_t^T) + v_t k_t^T,   o_t = S_t q_t
//! G_t = G_{t+1} (diag(w_{t+1}) + c_{t+1} a_{t+1}^T) + do_t q_t^T
//! ```
//!
//! | pass | launch | parallel over |
//! | --- | --- | --- |
//! | forward | rows of `S`, in time: `o`, `u_t = S_{t-1} a_t`, every 16th state | rows of all heads |
//! | reverse | rows of `G`, back in time: `dv`, `z_t = G_t c_t`, every 16th `G` | rows of all heads |
//! | reverse | columns of `S`, then of `G`: all other gradients, from `u` and `z` | columns of all heads and chunks |

pub(crate) mod cut;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::matrix_state::{SizesLaunch, columns, rows};
use crate::recurrence::{want, want_countable, want_some};
use crate::rows::RowsOf;
use cut::{CHUNK, Cut};

/// The form of `w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decay {
    /// `w = 1`.
    None,
    /// One number for each head and step.
    Scalar,
    /// One number for each key.
    Vector,
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixState {
    /// The number of matrices of each series.
    pub heads: usize,
    /// The length `K` of keys and queries.
    pub keys: usize,
    /// The length `V` of values and outputs.
    pub values: usize,
    /// The form of `w`.
    pub decay: Decay,
    /// Whether there are `a` and `c`.
    pub delta: bool,
}

impl MatrixState {
    /// Whether a cube of the device holds a row of a state.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        Cut::new(*self, hardware.max_units_per_cube as usize, hardware.max_shared_memory_size)
    }

    /// All steps of the rows of all heads.
    fn walk<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        call: Call,
        [w, added, key, query, next, value]: [&Handle; 6],
        back: bool,
    ) -> [Handle; 3] {
        let cubes = call.heads * call.cut.blocks();
        let u = if self.delta { call.rows * self.values } else { 1 };
        let [out, u, states] = [call.rows * self.values, u, call.states()].map(|numbers| gpu.floats(numbers));
        launch!(gpu, rows::rows, gpu.spread(cubes), call.cut.units();
            [w, added, key, query, next, value, out, u, states], call.sizes(cubes), call.cut, back);
        [out, u, states]
    }

    /// Everything that can be wrong with sizes, on which every launch relies.
    fn call<R: Runtime>(&self, gpu: &Gpu<R>, [batch, length]: [usize; 2], inputs: [&Handle; 6]) -> Result<Call, Error> {
        let &Self { heads, keys, values, decay, delta } = self;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of heads", heads),
            ("the number of keys", keys),
            ("the number of values", values),
        ];
        want_some(&sizes)?;
        let fix = "take fewer keys, or `--device cpu`";
        let too_large = Error::TooLarge { what: "the number of keys", seen: keys, most: 512, fix };
        let cut = self.cut(gpu).ok_or(too_large)?;
        let call = Call { cut, length, heads: batch * heads, rows: batch * length * heads };
        want_countable((call.rows * keys.max(values)).max(call.states()))?;
        let of_w = match decay {
            Decay::None => 1,
            Decay::Scalar => call.rows,
            Decay::Vector => call.rows * keys,
        };
        let [of_delta, of_keys] = [if delta { call.rows * keys } else { 1 }, call.rows * keys];
        let names = ["w", "a", "c", "the keys", "the queries", "the values"];
        let numbers = [of_w, of_delta, of_delta, of_keys, of_keys, call.rows * values];
        names.into_iter().zip(inputs).zip(numbers).try_for_each(|((name, input), numbers)| want(name, input, numbers))?;
        Ok(call)
    }
}

/// One call; sizes have been checked.
#[derive(Clone, Copy)]
struct Call {
    cut: Cut,
    length: usize,
    /// Heads of all series, and their steps.
    heads: usize,
    rows: usize,
}

impl Call {
    fn chunks(&self) -> usize {
        self.length.div_ceil(CHUNK)
    }

    /// Numbers of the states that a walk stores.
    fn states(&self) -> usize {
        self.heads * self.chunks() * self.cut.of.keys * self.cut.of.values
    }

    fn sizes<R: Runtime>(&self, count: usize) -> SizesLaunch<R> {
        SizesLaunch::new(self.length, self.cut.of.heads, self.chunks(), self.rows, count)
    }
}

/// Inputs are `w, a, c, k, q, v`, in the layouts of `ncde_kernels::matrix_state::Input`; what the recurrence does not have is one number.
impl DeviceKernel<6> for MatrixState {
    fn width(&self) -> usize {
        self.heads * self.values
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 6]) -> Result<(Handle, Vec<Handle>), Error> {
        let call = self.call(gpu, shape, inputs)?;
        let [w, a, c, k, q, v] = inputs;
        let [outputs, u, states] = self.walk(gpu, call, [w, c, k, q, a, v], false);
        Ok((outputs, vec![u, states]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 6],
        before: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 6], Error> {
        let call = self.call(gpu, shape, inputs)?;
        let (rows, numbers) = (call.rows, call.rows * self.values);
        want("the gradient", gradient, numbers)?;
        let [u, states] = stored(before, [if self.delta { numbers } else { 1 }, call.states()])?;
        let [w, a, c, k, q, v] = inputs;
        let [dv, z, backs] = self.walk(gpu, call, [w, a, q, k, c, gradient], true);
        let room = |is_there: bool| if is_there { gpu.floats(rows * self.keys) } else { gpu.put(&[0.0]) };
        let [dw, da, dc, dk, dq] = [self.decay != Decay::None, self.delta, self.delta, true, true].map(room);
        let units = call.heads * call.chunks() * self.keys;
        launch!(gpu, columns::columns, each units;
            [w, a, c, k, q, v, gradient, u, z, states, backs, dw, da, dc, dk, dq], call.sizes(units), call.cut);
        // For one decay a head, those of its keys are `[K, rows]`.
        let dw = match self.decay {
            Decay::Scalar => gpu.sum_rows(RowsOf { numbers: &dw, rows: self.keys, width: rows })?,
            _ => dw,
        };
        Ok([dw, da, dc, dk, dq, dv])
    }
}
