//! The matrices and vectors of brackets on device buffers, for blocks along the diagonal.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::brackets::{self as kernel, PlaceLaunch};
use crate::pairs::Pairs;
use crate::plan::Run;
use crate::recurrence::want;
use crate::sizes::CUBE;

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
    /// How launches go where no bracket has more than two letters.
    pairs: Option<Pairs>,
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
        for (m, element) in elements.iter().enumerate() {
            level.push(match *element {
                Element::Letter(k) => {
                    let own = letters.get_mut(k).filter(|own| own.is_none()).ok_or_else(|| wrong("a letter of its own"))?;
                    *own = Some(m);
                    1_usize
                }
                Element::Pair(p, q) if p < m && q < m => level[p] + level[q],
                Element::Pair(..) => return Err(wrong("an element before its bracket")),
            });
        }
        let letters: Vec<usize> = letters.into_iter().collect::<Option<_>>().ok_or_else(|| wrong("the letter of a channel"))?;
        let pairs: Vec<(usize, [usize; 3])> = elements
            .iter()
            .enumerate()
            .filter_map(|(m, element)| match *element {
                Element::Pair(p, q) => Some((level[m], [m, p, q])),
                Element::Letter(_) => None,
            })
            .collect();
        let deepest = level.iter().copied().max().unwrap_or(1);
        // Uses come first, so that their places in threes are known.
        let mut table: Vec<u32> = Vec::new();
        let mut ranges = |wanted: &dyn Fn(usize) -> bool| {
            let mut uses = vec![Vec::new(); elements.len()];
            for &(_, [m, p, q]) in pairs.iter().filter(|(own, _)| wanted(*own)) {
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
            .map(|own| ranges(&|other| other == own).into_iter().filter(|[_, begin, end]| begin < end).collect())
            .collect();
        let of_all = ranges(&|_| true);
        let mut part = |numbers: Vec<u32>, each: usize| {
            let first = table.len();
            table.extend(&numbers);
            Part { first, count: numbers.len() / each }
        };
        let uses = by_level.into_iter().map(|own| part(own.concat(), 3)).collect();
        let all_uses = part(of_all.concat(), 3);
        let levels = (2..=deepest)
            .map(|own| {
                part(pairs.iter().filter(|(level, _)| *level == own).flat_map(|(_, of)| of.map(|i| i as u32)).collect(), 3)
            })
            .collect();
        let pair = |turned: bool| letters.iter().enumerate().flat_map(move |(k, &m)| if turned { [k, m] } else { [m, k] });
        let letters = [false, true].map(|turned| part(pair(turned).map(|i| i as u32).collect(), 2));
        Ok(Self {
            pairs: Pairs::new(blocks, channels, elements),
            runs: Run::of(blocks),
            hidden: blocks.iter().sum(),
            parameters: blocks.iter().map(|b| b * b).sum(),
            elements: elements.len(),
            channels,
            table,
            letters,
            levels,
            uses,
            all_uses,
        })
    }

    /// `A_P` of every element, `[elements, parameters]`, from those of the channels.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn matrices<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle) -> Result<Handle, Error> {
        if let Some(pairs) = &self.pairs {
            return pairs.matrices(gpu, a);
        }
        want("A", a, self.channels * self.parameters)?;
        Ok(self.formed(gpu, a, &self.on(gpu)))
    }

    /// The gradient in the matrices of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn matrices_backward<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, gradient: &Handle) -> Result<Handle, Error> {
        if let Some(pairs) = &self.pairs {
            return pairs.matrices_backward(gpu, a, gradient);
        }
        want("A", a, self.channels * self.parameters)?;
        want("the gradient", gradient, self.elements * self.parameters)?;
        let table = self.on(gpu);
        let all = self.formed(gpu, a, &table);
        Ok(self.reversed(gpu, &all, &gpu.scaled(gradient, 1.0), &table))
    }

    /// `c_P` of every element, `[elements, H]`, from the vectors of the channels.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn vectors<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, b: &Handle) -> Result<Handle, Error> {
        if let Some(pairs) = &self.pairs {
            return pairs.vectors(gpu, a, b);
        }
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        let table = self.on(gpu);
        let all = self.formed(gpu, a, &table);
        Ok(self.moved(gpu, &all, b, &table))
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
        if let Some(pairs) = &self.pairs {
            return pairs.vectors_backward(gpu, a, b, gradient);
        }
        want("A", a, self.channels * self.parameters)?;
        want("B", b, self.channels * self.hidden)?;
        want("the gradient", gradient, self.elements * self.hidden)?;
        let table = self.on(gpu);
        let all = self.formed(gpu, a, &table);
        let of = self.moved(gpu, &all, b, &table);
        let g = gpu.scaled(gradient, 1.0);
        for &level in self.uses.iter().rev() {
            for &run in &self.runs {
                let units = level.count * run.b * run.count;
                // SAFETY: every buffer has the size given here.
                unsafe {
                    kernel::vectors_back::launch_unchecked::<R>(
                        gpu.client(),
                        gpu.cubes(units),
                        CubeDim::new_1d(CUBE),
                        self.matrices_arg(&all),
                        self.vectors_arg(&g),
                        self.table_arg(&table),
                        level.first,
                        self.place(run, units),
                        run.b,
                    );
                }
            }
        }
        let of_matrices = gpu.floats(self.elements * self.parameters);
        for &run in &self.runs {
            let units = self.all_uses.count * run.entries();
            // SAFETY: every buffer has the size given here.
            unsafe {
                kernel::outer::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.cubes(units),
                    CubeDim::new_1d(CUBE),
                    self.vectors_arg(&of),
                    self.vectors_arg(&g),
                    self.matrices_arg(&of_matrices),
                    self.table_arg(&table),
                    self.all_uses.first,
                    self.place(run, units),
                    run.b,
                );
            }
        }
        let db = self.copied(
            gpu,
            (&g, self.elements),
            (gpu.floats(self.channels * self.hidden), self.channels),
            1,
            self.hidden,
            &table,
        );
        Ok([self.reversed(gpu, &all, &of_matrices, &table), db])
    }

    /// The table on the device.
    fn on<R: Runtime>(&self, gpu: &Gpu<R>) -> Handle {
        gpu.client().create_from_slice(bytemuck::cast_slice(&self.table))
    }

    /// All matrices.
    fn formed<R: Runtime>(&self, gpu: &Gpu<R>, a: &Handle, table: &Handle) -> Handle {
        let room = gpu.floats(self.elements * self.parameters);
        let all = self.copied(gpu, (a, self.channels), (room, self.elements), 0, self.parameters, table);
        for &level in &self.levels {
            for &run in &self.runs {
                let units = level.count * run.entries();
                // SAFETY: every buffer has the size given here.
                unsafe {
                    kernel::matrices::launch_unchecked::<R>(
                        gpu.client(),
                        gpu.cubes(units),
                        CubeDim::new_1d(CUBE),
                        self.matrices_arg(&all),
                        self.table_arg(table),
                        level.first,
                        self.place(run, units),
                        run.b,
                    );
                }
            }
        }
        all
    }

    /// The gradient in the matrices of channels from that in all, which is used up.
    fn reversed<R: Runtime>(&self, gpu: &Gpu<R>, all: &Handle, g: &Handle, table: &Handle) -> Handle {
        for &level in self.uses.iter().rev() {
            for &run in &self.runs {
                let units = level.count * run.entries();
                // SAFETY: every buffer has the size given here.
                unsafe {
                    kernel::matrices_back::launch_unchecked::<R>(
                        gpu.client(),
                        gpu.cubes(units),
                        CubeDim::new_1d(CUBE),
                        self.matrices_arg(all),
                        self.matrices_arg(g),
                        self.table_arg(table),
                        level.first,
                        self.place(run, units),
                        run.b,
                    );
                }
            }
        }
        self.copied(
            gpu,
            (g, self.elements),
            (gpu.floats(self.channels * self.parameters), self.channels),
            1,
            self.parameters,
            table,
        )
    }

    /// All vectors.
    fn moved<R: Runtime>(&self, gpu: &Gpu<R>, all: &Handle, b: &Handle, table: &Handle) -> Handle {
        let room = gpu.floats(self.elements * self.hidden);
        let of = self.copied(gpu, (b, self.channels), (room, self.elements), 0, self.hidden, table);
        for &level in &self.levels {
            for &run in &self.runs {
                let units = level.count * run.b * run.count;
                // SAFETY: every buffer has the size given here.
                unsafe {
                    kernel::vectors::launch_unchecked::<R>(
                        gpu.client(),
                        gpu.cubes(units),
                        CubeDim::new_1d(CUBE),
                        self.matrices_arg(all),
                        self.vectors_arg(&of),
                        self.table_arg(table),
                        level.first,
                        self.place(run, units),
                        run.b,
                    );
                }
            }
        }
        of
    }

    /// Rows of channels to rows of elements, or the way back.
    fn copied<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        (from, rows): (&Handle, usize),
        (to, own): (Handle, usize),
        way: usize,
        width: usize,
        table: &Handle,
    ) -> Handle {
        let (letters, units) = (self.letters[way], self.letters[way].count * width);
        // SAFETY: every buffer has the size given here.
        unsafe {
            kernel::copy::launch_unchecked::<R>(
                gpu.client(),
                gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(from, rows * width),
                array(&to, own * width),
                self.table_arg(table),
                letters.first,
                width,
                units,
            );
        }
        to
    }

    fn place<R: Runtime>(&self, run: Run, units: usize) -> PlaceLaunch<R> {
        PlaceLaunch::new(run.entry, run.entries(), run.at, run.b * run.count, self.parameters, self.hidden, units)
    }

    unsafe fn matrices_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        // SAFETY: callers give buffers of this size.
        unsafe { array(handle, self.elements * self.parameters) }
    }

    unsafe fn vectors_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        // SAFETY: callers give buffers of this size.
        unsafe { array(handle, self.elements * self.hidden) }
    }

    unsafe fn table_arg<R: Runtime>(&self, handle: &Handle) -> ArrayArg<R> {
        // SAFETY: made from the table.
        unsafe { array(handle, self.table.len()) }
    }
}
