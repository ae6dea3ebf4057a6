//! Vectors and matrices of small blocks side by side: every entry is a register, one lane for each block.

use ncde_simd::{Float, Number, Simd};

/// State `r` of `U` registers of blocks.
pub(crate) type Vectors<R, const B: usize, const U: usize> = [[R; U]; B];

/// Entry `(r, c)` of `U` registers of blocks.
pub(crate) type Matrices<R, const B: usize, const U: usize> = [[[R; U]; B]; B];

/// The generators, from register `j` of each run on.
#[inline(always)]
pub(crate) fn generator<R: Number, const B: usize, const U: usize>(omega: &[R], g: usize, j: usize) -> Matrices<R, B, U> {
    let mut m = [[[R::zero(); U]; B]; B];
    for r in 0..B {
        for c in 0..B {
            m[r][c].copy_from_slice(&omega[(r * B + c) * g + j..][..U]);
        }
    }
    m
}

#[inline(always)]
pub(crate) fn gather<R: Number, const B: usize, const U: usize>(x: &[R], g: usize, j: usize) -> Vectors<R, B, U> {
    let mut out = [[R::zero(); U]; B];
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

/// `B`; for large blocks, and where there are no registers, as a number that the compiler does not know: unrolled, such loops take
/// minutes to compile.
#[inline(always)]
pub(crate) fn size<S: Simd, const B: usize>() -> usize {
    if S::IS_SCALAR || B > 4 { std::hint::black_box(B) } else { B }
}

/// `M x`.
#[inline(always)]
pub(crate) fn apply<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), [[R::zero(); U]; B]);
    for r in 0..b {
        for u in 0..U {
            out[r][u] = m[r][0][u].times(simd, x[0][u]);
        }
    }
    for c in 1..b {
        for r in 0..b {
            for u in 0..U {
                out[r][u] = m[r][c][u].fma(simd, x[c][u], out[r][u]);
            }
        }
    }
    out
}

/// `M^T x`.
#[inline(always)]
pub(crate) fn apply_transposed<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), [[R::zero(); U]; B]);
    for c in 0..b {
        for u in 0..U {
            out[c][u] = m[0][c][u].times(simd, x[0][u]);
        }
    }
    for r in 1..b {
        for c in 0..b {
            for u in 0..U {
                out[c][u] = m[r][c][u].fma(simd, x[r][u], out[c][u]);
            }
        }
    }
    out
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
    for r in 0..b {
        for u in 0..U {
            out[r][u] = x[r][u].fma(simd, a, y[r][u]);
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
    for r in 0..b {
        for u in 0..U {
            out[r][u] = x[r][u].times(simd, a);
        }
    }
    out
}

/// `M^2`.
#[inline(always)]
pub(crate) fn square<S: Simd, R: Number, const B: usize, const U: usize>(simd: S, m: &Matrices<R, B, U>) -> Matrices<R, B, U> {
    let (b, mut out) = (size::<S, B>(), [[[R::zero(); U]; B]; B]);
    for r in 0..b {
        let mut row = [[R::zero(); U]; B];
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
}

/// The squared Frobenius norm of each block.
#[inline(always)]
pub(crate) fn squares<S: Simd, R: Number, const B: usize, const U: usize>(simd: S, m: &Matrices<R, B, U>) -> [R; U] {
    let mut sums = [[R::zero(); U]; B];
    for row in m {
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
}

/// The most numbers a register holds.
const WIDEST: usize = 16;

/// The largest number in some registers, none of which is negative.
#[inline(always)]
pub(crate) fn largest<T: Float, R: Number<Real = T>, const U: usize>(x: &[R; U]) -> f64 {
    let mut top = [T::ZERO; WIDEST];
    for x in x {
        let mut own = [T::ZERO; WIDEST];
        x.write(&mut own[..R::WIDTH]);
        for l in 0..WIDEST {
            top[l] = larger(own[l], top[l]);
        }
    }
    // Halves against each other: one number after the other would take as long as several products.
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
pub(crate) fn number<T: Float, R: Number<Real = T>>(x: f64) -> R {
    R::splat(T::from_f64(x))
}
