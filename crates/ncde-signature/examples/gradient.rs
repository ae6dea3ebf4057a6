//! Gradient descent on a path until its log-signature is a given one.
//!
//! Wanted: a closed path, increment (0,0), that encloses the signed area 1 and has no third level. The loss is
//! `|l(X) - target|^2`; `of_backward` takes its gradient in `l` to the gradient in the values of `X`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use ncde_signature::{Basis, Error, Paths, Signature};

fn main() -> Result<(), Error> {
    let (length, rate, steps) = (9, 0.1, 300);
    let log = Signature::log(2, 3, Basis::Lyndon)?;
    let target = [0.0, 0.0, 1.0, 0.0, 0.0];
    assert_eq!(log.labels(), ["1", "2", "[1,2]", "[1,[1,2]]", "[[1,2],2]"]);

    // The start: half of a circle.
    let mut path: Vec<f64> = (0..length)
        .flat_map(|i| {
            let angle = std::f64::consts::PI * f64::from(i) / f64::from(length - 1);
            [angle.cos(), angle.sin()]
        })
        .collect();

    let mut losses = Vec::new();
    for step in 0..=steps {
        let paths = Paths::single(&path, 2)?;
        let difference: Vec<f64> = log.of(&paths)?.iter().zip(&target).map(|(l, t)| l - t).collect();
        losses.push(difference.iter().map(|x| x * x).sum::<f64>());
        if step % 50 == 0 {
            println!("step {step:3}: loss {:.3e}", losses[step]);
        }
        let gradient = log.of_backward(&paths, &difference.iter().map(|x| 2.0 * x).collect::<Vec<_>>())?;
        path.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= rate * g);
    }
    let reached = log.of(&Paths::single(&path, 2)?)?;
    for (label, value) in log.labels().iter().zip(&reached) {
        println!("{label:>10} {value:8.5}");
    }
    assert!(losses.is_sorted_by(|a, b| b <= a || *b < 1e-20), "the loss falls at every step");
    assert!(losses[steps] < 1e-9 * losses[0]);
    Ok(())
}
