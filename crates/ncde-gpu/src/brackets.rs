//! The matrices and vectors of brackets on device buffers, for blocks along the diagonal.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::brackets::{self as kernel, RunOffsetsLaunch};
use crate::plan::Run;
use crate::recurrence::want;

/// A letter, or the bracket of two elements before it, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A channel.
    Letter(usize),
    /// `[P, Q]`.
    Pair(usize, usize),
}

/// The brackets of a linear field whose matrices are blocks along the diagonal, in an order in which launches take them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brackets {
    runs: Vec<Run>,
    hidden: usize,
    parameters: usize,
    elements: usize,
    channels: usize,
    /// All numbers below, one after the other.
    table: Vec<u32>,
    /// `(element, channel)`, and `(channel, element)`.
    letters: [Part; 2],
    /// For each level from the second on: `(m, p, q)`.
    levels: Vec<Part>,
    /// The same: `(X, first use, end)`.
    uses: Vec<Part>,
    /// Whether the first elements are the channels, in order, and all others brackets of two of them: one launch for all elements.
    is_direct: bool,
    /// Of all levels: `(X, first use, end)`, an empty range for elements that are part of nothing.
    all_uses: Part,
}

/// A part of the table: where it begins, and how many entries it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Part {
    first: usize,
    count: usize,
}

impl Brackets {
    /// Brackets of matrices with blocks of these sizes, over so many channels.
    ///
    /// # Errors
    /// If an element refers to one that is not before it, or a channel has not exactly one letter.
    pub fn new(blocks: &[usize], channels: usize, elements: &[Element]) -> Result<Self, Error> {
        let wrong = |what| Error::Empty { what };
        let mut level = Vec::with_capacity(elements.len());
        let mut letters = vec![None; channels];
        let mut pairs: Vec<(usize, [usize; 3])> = Vec::new();
        for (m, element) in elements.iter().enumerate() {
            match *element {
                Element::Letter(k) => {
                    let letter =
                        letters.get_mut(k).filter(|letter| letter.is_none()).ok_or_else(|| wrong("a letter of its own"))?;
                    *letter = Some(m);
                    level.push(1_usize);
                }
                Element::Pair(p, q) if p < m && q < m => {
                    level.push(level[p] + level[q]);
                    pairs.push((level[m], [m, p, q]));
                }
                Element::Pair(..) => return Err(wrong("an element before its bracket")),
            }
        }
        let letters: Vec<usize> = letters.into_iter().collect::<Option<_>>().ok_or_else(|| wrong("the letter of a channel"))?;
        let deepest = level.iter().copied().max().unwrap_or(1);
        // Uses come first, so that their places in threes are known.
        let mut table: Vec<u32> = Vec::new();
        let mut ranges = |wanted: &dyn Fn(usize) -> bool| {
            let mut uses = vec![Vec::new(); elements.len()];
            for &(_, [m, p, q]) in pairs.iter().filter(|(level, _)| wanted(*level)) {
                uses[q].extend([m as u32, p as u32, 1]);
                uses[p].extend([m as u32, q as u32, 0]);
            }
            let mut of = Vec::with_capacity(elements.len());
            for (x, uses) in uses.iter().enumerate() {
                let begin = table.len() / 3;
                table.extend(uses);
                of.push([x as u32, begin as u32, (table.len() / 3) as u32]);
            }
            of
        };
        let by_level: Vec<Vec<[u32; 3]>> = (2..=deepest)
            .map(|degree| ranges(&|other| other == degree).into_iter().filter(|[_, begin, end]| begin < end).collect())
            .collect();
        let of_all = ranges(&|_| true);
        let mut part = |numbers: Vec<u32>, width: usize| {
            let first = table.len();
            table.extend(&numbers);
            Part { first, count: numbers.len() / width }
        };
        let uses = by_level.into_iter().map(|records| part(records.concat(), 3)).collect();
        let all_uses = part(of_all.concat(), 3);
        let levels = (2..=deepest)
            .map(|degree| {
                part(pairs.iter().filter(|(level, _)| *level == degree).flat_map(|(_, of)| of.map(|i| i as u32)).collect(), 3)
            })
            .collect();
        let pair = |turned: bool| letters.iter().enumerate().flat_map(move |(k, &m)| if turned { [k, m] } else { [m, k] });
        let letters = [false, true].map(|turned| part(pair(turned).map(|i| i as u32).collect(), 2));
        let is_direct = elements.iter().enumerate().all(|(m, element)| match *element {
            Element::Letter(k) => m == k,
            Element::Pair(p, q) => p < channels && q < channels && m >= channels,
        });
        let (runs, hidden, parameters) = (Run::of(blocks), blocks.iter().sum(), blocks.iter().map(|b| b * b).sum());
        let elements = elements.len();
        Ok(Self { runs, hidden, parameters, elements, channels, table, letters, levels, uses, is_direct, all_uses })
    }

    /// `A_P` of every element, `[elements, parameters]`, from those of the channels.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn matrices<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        Ok(self.elements(gpu, a, a, &gpu.indices(&self.table), false))
    }

    /// The gradient in the matrices of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn matrices_backward<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, gradient: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        want("the gradient", gradient, self.elements * self.parameters)?;
        let table = gpu.indices(&self.table);
        Ok(self.channel_gradient(gpu, &self.read_matrices(gpu, a, &table), gradient, &table, false).0)
    }

    /// `c_P` of every element, `[elements, H]`, from the vectors of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn vectors<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, b: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        let table = gpu.indices(&self.table);
        Ok(self.elements(gpu, &self.read_matrices(gpu, a, &table), b, &table, true))
    }

    /// The gradients in the matrices and in the vectors of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn vectors_backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        a: &Handle,
        b: &Handle,
        gradient: &Handle,
    ) -> Result<[Handle; 2], Error> {
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        want("the gradient", gradient, self.elements * self.hidden)?;
        let table = gpu.indices(&self.table);
        let all = self.read_matrices(gpu, a, &table);
        let (db, g) = self.channel_gradient(gpu, &all, gradient, &table, true);
        if self.is_direct {
            return Ok([self.outer(gpu, (b, self.channels), &g, &table), db]);
        }
        let vectors = self.elements(gpu, &all, b, &table, true);
        let of_elements = self.outer(gpu, (&vectors, self.elements), &g, &table);
        Ok([self.channel_gradient(gpu, &all, &of_elements, &table, false).0, db])
    }

    /// The matrices that brackets are computed from: those of all elements; of the channels alone where that is enough.
    fn read_matrices<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, table: &Handle) -> Handle {
        if self.is_direct { a.clone() } else { self.elements(gpu, a, a, table, false) }
    }

    /// The matrices or vectors of all elements from those of the channels.
    fn elements<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, channels: &Handle, table: &Handle, vectors: bool) -> Handle {
        if !self.is_direct {
            let all = self.copied(gpu, channels, vectors, table, false);
            for (run, units, place) in self.launches(self.levels.iter().copied(), vectors) {
                launch!(gpu, kernel::level, each units; [a, all, table], place, run.b, vectors);
            }
            return all;
        }
        let out = gpu.floats(self.elements * self.width(vectors));
        // The brackets of two letters.
        let brackets = self.levels.first().copied().unwrap_or_default();
        for (run, units, place) in self.launches([Part { count: self.elements, ..brackets }], vectors) {
            launch!(gpu, kernel::pairs, each units; [a, channels, out, table], place, run.b, vectors);
        }
        out
    }

    /// The gradient in the matrices or vectors of channels from that in all, and the latter with what brackets add to it, where those of several levels do.
    fn channel_gradient<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        a: &Handle,
        gradient: &Handle,
        table: &Handle,
        vectors: bool,
    ) -> (Handle, Handle) {
        if self.is_direct {
            let out = gpu.floats(self.channels * self.width(vectors));
            for (run, units, place) in self.launches([Part { count: self.channels, ..self.all_uses }], vectors) {
                launch!(gpu, kernel::pairs_back, each units; [a, gradient, out, table], place, run.b, vectors);
            }
            return (out, gradient.clone());
        }
        let g = gpu.scaled(gradient, 1.0);
        for (run, units, place) in self.launches(self.uses.iter().rev().copied(), vectors) {
            launch!(gpu, kernel::level_back, each units; [a, g, table], place, run.b, vectors);
        }
        (self.copied(gpu, &g, vectors, table, true), g)
    }

    /// The gradient of vectors in the matrices of the first so many elements, with their vectors.
    fn outer<R: Runtime>(&self, gpu: &Gpu<R>, (vectors, count): (&Handle, usize), gradient: &Handle, table: &Handle) -> Handle {
        let out = gpu.floats(count * self.parameters);
        for (run, units, place) in self.launches([Part { count, ..self.all_uses }], false) {
            launch!(gpu, kernel::outer, each units; [vectors, gradient, out, table], place, run.b);
        }
        out
    }

    /// Numbers of a vector, or of a matrix.
    fn width(&self, vectors: bool) -> usize {
        if vectors { self.hidden } else { self.parameters }
    }

    /// Rows of channels in room for those of elements, or the way back.
    fn copied<R: Runtime>(&self, gpu: &Gpu<R>, from: &Handle, vectors: bool, table: &Handle, back: bool) -> Handle {
        let (rows, width) = (if back { self.channels } else { self.elements }, self.width(vectors));
        let letters = self.letters[usize::from(back)];
        let (to, units) = (gpu.floats(rows * width), letters.count * width);
        launch!(gpu, kernel::copy, each units; [from, to, table], letters.first, width, units);
        to
    }

    /// For each part of the table and each run of blocks, how many units a launch has for the numbers of all items, and its sizes.
    fn launches<R: Runtime>(
        &self,
        parts: impl IntoIterator<Item = Part>,
        vectors: bool,
    ) -> impl Iterator<Item = (Run, usize, RunOffsetsLaunch<R>)> {
        let (&Self { parameters, hidden, channels, .. }, whole) = (self, self.width(vectors));
        parts.into_iter().flat_map(move |part| {
            self.runs.iter().map(move |run| {
                let (at, numbers) = if vectors { (run.at, run.b * run.count) } else { (run.entry, run.entries()) };
                let units = part.count * numbers;
                let place =
                    RunOffsetsLaunch::new(run.entry, parameters, at, numbers, whole, run.at, hidden, channels, part.first, units);
                (*run, units, place)
            })
        })
    }
}
