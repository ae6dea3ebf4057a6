//! The recurrence with full matrices, and its reverse pass through the derivative of the matrix exponential.

use ncde_kernels::{Affine, Contraction, Gradients, Transition};

use super::matrix::{apply, derivative, exponential, identity, multiply, transposed};
use super::model::Case;
use super::{assert_close, dot};

/// All words of up to `depth` letters, by length, then lexicographically.
pub fn words(channels: usize, depth: usize) -> Vec<Vec<usize>> {
    let (mut all, mut level) = (Vec::new(), vec![Vec::new()]);
    for _ in 0..depth {
        let longer = |word: &Vec<usize>| (0..channels).map(|k| [word.as_slice(), &[k]].concat()).collect::<Vec<_>>();
        level = level.iter().flat_map(longer).collect();
        all.extend(level.iter().cloned());
    }
    all
}

/// The words whose coefficients a case has.
fn case_words(case: &Case) -> Vec<Vec<usize>> {
    let depth = match case.recurrence.contraction() {
        Contraction::Matrices => 1,
        Contraction::Words { depth } => depth,
    };
    words(case.model.field.channels(), depth)
}

/// `A^{w_n} ... A^{w_1}`.
pub fn word_matrix(n: usize, matrices: &[Vec<f64>], word: &[usize]) -> Vec<f64> {
    word.iter().fold(identity(n), |product, &k| multiply(n, &matrices[k], &product))
}

fn add(sum: &mut [f64], factor: f64, x: &[f64]) {
    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
}

/// A flow with what it adds to each column, and how gradients go back through it.
struct Flow {
    hidden: usize,
    size: usize,
    transition: Transition,
    /// `[[Omega, beta_1, ..., beta_c], [0, 0]]`, or without the `beta`.
    generator: Vec<f64>,
    flow: Vec<f64>,
}

impl Flow {
    fn new(case: &Case, omega: &[f64], beta: Option<&[f64]>) -> Self {
        let hidden = case.model.hidden();
        let inside = beta.filter(|_| case.recurrence.affine() == Affine::Exact);
        let size = hidden + if inside.is_some() { case.columns } else { 0 };
        let mut generator = vec![0.0; size * size];
        for r in 0..hidden {
            generator[r * size..r * size + hidden].copy_from_slice(&omega[r * hidden..(r + 1) * hidden]);
            for c in hidden..size {
                generator[r * size + c] = inside.unwrap()[(c - hidden) * hidden + r];
            }
        }
        let transition = case.recurrence.transition();
        let flow = match transition {
            Transition::Exp => exponential(size, &generator),
            Transition::Euler => identity(size).iter().zip(&generator).map(|(x, y)| x + y).collect(),
        };
        Self { hidden, size, transition, generator, flow }
    }

    /// A state as the flow sees it: 1 in the place of its own column.
    fn extended(&self, h: &[f64], column: usize) -> Vec<f64> {
        let mut extended = vec![0.0; self.size];
        extended[..self.hidden].copy_from_slice(h);
        if self.size > self.hidden {
            extended[self.hidden + column] = 1.0;
        }
        extended
    }
}

struct Reference<'a> {
    case: &'a Case,
    matrices: Vec<Vec<f64>>,
    words: Vec<Vec<usize>>,
    products: Vec<Vec<f64>>,
}

impl<'a> Reference<'a> {
    fn new(case: &'a Case) -> Self {
        let n = case.model.hidden();
        let (matrices, words) = (case.model.matrices(&case.a), case_words(case));
        let products = words.iter().map(|word| word_matrix(n, &matrices, word)).collect();
        Self { case, matrices, words, products }
    }

    fn flow(&self, row: usize) -> Flow {
        let (case, n) = (self.case, self.case.model.hidden());
        let mut omega = vec![0.0; n * n];
        for (product, lambda) in self.products.iter().zip(&case.coefficients[row * self.words.len()..]) {
            add(&mut omega, *lambda, product);
        }
        let state_len = case.columns * n;
        Flow::new(case, &omega, case.affine.as_ref().map(|affine| &affine[row * state_len..(row + 1) * state_len]))
    }

    fn steps(&self, b: usize) -> usize {
        self.case.lengths.as_ref().map_or(self.case.length, |lengths| lengths[b])
    }
}

/// The states after each step.
pub fn states(case: &Case) -> Vec<f64> {
    let reference = Reference::new(case);
    let n = case.model.hidden();
    let state_len = case.columns * n;
    let mut states = Vec::new();
    for b in 0..case.batch {
        let mut h = case.initial[b * state_len..(b + 1) * state_len].to_vec();
        for t in 0..case.length {
            if t < reference.steps(b) {
                let row = b * case.length + t;
                let flow = reference.flow(row);
                for (c, h) in h.chunks_exact_mut(n).enumerate() {
                    let next = apply(flow.size, &flow.flow, &flow.extended(h, c));
                    h.copy_from_slice(&next[..n]);
                }
                if let (Some(affine), Affine::Approximate) = (&case.affine, case.recurrence.affine()) {
                    add(&mut h, 1.0, &affine[row * state_len..(row + 1) * state_len]);
                }
            }
            states.extend_from_slice(&h);
        }
    }
    states
}

/// The gradients of `weights . states`.
pub fn gradients(case: &Case, states: &[f64]) -> Gradients<f64> {
    let reference = Reference::new(case);
    let n = case.model.hidden();
    let state_len = case.columns * n;
    let width = reference.words.len();
    let mut d_matrices = vec![vec![0.0; n * n]; reference.matrices.len()];
    let mut coefficients = vec![0.0; case.coefficients.len()];
    let mut affine = case.affine.as_ref().map(|affine| vec![0.0; affine.len()]);
    let mut initial = Vec::new();
    for b in 0..case.batch {
        let mut g = vec![0.0; state_len];
        for t in (0..case.length).rev() {
            let row = b * case.length + t;
            let states_of_step = row * state_len..(row + 1) * state_len;
            add(&mut g, 1.0, &case.weights[states_of_step.clone()]);
            if t >= reference.steps(b) {
                continue;
            }
            let before = if t == 0 {
                &case.initial[b * state_len..(b + 1) * state_len]
            } else {
                &states[states_of_step.start - state_len..states_of_step.start]
            };
            let flow = reference.flow(row);
            let (size, back) = (flow.size, transposed(flow.size, &flow.flow));
            if let (Some(affine), Affine::Approximate) = (&mut affine, case.recurrence.affine()) {
                affine[states_of_step.clone()].copy_from_slice(&g);
            }
            let mut d_flow = vec![0.0; size * size];
            for c in 0..case.columns {
                let h = flow.extended(&before[c * n..(c + 1) * n], c);
                let mut extended = vec![0.0; size];
                extended[..n].copy_from_slice(&g[c * n..(c + 1) * n]);
                for r in 0..n {
                    add(&mut d_flow[r * size..(r + 1) * size], extended[r], &h);
                }
                g[c * n..(c + 1) * n].copy_from_slice(&apply(size, &back, &extended)[..n]);
            }
            let d_generator = match flow.transition {
                Transition::Euler => d_flow,
                Transition::Exp => derivative(size, &transposed(size, &flow.generator), &d_flow),
            };
            if let (Some(affine), true) = (&mut affine, size > n) {
                for (c, out) in affine[states_of_step].chunks_exact_mut(n).enumerate() {
                    (0..n).for_each(|r| out[r] = d_generator[r * size + n + c]);
                }
            }
            let d_omega: Vec<f64> = (0..n * n).map(|i| d_generator[i / n * size + i % n]).collect();
            for (i, word) in reference.words.iter().enumerate() {
                coefficients[row * width + i] = dot(&d_omega, &reference.products[i]);
                for (place, &k) in word.iter().enumerate() {
                    // The product is L A^k R: its gradient in A^k is L^T G R^T.
                    let right = word_matrix(n, &reference.matrices, &word[..place]);
                    let left = word_matrix(n, &reference.matrices, &word[place + 1..]);
                    let lambda = case.coefficients[row * width + i];
                    if word.len() == 1 {
                        add(&mut d_matrices[k], lambda, &d_omega);
                    } else {
                        let product = multiply(n, &multiply(n, &transposed(n, &left), &d_omega), &transposed(n, &right));
                        add(&mut d_matrices[k], lambda, &product);
                    }
                }
            }
        }
        initial.extend(g);
    }
    Gradients { a: case.model.pull_back(&case.a, &d_matrices), coefficients, initial, affine }
}

/// Compares every gradient.
#[track_caller]
pub fn assert_gradients(name: &str, seen: &Gradients<f64>, right: &Gradients<f64>, tolerance: f64) {
    assert_close(&format!("{name}: gradient of A"), &seen.a, &right.a, tolerance);
    assert_close(&format!("{name}: gradient of the coefficients"), &seen.coefficients, &right.coefficients, tolerance);
    assert_close(&format!("{name}: gradient of the initial state"), &seen.initial, &right.initial, tolerance);
    assert_eq!(seen.affine.is_some(), right.affine.is_some(), "{name}: gradient of the affine input");
    if let (Some(seen), Some(right)) = (&seen.affine, &right.affine) {
        assert_close(&format!("{name}: gradient of the affine input"), seen, right, tolerance);
    }
}
