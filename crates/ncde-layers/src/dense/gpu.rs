//! GPUs: the kernels of `ncde-gpu`.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_tensor::{Shape, Tensor, TensorMetadata};
use cubecl::server::Handle;
use ncde_gpu::{Activation, AdamConstants, Matrix, RowsOf};
use ncde_runtime::layer::{Function, NORM_EPSILON};
use ncde_runtime::random::Stream;

use super::{Adam, DenseOps, Error, Factor, Seen, Updated};
use crate::gpu::{OnGpu, activation, buffer, gpu, of_buffer};
use crate::operation::{Gradients, primitive, public};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> DenseOps for OnGpu<R, I, B> {
    fn affine(x: CubeTensor<R>, weight: CubeTensor<R>, bias: Option<CubeTensor<R>>) -> Result<CubeTensor<R>, Error> {
        let (x, weight, bias) = (buffer(x), buffer(weight), bias.map(buffer));
        let (rows, outputs) = (x.shape()[0], weight.shape()[1]);
        let out = gpu(&x).product(matrix(&x), matrix(&weight), bias.as_ref().map(|bias| &bias.handle))?;
        Ok(of_buffer(&x, [rows, outputs], out))
    }

    fn affine_backward(
        x: CubeTensor<R>,
        weight: CubeTensor<R>,
        gradient: CubeTensor<R>,
        [dx, dw, db]: [bool; 3],
    ) -> Result<Gradients<Self, 3>, Error> {
        let (x, weight, dy) = (buffer(x), buffer(weight), buffer(gradient));
        let gpu = gpu(&x);
        let dx = dx.then(|| gpu.product(matrix(&dy), matrix(&weight).transposed(), None)).transpose()?;
        let of_weights = (matrix(&x).transposed(), matrix(&dy));
        let [dw, db] = match (dw, db) {
            (true, true) => gpu.product_and_sums(of_weights.0, of_weights.1)?.map(Some),
            (true, false) => [Some(gpu.product(of_weights.0, of_weights.1, None)?), None],
            (false, _) => [None, db.then(|| gpu.sum_rows(rows(&dy))).transpose()?],
        };
        let tensor = |handle: Option<Handle>, shape: Shape| handle.map(|handle| of_buffer(&x, shape, handle));
        Ok([tensor(dx, x.shape()), tensor(dw, weight.shape()), tensor(db, Shape::from([width(&dy)]))])
    }

    fn activation(function: Function, x: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let x = buffer(x);
        let (y, width) = gpu(&x).activation(named(function), rows(&x))?;
        Ok(of_buffer(&x, with_width(&x, width), y))
    }

    fn activation_backward(function: Function, x: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (x, dy) = (buffer(x), buffer(gradient));
        Ok(of_buffer(&x, x.shape(), gpu(&x).activation_backward(named(function), rows(&x), &dy.handle)?))
    }

    fn norm_rows(x: CubeTensor<R>, affine: Option<[CubeTensor<R>; 2]>) -> Result<CubeTensor<R>, Error> {
        let (x, affine) = (buffer(x), affine.map(|pair| pair.map(buffer)));
        let affine = affine.as_ref().map(|[gain, offset]| [&gain.handle, &offset.handle]);
        Ok(of_buffer(&x, x.shape(), gpu(&x).norm(rows(&x), affine, NORM_EPSILON)?))
    }

    fn norm_rows_backward(
        x: CubeTensor<R>,
        gain: Option<CubeTensor<R>>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 3>, Error> {
        let (x, dy, gain) = (buffer(x), buffer(gradient), gain.map(buffer));
        let of_gain = gain.as_ref().map(|gain| &gain.handle);
        let (dx, rest) = gpu(&x).norm_backward(rows(&x), of_gain, &dy.handle, NORM_EPSILON)?;
        let width = width(&x);
        let [gain, offset] = rest.map_or([None, None], |rest| {
            let both: Tensor<Self, 2> = public(of_buffer(&x, [2, width], rest));
            [0, 1].map(|i| Some(primitive(both.clone().narrow(0, i, 1).reshape([width]))))
        });
        Ok([Some(of_buffer(&x, x.shape(), dx)), gain, offset])
    }

    fn scale_columns(x: CubeTensor<R>, shift: Option<CubeTensor<R>>, factor: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (x, shift, factor) = (buffer(x), shift.map(buffer), buffer(factor));
        let out = gpu(&x).scale_columns(rows(&x), shift.as_ref().map(|shift| &shift.handle), &factor.handle)?;
        Ok(of_buffer(&x, x.shape(), out))
    }

    fn scaled(x: CubeTensor<R>, factor: f64, ahead: Option<f64>) -> Result<CubeTensor<R>, Error> {
        let x = buffer(x);
        Ok(match ahead {
            Some(ahead) => of_buffer(&x, with_width(&x, width(&x) + 1), gpu(&x).prepend(rows(&x), ahead, factor)?),
            None if factor == 1.0 => x,
            None => of_buffer(&x, x.shape(), gpu(&x).scaled(&x.handle, factor as f32)),
        })
    }

    fn scaled_backward(gradient: CubeTensor<R>, factor: f64, has_ahead: bool) -> Result<CubeTensor<R>, Error> {
        if !has_ahead {
            return Self::scaled(gradient, factor, None);
        }
        let dy = buffer(gradient);
        let behind = gpu(&dy).behind(rows(&dy), factor)?;
        Ok(of_buffer(&dy, with_width(&dy, width(&dy) - 1), behind))
    }

    fn some_rows(x: CubeTensor<R>, first: usize, count: usize) -> Result<CubeTensor<R>, Error> {
        let x = buffer(x);
        let [batch, places, width] = sizes(&x);
        Ok(of_buffer(&x, [batch, count, width], gpu(&x).move_rows(rows(&x), places, count, first as isize)?))
    }

    fn some_rows_backward(gradient: CubeTensor<R>, first: usize, places: usize) -> Result<CubeTensor<R>, Error> {
        let dy = buffer(gradient);
        let [batch, count, width] = sizes(&dy);
        Ok(of_buffer(&dy, [batch, places, width], gpu(&dy).move_rows(rows(&dy), count, places, -(first as isize))?))
    }

    fn join_rows(first: CubeTensor<R>, behind: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (first, behind) = (buffer(first), buffer(behind));
        let [batch, places, width] = sizes(&behind);
        let out = gpu(&behind).join_rows(&first.handle, rows(&behind), places)?;
        Ok(of_buffer(&behind, [batch, 1 + places, width], out))
    }

    fn mean_rows(x: CubeTensor<R>, lengths: &[usize]) -> Result<CubeTensor<R>, Error> {
        let x = buffer(x);
        let out = gpu(&x).mean_rows(rows(&x), lengths)?;
        Ok(of_buffer(&x, [lengths.len(), 1, width(&x)], out))
    }

    fn mean_rows_backward(gradient: CubeTensor<R>, lengths: &[usize], places: usize) -> Result<CubeTensor<R>, Error> {
        let dy = buffer(gradient);
        let out = gpu(&dy).mean_rows_backward(rows(&dy), lengths, places)?;
        Ok(of_buffer(&dy, [lengths.len(), places, width(&dy)], out))
    }

    fn dropout(x: CubeTensor<R>, stream: Stream, rate: f64) -> Result<CubeTensor<R>, Error> {
        let x = buffer(x);
        let out = gpu(&x).dropout(&x.handle, x.shape().num_elements(), stream.key(), rate)?;
        Ok(of_buffer(&x, x.shape(), out))
    }

    fn lookup(tokens: CubeTensor<R>, table: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (tokens, table) = (buffer(tokens), buffer(table));
        let count = tokens.shape().num_elements();
        let out = gpu(&table).lookup(&tokens.handle, count, rows(&table))?;
        Ok(of_buffer(&table, [count, width(&table)], out))
    }

    fn lookup_backward(tokens: CubeTensor<R>, gradient: CubeTensor<R>, vocabulary: usize) -> Result<CubeTensor<R>, Error> {
        let (tokens, dy) = (buffer(tokens), buffer(gradient));
        let out = gpu(&dy).lookup_backward(&tokens.handle, rows(&dy), vocabulary)?;
        Ok(of_buffer(&dy, [vocabulary, width(&dy)], out))
    }

    fn class_loss(z: CubeTensor<R>, labels: [CubeTensor<R>; 2], floor: f64, share: f64) -> Result<[CubeTensor<R>; 2], Error> {
        let (z, [labels, weights]) = (buffer(z), labels.map(buffer));
        let [loss, gradient] = gpu(&z).class_loss(rows(&z), &labels.handle, &weights.handle, floor, share)?;
        Ok([of_buffer(&z, [1], loss), of_buffer(&z, z.shape(), gradient)])
    }

    fn outcome(loss: CubeTensor<R>, gradients: &[CubeTensor<R>], most: f64) -> Result<(Seen, Factor<Self>), Error> {
        let loss = buffer(loss);
        let gradients: Vec<CubeTensor<R>> = gradients.iter().cloned().map(buffer).collect();
        let of: Vec<_> = gradients.iter().map(|gradient| (&gradient.handle, gradient.shape().num_elements())).collect();
        let gpu = gpu(&loss);
        let limit = gpu.limit(&loss.handle, &of, most);
        let on_its_way = gpu.later(&limit);
        let seen = move || {
            let seen = on_its_way()?;
            Ok([1, 2].map(|i| seen.get(i).copied().map_or(f64::NAN, f64::from)))
        };
        Ok((Seen::Later(Box::new(seen)), Factor::OnDevice(of_buffer(&loss, [3], limit))))
    }

    fn update(adam: Adam, factor: &Factor<Self>, old: Vec<(Updated<Self>, CubeTensor<R>)>) -> Result<Vec<Updated<Self>>, Error> {
        let old: Vec<[CubeTensor<R>; 4]> = old.into_iter().map(|([w, m, v], g)| [w, m, v, g].map(buffer)).collect();
        let Some(like) = old.first().map(|tensors| tensors[0].clone()) else { return Ok(Vec::new()) };
        let [b1, b2] = Adam::BETA;
        let corrected = |beta: f64| 1.0 / (1.0 - beta.powi(i32::try_from(adam.step).unwrap_or(i32::MAX)));
        let with = AdamConstants {
            beta: [b1, b2],
            rate: adam.rate * corrected(b1),
            correction: corrected(b2),
            keep: 1.0 - adam.rate * adam.decay,
            epsilon: Adam::EPSILON,
        };
        let handles: Vec<_> =
            old.iter().map(|all| (all.each_ref().map(|tensor| &tensor.handle), all[0].shape().num_elements())).collect();
        let gpu = gpu(&like);
        let limit = match factor {
            Factor::Number(factor) => gpu.put(&[*factor as f32]),
            Factor::OnDevice(limit) => limit.handle.clone(),
        };
        let new = gpu.adam(with, &limit, &handles)?;
        let tensors = |(new, old): ([Handle; 3], &[CubeTensor<R>; 4])| new.map(|handle| of_buffer(&like, old[0].shape(), handle));
        Ok(new.into_iter().zip(&old).map(tensors).collect())
    }
}

fn sizes<R: CubeRuntime>(x: &CubeTensor<R>) -> [usize; 3] {
    [0, 1, 2].map(|axis| x.shape()[axis])
}

fn width<R: CubeRuntime>(x: &CubeTensor<R>) -> usize {
    x.shape().as_slice().last().copied().unwrap_or(1).max(1)
}

/// The rows of a tensor that is laid out as its shape says.
fn rows<R: CubeRuntime>(x: &CubeTensor<R>) -> RowsOf<'_> {
    RowsOf { numbers: &x.handle, rows: x.shape().num_elements() / width(x), width: width(x) }
}

fn matrix<R: CubeRuntime>(x: &CubeTensor<R>) -> Matrix<'_> {
    Matrix::new(&x.handle, x.shape()[0], x.shape()[1])
}

/// The shape with rows of another width.
fn with_width<R: CubeRuntime>(x: &CubeTensor<R>, width: usize) -> Shape {
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = width;
    }
    Shape::from(shape)
}

fn named(function: Function) -> Activation {
    match function {
        Function::Glu => Activation::Glu,
        Function::Each(pointwise) => activation(pointwise),
    }
}
