//! Layers whose state goes row after row, by tensor operations: a loop over time, and branches from the states that they follow.
//!
//! Cost: as many steps as rows. Memory: `O(batch x rows x states)`.

use burn_tensor::Tensor;

use super::{Error, LayerBackend, Rows};

/// The state after each row, `[batch, rows, states]`, from what rows bring, `[batch, rows, numbers]`. `next` is the state of several cases, `[cases, states]`, from what a row brings to
/// each and the state before it, if there was a row.
pub(super) fn unroll<B: LayerBackend>(
    rows: &Rows<B>,
    brought: Tensor<B, 3>,
    next: impl Fn(Tensor<B, 2>, Option<Tensor<B, 2>>) -> Result<Tensor<B, 2>, Error>,
) -> Result<Tensor<B, 3>, Error> {
    let ([batch, _, width], trunk) = (brought.dims(), rows.places.trunk);
    let (mut states, mut state) = (Vec::with_capacity(trunk), None);
    for t in 0..trunk {
        let after = next(brought.clone().narrow(1, t, 1).squeeze_dim(1), state)?;
        states.push(after.clone().unsqueeze_dim::<3>(1));
        state = Some(after);
    }
    let states = Tensor::cat(states, 1);
    // A branch follows the state of its parent.
    let Some((branches, before)) = rows.with(brought).branches(&states) else { return Ok(states) };
    let ([_, count, _], [_, _, numbers]) = (branches.dims(), states.dims());
    let cases = batch * count;
    let ends = next(branches.reshape([cases, width]), Some(before.reshape([cases, numbers])))?;
    Ok(Tensor::cat(vec![states, ends.reshape([batch, count, numbers])], 1))
}
