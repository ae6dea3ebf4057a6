//! One-hot columns or rows times a diagonal, through time; see [`crate::permutation`].
//!
//! Rows past the end of a series are left out: steps are the others, of all series one after the other, and `places` says which rows they are. A line is a column or a row of `P`, whichever has one entry; `dP` of a line is one number times a vector.
//!
//! | array | layout |
//! | --- | --- |
//! | control and its gradient | `[batch, length, columns]`: scores, numbers of the diagonal, input |
//! | states, their gradient | `[batch, length, width]` |
//! | argmax index of each line | `[batch, length, H]` |
//! | `e` and `l` | `[batch, length, 2, width]`: of columns `g` and `D h`, of rows `h` and `D^H g` |

pub(crate) mod choice;
mod diagonal;
pub(crate) mod entries;
pub(crate) mod lines;
pub(crate) mod turn;
pub(crate) mod walk;
