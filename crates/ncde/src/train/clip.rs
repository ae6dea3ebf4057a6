//! The norm of a gradient over all weights, and its limit: `g <- g min(1, c / |g|)`.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{ElementConversion, Tensor};

/// The Euclidean norm over all weights.
pub(super) fn norm<B: AutodiffBackend, M: Module<B>>(module: &M, gradients: &GradientsParams) -> f64 {
    let mut norm = Norm { gradients, squares: 0.0 };
    module.visit(&mut norm);
    norm.squares.sqrt()
}

/// Multiplies every gradient with a factor.
pub(super) fn scale<B: AutodiffBackend, M: Module<B>>(module: &M, gradients: &mut GradientsParams, factor: f64) {
    module.visit(&mut Scale { gradients, factor });
}

struct Norm<'a> {
    gradients: &'a GradientsParams,
    squares: f64,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.get::<B::InnerBackend, D>(param.id) {
            self.squares += gradient.square().sum().into_scalar().elem::<f64>();
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f64,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.remove::<B::InnerBackend, D>(param.id) {
            self.gradients.register::<B::InnerBackend, D>(param.id, gradient * self.factor);
        }
    }
}
