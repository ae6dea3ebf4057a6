//! Operations whose kernel takes slices on the host: one definition for all backends.
//!
//! A [`HostedKernel`] says what it makes of slices, and its reverse pass. Tensors of the CPU are slices. On a GPU a kernel may have a form for buffers; without one, or where a device has no room for it,
//! tensors go to the host and back, which `gpu::without_kernel` tells.

use std::fmt::Debug;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_flex::{Flex, FlexTensor};
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use burn_tensor::{Element, Tensor};
use bytemuck::Pod;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, NoKernel};
use ncde_kernels::Float;

pub use crate::operation::Error;
use crate::operation::{Gradients, differentiable, dispatch, primitive, public, slice, tensor};

/// What comes out of a kernel: numbers, their shape, and what the reverse pass needs beside the inputs.
pub type Made<T> = (Vec<T>, Vec<usize>, Vec<T>);

/// A kernel on `N` arrays.
pub trait HostedKernel<const N: usize>: Debug + Clone + Send + Sync + 'static {
    /// What users call it.
    const NAME: &'static str;
    /// What messages call its arrays.
    const INPUTS: [&'static str; N];
    /// Whether the output is what the reverse pass needs: then it is not stored twice.
    const STORES_OUTPUT: bool = false;

    /// The output.
    ///
    /// # Errors
    /// If the kernel refuses its input.
    fn forward<T: Float>(&self, inputs: [&[T]; N]) -> Result<Made<T>, ncde_kernels::Error>;

    /// The gradient in each array, from what [`forward`](Self::forward) stored and the gradient in the output.
    ///
    /// # Errors
    /// If a gradient overflows.
    fn backward<T: Float>(&self, inputs: [&[T]; N], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; N], ncde_kernels::Error>;

    /// The same kernel on buffers of `f32`, and the number of series and steps; none where a device has no kernel for these sizes.
    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, _: &Gpu<R>) -> Option<(impl DeviceKernel<N>, [usize; 2])> {
        None::<(NoKernel, _)>
    }
}

/// A backend that kernels on slices can be run on.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait HostedOps: Backend {
    /// Whether its tensors are slices on the host.
    const ON_HOST: bool;

    /// The output, and what the reverse pass needs.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn hosted<K: HostedKernel<N>, const N: usize>(
        kernel: K,
        inputs: [FloatTensor<Self>; N],
    ) -> Result<(FloatTensor<Self>, Vec<FloatTensor<Self>>), Error>;

    /// The gradients in all inputs.
    ///
    /// # Errors
    /// Also on a backend that differentiates: the reverse pass is not itself differentiable.
    fn hosted_backward<K: HostedKernel<N>, const N: usize>(
        kernel: K,
        inputs: [FloatTensor<Self>; N],
        stored: Vec<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, N>, Error> {
        Err(Error::SecondOrder)
    }
}

/// What a kernel makes of tensors given as rows of numbers.
///
/// # Errors
/// If the kernel refuses its input, types differ, or there is no kernel for the type.
pub fn hosted<B: HostedOps, K: HostedKernel<N>, const N: usize, const D: usize>(
    kernel: K,
    inputs: [Tensor<B, 1>; N],
) -> Result<Tensor<B, D>, Error> {
    B::hosted(kernel, inputs.map(primitive)).map(|(output, _)| public(output))
}

impl HostedOps for Flex {
    const ON_HOST: bool = true;

    fn hosted<K: HostedKernel<N>, const N: usize>(
        kernel: K,
        inputs: [FlexTensor; N],
    ) -> Result<(FlexTensor, Vec<FlexTensor>), Error> {
        let inputs = inputs.map(|x| x.to_contiguous());
        dispatch!(inputs[0], forward::<_, K, N>(&kernel, &inputs))
    }

    fn hosted_backward<K: HostedKernel<N>, const N: usize>(
        kernel: K,
        inputs: [FlexTensor; N],
        stored: Vec<FlexTensor>,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, N>, Error> {
        let inputs = inputs.map(|x| x.to_contiguous());
        let stored = stored.first().ok_or(Error::SecondOrder)?;
        dispatch!(inputs[0], backward::<_, K, N>(&kernel, &inputs, stored, &gradient.to_contiguous()))
    }
}

fn forward<T: Float + Element + Pod, K: HostedKernel<N>, const N: usize>(
    kernel: &K,
    inputs: &[FlexTensor; N],
) -> Result<(FlexTensor, Vec<FlexTensor>), Error> {
    let (output, shape, stored) = kernel.forward::<T>(slices::<T, K, N>(inputs)?)?;
    let (count, output) = (stored.len(), tensor(output, shape));
    let stored = if K::STORES_OUTPUT { output.clone() } else { tensor(stored, [count]) };
    Ok((output, vec![stored]))
}

fn backward<T: Float + Element + Pod, K: HostedKernel<N>, const N: usize>(
    kernel: &K,
    inputs: &[FlexTensor; N],
    stored: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, N>, Error> {
    let (stored, gradient) = (slice("what is stored", stored)?, slice("the gradient", gradient)?);
    let gradients = kernel.backward::<T>(slices::<T, K, N>(inputs)?, stored, gradient)?;
    Ok(gradients.map(|of| {
        let count = of.len();
        Some(tensor(of, [count]))
    }))
}

fn slices<T: Float + Element + Pod, K: HostedKernel<N>, const N: usize>(inputs: &[FlexTensor; N]) -> Result<[&[T]; N], Error> {
    let mut all: [&[T]; N] = [&[]; N];
    for ((all, input), name) in all.iter_mut().zip(inputs).zip(K::INPUTS) {
        *all = slice(name, input)?;
    }
    Ok(all)
}

impl<B: HostedOps, C: CheckpointStrategy> HostedOps for Autodiff<B, C> {
    const ON_HOST: bool = B::ON_HOST;

    fn hosted<K: HostedKernel<N>, const N: usize>(
        kernel: K,
        inputs: [FloatTensor<Self>; N],
    ) -> Result<(FloatTensor<Self>, Vec<FloatTensor<Self>>), Error> {
        let output = differentiable::<_, C, _, N>(inputs, |inputs, _| {
            let (output, stored) = B::hosted(kernel.clone(), inputs.clone())?;
            Ok((output, move |gradient, _| B::hosted_backward(kernel, inputs, stored, gradient)))
        })?;
        Ok((output, Vec::new()))
    }
}

#[cfg(feature = "gpu")]
mod on_gpu {
    use burn_cubecl::tensor::CubeTensor;
    use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
    use burn_tensor::TensorMetadata;
    use ncde_gpu::DeviceKernel;

    use super::{Error, Flex, Gradients, HostedKernel, HostedOps};
    use crate::gpu::{OnGpu, buffer, from_host, gpu, gradients_from_host, of_buffer, on_host};

    impl<R: CubeRuntime, I: IntElement, B: BoolElement> HostedOps for OnGpu<R, I, B> {
        const ON_HOST: bool = false;

        fn hosted<K: HostedKernel<N>, const N: usize>(
            kernel: K,
            inputs: [CubeTensor<R>; N],
        ) -> Result<(CubeTensor<R>, Vec<CubeTensor<R>>), Error> {
            let (like, gpu) = (inputs[0].clone(), gpu(&inputs[0]));
            if let Some((device, shape)) = kernel.on_device(&gpu) {
                let inputs = inputs.map(buffer);
                let (output, stored) = device.forward(&gpu, shape, inputs.each_ref().map(|input| &input.handle))?;
                let stored = stored.into_iter().map(|stored| {
                    let numbers = stored.size_in_used() as usize / size_of::<f32>();
                    of_buffer(&like, [numbers], stored)
                });
                return Ok((of_buffer(&like, [shape[0], shape[1], device.width()], output), stored.collect()));
            }
            let (output, stored) = Flex::hosted(kernel, inputs.map(on_host))?;
            let on_device = |tensor| from_host(K::NAME, &like.device, Ok(tensor));
            Ok((on_device(output)?, stored.into_iter().map(on_device).collect::<Result<_, _>>()?))
        }

        fn hosted_backward<K: HostedKernel<N>, const N: usize>(
            kernel: K,
            inputs: [CubeTensor<R>; N],
            stored: Vec<CubeTensor<R>>,
            gradient: CubeTensor<R>,
        ) -> Result<Gradients<Self, N>, Error> {
            let (like, gpu) = (inputs[0].clone(), gpu(&inputs[0]));
            if let Some((device, shape)) = kernel.on_device(&gpu) {
                let (inputs, gradient) = (inputs.map(buffer), buffer(gradient).handle);
                let stored: Vec<_> = stored.into_iter().map(|stored| stored.handle).collect();
                let handles = inputs.each_ref().map(|input| &input.handle);
                let mut shapes = inputs.iter().map(TensorMetadata::shape);
                let gradients = device.backward(&gpu, shape, handles, &stored, &gradient)?;
                return Ok(gradients.map(|of| shapes.next().map(|shape| of_buffer(&like, shape, of))));
            }
            let stored = stored.into_iter().map(on_host).collect();
            let gradients = Flex::hosted_backward(kernel, inputs.map(on_host), stored, on_host(gradient));
            gradients_from_host(&like.device, gradients)
        }
    }
}
