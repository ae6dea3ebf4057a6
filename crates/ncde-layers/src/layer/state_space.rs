//! A diagonal state-space model; see [`ncde_runtime::layer::StateSpace`].
//!
//! Where every row is one step, `g` goes into `B` ahead, and with `per_channel` `B` into `C`: what is left are filters, whose states are not stored.
//!
//! Cost: `O(rows x S n)`, memory `O(batch x rows x S)`; with `per_channel` and `gap` a factor `n` more states.

use std::sync::Arc;

use burn_tensor::Tensor;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, filters as device};
use ncde_kernels::Float;
use ncde_kernels::filters::{Gradients, Input, backward, forward};
use ncde_runtime::layer::{Discretisation, StateSpace};

use super::rows::clear_padding;
use super::spread::{Parts, for_all, gained, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::hosted::{HostedKernel, Made, hosted};
use crate::scan::{Arguments, Numbers, recurrence};

#[derive(Debug)]
pub(super) struct StateSpaceBatch {
    pub(super) spec: StateSpace,
}

/// Terms of the series of `(exp(z) - 1) / z`: what is left out is below single precision for `z` up to 1.
const TERMS: usize = 11;

/// Complex numbers of which one array holds the real parts, another the imaginary ones.
#[derive(Debug, Clone)]
struct Complex<B: LayerBackend>(Tensor<B, 3>, Tensor<B, 3>);

impl<B: LayerBackend> Complex<B> {
    /// From real parts, then imaginary ones, along the last axis.
    fn split(both: Tensor<B, 3>) -> Self {
        let half = both.dims()[2] / 2;
        Self(both.clone().narrow(2, 0, half), both.narrow(2, half, half))
    }

    fn joined(self) -> Tensor<B, 3> {
        Tensor::cat(vec![self.0, self.1], 2)
    }

    fn times(self, other: Self) -> Self {
        let re = self.0.clone() * other.0.clone() - self.1.clone() * other.1.clone();
        Self(re, self.0 * other.1 + self.1 * other.0)
    }

    /// Rows times one row, `[1, 1, S]`.
    fn times_row(self, row: Self) -> Result<Self, Error> {
        let [_, count, _] = self.0.dims();
        let [re, im] = [row.0, row.1].map(|part| for_all(part.flatten(0, 2), [1, count]));
        Ok(self.times(Self(re?, im?)))
    }

    fn over(self, other: Self) -> Self {
        let square = other.0.clone().square() + other.1.clone().square();
        self.times(Self(other.0 / square.clone(), other.1.neg() / square))
    }

    /// `(exp(z) - 1) / z`; of small `z` by its series, as the difference of two numbers near 1 has few digits.
    fn mean_of_exponentials(self) -> Self {
        let is_large = (self.0.clone().square() + self.1.clone().square()).greater_elem(1.0);
        let small = Self(self.0.clone().mask_fill(is_large.clone(), 0.0), self.1.clone().mask_fill(is_large.clone(), 0.0));
        let (one, none) = (self.0.ones_like(), self.0.zeros_like());
        let series = (2..=TERMS).rev().fold(Self(one.clone(), none), |sum, n| {
            let next = sum.times(small.clone());
            Self(next.0 / n as f64 + 1.0, next.1 / n as f64)
        });
        let below = Self(self.0.clone().mask_where(is_large.clone().bool_not(), one), self.1.clone());
        let exp = self.exp();
        let direct = Self(exp.0 - 1.0, exp.1).over(below);
        Self(series.0.mask_where(is_large.clone(), direct.0), series.1.mask_where(is_large, direct.1))
    }

    fn exp(self) -> Self {
        let radius = self.0.exp();
        Self(radius.clone() * self.1.clone().cos(), radius * self.1.sin())
    }
}

/// The filters of every number of a row, in series of so many steps, some of which stand aside.
#[derive(Debug, Clone)]
struct Filters {
    /// Batch, length and channels.
    shape: [usize; 3],
    /// Of each channel.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "slices know their lengths"))]
    states: usize,
    aside: Option<Arc<[bool]>>,
}

impl Filters {
    fn input<'a, T>(&'a self, [u, a, c]: [&'a [T]; 3]) -> Input<'a, T> {
        let [batch, length, channels] = self.shape;
        Input { batch, length, channels, u, a, c, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<3> for Filters {
    const NAME: &'static str = "banks of filters";
    const INPUTS: [&'static str; 3] = ["the rows", "the poles", "the readout"];

    fn forward<T: Float>(&self, inputs: [&[T]; 3]) -> Result<Made<T>, ncde_kernels::Error> {
        let (y, starts) = forward(&self.input(inputs))?;
        Ok((y, self.shape.to_vec(), starts))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 3], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 3], ncde_kernels::Error> {
        let Gradients { u, a, c } = backward(&self.input(inputs), stored, gradient)?;
        Ok([u, a, c])
    }

    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, _: &Gpu<R>) -> Option<(impl DeviceKernel<3>, [usize; 2])> {
        let [batch, length, channels] = self.shape;
        let filters = device::Filters { channels, states: self.states, aside: self.aside.clone() };
        filters.fits().then_some((filters, [batch, length]))
    }
}

/// States that rows move by `h <- a h + b`, complex: real parts, then imaginary ones; 0 before the first row, or `initial`.
fn states<B: LayerBackend>(
    rows: &Rows<B>,
    a: &Tensor<B, 3>,
    b: &Tensor<B, 3>,
    initial: Tensor<B, 2>,
) -> Result<Tensor<B, 3>, Error> {
    let ([_, count, _], trunk) = (b.dims(), rows.places.trunk);
    let of_trunk = |x: &Tensor<B, 3>| if count == trunk { x.clone() } else { x.clone().narrow(1, 0, trunk) };
    let states = recurrence(Numbers::Complex, Arguments { a: of_trunk(a), b: of_trunk(b), initial })?;
    // A branch follows the state of its parent.
    let Some((_, before)) = rows.branches(&states) else { return Ok(states) };
    let of_branches = |x: &Tensor<B, 3>| x.clone().narrow(1, trunk, count - trunk);
    let moved = Complex::split(of_branches(a)).times(Complex::split(before)).joined();
    Ok(Tensor::cat(vec![states, moved + of_branches(b)], 1))
}

/// `cos` and `sin` of the sums of angles up to each row.
pub(super) fn turns<B: LayerBackend>(rows: &Rows<B>, angles: Tensor<B, 3>) -> Result<[Tensor<B, 3>; 2], Error> {
    let [batch, _, width] = angles.dims();
    let a = Complex(angles.clone().cos(), angles.sin()).joined();
    let one = Tensor::ones([batch, width], (&a.device(), a.dtype()));
    let turned = Complex::split(states(rows, &a, &a.zeros_like(), Tensor::cat(vec![one.clone(), one.zeros_like()], 1))?);
    Ok([turned.0, turned.1])
}

impl StateSpaceBatch {
    /// `Re(C h)` where every number has states of its own and every row is one step: `h' = a h' + x`, `h = g B h'`.
    fn filtered<B: LayerBackend>(
        &self,
        rows: &Rows<B>,
        x: Tensor<B, 3>,
        weights: &LayerWeights<'_, B>,
    ) -> Result<Tensor<B, 3>, Error> {
        let shape @ [batch, count, width] = x.dims();
        let [a, g] = self.step(weights, None)?;
        let complex = |name: &str| -> Result<Complex<B>, Error> { Ok(Complex::split(weights.weight::<1>(name)?.unsqueeze())) };
        // The readout holds `Re C` and `-Im C`, and so do filters.
        let Complex(re, im) = complex("output")?;
        let Complex(re, im) = Complex(re, im.neg()).times(complex("input")?).times(g);
        // From `[width, states]` to `[states, width]`.
        let laid = |Complex(re, im): Complex<B>| {
            let both =
                [re, im].map(|part| part.reshape([width, self.spec.states]).transpose().reshape([width * self.spec.states]));
            Tensor::cat(both.to_vec(), 0)
        };
        let order = rows.places.in_order();
        let sorted = order.as_ref().map_or(x.clone(), |order| order.sorted(x));
        let filters = Filters { shape, states: self.spec.states, aside: order.as_ref().map(|order| order.aside.clone().into()) };
        let inputs = [sorted.reshape([batch * count * width]), laid(a), laid(Complex(re, im.neg()))];
        let y = hosted::<B, _, 3, 3>(filters, inputs)?;
        Ok(order.as_ref().map_or(y.clone(), |order| order.unsorted(y)))
    }

    /// `a` and `g` after the times `dt`, `[batch, rows, 1]` or one for all, to `[.., .., S]`.
    fn step<B: LayerBackend>(&self, weights: &LayerWeights<'_, B>, dt: Option<Tensor<B, 3>>) -> Result<[Complex<B>; 2], Error> {
        let dt = match dt {
            Some(dt) => {
                let [count] = weights.weight::<1>("decay")?.dims();
                Some(Parts::new(1, count, &dt).spread(dt)?)
            }
            None => None,
        };
        let number = |name: &str| match &dt {
            Some(dt) => for_all(weights.weight(name)?, [dt.dims()[0], dt.dims()[1]]),
            None => Ok(weights.weight::<1>(name)?.unsqueeze::<3>()),
        };
        let spent = |rate: Tensor<B, 3>| match &dt {
            Some(dt) => dt.clone() * rate,
            None => rate,
        };
        let (decay, turn) = (number("decay")?.exp().neg(), number("turn")?);
        if self.spec.discretisation == Discretisation::Powers {
            let gain = number("gain")?.exp();
            let none = gain.zeros_like();
            return Ok([Complex(spent(decay), spent(turn.exp())).exp(), Complex(gain, none)]);
        }
        let step = spent(number("step")?.exp());
        let z = Complex(step.clone() * decay.clone(), step.clone() * turn.clone());
        if self.spec.discretisation == Discretisation::ZeroOrderHold {
            let g = z.clone().mean_of_exponentials();
            return Ok([z.exp(), Complex(g.0 * step.clone(), g.1 * step)]);
        }
        let half = Complex(z.0 * 0.5, z.1 * 0.5);
        let below = Complex(half.0.clone().neg() + 1.0, half.1.clone().neg());
        let none = step.zeros_like();
        Ok([Complex(half.0 + 1.0, half.1).over(below.clone()), Complex(step, none).over(below)])
    }
}

impl<B: LayerBackend> Batch<B> for StateSpaceBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (trunk, per_channel) = (rows.places.trunk, self.spec.per_channel);
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, trunk);
        let [batch, count, width] = x.dims();
        if per_channel && self.spec.gap.is_none() {
            let seen = self.filtered(&rows, x.clone(), weights)?;
            return Ok(rows.with(seen + gained(x, weights.weight("skip")?)?));
        }
        let dt = self.spec.gap.map(|gap| rows.constant(rows.places.steps(gap), [batch, count, 1]));
        let [a, g] = self.step(weights, dt)?;
        let input =
            if per_channel { weights.weight::<1>("input")?.unsqueeze() } else { weights.weight::<2>("input")?.unsqueeze() };
        // What drives all states of a number is that number.
        let parts = per_channel.then(|| Parts::new(width, self.spec.states, &x));
        let by_rows = |input: Complex<B>| -> Result<Tensor<B, 3>, Error> {
            let Some(parts) = &parts else { return times(x.clone(), input.joined().squeeze_dim(0)) };
            let spread = parts.spread(x.clone())?;
            let driven = [gained(spread.clone(), input.0.flatten(0, 2))?, gained(spread, input.1.flatten(0, 2))?];
            Ok(Tensor::cat(driven.to_vec(), 2))
        };
        let b = match self.spec.gap {
            None => by_rows(Complex::split(input).times_row(g)?)?,
            Some(_) => Complex::split(by_rows(Complex::split(input))?).times(g).joined(),
        };
        let [_, _, row] = b.dims();
        let a = match self.spec.gap {
            None if count == trunk => a.joined().reshape([1, 1, row]),
            None => for_all(a.joined().reshape([row]), [batch, count])?,
            Some(_) => a.joined(),
        };
        let zeros = Tensor::zeros([batch, row], (&b.device(), b.dtype()));
        let states = states(&rows, &a, &b, zeros)?;
        let seen = match &parts {
            Some(parts) => {
                let seen = gained(states, weights.weight("output")?)?;
                parts.sums_of_both(seen)?
            }
            None => times(states, weights.weight("output")?)?,
        };
        Ok(rows.with(seen + gained(x, weights.weight("skip")?)?))
    }
}
