//! Log-ODE windows of depth 2 with few increments of many channels: no log-signature, no bracket.
//!
//! ```text
//! Omega = sum_k M_k + 1/2 sum_l (M_l P_l - P_l M_l),   M_k = sum_i x_k^i A^i,   P_l = M_1 + ... + M_{l-1}
//! ```
//!
//! The second level of the log-signature of a path with increments `x_1, ..., x_s` is half the sum of `x_k ⊗ x_l - x_l ⊗ x_k` over `k < l`.
//! With the matrices `A^j A^i - A^i A^j` of its brackets that is the sum above: the same numbers from `s d` coefficients a window instead of
//! `d (d + 1) / 2`, and the brackets of all pairs of channels need not be formed.
//!
//! Where the path is also added to the state, the same formula holds for `[[A^i, B^i], [0, 0]]`.
//!
//! Cost a window, with blocks of `b`: `s d H b + 2 s H b^2`.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_kernels::{Commutators, Field, Recurrence, Structure};
use ncde_runtime::{Inputs, SliceSpec};

use super::linear_ncde::{LinearNcde, Run};
use super::{Error, ModelBackend};
use crate::linear::generators;

/// The most numbers of a generator: its steps see each as a channel of its own.
const MOST_NUMBERS: usize = 256;

/// Whether windows of this model cost less this way.
///
/// ```
/// # use ncde::model::short_windows_pay;
/// # use ncde_kernels::Structure;
/// let blocks = Structure::blocks(16, 4)?;
/// assert!(short_windows_pay(&blocks, 62, 2)); // Two increments in 62 channels, which have 1891 areas between them.
/// assert!(!short_windows_pay(&blocks, 7, 16));
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
pub fn short_windows_pay(structure: &Structure, channels: usize, window: usize) -> bool {
    block(structure).is_some_and(|b| {
        let numbers = structure.hidden() * b;
        numbers <= MOST_NUMBERS && 2 * (window * channels + numbers) < channels * (channels + 1) / 2
    })
}

/// Whether a saved model is trained this way.
pub(crate) fn applies(slice: &SliceSpec, field: &Field) -> bool {
    slice.depth == 2 && short_windows_pay(field.structure(), field.channels(), slice.window)
}

/// The size of blocks, where all have the same.
fn block(structure: &Structure) -> Option<usize> {
    let sizes = structure.sizes()?;
    sizes.first().copied().filter(|first| sizes.iter().all(|b| b == first))
}

impl<B: ModelBackend> LinearNcde<B> {
    /// As [`over_windows`](Self::over_windows) at depth 2 without an input term or with that of the driving path, from the increments of each window
    /// instead of its log-signature. Windows with fewer increments are filled up with zeros. Increments that come multiplied with `scale` stand for
    /// log-signatures multiplied with it, all levels alike.
    ///
    /// # Shapes
    /// `initial`: `[batch, columns, H]`, `increments`: `[batch, windows, s, channels]`, to `[batch, windows, columns, H]`.
    ///
    /// # Errors
    /// If shapes do not fit, blocks differ in size, a number is not finite, or a state overflows.
    pub fn over_increments(
        &self,
        initial: Tensor<B, 3>,
        increments: Tensor<B, 4>,
        scale: f64,
        lengths: Option<Arc<[usize]>>,
    ) -> Result<Tensor<B, 4>, Error> {
        let field = self.field();
        let [batch, windows, steps, channels] = increments.dims();
        let (Some(b), true) = (block(field.structure()), channels == field.channels()) else {
            let seen = format!("{channels} channels and {:?}", field.structure());
            let wanted = format!("{} channels and blocks of one size", field.channels());
            return Err(Error::Shape { operation: "short windows", what: "the tensor of increments", seen, wanted });
        };
        if let Inputs::Own(own) = self.config().inputs() {
            let seen = format!("an input term of {own} channels");
            return Err(Error::Shape { operation: "short windows", what: "the model", seen, wanted: "`path`, or none,".into() });
        }
        let (count, numbers, hidden) = (batch * windows, field.channel(0).len(), field.hidden());
        // The kernel has entry after entry, and the blocks side by side.
        let mut columns = vec![beside(self.a.val().reshape([channels, hidden / b, b * b]))];
        columns.extend(self.b.as_ref().map(|own| beside(own.val().reshape([channels, hidden / b, b]))));
        let each = increments.reshape([count * steps, channels]).matmul(Tensor::cat(columns, 1));
        let row = each.dims()[1];
        let of = Commutators { block: b, steps, vectors: self.b.is_some(), factor: 0.5 / scale };
        let made = generators(of, each.reshape([count, steps, row]))?;
        // Its numbers go in as coefficients of unit matrices.
        let unit = Field::new(field.structure().clone(), numbers)?;
        let recurrence = Arc::new(Recurrence::new(unit).with_transition(self.config().transition));
        let a = units::<B>(b, numbers, &self.a.val());
        let lambda = made.clone().narrow(1, 0, numbers).reshape([batch, windows, numbers]);
        let affine = self.b.as_ref().map(|_| {
            let beta = made.narrow(1, numbers, hidden).reshape([count, b, hidden / b]);
            beside(beta).reshape([batch, windows, 1, hidden])
        });
        self.run(Run { recurrence: &recurrence, a, initial, lambda, affine, lengths })
    }
}

/// `[n, x, y]` to `[n, y x]`.
fn beside<B: Backend>(numbers: Tensor<B, 3>) -> Tensor<B, 2> {
    numbers.swap_dims(1, 2).flatten(1, 2)
}

/// `[numbers, numbers]`, one row for each unit matrix: row `(entry, block)` has its one at `(block, entry)`.
fn units<B: Backend>(b: usize, numbers: usize, like: &Tensor<B, 1>) -> Tensor<B, 1> {
    let (entries, blocks) = (b * b, numbers / (b * b));
    let mut values = vec![0.0_f32; numbers * numbers];
    for row in 0..numbers {
        values[row * numbers + row % blocks * entries + row / blocks] = 1.0;
    }
    Tensor::<B, 1>::from_data(TensorData::new(values, [numbers * numbers]), &like.device()).cast(like.dtype())
}
