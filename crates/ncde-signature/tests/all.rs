//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod common;
mod control;
mod errors;
mod golden;
mod gradients;
mod identities;
mod path_causality;
mod path_common;
mod path_interpolation;
mod path_series;
mod path_variation;
mod path_windows;
mod structures;
