//! Brackets of two letters at most on device buffers: what depth 2 needs, in one launch for each result.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::brackets::Element;
use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::brackets::PlaceLaunch;
use crate::kernel::pairs as kernel;
use crate::plan::Run;
use crate::recurrence::want;
use crate::sizes::CUBE;

/// The channels in order, then brackets of two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pairs {
    runs: Vec<Run>,
    hidden: usize,
    parameters: usize,
    channels: usize,
    /// `(p, q)` of each bracket.
    pairs: Vec<u32>,
    /// See `kernel::pairs`.
    uses: Vec<u32>,
}

impl Pairs {
    /// None if elements are others than these.
    pub(crate) fn new(blocks: &[usize], channels: usize, elements: &[Element]) -> Option<Self> {
        let (letters, brackets) = elements.split_at_checked(channels)?;
        if !letters.iter().enumerate().all(|(k, own)| *own == Element::Letter(k)) {
            return None;
        }
        let (mut pairs, mut of) = (Vec::with_capacity(2 * brackets.len()), vec![Vec::new(); channels]);
        for (m, bracket) in (channels..).zip(brackets) {
            let &Element::Pair(p, q) = bracket else { return None };
            if p >= channels || q >= channels {
                return None;
            }
            pairs.extend([p as u32, q as u32]);
            of[q].extend([m as u32, p as u32, 1]);
            of[p].extend([m as u32, q as u32, 0]);
        }
        let mut uses: Vec<u32> = vec![0];
        for own in &of {
            uses.push(uses[uses.len() - 1] + (own.len() / 3) as u32);
        }
        uses.extend(of.concat());
        Some(Self {
            runs: Run::of(blocks),
            hidden: blocks.iter().sum(),
            parameters: blocks.iter().map(|b| b * b).sum(),
            channels,
            pairs,
            uses,
        })
    }

    fn elements(&self) -> usize {
        self.channels + self.pairs.len() / 2
    }

    pub(crate) fn matrices<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        let (out, pairs) = (gpu.floats(self.elements() * self.parameters), self.on(gpu, &self.pairs));
        for &run in &self.runs {
            let units = self.elements() * run.entries();
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                kernel::pair_matrices::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(a, self.channels * self.parameters),
                    array(&out, self.elements() * self.parameters),
                    array(&pairs, self.pairs.len()),
                    self.channels,
                    self.place(run, units),
                    run.b,
                );
            }
        }
        Ok(out)
    }

    pub(crate) fn matrices_backward<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, gradient: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        want("the gradient", gradient, self.elements() * self.parameters)?;
        let (out, uses) = (gpu.floats(self.channels * self.parameters), self.on(gpu, &self.uses));
        for &run in &self.runs {
            let units = self.channels * run.entries();
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                kernel::pair_matrices_back::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(a, self.channels * self.parameters),
                    array(gradient, self.elements() * self.parameters),
                    array(&out, self.channels * self.parameters),
                    array(&uses, self.uses.len()),
                    self.channels,
                    self.place(run, units),
                    run.b,
                );
            }
        }
        Ok(out)
    }

    pub(crate) fn vectors<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, b: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        let (out, pairs) = (gpu.floats(self.elements() * self.hidden), self.on(gpu, &self.pairs));
        for &run in &self.runs {
            let units = self.elements() * run.b * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                kernel::pair_vectors::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(a, self.channels * self.parameters),
                    array(b, self.channels * self.hidden),
                    array(&out, self.elements() * self.hidden),
                    array(&pairs, self.pairs.len()),
                    self.channels,
                    self.place(run, units),
                    run.b,
                );
            }
        }
        Ok(out)
    }

    pub(crate) fn vectors_backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        a: &Handle,
        b: &Handle,
        gradient: &Handle,
    ) -> Result<[Handle; 2], Error> {
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        want("the gradient", gradient, self.elements() * self.hidden)?;
        let (da, db) = (gpu.floats(self.channels * self.parameters), gpu.floats(self.channels * self.hidden));
        let uses = self.on(gpu, &self.uses);
        for &run in &self.runs {
            let (entries, states) = (self.channels * run.entries(), self.channels * run.b * run.count);
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                let g = || array(gradient, self.elements() * self.hidden);
                let uses = || array(&uses, self.uses.len());
                kernel::pair_vectors_back::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(states),
                    CubeDim::new_1d(CUBE),
                    array(a, self.channels * self.parameters),
                    g(),
                    array(&db, self.channels * self.hidden),
                    uses(),
                    self.channels,
                    self.place(run, states),
                    run.b,
                );
                kernel::pair_outer::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(entries),
                    CubeDim::new_1d(CUBE),
                    array(b, self.channels * self.hidden),
                    g(),
                    array(&da, self.channels * self.parameters),
                    uses(),
                    self.channels,
                    self.place(run, entries),
                    run.b,
                );
            }
        }
        Ok([da, db])
    }

    fn on<R: Runtime>(&self, gpu: &Gpu<R>, table: &[u32]) -> Handle {
        // An empty buffer cannot be made; nothing is read from it.
        gpu.client().create_from_slice(bytemuck::cast_slice(if table.is_empty() { &[0] } else { table }))
    }

    fn place<R: Runtime>(&self, run: Run, units: usize) -> PlaceLaunch<R> {
        PlaceLaunch::new(run.entry, run.entries(), run.at, run.b * run.count, self.parameters, self.hidden, units)
    }
}
