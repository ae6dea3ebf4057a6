//! One program for the tests of this crate: each is linked with all it depends on, which takes as long as compiling it.

mod attention;
mod commutators;
mod filters;
mod linear;
mod linear_errors;
mod linear_modes;
mod linear_norms;
mod linear_stream;
mod linear_words;
mod matrix_state;
mod neural;
mod orthogonality;
mod oscillator;
mod permutation;
mod recurrent;
mod rowwise;
mod scan;
mod selective;
mod thesis_log_ode;
mod thesis_series;
