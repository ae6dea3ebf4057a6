//! How a recurrence is cut into pieces: a pure function of shapes and of what the device is.
//!
//! | piece | what | why |
//! | --- | --- | --- |
//! | run | neighbouring blocks of one size | a kernel is compiled for one size |
//! | chunk | steps in time that one unit works through | chunks of one series are worked on at once |
//! | slab | the same few steps of all chunks | generators of one slab are in memory at once |

/// Neighbouring blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The size of a block.
    pub b: usize,
    /// How many blocks.
    pub count: usize,
    /// The first state.
    pub at: usize,
    /// The first parameter within a channel.
    pub entry: usize,
}

impl Run {
    /// Numbers of one generator.
    pub fn entries(&self) -> usize {
        self.count * self.b * self.b
    }

    /// The runs of blocks of these sizes.
    pub fn of(sizes: &[usize]) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        let (mut at, mut entry) = (0, 0);
        for &b in sizes {
            match runs.last_mut() {
                Some(run) if run.b == b => run.count += 1,
                _ => runs.push(Self { b, count: 1, at, entry }),
            }
            at += b;
            entry += b * b;
        }
        runs
    }
}

/// The sizes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shapes {
    /// How many series.
    pub batch: usize,
    /// The most steps of a series.
    pub length: usize,
    /// States that share each flow.
    pub columns: usize,
    /// Coefficients a step.
    pub coefficients: usize,
}

/// What decides how much is worked on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Units that keep the device busy.
    pub units: usize,
    /// The most bytes of the generators of a slab.
    pub slab: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { units: 1 << 12, slab: 15 << 24 }
    }
}

/// Who has a block, one column of its state at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A unit, in its registers: blocks up to 8.
    Unit,
    /// A team of 16 units, a row each: blocks up to 16.
    Team,
    /// A cube, in its shared memory.
    Cube,
}

impl Owner {
    /// Of blocks of this size.
    pub fn of(b: usize) -> Self {
        match b {
            0..=8 => Self::Unit,
            // Blocks of 32 were tried, too, with teams of 32: too few are at work at once where a series has one, the dense part of diagonal-dense.
            9..=16 => Self::Team,
            _ => Self::Cube,
        }
    }
}

/// How one run of blocks is worked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Who has a block.
    pub owner: Owner,
    /// Steps of a chunk; the last chunk of a series may have fewer.
    pub chunk: usize,
    /// Chunks of a series.
    pub chunks: usize,
    /// Steps of a slab.
    pub slab: usize,
}

/// How much of the device a block keeps busy: larger ones have more registers, a team of units, or a cube of them.
fn weight(b: usize) -> usize {
    match Owner::of(b) {
        Owner::Unit => b.min(2),
        Owner::Team => 32,
        Owner::Cube => 512,
    }
}

/// A chunk is not shorter than this, and there are at least so many of them: the products of their flows cost more than a step.
const SHORTEST: usize = 16;
const FEWEST: usize = 4;

/// So many chunks are joined one after the other.
const SERIAL: usize = 32;

impl Plan {
    /// For a run of blocks.
    pub fn new(run: Run, shapes: Shapes, limits: Limits) -> Self {
        let Shapes { batch, length, columns, .. } = shapes;
        let serial = batch * columns * run.count * weight(run.b);
        // The product of the flows of a chunk takes `b` times the work of its steps: of large blocks there must be few, or all steps one after the other are done before it is.
        let is_costly = Owner::of(run.b) == Owner::Cube && batch * run.entries() >= limits.units;
        // As many chunks as keep the device busy.
        let wanted = if is_costly { 1 } else { limits.units.div_ceil(serial.max(1)).max(1) };
        let chunk = if wanted == 1 || length < FEWEST * SHORTEST { length } else { length.div_ceil(wanted).max(SHORTEST) };
        Self::cut(run, shapes, limits, chunk)
    }

    /// With chunks of so many steps.
    pub fn cut(run: Run, Shapes { batch, length, .. }: Shapes, limits: Limits, chunk: usize) -> Self {
        let chunk = chunk.clamp(1, length.max(1));
        let chunks = length.div_ceil(chunk);
        let step = batch * chunks * run.entries() * size_of::<f32>();
        let slab = (limits.slab / step.max(1)).clamp(1, chunk);
        Self { owner: Owner::of(run.b), chunk, chunks, slab }
    }

    /// How many chunks are joined to a group, of which then there are about as many: all, where they are few.
    pub fn group(&self) -> usize {
        if self.chunks <= SERIAL { self.chunks } else { self.chunks.isqrt().max(1) }
    }

    /// Rows of generators of one slab.
    pub fn rows(&self, batch: usize) -> usize {
        batch * self.chunks * self.slab
    }

    /// The slabs: the first step within a chunk, and how many.
    pub fn slabs(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + use<> {
        let Self { chunk, slab, .. } = *self;
        (0..chunk.div_ceil(slab)).map(move |i| (i * slab, slab.min(chunk - i * slab)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: Shapes = Shapes { batch: 4, length: 17984, columns: 1, coefficients: 7 };

    #[test]
    fn neighbours_of_one_size_make_a_run() {
        assert_eq!(Run::of(&[4; 32]), [Run { b: 4, count: 32, at: 0, entry: 0 }]);
        let runs = Run::of(&[1, 1, 3, 1]);
        assert_eq!(
            runs.iter().map(|run| (run.b, run.count, run.at, run.entry)).collect::<Vec<_>>(),
            [(1, 2, 0, 0), (3, 1, 2, 2), (1, 1, 5, 11)]
        );
        assert_eq!(runs.iter().map(Run::entries).sum::<usize>(), 12);
    }

    #[test]
    fn every_step_is_in_one_chunk_and_one_slab() {
        for b in [1, 3, 8, 9, 17, 32, 40] {
            for length in [1, 2, 15, 16, 17, 100, 1499, 17984] {
                for units in [1, 100, 1 << 15] {
                    for slab in [1, 1 << 16, 1 << 28] {
                        let run = Run { b, count: 3, at: 0, entry: 0 };
                        let plan = Plan::new(run, Shapes { length, ..SHAPES }, Limits { units, slab });
                        assert!(plan.chunk * plan.chunks >= length && plan.chunk * (plan.chunks - 1) < length, "{plan:?}");
                        let mut next = 0;
                        for (first, count) in plan.slabs() {
                            assert_eq!(first, next);
                            next += count;
                        }
                        assert_eq!(next, plan.chunk);
                        let bytes = plan.rows(SHAPES.batch) * run.entries() * 4;
                        assert!(bytes <= slab || plan.slab == 1, "{plan:?}: {bytes}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_belongs_to_a_unit_a_team_or_a_cube() {
        let owner = |b| Plan::new(Run { b, count: 2, at: 0, entry: 0 }, SHAPES, Limits::default()).owner;
        assert!([1, 2, 5, 8].iter().all(|&b| owner(b) == Owner::Unit));
        assert!([9, 12, 16].iter().all(|&b| owner(b) == Owner::Team));
        assert!([17, 24, 32, 33, 64, 128, 1024].iter().all(|&b| owner(b) == Owner::Cube));
    }

    /// Teams of all chunks are as many planes as a multiprocessor holds at once, 32 of 32 units, and chunks few enough to go through one after the other.
    #[test]
    fn teams_fill_the_device() {
        let limits = Limits { units: 132 << 11, slab: 1 << 28 };
        for b in [9, 16] {
            let run = Run { b, count: 128 / b, at: 0, entry: 0 };
            let plan = Plan::new(run, SHAPES, limits);
            let units = SHAPES.batch * plan.chunks * run.count * 16;
            assert!((120 << 10..=133 << 10).contains(&units) && plan.chunks <= 400, "{b}: {units} {plan:?}");
        }
    }

    #[test]
    fn series_are_cut_only_where_the_device_would_idle() {
        let run = Run { b: 4, count: 32, at: 0, entry: 0 };
        let limits = Limits { units: 1 << 15, slab: 1 << 28 };
        assert_eq!(Plan::new(run, Shapes { batch: 1024, ..SHAPES }, limits).chunks, 1);
        let long = Plan::new(run, SHAPES, limits);
        assert!(long.chunks > 100 && long.chunks <= 128 && long.group() == 11, "{long:?}");
        assert_eq!(Plan::new(run, Shapes { length: 63, ..SHAPES }, limits).chunks, 1);
    }

    /// On 132 multiprocessors: 4 series of 128 dense states are cut, 32 are not; 32 of 64 states are.
    #[test]
    fn products_of_large_blocks_are_left_out_where_they_take_longer_than_all_steps() {
        let limits = Limits { units: 132 << 11, slab: 1 << 28 };
        let chunks = |b, batch| {
            let run = Run { b, count: 1, at: 0, entry: 0 };
            Plan::new(run, Shapes { batch, length: 288, ..SHAPES }, limits).chunks
        };
        assert_eq!((chunks(128, 4), chunks(128, 32), chunks(64, 32)), (18, 1, 17));
    }
}
