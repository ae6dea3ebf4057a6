//! Signatures and log-signatures of piecewise linear paths, on device buffers.
//!
//! ```text
//! S = exp(x_1) exp(x_2) ... exp(x_m)   of increments x_t,   up to words of N letters;   log S in the coordinates of a basis
//! ```
//!
//! The same as `ncde_signature::Signature`, in `f32`, words in the same order. Parallel are paths, windows, chunks of long paths, and the words of each: a unit goes through the steps of a window with a few
//! words in registers and waits for none (`kernel::signature::steps`). The reverse pass computes the states again, below the last level and after every step, and goes back through them with a cube for each
//! window or chunk (`kernel::signature::back`): only the path is stored between the passes. Gradients are sums in one order, whatever the device does first.

mod coordinates;
pub(crate) mod cut;
mod passes;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::Gpu;
use crate::error::Error;
use crate::recurrence::{want, want_countable, want_some};
pub use coordinates::Coordinates;
use cut::{Cut, Pieces, Words};
use passes::Pass;

/// The parts of a path that results are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Over {
    /// The whole path: one result.
    Whole,
    /// Every prefix: one result for each increment.
    Prefixes,
    /// Windows of this many increments; neighbours share an observation, the last may be shorter.
    Windows(usize),
}

/// What is computed of a part of a path.
#[derive(Debug, Clone)]
pub enum Output {
    /// The signature, without its leading 1.
    Signature,
    /// The log-signature at every word.
    Expanded,
    /// The log-signature in the coordinates of a basis.
    Basis(Coordinates),
}

/// The transform.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Channels of paths.
    pub channels: usize,
    /// The most letters of a word.
    pub depth: usize,
    /// What is computed.
    pub output: Output,
}

/// The paths of one call.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many.
    pub batch: usize,
    /// Observations of each, at least two.
    pub length: usize,
    /// `[batch, length, channels]`, contiguous.
    pub path: Handle,
}

impl Over {
    /// Results of a path of so many increments, as the ends of pieces.
    fn pieces(self, steps: usize) -> Pieces {
        Pieces::new(
            steps,
            match self {
                Self::Whole => steps,
                Self::Prefixes => 1,
                Self::Windows(size) => size,
            },
        )
    }

    /// Results of a path of so many observations.
    pub fn results(self, length: usize) -> usize {
        if length < 2 { 0 } else { self.pieces(length - 1).count }
    }
}

impl Signature {
    /// Numbers of one result. Meaningless where the words cannot be counted; nothing is computed then.
    #[expect(clippy::len_without_is_empty, reason = "there is always a level 1")]
    pub fn len(&self) -> usize {
        match &self.output {
            Output::Basis(coordinates) => coordinates.len(),
            _ => Words::new(self.channels, self.depth).map_or(0, |words| words.len()),
        }
    }

    /// Whether the device takes paths of this shape: a cube has room for the words below the last level, and numbers can be counted.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>, over: Over, batch: usize, length: usize) -> bool {
        self.cut(gpu, over, batch, length).is_ok()
    }

    /// The results, `[batch, results, len]`. Values that are not finite are handed on.
    ///
    /// # Errors
    /// If a buffer has the wrong size, there is nothing to compute, or the shape does not [fit](Self::fits).
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, over: Over, arrays: &Arrays) -> Result<Handle, Error> {
        let pass = self.pass(gpu, over, arrays)?;
        let signatures = pass.signatures();
        Ok(match &self.output {
            Output::Signature => signatures,
            Output::Expanded => pass.expanded(&signatures),
            Output::Basis(coordinates) => pass.coordinates(coordinates, &signatures),
        })
    }

    /// The gradient of the paths, `[batch, length, channels]`, from that of the results.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(&self, gpu: &Gpu<R>, over: Over, arrays: &Arrays, gradient: &Handle) -> Result<Handle, Error> {
        let pass = self.pass(gpu, over, arrays)?;
        want("the gradient", gradient, arrays.batch * over.results(arrays.length) * self.len())?;
        let states = pass.states();
        Ok(match &self.output {
            Output::Signature => pass.path(&states, gradient),
            Output::Expanded => pass.path(&states, &pass.log_back(&states, gradient)),
            Output::Basis(coordinates) => {
                let of_log = pass.spread(coordinates, gradient);
                pass.path(&states, &pass.log_back(&states, &of_log))
            }
        })
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the call, ready to be made.
    fn pass<'a, R: Runtime>(&self, gpu: &'a Gpu<R>, over: Over, arrays: &'a Arrays) -> Result<Pass<'a, R>, Error> {
        let (of, cut) = self.cut(gpu, over, arrays.batch, arrays.length)?;
        want("the path", &arrays.path, arrays.batch * arrays.length * self.channels)?;
        Ok(Pass { gpu, of, cut, over, arrays })
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>, over: Over, batch: usize, length: usize) -> Result<(Words, Cut), Error> {
        let steps = length.saturating_sub(1);
        let window = if let Over::Windows(size) = over { size } else { 1 };
        let sizes = [
            ("the batch", batch),
            ("the number of increments", steps),
            ("the number of channels", self.channels),
            ("the depth", self.depth),
            ("the window", window),
        ];
        want_some(&sizes)?;
        let fix = "take fewer channels or a lower depth, or `--device cpu`";
        let hardware = &gpu.client().properties().hardware;
        let (units, most) = (hardware.max_units_per_cube as usize, hardware.max_shared_memory_size);
        let Some(of) = Words::new(self.channels, self.depth) else {
            return Err(Error::TooLarge { what: "the depth with so many channels", seen: self.depth, most: 1, fix });
        };
        if let Output::Basis(coordinates) = &self.output {
            coordinates.check(of)?;
        }
        // Whole paths are cut into chunks.
        let turns = match over {
            Over::Whole => 1,
            Over::Prefixes => steps,
            Over::Windows(size) => size.min(steps),
        };
        let Some(cut) = Cut::new(of, turns, units, most) else {
            let (what, seen) = ("what a window keeps at hand, in bytes", Cut::of(of, units).bytes(of));
            return Err(Error::TooLarge { what, seen, most, fix });
        };
        let row = of.len().max(self.len()).max(of.slope(of.depth));
        let counts = [(batch, steps, of.below()), (batch, over.results(length), row), (batch, length, self.channels)];
        for (a, b, c) in counts {
            want_countable(a.saturating_mul(b).saturating_mul(c))?;
        }
        Ok((of, cut))
    }
}
