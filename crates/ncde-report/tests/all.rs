//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod common;
mod degenerate;
mod forecast;
mod json;
mod metrics;
mod page;
mod record;
mod statistics;
mod text;
