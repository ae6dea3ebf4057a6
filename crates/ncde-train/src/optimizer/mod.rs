//! Optimizers: how weights follow their gradients.
//!
//! ```text
//! (theta, slots) <- rule(theta, g, slots, rate, decay, step),      g clipped to a norm over all weights
//! ```
//!
//! | optimizer | slots a weight | file |
//! | --- | --- | --- |
//! | `adam`, `adamw` | the means of gradients and of their squares | `adam` |
//! | `sgd` | the momentum | `sgd` |
//! | `lion` | the mean of gradients | `lion` |
//! | `muon` | the momentum of matrices; for other weights the two means of Adam | `muon` |
//!
//! A new optimizer is a file and a line in `optimizers!`. It declares its slots; checkpoints, going back after a step that diverged and weight decay groups follow from that. One from another crate
//! implements [`Optimizer`] and goes into [`Plan::optimizer`](crate::Plan).

mod adam;
mod lion;
mod muon;
mod sgd;

use std::fmt::Debug;
use std::sync::Arc;

use burn_flex::Flex;
use burn_tensor::{Tensor, TensorPrimitive};
use ncde_layers::dense::Factor;
use ncde_layers::layer::{Error, LayerBackend};
use serde::{Deserialize, Serialize};

pub use adam::Adam;
pub use lion::Lion;
pub use muon::Muon;
pub use sgd::Sgd;

/// When an update happens, and how large it is.
#[derive(Debug, Clone)]
pub struct Moment<B: LayerBackend> {
    /// The learning rate.
    pub rate: f64,
    /// The decay of the weights at hand, to be multiplied with the rate: 0 for gains and offsets.
    pub decay: f64,
    /// How many updates there were, this one included.
    pub step: usize,
    /// What gradients are multiplied with so that their norm keeps its limit.
    pub factor: Factor<B>,
}

/// A trained weight before an update.
#[derive(Debug, Clone)]
pub struct Parameter<B: LayerBackend> {
    /// Its shape; all tensors are flat.
    pub shape: Vec<usize>,
    /// Its values.
    pub weight: Tensor<B, 1>,
    /// Its gradient.
    pub gradient: Tensor<B, 1>,
    /// What the optimizer keeps for it, in the order of [`Optimizer::slots`]; 0 before the first update.
    pub slots: Vec<Tensor<B, 1>>,
}

/// A trained weight after an update.
#[derive(Debug, Clone)]
pub struct Updated<B: LayerBackend> {
    /// Its values.
    pub weight: Tensor<B, 1>,
    /// What the optimizer keeps for it.
    pub slots: Vec<Tensor<B, 1>>,
}

/// How weights follow their gradients.
pub trait Optimizer: Debug + Send + Sync + 'static {
    /// The names of what is kept for each trained weight, tensors of its size.
    fn slots(&self) -> &'static [&'static str];

    /// One update of weights that decay alike. [`one_by_one`] does it with tensor operations, weight by weight.
    ///
    /// # Errors
    /// If the backend refuses.
    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, Error>
    where
        Self: Sized;
}

/// Updates weight after weight with a rule, which is given the clipped gradient. On a device whose loss was not looked at yet nothing changes where it is not finite.
pub fn one_by_one<B: LayerBackend>(
    moment: &Moment<B>,
    parameters: Vec<Parameter<B>>,
    rule: impl Fn(Parameter<B>) -> Updated<B>,
) -> Vec<Updated<B>> {
    let update = |old: Parameter<B>| match &moment.factor {
        Factor::Number(factor) => rule(Parameter { gradient: old.gradient * *factor, ..old }),
        Factor::OnDevice(limit) => {
            let count = old.gradient.dims()[0];
            let limit: Tensor<B, 1> = Tensor::from_primitive(TensorPrimitive::Float(limit.clone()));
            let factor = limit.narrow(0, 0, 1).expand([count]);
            // Below 0 where the loss or the norm of the gradient is not finite.
            let refused = factor.clone().lower_elem(0.0);
            let (weight, slots) = (old.weight.clone(), old.slots.clone());
            let new = rule(Parameter { gradient: old.gradient * factor, ..old });
            let slots = new.slots.into_iter().zip(slots).map(|(new, old)| new.mask_where(refused.clone(), old)).collect();
            Updated { weight: new.weight.mask_where(refused.clone(), weight), slots }
        }
    };
    parameters.into_iter().map(update).collect()
}

/// A backend that models are trained on.
pub trait TrainBackend: LayerBackend {
    /// An update by an optimizer that is known at run time alone.
    ///
    /// # Errors
    /// If the backend refuses.
    fn update_with(
        optimizer: &dyn AnyOptimizer,
        moment: &Moment<Self>,
        parameters: Vec<Parameter<Self>>,
    ) -> Result<Vec<Updated<Self>>, Error>;
}

/// Declares the backends that models are trained on, each with its method of [`AnyOptimizer`]: a trait object has no generic methods.
macro_rules! backends {
    ($($(#[$meta:meta])* $method:ident: $backend:ty,)*) => {
        /// An [`Optimizer`] on the backends that models are trained on; every optimizer is one.
        pub trait AnyOptimizer: Debug + Send + Sync {
            /// The names of what is kept for each trained weight.
            fn slots(&self) -> &'static [&'static str];
            $(
                $(#[$meta])*
                ///
                /// # Errors
                /// If the device refuses.
                fn $method(
                    &self,
                    moment: &Moment<$backend>,
                    parameters: Vec<Parameter<$backend>>,
                ) -> Result<Vec<Updated<$backend>>, Error>;
            )*
        }

        impl<O: Optimizer> AnyOptimizer for O {
            fn slots(&self) -> &'static [&'static str] {
                Optimizer::slots(self)
            }
            $(
                $(#[$meta])*
                fn $method(
                    &self,
                    moment: &Moment<$backend>,
                    parameters: Vec<Parameter<$backend>>,
                ) -> Result<Vec<Updated<$backend>>, Error> {
                    self.update(moment, parameters)
                }
            )*
        }
        $(
            $(#[$meta])*
            impl TrainBackend for $backend {
                fn update_with(
                    optimizer: &dyn AnyOptimizer,
                    moment: &Moment<Self>,
                    parameters: Vec<Parameter<Self>>,
                ) -> Result<Vec<Updated<Self>>, Error> {
                    optimizer.$method(moment, parameters)
                }
            }
        )*
    };
}

backends! {
    /// An update on the processor.
    on_cpu: Flex,
    /// An update on an NVIDIA GPU.
    #[cfg(feature = "cuda")]
    on_cuda: ncde_layers::gpu::Cuda,
    /// An update on a GPU through Vulkan, Metal or Direct3D.
    #[cfg(feature = "wgpu")]
    on_wgpu: ncde_layers::gpu::Wgpu,
}

/// Declares the optimizers that a configuration can name: variant, what it is, the usual decay of weights (none if it has no decay), and its value.
macro_rules! optimizers {
    ($($(#[doc = $doc:literal])* $name:ident($decay:expr) => $value:expr,)*) => {
        /// The optimizers, as a configuration names them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum OptimizerName { $($(#[doc = $doc])* $name,)* }

        impl OptimizerName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The optimizer.
            pub fn optimizer(self) -> Arc<dyn AnyOptimizer> {
                match self { $(Self::$name => Arc::new($value),)* }
            }

            /// The decay of weights where none is asked for; none if the optimizer has no decay.
            pub fn usual_decay(self) -> Option<f64> {
                match self { $(Self::$name => $decay,)* }
            }
        }
    };
}

optimizers! {
    /// Adam.
    Adam(None) => Adam,
    /// Adam with decoupled weight decay.
    Adamw(Some(1.0)) => Adam,
    /// Stochastic gradient descent with momentum.
    Sgd(Some(0.0)) => Sgd::default(),
    /// Lion: the sign of a mean of gradients.
    Lion(Some(0.0)) => Lion::default(),
    /// Muon: orthogonalised momentum of matrices, Adam for the other weights.
    Muon(Some(0.0)) => Muon::default(),
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use burn_tensor::TensorData;

    use super::*;

    fn tensor(values: &[f32]) -> Tensor<Flex, 1> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), &Default::default())
    }

    fn numbers(tensor: &Tensor<Flex, 1>) -> Vec<f32> {
        tensor.to_data().to_vec().unwrap()
    }

    /// Every optimizer comes down a bowl, `|W - T|^2` of a matrix and a vector, and is the same clipped on the host and on a device.
    #[test]
    fn every_optimizer_finds_the_bottom() {
        let target = [1.0_f32, -2.0, 0.5, 3.0, 0.0, -1.0];
        for &name in OptimizerName::ALL {
            let optimizer = name.optimizer();
            for shape in [vec![3, 2], vec![6]] {
                let run = |on_device: bool| {
                    let mut weight = tensor(&[0.0; 6]);
                    let mut slots = vec![tensor(&[0.0; 6]); optimizer.slots().len()];
                    for step in 1..=400 {
                        let rate = 0.1 * (1.0 - step as f64 / 401.0);
                        let gradient = (weight.clone() - tensor(&target)) * 2.0;
                        let factor = if on_device {
                            Factor::OnDevice(tensor(&[0.5, 0.0, 0.0]).into_primitive().tensor())
                        } else {
                            Factor::Number(0.5)
                        };
                        let moment = Moment { rate, decay: 0.0, step, factor };
                        let parameter = Parameter { shape: shape.clone(), weight, gradient, slots };
                        let new = Flex::update_with(&*optimizer, &moment, vec![parameter]).unwrap().remove(0);
                        (weight, slots) = (new.weight, new.slots);
                    }
                    numbers(&weight)
                };
                let [host, device] = [run(false), run(true)];
                let off = host.iter().zip(&target).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(off < 0.1, "{name:?} {shape:?}: {host:?}");
                assert!(host.iter().zip(&device).all(|(a, b)| (a - b).abs() < 1e-5), "{name:?}: {host:?} {device:?}");
            }
        }
    }

    /// A device that has seen a loss that is not finite says so with a factor below 0: nothing changes.
    #[test]
    fn what_is_not_finite_changes_nothing() {
        for &name in OptimizerName::ALL {
            let optimizer = name.optimizer();
            let slots: Vec<_> = optimizer.slots().iter().map(|_| tensor(&[0.5, 0.25])).collect();
            let factor = Factor::OnDevice(tensor(&[-1.0, f32::NAN, f32::NAN]).into_primitive().tensor());
            // The processor never comes here with such a factor: the kernel of Adam trusts it.
            if matches!(name, OptimizerName::Adam | OptimizerName::Adamw) {
                continue;
            }
            let moment = Moment { rate: 0.1, decay: 0.1, step: 3, factor };
            let gradient = tensor(&[f32::NAN, 1.0]);
            let parameter = Parameter { shape: vec![2], weight: tensor(&[1.0, 2.0]), gradient, slots: slots.clone() };
            let new = Flex::update_with(&*optimizer, &moment, vec![parameter]).unwrap().remove(0);
            assert_eq!(numbers(&new.weight), [1.0, 2.0], "{name:?}");
            assert!(new.slots.iter().zip(&slots).all(|(a, b)| numbers(a) == numbers(b)), "{name:?}");
        }
    }
}
