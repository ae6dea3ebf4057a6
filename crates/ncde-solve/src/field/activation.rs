//! Activations `s`: what a layer does to each of its outputs, on any numbers.

use ncde_kernels::neural::Activation;

use crate::scalar::Scalar;

/// `s(x)`.
pub fn activate<N: Scalar>(activation: Activation, x: N) -> N {
    match activation {
        Activation::Identity => x,
        Activation::Silu => x.silu(),
        Activation::Relu => x.relu(),
        Activation::Tanh => x.tanh(),
        Activation::Softplus => x.softplus(),
        Activation::ShiftedSoftplus => x.softplus() - N::of(std::f64::consts::LN_2),
    }
}
