//! One-hot columns times a diagonal, through time; see [`crate::permutation`].
//!
//! | file | what |
//! | --- | --- |
//! | `choice` | scores to weights, columns to where they go; the soft-max of columns in reverse |
//! | `diagonal` | `D` from its numbers, and back |
//! | `walk` | states forwards, their gradients back, a series a cube |
//!
//! | array | layout |
//! | --- | --- |
//! | control and its gradient | `[batch, length, columns]`: scores, numbers of the diagonal, input |
//! | states, their gradient | `[batch, length, width]` |
//! | where states go | `[batch, length, H]` |
//! | `g` and `u = D h` | `[batch, length, 2, width]` |
//! | `M` and `dM` of a slab | `[rows, H, H]`: column, row |

pub(crate) mod choice;
mod diagonal;
pub(crate) mod walk;
