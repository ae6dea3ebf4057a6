//! Working memory that starts on a cache line, so that no register lies across two lines.

use std::ops::{Deref, DerefMut};

use crate::Number;

/// The bytes of a cache line, and of the widest register.
pub const CACHE_LINE: usize = 64;

/// An array of numbers that starts on a cache line.
#[derive(Debug, Default)]
pub struct Buffer<E> {
    data: Vec<E>,
    start: usize,
    len: usize,
}

impl<E: Number> Buffer<E> {
    /// A buffer of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.reset(len);
        buffer
    }

    /// Makes it `len` zeros, in the memory it has if that is enough.
    pub fn reset(&mut self, len: usize) {
        let padding = CACHE_LINE / size_of::<E>();
        self.data.clear();
        self.data.resize(len + padding, E::ZEROS);
        // `align_offset` may fail by contract; any start gives correct results.
        self.start = self.data.as_ptr().align_offset(CACHE_LINE).min(padding);
        self.len = len;
    }
}

impl<E> Deref for Buffer<E> {
    type Target = [E];
    #[inline(always)]
    fn deref(&self) -> &[E] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<E> DerefMut for Buffer<E> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [E] {
        &mut self.data[self.start..self.start + self.len]
    }
}
