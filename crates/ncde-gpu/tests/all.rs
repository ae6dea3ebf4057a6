//! Every test of this crate that needs a device, in one program.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

mod action;
mod device;
mod filters;
mod linear;
mod matrix_state;
mod memory;
mod neural;
mod oscillator;
mod permutation;
mod recurrent;
mod rows;
mod scan;
mod selective;
mod signature;
