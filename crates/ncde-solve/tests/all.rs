//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod brackets;
mod common;
mod gradients;
mod lip;
mod log_ode;
mod numbers;
mod rows;
mod solvers;
