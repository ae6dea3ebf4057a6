//! GPUs: permutation-diagonal recurrences are computed on the host.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;

use super::{ArrayGradients, Arrays, Error, PermutationDiagonal, PermutationOps};
use crate::gpu::{OnGpu, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> PermutationOps for OnGpu<R, I, B> {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let device = arrays.dictionary.device.clone();
        Ok(on_device(&Flex::permutation(spec, hosted(arrays))?, &device))
    }

    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let device = arrays.dictionary.device.clone();
        let of = Flex::permutation_backward(spec, hosted(arrays), on_host(states), on_host(gradient))?;
        Ok(ArrayGradients {
            dictionary: on_device(&of.dictionary, &device),
            control: on_device(&of.control, &device),
            initial: on_device(&of.initial, &device),
        })
    }
}

fn hosted<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: Arrays<OnGpu<R, I, B>>) -> Arrays<Flex> {
    Arrays {
        dictionary: on_host(arrays.dictionary),
        control: on_host(arrays.control),
        initial: on_host(arrays.initial),
        timing: arrays.timing,
    }
}
