//! A tape of operations, read backwards: `dL/dx_j = sum_i dL/dy_i dy_i/dx_j`.
//!
//! Each operation adds a node with its partial derivatives in the nodes it was made from. Reading the nodes from the last to
//! the first gives the derivative of any weighted sum of them in all others. Memory: 12 or 16 bytes for each operand of each operation.

use std::cell::RefCell;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::{Real, Scalar, Trace};

/// Where operations are recorded.
///
/// ```
/// use ncde_solve::scalar::{Scalar, Tape};
/// let tape = Tape::new();
/// let (x, y) = (tape.variable(3.0), tape.variable(2.0));
/// let z = x * y + x.tanh();
/// let gradient = tape.backward(&[(z, 1.0)]);
/// assert_eq!(gradient.of(y), 3.0);
/// assert!((gradient.of(x) - (2.0 + 1.0 - 3.0_f64.tanh().powi(2))).abs() < 1e-15);
/// ```
#[derive(Debug, Default)]
pub struct Tape<T> {
    nodes: RefCell<Nodes<T>>,
}

#[derive(Debug, Default)]
struct Nodes<T> {
    /// Where the operands of each node end.
    ends: Vec<usize>,
    parents: Vec<u32>,
    partials: Vec<T>,
}

impl<T: Real> Tape<T> {
    /// An empty tape.
    pub fn new() -> Self {
        Self { nodes: RefCell::new(Nodes { ends: Vec::new(), parents: Vec::new(), partials: Vec::new() }) }
    }

    /// A number whose derivative [`backward`](Self::backward) gives.
    pub fn variable(&self, value: T) -> Var<'_, T> {
        self.record(value, &[])
    }

    /// One variable for each value.
    pub fn variables(&self, values: &[T]) -> Vec<Var<'_, T>> {
        let mut nodes = self.nodes.borrow_mut();
        let (first, end) = (nodes.ends.len(), nodes.parents.len());
        nodes.ends.resize(first + values.len(), end);
        values.iter().enumerate().map(|(i, &value)| Var { tape: Some(self), node: (first + i) as u32, value }).collect()
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.borrow().ends.len()
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all nodes and keeps the memory. No variable of the tape can outlive this.
    pub fn clear(&mut self) {
        let nodes = self.nodes.get_mut();
        nodes.ends.clear();
        nodes.parents.clear();
        nodes.partials.clear();
    }

    /// The derivative of `sum_k w_k y_k` in every node, for the pairs `(y_k, w_k)` given.
    pub fn backward(&self, seeds: &[(Var<'_, T>, T)]) -> Sensitivities<T> {
        let nodes = self.nodes.borrow();
        let mut derivatives = vec![T::ZERO; nodes.ends.len()];
        for (y, weight) in seeds {
            if y.tape.is_some() {
                derivatives[y.node as usize] += *weight;
            }
        }
        for node in (0..derivatives.len()).rev() {
            let outer = derivatives[node];
            if outer == T::ZERO {
                continue;
            }
            let start = if node == 0 { 0 } else { nodes.ends[node - 1] };
            for edge in start..nodes.ends[node] {
                derivatives[nodes.parents[edge] as usize] += outer * nodes.partials[edge];
            }
        }
        Sensitivities { derivatives }
    }

    // Memory is what costs here, and inlined it would be in every operation of every nested dual.
    #[inline(never)]
    fn record(&self, value: T, operands: &[(u32, T)]) -> Var<'_, T> {
        let mut nodes = self.nodes.borrow_mut();
        for &(parent, partial) in operands {
            nodes.parents.push(parent);
            nodes.partials.push(partial);
        }
        let end = nodes.parents.len();
        nodes.ends.push(end);
        Var { tape: Some(self), node: (nodes.ends.len() - 1) as u32, value }
    }
}

/// Derivatives in the nodes of a tape.
#[derive(Debug, Clone)]
pub struct Sensitivities<T> {
    derivatives: Vec<T>,
}

impl<T: Real> Sensitivities<T> {
    /// The derivative in one number; 0 in a constant.
    pub fn of(&self, x: Var<'_, T>) -> T {
        if x.tape.is_some() { self.derivatives[x.node as usize] } else { T::ZERO }
    }
}

/// A number on a tape, or a constant, which is on none.
#[derive(Clone, Copy)]
pub struct Var<'t, T> {
    tape: Option<&'t Tape<T>>,
    node: u32,
    value: T,
}

impl<T: std::fmt::Debug> std::fmt::Debug for Var<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tape {
            Some(_) => write!(f, "{:?} (node {})", self.value, self.node),
            None => write!(f, "{:?} (constant)", self.value),
        }
    }
}

impl<T: Real> Var<'_, T> {
    /// `y`, whose derivative is `slope(x, y)`.
    fn chain(self, y: T, slope: impl Fn(T, T) -> T) -> Self {
        self.unary(y, slope(self.value, y))
    }

    #[inline(never)]
    fn unary(self, value: T, partial: T) -> Self {
        match self.tape {
            Some(tape) => tape.record(value, &[(self.node, partial)]),
            None => Self::constant(value),
        }
    }

    #[inline(never)]
    fn binary(self, other: Self, value: T, partials: [T; 2]) -> Self {
        match (self.tape, other.tape) {
            (Some(tape), Some(_)) => tape.record(value, &[(self.node, partials[0]), (other.node, partials[1])]),
            (Some(_), None) => self.unary(value, partials[0]),
            (None, Some(_)) => other.unary(value, partials[1]),
            (None, None) => Self::constant(value),
        }
    }

    /// Whether this is the constant 0, which adds and multiplies without a trace.
    fn is_constant_zero(self) -> bool {
        self.tape.is_none() && self.value == T::ZERO
    }
}

impl<T: Real> Add for Var<'_, T> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if self.is_constant_zero() {
            other
        } else if other.is_constant_zero() {
            self
        } else {
            self.binary(other, self.value + other.value, [T::ONE, T::ONE])
        }
    }
}

impl<T: Real> AddAssign for Var<'_, T> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<T: Real> Sub for Var<'_, T> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.binary(other, self.value - other.value, [T::ONE, -T::ONE])
    }
}

impl<T: Real> Neg for Var<'_, T> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(-self.value, -T::ONE)
    }
}

impl<T: Real> Mul for Var<'_, T> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        if self.is_constant_zero() || other.is_constant_zero() {
            // Still 0 times the value, so that infinities and NaN show.
            return Self::constant(self.value * other.value);
        }
        self.binary(other, self.value * other.value, [other.value, self.value])
    }
}

impl<T: Real> Div for Var<'_, T> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        self.binary(other, quotient, [T::ONE / other.value, -quotient / other.value])
    }
}

impl<T: Real> Scalar for Var<'_, T> {
    type Real = T;

    const TRACE: Trace = Trace::Record;
    const LAYERS: usize = 0;

    fn constant(x: T) -> Self {
        Self { tape: None, node: 0, value: x }
    }

    fn value(self) -> T {
        self.value
    }

    chain_rule!(T);

    fn accumulate(self, n: usize, pair: impl Fn(usize) -> (Self, Self) + Copy) -> Self {
        let mut tape = self.tape;
        // Collected outside of the tape, as `pair` may record nodes of its own.
        let mut operands = Vec::with_capacity(2 * n + 1);
        if tape.is_some() {
            operands.push((self.node, T::ONE));
        }
        let mut sum = self.value;
        for i in 0..n {
            let (a, b) = pair(i);
            sum += a.value * b.value;
            for (x, partial) in [(a, b.value), (b, a.value)] {
                if x.tape.is_some() && partial != T::ZERO {
                    operands.push((x.node, partial));
                    tape = x.tape;
                }
            }
        }
        match tape {
            Some(tape) => tape.record(sum, &operands),
            None => Self::constant(sum),
        }
    }
}
