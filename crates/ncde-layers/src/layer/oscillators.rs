//! Oscillators that rows drive; see [`ncde_runtime::layer::Oscillators`].
//!
//! Cost: two products of rows with weights, and the recurrence in `ncde-kernels`. Memory: `O(batch x rows x S)`.

use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::activation::{relu, sigmoid};
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, oscillator as device};
use ncde_kernels::Float;
use ncde_kernels::oscillator::{Gradients, Input, backward, forward};
use ncde_runtime::layer::{Oscillators, Scheme};

use super::rows::clear_padding;
use super::spread::{Parts, gained};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;
use crate::hosted::{HostedKernel, Made, hosted};

#[derive(Debug)]
pub(super) struct OscillatorsBatch {
    pub(super) spec: Oscillators,
}

/// The recurrence of series of so many steps, some of which stand aside.
#[derive(Debug, Clone)]
struct Recurrence {
    shape: [usize; 2],
    aside: Option<Arc<[bool]>>,
    /// The number of oscillators.
    width: usize,
    /// Whether `p` and the steps have a row for each step.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "slices know their lengths"))]
    per_step: bool,
}

impl Recurrence {
    fn input<'a, T>(&'a self, [p, step, stiffness, force]: [&'a [T]; 4]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, p, step, stiffness, force, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<4> for Recurrence {
    const NAME: &'static str = "recurrences of oscillators";
    const INPUTS: [&'static str; 4] = ["p", "the steps", "the stiffness", "the force"];

    fn forward<T: Float>(&self, inputs: [&[T]; 4]) -> Result<Made<T>, ncde_kernels::Error> {
        let (places, states) = forward(&self.input(inputs))?;
        Ok((places, [&self.shape[..], &[2 * self.width]].concat(), states))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 4], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 4], ncde_kernels::Error> {
        let Gradients { p, step, stiffness, force } = backward(&self.input(inputs), stored, gradient)?;
        Ok([p, step, stiffness, force])
    }

    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, _: &Gpu<R>) -> Option<(impl DeviceKernel<4>, [usize; 2])> {
        let rates = if self.per_step { device::Rates::PerStep } else { device::Rates::Shared };
        Some((device::Oscillators { width: self.width, rates, aside: self.aside.clone() }, self.shape))
    }
}

impl<B: LayerBackend> Batch<B> for OscillatorsBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let Oscillators { states, scheme, gap } = self.spec;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, n] = x.dims();
        let of_states = |name: &str| Ok::<_, Error>(weights.weight::<1>(name)?.reshape([1, 1, states]));
        let (mut d, mut a) = (sigmoid(of_states("step")?), relu(of_states("stiffness")?));
        let mut damped = d.zeros_like();
        if scheme == Scheme::Damped {
            damped = d.clone() * relu(of_states("damping")?);
            let bound = |sign: f64| (damped.clone() + 2.0 + (damped.clone() + 1.0).sqrt() * sign) / d.clone().square();
            a = of_states("stiffness")?.max_pair(bound(-2.0)).min_pair(bound(2.0));
        }
        if let Some(gap) = gap {
            let dt = rows.constant(rows.places.steps(gap), [batch, count, 1]);
            d = gained(Parts::new(1, states, &x).spread(dt)?, d.reshape([states]))?;
        }
        let p = match scheme {
            Scheme::Implicit => (gained(d.clone().square(), a.clone().reshape([states]))? + 1.0).recip(),
            Scheme::Explicit => d.ones_like(),
            _ => (damped + 1.0).recip(),
        };
        // Branches stand aside, right behind the rows that they follow.
        let order = rows.places.in_order();
        let flat = |x: Tensor<B, 3>| {
            let [_, places, width] = x.dims();
            let x = order.as_ref().filter(|_| places == count).map_or(x.clone(), |order| order.sorted(x));
            let rows = x.dims()[0];
            x.reshape([rows * places * width])
        };
        let force = dense::product(x.clone().reshape([batch * count, n]), weights.weight("input")?)?;
        let force = force.reshape([batch, count, 2 * states]);
        let recurrence = Recurrence {
            shape: [batch, count],
            aside: order.as_ref().map(|order| order.aside.clone().into()),
            width: states,
            per_step: gap.is_some(),
        };
        let a = a.reshape([states]);
        let places = hosted::<B, _, 4, 3>(recurrence, [flat(p), flat(d), a, flat(force)])?;
        let places = order.as_ref().map_or(places.clone(), |order| order.unsorted(places));
        let y = dense::product(places.reshape([batch * count, 2 * states]), weights.weight("output")?)?;
        Ok(rows.with(y.reshape([batch, count, n]) + gained(x, weights.weight("skip")?)?))
    }
}
