//! GPUs: the formulas in Burn's own operations.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_tensor::activation::{relu, sigmoid};
use burn_tensor::{ElementConversion, Tensor, TensorData, TensorMetadata};
use ncde_kernels::neural::Activation as Pointwise;
use ncde_runtime::layer::{Function, NORM_EPSILON};

use super::{Adam, DenseOps, Error, NormGradients};
use crate::gpu::OnGpu;
use crate::operation::{primitive, public};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> DenseOps for OnGpu<R, I, B> {
    fn affine(x: CubeTensor<R>, weight: CubeTensor<R>, bias: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (x, weight, bias): (Tensor<Self, 2>, Tensor<Self, 2>, Tensor<Self, 1>) = (public(x), public(weight), public(bias));
        Ok(primitive(x.matmul(weight) + bias.unsqueeze::<2>()))
    }

    fn sum_rows(x: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let width = x.shape()[1];
        let x: Tensor<Self, 2> = public(x);
        Ok(primitive(x.sum_dim(0).reshape([width])))
    }

    fn activation(function: Function, x: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let x: Tensor<Self, 3> = public(x);
        Ok(primitive(match function {
            Function::Glu => {
                let [u, v] = halves(x);
                u * sigmoid(v)
            }
            Function::Each(Pointwise::Silu) => x.clone() * sigmoid(x),
            Function::Each(Pointwise::Relu) => relu(x),
            Function::Each(Pointwise::Tanh) => x.tanh(),
            Function::Each(Pointwise::Softplus) => softplus(x),
            Function::Each(Pointwise::ShiftedSoftplus) => softplus(x) - std::f64::consts::LN_2,
            Function::Each(Pointwise::Identity) => x,
        }))
    }

    fn activation_backward(function: Function, x: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let (x, dy): (Tensor<Self, 3>, Tensor<Self, 3>) = (public(x), public(gradient));
        Ok(primitive(match function {
            Function::Glu => {
                let [u, v] = halves(x);
                let s = sigmoid(v);
                let dv = dy.clone() * u * s.clone() * (1.0 - s.clone());
                Tensor::cat(vec![dy * s, dv], 2)
            }
            Function::Each(Pointwise::Silu) => {
                let s = sigmoid(x.clone());
                dy * s.clone() * (x * (1.0 - s) + 1.0)
            }
            Function::Each(Pointwise::Relu) => dy.mask_fill(x.lower_equal_elem(0.0), 0.0),
            Function::Each(Pointwise::Tanh) => {
                let y = x.tanh();
                dy * (1.0 - y.clone() * y)
            }
            Function::Each(Pointwise::Softplus | Pointwise::ShiftedSoftplus) => dy * sigmoid(x),
            Function::Each(Pointwise::Identity) => dy,
        }))
    }

    fn norm_rows(x: CubeTensor<R>, affine: Option<[CubeTensor<R>; 2]>) -> Result<CubeTensor<R>, Error> {
        let (z, _) = standardised::<Self>(public(x));
        Ok(primitive(match affine {
            Some([gain, offset]) => z * row::<Self>(gain) + row::<Self>(offset),
            None => z,
        }))
    }

    fn norm_rows_backward(
        x: CubeTensor<R>,
        gain: Option<CubeTensor<R>>,
        gradient: CubeTensor<R>,
    ) -> Result<NormGradients<Self>, Error> {
        let width = x.shape()[2];
        let (z, factor) = standardised::<Self>(public(x));
        let dy: Tensor<Self, 3> = public(gradient);
        let affine = gain.is_some().then(|| {
            let sum = |of: Tensor<Self, 3>| primitive(of.sum_dim(0).sum_dim(1).reshape([width]));
            [sum(dy.clone() * z.clone()), sum(dy.clone())]
        });
        let scaled = match gain {
            Some(gain) => dy * row::<Self>(gain),
            None => dy,
        };
        let mean = scaled.clone().mean_dim(2);
        let along = (scaled.clone() * z.clone()).mean_dim(2);
        Ok(NormGradients { x: primitive(factor * (scaled - mean - z * along)), affine })
    }

    fn scale_columns(x: CubeTensor<R>, shift: &[f64], factor: &[f64]) -> Result<CubeTensor<R>, Error> {
        let device = x.device.clone();
        let column = |of: &[f64]| {
            let values: Vec<f32> = of.iter().map(|&x| x as f32).collect();
            Tensor::<Self, 3>::from_data(TensorData::new(values, [1, 1, of.len()]), &device)
        };
        let x: Tensor<Self, 3> = public(x);
        Ok(primitive((x - column(shift)) * column(factor)))
    }

    fn sum_squares(x: &CubeTensor<R>) -> Result<f64, Error> {
        let x: Tensor<Self, 1> = public(x.clone());
        Ok((x.clone() * x).sum().into_scalar().elem())
    }

    fn update(adam: Adam, weight: [CubeTensor<R>; 3], gradient: CubeTensor<R>) -> Result<[CubeTensor<R>; 3], Error> {
        let [w, m, v]: [Tensor<Self, 1>; 3] = weight.map(public);
        let g: Tensor<Self, 1> = public::<Self, 1>(gradient) * adam.factor;
        let [b1, b2] = Adam::BETA;
        let corrected = |beta: f64| 1.0 / (1.0 - beta.powi(i32::try_from(adam.step).unwrap_or(i32::MAX)));
        let m = m * b1 + g.clone() * (1.0 - b1);
        let v = v * b2 + g.clone() * g * (1.0 - b2);
        let step = m.clone() * (adam.rate * corrected(b1)) / ((v.clone() * corrected(b2)).sqrt() + Adam::EPSILON);
        let w = w * (1.0 - adam.rate * adam.decay) - step;
        Ok([w, m, v].map(primitive))
    }
}

/// The first and the second half of every row.
fn halves<B: burn_tensor::backend::Backend>(x: Tensor<B, 3>) -> [Tensor<B, 3>; 2] {
    let half = x.dims()[2] / 2;
    [x.clone().narrow(2, 0, half), x.narrow(2, half, half)]
}

/// `log(1 + exp(x))` without overflow.
fn softplus<B: burn_tensor::backend::Backend>(x: Tensor<B, 3>) -> Tensor<B, 3> {
    relu(x.clone()) + (x.abs().neg().exp()).log1p()
}

/// Rows with mean 0 and variance 1, and what they were multiplied with.
fn standardised<B: burn_tensor::backend::Backend>(x: Tensor<B, 3>) -> (Tensor<B, 3>, Tensor<B, 3>) {
    let centred = x.clone() - x.mean_dim(2);
    let factor = ((centred.clone() * centred.clone()).mean_dim(2) + NORM_EPSILON).sqrt().recip();
    (centred * factor.clone(), factor)
}

/// Numbers of columns, for all rows.
fn row<B: burn_tensor::backend::Backend>(of: burn_tensor::ops::FloatTensor<B>) -> Tensor<B, 3> {
    let of: Tensor<B, 1> = public(of);
    of.unsqueeze::<3>()
}
