//! How a call is cut: a pure function of shapes and of what the device is.
//!
//! | piece | what | why |
//! | --- | --- | --- |
//! | block | some rows `S[v, :]` of a state | rows never meet: a cube takes a block through all steps |
//! | piece | some keys of a row, in the registers of a unit | units share a row; sums over keys go through shared memory |
//! | part | steps whose vectors are in shared memory at once | those of the next part are on their way meanwhile |
//! | chunk | steps between two states that are stored | columns of all chunks are worked on at once |
//! | tile | some values of a column, in the registers of a unit | a unit goes through its chunk once for every tile |

use super::{Decay, MatrixState};

/// Steps between two states that are stored.
pub(crate) const CHUNK: usize = 16;
/// The keys of a unit, where the cube has units enough.
const KEYS: usize = 8;
/// The most keys of a unit.
const MAX_KEYS: usize = 64;
/// The most rows of a cube.
const MAX_ROWS: usize = 32;
/// The most units of a cube.
const MAX_UNITS: usize = 512;
/// The most numbers of an array that a unit has on their way from memory at once.
const MAX_READS: usize = 32;
/// The most values of a tile; fewer with decay, as the states of a chunk are in local memory then.
const MAX_TILE: usize = 32;
const MAX_TILE_WITH_DECAY: usize = 16;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    pub(crate) of: MatrixState,
    /// Rows of a block.
    pub(crate) rows: usize,
    /// Pieces of a row.
    pub(crate) pieces: usize,
    /// Keys of a piece; the last may have fewer.
    pub(crate) per_piece: usize,
    /// Steps of a part: a divisor of those of a chunk.
    pub(crate) steps: usize,
    /// Values of a tile; the last may have fewer.
    pub(crate) tile: usize,
}

impl Cut {
    /// None where a cube of so many units and bytes has no room for a row.
    pub(crate) fn new(of: MatrixState, units: usize, shared: usize) -> Option<Self> {
        let rows = of.values.min(MAX_ROWS);
        let pieces = of.keys.div_ceil(KEYS).min(MAX_UNITS.min(units) / rows);
        let per_piece = of.keys.div_ceil(pieces.max(1));
        let most = if of.decay == Decay::None { MAX_TILE } else { MAX_TILE_WITH_DECAY };
        let tile = of.values.div_ceil(of.values.div_ceil(most));
        // Rounded up, the last pieces may be empty.
        let cut = Self { of, rows, pieces: of.keys.div_ceil(per_piece), per_piece, steps: CHUNK, tile };
        let parts = (0..=CHUNK.ilog2()).map(|halvings| Self { steps: CHUNK >> halvings, ..cut });
        let fits = |cut: &Self| cut.bytes() <= shared && cut.turns(cut.padded()) <= MAX_READS;
        parts.into_iter().find(|cut| pieces > 0 && per_piece <= MAX_KEYS && fits(cut))
    }

    /// Units of a cube.
    pub(crate) fn units(&self) -> usize {
        self.rows * self.pieces
    }

    /// Blocks of a state.
    pub(crate) fn blocks(&self) -> usize {
        self.of.values.div_ceil(self.rows)
    }

    /// Tiles of a column.
    pub(crate) fn tiles(&self) -> usize {
        self.of.values.div_ceil(self.tile)
    }

    /// Whether the last tile has fewer values than the others.
    pub(crate) fn is_ragged(&self) -> bool {
        self.tiles() * self.tile > self.of.values
    }

    /// Keys of all pieces of a row.
    pub(crate) fn padded(&self) -> usize {
        self.pieces * self.per_piece
    }

    /// Numbers that a unit reads of an array with so many for each step of a part.
    pub(crate) fn turns(&self, width: usize) -> usize {
        (self.steps * width).div_ceil(self.units())
    }

    /// The decays of a step in shared memory.
    pub(crate) fn decays(&self) -> usize {
        match self.of.decay {
            Decay::None => 0,
            Decay::Scalar => 1,
            Decay::Vector => self.padded(),
        }
    }

    /// Bytes of shared memory: the vectors of a part, and twice what units of a row sum.
    fn bytes(&self) -> usize {
        let vectors = if self.of.delta { 4 } else { 2 };
        let step = vectors * self.padded() + self.decays() + self.rows;
        (self.steps * step + 4 * self.units() + 4) * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: usize, values: usize, decay: Decay) -> MatrixState {
        MatrixState { heads: 2, keys, values, decay, delta: true }
    }

    #[test]
    fn every_row_key_and_value_is_in_one_piece_that_a_cube_holds() {
        for keys in [1, 3, 8, 9, 17, 32, 70, 128, 500] {
            for values in [1, 5, 16, 33, 64, 100] {
                for (units, shared) in [(256, 16 << 10), (1024, 48 << 10)] {
                    let Some(cut) = Cut::new(of(keys, values, Decay::Vector), units, shared) else {
                        assert!(keys >= 500, "{keys} x {values}");
                        continue;
                    };
                    assert!(cut.padded() >= keys && cut.padded() - cut.per_piece < keys, "{cut:?}");
                    assert!(cut.blocks() * cut.rows >= values && cut.tiles() * cut.tile >= values, "{cut:?}");
                    assert!(cut.is_ragged() != values.is_multiple_of(cut.tile) && cut.tile * CHUNK <= 256, "{cut:?}");
                    assert!(cut.units() <= units && cut.bytes() <= shared && CHUNK.is_multiple_of(cut.steps), "{cut:?}");
                    assert!(cut.turns(cut.padded()) <= MAX_READS, "{cut:?}");
                }
            }
        }
    }

    /// Four heads of a layer of 128 numbers: 128 units a cube, a whole chunk in shared memory.
    #[test]
    fn a_head_of_32_keys_has_four_units_a_row() {
        let of = of(32, 32, Decay::None);
        let cut = Cut::new(of, 1024, 48 << 10);
        assert_eq!(cut, Some(Cut { of, rows: 32, pieces: 4, per_piece: 8, steps: 16, tile: 32 }));
    }

    #[test]
    fn keys_beyond_shared_memory_have_no_cut() {
        assert!(Cut::new(of(100, 8, Decay::Vector), 256, 16 << 10).is_some());
        assert!(Cut::new(of(2000, 8, Decay::Vector), 256, 16 << 10).is_none());
    }
}
