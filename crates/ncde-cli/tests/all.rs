//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod bench;
mod common;
mod help;
mod people;
mod signature_errors;
mod signature_files;
mod signature_values;
mod streams;
mod tokens;
mod train;
