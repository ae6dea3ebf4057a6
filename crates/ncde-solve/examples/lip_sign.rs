//! Networks fitted to `sign(x)` on `[-1, 1]`: how the Lip(2) norm grows with depth, beside its bound.
//!
//! Networks of 2, 3 and 4 layers with eight hidden units and `silu`, the last layer linear (thesis, section on Lip(gamma) neural networks).
//! The jump makes a good fit steep, and more layers bend more sharply: the Lipschitz constant of the derivative comes to dominate the norm.
//! The bound of the theorem grows far faster still.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use ncde_solve::Error;
use ncde_solve::field::{Activation, Network, VectorField};
use ncde_solve::lip;
use ncde_solve::scalar::{Scalar, Tape};

/// 128 inputs, none of them 0.
fn inputs() -> Vec<f64> {
    (0..128).map(|i| (f64::from(i) + 0.5) / 64.0 - 1.0).collect()
}

/// A number in `[0, 1)` (splitmix64).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The mean square error, and its gradient.
fn loss(network: &Network, parameters: &[f64], tape: &mut Tape<f64>) -> (f64, Vec<f64>) {
    let (mut sum, mut gradient) = (0.0, vec![0.0; parameters.len()]);
    let inputs = inputs();
    for &x in &inputs {
        tape.clear();
        let weights = tape.variables(parameters);
        let mut y = [tape.variable(0.0)];
        network.eval(&weights, &[Scalar::constant(x)], &mut y);
        let error = y[0].value() - x.signum();
        sum += error * error / inputs.len() as f64;
        let back = tape.backward(&[(y[0], 2.0 * error / inputs.len() as f64)]);
        for (gradient, &w) in gradient.iter_mut().zip(&weights) {
            *gradient += back.of(w);
        }
    }
    (sum, gradient)
}

/// Adam.
fn fit(network: &Network, steps: i32) -> (Vec<f64>, f64) {
    let mut state = 7;
    let mut parameters: Vec<f64> = network.init(|| random(&mut state));
    let (mut mean, mut square) = (vec![0.0; parameters.len()], vec![0.0; parameters.len()]);
    let mut tape = Tape::new();
    for step in 1..=steps {
        let (_, gradient) = loss(network, &parameters, &mut tape);
        let rate = 0.02 * (1.0 - 0.95 * f64::from(step) / f64::from(steps));
        for (i, &g) in gradient.iter().enumerate() {
            mean[i] = 0.9 * mean[i] + 0.1 * g;
            square[i] = 0.999 * square[i] + 0.001 * g * g;
            let (m, s) = (mean[i] / (1.0 - 0.9_f64.powi(step)), square[i] / (1.0 - 0.999_f64.powi(step)));
            parameters[i] -= rate * m / (s.sqrt() + 1e-8);
        }
    }
    let last = loss(network, &parameters, &mut tape).0;
    (parameters, last)
}

fn main() -> Result<(), Error> {
    let grid: Vec<f64> = (0..=1500).map(|i| f64::from(i) / 750.0 - 1.0).collect();
    println!("layers  loss      sup|f|  sup|f'|  remainder  sup|f''|  Lip(2) norm  log10 of its bound");
    let mut norms = Vec::new();
    for layers in [2, 3, 4] {
        let network = Network::new(1, 1, 8, layers - 1, Activation::Silu, Activation::Identity)?;
        let (parameters, loss) = fit(&network, 2000);
        let measured = lip::measure(&network, &parameters, &grid, 2.0)?;
        let bound = lip::bound(&network, &parameters, 1.0, 2.0)?;
        println!(
            "{layers}       {loss:.1e}  {:7.2} {:8.1} {:10.0} {:9.0} {:12.0} {:10.1}",
            measured.value,
            measured.slope,
            measured.remainder,
            measured.bend,
            measured.norm(),
            bound.whole()
        );
        assert!(measured.norm().log10() <= bound.whole(), "a bound is above");
        norms.push(measured);
    }
    assert!(norms[0].norm() < norms[1].norm() && norms[1].norm() < norms[2].norm(), "the norm grows with depth");
    assert!(norms[1..].iter().all(|norm| norm.bend == norm.norm()), "it is the bend that dominates");
    Ok(())
}
