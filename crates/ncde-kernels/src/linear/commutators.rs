//! Generators of Log-ODE windows of depth 2 from the matrices of their increments, without a log-signature.
//!
//! ```text
//! Omega = sum_k M_k + c sum_l (M_l P_l - P_l M_l),   P_l = M_1 + ... + M_{l-1}
//! beta = sum_k v_k + c sum_l (M_l p_l - P_l v_l),   p_l = v_1 + ... + v_{l-1}
//! dM_k = dOmega + sum_{l>k} dP_l + c (dOmega P_k^T - P_k^T dOmega + dbeta p_k^T),   dP_l = c (M_l^T dOmega - dOmega M_l^T - dbeta v_l^T)
//! dv_k = dbeta + sum_{l>k} dp_l - c P_k^T dbeta,   dp_l = c M_l^T dbeta
//! ```
//!
//! `beta` is what an input term adds where the driving path is the input: the last column of the same formula for `[[M, v], [0, 0]]`.
//!
//! Shapes: `[windows, steps, numbers]` to `[windows, numbers]`. A row holds entry after entry of the blocks, `[b, b, blocks]`, and then the vector,
//! `[b, blocks]`: one register has the same entry of several blocks. Cost a window: `4 s b^3` multiplications a block, twice that back.

use ncde_simd::{Float, Kernel, Number, Simd, dispatch_for};
use rayon::prelude::*;

use crate::Error;
use crate::error::want;

/// The sizes of the commutator kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commutators {
    /// The size of blocks.
    pub block: usize,
    /// The number of increments of a window.
    pub steps: usize,
    /// Whether a vector goes with each matrix.
    pub vectors: bool,
    /// `c`: a half, divided by what increments were multiplied with.
    pub factor: f64,
}

/// Windows that one task takes at a time.
const WINDOWS: usize = 64;

impl Commutators {
    /// The numbers of one block: its entries and, if there are vectors, its vector.
    pub fn block_numbers(&self) -> usize {
        self.block * self.block + if self.vectors { self.block } else { 0 }
    }

    /// The generators of the windows, `[windows, numbers]`, from the matrices of their increments, `[windows, steps, numbers]`.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn forward<T: crate::Float>(&self, numbers: usize, matrices: &[T]) -> Result<Vec<T>, Error> {
        self.check(numbers, matrices.len())?;
        Ok(T::commutators(self, numbers, matrices))
    }

    /// The reverse pass: from the gradient of the generators, `[windows, numbers]`, to that of the matrices.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn backward<T: crate::Float>(&self, numbers: usize, matrices: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        self.check(numbers, matrices.len())?;
        want("commutators", "the gradient", gradient.len(), matrices.len() / self.steps, || "one row a window".into())?;
        Ok(T::commutators_backward(self, numbers, matrices, gradient))
    }

    fn check(&self, numbers: usize, length: usize) -> Result<(), Error> {
        let Self { block, steps, .. } = *self;
        if block == 0 || steps == 0 || numbers == 0 {
            let problem = format!("blocks of {block}, {steps} increments a window, rows of {numbers}; none of them can be 0");
            return Err(Error::Unsupported { operation: "commutators", problem });
        }
        let meaning = || format!("blocks x {}", self.block_numbers());
        want("commutators", "a row", numbers, numbers.next_multiple_of(self.block_numbers()), meaning)?;
        want("commutators", "the matrices", length, length.next_multiple_of(steps * numbers), || {
            format!("windows x {steps} increments x {numbers}")
        })
    }
}

/// [`Commutators::forward`] on arrays whose sizes have been checked.
pub(crate) fn forward<T: Float>(sizes: &Commutators, numbers: usize, matrices: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; matrices.len() / sizes.steps];
    let tasks = out.par_chunks_mut(WINDOWS * numbers).zip(matrices.par_chunks(WINDOWS * sizes.steps * numbers));
    tasks.for_each(|(out, matrices)| dispatch_for::<T, _>(Forward { sizes: *sizes, numbers, matrices, out }));
    out
}

/// [`Commutators::backward`] on arrays whose sizes have been checked.
pub(crate) fn backward<T: Float>(sizes: &Commutators, numbers: usize, matrices: &[T], gradient: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; matrices.len()];
    let chunk = WINDOWS * sizes.steps * numbers;
    let tasks = out.par_chunks_mut(chunk).zip(matrices.par_chunks(chunk)).zip(gradient.par_chunks(WINDOWS * numbers));
    tasks.for_each(|((out, matrices), gradient)| {
        dispatch_for::<T, _>(Backward { sizes: *sizes, numbers, matrices, gradient, out });
    });
    out
}

/// The content of a register: some blocks of one window or, where blocks are few, all blocks of several windows.
#[derive(Clone, Copy)]
struct Group {
    blocks: usize,
    start: usize,
    end: usize,
    /// The first window, and how many there are.
    window: usize,
    windows: usize,
}

impl Group {
    /// Groups that fill a register matrices, as far as there are blocks and windows.
    #[inline(always)]
    fn all<R: Number>(blocks: usize, windows: usize) -> impl Iterator<Item = Self> {
        let together = (R::WIDTH / blocks).max(1);
        (0..windows).step_by(together).flat_map(move |window| {
            (0..blocks).step_by(R::WIDTH).map(move |start| Self {
                blocks,
                start,
                end: (start + R::WIDTH).min(blocks),
                window,
                windows: together.min(windows - window),
            })
        })
    }

    /// The rows at `offset` in windows of `stride` numbers, entry by entry.
    #[inline(always)]
    fn read<R: Number>(self, all: &[R::Real], stride: usize, offset: usize, out: &mut [R]) {
        let width = self.end - self.start;
        if self.windows == 1 {
            let row = &all[self.window * stride + offset..];
            for (row, out) in row.chunks_exact(self.blocks).zip(out) {
                *out = R::read(&row[self.start..self.end]);
            }
            return;
        }
        for (e, out) in out.iter_mut().enumerate() {
            // As wide as the widest register.
            let mut lanes = [R::Real::ZERO; 16];
            for (w, lanes) in lanes.chunks_exact_mut(width).take(self.windows).enumerate() {
                lanes.copy_from_slice(&all[(self.window + w) * stride + offset + e * self.blocks..][..width]);
            }
            *out = R::read(&lanes[..self.windows * width]);
        }
    }

    /// The reverse of [`read`](Self::read).
    #[inline(always)]
    fn write<R: Number>(self, values: &[R], stride: usize, offset: usize, all: &mut [R::Real]) {
        let width = self.end - self.start;
        for (e, value) in values.iter().enumerate() {
            let mut lanes = [R::Real::ZERO; 16];
            value.write(&mut lanes[..self.windows * width]);
            for (w, lanes) in lanes.chunks_exact(width).take(self.windows).enumerate() {
                all[(self.window + w) * stride + offset + e * self.blocks + self.start..][..width].copy_from_slice(lanes);
            }
        }
    }
}

/// Calls a function with `b` as a constant for usual sizes, so that its loops are unrolled.
macro_rules! with_size {
    ($b:expr, $run:ident($($argument:expr),*)) => {
        match $b {
            b if S::IS_SCALAR => $run($($argument),*, b),
            2 => $run($($argument),*, 2),
            4 => $run($($argument),*, 4),
            b => $run($($argument),*, b),
        }
    };
}

struct Forward<'a, T> {
    sizes: Commutators,
    numbers: usize,
    matrices: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        with_size!(self.sizes.block, windows(simd, self));
    }
}

#[inline(always)]
fn windows<S: Simd, T: Float>(simd: S, job: Forward<'_, T>, b: usize) {
    let Forward { sizes, numbers, matrices, out } = job;
    let count = sizes.block_numbers();
    let zero = T::Register::ZEROS;
    let factor = T::Register::splat(simd, T::from_f64(sizes.factor));
    let minus_one = T::Register::splat(simd, -T::ONE);
    let [mut m, mut sum, mut minus, mut area] = [(); 4].map(|()| vec![zero; count]);
    for group in Group::all::<T::Register>(numbers / count, out.len() / numbers) {
        for array in [&mut sum, &mut minus, &mut area] {
            array.fill(zero);
        }
        for k in 0..sizes.steps {
            group.read(matrices, sizes.steps * numbers, k * numbers, &mut m);
            let ((m, v), (p, q)) = (m.split_at(b * b), sum.split_at(b * b));
            let (area, of_v) = area.split_at_mut(b * b);
            for i in 0..b {
                for k in 0..b {
                    let (left, right) = (m[i * b + k], minus[i * b + k]);
                    for j in 0..b {
                        let half = left.fma(simd, p[k * b + j], area[i * b + j]);
                        area[i * b + j] = right.fma(simd, m[k * b + j], half);
                    }
                    if sizes.vectors {
                        let half = left.fma(simd, q[k], of_v[i]);
                        of_v[i] = right.fma(simd, v[k], half);
                    }
                }
            }
            for (sum, &m) in sum.iter_mut().zip(m.iter().chain(v)) {
                *sum = sum.plus(simd, m);
            }
            for (minus, &m) in minus.iter_mut().zip(m) {
                *minus = m.fma(simd, minus_one, *minus);
            }
        }
        for (area, &sum) in area.iter_mut().zip(&sum) {
            *area = area.fma(simd, factor, sum);
        }
        group.write(&area, numbers, 0, out);
    }
}

struct Backward<'a, T> {
    sizes: Commutators,
    numbers: usize,
    matrices: &'a [T],
    gradient: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        with_size!(self.sizes.block, reverse(simd, self));
    }
}

#[inline(always)]
fn reverse<S: Simd, T: Float>(simd: S, job: Backward<'_, T>, b: usize) {
    let Backward { sizes, numbers, matrices, gradient, out } = job;
    let (count, size) = (sizes.block_numbers(), b * b);
    let zero = T::Register::ZEROS;
    let factor = T::Register::splat(simd, T::from_f64(sizes.factor));
    let minus_one = T::Register::splat(simd, -T::ONE);
    // The gradient, times c and times -c; the sum over later increments; an increment and its gradient.
    let [mut g, mut up, mut down, mut later, mut m, mut dm] = [(); 6].map(|()| vec![zero; count]);
    let mut before = vec![zero; sizes.steps * count];
    let stride = sizes.steps * numbers;
    for group in Group::all::<T::Register>(numbers / count, gradient.len() / numbers) {
        group.read(gradient, numbers, 0, &mut g);
        for e in 0..count {
            up[e] = g[e].times(simd, factor);
            down[e] = up[e].times(simd, minus_one);
            before[e] = zero;
            later[e] = zero;
        }
        for k in 1..sizes.steps {
            group.read(matrices, stride, (k - 1) * numbers, &mut m);
            for e in 0..count {
                before[k * count + e] = before[(k - 1) * count + e].plus(simd, m[e]);
            }
        }
        for k in (0..sizes.steps).rev() {
            group.read(matrices, stride, k * numbers, &mut m);
            let p = &before[k * count..(k + 1) * count];
            for i in 0..b {
                for j in 0..b {
                    let e = i * b + j;
                    let mut d_m = g[e].plus(simd, later[e]);
                    let mut d_later = later[e];
                    for l in 0..b {
                        d_m = up[i * b + l].fma(simd, p[j * b + l], d_m);
                        d_m = down[l * b + j].fma(simd, p[l * b + i], d_m);
                        d_later = up[l * b + j].fma(simd, m[l * b + i], d_later);
                        d_later = down[i * b + l].fma(simd, m[j * b + l], d_later);
                    }
                    if sizes.vectors {
                        d_m = up[size + i].fma(simd, p[size + j], d_m);
                        d_later = down[size + i].fma(simd, m[size + j], d_later);
                    }
                    (dm[e], later[e]) = (d_m, d_later);
                }
            }
            for e in size..count {
                let i = e - size;
                let mut d_m = g[e].plus(simd, later[e]);
                let mut d_later = later[e];
                for l in 0..b {
                    d_m = down[size + l].fma(simd, p[l * b + i], d_m);
                    d_later = up[size + l].fma(simd, m[l * b + i], d_later);
                }
                (dm[e], later[e]) = (d_m, d_later);
            }
            group.write(&dm, stride, k * numbers, out);
        }
    }
}
