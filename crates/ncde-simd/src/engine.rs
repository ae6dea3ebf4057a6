//! The border between callers and kernels: everything generic over the number type is compiled once for `f32` and once for `f64`, in the
//! crate of the kernels, and not again in every crate that calls it. (Kernels are inlined whole, per instruction set: that takes minutes.)
//!
//! Whoever only predicts calls two or three of them and should not wait for the others. So a crate of kernels has a feature
//! `precompiled`, on by default. Without it only the entries marked `#[always(f32)]` (or `f64`) are compiled there, for that type alone;
//! the others are `#[inline]`, which is to say compiled in the crate that calls them, if one does. Nothing else depends on the
//! feature: the same functions are there, and they compute the same. Entries marked `#[never]` are compiled where they are called, always.
//! A second feature `f64` says the same of the entries for `f64`: where only tests compute in it, nobody else waits for it.

/// Makes a trait `Engine`, implemented for `f32` and `f64`, of functions `fn name(arg: Type) -> Result = path::of::the_kernel;`, in
/// which `Self` is the number type. A crate's public `Float` has it as a supertrait.
///
/// `#[always(f32)]` in front of one: compiled here for `f32` even without the feature `precompiled`, which that crate must have, as it must
/// have the feature `f64`.
/// `#[never]`: not even with it.
#[macro_export]
macro_rules! engine {
    ($($(#[$when:ident $(($always:ident))?])? fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $kernel:path;)*) => {
        /// What [`Float`](crate::Float) can have computed.
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
