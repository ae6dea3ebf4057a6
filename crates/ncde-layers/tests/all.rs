//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod common;
mod linear_ops;
mod neural_depth;
mod neural_ops;
mod signature;
