//! Rows of a table: `y_r = table[token_r]`, and the gradient of the table, the sum of `dy_r` over the rows of each token.

use cubecl::prelude::*;

use crate::kernel::unit::{cube_below, unit_below};

/// Columns of a cube of [`reverse`].
pub(crate) const COLUMNS: usize = 32;
/// Tokens whose sums it has in shared memory.
pub(crate) const TOKENS: usize = 64;

/// A token that the table does not have gives a row that is not a number. Units: `[rows, width]`.
#[cube(launch_unchecked)]
pub(crate) fn lookup(tokens: &Array<f32>, table: &Array<f32>, y: &mut Array<f32>, vocabulary: usize, width: usize, units: usize) {
    let unit = unit_below(units);
    let token = tokens[unit / width];
    let index = usize::cast_from(max(token, 0.0));
    // No number is 0 / 0; a literal would be folded away by some compilers.
    let mut value = (token - token) / (token - token);
    if token >= 0.0 && index < vocabulary && f32::cast_from(index) == token {
        value = table[index * width + unit % width];
    }
    y[unit] = value;
}

/// Sums over the rows of a split: `[splits, vocabulary, width]`. Every unit has a column, so that none waits for another.
///
/// Cubes: `[splits, width / 32]` in x and y, `[vocabulary / 64]` in z.
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    tokens: &Array<f32>,
    dy: &Array<f32>,
    out: &mut Array<f32>,
    rows: usize,
    per_split: usize,
    vocabulary: usize,
    width: usize,
    cubes: usize,
) {
    let cube = cube_below(cubes);
    let across = (width + comptime!(COLUMNS - 1)) / COLUMNS;
    let unit = UNIT_POS as usize;
    let column = cube % across * COLUMNS + unit;
    let split = cube / across;
    let first = CUBE_POS_Z as usize * TOKENS;
    let mut sums = SharedMemory::<f32>::new(comptime!(COLUMNS * TOKENS));
    for token in 0..TOKENS {
        sums[token * COLUMNS + unit] = f32::new(0.0);
    }
    if column < width {
        for row in split * per_split..min((split + 1) * per_split, rows) {
            let token = tokens[row];
            if token >= 0.0 {
                let index = usize::cast_from(token);
                if index >= first && index < first + TOKENS && index < vocabulary {
                    sums[(index - first) * COLUMNS + unit] += dy[row * width + column];
                }
            }
        }
        for token in 0..min(vocabulary - first, TOKENS) {
            out[(split * vocabulary + first + token) * width + column] = sums[token * COLUMNS + unit];
        }
    }
}
