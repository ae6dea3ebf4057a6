//! What the tests share.

/// The devices that were built in.
pub(crate) fn devices() -> Vec<ncde_train::Device> {
    #[cfg(feature = "wgpu")]
    return vec![ncde_train::Device::Cpu, ncde_train::Device::Wgpu];
    #[cfg(not(feature = "wgpu"))]
    vec![ncde_train::Device::Cpu]
}
