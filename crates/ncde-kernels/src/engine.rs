//! The border between callers and kernels: everything generic over the number type is compiled here, once for `f32` and once
//! for `f64`, and not again in every crate that calls it. (Kernels are inlined whole, per instruction set: that takes a while.)

use crate::Error;
use crate::linear::{self, Gradients, Input, Recurrence, Stream};

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
    fn forward(recurrence: &Recurrence, input: &Input<'_, Self>) -> Result<Vec<Self>, Error> = linear::forward;
    fn backward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &[Self], gradient: &[Self]) -> Result<Gradients<Self>, Error>
        = linear::backward;
    fn push(stream: &mut Stream<Self>, state: &mut [Self], lambda: &[Self], beta: Option<&[Self]>) = linear::push;
}
