//! The CPU backend: rows are slices.

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::ops::FloatTensorOps;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_runtime::layer::{Function, LayerNorm};
use ncde_runtime::random::Stream;
use num_traits::Float;
use rayon::prelude::*;

use super::{Adam, DenseOps, Error, Factor, Seen, Updated};
use crate::operation::{self, Gradients, dispatch, tensor};

/// About how many numbers one task takes.
const TASK: usize = 1 << 14;

/// A number that rows hold.
trait Real: Float + Element + Pod + Send + Sync {}
impl<T: Float + Element + Pod + Send + Sync> Real for T {}

impl DenseOps for Flex {
    fn affine(x: FlexTensor, weight: FlexTensor, bias: Option<FlexTensor>) -> Result<FlexTensor, Error> {
        let y = Self::float_matmul(x, weight);
        match bias {
            Some(bias) => dispatch!(y, add_bias(&y, &bias)),
            None => Ok(y),
        }
    }

    fn affine_backward(
        x: FlexTensor,
        weight: FlexTensor,
        gradient: FlexTensor,
        [dx, dw, db]: [bool; 3],
    ) -> Result<Gradients<Self, 3>, Error> {
        let db = if db { Some(dispatch!(gradient, sum_rows(&gradient))?) } else { None };
        let dx = dx.then(|| Self::float_matmul(gradient.clone(), Self::float_transpose(weight)));
        Ok([dx, dw.then(|| Self::float_matmul(Self::float_transpose(x), gradient)), db])
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

    fn norm_rows_backward(x: FlexTensor, gain: Option<FlexTensor>, gradient: FlexTensor) -> Result<Gradients<Self, 3>, Error> {
        dispatch!(x, norm_backward(&x, gain.as_ref(), &gradient))
    }

    fn scale_columns(x: FlexTensor, shift: Option<FlexTensor>, factor: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(x, scale(&x, shift.as_ref(), &factor))
    }

    fn scaled(x: FlexTensor, factor: f64, ahead: Option<f64>) -> Result<FlexTensor, Error> {
        dispatch!(x, scaled(&x, 0, factor, ahead))
    }

    fn scaled_backward(gradient: FlexTensor, factor: f64, has_ahead: bool) -> Result<FlexTensor, Error> {
        dispatch!(gradient, scaled(&gradient, usize::from(has_ahead), factor, None))
    }

    fn mean_rows(x: FlexTensor, lengths: &[usize]) -> Result<FlexTensor, Error> {
        dispatch!(x, mean_rows(&x, lengths))
    }

    fn mean_rows_backward(gradient: FlexTensor, lengths: &[usize], places: usize) -> Result<FlexTensor, Error> {
        dispatch!(gradient, mean_rows_backward(&gradient, lengths, places))
    }

    fn dropout(x: FlexTensor, stream: Stream, rate: f64) -> Result<FlexTensor, Error> {
        dispatch!(x, drop_out(&x, stream, rate))
    }

    fn lookup(tokens: FlexTensor, table: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(table, lookup(&tokens, &table))
    }

    fn lookup_backward(tokens: FlexTensor, gradient: FlexTensor, vocabulary: usize) -> Result<FlexTensor, Error> {
        dispatch!(gradient, lookup_backward(&tokens, &gradient, vocabulary))
    }

    fn class_loss(z: FlexTensor, [labels, weights]: [FlexTensor; 2], floor: f64, share: f64) -> Result<[FlexTensor; 2], Error> {
        dispatch!(z, class_loss(&z, &labels, &weights, floor, share))
    }

    fn outcome(loss: FlexTensor, gradients: &[FlexTensor], most: f64) -> Result<(Seen, Factor<Self>), Error> {
        let mut squares = 0.0;
        for gradient in gradients {
            squares += dispatch!(*gradient, sum_squares(gradient))?;
        }
        let norm = squares.sqrt();
        let factor = if most > 0.0 && norm > most { most / norm } else { 1.0 };
        Ok((Seen::Now([dispatch!(loss, first(&loss))?, squares]), Factor::Number(factor)))
    }

    fn update(adam: Adam, factor: &Factor<Self>, old: Vec<(Updated<Self>, FlexTensor)>) -> Result<Vec<Updated<Self>>, Error> {
        let factor = match factor {
            Factor::Number(factor) => *factor,
            Factor::OnDevice(factor) => dispatch!(*factor, first(factor))?,
        };
        old.iter().map(|(weight, gradient)| dispatch!(*gradient, update((adam, factor), weight, gradient))).collect()
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

fn norm_backward<T: Real>(x: &FlexTensor, gain: Option<&FlexTensor>, gradient: &FlexTensor) -> Result<Gradients<Flex, 3>, Error> {
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
    let of_affine = gain.map(|_| {
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
    let [gain, offset] = of_affine.map_or([None, None], |pair| pair.map(Some));
    Ok([Some(tensor(out, x.shape())), gain, offset])
}

fn scale<T: Real>(x: &FlexTensor, shift: Option<&FlexTensor>, factor: &FlexTensor) -> Result<FlexTensor, Error> {
    let [shift, factor] = [shift, Some(factor)].map(|column| column.map(FlexTensor::to_contiguous));
    let shift = shift.as_ref().map(slice::<T>).transpose()?;
    let factor = factor.as_ref().map(slice::<T>).transpose()?.unwrap_or_default();
    each_row::<T>(x, 0, None, |x, y| {
        x.iter().zip(factor).zip(y.iter_mut()).for_each(|((&x, &s), y)| *y = x * s);
        if let Some(shift) = shift {
            x.iter().zip(shift).zip(factor).zip(y).for_each(|(((&x, &m), &s), y)| *y = (x - m) * s);
        }
    })
}

/// Without the first `skipped` columns.
fn scaled<T: Real>(x: &FlexTensor, skipped: usize, factor: f64, ahead: Option<f64>) -> Result<FlexTensor, Error> {
    let cast = |x: f64| T::from(x).unwrap_or_else(T::nan);
    let factor = cast(factor);
    each_row(x, skipped, ahead.map(cast), |x, y| x.iter().zip(y).for_each(|(&x, y)| *y = x * factor))
}

/// Rows without their first `skipped` numbers to rows as long, behind the number `ahead` where there is one. Rows may be part of longer ones: they are read where they lie.
fn each_row<T: Real>(
    x: &FlexTensor,
    skipped: usize,
    ahead: Option<T>,
    work: impl Fn(&[T], &mut [T]) + Sync,
) -> Result<FlexTensor, Error> {
    let x = if x.layout().strides().last() == Some(&1) { x.clone() } else { x.to_contiguous() };
    let (mut shape, whole) = (x.shape(), width(&x));
    let (before, rows, layout, values) = (usize::from(ahead.is_some()), shape[1], x.layout(), x.storage::<T>());
    shape[2] = whole - skipped + before;
    let mut out = vec![T::zero(); shape.num_elements()];
    by_rows(&mut out, shape[2], |first, chunk| {
        for (i, row) in (first..).zip(chunk.chunks_exact_mut(shape[2])) {
            let from = layout.index(&[i / rows, i % rows, 0]);
            row.iter_mut().zip(ahead).for_each(|(y, ahead)| *y = ahead);
            work(&values[from + skipped..from + whole], &mut row[before..]);
        }
    });
    Ok(tensor(out, shape))
}

/// A series is a task: its rows are added in order.
fn mean_rows<T: Real>(x: &FlexTensor, lengths: &[usize]) -> Result<FlexTensor, Error> {
    let x = x.to_contiguous();
    let (width, values) = (width(&x), slice::<T>(&x)?);
    let mut out = vec![T::zero(); lengths.len() * width];
    let series = values.par_chunks_exact((values.len() / lengths.len().max(1)).max(1)).zip(lengths);
    out.par_chunks_exact_mut(width).zip(series).for_each(|(out, (rows, &length))| {
        for row in rows.chunks_exact(width).take(length) {
            out.iter_mut().zip(row).for_each(|(sum, &x)| *sum = *sum + x);
        }
        let share = share::<T>(length);
        out.iter_mut().for_each(|sum| *sum = *sum * share);
    });
    Ok(tensor(out, [lengths.len(), 1, width]))
}

fn mean_rows_backward<T: Real>(gradient: &FlexTensor, lengths: &[usize], places: usize) -> Result<FlexTensor, Error> {
    let gradient = gradient.to_contiguous();
    let (width, dy) = (width(&gradient), slice::<T>(&gradient)?);
    let mut out = vec![T::zero(); lengths.len() * places * width];
    let series = dy.par_chunks_exact(width).zip(lengths);
    out.par_chunks_exact_mut(places * width).zip(series).for_each(|(out, (dy, &length))| {
        let share = share::<T>(length);
        for row in out.chunks_exact_mut(width).take(length) {
            row.iter_mut().zip(dy).for_each(|(dx, &dy)| *dx = dy * share);
        }
    });
    Ok(tensor(out, [lengths.len(), places, width]))
}

/// What one of so many rows counts.
fn share<T: Real>(length: usize) -> T {
    T::one() / T::from(length).unwrap_or_else(T::one)
}

fn drop_out<T: Real>(x: &FlexTensor, stream: Stream, rate: f64) -> Result<FlexTensor, Error> {
    let x = x.to_contiguous();
    let scale = T::from(1.0 / (1.0 - rate)).unwrap_or_else(T::nan);
    let mut out = slice::<T>(&x)?.to_vec();
    by_rows(&mut out, 1, |first, chunk| {
        for (i, x) in (first as u64..).zip(chunk) {
            *x = if stream.uniform(i) < rate { T::zero() } else { *x * scale };
        }
    });
    Ok(tensor(out, x.shape()))
}

/// The tokens of a tensor, each of which the table has.
fn tokens_of<T: Real>(tokens: &FlexTensor, vocabulary: usize) -> Result<Vec<usize>, Error> {
    let tokens = tokens.to_contiguous();
    let whole = |&token: &T| -> Result<usize, Error> {
        let index =
            num_traits::ToPrimitive::to_usize(&token).filter(|&index| index < vocabulary && T::from(index) == Some(token));
        index.ok_or_else(|| Error::Token { seen: token.elem(), vocabulary })
    };
    slice::<T>(&tokens)?.iter().map(whole).collect()
}

fn lookup<T: Real>(tokens: &FlexTensor, table: &FlexTensor) -> Result<FlexTensor, Error> {
    let table = table.to_contiguous();
    let (width, rows) = (width(&table), slice::<T>(&table)?);
    let tokens = tokens_of::<T>(tokens, rows.len() / width)?;
    let mut out = vec![T::zero(); tokens.len() * width];
    by_rows(&mut out, width, |first, chunk| {
        for (row, &token) in chunk.chunks_exact_mut(width).zip(&tokens[first..]) {
            row.copy_from_slice(&rows[token * width..(token + 1) * width]);
        }
    });
    Ok(tensor(out, [tokens.len(), width]))
}

fn lookup_backward<T: Real>(tokens: &FlexTensor, gradient: &FlexTensor, vocabulary: usize) -> Result<FlexTensor, Error> {
    let gradient = gradient.to_contiguous();
    let (width, rows) = (width(&gradient), slice::<T>(&gradient)?);
    let mut out = vec![T::zero(); vocabulary * width];
    for (row, token) in rows.chunks_exact(width).zip(tokens_of::<T>(tokens, vocabulary)?) {
        out[token * width..(token + 1) * width].iter_mut().zip(row).for_each(|(out, &dy)| *out = *out + dy);
    }
    Ok(tensor(out, [vocabulary, width]))
}

/// Rows at once, their losses added in order.
fn class_loss<T: Real>(
    z: &FlexTensor,
    labels: &FlexTensor,
    weights: &FlexTensor,
    floor: f64,
    share: f64,
) -> Result<[FlexTensor; 2], Error> {
    let (z, weights) = (z.to_contiguous(), weights.to_contiguous());
    let (width, shape, w) = (width(&z), z.shape(), slice::<T>(&weights)?);
    let labels = tokens_of::<T>(labels, width)?;
    let cast = |x: f64| T::from(x).unwrap_or_else(T::nan);
    let (floor, share) = (cast(floor), cast(share));
    let mut gradient = slice::<T>(&z)?.to_vec();
    let mut losses = vec![T::zero(); gradient.len() / width];
    let rows = losses.par_iter_mut().zip(gradient.par_chunks_exact_mut(width)).zip(labels.par_iter().zip(w));
    rows.with_min_len((TASK / width).max(1)).for_each(|((loss, z), (&label, &w))| {
        let most = z.iter().fold(T::neg_infinity(), |most, &z| most.max(z));
        let below_most = z[label] - most;
        z.iter_mut().for_each(|z| *z = (*z - most).exp());
        let sum = z.iter().fold(T::zero(), |sum, &z| sum + z);
        let p = z[label] / sum;
        // Without a floor a small probability is not rounded to 0 on the way to its logarithm.
        let (ln, along) = if floor > T::zero() { ((p + floor).ln(), w * p / (p + floor)) } else { (below_most - sum.ln(), w) };
        *loss = T::zero() - share * w * ln;
        z.iter_mut().for_each(|z| *z = share * (*z / sum * along));
        z[label] = share * (p * along - along);
    });
    let loss = losses.iter().fold(T::zero(), |sum, &loss| sum + loss);
    Ok([tensor(vec![loss], [1]), tensor(gradient, shape)])
}

fn first<T: Real>(x: &FlexTensor) -> Result<f64, Error> {
    Ok(slice::<T>(&x.to_contiguous())?.first().map_or(f64::NAN, |x| x.elem()))
}

fn sum_squares<T: Real>(x: &FlexTensor) -> Result<f64, Error> {
    let x = x.to_contiguous();
    Ok(slice::<T>(&x)?.iter().map(|x| x.elem::<f64>().powi(2)).sum())
}

fn update<T: Real>(
    (adam, factor): (Adam, f64),
    weight: &[FlexTensor; 3],
    gradient: &FlexTensor,
) -> Result<[FlexTensor; 3], Error> {
    let cast = |x: f64| T::from(x).unwrap_or_else(T::nan);
    let [weight, mean, square] = weight;
    let shape = weight.shape();
    let contiguous = [weight, mean, square, gradient].map(FlexTensor::to_contiguous);
    let [mut w, mut m, mut v] =
        [slice::<T>(&contiguous[0])?.to_vec(), slice::<T>(&contiguous[1])?.to_vec(), slice::<T>(&contiguous[2])?.to_vec()];
    let [b1, b2] = Adam::BETA;
    let corrected = |beta: f64| 1.0 / (1.0 - beta.powi(i32::try_from(adam.step).unwrap_or(i32::MAX)));
    let (mean_share, square_share) = (cast(corrected(b1)), cast(corrected(b2)));
    let (rate, keep, factor) = (cast(adam.rate), cast(1.0 - adam.rate * adam.decay), cast(factor));
    let (b1, b2, c1, c2, epsilon) = (cast(b1), cast(b2), cast(1.0 - b1), cast(1.0 - b2), cast(Adam::EPSILON));
    for (((w, m), v), &g) in w.iter_mut().zip(&mut m).zip(&mut v).zip(slice::<T>(&contiguous[3])?) {
        let g = g * factor;
        *m = b1 * *m + c1 * g;
        *v = b2 * *v + c2 * g * g;
        *w = *w * keep - rate * (*m * mean_share) / ((*v * square_share).sqrt() + epsilon);
    }
    Ok([w, m, v].map(|values| tensor(values, shape.clone())))
}
