//! The command line of ncde.
fn main() {}
