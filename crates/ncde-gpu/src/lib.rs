//! The structured linear recurrence, the permutation-diagonal one, matrix-valued states, selective scans, oscillators, recurrent cells, whole neural-CDE solves, signatures, and the dense parts of layers, on GPUs.
//!
//! ```text
//! h_{t+1} = Phi_t h_t + b_t,   Phi_t = exp(Omega_t) or I + Omega_t,   Omega_t = sum_k lambda_{t,k} A^k
//! ```
//!
//! The same equation as `ncde-kernels`, on CubeCL buffers in `f32`. Series are cut into chunks of time that are worked on at once: the product of
//! the flows of every chunk (`products`), the state at the beginning of each (`carry`), then all states (`replay`). The reverse pass
//! does the same from the end. Generators are formed by a matrix product, a slab of steps at a time, so that memory is bounded; only states
//! are stored between the passes. Structures that are not closed under products go through time step by step (`action`), and so do neural CDEs (`neural`).
//!
//! How work is cut is a pure function of shapes and limits ([`Plan`]) and is tested without a GPU. The features `cuda` and `wgpu` choose
//! where kernels run; without them this crate holds the plan alone.

mod error;
mod flow;
mod plan;

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod action;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod brackets;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod call;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod commutators;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device_kernel;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod filters;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod forward;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod guard;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod kernel;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod kernel_cache;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod matrix_state;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod neural;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod oscillator;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod outer;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod permutation;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod product;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod recurrence;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod recurrent;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod reverse;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod rounding;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod rows;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod scan;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod selective;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod signature;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod sizes;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod update;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod work;

pub use error::Error;
pub use flow::{Affine, Flow};
pub use plan::{Limits, Owner, Plan, Run, Shapes};

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use brackets::{Brackets, Element};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use commutators::Commutators;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use device::Gpu;
#[cfg(feature = "cuda")]
pub use device::cuda;
#[cfg(feature = "wgpu")]
pub use device::wgpu;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use device_kernel::{DeviceKernel, NoKernel};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use guard::guarded;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use kernel::rows::activation::Activation;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use product::Matrix;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use recurrence::{Arrays, Gradients, Recurrence};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use rounding::Rounding;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use rows::RowsOf;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use update::AdamConstants;
