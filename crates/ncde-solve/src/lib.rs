//! Solvers of controlled differential equations, vector fields, their brackets and gradients, Lip(gamma) bounds.
