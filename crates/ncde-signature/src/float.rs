//! The two number types everything is computed in.

use crate::engine::Engine;

/// `f32` or `f64`.
pub trait Float: ncde_simd::Float + Engine {}
impl Float for f32 {}
impl Float for f64 {}
