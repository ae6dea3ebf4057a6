//! Entry points of kernels, compiled once for `f32` and once for `f64` in the crate of the kernels, and not again in every crate that calls
//! them: kernels are inlined whole for each instruction set, which takes minutes to compile.
//!
//! A program that only predicts calls two or three kernels and should not compile the others. So a crate of kernels has a feature
//! `precompiled`, on by default. Without it only the entries marked `#[always(f32)]` (or `f64`) are compiled there, for that type alone;
//! the others are `#[inline]`: compiled in the crate that calls them. The results do not depend on the feature. Entries marked
//! `#[never]` are always compiled where they are called. A second feature `f64` does the same for the entries for `f64`.

/// Makes a trait `Engine`, implemented for `f32` and `f64`, of functions `fn name(arg: Type) -> Result = path::of::the_kernel;`, in
/// which `Self` is the number type. A crate's public `Float` has it as a supertrait.
///
/// `#[always(f32)]` in front of one: compiled here for `f32` even without the feature `precompiled`, which that crate must have, as it must
/// have the feature `f64`.
/// `#[never]`: not even with it.
#[macro_export]
macro_rules! engine {
    ($($(#[$when:ident $(($always:ident))?])? fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        /// The kernels for a [`Float`](crate::Float).
        #[doc(hidden)]
        pub trait Engine: $crate::Float {
            $(fn $name($($arg: $type),*) $(-> $result)?;)*
        }
        impl Engine for f32 {
            $($crate::engine!(@entry f32 $($when $($always)?)?; fn $name($($arg: $type),*) $(-> $result)? = $kernel);)*
        }
        impl Engine for f64 {
            $($crate::engine!(@entry f64 $($when $($always)?)?; fn $name($($arg: $type),*) $(-> $result)? = $kernel);)*
        }
    };
    (@entry f32 always f32; $($entry:tt)*) => { $crate::engine!(@compiled inline(never); $($entry)*); };
    (@entry f64 always f64; $($entry:tt)*) => { $crate::engine!(@compiled inline(never); $($entry)*); };
    (@entry $t:ident never; $($entry:tt)*) => { $crate::engine!(@compiled inline; $($entry)*); };
    (@entry f32 $(always $always:ident)?; $($entry:tt)*) => {
        $crate::engine!(@compiled cfg_attr(feature = "precompiled", inline(never)), cfg_attr(not(feature = "precompiled"), inline); $($entry)*);
    };
    (@entry f64 $(always $always:ident)?; $($entry:tt)*) => {
        $crate::engine!(@compiled cfg_attr(all(feature = "precompiled", feature = "f64"), inline(never)),
            cfg_attr(not(all(feature = "precompiled", feature = "f64")), inline); $($entry)*);
    };
    (@compiled $($where:meta),*; fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path) => {
        $(#[$where])*
        fn $name($($arg: $type),*) $(-> $result)? {
            $kernel($($arg),*)
        }
    };
}
