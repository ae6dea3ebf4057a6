//! `dh/dt = sum_i c_i f_i(h) + sum_{i<j} c_[i,j] (Df_j f_i - Df_i f_j)(h)`, one sample, one bracket, one number after the other.

use ncde_kernels::neural::{Activation, Depth, Last, Method, Network, Solve};

/// A number and its derivative in some direction.
#[derive(Debug, Clone, Copy)]
struct Dual(f64, f64);

fn activate(activation: Activation, Dual(z, dz): Dual) -> Dual {
    let sigmoid = 1.0 / (1.0 + (-z).exp());
    let (value, slope) = match activation {
        Activation::Silu => (z * sigmoid, sigmoid * (1.0 + z * (1.0 - sigmoid))),
        Activation::Relu => (z.max(0.0), if z > 0.0 { 1.0 } else { 0.0 }),
        Activation::Tanh => (z.tanh(), 1.0 - z.tanh().powi(2)),
        Activation::Softplus => (z.exp().ln_1p(), sigmoid),
        Activation::ShiftedSoftplus => (z.exp().ln_1p() - 2.0_f64.ln(), sigmoid),
        Activation::Identity => (z, 1.0),
    };
    Dual(value, slope * dz)
}

/// All outputs of the network at `h`, with their derivatives in direction `v`.
fn field(network: &Network, parameters: &[f64], h: &[f64], v: &[f64]) -> Vec<Dual> {
    let mut x: Vec<Dual> = h.iter().zip(v).map(|(&h, &v)| Dual(h, v)).collect();
    let mut rest = parameters;
    let sizes = network.widths().iter().copied().chain([network.channels() * network.hidden()]);
    for (l, n) in sizes.enumerate() {
        let (weight, tail) = rest.split_at(x.len() * n);
        let (bias, tail) = tail.split_at(n);
        rest = tail;
        let output = |o: usize| {
            let mut z = Dual(bias[o], 0.0);
            for (i, x) in x.iter().enumerate() {
                z = Dual(z.0 + x.0 * weight[i * n + o], z.1 + x.1 * weight[i * n + o]);
            }
            match (l < network.widths().len(), network.last()) {
                (true, _) => activate(network.activation_of(l), z),
                (false, Last::Tanh) => activate(Activation::Tanh, z),
                (false, Last::Linear) => z,
            }
        };
        x = (0..n).map(output).collect();
    }
    assert!(rest.is_empty());
    x
}

/// `F(h, c)`.
pub fn right_hand_side(solve: &Solve, parameters: &[f64], h: &[f64], c: &[f64]) -> Vec<f64> {
    let (network, n, d) = (solve.network(), h.len(), solve.network().channels());
    let f: Vec<f64> = field(network, parameters, h, h).iter().map(|x| x.0).collect();
    let row = |i: usize| &f[i * n..(i + 1) * n];
    let mut sum = vec![0.0; n];
    for i in 0..d {
        sum.iter_mut().zip(row(i)).for_each(|(sum, f)| *sum += c[i] * f);
    }
    if solve.depth() == Depth::Two {
        let mut coefficients = c[d..].iter();
        for i in 0..d {
            for j in i + 1..d {
                let c = coefficients.next().unwrap();
                let (along_i, along_j) = (field(network, parameters, h, row(i)), field(network, parameters, h, row(j)));
                for k in 0..n {
                    sum[k] += c * (along_i[j * n + k].1 - along_j[i * n + k].1);
                }
            }
        }
        assert!(coefficients.next().is_none());
    }
    sum
}

fn moved(h: &[f64], terms: &[(f64, &[f64])]) -> Vec<f64> {
    let mut h = h.to_vec();
    for &(factor, k) in terms {
        h.iter_mut().zip(k).for_each(|(h, k)| *h += factor * k);
    }
    h
}

/// One step, `c(s)` being the coefficients of stage `s`.
pub fn step(solve: &Solve, parameters: &[f64], h: &[f64], dt: f64, c: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
    let f = |s: usize, h: &[f64]| right_hand_side(solve, parameters, h, &c(s));
    let first = f(0, h);
    match solve.method() {
        Method::Euler => moved(h, &[(dt, &first)]),
        Method::Heun => {
            let second = f(1, &moved(h, &[(dt, &first)]));
            moved(h, &[(dt / 2.0, &first), (dt / 2.0, &second)])
        }
        Method::Rk4 => {
            let second = f(1, &moved(h, &[(dt / 2.0, &first)]));
            let third = f(2, &moved(h, &[(dt / 2.0, &second)]));
            let fourth = f(3, &moved(h, &[(dt, &third)]));
            moved(h, &[(dt / 6.0, &first), (dt / 3.0, &second), (dt / 3.0, &third), (dt / 6.0, &fourth)])
        }
        method => {
            let (tableau, mut slopes) = (method.tableau(), vec![first]);
            let sum = |weights: &[f64], slopes: &[Vec<f64>]| {
                moved(h, &weights.iter().zip(slopes).map(|(w, k)| (dt * w, &k[..])).collect::<Vec<_>>())
            };
            for s in 1..tableau.stages() {
                // A last stage that only serves the error reads no row of its own.
                let row = s.min(method.stages() - 1);
                slopes.push(f(row, &sum(tableau.a[s - 1], &slopes)));
            }
            sum(tableau.b, &slopes)
        }
    }
}
