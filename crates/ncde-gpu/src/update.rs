//! The norm of gradients and the update of weights on device buffers, for all weights at once.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array, first, launch};
use crate::error::Error;
use crate::kernel::rows::adam::{self, ConstantsLaunch};
use crate::kernel::rows::sums;
use crate::recurrence::want;
use crate::sizes::CUBE;

/// The constants of one update by Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamConstants {
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
    /// What the gradients of a loss are multiplied with so that their norm is at most `most` (no limit if 0), or -1 where the loss or the norm is no number; the loss; the sum of squares. Gradients
    /// each with how many numbers they have. Nothing is waited for.
    pub fn limit(&self, loss: &Handle, gradients: &[(&Handle, usize)], most: f64) -> Handle {
        let (squares, out, count) = (self.squares(gradients), self.floats(3), gradients.len() * sums::SHARED);
        self.count();
        launch!(self, sums::limit, CubeCount::Static(1, 1, 1), sums::TEAM; [loss, squares, out], count, most as f32);
        out
    }

    /// Parts of the sums of squares of some buffers, each with how many numbers it has: as many parts for each, one after the other.
    pub fn squares(&self, of: &[(&Handle, usize)]) -> Handle {
        let group = (self.bindings() - 1).max(1);
        let out = self.floats(of.len() * sums::SHARED);
        for (i, part) in of.chunks(group).enumerate() {
            self.count();
            let x = part.iter().map(|&(numbers, count)| first(numbers, count)).collect();
            launch!(self, sums::squares, CubeCount::Static(sums::SHARED as u32, part.len() as u32, 1), sums::TEAM;
                x, array(&out), i * group, part.len());
        }
        out
    }

    /// Weights, means of gradients and means of their squares after one update, for several weights at once; `old` are those before it, the gradient, and how many
    /// numbers each has. The first number of `limit` is what gradients are multiplied with; below 0 everything stays as it is.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn adam(&self, with: AdamConstants, limit: &Handle, old: &[([&Handle; 4], usize)]) -> Result<Vec<[Handle; 3]>, Error> {
        want("the limit of gradients", limit, 1)?;
        for (handles, numbers) in old {
            handles.iter().try_for_each(|handle| want("a weight, its means or its gradient", handle, *numbers))?;
        }
        let mut new = Vec::with_capacity(old.len());
        for group in old.chunks(((self.bindings() - 2) / 4).max(1)) {
            let room = |numbers: usize| numbers.next_multiple_of(adam::ALIGNED);
            let all: usize = group.iter().map(|&(_, numbers)| room(numbers)).sum();
            let most = group.iter().map(|&(_, numbers)| numbers).max().unwrap_or(0);
            let out = self.floats(3 * all);
            self.count();
            let [weights, means, squares, gradients] =
                [0, 1, 2, 3].map(|k| group.iter().map(|&(handles, numbers)| first(handles[k], numbers)).collect());
            launch!(self, adam::update, CubeCount::Static((most as u32).div_ceil(CUBE), group.len() as u32, 1), CUBE;
                weights, means, squares, gradients, array(limit), array(&out), all,
                ConstantsLaunch::new(with.beta[0] as f32, with.beta[1] as f32, with.rate as f32, with.correction as f32, with.keep as f32, with.epsilon as f32),
                group.len());
            let (mut begin, whole) = (0, 3 * all);
            for &(_, numbers) in group {
                let part = |from: usize| {
                    let bytes = |numbers: usize| (numbers * size_of::<f32>()) as u64;
                    out.clone().offset_start(bytes(from)).offset_end(bytes(whole - from - numbers))
                };
                new.push([part(begin), part(all + begin), part(2 * all + begin)]);
                begin += room(numbers);
            }
        }
        Ok(new)
    }
}
