//! The norm of gradients and the update of weights on device buffers, for all weights at once.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::rows::adam::{self, ConstantsLaunch};
use crate::kernel::rows::sums;
use crate::recurrence::want;
use crate::sizes::CUBE;

/// The constants of one update by Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamConstants {
    /// What the gradient is multiplied with.
    pub factor: f64,
    /// The decay of the mean of gradients, and of their squares.
    pub beta: [f64; 2],
    /// The learning rate, corrected for a mean that began at 0.
    pub rate: f64,
    /// The correction of the mean of squares.
    pub correction: f64,
    /// What decay leaves of a weight.
    pub keep: f64,
    /// What is added to the root of the mean square.
    pub epsilon: f64,
}

impl<R: Runtime> Gpu<R> {
    /// Parts of the sums of squares of some buffers, each with how many numbers it has: as many parts for each, one after the other.
    pub fn squares(&self, of: &[(&Handle, usize)]) -> Vec<Handle> {
        let some = (self.bindings() - 1).max(1);
        let each = |of: &[(&Handle, usize)]| {
            let out = self.floats(of.len() * sums::SHARED);
            self.count();
            // SAFETY: callers give the sizes of their buffers.
            unsafe {
                let x = of.iter().map(|&(numbers, count)| array(numbers, count)).collect();
                sums::squares::launch_unchecked::<R>(
                    self.client(),
                    CubeCount::Static(sums::SHARED as u32, of.len() as u32, 1),
                    CubeDim::new_1d(sums::TEAM as u32),
                    x,
                    array(&out, of.len() * sums::SHARED),
                    of.len(),
                );
            }
            out
        };
        of.chunks(some).map(each).collect()
    }

    /// Weights, means of gradients and means of their squares after one update, for several weights at once; `old` are those before it, the gradient, and how many
    /// numbers each has.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn adam(&self, with: AdamConstants, old: &[([&Handle; 4], usize)]) -> Result<Vec<[Handle; 3]>, Error> {
        for (handles, numbers) in old {
            handles.iter().try_for_each(|own| want("a weight, its means or its gradient", own, *numbers))?;
        }
        let mut new = Vec::with_capacity(old.len());
        for some in old.chunks(((self.bindings() - 1) / 4).max(1)) {
            let room = |numbers: usize| numbers.next_multiple_of(adam::ALIGNED);
            let all: usize = some.iter().map(|&(_, numbers)| room(numbers)).sum();
            let most = some.iter().map(|&(_, numbers)| numbers).max().unwrap_or(0);
            let out = self.floats(3 * all);
            self.count();
            // SAFETY: checked above.
            unsafe {
                let [weights, means, squares, gradients] =
                    [0, 1, 2, 3].map(|k| some.iter().map(|&(handles, numbers)| array(handles[k], numbers)).collect());
                adam::update::launch_unchecked::<R>(
                    self.client(),
                    CubeCount::Static((most as u32).div_ceil(CUBE), some.len() as u32, 1),
                    CubeDim::new_1d(CUBE),
                    weights,
                    means,
                    squares,
                    gradients,
                    array(&out, 3 * all),
                    all,
                    ConstantsLaunch::new(
                        with.factor as f32,
                        with.beta[0] as f32,
                        with.beta[1] as f32,
                        with.rate as f32,
                        with.correction as f32,
                        with.keep as f32,
                        with.epsilon as f32,
                    ),
                    some.len(),
                );
            }
            let (mut first, whole) = (0, 3 * all);
            for &(_, numbers) in some {
                let part = |from: usize| {
                    let bytes = |numbers: usize| (numbers * size_of::<f32>()) as u64;
                    out.clone().offset_start(bytes(from)).offset_end(bytes(whole - from - numbers))
                };
                new.push([part(first), part(all + first), part(2 * all + first)]);
                first += room(numbers);
            }
        }
        Ok(new)
    }
}
