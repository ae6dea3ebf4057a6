//! A field of one's own, and what the Log-ODE method makes of it: errors by the number of windows and the depth of brackets.
//!
//! A unicycle at `(x, y)` with an angle `a` drives forwards with the first channel and turns with the second:
//! `f_1 = (cos a, sin a, 0)`, `f_2 = (0, 0, 1)`. Only their bracket moves it sideways, so a window's increment alone misses what its area holds.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use ncde_signature::path::{Linear, Series, Windows};
use ncde_solve::Error;
use ncde_solve::field::VectorField;
use ncde_solve::scalar::Scalar;
use ncde_solve::solve::{Along, LogOde, Method, Save, Solver, Steps, Term};

struct Unicycle;

impl VectorField for Unicycle {
    fn channels(&self) -> usize {
        2
    }

    fn hidden(&self) -> usize {
        3
    }

    fn parameters(&self) -> usize {
        0
    }

    fn eval<N: Scalar>(&self, _: &[N], h: &[N], out: &mut [N]) {
        // The state holds t = tan(a / 2), of which cosine and sine are fractions, and dt = (1 + t^2) / 2 da.
        let t = h[2];
        let one = N::of(1.0);
        let scale = one / (one + t * t);
        out[..3].copy_from_slice(&[(one - t * t) * scale, N::of(2.0) * t * scale, N::zero()]);
        out[3..].copy_from_slice(&[N::zero(), N::zero(), (one + t * t) * N::of(0.5)]);
    }
}

fn main() -> Result<(), Error> {
    // Wriggling forwards, in 1024 straight pieces.
    let times: Vec<f64> = (0..=1024).map(|i| f64::from(i) / 1024.0).collect();
    let values = times.iter().flat_map(|t| [(6.0 * t).sin() + t, 0.8 * (5.0 * t + 0.3).cos()]).collect();
    let path = Linear::new(&Series::new(times, values, 2)?.complete()?)?;
    let (start, solver) = ([0.0, 0.0, 0.2], Solver { method: Method::DormandPrince, steps: Steps::AtMost(1.0 / 256.0) });
    let along = Along::new(&path)?;
    let exact = solver.solve(&Term { field: &Unicycle, drive: &along }, &[], &start, &Save::End)?;

    println!("windows  depth 1   depth 2   depth 3");
    let mut last = [0.0; 3];
    for windows in [8, 16, 32, 64] {
        for (depth, error) in (1..).zip(&mut last) {
            let drive = LogOde::new(&path, &Windows::Observations(1024 / windows), depth, 1)?;
            let solution = solver.solve(&Term { field: &Unicycle, drive: &drive }, &[], &start, &Save::End)?;
            *error = solution.last().iter().zip(exact.last()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        }
        println!("{windows:7}  {:.1e}   {:.1e}   {:.1e}", last[0], last[1], last[2]);
    }
    assert!(last[1] < 1e-3 * last[0] && last[2] < last[1], "brackets pay");
    Ok(())
}
