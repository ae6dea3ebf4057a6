//! What layers with matrix-valued states share: their recurrence on the rows of a batch.
//!
//! ```text
//! S_t = S_{t-1} (diag(w_t) + a_t c_t^T) + v_t k_t^T,   o_t = S_t q_t
//! ```
//!
//! A row may have several such factors and reads behind the last. A branch reads the state `S` of its parent: with `x_m = q` and `x_{j-1} = w_j x_j + a_j (c_j . x_j)` from
//! its last factor to its first it is `o = S x_0 + sum_j v_j (k_j . x_j)`, so that it is a read with another query and nothing is stored.

use burn_tensor::Tensor;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, matrix_state as device};
use ncde_kernels::Float;
#[cfg(feature = "gpu")]
use ncde_kernels::matrix_state::Decay;
use ncde_kernels::matrix_state::{Gradients, Input, MatrixState};

use super::{Error, LayerBackend, Rows};
use crate::hosted::{HostedKernel, Made, hosted};

/// The numbers of all rows, `[batch, rows, factors, heads, ..]`.
#[derive(Debug, Clone)]
pub(super) struct Factors<B: LayerBackend> {
    /// One number for each head, where states decay.
    pub(super) w: Option<Tensor<B, 5>>,
    /// `a` and `c`, where something is taken away.
    pub(super) delta: Option<[Tensor<B, 5>; 2]>,
    pub(super) k: Tensor<B, 5>,
    pub(super) v: Tensor<B, 5>,
}

/// The recurrence of series of so many steps.
#[derive(Debug, Clone)]
struct Recurrence {
    kernel: MatrixState,
    shape: [usize; 2],
}

impl Recurrence {
    /// What is not there is one number that nobody reads.
    fn input<'a, T>(&self, [w, a, c, k, q, v]: [&'a [T]; 6]) -> Input<'a, T> {
        let only = |is_there: bool, array: &'a [T]| if is_there { array } else { &[] };
        let (decays, delta, [batch, length]) = (self.kernel.decay.numbers(1) > 0, self.kernel.delta, self.shape);
        Input { batch, length, w: only(decays, w), a: only(delta, a), c: only(delta, c), k, q, v, initial: &[] }
    }
}

impl HostedKernel<6> for Recurrence {
    const NAME: &'static str = "recurrences of matrix-valued states";
    const INPUTS: [&'static str; 6] = ["w", "a", "c", "the keys", "the queries", "the values"];

    fn forward<T: Float>(&self, inputs: [&[T]; 6]) -> Result<Made<T>, ncde_kernels::Error> {
        let outputs = self.kernel.forward(&self.input(inputs))?;
        Ok((outputs.outputs, [&self.shape[..], &[self.kernel.heads * self.kernel.values]].concat(), outputs.checkpoints))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 6], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 6], ncde_kernels::Error> {
        let Gradients { w, a, c, k, q, v, .. } = self.kernel.backward(&self.input(inputs), stored, gradient, &[])?;
        let like = |of: Vec<T>, input: &[T]| if of.is_empty() { vec![T::ZERO; input.len()] } else { of };
        Ok([like(w, inputs[0]), like(a, inputs[1]), like(c, inputs[2]), k, q, v])
    }

    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<(impl DeviceKernel<6>, [usize; 2])> {
        let MatrixState { heads, keys, values, decay, delta } = self.kernel;
        let decay = match decay {
            Decay::None => device::Decay::None,
            Decay::Scalar => device::Decay::Scalar,
            Decay::Vector => device::Decay::Vector,
        };
        let kernel = device::MatrixState { heads, keys, values, decay, delta };
        kernel.fits(gpu).then_some((kernel, self.shape))
    }
}

/// What every row reads, `[batch, rows, heads V]`, with queries `[batch, rows, heads, K]`.
pub(super) fn read<B: LayerBackend>(
    kernel: MatrixState,
    rows: &Rows<B>,
    factors: Factors<B>,
    queries: Tensor<B, 4>,
) -> Result<Tensor<B, 3>, Error> {
    let MatrixState { heads, values, .. } = kernel;
    let ([batch, count, per_row, ..], trunk) = (factors.k.dims(), rows.places.trunk);
    let order = rows.places.in_order();
    let (mut factors, mut queries, mut beside) = (factors, queries, None);
    if order.is_some() {
        let branches = count - trunk;
        let of_branches = |x: &Tensor<B, 5>| x.clone().narrow(1, trunk, branches);
        let one = |x: &Tensor<B, 5>, j: usize| of_branches(x).narrow(2, j, 1).squeeze_dim::<4>(2);
        let dot = |x: Tensor<B, 4>, y: &Tensor<B, 4>| (x * y.clone()).sum_dim(3);
        let mut x = queries.clone().narrow(1, trunk, branches);
        let mut sum = Tensor::zeros([batch, branches, heads, values], (&x.device(), x.dtype()));
        for j in (0..per_row).rev() {
            sum = sum + one(&factors.v, j) * dot(one(&factors.k, j), &x);
            let kept = factors.w.as_ref().map_or(x.clone(), |w| x.clone() * one(w, j));
            x = match &factors.delta {
                Some([a, c]) => kept + one(a, j) * dot(one(c, j), &x),
                None => kept,
            };
        }
        // Branches leave the state as it is.
        let still = |all: Tensor<B, 5>, fill: f64| {
            let rest = of_branches(&all).full_like(fill);
            Tensor::cat(vec![all.narrow(1, 0, trunk), rest], 1)
        };
        factors = Factors {
            w: factors.w.map(|w| still(w, 1.0)),
            delta: factors.delta.map(|[a, c]| [still(a, 0.0), c]),
            k: factors.k,
            v: still(factors.v, 0.0),
        };
        queries = Tensor::cat(vec![queries.narrow(1, 0, trunk), x], 1);
        beside = Some(sum.reshape([batch, branches, heads * values]));
    }
    let flat = |x: Tensor<B, 5>| {
        let [_, _, _, _, numbers] = x.dims();
        let rows = x.reshape([batch, count, per_row * heads * numbers]);
        let rows = order.as_ref().map_or(rows.clone(), |order| order.sorted(rows));
        rows.reshape([batch * count * per_row * heads * numbers])
    };
    // Only the last factor of a row is read behind.
    let queries = queries.unsqueeze_dim::<5>(2);
    let queries = match per_row {
        1 => queries,
        _ => Tensor::cat(vec![queries.zeros_like().repeat_dim(2, per_row - 1), queries], 2),
    };
    let absent = Tensor::<B, 1>::zeros([1], (&factors.k.device(), factors.k.dtype()));
    let [a, c] = factors.delta.map_or([absent.clone(), absent.clone()], |delta| delta.map(flat));
    let inputs = [factors.w.map_or(absent, flat), a, c, flat(factors.k), flat(queries), flat(factors.v)];
    let recurrence = Recurrence { kernel, shape: [batch, count * per_row] };
    let read = hosted::<B, _, 6, 3>(recurrence, inputs)?;
    let read = match per_row {
        1 => read,
        _ => read.reshape([batch, count, per_row, heads * values]).narrow(2, per_row - 1, 1).squeeze_dim(2),
    };
    let read = order.map_or(read.clone(), |order| order.unsorted(read));
    Ok(match beside {
        Some(beside) => {
            let of_branches = read.clone().narrow(1, trunk, count - trunk) + beside;
            Tensor::cat(vec![read.narrow(1, 0, trunk), of_branches], 1)
        }
        None => read,
    })
}
