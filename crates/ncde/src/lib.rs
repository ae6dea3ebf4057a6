//! Neural controlled differential equations on [Burn](https://burn.dev) tensors.
//!
//! So far: [`signature`], the signature and log-signature of a batch of paths as a differentiable operation. It is the pattern
//! of every operation with a kernel of its own:
//!
//! | file | what it is |
//! | --- | --- |
//! | `signature/mod.rs` | the public function on tensors, its shapes and its errors |
//! | `signature/ops.rs` | the trait a backend implements: forward and reverse pass on its own tensors |
//! | `signature/flex.rs` | the CPU backend: zero-copy slices into the kernel |
//! | `signature/autodiff.rs` | any backend under `Autodiff`: registers the hand-written reverse pass |

pub mod linear;
pub mod model;
pub mod random;
pub mod signature;
mod slices;
