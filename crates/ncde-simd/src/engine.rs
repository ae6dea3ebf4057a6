//! The border between callers and kernels: everything generic over the number type is compiled once for `f32` and once for `f64`, in the
//! crate of the kernels, and not again in every crate that calls it. (Kernels are inlined whole, per instruction set: that takes a while.)

/// Makes a trait `Engine`, implemented for `f32` and `f64`, of functions `fn name(arg: Type) -> Result = path::of::the_kernel;`, in
/// which `Self` is the number type. A crate's public `Float` has it as a supertrait.
#[macro_export]
macro_rules! engine {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        /// What [`Float`](crate::Float) can have computed.
        #[doc(hidden)]
        pub trait Engine: $crate::Float {
            $($(#[$doc])* fn $name($($arg: $type),*) $(-> $result)?;)*
        }
        $crate::engine!(@impl f32; $(fn $name($($arg: $type),*) $(-> $result)? = $kernel;)*);
        $crate::engine!(@impl f64; $(fn $name($($arg: $type),*) $(-> $result)? = $kernel;)*);
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
