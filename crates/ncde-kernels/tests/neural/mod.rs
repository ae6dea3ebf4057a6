//! Neural solves against an obviously right one: plain loops in f64, brackets one by one by dual numbers.
#![allow(clippy::unwrap_used, reason = "a test")]

mod errors;
mod gradients;
mod values;
