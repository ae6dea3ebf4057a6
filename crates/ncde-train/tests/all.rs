//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod advice;
mod batched;
mod common;
mod explosions;
mod forecast;
mod forever;
mod reservoir;
mod train;
