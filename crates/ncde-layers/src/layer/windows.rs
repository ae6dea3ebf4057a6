//! Rows to Log-ODE windows, on tensors; see [`ncde_runtime::layer::Windows`].
//!
//! Where windows are the first layer, training computes them once, in f64, and this is not called.

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_runtime::layer::{Form, Signal, Windows, ends};
use ncde_signature::Signature;

use super::rows::integers;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::operation;
use crate::signature::signature;

#[derive(Debug)]
pub(super) struct WindowsBatch {
    window: usize,
    form: Form,
    transform: Option<Arc<Signature>>,
}

impl WindowsBatch {
    pub(super) fn new(spec: &Windows, input: &Signal) -> Result<Self, Error> {
        let transform = match spec.form {
            Form::LogSignature { depth, basis } => {
                Some(Arc::new(Signature::log(input.width(), depth, basis).map_err(operation::Error::from)?))
            }
            Form::Increments {} | Form::Hermite {} => None,
        };
        Ok(Self { window: spec.window, form: spec.form, transform })
    }
}

impl<B: LayerBackend> Batch<B> for WindowsBatch {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        if rows.places.branches.is_some() {
            let (seen, wanted) = ("rows in the middle of windows".to_owned(), "rows that follow each other".to_owned());
            return Err(Error::Shape { operation: "windows", what: "the batch of rows", seen, wanted });
        }
        let x = rows.values.clone();
        let ([batch, length, d], window, device) = (x.dims(), self.window, x.device());
        let steps = (length - 1).div_ceil(window).max(1);
        // Past its end a path stands still, which adds nothing to a log-signature: the last row of each series fills its last window up.
        let last = |b: usize, t: usize| (b * length + t.min(rows.places.lengths[b] - 1)) as i64;
        let all = (0..batch).flat_map(|b| (0..=steps * window).map(move |t| last(b, t))).collect();
        let x = x.reshape([batch * length, d]).select(0, integers(all, &device)).reshape([batch, steps * window + 1, d]);
        let dx = x.clone().narrow(1, 1, steps * window) - x.clone().narrow(1, 0, steps * window);
        let numbers: Tensor<B, 3> = match (&self.form, &self.transform) {
            (Form::LogSignature { .. }, Some(transform)) => {
                // Each window starts at 0: sums over one window round less than sums over the whole series.
                let path = dx.reshape([batch * steps, window, d]).cumsum(1);
                let zero = Tensor::zeros([batch * steps, 1, d], (&device, path.dtype()));
                signature(transform, Tensor::cat(vec![zero, path], 1))?.reshape([batch, steps, transform.len()])
            }
            (Form::Hermite {}, _) => {
                let m = if length > 2 {
                    // The slope of the increment before, times the time of this one; the first has none before it. Past the end of a series
                    // nothing moves, and no time passes: 0 there, or 0 / 0 would reach the gradients of its last row.
                    let spans = rows.places.spans();
                    let ratio = |two: &[f64]| if two[1] == 0.0 { 0.0 } else { two[1] / two[0] };
                    let ratios = spans.chunks_exact(length - 1).flat_map(|series| series.windows(2).map(ratio)).collect();
                    let ratio = rows.constant(ratios, [batch, length - 2, 1]);
                    let before = dx.clone().narrow(1, 0, length - 2) * ratio.repeat_dim(2, d);
                    Tensor::cat(vec![dx.clone().narrow(1, 0, 1), before], 1)
                } else {
                    dx.clone()
                };
                Tensor::cat(vec![dx, m], 2)
            }
            _ => {
                let each = dx.reshape([batch * steps, window, d]);
                let sum = each.clone().sum_dim(1).reshape([batch, steps, d]);
                Tensor::cat(vec![sum, each.reshape([batch, steps, window * d])], 2)
            }
        };
        let zero = Tensor::zeros([batch, 1, numbers.dims()[2]], (&device, numbers.dtype()));
        let at: Vec<i64> = (0..=steps).map(|k| (k * window) as i64).collect();
        let knots = x.select(1, integers(at, &device));
        let values = Tensor::cat(vec![Tensor::cat(vec![zero, numbers], 1), knots], 2);
        let lengths: Vec<usize> = rows.places.lengths.iter().map(|&length| ends(length, window).count()).collect();
        let times = (0..batch).flat_map(|b| (0..=steps).map(move |k| (b, k)));
        let times = times.map(|(b, k)| rows.places.times[b * length + (k * window).min(rows.places.lengths[b] - 1)]).collect();
        Ok(Rows { values, places: Arc::new(Places { lengths, trunk: steps + 1, times, branches: None }) })
    }
}
