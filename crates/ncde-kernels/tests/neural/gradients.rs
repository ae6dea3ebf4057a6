//! Every gradient against central differences in f64.

use ncde_kernels::neural::{Activation, Controls, Depth, Last, Method};

use ncde_reference::assert_close;
use ncde_reference::neural::case::{Case, Shape, cases, numbers};

fn differences(x: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let (mut at, step) = (x.to_vec(), 1e-5);
    let slope = |i: usize| {
        at[i] = x[i] + step;
        let up = loss(&at);
        at[i] = x[i] - step;
        let down = loss(&at);
        at[i] = x[i];
        (up - down) / (2.0 * step)
    };
    (0..x.len()).map(slope).collect()
}

#[test]
fn gradients_are_differences() {
    for case in cases() {
        let case = Case { solve: case.solve.clone().with_controls(Controls::Variable), ..case };
        let weights = numbers(99, case.forward().len());
        let gradients = case.gradients(&weights);
        let loss = |case: &Case| case.forward().iter().zip(&weights).map(|(h, w)| h * w).sum::<f64>();
        let close = |what: &str, seen: &[f64], right: &[f64]| {
            assert_close(&format!("{what} of {}", case.name), seen, right, 2e-8);
        };
        let f = |initial: &[f64]| loss(&Case { initial: initial.to_vec(), ..case.clone() });
        close("initial", &gradients.initial, &differences(&case.initial, f));
        let f = |coefficients: &[f64]| loss(&Case { coefficients: coefficients.to_vec(), ..case.clone() });
        close("coefficients", gradients.coefficients.as_ref().unwrap(), &differences(&case.coefficients, f));
        let f = |parameters: &[f64]| loss(&Case { parameters: parameters.to_vec(), ..case.clone() });
        close("parameters", &gradients.parameters, &differences(&case.parameters, f));
    }
}

/// So many rows of tangents that they go through the layers a few channels at a time.
#[test]
fn many_channels_go_in_groups() {
    let shape: Shape<'_> = ((2, 37, &[3]), [16, 2, 1]);
    let case = Case::new(7, shape, (Activation::Silu, Last::Tanh), Depth::Two, Method::Heun);
    let case = Case { solve: case.solve.clone().with_controls(Controls::Variable), ..case };
    assert_close(&case.name, &case.forward(), &case.reference(), 1e-13);
    let weights = numbers(99, case.forward().len());
    let gradients = case.gradients(&weights);
    let loss = |case: &Case| case.forward().iter().zip(&weights).map(|(h, w)| h * w).sum::<f64>();
    let f = |initial: &[f64]| loss(&Case { initial: initial.to_vec(), ..case.clone() });
    assert_close("initial", &gradients.initial, &differences(&case.initial, f), 2e-8);
    let f = |parameters: &[f64]| loss(&Case { parameters: parameters.to_vec(), ..case.clone() });
    assert_close("parameters", &gradients.parameters, &differences(&case.parameters, f), 2e-8);
    // The controls of one sample.
    let f = |coefficients: &[f64]| {
        let mut case = case.clone();
        case.coefficients[..coefficients.len()].copy_from_slice(coefficients);
        loss(&case)
    };
    let one = &case.coefficients[..case.solve.coefficients()];
    assert_close("coefficients", &gradients.coefficients.unwrap()[..one.len()], &differences(one, f), 2e-8);
}

#[test]
fn controls_have_gradients_only_where_asked() {
    let case = &cases()[5];
    let weights = numbers(1, case.forward().len());
    let without = case.gradients(&weights);
    assert!(without.coefficients.is_none());
    let variable = Case { solve: case.solve.clone().with_controls(Controls::Variable), ..case.clone() };
    assert_eq!(variable.gradients(&weights).parameters, without.parameters);
}
