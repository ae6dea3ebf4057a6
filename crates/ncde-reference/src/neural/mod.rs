//! Neural solves: random cases, and an obviously right solve in plain loops in f64, brackets one by one by dual numbers.

pub mod case;
pub mod reference;
