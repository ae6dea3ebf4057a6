//! A selective state-space model; see [`ncde_runtime::layer::Selective`].
//!
//! Cost: that of the scan in `ncde-kernels`. Memory: `O(batch x rows x n)`, states are computed again in the reverse pass.

use std::sync::Arc;

use burn_tensor::Tensor;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, selective as device};
use ncde_kernels::Float;
use ncde_kernels::neural::Activation::Softplus;
use ncde_kernels::selective::{Gradients, Input, Selective as Kernel};
use ncde_runtime::layer::{Function, Selective};

use super::rows::clear_padding;
use super::spread::{gained, in_gaps, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;
use crate::hosted::{HostedKernel, Made, hosted};

#[derive(Debug)]
pub(super) struct SelectiveBatch {
    pub(super) spec: Selective,
}

/// The scan of series of so many steps, some of which stand aside.
#[derive(Debug, Clone)]
struct Scan {
    kernel: Kernel,
    shape: [usize; 2],
    aside: Option<Arc<[bool]>>,
}

impl Scan {
    fn input<'a, T>(&'a self, [step, u, a, b, c]: [&'a [T]; 5]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, step, u, a, b, c, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<5> for Scan {
    const NAME: &'static str = "selective scans";
    const INPUTS: [&'static str; 5] = ["the steps", "the rows", "a", "b", "c"];

    fn forward<T: Float>(&self, inputs: [&[T]; 5]) -> Result<Made<T>, ncde_kernels::Error> {
        let outputs = self.kernel.forward(&self.input(inputs))?;
        Ok((outputs.y, [&self.shape[..], &[self.kernel.channels]].concat(), outputs.starts))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 5], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 5], ncde_kernels::Error> {
        let Gradients { step, u, a, b, c } = self.kernel.backward(&self.input(inputs), stored, gradient)?;
        Ok([step, u, a, b, c])
    }

    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<(impl DeviceKernel<5>, [usize; 2])> {
        let Kernel { channels, states } = self.kernel;
        let kernel = device::Selective { channels, states, aside: self.aside.clone() };
        kernel.fits(gpu).then_some((kernel, self.shape))
    }
}

impl<B: LayerBackend> Batch<B> for SelectiveBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let Selective { states, rank, gap } = self.spec;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, n] = x.dims();
        let project = weights.weight::<2>("project")?;
        // Each part is a product of its own: what is cut out of wider rows is slow to read.
        let part = |first: usize, width: usize| times(x.clone(), project.clone().narrow(1, first, width));
        let step = dense::affine(part(0, rank)?, weights.weight("step")?, weights.weight("step_bias")?)?;
        let step = in_gaps(&rows, dense::activation(Function::Each(Softplus), step)?, gap)?;
        // Branches stand aside, right behind the rows that they follow.
        let order = rows.places.in_order();
        let sorted = |rows: Tensor<B, 3>| {
            let rows = order.as_ref().map_or(rows.clone(), |order| order.sorted(rows));
            let numbers = rows.shape().num_elements();
            rows.reshape([numbers])
        };
        let a = weights.weight::<2>("decay")?.exp().neg();
        let kernel = Kernel { channels: n, states };
        let scan = Scan { kernel, shape: [batch, count], aside: order.as_ref().map(|order| order.aside.clone().into()) };
        let inputs = [
            sorted(step),
            sorted(x.clone()),
            a.reshape([states * n]),
            sorted(part(rank, states)?),
            sorted(part(rank + states, states)?),
        ];
        let y = hosted::<B, _, 5, 3>(scan, inputs)?;
        let y = order.as_ref().map_or(y.clone(), |order| order.unsorted(y));
        Ok(rows.with(y + gained(x, weights.weight("skip")?)?))
    }
}
