//! The matrices and vectors of brackets on device buffers, for blocks along the diagonal.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array, launch};
use crate::error::Error;
use crate::kernel::brackets::{self as kernel, PlaceLaunch};
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
        let table = gpu.indices(&self.table);
        if !self.is_direct {
            return Ok(self.all_matrices(gpu, a, &table));
        }
        let out = gpu.floats(self.elements * self.parameters);
        for (run, units, place) in self.launches([Part { count: self.elements, ..self.brackets() }], true) {
            launch!(gpu, kernel::pair_matrices, each units;
                array(a, self.channels * self.parameters), self.matrices_arg(&out), self.table_arg(&table), place, run.b);
        }
        Ok(out)
    }

    /// The gradient in the matrices of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn matrices_backward<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, gradient: &Handle) -> Result<Handle, Error> {
        let of_channels = self.channels * self.parameters;
        want("A", a, of_channels)?;
        want("the gradient", gradient, self.elements * self.parameters)?;
        let table = gpu.indices(&self.table);
        if !self.is_direct {
            let all = self.all_matrices(gpu, a, &table);
            return Ok(self.channel_gradient(gpu, &all, &gpu.scaled(gradient, 1.0), &table));
        }
        let out = gpu.floats(of_channels);
        for (run, units, place) in self.launches([Part { count: self.channels, ..self.all_uses }], true) {
            launch!(gpu, kernel::pair_matrices_back, each units;
                array(a, of_channels), self.matrices_arg(gradient), array(&out, of_channels), self.table_arg(&table), place,
                run.b);
        }
        Ok(out)
    }

    /// `c_P` of every element, `[elements, H]`, from the vectors of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn vectors<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, b: &Handle) -> Result<Handle, Error> {
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        let table = gpu.indices(&self.table);
        if !self.is_direct {
            return Ok(self.all_vectors(gpu, &self.all_matrices(gpu, a, &table), b, &table));
        }
        let out = gpu.floats(self.elements * self.hidden);
        for (run, units, place) in self.launches([Part { count: self.elements, ..self.brackets() }], false) {
            launch!(gpu, kernel::pair_vectors, each units;
                array(a, self.channels * self.parameters), array(b, self.channels * self.hidden), self.vectors_arg(&out),
                self.table_arg(&table), place, run.b);
        }
        Ok(out)
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
        let (of_matrices, of_vectors) = (self.channels * self.parameters, self.channels * self.hidden);
        want("A", a, of_matrices)?;
        want("B", b, of_vectors)?;
        want("the gradient", gradient, self.elements * self.hidden)?;
        let table = gpu.indices(&self.table);
        if self.is_direct {
            let db = gpu.floats(of_vectors);
            for (run, units, place) in self.launches([Part { count: self.channels, ..self.all_uses }], false) {
                launch!(gpu, kernel::pair_vectors_back, each units;
                    array(a, of_matrices), self.vectors_arg(gradient), array(&db, of_vectors), self.table_arg(&table), place,
                    run.b);
            }
            return Ok([self.outer(gpu, (b, self.channels), gradient, &table), db]);
        }
        let all = self.all_matrices(gpu, a, &table);
        let vectors = self.all_vectors(gpu, &all, b, &table);
        let g = gpu.scaled(gradient, 1.0);
        for (run, units, place) in self.launches(self.uses.iter().rev().copied(), false) {
            launch!(gpu, kernel::vectors_back, each units;
                self.matrices_arg(&all), self.vectors_arg(&g), self.table_arg(&table), place, run.b);
        }
        let of_elements = self.outer(gpu, (&vectors, self.elements), &g, &table);
        let db = self.copied(gpu, &g, self.hidden, &table, true);
        Ok([self.channel_gradient(gpu, &all, &of_elements, &table), db])
    }

    /// The gradient of vectors in the matrices of the first so many elements, with their vectors.
    fn outer<R: Runtime>(&self, gpu: &Gpu<R>, (vectors, count): (&Handle, usize), gradient: &Handle, table: &Handle) -> Handle {
        let out = gpu.floats(count * self.parameters);
        for (run, units, place) in self.launches([Part { count, ..self.all_uses }], true) {
            launch!(gpu, kernel::outer, each units;
                array(vectors, count * self.hidden), self.vectors_arg(gradient), array(&out, count * self.parameters),
                self.table_arg(table), place, run.b);
        }
        out
    }

    /// The brackets of two letters.
    fn brackets(&self) -> Part {
        self.levels.first().copied().unwrap_or_default()
    }

    fn all_matrices<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, table: &Handle) -> Handle {
        let all = self.copied(gpu, a, self.parameters, table, false);
        for (run, units, place) in self.launches(self.levels.iter().copied(), true) {
            launch!(gpu, kernel::matrices, each units; self.matrices_arg(&all), self.table_arg(table), place, run.b);
        }
        all
    }

    /// The gradient in the matrices of channels from that in all, which is used up.
    fn channel_gradient<R: Runtime>(&self, gpu: &Gpu<R>, all: &Handle, g: &Handle, table: &Handle) -> Handle {
        for (run, units, place) in self.launches(self.uses.iter().rev().copied(), true) {
            launch!(gpu, kernel::matrices_back, each units;
                self.matrices_arg(all), self.matrices_arg(g), self.table_arg(table), place, run.b);
        }
        self.copied(gpu, g, self.parameters, table, true)
    }

    fn all_vectors<R: Runtime>(&self, gpu: &Gpu<R>, all: &Handle, b: &Handle, table: &Handle) -> Handle {
        let vectors = self.copied(gpu, b, self.hidden, table, false);
        for (run, units, place) in self.launches(self.levels.iter().copied(), false) {
            launch!(gpu, kernel::vectors, each units;
                self.matrices_arg(all), self.vectors_arg(&vectors), self.table_arg(table), place, run.b);
        }
        vectors
    }

    /// Rows of channels in room for those of elements, or the way back.
    fn copied<R: Runtime>(&self, gpu: &Gpu<R>, from: &Handle, width: usize, table: &Handle, back: bool) -> Handle {
        let (rows, to_rows) = if back { (self.elements, self.channels) } else { (self.channels, self.elements) };
        let letters = self.letters[usize::from(back)];
        let (to, units) = (gpu.floats(to_rows * width), letters.count * width);
        launch!(gpu, kernel::copy, each units;
            array(from, rows * width), array(&to, to_rows * width), self.table_arg(table), letters.first, width, units);
        to
    }

    /// For each part of the table and each run of blocks, how many units a launch has for the entries (else the states) of all items, and its sizes.
    fn launches<R: Runtime>(
        &self,
        parts: impl IntoIterator<Item = Part>,
        by_entries: bool,
    ) -> impl Iterator<Item = (Run, usize, PlaceLaunch<R>)> {
        let &Self { parameters, hidden, channels, .. } = self;
        parts.into_iter().flat_map(move |part| {
            self.runs.iter().map(move |run| {
                let (entries, states) = (run.entries(), run.b * run.count);
                let units = part.count * if by_entries { entries } else { states };
                let place = PlaceLaunch::new(run.entry, entries, run.at, states, parameters, hidden, channels, part.first, units);
                (*run, units, place)
            })
        })
    }

    fn matrices_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        array(handle, self.elements * self.parameters)
    }

    fn vectors_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        array(handle, self.elements * self.hidden)
    }

    fn table_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        array(handle, self.table.len())
    }
}
