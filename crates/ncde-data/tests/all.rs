//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod align;
mod bad;
mod check;
mod columnar;
mod formats;
mod forms;
mod mutations;
mod people;
mod round_trip;
mod tokens;
mod units;
mod unlabelled;
