//! Where the entries of block-diagonal matrices and the numbers of a state live, so that kernels work on whole registers.
//!
//! Blocks of one small size `b` lie side by side: entry `(r, c)` of all of them in consecutive lanes, and state `r` of all of them.
//! A large block lies by columns: its rows are the lanes. Which of the two a size gets is a matter of which fills registers better.
//!
//! *Packed* is the layout in which generators are formed by matrix products; *padded* is the one of the steps, where each run of lanes
//! starts a register. The two are the same unless gaps are many and so are channels: then products are worth more without the gaps than
//! it takes to move all numbers.

use ncde_simd::{Float, Number, Simd, outlined};

use crate::structure::{BlockOffset, Field};

/// The block sizes that have a kernel with one lane for each block.
const LANE_SIZES: [usize; 4] = [1, 2, 4, 8];

/// Blocks that are computed together.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) b: usize,
    pub(crate) kind: Kind,
    /// Registers of a run.
    pub(crate) g: usize,
    /// The first register of the entries, padded.
    pub(crate) entry: usize,
    /// The first register of the state.
    pub(crate) state: usize,
    blocks: Vec<BlockOffset>,
    /// Whether the blocks follow each other in the state.
    adjacent: bool,
}

/// How the blocks of a class lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Side by side: entry `(r, c)` at register `(r b + c) g + j`, state `r` at `r g + j`, the block is the lane.
    Lanes,
    /// One block: entry `(r, c)` in register `c g + r / W`, lane `r % W`; state `r` likewise.
    Wide,
}

impl Class {
    /// Registers of its entries.
    pub(crate) fn entries(&self) -> usize {
        match self.kind {
            Kind::Lanes => self.b * self.b * self.g,
            Kind::Wide => self.b * self.g,
        }
    }

    /// Registers of its state.
    pub(crate) fn states(&self) -> usize {
        match self.kind {
            Kind::Lanes => self.b * self.g,
            Kind::Wide => self.g,
        }
    }

    /// The runs of its entries: how many, and of how many numbers.
    fn runs(&self) -> (usize, usize) {
        match self.kind {
            Kind::Lanes => (self.b * self.b, self.blocks.len()),
            Kind::Wide => (self.b, self.b),
        }
    }

    /// The parameter, within a channel, of number `i` of run `run`.
    fn parameter(&self, run: usize, i: usize) -> usize {
        match self.kind {
            Kind::Lanes => self.blocks[i].entry + run,
            Kind::Wide => self.blocks[0].entry + i * self.b + run,
        }
    }
}

/// The layout of a field.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) classes: Vec<Class>,
    /// Registers of a generator, packed and padded.
    pub(crate) packed: usize,
    pub(crate) padded: usize,
    /// The registers of a padded generator that are used.
    pub(crate) entries: usize,
    /// Registers of a state.
    pub(crate) states: usize,
    slots: Vec<Slot>,
}

/// A number of a generator.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Its parameter within a channel.
    parameter: usize,
    /// Where it is in a packed row, and where in a padded one.
    packed: usize,
    padded: usize,
}

/// Moving the numbers of one register between packed and padded rows takes as long as the products of one more register with this many channels.
const CHANNELS_WORTH_MOVING: usize = 120;

/// Rows whose distance is a multiple of this many registers share the same few lines of the first-level cache.
const CACHE_WAY: usize = 4096 / 64;

impl Layout {
    pub(crate) fn new<R: Number>(field: &Field) -> Self {
        let mut sizes: Vec<usize> = field.blocks().iter().map(|block| block.b).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut classes = Vec::new();
        let (mut entry, mut state) = (0, 0);
        let mut push = |b: usize, kind: Kind, blocks: Vec<BlockOffset>| {
            let run = if kind == Kind::Lanes { blocks.len() } else { b };
            let adjacent = blocks.windows(2).all(|pair| pair[0].at + b == pair[1].at);
            let class = Class { b, kind, g: run.div_ceil(R::WIDTH), entry, state, blocks, adjacent };
            entry += class.entries();
            state += class.states();
            classes.push(class);
        };
        for b in sizes {
            let same_size: Vec<BlockOffset> = field.blocks().iter().filter(|block| block.b == b).copied().collect();
            let lanes = b * b * same_size.len().div_ceil(R::WIDTH);
            let wide = same_size.len() * b * b.div_ceil(R::WIDTH);
            if LANE_SIZES.contains(&b) && lanes <= wide {
                push(b, Kind::Lanes, same_size);
            } else {
                same_size.into_iter().for_each(|block| push(b, Kind::Wide, vec![block]));
            }
        }
        let mut slots = Vec::new();
        for class in &classes {
            let (runs, length) = class.runs();
            for run in 0..runs {
                let first = (class.entry + run * class.g) * R::WIDTH;
                for i in 0..length {
                    slots.push(Slot { parameter: class.parameter(run, i), packed: slots.len(), padded: first + i });
                }
            }
        }
        let padded = if entry.is_multiple_of(CACHE_WAY) { entry + 1 } else { entry };
        let mut packed = slots.len().div_ceil(R::WIDTH);
        if (padded - packed) * field.channels() <= CHANNELS_WORTH_MOVING * packed {
            packed = padded;
            slots.iter_mut().for_each(|slot| slot.packed = slot.padded);
        }
        Self { classes, packed, padded, entries: entry, states: state, slots }
    }

    /// Whether packed and padded are the same.
    pub(crate) fn is_direct(&self) -> bool {
        self.packed == self.padded
    }

    /// The parameters of all channels, packed, `[channels, packed]`.
    pub(crate) fn pack<T: Float, R: Number<Real = T>>(&self, field: &Field, a: &[T]) -> Vec<R> {
        let mut out = vec![R::ZEROS; field.channels() * self.packed];
        for (k, row) in out.chunks_exact_mut(self.packed).enumerate() {
            let a = &a[field.channel(k)];
            self.slots.iter().for_each(|slot| set_number(row, slot.packed, a[slot.parameter]));
        }
        out
    }

    /// The reverse of [`pack`](Self::pack).
    pub(crate) fn unpack<T: Float, R: Number<Real = T>>(&self, field: &Field, packed: &[R], a: &mut [T]) {
        for (k, row) in packed.chunks_exact(self.packed).enumerate() {
            let a = &mut a[field.channel(k)];
            self.slots.iter().for_each(|slot| a[slot.parameter] = number(row, slot.packed));
        }
    }

    /// From packed to padded rows.
    #[inline(always)]
    pub(crate) fn spread<R: Number>(&self, packed: &[R], padded: &mut [R]) {
        for (packed, padded) in packed.chunks_exact(self.packed).zip(padded.chunks_exact_mut(self.padded)) {
            // Lanes without a block must not add to anything.
            padded.fill(R::ZEROS);
            for slot in &self.slots {
                set_number(padded, slot.padded, number(packed, slot.packed));
            }
        }
    }

    /// From padded to packed rows.
    #[inline(always)]
    pub(crate) fn compact<R: Number>(&self, padded: &[R], packed: &mut [R]) {
        for (padded, packed) in padded.chunks_exact(self.padded).zip(packed.chunks_exact_mut(self.packed)) {
            for slot in &self.slots {
                set_number(packed, slot.packed, number(padded, slot.padded));
            }
        }
    }

    /// Loads states, `[rows, hidden]`, row by row into registers, `[rows, states]`. Not inlined: transpositions are unrolled, and copies of
    /// them would take longer to compile than the steps.
    #[inline(always)]
    pub(crate) fn load<S: Simd, T: Float, R: Number<Real = T>>(&self, simd: S, states: &[T], hidden: usize, registers: &mut [R]) {
        outlined(
            simd,
            #[inline(always)]
            move || {
                for (state, out) in states.chunks_exact(hidden).zip(registers.chunks_exact_mut(self.states)) {
                    self.load_state(state, out);
                }
            },
        );
    }

    /// As [`load`](Self::load), the other way.
    #[inline(always)]
    pub(crate) fn store<S: Simd, T: Float, R: Number<Real = T>>(
        &self,
        simd: S,
        registers: &[R],
        hidden: usize,
        states: &mut [T],
    ) {
        outlined(
            simd,
            #[inline(always)]
            move || {
                for (registers, state) in registers.chunks_exact(self.states).zip(states.chunks_exact_mut(hidden)) {
                    self.store_state(registers, state);
                }
            },
        );
    }

    #[inline(always)]
    fn load_state<T: Float, R: Number<Real = T>>(&self, state: &[T], out: &mut [R]) {
        for class in &self.classes {
            let out = &mut out[class.state..][..class.states()];
            match (class.kind, class.b) {
                (Kind::Lanes, 1) if class.adjacent => load::<T, R, 1>(class, state, out),
                (Kind::Lanes, 2) if class.adjacent => load::<T, R, 2>(class, state, out),
                (Kind::Lanes, 4) if class.adjacent => load::<T, R, 4>(class, state, out),
                (Kind::Lanes, 8) if class.adjacent => load::<T, R, 8>(class, state, out),
                (Kind::Lanes, b) => {
                    out.fill(R::ZEROS);
                    for (i, block) in class.blocks.iter().enumerate() {
                        for r in 0..b {
                            out[r * class.g + i / R::WIDTH].set_lane(i % R::WIDTH, state[block.at + r]);
                        }
                    }
                }
                (Kind::Wide, b) => {
                    let state = &state[class.blocks[0].at..][..b];
                    for (out, state) in out.iter_mut().zip(state.chunks(R::WIDTH)) {
                        *out = R::read(state);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn store_state<T: Float, R: Number<Real = T>>(&self, registers: &[R], state: &mut [T]) {
        for class in &self.classes {
            let registers = &registers[class.state..][..class.states()];
            match (class.kind, class.b) {
                (Kind::Lanes, 1) if class.adjacent => store::<T, R, 1>(class, registers, state),
                (Kind::Lanes, 2) if class.adjacent => store::<T, R, 2>(class, registers, state),
                (Kind::Lanes, 4) if class.adjacent => store::<T, R, 4>(class, registers, state),
                (Kind::Lanes, 8) if class.adjacent => store::<T, R, 8>(class, registers, state),
                (Kind::Lanes, b) => {
                    for (i, block) in class.blocks.iter().enumerate() {
                        for r in 0..b {
                            state[block.at + r] = registers[r * class.g + i / R::WIDTH].lane(i % R::WIDTH);
                        }
                    }
                }
                (Kind::Wide, b) => {
                    let state = &mut state[class.blocks[0].at..][..b];
                    for (register, state) in registers.iter().zip(state.chunks_mut(R::WIDTH)) {
                        register.write(state);
                    }
                }
            }
        }
    }
}

/// Number `i` of a row of registers.
#[inline(always)]
pub(crate) fn number<R: Number>(row: &[R], i: usize) -> R::Real {
    row[i / R::WIDTH].lane(i % R::WIDTH)
}

#[inline(always)]
pub(crate) fn set_number<R: Number>(row: &mut [R], i: usize, x: R::Real) {
    row[i / R::WIDTH].set_lane(i % R::WIDTH, x);
}

/// Blocks that follow each other: a transposition, a register of blocks at a time.
#[inline(always)]
fn load<T: Float, R: Number<Real = T>, const B: usize>(class: &Class, state: &[T], out: &mut [R]) {
    let blocks = state[class.blocks[0].at..].as_chunks::<B>().0;
    for (j, blocks) in blocks[..class.blocks.len()].chunks(R::WIDTH).enumerate() {
        let columns = R::columns::<B>(blocks);
        for r in 0..B {
            out[r * class.g + j] = columns[r];
        }
    }
}

/// As [`load`], the other way.
#[inline(always)]
fn store<T: Float, R: Number<Real = T>, const B: usize>(class: &Class, registers: &[R], state: &mut [T]) {
    let blocks = state[class.blocks[0].at..].as_chunks_mut::<B>().0;
    for (j, blocks) in blocks[..class.blocks.len()].chunks_mut(R::WIDTH).enumerate() {
        let mut columns = const { [R::ZEROS; B] };
        for r in 0..B {
            columns[r] = registers[r * class.g + j];
        }
        R::rows::<B>(&columns, blocks);
    }
}
