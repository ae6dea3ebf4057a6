//! The instruction set is chosen when the program runs, so that a plain build is fast on any machine.
//!
//! A [`Kernel`] is compiled once per instruction set; inside it, a token `S` names the registers and [`Vector`] the few
//! operations we need on them, the same for `f32` and `f64`.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use pulp::WithSimd;

use crate::Float;

/// An instruction set, as a type.
pub use pulp::{Scalar, Simd};

/// A computation compiled once per instruction set. `run` must be `#[inline(always)]`, and so must all it calls.
pub trait Kernel {
    /// The result.
    type Output;
    /// The computation, with the registers that `simd` names.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

struct Compiled<K>(K);

impl<K: Kernel> WithSimd for Compiled<K> {
    type Output = K::Output;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> K::Output {
        self.0.run(simd)
    }
}

/// The instruction sets that [`dispatch`] chooses from, the plainest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// Those that every processor of the architecture has.
    Plain,
    /// Registers of 32 bytes, multiply-adds.
    Avx2,
    /// Registers of 64 bytes, twice as many.
    Avx512,
}

/// The widest instructions that [`dispatch`] may choose.
static WIDEST: AtomicU8 = AtomicU8::new(Instructions::Avx512 as u8);

/// Runs `kernel` with the widest instructions this machine has.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    choose::<K, true>(kernel)
}

/// As [`dispatch`], for a kernel over numbers of type `T`. Kernels for `f64` use AVX2 at most: training and prediction are in `f32`, and one
/// instruction set less saves compile time.
#[inline]
pub fn dispatch_for<T: Float, K: Kernel>(kernel: K) -> K::Output {
    if const { size_of::<T>() == size_of::<f32>() } { choose::<K, true>(kernel) } else { choose::<K, false>(kernel) }
}

/// Not inlined: with plain instructions the compiler would otherwise copy the whole kernel into every caller.
#[inline(never)]
fn choose<K: Kernel, const AVX512: bool>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let widest = WIDEST.load(Ordering::Relaxed);
        #[cfg(feature = "avx512")]
        if AVX512
            && widest >= Instructions::Avx512 as u8
            && let Some(simd) = pulp::x86::V4::try_new()
        {
            return call(simd, kernel);
        }
        if widest >= Instructions::Avx2 as u8
            && let Some(simd) = pulp::x86::V3::try_new()
        {
            return call(simd, kernel);
        }
        call(Scalar, kernel)
    }
    #[cfg(not(target_arch = "x86_64"))]
    pulp::Arch::new().dispatch(Compiled(kernel))
}

/// Runs `f` with [`dispatch`] held to each instruction set that this machine has, the plainest first. For tests of whole entry points:
/// the choice holds for all threads of the process.
pub fn with_each<T>(mut f: impl FnMut(Instructions) -> T) -> Vec<T> {
    static ALONE: Mutex<()> = Mutex::new(());
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            WIDEST.store(Instructions::Avx512 as u8, Ordering::Relaxed);
        }
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _restore = Restore;
    let sets = [Instructions::Plain, Instructions::Avx2, Instructions::Avx512];
    let has = |set: Instructions| {
        WIDEST.store(set as u8, Ordering::Relaxed);
        dispatch(Chosen) == set
    };
    sets.into_iter().filter(|&set| has(set)).map(&mut f).collect()
}

/// The instruction set, of those on x86-64, that a kernel runs with.
struct Chosen;

impl Kernel for Chosen {
    type Output = Instructions;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Instructions {
        match S::F32_LANES {
            16 => Instructions::Avx512,
            8 => Instructions::Avx2,
            _ => Instructions::Plain,
        }
    }
}

/// Runs `kernel` with the caller's instructions, but as a function of its own: inlining everything everywhere takes minutes to
/// compile.
#[inline(always)]
pub fn call<S: Simd, K: Kernel>(simd: S, kernel: K) -> K::Output {
    simd.vectorize(Compiled(kernel))
}

/// As [`call`], for a closure. It must be `#[inline(always)]`: any other is not compiled for those instructions.
#[inline(always)]
pub fn outlined<S: Simd, T>(simd: S, body: impl FnOnce() -> T) -> T {
    simd.vectorize(body)
}

/// A real number and the register that holds several of it.
pub trait Vector: Copy + 'static {
    /// The register.
    type V<S: Simd>: Copy;
    /// Whole registers first, what does not fill one after.
    fn split<S: Simd>(x: &[Self]) -> (&[Self::V<S>], &[Self])
    where
        Self: Sized;
    /// As [`split`](Self::split).
    fn split_mut<S: Simd>(x: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self])
    where
        Self: Sized;
    /// `x` in all lanes.
    fn broadcast<S: Simd>(simd: S, x: Self) -> Self::V<S>;
    /// `a b + c`, rounded once where the machine can.
    fn multiply_add<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S>;
    /// `a + b`.
    fn plus<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// `a b`.
    fn times<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// Less than a register; the rest is zero.
    fn load<S: Simd>(simd: S, x: &[Self]) -> Self::V<S>
    where
        Self: Sized;
    /// Less than a register.
    fn store<S: Simd>(simd: S, x: &mut [Self], v: Self::V<S>)
    where
        Self: Sized;
    /// The sum over all places.
    fn total<S: Simd>(simd: S, v: Self::V<S>) -> Self;
}

macro_rules! vector {
    ($t:ident, $v:ident, $split:ident, $split_mut:ident, $broadcast:ident, $fma:ident, $add:ident, $mul:ident, $load:ident, $store:ident, $sum:ident) => {
        impl Vector for $t {
            type V<S: Simd> = S::$v;
            #[inline(always)]
            fn split<S: Simd>(x: &[Self]) -> (&[S::$v], &[Self]) {
                S::$split(x)
            }
            #[inline(always)]
            fn split_mut<S: Simd>(x: &mut [Self]) -> (&mut [S::$v], &mut [Self]) {
                S::$split_mut(x)
            }
            #[inline(always)]
            fn broadcast<S: Simd>(simd: S, x: Self) -> S::$v {
                simd.$broadcast(x)
            }
            #[inline(always)]
            fn multiply_add<S: Simd>(simd: S, a: S::$v, b: S::$v, c: S::$v) -> S::$v {
                simd.$fma(a, b, c)
            }
            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn times<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn load<S: Simd>(simd: S, x: &[Self]) -> S::$v {
                simd.$load(x)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, x: &mut [Self], v: S::$v) {
                simd.$store(x, v);
            }
            #[inline(always)]
            fn total<S: Simd>(simd: S, v: S::$v) -> Self {
                simd.$sum(v)
            }
        }
    };
}

vector!(
    f32,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    mul_f32s,
    partial_load_f32s,
    partial_store_f32s,
    reduce_sum_f32s
);
vector!(
    f64,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    mul_f64s,
    partial_load_f64s,
    partial_store_f64s,
    reduce_sum_f64s
);

/// Runs a kernel with every instruction set this machine has, the plainest first, see [`with_each`].
pub fn everywhere<K: Kernel>(kernel: impl Fn() -> K) -> Vec<K::Output> {
    with_each(|_| dispatch(kernel()))
}
