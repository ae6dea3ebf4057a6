//! The border between callers and kernels: everything generic over the number type is compiled here, once for `f32` and once
//! for `f64`, and not again in every crate that calls it. (Kernels are inlined whole, per instruction set: that takes a while.)

use crate::Error;
use crate::algebra::series::Function;
use crate::algebra::{Shape, Tensor, tensor};
use crate::signature::convert;
use crate::signature::tools::{self, Tools};
use crate::signature::{Interval, Paths, Signature};

macro_rules! engine {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        /// What [`Float`](crate::Float) can have computed.
        #[doc(hidden)]
        pub trait Engine: Sized {
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
    fn intervals(signature: &Signature, paths: &Paths<'_, Self>, intervals: &[Interval]) -> Result<Vec<Self>, Error>
        = Signature::intervals_of;
    fn intervals_backward(signature: &Signature, paths: &Paths<'_, Self>, intervals: &[Interval], gradient: &[Self]) -> Result<Vec<Self>, Error>
        = Signature::intervals_backward_of;
    fn stream(signature: &Signature, paths: &Paths<'_, Self>) -> Result<Vec<Self>, Error> = Signature::stream_of;
    fn stream_backward(signature: &Signature, paths: &Paths<'_, Self>, gradient: &[Self]) -> Result<Vec<Self>, Error>
        = Signature::stream_backward_of;
    fn log(signature: &Signature, signatures: &[Self], out: &mut [Self]) = convert::log;
    fn log_backward(signature: &Signature, signatures: &[Self], gradient: &[Self], out: &mut [Self]) = convert::log_backward;
    fn exp(signature: &Signature, lie: &[Self], out: &mut [Self]) = convert::exp;
    fn exp_backward(signature: &Signature, lie: &[Self], gradient: &[Self], out: &mut [Self]) = convert::exp_backward;
    fn join(signature: &Signature, a: &[Self], b: &[Self], out: &mut [Self]) = convert::join;
    fn join_backward(signature: &Signature, a: &[Self], b: &[Self], gradient: &[Self], da: &mut [Self], db: &mut [Self])
        = convert::join_backward;
    fn step(tools: &mut Tools<Self>, signature: &Signature, state: &mut [Self], x: &[Self]) = tools::step;
    fn read(tools: &mut Tools<Self>, signature: &Signature, state: &[Self]) -> Vec<Self> = tools::read;
    fn product(a: &Tensor<Self>, b: &Tensor<Self>, out: &mut [Self]) = tensor::product;
    fn series(shape: &Shape, series: Function, s: &[Self], stages: &mut [Self], out: &mut [Self]) = tensor::series;
}
