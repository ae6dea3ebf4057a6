//! Bracket matrices for the Log-ODE method, formed once for each value of the parameters.
//!
//! With `[f, g](h) = Dg(h) f(h) - Df(h) g(h)` the Lie element `[P, Q]` of linear fields goes with the matrix
//!
//! ```text
//! A_[P, Q] = A_Q A_P - A_P A_Q
//! ```
//!
//! (the thesis's section on computing the flow prints the other sign, its section on the Log-ODE method this one). An affine input is
//! a letter too: its field is the constant `B^j`. Elements with exactly one such letter go with vectors,
//!
//! ```text
//! c_[P, Q] = A_Q c_P  if the letter is in P,   c_[P, Q] = -A_P c_Q  if it is in Q,
//! ```
//!
//! and elements with more vanish. Over one window, `Omega = sum lambda_P A_P` and `beta = sum lambda_P c_P`.
//!
//! Where the driving path itself is the input, `dh = sum_i (A^i h + B^i) domega^i`, the pair `(A^i, B^i)` acts on `(h, 1)` as one matrix. No letters are
//! added: every element has a matrix and a vector,
//!
//! ```text
//! c_[P, Q] = A_Q c_P - A_P c_Q,
//! ```
//!
//! and the log-signature of `omega` alone is enough, a quarter of the coordinates of `(omega, omega)` at depth 2.

use ncde_simd::{Float, Number, Scalar};

use crate::Error;
use crate::chunks::add;
use crate::error::want;
use crate::structure::Field;

/// A letter, or the bracket of two earlier elements of a list; all counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bracket {
    /// `e_i`: a channel of the driving path, or behind those a column of the affine input.
    Letter(usize),
    /// `[P, Q]`.
    Pair(usize, usize),
}

/// What an element is represented by: a matrix, a vector or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The `i`-th matrix.
    Matrix(usize),
    /// The `i`-th vector.
    Vector(usize),
    Nothing,
}

/// The affine input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AffineInput {
    /// Another path with this number of channels.
    Other(usize),
    /// The driving path.
    Driving,
}

/// The bracketed fields of a linear field.
#[derive(Debug, Clone)]
pub struct Brackets {
    field: Field,
    affine: AffineInput,
    table: Vec<Bracket>,
    kinds: Vec<Kind>,
    matrices: Vec<usize>,
    vectors: Vec<usize>,
}

impl Brackets {
    /// For elements over the channels of `field` and `inputs` columns of an affine input.
    ///
    /// # Errors
    /// If a letter does not exist, or a bracket refers to an element that is not before it.
    pub fn new(field: &Field, inputs: usize, table: &[Bracket]) -> Result<Self, Error> {
        let (mut kinds, mut matrices, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        let refuse = |problem: String| Err(Error::Unsupported { operation: "brackets", problem });
        for (i, &bracket) in table.iter().enumerate() {
            let letters = match bracket {
                Bracket::Letter(k) if k < field.channels() => 0,
                Bracket::Letter(k) if k < field.channels() + inputs => 1,
                Bracket::Letter(k) => {
                    return refuse(format!("letter {k}, but there are {} channels and {inputs} inputs", field.channels()));
                }
                Bracket::Pair(p, q) if p < i && q < i => [p, q].iter().map(|&p| weight(kinds[p])).sum(),
                Bracket::Pair(p, q) => {
                    return refuse(format!("element {i} is the bracket of {p} and {q}, which are not before it"));
                }
            };
            let kind = match letters {
                0 => Kind::Matrix(matrices.len()),
                1 => Kind::Vector(vectors.len()),
                _ => Kind::Nothing,
            };
            kinds.push(kind);
            match kind {
                Kind::Matrix(_) => matrices.push(i),
                Kind::Vector(_) => vectors.push(i),
                Kind::Nothing => {}
            }
        }
        Ok(Self { field: field.clone(), affine: AffineInput::Other(inputs), table: table.to_vec(), kinds, matrices, vectors })
    }

    /// For elements over the channels of `field`, where the driving path is also the affine input: each has a matrix and a vector.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_path(field: &Field, table: &[Bracket]) -> Result<Self, Error> {
        let alone = Self::new(field, 0, table)?;
        Ok(Self { affine: AffineInput::Driving, vectors: alone.matrices.clone(), ..alone })
    }

    /// The field whose brackets these are.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// All elements.
    pub fn table(&self) -> &[Bracket] {
        &self.table
    }

    /// Whether the driving path is also the affine input: every element has a matrix and a vector then.
    pub fn is_of_path(&self) -> bool {
        self.affine == AffineInput::Driving
    }

    /// The places in the list of the elements that go with matrices.
    pub fn matrix_places(&self) -> &[usize] {
        &self.matrices
    }

    /// The places in the list of the elements that go with vectors.
    pub fn vector_places(&self) -> &[usize] {
        &self.vectors
    }

    /// The field whose channels are the matrices: what a recurrence over log-signatures is built with.
    ///
    /// # Errors
    /// If the structure is not closed under products.
    pub fn widened(&self) -> Result<Field, Error> {
        self.closed()?;
        Field::new(self.field.structure().clone(), self.matrices.len())
    }

    fn closed(&self) -> Result<(), Error> {
        let structure = self.field.structure();
        if structure.is_closed() {
            return Ok(());
        }
        Err(Error::Unsupported {
            operation: "brackets",
            problem: format!(
                "brackets of {} matrices have another structure; use the expanded log-signature (`Contraction::Words`)",
                structure.name()
            ),
        })
    }

    fn check<T: Float>(&self, a: &[T]) -> Result<(), Error> {
        want("brackets", "A", a.len(), self.field.parameters(), || {
            format!("the parameters of {} channels", self.field.channels())
        })
    }

    /// `A_P` for every element with a matrix, in the layout of [`widened`](Self::widened).
    ///
    /// # Errors
    /// If the structure is not closed, or `a` has the wrong size.
    pub fn matrices<T: Float>(&self, a: &[T]) -> Result<Vec<T>, Error> {
        self.closed()?;
        self.check(a)?;
        let size = self.field.channel(0).len();
        let mut out = vec![T::ZERO; self.matrices.len() * size];
        for (m, &i) in self.matrices.iter().enumerate() {
            let (done, rest) = out.split_at_mut(m * size);
            let out_row = &mut rest[..size];
            match self.table[i] {
                Bracket::Letter(k) => out_row.copy_from_slice(&a[self.field.channel(k)]),
                Bracket::Pair(p, q) => {
                    let (p, q) = (self.rows(p, size), self.rows(q, size));
                    self.commutator(&done[q], &done[p], out_row);
                }
            }
        }
        Ok(out)
    }

    /// The gradient of the parameters, from that of the matrices.
    ///
    /// # Errors
    /// As for [`matrices`](Self::matrices).
    pub fn matrices_backward<T: Float>(&self, a: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        let matrices = self.matrices(a)?;
        want("brackets", "the gradient", gradient.len(), matrices.len(), || format!("{} matrices", self.matrices.len()))?;
        let size = self.field.channel(0).len();
        let mut g = gradient.to_vec();
        let mut da = vec![T::ZERO; a.len()];
        for (m, &i) in self.matrices.iter().enumerate().rev() {
            let (before, rest) = g.split_at_mut(m * size);
            let g_row = &rest[..size];
            match self.table[i] {
                Bracket::Letter(k) => add(&mut da[self.field.channel(k)], g_row),
                Bracket::Pair(p, q) => {
                    // C = QP - PQ: dQ = G P^T - P^T G, dP = Q^T G - G Q^T.
                    let (p, q) = (self.rows(p, size), self.rows(q, size));
                    self.reverse(g_row, &matrices[p.clone()], &mut before[q.clone()], T::ONE);
                    self.reverse(g_row, &matrices[q], &mut before[p], -T::ONE);
                }
            }
        }
        Ok(da)
    }

    /// `c_P` for every element with a vector, `[vectors, H]`, from the columns of `B`, `[inputs, H]`.
    ///
    /// # Errors
    /// If `a` or `b` has the wrong size.
    pub fn vectors<T: Float>(&self, a: &[T], b: &[T]) -> Result<Vec<T>, Error> {
        self.check(a)?;
        self.check_inputs(b)?;
        let hidden = self.field.hidden();
        let a = self.field.effective(a);
        let mut out = vec![T::ZERO; self.vectors.len() * hidden];
        for (m, &i) in self.vectors.iter().enumerate() {
            let (done, rest) = out.split_at_mut(m * hidden);
            let out_row = &mut rest[..hidden];
            match self.table[i] {
                Bracket::Letter(k) => out_row.copy_from_slice(&b[self.column(k) * hidden..][..hidden]),
                Bracket::Pair(p, q) => {
                    for (matrix, vector, sign) in self.terms::<T>(p, q) {
                        let moved = self.act(&a, matrix, &done[vector * hidden..(vector + 1) * hidden]);
                        out_row.iter_mut().zip(moved).for_each(|(out, x)| *out += sign * x);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The gradients of the parameters and of the columns of `B`, from that of the vectors.
    ///
    /// # Errors
    /// As for [`vectors`](Self::vectors).
    pub fn vectors_backward<T: Float>(&self, a: &[T], b: &[T], gradient: &[T]) -> Result<(Vec<T>, Vec<T>), Error> {
        let vectors = self.vectors(a, b)?;
        want("brackets", "the gradient", gradient.len(), vectors.len(), || format!("{} vectors", self.vectors.len()))?;
        let hidden = self.field.hidden();
        let effective = self.field.effective(a);
        let (mut g, mut da, mut db) = (gradient.to_vec(), vec![T::ZERO; a.len()], vec![T::ZERO; b.len()]);
        for (m, &i) in self.vectors.iter().enumerate().rev() {
            let (before, rest) = g.split_at_mut(m * hidden);
            let g_row = &rest[..hidden];
            match self.table[i] {
                Bracket::Letter(k) => add(&mut db[self.column(k) * hidden..][..hidden], g_row),
                Bracket::Pair(p, q) => {
                    for (matrix, vector, sign) in self.terms::<T>(p, q) {
                        let numbers = vector * hidden..(vector + 1) * hidden;
                        let g: Vec<T> = g_row.iter().map(|&x| x * sign).collect();
                        let dc = self.act_backward(&effective, &mut da, matrix, &vectors[numbers.clone()], &g);
                        add(&mut before[numbers], &dc);
                    }
                }
            }
        }
        self.field.effective_backward(&effective, &mut da);
        Ok((da, db))
    }

    fn check_inputs<T: Float>(&self, b: &[T]) -> Result<(), Error> {
        let hidden = self.field.hidden();
        let inputs = match self.affine {
            AffineInput::Other(inputs) => inputs,
            AffineInput::Driving => self.field.channels(),
        };
        want("brackets", "B", b.len(), inputs * hidden, || format!("{inputs} inputs x {hidden} states"))
    }

    /// The range of the matrix of element `i`.
    fn rows(&self, i: usize, size: usize) -> std::ops::Range<usize> {
        match self.kinds[i] {
            Kind::Matrix(m) | Kind::Vector(m) => m * size..(m + 1) * size,
            Kind::Nothing => 0..0,
        }
    }

    /// The column of `B` that goes with a letter.
    fn column(&self, letter: usize) -> usize {
        match self.affine {
            AffineInput::Other(_) => letter - self.field.channels(),
            AffineInput::Driving => letter,
        }
    }

    /// The terms `sign A c` of the vector of a bracket: the element with the matrix, the number of the vector, and the sign.
    fn terms<T: Float>(&self, p: usize, q: usize) -> impl Iterator<Item = (usize, usize, T)> {
        let vector = |i: usize| match (self.affine, self.kinds[i]) {
            (_, Kind::Vector(vector)) | (AffineInput::Driving, Kind::Matrix(vector)) => Some(vector),
            _ => None,
        };
        let terms = [(q, vector(p), T::ONE), (p, vector(q), -T::ONE)];
        terms.into_iter().filter_map(|(matrix, vector, sign)| Some((matrix, vector?, sign)))
    }

    /// `A_P v`, by products with single matrices.
    fn act<T: Float>(&self, a: &[T], element: usize, v: &[T]) -> Vec<T> {
        match self.table[element] {
            Bracket::Letter(k) => {
                let (mut out, mut scratch) = (vec![T::ZERO; v.len()], vec![T::ZERO; v.len()]);
                self.field.apply::<T, _, false>(Scalar::new(), a, k, v, &mut out, &mut scratch);
                out
            }
            Bracket::Pair(p, q) => {
                let (mut qp, pq) = (self.act(a, q, &self.act(a, p, v)), self.act(a, p, &self.act(a, q, v)));
                qp.iter_mut().zip(pq).for_each(|(x, y)| *x -= y);
                qp
            }
        }
    }

    /// Reverse of [`act`](Self::act): adds to `da`, returns the gradient of `v`.
    fn act_backward<T: Float>(&self, a: &[T], da: &mut [T], element: usize, v: &[T], g: &[T]) -> Vec<T> {
        match self.table[element] {
            Bracket::Letter(k) => {
                let (mut out, mut scratch) = (vec![T::ZERO; v.len()], vec![T::ZERO; v.len()]);
                let simd = Scalar::new();
                self.field.outer(simd, a, k, [g, v], da, &mut scratch);
                self.field.apply::<T, _, true>(simd, a, k, g, &mut out, &mut scratch);
                out
            }
            Bracket::Pair(p, q) => {
                let gp = self.act_backward(a, da, q, &self.act(a, p, v), g);
                let mut dv = self.act_backward(a, da, p, v, &gp);
                let minus: Vec<T> = g.iter().map(|&x| -x).collect();
                let gq = self.act_backward(a, da, p, &self.act(a, q, v), &minus);
                add(&mut dv, &self.act_backward(a, da, q, v, &gq));
                dv
            }
        }
    }

    /// `out = XY - YX`, block by block.
    fn commutator<T: Float>(&self, x: &[T], y: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        for block in self.field.blocks() {
            let (b, entries) = (block.b, block.entry..block.entry + block.b * block.b);
            let (x, y, out) = (&x[entries.clone()], &y[entries.clone()], &mut out[entries]);
            for r in 0..b {
                let row = &mut out[r * b..(r + 1) * b];
                for k in 0..b {
                    T::axpy(Scalar::new(), row, x[r * b + k], &y[k * b..(k + 1) * b]);
                    T::axpy(Scalar::new(), row, -y[r * b + k], &x[k * b..(k + 1) * b]);
                }
            }
        }
    }

    /// `out += sign (G Y^T - Y^T G)`, block by block: the gradient of `X` in `XY - YX`.
    fn reverse<T: Float>(&self, g: &[T], y: &[T], out: &mut [T], sign: T) {
        for block in self.field.blocks() {
            let (b, entries) = (block.b, block.entry..block.entry + block.b * block.b);
            let (g, y, out) = (&g[entries.clone()], &y[entries.clone()], &mut out[entries]);
            for r in 0..b {
                for c in 0..b {
                    let sum = T::dot(Scalar::new(), &g[r * b..(r + 1) * b], &y[c * b..(c + 1) * b]);
                    out[r * b + c] += sign * sum;
                }
                for k in 0..b {
                    let row = &mut out[r * b..(r + 1) * b];
                    T::axpy(Scalar::new(), row, -sign * y[k * b + r], &g[k * b..(k + 1) * b]);
                }
            }
        }
    }
}

fn weight(kind: Kind) -> usize {
    match kind {
        Kind::Matrix(_) => 0,
        Kind::Vector(_) => 1,
        Kind::Nothing => 2,
    }
}
