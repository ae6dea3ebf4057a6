//! The Legendre memory: the last `theta` of a signal as coefficients of Legendre polynomials, a fixed Linear NCDE driven by `(t, x)`.
//!
//! ```text
//! m' = (A m + B x) / theta,    A_ij = (2i + 1) (-1 if i < j else (-1)^(i-j+1)),    B_i = (2i + 1) (-1)^i
//! x(t - s theta) ~ sum_i m_i(t) P_i(2s - 1),   0 <= s <= 1
//! ```
//!
//! Over a gap `g = h / theta` in which `x` is linear, from `x_0` to `x_1`, the solution is
//!
//! ```text
//! m <- e^{gA} m + g phi_1(gA) B x_0 + g phi_2(gA) B (x_1 - x_0),    phi_1(z) = (e^z - 1) / z,   phi_2(z) = (e^z - 1 - z) / z^2
//! ```
//!
//! so times need not be regular. `A` has the simple eigenvalues `lambda_k` that are the roots of the denominator of the
//! Padé approximant `[q-1/q]` of `e^{-s}`, and `f(gA) = sum_k f(g lambda_k) R_k` with `R_k = prod_{j != k} (A - lambda_j) / (lambda_k - lambda_j)`: a flow costs
//! `q / 2` exponentials and as many sums of small matrices, for any gap.
//!
//! Voelker, Kajic, Eliasmith, "Legendre memory units" (2019).

/// A complex number.
type Complex = [f64; 2];

fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

fn minus([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a - c, b - d]
}

fn over(a: Complex, [c, d]: Complex) -> Complex {
    let [x, y] = times(a, [c, -d]);
    let size = c * c + d * d;
    [x / size, y / size]
}

/// The largest order: beyond it the eigenvectors of `A` are too close to each other for the sum above.
pub const MAX_ORDER: usize = 12;

/// The memory of order `q`.
#[derive(Debug, Clone)]
pub struct Legendre {
    order: usize,
    /// One of each pair of complex conjugate eigenvalues, and the real one if there is one.
    modes: Vec<Mode>,
}

#[derive(Debug, Clone)]
struct Mode {
    value: Complex,
    /// `R_k`, row by row; doubled where it stands for a conjugate pair.
    residue: Vec<Complex>,
    /// `R_k B`.
    input: Vec<Complex>,
}

/// The solution over a gap as a linear map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flow {
    /// `e^{gA}`, `[q, q]`, row by row.
    pub state: Vec<f32>,
    /// The coefficient of `x_0`, `[q]`.
    pub value: Vec<f32>,
    /// The coefficient of `x_1 - x_0`, `[q]`.
    pub change: Vec<f32>,
}

impl Legendre {
    /// The memory of an order from 1 to [`MAX_ORDER`]; other orders are clamped to that range.
    pub fn new(order: usize) -> Self {
        let q = order.clamp(1, MAX_ORDER);
        let (a, b) = generator(q);
        let roots = eigenvalues(q);
        let pairs = roots.iter().filter(|value| value[1] > -1e-9);
        let modes = pairs.map(|&value| Mode::new(q, &a, &b, &roots, value)).collect();
        Self { order: q, modes }
    }

    /// The order `q`.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The flow over a gap, in units of the span `theta`.
    pub fn flow(&self, gap: f64) -> Flow {
        let q = self.order;
        let (mut state, mut value, mut change) = (vec![0.0; q * q], vec![0.0; q], vec![0.0; q]);
        let add = |sum: &mut [f64], factor: Complex, parts: &[Complex]| {
            sum.iter_mut().zip(parts).for_each(|(sum, &part)| *sum += factor[0] * part[0] - factor[1] * part[1]);
        };
        for mode in &self.modes {
            let [exponential, first, second] = functions([gap * mode.value[0], gap * mode.value[1]]);
            add(&mut state, exponential, &mode.residue);
            add(&mut value, [gap * first[0], gap * first[1]], &mode.input);
            add(&mut change, [gap * second[0], gap * second[1]], &mode.input);
        }
        let narrow = |x: Vec<f64>| x.into_iter().map(|x| x as f32).collect();
        Flow { state: narrow(state), value: narrow(value), change: narrow(change) }
    }
}

impl Mode {
    fn new(q: usize, a: &[f64], b: &[f64], roots: &[Complex], value: Complex) -> Self {
        let twice = if value[1].abs() > 1e-9 { 2.0 } else { 1.0 };
        let mut residue: Vec<Complex> = (0..q * q).map(|i| [if i % (q + 1) == 0 { twice } else { 0.0 }, 0.0]).collect();
        for &other in roots.iter().filter(|&&other| other != value) {
            let scale = minus(value, other);
            let mut product = vec![[0.0; 2]; q * q];
            for i in 0..q {
                for l in 0..q {
                    let entry = over(minus([a[i * q + l], 0.0], if i == l { other } else { [0.0; 2] }), scale);
                    for j in 0..q {
                        let [x, y] = times(entry, residue[l * q + j]);
                        let sum = &mut product[i * q + j];
                        *sum = [sum[0] + x, sum[1] + y];
                    }
                }
            }
            residue = product;
        }
        let input = residue
            .chunks_exact(q)
            .map(|row| row.iter().zip(b).fold([0.0; 2], |sum, (r, b)| [sum[0] + r[0] * b, sum[1] + r[1] * b]));
        Self { value, input: input.collect(), residue }
    }
}

/// `A`, row by row, and `B`, for `theta = 1`.
pub fn generator(q: usize) -> (Vec<f64>, Vec<f64>) {
    let sign = |n: usize| if n.is_multiple_of(2) { 1.0 } else { -1.0 };
    let entry = |i: usize, j: usize| (2 * i + 1) as f64 * if i < j { -1.0 } else { -sign(i - j) };
    ((0..q * q).map(|n| entry(n / q, n % q)).collect(), (0..q).map(|i| (2 * i + 1) as f64 * sign(i)).collect())
}

/// The roots of `sum_i C(q, i) (2q - 1 - i)! / (2q - 1)! s^i`, by the simultaneous iteration of Durand and Kerner.
fn eigenvalues(q: usize) -> Vec<Complex> {
    // From the leading coefficient down, that one 1: c_{i-1} / c_i = i (2q - i) / (q - i + 1).
    let mut coefficients = vec![1.0];
    for i in (1..=q).rev() {
        let last: f64 = coefficients[q - i];
        coefficients.push(last * (i * (2 * q - i)) as f64 / (q - i + 1) as f64);
    }
    let size = q as f64;
    let mut roots: Vec<Complex> = (0..q)
        .map(|k| {
            let angle = std::f64::consts::TAU * (k as f64 + 0.3) / size + 0.1;
            [-size + size * angle.cos(), size * angle.sin()]
        })
        .collect();
    for _ in 0..500 {
        let mut moved = 0.0_f64;
        for k in 0..q {
            let value = coefficients.iter().fold([0.0; 2], |sum, &c| {
                let [x, y] = times(sum, roots[k]);
                [x + c, y]
            });
            let others = (0..q).filter(|&j| j != k).fold([1.0, 0.0], |product, j| times(product, minus(roots[k], roots[j])));
            let step = over(value, others);
            roots[k] = minus(roots[k], step);
            moved = moved.max(step[0].abs() + step[1].abs());
        }
        if moved < 1e-15 * size {
            break;
        }
    }
    // Real roots have a rounding error as their imaginary part.
    roots.iter().map(|&[x, y]| if y.abs() < 1e-9 { [x, 0.0] } else { [x, y] }).collect()
}

/// `e^z`, `phi_1(z)`, `phi_2(z)`.
fn functions(z: Complex) -> [Complex; 3] {
    let size = z[0].exp();
    let exponential = [size * z[1].cos(), size * z[1].sin()];
    if z[0].hypot(z[1]) < 0.5 {
        // The quotients below would cancel; phi_2 = sum_n z^n / (n + 2)!.
        let (mut term, mut second) = ([0.5, 0.0], [0.0; 2]);
        for n in 3..20 {
            second = [second[0] + term[0], second[1] + term[1]];
            let [x, y] = times(term, z);
            term = [x / f64::from(n), y / f64::from(n)];
        }
        let [x, y] = times(z, second);
        return [exponential, [1.0 + x, y], second];
    }
    let first = over(minus(exponential, [1.0, 0.0]), z);
    [exponential, first, over(minus(first, [1.0, 0.0]), z)]
}

/// `P_0(x), ..., P_{q-1}(x)`.
pub fn polynomials(q: usize, x: f64) -> Vec<f64> {
    let mut p = vec![1.0, x];
    for n in 1..q.saturating_sub(1) {
        p.push(((2 * n + 1) as f64 * x * p[n] - n as f64 * p[n - 1]) / (n + 1) as f64);
    }
    p.truncate(q);
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classical Runge-Kutta method with 20,000 steps.
    fn solved(q: usize, gap: f64, mut m: Vec<f64>, [from, to]: [f64; 2]) -> Vec<f64> {
        let (a, b) = generator(q);
        let steps = 20_000;
        let h = gap / f64::from(steps);
        for step in 0..steps {
            let slope = |m: &[f64], share: f64| -> Vec<f64> {
                let x = from + (to - from) * (f64::from(step) + share) / f64::from(steps);
                (0..q).map(|i| (0..q).map(|j| a[i * q + j] * m[j]).sum::<f64>() + b[i] * x).collect()
            };
            let moved = |k: &[f64], h: f64| -> Vec<f64> { m.iter().zip(k).map(|(m, k)| m + h * k).collect() };
            let k1 = slope(&m, 0.0);
            let k2 = slope(&moved(&k1, h / 2.0), 0.5);
            let k3 = slope(&moved(&k2, h / 2.0), 0.5);
            let k4 = slope(&moved(&k3, h), 1.0);
            m = (0..q).map(|i| m[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])).collect();
        }
        m
    }

    #[test]
    fn a_flow_is_a_fine_solution_for_any_gap() {
        for q in [1, 2, 4, 8, 9, 12] {
            let memory = Legendre::new(q);
            let mut m: Vec<f64> = (0..q).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut x = 0.4;
            for (gap, next) in [(0.001, 0.5), (0.7, -0.3), (0.02, 1.0), (0.13, 0.2), (3.0, 0.9)] {
                let flow = memory.flow(gap);
                let ours: Vec<f64> = (0..q)
                    .map(|i| {
                        let state: f64 = (0..q).map(|j| f64::from(flow.state[i * q + j]) * m[j]).sum();
                        state + f64::from(flow.value[i]) * x + f64::from(flow.change[i]) * (next - x)
                    })
                    .collect();
                let fine = solved(q, gap, m, [x, next]);
                let worst = ours.iter().zip(&fine).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 3e-5, "q {q}, gap {gap}: {worst}");
                (m, x) = (fine, next);
            }
        }
    }

    #[test]
    fn a_constant_stays_and_a_sine_is_remembered() {
        let (memory, q) = (Legendre::new(9), 9);
        let mut m = vec![0.0_f32; q];
        let signal = |t: f64| (4.0 * t).sin();
        let mut t = 0.0;
        // Irregular times over one span and a half.
        for k in 0..400 {
            let gap = 0.002 + 0.004 * ((f64::from(k) * 0.7).sin() + 1.0) / 2.0;
            let flow = memory.flow(gap);
            let [x0, x1] = [signal(t), signal(t + gap)];
            m = (0..q)
                .map(|i| {
                    let state: f32 = (0..q).map(|j| flow.state[i * q + j] * m[j]).sum();
                    state + flow.value[i] * x0 as f32 + flow.change[i] * (x1 - x0) as f32
                })
                .collect();
            t += gap;
        }
        for s in [0.0, 0.25, 0.5, 0.8, 1.0] {
            let seen: f64 = polynomials(q, 2.0 * s - 1.0).iter().zip(&m).map(|(p, &m)| p * f64::from(m)).sum();
            assert!((seen - signal(t - s)).abs() < 2e-3, "{s}: {seen} {}", signal(t - s));
        }
        let flow = memory.flow(0.37);
        for i in 0..q {
            let constant = flow.state[i * q] + flow.value[i];
            assert!((constant - if i == 0 { 1.0 } else { 0.0 }).abs() < 1e-5, "{i}: {constant}");
        }
    }
}
