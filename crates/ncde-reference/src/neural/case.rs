//! Random solves: a network, controls, and steps of different lengths for every sample, some of them padding.

use ncde_kernels::Float;
use ncde_kernels::neural::{Activation, Depth, Gradients, Input, Last, Method, Network, Outputs, Solve};

use super::reference;
use crate::{narrow, scaled, uniform};

/// Numbers between -1 and 1 that depend on the seed and the place alone.
pub fn numbers(seed: u64, n: usize) -> Vec<f64> {
    scaled(&uniform(seed, n), 2.0)
}

#[derive(Debug, Clone)]
pub struct Case<T = f64> {
    pub name: String,
    pub solve: Solve,
    pub batch: usize,
    pub steps: usize,
    pub control: usize,
    pub parameters: Vec<T>,
    pub coefficients: Vec<T>,
    pub initial: Vec<T>,
    pub dt: Vec<T>,
    pub rows: Vec<usize>,
}

/// States, channels and hidden layers; batch, steps and rows of the control.
pub type Shape<'a> = ((usize, usize, &'a [usize]), [usize; 3]);

impl Case {
    pub fn new(seed: u64, shape: Shape<'_>, functions: (Activation, Last), depth: Depth, solver: Method) -> Self {
        let ((hidden, channels, widths), [batch, steps, control]) = shape;
        let network = Network::new(hidden, channels, widths).unwrap().with_activation(functions.0).with_last(functions.1);
        let mut parameters = numbers(seed, network.parameters());
        for l in 0..network.layers() {
            let layer = network.layer(l);
            let scale = 1.5 / (layer.inputs as f64).sqrt();
            parameters[layer.weight].iter_mut().for_each(|x| *x *= scale);
            parameters[layer.bias].iter_mut().for_each(|x| *x *= 0.5);
        }
        let solve = Solve::new(network).with_depth(depth).with_method(solver);
        let mut dt: Vec<f64> = numbers(seed + 1, batch * steps).iter().map(|x| 0.15 + 0.1 * x).collect();
        for (b, dt) in dt.chunks_exact_mut(steps).enumerate() {
            // Each sample has its own number of steps, and pauses.
            let used = steps - b % steps.min(4);
            dt[used..].fill(0.0);
            if b % 3 == 1 && steps > 2 {
                dt[1] = 0.0;
            }
        }
        let count = batch * steps * solver.stages();
        let rows = numbers(seed + 2, count).iter().map(|x| ((x * 0.4999 + 0.5) * control as f64) as usize).collect();
        let coefficients = numbers(seed + 3, batch * control * solve.coefficients());
        let name = format!("{shape:?} {functions:?} {depth:?} {solver:?}");
        Self {
            name,
            solve,
            batch,
            steps,
            control,
            parameters,
            coefficients,
            initial: numbers(seed + 4, batch * hidden),
            dt,
            rows,
        }
    }

    /// The same solve with another activation of the last hidden layer.
    pub fn before_last(self, activation: Activation) -> Self {
        let solve = Solve::new(self.solve.network().clone().with_before_last(activation))
            .with_depth(self.solve.depth())
            .with_method(self.solve.method());
        Self { name: format!("{} then {activation:?}", self.name), solve, ..self }
    }

    /// States at the ends of all steps, the naive way.
    pub fn reference(&self) -> Vec<f64> {
        let (n, width, stages) = (self.solve.network().hidden(), self.solve.coefficients(), self.solve.method().stages());
        let mut states = Vec::new();
        for b in 0..self.batch {
            let mut h = self.initial[b * n..(b + 1) * n].to_vec();
            for step in 0..self.steps {
                let place = b * self.steps + step;
                let c = |s: usize| {
                    let row = b * self.control + self.rows[place * stages + s];
                    self.coefficients[row * width..(row + 1) * width].to_vec()
                };
                h = reference::step(&self.solve, &self.parameters, &h, self.dt[place], c);
                states.extend_from_slice(&h);
            }
        }
        states
    }

    /// The same numbers in another type.
    pub fn to<T: Float>(&self) -> Case<T> {
        Case {
            name: self.name.clone(),
            solve: self.solve.clone(),
            batch: self.batch,
            steps: self.steps,
            control: self.control,
            parameters: narrow(&self.parameters),
            coefficients: narrow(&self.coefficients),
            initial: narrow(&self.initial),
            dt: narrow(&self.dt),
            rows: self.rows.clone(),
        }
    }
}

impl<T: Float> Case<T> {
    pub fn input(&self) -> Input<'_, T> {
        Input {
            batch: self.batch,
            steps: self.steps,
            control: self.control,
            parameters: &self.parameters,
            coefficients: &self.coefficients,
            initial: &self.initial,
            dt: &self.dt,
            rows: &self.rows,
        }
    }

    pub fn forward(&self) -> Vec<T> {
        self.solve.forward(&self.input()).unwrap()
    }

    /// Gradients of `sum weights states`.
    pub fn gradients(&self, weights: &[T]) -> Gradients<T> {
        self.solve.backward(&self.input(), &self.forward(), Outputs::Every, weights).unwrap()
    }
}

/// Every kind of solve at shapes that fill no register, no tile and no group, and one that does.
pub fn cases() -> Vec<Case> {
    chosen(|_, _| true)
}

/// Those of `cases` for which a shape and a function are to go together, each by its number; and those with other methods and functions, for every shape.
pub fn chosen(together: impl Fn(usize, usize) -> bool) -> Vec<Case> {
    let shapes: [Shape<'_>; 8] = [
        ((1, 1, &[]), [1, 1, 1]),
        ((3, 1, &[5]), [1, 4, 2]),
        ((5, 3, &[7, 11]), [3, 5, 4]),
        ((2, 4, &[]), [7, 3, 2]),
        ((17, 2, &[19, 3, 13]), [9, 3, 5]),
        ((4, 5, &[6, 6]), [19, 2, 3]),
        ((16, 3, &[32, 32]), [8, 2, 2]),
        ((9, 11, &[3, 5]), [3, 2, 2]),
    ];
    let activations = [Activation::Silu, Activation::Tanh, Activation::Softplus, Activation::Relu];
    let mut cases = Vec::new();
    for (i, shape) in shapes.into_iter().enumerate() {
        for (j, activation) in activations.into_iter().enumerate().filter(|&(j, _)| together(i, j)) {
            for depth in [Depth::One, Depth::Two] {
                let last = if (i + j) % 3 == 0 { Last::Linear } else { Last::Tanh };
                let solver = [Method::Heun, Method::Euler, Method::Rk4][(i + 2 * j) % 3];
                cases.push(Case::new(1 + 10 * i as u64, shape, (activation, last), depth, solver));
            }
        }
    }
    // The other methods and functions.
    for (i, method) in Method::ALL.into_iter().enumerate() {
        for depth in [Depth::One, Depth::Two] {
            let (inner, outer) =
                [(Activation::ShiftedSoftplus, Activation::Identity), (Activation::Identity, Activation::Silu)][i % 2];
            cases.push(
                Case::new(3 + 10 * i as u64, shapes[[2, 4, 6][i % 3]], (inner, Last::Tanh), depth, method).before_last(outer),
            );
        }
    }
    // The last hidden layer on its own.
    for (i, shape) in shapes.into_iter().enumerate() {
        for (j, depth) in [Depth::One, Depth::Two].into_iter().enumerate() {
            let (inner, outer) = [(Activation::Relu, Activation::Tanh), (Activation::Silu, Activation::Softplus)][(i + j) % 2];
            let last = [Last::Linear, Last::Tanh][(i / 2) % 2];
            let solver = [Method::Heun, Method::Rk4][(i + j) % 2];
            cases.push(Case::new(5 + 10 * i as u64, shape, (inner, last), depth, solver).before_last(outer));
        }
    }
    cases
}
