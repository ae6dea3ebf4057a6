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
use crate::error::Error;
use crate::kernel::matrix_state::{SizesLaunch, columns, rows};
use crate::recurrence::{want, want_countable, want_some};
use crate::rows::RowsOf;
use cut::Cut;

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

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::matrix_state::Input`. What the recurrence does not have is any buffer.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// The decay.
    pub w: Handle,
    /// What `delta` reads the state with.
    pub a: Handle,
    /// The key to which `delta` adds what was read.
    pub c: Handle,
    /// Keys.
    pub k: Handle,
    /// Queries.
    pub q: Handle,
    /// Values.
    pub v: Handle,
}

/// What the reverse pass needs of the forward pass.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The state before every chunk of steps, `[batch, heads, chunks, V, K]`.
    pub states: Handle,
    /// `u`, shaped as `v`; without delta one number.
    pub u: Handle,
}

/// The gradients, in the layouts of what they belong to; one zero for what the recurrence does not have.
#[expect(missing_docs, reason = "the fields are those of `Arrays`")]
#[derive(Debug)]
pub struct Gradients {
    pub w: Handle,
    pub a: Handle,
    pub c: Handle,
    pub k: Handle,
    pub q: Handle,
    pub v: Handle,
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

    /// The outputs, `[batch, length, heads, V]`, and what the reverse pass needs. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or a cube does not hold a row of a state.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<(Handle, Stored), Error> {
        let (cut, rows) = self.checked(gpu, arrays)?;
        let outputs = gpu.floats(rows * self.values);
        let stored = self.room(gpu, arrays, rows);
        let Arrays { a, c, k, q, v, .. } = arrays;
        self.walk(gpu, arrays, cut, [c, k, q, a, v], [&outputs, &stored.u, &stored.states], false);
        Ok((outputs, stored))
    }

    /// The gradients from what [`forward`](Self::forward) stored and the gradient in the outputs.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        stored: &Stored,
        gradient: &Handle,
    ) -> Result<Gradients, Error> {
        let (cut, rows) = self.checked(gpu, arrays)?;
        let chunks = Cut::chunks(arrays.length);
        let heads = arrays.batch * self.heads;
        want("the gradient", gradient, rows * self.values)?;
        want("the stored states", &stored.states, heads * chunks * self.keys * self.values)?;
        want("the stored products of states", &stored.u, if self.delta { rows * self.values } else { 1 })?;
        let dv = gpu.floats(rows * self.values);
        let back = self.room(gpu, arrays, rows);
        let Arrays { w, a, c, k, q, v, .. } = arrays;
        self.walk(gpu, arrays, cut, [a, q, k, c, gradient], [&dv, &back.u, &back.states], true);
        let room = |is_there: bool| if is_there { gpu.floats(rows * self.keys) } else { gpu.put(&[0.0]) };
        let [dw, da, dc] = [self.decay != Decay::None, self.delta, self.delta].map(room);
        let [dk, dq] = [(); 2].map(|()| room(true));
        let units = heads * chunks * self.keys;
        launch!(gpu, columns::columns, each units;
            [w, a, c, k, q, v, gradient, stored.u, back.u, stored.states, back.states, dw, da, dc, dk, dq],
            self.sizes(arrays, units), cut);
        // For one decay a head, those of its keys are `[K, rows]`.
        let w = match self.decay {
            Decay::Scalar => gpu.sum_rows(RowsOf { numbers: &dw, rows: self.keys, width: rows })?,
            _ => dw,
        };
        Ok(Gradients { w, a: da, c: dc, k: dk, q: dq, v: dv })
    }

    /// All steps of the rows of all heads.
    fn walk<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        cut: Cut,
        [added, key, query, next, value]: [&Handle; 5],
        [out, u, states]: [&Handle; 3],
        back: bool,
    ) {
        let cubes = arrays.batch * self.heads * cut.blocks();
        launch!(gpu, rows::rows, gpu.spread(cubes), cut.units();
            [arrays.w, added, key, query, next, value, out, u, states], self.sizes(arrays, cubes), cut, back);
    }

    fn sizes<R: Runtime>(&self, arrays: &Arrays, count: usize) -> SizesLaunch<R> {
        SizesLaunch::new(arrays.length, self.heads, Cut::chunks(arrays.length), arrays.batch * arrays.length * self.heads, count)
    }

    /// Room for what a walk stores.
    fn room<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays, rows: usize) -> Stored {
        let states = arrays.batch * self.heads * Cut::chunks(arrays.length) * self.keys * self.values;
        Stored { states: gpu.floats(states), u: gpu.floats(if self.delta { rows * self.values } else { 1 }) }
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how the call is cut, and the number of steps of all heads.
    fn checked<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<(Cut, usize), Error> {
        let &Self { heads, keys, values, decay, delta } = self;
        let &Arrays { batch, length, .. } = arrays;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of heads", heads),
            ("the number of keys", keys),
            ("the number of values", values),
        ];
        want_some(&sizes)?;
        let rows = batch * length * heads;
        want_countable((rows * keys.max(values)).max(batch * heads * Cut::chunks(length) * keys * values))?;
        let of_w = match decay {
            Decay::None => 1,
            Decay::Scalar => rows,
            Decay::Vector => rows * keys,
        };
        let of_delta = if delta { rows * keys } else { 1 };
        want("w", &arrays.w, of_w)?;
        want("a", &arrays.a, of_delta)?;
        want("c", &arrays.c, of_delta)?;
        want("the keys", &arrays.k, rows * keys)?;
        want("the queries", &arrays.q, rows * keys)?;
        want("the values", &arrays.v, rows * values)?;
        let fix = "take fewer keys, or `--device cpu`";
        let too_large = Error::TooLarge { what: "the number of keys", seen: keys, most: 512, fix };
        Ok((self.cut(gpu).ok_or(too_large)?, rows))
    }
}
