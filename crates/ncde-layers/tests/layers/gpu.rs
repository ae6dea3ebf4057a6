//! Every composition of layers on a device: its outputs and the gradients of its weights are those of the processor in f64.

#[cfg(feature = "cuda")]
type OnDevice = ncde_layers::gpu::Cuda;
#[cfg(not(feature = "cuda"))]
type OnDevice = ncde_layers::gpu::Wgpu;

#[test]
fn the_device_gives_what_the_processor_gives() {
    crate::precision::check::<OnDevice>(1e-4);
}
