//! Operations on rows: naive formulas, finite differences, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::Float;
use ncde_kernels::rowwise::{Operation, Rowwise};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, uniform, wide};

/// All operations on rows of six numbers, with the size of their second array.
fn all([batch, length]: [usize; 2]) -> Vec<(Operation, usize)> {
    let mut all = vec![
        (Operation::Gain, 6),
        (Operation::Offset, 6),
        (Operation::Spread { parts: 3 }, batch * length * 3),
        (Operation::Normalised { parts: 2, factor: 1.7, epsilon: 0.1, gains: true }, 3),
        (Operation::Normalised { parts: 1, factor: 0.5, epsilon: 0.2, gains: false }, 1),
    ];
    for (size, first, bias, silu) in [(1, 0, false, false), (4, 0, true, true), (3, 1, false, false), (2, 0, false, true)] {
        all.push((Operation::Convolution { size, first, bias, silu }, (size + usize::from(bias)) * 6));
    }
    all
}

fn rows(operation: Operation, [batch, length]: [usize; 2]) -> Rowwise {
    Rowwise { operation, batch, length, width: 6 }
}

/// One number of the output at a time, from the equation.
fn naive(of: Rowwise, x: &[f64], other: &[f64]) -> Vec<f64> {
    let width = of.width;
    let number = |at: usize| {
        let (row, i) = (at / width, at % width);
        match of.operation {
            Operation::Convolution { size, first, bias, silu } => {
                let t = row % of.length;
                let mut z = if bias { other[size * width + i] } else { 0.0 };
                for j in first..size {
                    if t + first >= j {
                        z += other[j * width + i] * x[(row + first - j) * width + i];
                    }
                }
                if silu { z / (1.0 + (-z).exp()) } else { z }
            }
            Operation::Gain => other[i] * x[at],
            Operation::Offset => other[i] + x[at],
            Operation::Spread { parts } => other[row * parts + i / (width / parts)] * x[at],
            Operation::Normalised { parts, factor, epsilon, gains } => {
                let (size, part) = (width / parts, at / (width / parts));
                let sum: f64 = x[part * size..(part + 1) * size].iter().map(|x| x * x).sum();
                factor * x[at] / (sum + epsilon).sqrt() * if gains { other[i % size] } else { 1.0 }
            }
        }
    };
    (0..x.len()).map(number).collect()
}

#[test]
fn values_are_those_of_the_equations() {
    for shape in [[1, 1], [2, 5], [3, 17]] {
        for (operation, others) in all(shape) {
            let (of, x, other) = (rows(operation, shape), uniform(1, shape[0] * shape[1] * 6), uniform(2, others));
            let wanted = naive(of, &x, &other);
            assert_close(&format!("{operation:?}, {shape:?}"), &of.forward(&x, &other).unwrap(), &wanted, 1e-14);
            let single = of.forward(&narrow::<f32>(&x), &narrow::<f32>(&other)).unwrap();
            assert_close(&format!("f32, {operation:?}, {shape:?}"), &wide(&single), &wanted, 1e-6);
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for shape in [[1, 1], [2, 3], [1, 7]] {
        for (operation, others) in all(shape) {
            let (of, numbers) = (rows(operation, shape), shape[0] * shape[1] * 6);
            let (x, other, weights) = (uniform(3, numbers), uniform(4, others), uniform(5, numbers));
            let [dx, of_other] = of.backward(&x, &other, &weights).unwrap();
            let loss = |x: &[f64], other: &[f64]| dot(&of.forward(x, other).unwrap(), &weights);
            assert_gradient(&format!("{operation:?}, {shape:?}: rows"), &x, &dx, |x| loss(x, &other));
            assert_gradient(&format!("{operation:?}, {shape:?}: second"), &other, &of_other, |other| loss(&x, other));
        }
    }
}

/// Enough rows for many tasks.
#[test]
fn bits_do_not_depend_on_threads() {
    fn run<T: Float>(operation: Operation, others: usize) -> [Vec<T>; 3] {
        let (of, numbers) = (rows(operation, [5, 2000]), 60_000);
        let [x, weights] = [6, 7].map(|seed| narrow::<T>(&uniform(seed, numbers)));
        let other = narrow::<T>(&uniform(8, others));
        let [dx, of_other] = of.backward(&x, &other, &weights).unwrap();
        [of.forward(&x, &other).unwrap(), dx, of_other]
    }
    for (operation, others) in all([5, 2000]) {
        let [one, four] = [1, 4].map(|threads| on_threads(threads, || run::<f32>(operation, others)));
        assert_eq!(one, four, "{operation:?}");
    }
}

#[test]
fn errors_say_what() {
    let of = |operation| rows(operation, [2, 3]);
    let (x, error) = ([1.0; 36], |of: Rowwise, x: &[f64], other: &[f64]| of.forward(x, other).unwrap_err().to_string());
    assert!(error(of(Operation::Gain), &x[1..], &[1.0; 6]).contains("batch 2 x length 3 x 6"));
    assert!(error(of(Operation::Gain), &x, &[1.0; 5]).contains("Gain"));
    assert!(error(of(Operation::Spread { parts: 4 }), &x, &[1.0; 24]).contains("4 parts of as many"));
    assert!(error(of(Operation::Spread { parts: 0 }), &x, &[]).contains("number of parts 0"));
}
