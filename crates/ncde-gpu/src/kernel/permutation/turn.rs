//! The transpose of some rows of a matrix, by tiles in shared memory, so that both are read and written side by side.

use cubecl::prelude::*;

use crate::kernel::unit::cube_number;

/// The side of a tile, and units of a cube along it and across.
pub(crate) const SIDE: usize = 32;
pub(crate) const ACROSS: usize = 8;

/// Rows of a shared tile lie so far apart that columns are spread over all banks.
const APART: usize = SIDE + 1;

/// `places`: the rows that are taken, in order. Cubes: tiles, row by row.
#[cube(launch_unchecked)]
pub(crate) fn turn(x: &Array<f32>, places: &Array<u32>, out: &mut Array<f32>, rows: usize, columns: usize) {
    let cube = cube_number();
    let tiles = (columns + comptime!(SIDE - 1)) / SIDE;
    let top = cube / tiles * SIDE;
    let first = cube % tiles * SIDE;
    let along = UNIT_POS as usize % SIDE;
    let across = UNIT_POS as usize / SIDE;
    let mut tile = SharedMemory::<f32>::new(comptime!(SIDE * APART));
    #[unroll]
    for i in 0..comptime!(SIDE / ACROSS) {
        let r = across + comptime!(i * ACROSS);
        if top + r < rows && first + along < columns {
            tile[r * APART + along] = x[places[top + r] as usize * columns + first + along];
        }
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(SIDE / ACROSS) {
        let c = across + comptime!(i * ACROSS);
        if top + along < rows && first + c < columns {
            out[(first + c) * rows + top + along] = tile[along * APART + c];
        }
    }
}
