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

/// The sizes of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commutators {
    /// The size of blocks.
    pub block: usize,
    /// How many increments a window has.
    pub steps: usize,
    /// Whether a vector goes with each matrix.
    pub vectors: bool,
    /// `c`: a half, divided by what increments were multiplied with.
    pub factor: f64,
}

/// Windows that one task takes at a time.
const WINDOWS: usize = 64;

impl Commutators {
    /// How many numbers go with one block.
    pub fn each(&self) -> usize {
        self.block * self.block + if self.vectors { self.block } else { 0 }
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn forward<T: crate::Float>(&self, numbers: usize, each: &[T]) -> Result<Vec<T>, Error> {
        self.check(numbers, each.len())?;
        Ok(T::commutators(self, numbers, each))
    }

    /// From the gradient in the generators, `[windows, numbers]`, to that in the matrices.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn backward<T: crate::Float>(&self, numbers: usize, each: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        self.check(numbers, each.len())?;
        want("commutators", "the gradient", gradient.len(), each.len() / self.steps, || "one row a window".into())?;
        Ok(T::commutators_backward(self, numbers, each, gradient))
    }

    fn check(&self, numbers: usize, length: usize) -> Result<(), Error> {
        let Self { block, steps, .. } = *self;
        if block == 0 || steps == 0 || numbers == 0 {
            let problem = format!("blocks of {block}, {steps} increments a window, rows of {numbers}; none of them can be 0");
            return Err(Error::Unsupported { operation: "commutators", problem });
        }
        let meaning = || format!("blocks x {}", self.each());
        want("commutators", "a row", numbers, numbers.next_multiple_of(self.each()), meaning)?;
        want("commutators", "the matrices", length, length.next_multiple_of(steps * numbers), || {
            format!("windows x {steps} increments x {numbers}")
        })
    }
}

/// [`Commutators::forward`] on arrays whose sizes have been checked.
pub(crate) fn forward<T: Float>(of: &Commutators, numbers: usize, each: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; each.len() / of.steps];
    let tasks = out.par_chunks_mut(WINDOWS * numbers).zip(each.par_chunks(WINDOWS * of.steps * numbers));
    tasks.for_each(|(out, each)| dispatch_for::<T, _>(Forward { of: *of, numbers, each, out }));
    out
}

/// [`Commutators::backward`] on arrays whose sizes have been checked.
pub(crate) fn backward<T: Float>(of: &Commutators, numbers: usize, each: &[T], gradient: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; each.len()];
    let chunk = WINDOWS * of.steps * numbers;
    let tasks = out.par_chunks_mut(chunk).zip(each.par_chunks(chunk)).zip(gradient.par_chunks(WINDOWS * numbers));
    tasks.for_each(|((out, each), gradient)| dispatch_for::<T, _>(Backward { of: *of, numbers, each, gradient, out }));
    out
}

/// What lies side by side in a register: some blocks of a window or, where blocks are few, all blocks of some windows.
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
    /// Groups that fill a register each, as far as there are blocks and windows.
    #[inline(always)]
    fn all<R: Number>(blocks: usize, windows: usize) -> impl Iterator<Item = Self> {
        let each = (R::WIDTH / blocks).max(1);
        (0..windows).step_by(each).flat_map(move |window| {
            (0..blocks).step_by(R::WIDTH).map(move |start| Self {
                blocks,
                start,
                end: (start + R::WIDTH).min(blocks),
                window,
                windows: each.min(windows - window),
            })
        })
    }

    /// The rows at `place` of windows of `stride` numbers, entry by entry.
    #[inline(always)]
    fn read<R: Number>(self, all: &[R::Real], stride: usize, place: usize, out: &mut [R]) {
        let own = self.end - self.start;
        if self.windows == 1 {
            let row = &all[self.window * stride + place..];
            for (row, out) in row.chunks_exact(self.blocks).zip(out) {
                *out = R::read(&row[self.start..self.end]);
            }
            return;
        }
        for (e, out) in out.iter_mut().enumerate() {
            // As wide as any register.
            let mut lanes = [R::Real::ZERO; 16];
            for (w, lanes) in lanes.chunks_exact_mut(own).take(self.windows).enumerate() {
                lanes.copy_from_slice(&all[(self.window + w) * stride + place + e * self.blocks..][..own]);
            }
            *out = R::read(&lanes[..self.windows * own]);
        }
    }

    /// The other way.
    #[inline(always)]
    fn write<R: Number>(self, values: &[R], stride: usize, place: usize, all: &mut [R::Real]) {
        let own = self.end - self.start;
        for (e, value) in values.iter().enumerate() {
            let mut lanes = [R::Real::ZERO; 16];
            value.write(&mut lanes[..self.windows * own]);
            for (w, lanes) in lanes.chunks_exact(own).take(self.windows).enumerate() {
                all[(self.window + w) * stride + place + e * self.blocks + self.start..][..own].copy_from_slice(lanes);
            }
        }
    }
}

/// `b`, known to the compiler where it is usual and there are registers.
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
    of: Commutators,
    numbers: usize,
    each: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        with_size!(self.of.block, windows(simd, self));
    }
}

#[inline(always)]
fn windows<S: Simd, T: Float>(simd: S, job: Forward<'_, T>, b: usize) {
    let Forward { of, numbers, each, out } = job;
    let count = of.each();
    let zero = T::Register::ZEROS;
    let factor = T::Register::splat(simd, T::from_f64(of.factor));
    let minus_one = T::Register::splat(simd, -T::ONE);
    let [mut m, mut sum, mut minus, mut area] = [(); 4].map(|()| vec![zero; count]);
    for group in Group::all::<T::Register>(numbers / count, out.len() / numbers) {
        for own in [&mut sum, &mut minus, &mut area] {
            own.fill(zero);
        }
        for k in 0..of.steps {
            group.read(each, of.steps * numbers, k * numbers, &mut m);
            let ((m, v), (p, q)) = (m.split_at(b * b), sum.split_at(b * b));
            let (area, of_v) = area.split_at_mut(b * b);
            for i in 0..b {
                for k in 0..b {
                    let (left, right) = (m[i * b + k], minus[i * b + k]);
                    for j in 0..b {
                        let own = left.fma(simd, p[k * b + j], area[i * b + j]);
                        area[i * b + j] = right.fma(simd, m[k * b + j], own);
                    }
                    if of.vectors {
                        let own = left.fma(simd, q[k], of_v[i]);
                        of_v[i] = right.fma(simd, v[k], own);
                    }
                }
            }
            for (own, &m) in sum.iter_mut().zip(m.iter().chain(v)) {
                *own = own.plus(simd, m);
            }
            for (own, &m) in minus.iter_mut().zip(m) {
                *own = m.fma(simd, minus_one, *own);
            }
        }
        for (area, &sum) in area.iter_mut().zip(&sum) {
            *area = area.fma(simd, factor, sum);
        }
        group.write(&area, numbers, 0, out);
    }
}

struct Backward<'a, T> {
    of: Commutators,
    numbers: usize,
    each: &'a [T],
    gradient: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        with_size!(self.of.block, reverse(simd, self));
    }
}

#[inline(always)]
fn reverse<S: Simd, T: Float>(simd: S, job: Backward<'_, T>, b: usize) {
    let Backward { of, numbers, each, gradient, out } = job;
    let (count, size) = (of.each(), b * b);
    let zero = T::Register::ZEROS;
    let factor = T::Register::splat(simd, T::from_f64(of.factor));
    let minus_one = T::Register::splat(simd, -T::ONE);
    // The gradient, times c and times -c; what comes later; an increment and its gradient.
    let [mut g, mut up, mut down, mut later, mut m, mut dm] = [(); 6].map(|()| vec![zero; count]);
    let mut before = vec![zero; of.steps * count];
    let stride = of.steps * numbers;
    for group in Group::all::<T::Register>(numbers / count, gradient.len() / numbers) {
        group.read(gradient, numbers, 0, &mut g);
        for e in 0..count {
            up[e] = g[e].times(simd, factor);
            down[e] = up[e].times(simd, minus_one);
            before[e] = zero;
            later[e] = zero;
        }
        for k in 1..of.steps {
            group.read(each, stride, (k - 1) * numbers, &mut m);
            for e in 0..count {
                before[k * count + e] = before[(k - 1) * count + e].plus(simd, m[e]);
            }
        }
        for k in (0..of.steps).rev() {
            group.read(each, stride, k * numbers, &mut m);
            let p = &before[k * count..(k + 1) * count];
            for i in 0..b {
                for j in 0..b {
                    let e = i * b + j;
                    let mut own = g[e].plus(simd, later[e]);
                    let mut next = later[e];
                    for l in 0..b {
                        own = up[i * b + l].fma(simd, p[j * b + l], own);
                        own = down[l * b + j].fma(simd, p[l * b + i], own);
                        next = up[l * b + j].fma(simd, m[l * b + i], next);
                        next = down[i * b + l].fma(simd, m[j * b + l], next);
                    }
                    if of.vectors {
                        own = up[size + i].fma(simd, p[size + j], own);
                        next = down[size + i].fma(simd, m[size + j], next);
                    }
                    (dm[e], later[e]) = (own, next);
                }
            }
            for e in size..count {
                let i = e - size;
                let mut own = g[e].plus(simd, later[e]);
                let mut next = later[e];
                for l in 0..b {
                    own = down[size + l].fma(simd, p[l * b + i], own);
                    next = up[size + l].fma(simd, m[l * b + i], next);
                }
                (dm[e], later[e]) = (own, next);
            }
            group.write(&dm, stride, k * numbers, out);
        }
    }
}
