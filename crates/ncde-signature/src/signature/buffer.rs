//! Working memory that starts on a cache line, so that whole registers never straddle two.

use std::ops::{Deref, DerefMut};

use ncde_simd::Number;

/// The bytes of a cache line, and of the widest register.
pub(crate) const LINE: usize = 64;

/// Numbers that start on a cache line.
#[derive(Debug)]
pub(crate) struct Buffer<E> {
    data: Vec<E>,
    start: usize,
    len: usize,
}

impl<E: Number> Buffer<E> {
    pub(crate) fn zeros(len: usize) -> Self {
        let data = vec![E::ZEROS; len + LINE / size_of::<E>()];
        // It never answers "impossible" here, and any start is correct.
        let start = data.as_ptr().align_offset(LINE).min(LINE / size_of::<E>());
        Self { data, start, len }
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
