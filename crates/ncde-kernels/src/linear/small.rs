//! Vectors and matrices of small blocks: every entry is a register, with one lane for each block.

use ncde_simd::{Float, Number, Simd, outlined};

/// State `r` of `U` registers of blocks.
pub(crate) type Vectors<R, const B: usize, const U: usize> = [[R; U]; B];

/// Entry `(r, c)` of `U` registers of blocks.
pub(crate) type Matrices<R, const B: usize, const U: usize> = [[[R; U]; B]; B];

/// The generators, from register `j` of each run on.
#[inline(always)]
pub(crate) fn generator<R: Number, const B: usize, const U: usize>(omega: &[R], g: usize, j: usize) -> Matrices<R, B, U> {
    let mut m = const { [[[R::ZEROS; U]; B]; B] };
    for (i, entry) in m.as_flattened_mut().iter_mut().enumerate() {
        entry.copy_from_slice(&omega[i * g + j..][..U]);
    }
    m
}

#[inline(always)]
pub(crate) fn gather<R: Number, const B: usize, const U: usize>(x: &[R], g: usize, j: usize) -> Vectors<R, B, U> {
    let mut out = const { [[R::ZEROS; U]; B] };
    for r in 0..B {
        out[r].copy_from_slice(&x[r * g + j..][..U]);
    }
    out
}

#[inline(always)]
pub(crate) fn scatter<R: Number, const B: usize, const U: usize>(x: &mut [R], g: usize, j: usize, values: &Vectors<R, B, U>) {
    for r in 0..B {
        x[r * g + j..][..U].copy_from_slice(&values[r]);
    }
}

/// `n`, hidden from the compiler if `unknown`, so that loops are not unrolled.
#[inline(always)]
fn count(n: usize, unknown: bool) -> usize {
    if unknown { std::hint::black_box(n) } else { n }
}

/// Whether products of blocks of `B` are not inlined: for large blocks, and without vector instructions, the code would be too large.
#[inline(always)]
const fn is_apart<S: Simd, const B: usize>() -> bool {
    S::IS_SCALAR || B > 4
}

/// The rows of a block, for loops around products.
#[inline(always)]
pub(crate) fn size<S: Simd, const B: usize>() -> usize {
    count(B, const { is_apart::<S, B>() })
}

/// Runs a product of blocks of `B`, see [`is_apart`].
#[inline(always)]
pub(crate) fn product<S: Simd, T, const B: usize>(simd: S, body: impl FnOnce() -> T) -> T {
    if const { is_apart::<S, B>() } { outlined(simd, body) } else { body() }
}

/// `M x` or `M^T x`; with a number `a` and a vector `y` that times `a` plus `y`, before it goes to memory.
#[inline(always)]
fn multiply<S: Simd, R: Number, const B: usize, const U: usize, const TRANSPOSED: bool>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
    onto: Option<(R, &Vectors<R, B, U>)>,
) -> Vectors<R, B, U> {
    product::<S, _, B>(
        simd,
        #[inline(always)]
        move || {
            let (b, mut out) = (count(B, S::IS_SCALAR), const { [[R::ZEROS; U]; B] });
            for c in 0..b {
                for r in 0..b {
                    for u in 0..U {
                        let entry = if TRANSPOSED { m[c][r][u] } else { m[r][c][u] };
                        out[r][u] = if c == 0 { entry.times(simd, x[0][u]) } else { entry.fma(simd, x[c][u], out[r][u]) };
                    }
                }
            }
            if let Some((a, y)) = onto {
                for r in 0..b {
                    for u in 0..U {
                        out[r][u] = out[r][u].fma(simd, a, y[r][u]);
                    }
                }
            }
            out
        },
    )
}

/// `M x`.
#[inline(always)]
pub(crate) fn apply<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    multiply::<S, R, B, U, false>(simd, m, x, None)
}

/// `a M x + y`.
#[inline(always)]
pub(crate) fn apply_onto<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    (a, m, x): (R, &Matrices<R, B, U>, &Vectors<R, B, U>),
    y: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    multiply::<S, R, B, U, false>(simd, m, x, Some((a, y)))
}

/// `M^T x`.
#[inline(always)]
pub(crate) fn apply_transposed<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    multiply::<S, R, B, U, true>(simd, m, x, None)
}

/// `M^T x + y`.
#[inline(always)]
pub(crate) fn apply_transposed_onto<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
    y: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    multiply::<S, R, B, U, true>(simd, m, x, Some((R::ONES, y)))
}

/// `a x + y`, `a` a number.
#[inline(always)]
pub(crate) fn combine<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    a: R,
    x: &Vectors<R, B, U>,
    y: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), *y);
    for (out, x) in out.iter_mut().zip(x).take(b) {
        for u in 0..U {
            out[u] = x[u].fma(simd, a, out[u]);
        }
    }
    out
}

/// `a x`.
#[inline(always)]
pub(crate) fn scaled<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    a: R,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), *x);
    for out in out.iter_mut().take(b) {
        for out in out {
            *out = out.times(simd, a);
        }
    }
    out
}

/// `M^2`.
#[inline(always)]
pub(crate) fn square<S: Simd, R: Number, const B: usize, const U: usize>(simd: S, m: &Matrices<R, B, U>) -> Matrices<R, B, U> {
    product::<S, _, B>(
        simd,
        #[inline(always)]
        move || {
            let (b, mut out) = (count(B, S::IS_SCALAR), const { [[[R::ZEROS; U]; B]; B] });
            for r in 0..size::<S, B>() {
                let mut row = const { [[R::ZEROS; U]; B] };
                for k in 0..b {
                    for c in 0..b {
                        for u in 0..U {
                            row[c][u] = m[r][k][u].fma(simd, m[k][c][u], row[c][u]);
                        }
                    }
                }
                out[r] = row;
            }
            out
        },
    )
}

/// The squared Frobenius norm of each block.
#[inline(always)]
pub(crate) fn squares<S: Simd, R: Number, const B: usize, const U: usize>(simd: S, m: &Matrices<R, B, U>) -> [R; U] {
    product::<S, _, B>(
        simd,
        #[inline(always)]
        move || {
            let mut sums = const { [[R::ZEROS; U]; B] };
            for row in m.iter().take(size::<S, B>()) {
                for c in 0..B {
                    for u in 0..U {
                        sums[c][u] = row[c][u].fma(simd, row[c][u], sums[c][u]);
                    }
                }
            }
            let mut total = sums[0];
            for sum in &sums[1..] {
                for u in 0..U {
                    total[u] = total[u].plus(simd, sum[u]);
                }
            }
            total
        },
    )
}

/// The most numbers a register holds.
const WIDEST: usize = 16;

/// The largest of the nonnegative numbers in some registers.
#[inline(always)]
pub(crate) fn largest<T: Float, R: Number<Real = T>, const U: usize>(x: &[R; U]) -> f64 {
    let mut top = [T::ZERO; WIDEST];
    for x in x {
        let mut lanes = [T::ZERO; WIDEST];
        x.write(&mut lanes[..R::WIDTH]);
        for l in 0..WIDEST {
            top[l] = larger(lanes[l], top[l]);
        }
    }
    // By halves: a sequential maximum would take as long as several products.
    let (mut eight, mut four) = ([T::ZERO; 8], [T::ZERO; 4]);
    for l in 0..8 {
        eight[l] = larger(top[l + 8], top[l]);
    }
    for l in 0..4 {
        four[l] = larger(eight[l + 4], eight[l]);
    }
    larger(larger(four[2], four[0]), larger(four[3], four[1])).to_f64()
}

#[inline(always)]
fn larger<T: Float>(x: T, y: T) -> T {
    if x > y { x } else { y }
}

#[inline(always)]
pub(crate) fn number<S: Simd, T: Float, R: Number<Real = T>>(simd: S, x: f64) -> R {
    R::splat(simd, T::from_f64(x))
}
