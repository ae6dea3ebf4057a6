//! Kernels written as functions.

/// A [`Kernel`](crate::Kernel) written as a function: its arguments become the fields of the struct that implements the trait.
///
/// `call fn` runs with its caller's instructions ([`call`](crate::call)) and takes their token first. `dispatch fn` runs with the widest instructions of
/// the machine ([`dispatch`](crate::dispatch)) and is called without a token. Lifetimes are named, as in a struct.
///
/// ```
/// ncde_simd::kernel! {
///     /// `x . y`.
///     dispatch fn inner_product<'a, S: Simd, E: ncde_simd::Number>(simd: S, x: &'a [E], y: &'a [E]) -> E {
///         E::dot(simd, x, y)
///     }
/// }
/// assert_eq!(inner_product(&[1.0_f32, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
#[macro_export]
macro_rules! kernel {
    ($(#[$attribute:meta])* $visibility:vis dispatch fn $name:ident<$($lifetime:lifetime,)+ $s:ident: Simd $(, $t:ident: $bound:path)?>
        ($simd:ident: $token:ty, $($field:ident: $type:ty),+ $(,)?) $(-> $output:ty)? $body:block) => {
        $(#[$attribute])*
        #[inline(always)]
        $visibility fn $name<$($lifetime,)+ $($t: $bound)?>($($field: $type),+) $(-> $output)? {
            $crate::kernel!(@arguments [$($lifetime,)+ $($t: $bound)?] [$($lifetime,)+ $($t)?] ($simd: $s, $($field: $type),+) [$($output)?] $body);
            $crate::dispatch(Arguments { $($field),+ })
        }
    };
    ($(#[$attribute:meta])* $visibility:vis call fn $name:ident<$($lifetime:lifetime,)+ $s:ident: Simd $(, $t:ident: $bound:path)?>
        ($simd:ident: $token:ty, $($field:ident: $type:ty),+ $(,)?) $(-> $output:ty)? $body:block) => {
        $(#[$attribute])*
        #[inline(always)]
        $visibility fn $name<$($lifetime,)+ $s: $crate::Simd $(, $t: $bound)?>($simd: $token, $($field: $type),+) $(-> $output)? {
            $crate::kernel!(@arguments [$($lifetime,)+ $($t: $bound)?] [$($lifetime,)+ $($t)?] ($simd: $s, $($field: $type),+) [$($output)?] $body);
            $crate::call($simd, Arguments { $($field),+ })
        }
    };
    ($(#[$attribute:meta])* $visibility:vis call fn $name:ident<$($lifetime:lifetime,)+ $s:ident: Simd, $t:ident: $bound:path, const $n:ident: usize>
        ($simd:ident: $token:ty, $($field:ident: $type:ty),+ $(,)?) $body:block) => {
        $(#[$attribute])*
        #[inline(always)]
        $visibility fn $name<$($lifetime,)+ $s: $crate::Simd, $t: $bound, const $n: usize>($simd: $token, $($field: $type),+) {
            $crate::kernel!(@arguments [$($lifetime,)+ $t: $bound, const $n: usize] [$($lifetime,)+ $t, $n] ($simd: $s, $($field: $type),+) [] $body);
            $crate::call($simd, Arguments::<$t, $n> { $($field),+ })
        }
    };
    (@arguments [$($generics:tt)*] [$($names:tt)*] ($simd:ident: $s:ident, $($field:ident: $type:ty),+) [$($output:ty)?] $body:block) => {
        struct Arguments<$($generics)*> {
            $($field: $type),+
        }
        impl<$($generics)*> $crate::Kernel for Arguments<$($names)*> {
            type Output = $crate::kernel!(@output $($output)?);
            #[inline(always)]
            fn run<$s: $crate::Simd>(self, $simd: $s) -> Self::Output {
                let Self { $($field),+ } = self;
                $body
            }
        }
    };
    (@output) => { () };
    (@output $output:ty) => { $output };
}
