//! The numbers that kernels compute with: reals ([`Float`]), one number for each of several lanes ([`Lanes`]), aligned memory ([`Buffer`]),
//! and the instruction set, chosen when the program runs ([`dispatch`]). A plain build is fast on any machine, and nothing here is unsafe.
//!
//! A kernel is a struct of its arguments that implements [`Kernel`]; `run` is compiled once for each instruction set. [`kernel!`] writes that struct for a
//! function.
//!
//! ```
//! use ncde_simd::{Kernel, Number, Simd, dispatch};
//! struct Dot<'a>(&'a [f32], &'a [f32]);
//! impl Kernel for Dot<'_> {
//!     type Output = f32;
//!     #[inline(always)]
//!     fn run<S: Simd>(self, simd: S) -> f32 {
//!         f32::dot(simd, self.0, self.1)
//!     }
//! }
//! assert_eq!(dispatch(Dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0])), 32.0);
//! ```

mod buffer;
mod engine;
mod float;
mod kernel;
mod number;
mod simd;

pub use buffer::{Buffer, CACHE_LINE};
pub use float::Float;
pub use number::{Lanes, Number, Term};
pub use simd::{Instructions, Kernel, Scalar, Simd, Vector, call, dispatch, dispatch_for, everywhere, outlined, with_each};
