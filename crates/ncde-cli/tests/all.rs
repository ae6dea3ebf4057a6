//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod bench;
mod columnar;
mod common;
mod experiment;
mod forecast;
mod forms;
mod groups;
mod help;
mod labels;
mod people;
mod predict;
mod rare;
mod readme;
mod signature_errors;
mod signature_files;
mod signature_values;
mod streams;
mod tokens;
mod train;
mod trust;
mod tune;
