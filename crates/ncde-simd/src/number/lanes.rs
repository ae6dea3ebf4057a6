//! One number for each of several paths: the lanes form the vector, and loops go from element to element.

use crate::Float;
use crate::number::{Number, Term};
use crate::simd::{Simd, Vector};

/// The same coordinate of `W` paths: one register of the widest instruction set, a few of the others.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Lanes<T, const W: usize>([T; W]);

impl<T: Float, const W: usize> Lanes<T, W> {
    /// How many registers of an instruction set it takes. One or two are written out below: thousands of loops to unroll are what the
    /// compiler would spend most of its time on.
    const fn registers<S: Simd>() -> usize {
        size_of::<Self>() / size_of::<T::V<S>>()
    }
}

/// The registers of a block of [`Number::add_two`].
const BLOCK: usize = 16;

/// `x a + b` without vector instructions: not inlined, to keep the code small.
#[inline(never)]
fn fma_scalar<T: Float, const W: usize>(x: &[T; W], a: &[T; W], b: &[T; W]) -> [T; W] {
    let mut out = *b;
    for i in 0..W {
        out[i] = x[i] * a[i] + out[i];
    }
    out
}

impl<T: Float, const W: usize> Default for Lanes<T, W> {
    fn default() -> Self {
        Self::ZEROS
    }
}

impl<T: Float, const W: usize> Number for Lanes<T, W> {
    type Real = T;
    const WIDTH: usize = W;
    const ZEROS: Self = Self([T::ZERO; W]);
    const ONES: Self = Self([T::ONE; W]);
    #[inline(always)]
    fn splat<S: Simd>(simd: S, x: T) -> Self {
        let mut out = Self::ZEROS;
        let (registers, x) = (T::split_mut::<S>(&mut out.0).0, T::broadcast(simd, x));
        match const { Self::registers::<S>() } {
            1 => registers[0] = x,
            2 => (registers[0], registers[1]) = (x, x),
            _ => registers.fill(x),
        }
        out
    }
    #[inline(always)]
    fn lane(&self, i: usize) -> T {
        self.0[i]
    }
    #[inline(always)]
    fn set_lane(&mut self, i: usize, x: T) {
        self.0[i] = x;
    }
    #[inline(always)]
    fn fma<S: Simd>(self, simd: S, a: Self, b: Self) -> Self {
        if const { S::IS_SCALAR } {
            return Self(fma_scalar(&self.0, &a.0, &b.0));
        }
        let mut out = b;
        let (x, a, sum) = (T::split::<S>(&self.0).0, T::split::<S>(&a.0).0, T::split_mut::<S>(&mut out.0).0);
        match const { Self::registers::<S>() } {
            1 => sum[0] = T::multiply_add(simd, x[0], a[0], sum[0]),
            2 => {
                sum[0] = T::multiply_add(simd, x[0], a[0], sum[0]);
                sum[1] = T::multiply_add(simd, x[1], a[1], sum[1]);
            }
            n => {
                for i in 0..n {
                    sum[i] = T::multiply_add(simd, x[i], a[i], sum[i]);
                }
            }
        }
        out
    }
    #[inline(always)]
    fn read(x: &[T]) -> Self {
        if let Some(whole) = x.first_chunk::<W>() {
            return Self(*whole);
        }
        let mut out = Self::ZEROS;
        out.0[..x.len()].copy_from_slice(x);
        out
    }
    #[inline(always)]
    fn write(&self, x: &mut [T]) {
        match x.first_chunk_mut::<W>() {
            Some(whole) => *whole = self.0,
            None => x.copy_from_slice(&self.0[..x.len()]),
        }
    }
    #[inline(always)]
    fn columns<const B: usize>(rows: &[[T; B]]) -> [Self; B] {
        let mut out = const { [Self::ZEROS; B] };
        if let Some(rows) = rows.first_chunk::<W>() {
            for i in 0..B {
                for l in 0..W {
                    out[i].0[l] = rows[l][i];
                }
            }
        } else {
            for (l, row) in rows.iter().enumerate() {
                for i in 0..B {
                    out[i].0[l] = row[i];
                }
            }
        }
        out
    }
    #[inline(always)]
    fn rows<const B: usize>(columns: &[Self; B], rows: &mut [[T; B]]) {
        if let Some(rows) = rows.first_chunk_mut::<W>() {
            for l in 0..W {
                for i in 0..B {
                    rows[l][i] = columns[i].0[l];
                }
            }
        } else {
            for (l, row) in rows.iter_mut().enumerate() {
                for i in 0..B {
                    row[i] = columns[i].0[l];
                }
            }
        }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let mut out = self;
        for i in 0..W {
            out.0[i] = Float::exp(self.0[i]);
        }
        out
    }
    #[inline(always)]
    fn total<S: Simd>(self, simd: S) -> T {
        let registers = T::split::<S>(&self.0).0;
        match const { Self::registers::<S>() } {
            1 => <T as Vector>::total(simd, registers[0]),
            2 => <T as Vector>::total(simd, registers[0]) + <T as Vector>::total(simd, registers[1]),
            _ => registers.iter().map(|&part| <T as Vector>::total(simd, part)).sum(),
        }
    }
    #[inline(always)]
    fn axpy<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = x.fma(simd, a, *y);
        }
    }
    #[inline(always)]
    fn add_outer<S: Simd, const TERMS: usize>(
        simd: S,
        y: &mut [Self],
        b: Option<&[Self]>,
        x: [&[Self]; TERMS],
        t: [&[Self]; TERMS],
    ) {
        let n = t[0].len();
        for (a, y) in y.chunks_exact_mut(n).enumerate() {
            let b = b.map(|b| &b[a * n..(a + 1) * n]);
            for (i, y) in y.iter_mut().enumerate() {
                let mut sum = b.map_or(*y, |b| b[i]);
                for term in 0..TERMS {
                    sum = t[term][i].fma(simd, x[term][a], sum);
                }
                *y = sum;
            }
        }
    }
    #[inline(always)]
    fn add_two_group<S: Simd, const TERMS: usize, const G: usize>(
        simd: S,
        [z, y]: [&mut [Self]; 2],
        half: Self,
        terms: [Term<'_, Self>; TERMS],
        offset: usize,
        (first, last): (usize, bool),
    ) {
        let (n, all) = (terms[0].t.len(), y.len());
        let stride = all / terms[0].x.len();
        let mut letters = const { [[Self::ZEROS; G]; TERMS] };
        let mut ts: [&[Self]; TERMS] = [&[]; TERMS];
        let mut us = ts;
        for term in 0..TERMS {
            (ts[term], us[term]) = (&terms[term].t[..n], &terms[term].u[..n]);
            letters[term].copy_from_slice(&terms[term].x[first..first + G]);
        }
        // Each stretch of `t` and `u` is read again for every letter: from the nearest cache.
        for start in (0..n).step_by(BLOCK) {
            let stretch = start..n.min(start + BLOCK);
            for (a, y) in y.chunks_exact_mut(stride).enumerate() {
                let y = &mut y[offset..offset + n];
                let (mut once, mut twice) = const { ([Self::ZEROS; TERMS], [Self::ZEROS; TERMS]) };
                for term in 0..TERMS {
                    once[term] = terms[term].x[a];
                    twice[term] = once[term].times(simd, half);
                }
                let mut zs: [&mut [Self]; G] = std::array::from_fn(|_| Default::default());
                for (row, z) in zs.iter_mut().zip(z.chunks_exact_mut(all)) {
                    *row = &mut z[a * stride + offset..][..n];
                }
                for i in stretch.clone() {
                    let (mut sum, mut sums) = (y[i], const { [Self::ZEROS; G] });
                    for b in 0..G {
                        sums[b] = zs[b][i];
                    }
                    for term in 0..TERMS {
                        let risen = ts[term][i].fma(simd, twice[term], sum);
                        sum = us[term][i].fma(simd, once[term], sum);
                        for b in 0..G {
                            sums[b] = risen.fma(simd, letters[term][b], sums[b]);
                        }
                    }
                    for b in 0..G {
                        zs[b][i] = sums[b];
                    }
                    if last {
                        y[i] = sum;
                    }
                }
            }
        }
    }
    #[inline(always)]
    fn axpb<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self], b: &[Self]) {
        for ((y, x), b) in y.iter_mut().zip(x).zip(b) {
            *y = x.fma(simd, a, *b);
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(simd: S, y: &mut [Self], a: Self, x: &[Self]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = x.times(simd, a);
        }
    }
    #[inline(always)]
    fn dot<S: Simd>(simd: S, a: &[Self], b: &[Self]) -> Self {
        let mut sums = const { [Self::ZEROS; 4] };
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        for (a, b) in a.iter().zip(b) {
            for i in 0..4 {
                sums[i] = a[i].fma(simd, b[i], sums[i]);
            }
        }
        for ((a, b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
            *sum = a.fma(simd, *b, *sum);
        }
        sums[0].plus(simd, sums[2]).plus(simd, sums[1].plus(simd, sums[3]))
    }
    #[inline(always)]
    fn contract<S: Simd>(simd: S, g: &[Self], [x, t]: [&[Self]; 2], factor: Self, below: &mut [Self], dx: &mut [Self]) {
        below.fill(Self::ZEROS);
        for ((g, &x), dx) in g.chunks_exact(t.len()).zip(x).zip(dx) {
            let mut sum = Self::ZEROS;
            for ((g, t), below) in g.iter().zip(t).zip(&mut *below) {
                *below = g.fma(simd, x, *below);
                sum = g.fma(simd, *t, sum);
            }
            *dx = sum.fma(simd, factor, *dx);
        }
    }
    #[inline(always)]
    fn gather<S: Simd>(_: S, rows: &[&[T]], out: &mut [Self]) {
        let (tiles, rest) = out.as_chunks_mut::<W>();
        let done = tiles.len() * W;
        for (i, tile) in tiles.iter_mut().enumerate() {
            for (l, line) in tile.iter_mut().enumerate() {
                match rows.get(l).map(|row| row[i * W..].as_chunks::<W>().0) {
                    Some([first, ..]) => line.0 = *first,
                    _ => *line = Self::ZEROS,
                }
            }
            transpose(tile);
        }
        for (i, x) in rest.iter_mut().enumerate() {
            *x = Self::ZEROS;
            for (x, row) in x.0.iter_mut().zip(rows) {
                *x = row[done + i];
            }
        }
    }
}

/// Transposes a square tile in place: blocks of halving size change places across the diagonal, whole registers at a time.
#[inline(always)]
fn transpose<T: Float, const W: usize>(tile: &mut [Lanes<T, W>; W]) {
    if W > 8 {
        exchange::<T, W, 8>(tile);
    }
    exchange::<T, W, 4>(tile);
    exchange::<T, W, 2>(tile);
    exchange::<T, W, 1>(tile);
}

/// One stage of [`transpose`]: `H` is a constant so that each exchange is a shuffle.
#[inline(always)]
fn exchange<T: Float, const W: usize, const H: usize>(tile: &mut [Lanes<T, W>; W]) {
    for r in 0..W {
        if r & H == 0 {
            let (a, b) = (tile[r].0, tile[r + H].0);
            let (mut c, mut d) = (a, b);
            for j in 0..W {
                if j & H == 0 {
                    d[j] = a[j + H];
                    c[j + H] = b[j];
                }
            }
            // Each pair on its own: or the compiler sees through all stages to single copies, several times slower.
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
            tile[r].0 = c;
            tile[r + H].0 = d;
        }
    }
}
