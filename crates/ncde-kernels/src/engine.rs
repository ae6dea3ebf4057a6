//! The border between callers and kernels: everything generic over the number type is compiled here, once for `f32` and once
//! for `f64`, and not again in every crate that calls it. (Kernels are inlined whole, per instruction set: that takes a while.)

use crate::expm;
use crate::linear::{self, Gradients, Input, Recurrence, Stream};
use crate::scan::{self, Scan};

macro_rules! engine {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        /// What [`Float`](crate::Float) can have computed.
        #[doc(hidden)]
        pub trait Engine: ncde_simd::Float {
            $($(#[$doc])* fn $name($($arg: $type),*) $(-> $result)?;)*
        }
        engine!(@impl f32; $(fn $name($($arg: $type),*) $(-> $result)? = $kernel;)*);
        engine!(@impl f64; $(fn $name($($arg: $type),*) $(-> $result)? = $kernel;)*);
    };
    (@impl $t:ident; $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        impl Engine for $t {
            $(
                #[inline(never)]
                fn $name($($arg: $type),*) $(-> $result)? {
                    $kernel($($arg),*)
                }
            )*
        }
    };
}

engine! {
    fn forward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &mut [Self]) -> bool = linear::forward;
    fn backward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &[Self], gradient: &[Self], gradients: &mut Gradients<Self>)
        = linear::backward;
    fn push(stream: &mut Stream<Self>, state: &mut [Self], lambda: &[Self], beta: Option<&[Self]>) = linear::push;
    fn matrix_exp(n: usize, x: &[Self]) -> Vec<Self> = expm::exp_unchecked;
    fn matrix_exp_derivative(n: usize, x: &[Self], e: &[Self]) -> Vec<Self> = expm::derivative_unchecked;
    fn scan_forward(scan: &Scan, input: &scan::Input<'_, Self>) -> Vec<Self> = scan::forward;
    fn scan_backward(scan: &Scan, input: &scan::Input<'_, Self>, states: &[Self], gradient: &[Self]) -> scan::Gradients<Self>
        = scan::backward;
}
