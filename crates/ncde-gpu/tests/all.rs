//! Every test of this crate that needs a device, in one program.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

mod action;
mod device;
mod linear;
mod memory;
mod neural;
mod permutation;
mod rows;
mod scan;
mod signature;
