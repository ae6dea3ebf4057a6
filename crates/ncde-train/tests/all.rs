//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod batched;
mod common;
mod forecast;
mod forever;
mod reservoir;
mod train;
