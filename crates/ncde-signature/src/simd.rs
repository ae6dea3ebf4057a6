//! The instruction set is chosen when the program runs, so that a plain build is fast on any machine.

use pulp::{Arch, Simd, WithSimd};

/// A computation compiled once per instruction set. `run` must be `#[inline(always)]`, and so must all it calls.
pub(crate) trait Kernel {
    type Output;
    /// `FUSED`: the machine multiplies and adds in one instruction.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

struct Compiled<K>(K);

impl<K: Kernel> WithSimd for Compiled<K> {
    type Output = K::Output;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> K::Output {
        if S::IS_SCALAR { self.0.run::<false>() } else { self.0.run::<true>() }
    }
}

/// Runs `kernel` with the widest instructions this machine has.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    Arch::new().dispatch(Compiled(kernel))
}
