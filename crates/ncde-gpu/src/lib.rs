//! The structured linear recurrence on GPUs.
//!
//! ```text
//! h_{t+1} = Phi_t h_t + b_t,   Phi_t = exp(Omega_t) or I + Omega_t,   Omega_t = sum_k lambda_{t,k} A^k
//! ```
//!
//! The same equation as `ncde-kernels`, on CubeCL buffers in `f32`. Series are cut into chunks of time that are worked on at once: the product of
//! the flows of every chunk (`products`), the state at the beginning of each (`carry`), then all states (`replay`). The reverse pass
//! does the same from the end. Generators are formed by a matrix product, a slab of steps at a time, so that memory is bounded; what is
//! kept between the passes are states alone.
//!
//! How work is cut is a pure function of shapes and limits ([`Plan`]) and is tested without a GPU. The features `cuda` and `wgpu` choose
//! where kernels run; without them this crate holds the plan alone.

mod plan;

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod carry;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod few;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod generators;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod recurrence;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod sizes;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod small;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod step;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod wide;

pub use plan::{Limits, Plan, Run, Shapes};

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use recurrence::{Arrays, Gpu, Gradients};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use step::{Affine, Flow};
