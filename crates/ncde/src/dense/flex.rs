//! The CPU backend: rows are slices.

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::ops::FloatTensorOps;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_runtime::layer::{Function, LayerNorm};
use num_traits::Float;
use rayon::prelude::*;

use super::{Adam, DenseOps, Error, NormGradients};
use crate::operation::{self, dispatch, tensor};

/// About how many numbers one task takes.
const TASK: usize = 1 << 14;

/// A number that rows hold.
trait Real: Float + Element + Pod + Send + Sync {}
impl<T: Float + Element + Pod + Send + Sync> Real for T {}

impl DenseOps for Flex {
    fn affine(x: FlexTensor, weight: FlexTensor, bias: FlexTensor) -> Result<FlexTensor, Error> {
        let y = Self::float_matmul(x, weight);
        dispatch!(y, add_bias(&y, &bias))
    }

    fn sum_rows(x: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(x, sum_rows(&x))
    }

    fn activation(function: Function, x: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(x, apply(function, &x))
    }

    fn activation_backward(function: Function, x: FlexTensor, gradient: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(x, reverse(function, &x, &gradient))
    }

    fn norm_rows(x: FlexTensor, affine: Option<[FlexTensor; 2]>) -> Result<FlexTensor, Error> {
        dispatch!(x, norm(&x, affine.as_ref()))
    }

    fn norm_rows_backward(x: FlexTensor, gain: Option<FlexTensor>, gradient: FlexTensor) -> Result<NormGradients<Self>, Error> {
        dispatch!(x, norm_backward(&x, gain.as_ref(), &gradient))
    }

    fn scale_columns(x: FlexTensor, shift: &[f64], factor: &[f64]) -> Result<FlexTensor, Error> {
        dispatch!(x, scale(&x, shift, factor))
    }

    fn sum_squares(x: &FlexTensor) -> Result<f64, Error> {
        dispatch!(*x, sum_squares(x))
    }

    fn update(adam: Adam, weight: [FlexTensor; 3], gradient: FlexTensor) -> Result<[FlexTensor; 3], Error> {
        dispatch!(gradient, update(adam, &weight, &gradient))
    }
}

fn slice<T: Element + Pod>(tensor: &FlexTensor) -> Result<&[T], Error> {
    operation::slice("one of the tensors", tensor)
}

fn width(x: &FlexTensor) -> usize {
    x.shape().as_slice().last().copied().unwrap_or(1).max(1)
}

/// Works on rows of `out`, several of them in a task; the first argument is where they begin, in rows.
fn by_rows<T: Send>(out: &mut [T], width: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let rows = (TASK / width.max(1)).max(1);
    out.par_chunks_mut(rows * width.max(1)).enumerate().for_each(|(i, chunk)| work(i * rows, chunk));
}

fn add_bias<T: Real>(y: &FlexTensor, bias: &FlexTensor) -> Result<FlexTensor, Error> {
    let (y, bias) = (y.to_contiguous(), bias.to_contiguous());
    let (width, bias) = (width(&y), slice::<T>(&bias)?);
    let mut out = slice::<T>(&y)?.to_vec();
    by_rows(&mut out, width, |_, chunk| {
        for row in chunk.chunks_exact_mut(width) {
            row.iter_mut().zip(bias).for_each(|(y, &b)| *y = *y + b);
        }
    });
    Ok(tensor(out, y.shape()))
}

fn sum_rows<T: Real>(x: &FlexTensor) -> Result<FlexTensor, Error> {
    let x = x.to_contiguous();
    let width = width(&x);
    let mut sum = vec![T::zero(); width];
    for row in slice::<T>(&x)?.chunks_exact(width) {
        sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum = *sum + x);
    }
    Ok(tensor(sum, [width]))
}

fn apply<T: Real>(function: Function, x: &FlexTensor) -> Result<FlexTensor, Error> {
    let x = x.to_contiguous();
    let (inputs, values) = (width(&x), slice::<T>(&x)?);
    let outputs = function.width(inputs);
    let mut out = vec![T::zero(); values.len() / inputs * outputs];
    by_rows(&mut out, outputs, |first, chunk| {
        let rows = chunk.chunks_exact_mut(outputs).zip(values[first * inputs..].chunks_exact(inputs));
        rows.for_each(|(y, x)| function.apply(x, y));
    });
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = outputs;
    }
    Ok(tensor(out, shape))
}

fn reverse<T: Real>(function: Function, x: &FlexTensor, gradient: &FlexTensor) -> Result<FlexTensor, Error> {
    let (x, gradient) = (x.to_contiguous(), gradient.to_contiguous());
    let (inputs, values, dy) = (width(&x), slice::<T>(&x)?, slice::<T>(&gradient)?);
    let outputs = function.width(inputs);
    let mut out = vec![T::zero(); values.len()];
    by_rows(&mut out, inputs, |first, chunk| {
        let rows = chunk.chunks_exact_mut(inputs).zip(values[first * inputs..].chunks_exact(inputs));
        rows.zip(dy[first * outputs..].chunks_exact(outputs)).for_each(|((dx, x), dy)| function.reverse(x, dy, dx));
    });
    Ok(tensor(out, x.shape()))
}

fn norm<T: Real>(x: &FlexTensor, affine: Option<&[FlexTensor; 2]>) -> Result<FlexTensor, Error> {
    let x = x.to_contiguous();
    let affine = affine.map(|pair| [pair[0].to_contiguous(), pair[1].to_contiguous()]);
    let (width, values) = (width(&x), slice::<T>(&x)?);
    let affine = affine.as_ref().map(|pair| Ok::<_, Error>((slice::<T>(&pair[0])?, slice::<T>(&pair[1])?))).transpose()?;
    let mut out = values.to_vec();
    by_rows(&mut out, width, |_, chunk| {
        for row in chunk.chunks_exact_mut(width) {
            let (mean, factor) = LayerNorm::moments(row);
            row.iter_mut().for_each(|x| *x = (*x - mean) * factor);
            if let Some((gain, offset)) = affine {
                row.iter_mut().zip(gain.iter().zip(offset)).for_each(|(x, (&g, &c))| *x = *x * g + c);
            }
        }
    });
    Ok(tensor(out, x.shape()))
}

fn norm_backward<T: Real>(
    x: &FlexTensor,
    gain: Option<&FlexTensor>,
    gradient: &FlexTensor,
) -> Result<NormGradients<Flex>, Error> {
    let (x, gradient, gain) = (x.to_contiguous(), gradient.to_contiguous(), gain.map(FlexTensor::to_contiguous));
    let (width, values, dy) = (width(&x), slice::<T>(&x)?, slice::<T>(&gradient)?);
    let gain = gain.as_ref().map(slice::<T>).transpose()?;
    let share = T::one() / T::from(width).unwrap_or_else(T::one);
    let mut out = dy.to_vec();
    by_rows(&mut out, width, |first, chunk| {
        for (dx, x) in chunk.chunks_exact_mut(width).zip(values[first * width..].chunks_exact(width)) {
            if let Some(gain) = gain {
                dx.iter_mut().zip(gain).for_each(|(dx, &g)| *dx = *dx * g);
            }
            let (mean, factor) = LayerNorm::moments(x);
            let z = |x: T| (x - mean) * factor;
            let sum = dx.iter().fold(T::zero(), |sum, &dx| sum + dx) * share;
            let along = dx.iter().zip(x).fold(T::zero(), |sum, (&dx, &x)| sum + dx * z(x)) * share;
            dx.iter_mut().zip(x).for_each(|(dx, &x)| *dx = factor * (*dx - sum - z(x) * along));
        }
    });
    let affine = gain.map(|_| {
        let (mut gains, mut offsets) = (vec![T::zero(); width], vec![T::zero(); width]);
        for (dy, x) in dy.chunks_exact(width).zip(values.chunks_exact(width)) {
            let (mean, factor) = LayerNorm::moments(x);
            for i in 0..width {
                gains[i] = gains[i] + dy[i] * (x[i] - mean) * factor;
                offsets[i] = offsets[i] + dy[i];
            }
        }
        [tensor(gains, [width]), tensor(offsets, [width])]
    });
    Ok(NormGradients { x: tensor(out, x.shape()), affine })
}

/// Rows may be part of longer ones: they are read where they lie.
fn scale<T: Real>(x: &FlexTensor, shift: &[f64], factor: &[f64]) -> Result<FlexTensor, Error> {
    let x = if x.layout().strides().last() == Some(&1) { x.clone() } else { x.to_contiguous() };
    let (shape, width, cast) = (x.shape(), width(&x), |&x: &f64| T::from(x).unwrap_or_else(T::nan));
    let [shift, factor] = [shift, factor].map(|column| column.iter().map(cast).collect::<Vec<T>>());
    let (layout, values) = (x.layout(), x.storage::<T>());
    let mut out = vec![T::zero(); shape.num_elements()];
    by_rows(&mut out, width, |first, chunk| {
        for (i, row) in (first..).zip(chunk.chunks_exact_mut(width)) {
            let from = layout.index(&[i / shape[1], i % shape[1], 0]);
            let each = values[from..from + width].iter().zip(shift.iter().zip(&factor));
            row.iter_mut().zip(each).for_each(|(y, (&x, (&m, &s)))| *y = (x - m) * s);
        }
    });
    Ok(tensor(out, shape))
}

fn sum_squares<T: Real>(x: &FlexTensor) -> Result<f64, Error> {
    let x = x.to_contiguous();
    Ok(slice::<T>(&x)?.iter().map(|x| x.elem::<f64>().powi(2)).sum())
}

fn update<T: Real>(adam: Adam, weight: &[FlexTensor; 3], gradient: &FlexTensor) -> Result<[FlexTensor; 3], Error> {
    let cast = |x: f64| T::from(x).unwrap_or_else(T::nan);
    let [weight, mean, square] = weight;
    let shape = weight.shape();
    let contiguous = [weight, mean, square, gradient].map(FlexTensor::to_contiguous);
    let [mut w, mut m, mut v] =
        [slice::<T>(&contiguous[0])?.to_vec(), slice::<T>(&contiguous[1])?.to_vec(), slice::<T>(&contiguous[2])?.to_vec()];
    let [b1, b2] = Adam::BETA;
    let corrected = |beta: f64| 1.0 / (1.0 - beta.powi(i32::try_from(adam.step).unwrap_or(i32::MAX)));
    let (mean_share, square_share) = (cast(corrected(b1)), cast(corrected(b2)));
    let (rate, keep, factor) = (cast(adam.rate), cast(1.0 - adam.rate * adam.decay), cast(adam.factor));
    let (b1, b2, c1, c2, epsilon) = (cast(b1), cast(b2), cast(1.0 - b1), cast(1.0 - b2), cast(Adam::EPSILON));
    for (((w, m), v), &g) in w.iter_mut().zip(&mut m).zip(&mut v).zip(slice::<T>(&contiguous[3])?) {
        let g = g * factor;
        *m = b1 * *m + c1 * g;
        *v = b2 * *v + c2 * g * g;
        *w = *w * keep - rate * (*m * mean_share) / ((*v * square_share).sqrt() + epsilon);
    }
    Ok([w, m, v].map(|values| tensor(values, shape.clone())))
}
