//! Steps with values along registers, and matrices into that layout and out of it:
//!
//! ```text
//! S <- S diag(w) + u c^T + v k^T,   o = S q,   u <- S r
//! ```
//!
//! Rows of `S` never meet but in `u`, so that a tile of some rows takes all steps of a chunk alone. It is stored by keys, `[K, tile]`: sums over keys
//! need no sum within a register, and a step passes over the tile once, since the `u` of the next step is summed while this one writes.

use ncde_simd::{Float, Kernel, Number, Simd};

/// The registers of a tile.
pub(super) type Registers<T, S, const N: usize> = [<T as ncde_simd::Vector>::V<S>; N];

/// The numbers in a register.
pub(super) const fn lanes<T: Float, S: Simd>() -> usize {
    size_of::<T::V<S>>() / size_of::<T>()
}

/// At most `N` registers of numbers; missing ones are zero.
#[inline(always)]
pub(super) fn read<T: Float, S: Simd, const N: usize>(simd: S, x: &[T]) -> Registers<T, S, N> {
    let mut out = [T::broadcast(simd, T::ZERO); N];
    let (whole, rest) = T::split::<S>(x);
    for i in 0..N {
        if i < whole.len() {
            out[i] = whole[i];
        } else if i == whole.len() && !rest.is_empty() {
            out[i] = T::load(simd, rest);
        }
    }
    out
}

/// As many numbers as `x` has room for.
#[inline(always)]
pub(super) fn write<T: Float, S: Simd, const N: usize>(simd: S, registers: Registers<T, S, N>, x: &mut [T]) {
    let (whole, rest) = T::split_mut::<S>(x);
    let count = whole.len();
    for i in 0..N {
        if i < count {
            whole[i] = registers[i];
        } else if i == count && !rest.is_empty() {
            T::store(simd, rest, registers[i]);
        }
    }
}

/// The numbers of `K` entries that a step of a [`Pass`] has; `c` and `r` may be empty where it has no `u`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a, T> {
    pub(super) w: &'a [T],
    pub(super) c: &'a [T],
    pub(super) k: &'a [T],
    pub(super) q: &'a [T],
    pub(super) r: &'a [T],
    pub(super) v: &'a [T],
}

/// Some steps of a state.
pub(super) struct Pass<'a, T> {
    pub(super) keys: usize,
    pub(super) values: usize,
    pub(super) rows: &'a [Row<'a, T>],
    /// Tile after tile.
    pub(super) state: &'a mut [T],
    /// `u` before the first and after each of the steps, `[steps + 1, V]`, or empty without `u`.
    pub(super) u: &'a mut [T],
    /// `[steps, V]`.
    pub(super) o: &'a mut [T],
}

/// Zero, or NaN if a number of `o` is not finite.
impl<T: Float> Kernel for Pass<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> T {
        let (mut first, mut check, delta) = (0, T::ZERO, !self.u.is_empty());
        while first < self.values {
            let wide = self.values - first > lanes::<T, S>();
            check += match (wide, delta) {
                (true, true) => self.tile::<S, 2, true>(simd, first),
                (true, false) => self.tile::<S, 2, false>(simd, first),
                (false, true) => self.tile::<S, 1, true>(simd, first),
                (false, false) => self.tile::<S, 1, false>(simd, first),
            };
            first += if wide { 2 } else { 1 } * lanes::<T, S>();
        }
        check
    }
}

impl<T: Float> Pass<'_, T> {
    /// All steps of the tile that starts with value `first`.
    #[inline(always)]
    fn tile<S: Simd, const N: usize, const DELTA: bool>(&mut self, simd: S, first: usize) -> T {
        let &mut Self { keys, values, rows, .. } = self;
        let width = N * lanes::<T, S>();
        let end = values.min(first + width);
        let state = &mut self.state[first * keys..][..keys * width];
        let zero = T::broadcast(simd, T::ZERO);
        let (mut u, mut check) = ([zero; N], zero);
        if DELTA {
            u = read(simd, &self.u[first..end]);
        }
        for (t, row) in rows.iter().enumerate() {
            let v = read(simd, &row.v[first..end]);
            let [o, next] = step::<T, S, N, DELTA>(simd, state, row, [u, v]);
            for o in o {
                check = T::multiply_add(simd, zero, o, check);
            }
            write(simd, o, &mut self.o[t * values..][first..end]);
            if DELTA {
                write(simd, next, &mut self.u[(t + 1) * values..][first..end]);
                u = next;
            }
        }
        T::total(simd, check)
    }
}

/// One step of a tile: `o` and the next `u`.
#[inline(always)]
fn step<T: Float, S: Simd, const N: usize, const DELTA: bool>(
    simd: S,
    state: &mut [T],
    row: &Row<'_, T>,
    [u, v]: [Registers<T, S, N>; 2],
) -> [Registers<T, S, N>; 2] {
    let mut sums = [[T::broadcast(simd, T::ZERO); N]; 2];
    let columns = T::split_mut::<S>(state).0.as_chunks_mut::<N>().0;
    let keys = columns.len();
    let (w, k, q) = (&row.w[..keys], &row.k[..keys], &row.q[..keys]);
    let (mut c, mut r) = (q, q);
    if DELTA {
        (c, r) = (&row.c[..keys], &row.r[..keys]);
    }
    for i in 0..keys {
        let (w, k, q) = (T::broadcast(simd, w[i]), T::broadcast(simd, k[i]), T::broadcast(simd, q[i]));
        let (c, r) = (T::broadcast(simd, c[i]), T::broadcast(simd, r[i]));
        for j in 0..N {
            let mut s = T::times(simd, w, columns[i][j]);
            if DELTA {
                s = T::multiply_add(simd, c, u[j], s);
            }
            s = T::multiply_add(simd, k, v[j], s);
            columns[i][j] = s;
            sums[0][j] = T::multiply_add(simd, q, s, sums[0][j]);
            if DELTA {
                sums[1][j] = T::multiply_add(simd, r, s, sums[1][j]);
            }
        }
    }
    sums
}

/// The numbers of a state of `values` rows in tiles.
pub(super) fn tiled<T: Float>(keys: usize, values: usize) -> usize {
    keys * values.next_multiple_of(T::Register::WIDTH)
}

/// Where tiles start, and how wide they are.
#[inline(always)]
fn tile_width<T: Float, S: Simd>(left: usize) -> usize {
    if left > lanes::<T, S>() { 2 * lanes::<T, S>() } else { lanes::<T, S>() }
}

/// The most rows that are transposed at once.
const MAX_ROWS: usize = 16;

/// From `[V, K]` to tiles; an empty matrix is zero. `scratch` holds any numbers.
#[inline(always)]
pub(super) fn enter<T: Float, S: Simd>(
    simd: S,
    [keys, values]: [usize; 2],
    matrix: &[T],
    state: &mut [T],
    scratch: &mut Vec<T::Register>,
) {
    if matrix.is_empty() {
        state.fill(T::ZERO);
        return;
    }
    scratch.resize(keys, T::Register::ZEROS);
    let mut first = 0;
    while first < values {
        let width = tile_width::<T, S>(values - first);
        let tile = &mut state[first * keys..][..keys * width];
        let end = values.min(first + width);
        let mut row = first;
        while row < end {
            let count = T::Register::WIDTH.min(end - row);
            let mut rows: [&[T]; MAX_ROWS] = [&[]; MAX_ROWS];
            for l in 0..count {
                rows[l] = &matrix[(row + l) * keys..][..keys];
            }
            T::Register::gather(simd, &rows[..count], scratch);
            for (column, numbers) in tile.chunks_exact_mut(width).zip(&*scratch) {
                let at = row - first;
                numbers.write(&mut column[at..width.min(at + T::Register::WIDTH)]);
            }
            row += T::Register::WIDTH;
        }
        first += width;
    }
}

/// From tiles to `[V, K]`. `scratch` holds any numbers.
#[inline(always)]
pub(super) fn leave<T: Float, S: Simd>(
    simd: S,
    [keys, values]: [usize; 2],
    state: &[T],
    matrix: &mut [T],
    scratch: &mut Vec<T::Register>,
) {
    let mut first = 0;
    while first < values {
        let width = tile_width::<T, S>(values - first);
        let tile = &state[first * keys..][..keys * width];
        let end = values.min(first + width);
        scratch.resize(width, T::Register::ZEROS);
        let mut key = 0;
        while key < keys {
            let count = T::Register::WIDTH.min(keys - key);
            let mut rows: [&[T]; MAX_ROWS] = [&[]; MAX_ROWS];
            for l in 0..count {
                rows[l] = &tile[(key + l) * width..][..width];
            }
            T::Register::gather(simd, &rows[..count], scratch);
            for (row, numbers) in matrix[first * keys..end * keys].chunks_exact_mut(keys).zip(&*scratch) {
                numbers.write(&mut row[key..key + count]);
            }
            key += T::Register::WIDTH;
        }
        first += width;
    }
}
