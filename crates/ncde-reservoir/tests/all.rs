//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod common;
mod folds;
mod matrix;
mod pools;
mod ridge;
mod streams;
