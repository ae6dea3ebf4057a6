//! What a backend implements.

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_runtime::layer::Function;

use super::Error;

/// The gradients of a layer norm.
#[derive(Debug, Clone)]
pub struct NormGradients<B: Backend> {
    /// In the rows.
    pub x: FloatTensor<B>,
    /// In gain and offset, where there are some.
    pub affine: Option<[FloatTensor<B>; 2]>,
}

/// The constants of one update by Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// The decay of weights, times the rate.
    pub decay: f64,
    /// What the gradient is multiplied with first: below 1 where its norm is limited.
    pub factor: f64,
    /// How many updates there were, this one included.
    pub step: usize,
}

impl Adam {
    /// The decay of the mean of gradients, and of their squares.
    pub const BETA: [f64; 2] = [0.9, 0.999];
    /// What is added to the root of the mean square.
    pub const EPSILON: f64 = 1e-8;
}

/// A backend with kernels for dense layers on rows, `[..., width]`.
pub trait DenseOps: Backend {
    /// `x W + b` for rows `[rows, inputs]`.
    ///
    /// # Errors
    /// If the type has no kernel.
    fn affine(x: FloatTensor<Self>, weight: FloatTensor<Self>, bias: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The sum of rows, `[rows, width]` to `[width]`.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn sum_rows(x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// A function of every row.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn activation(function: Function, x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The gradient in `x`.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn activation_backward(
        function: Function,
        x: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error>;

    /// Every row with mean 0 and variance 1, then times a gain and moved by an offset.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn norm_rows(x: FloatTensor<Self>, affine: Option<[FloatTensor<Self>; 2]>) -> Result<FloatTensor<Self>, Error>;

    /// The gradients in `x`, gain and offset.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn norm_rows_backward(
        x: FloatTensor<Self>,
        gain: Option<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
    ) -> Result<NormGradients<Self>, Error>;

    /// `factor * (x - shift)`, column by column, for rows `[batch, places, width]`.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn scale_columns(x: FloatTensor<Self>, shift: &[f64], factor: &[f64]) -> Result<FloatTensor<Self>, Error>;

    /// The sum of squares of all numbers.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn sum_squares(x: &FloatTensor<Self>) -> Result<f64, Error>;

    /// One update of a weight by its gradient and the two means: weight and means after it.
    ///
    /// # Errors
    /// As for [`affine`](Self::affine).
    fn update(adam: Adam, weight: [FloatTensor<Self>; 3], gradient: FloatTensor<Self>) -> Result<[FloatTensor<Self>; 3], Error>;
}
