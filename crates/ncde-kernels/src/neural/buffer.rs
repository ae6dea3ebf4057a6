//! Working memory that starts on a cache line, so that whole registers never straddle two.

use std::ops::{Deref, DerefMut};

use ncde_simd::Float;

/// The bytes of a cache line, and of the widest register.
const LINE: usize = 64;

/// Numbers that start on a cache line.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Self { data: Vec::new(), start: 0, len: 0 }
    }
}

impl<T: Float> Buffer<T> {
    /// So many zeros, in the memory that is there if it is enough.
    pub(crate) fn reset(&mut self, len: usize) {
        self.data.clear();
        self.data.resize(len + LINE / size_of::<T>(), T::ZERO);
        // It never answers "impossible" here, and any start is correct.
        self.start = self.data.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
        self.len = len;
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
