//! The selective scan: number by number, finite differences, steps aside, one step at a time, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::selective::{Gradients, Input, Selective, step};
use ncde_kernels::{Error, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, scaled, uniform, wide};

#[derive(Clone)]
struct Case {
    scan: Selective,
    shape: [usize; 2],
    /// Steps, rows, `a`, `b` and `c`.
    arrays: [Vec<f64>; 5],
    aside: Option<Vec<bool>>,
    weights: Vec<f64>,
}

impl Case {
    fn new(seed: u64, [batch, length, channels, states]: [usize; 4]) -> Self {
        let drawn = |i: u64, count: usize| {
            scaled(&uniform(seed + i, count), 2.0).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>()
        };
        let rows = batch * length;
        let positive = |i: u64, count: usize| drawn(i, count).into_iter().map(|x| x.abs() + 0.0625).collect();
        let a: Vec<f64> = drawn(2, states * channels).into_iter().map(|x| -x.abs()).collect();
        let arrays =
            [positive(0, rows * channels), drawn(1, rows * channels), a, drawn(3, rows * states), drawn(4, rows * states)];
        Self {
            scan: Selective { channels, states },
            shape: [batch, length],
            arrays,
            aside: None,
            weights: drawn(5, rows * channels),
        }
    }

    fn with_aside(mut self) -> Self {
        self.aside = Some((0..self.shape[0] * self.shape[1]).map(|i| i % 3 == 1).collect());
        self
    }

    fn input<'a, T>(&'a self, [step, u, a, b, c]: &'a [Vec<T>; 5]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, step, u, a, b, c, aside: self.aside.as_deref() }
    }

    fn forward(&self) -> Vec<f64> {
        self.scan.forward(&self.input(&self.arrays)).unwrap().y
    }

    fn run<T: Float>(&self) -> (Vec<f64>, [Vec<f64>; 5]) {
        let arrays = self.arrays.each_ref().map(|array| narrow::<T>(array));
        let outputs = self.scan.forward(&self.input(&arrays)).unwrap();
        let of = self.scan.backward(&self.input(&arrays), &outputs.starts, &narrow::<T>(&self.weights)).unwrap();
        let Gradients { step, u, a, b, c } = of;
        (wide(&outputs.y), [step, u, a, b, c].map(|array| wide(&array)))
    }

    /// Number by number.
    fn reference(&self) -> Vec<f64> {
        let ([batch, length], Selective { channels, states }) = (self.shape, self.scan);
        let [step, u, a, b, c] = &self.arrays;
        let mut y = vec![0.0; u.len()];
        for series in 0..batch {
            for e in 0..channels {
                let mut h = vec![0.0; states];
                for t in 0..length {
                    let row = series * length + t;
                    let (d, x) = (step[row * channels + e], u[row * channels + e]);
                    let next: Vec<f64> =
                        (0..states).map(|n| (d * a[n * channels + e]).exp() * h[n] + d * x * b[row * states + n]).collect();
                    y[row * channels + e] = (0..states).map(|n| c[row * states + n] * next[n]).sum();
                    if !self.aside.as_ref().is_some_and(|aside| aside[row]) {
                        h = next;
                    }
                }
            }
        }
        y
    }
}

const SHAPES: [[usize; 4]; 6] = [[1, 1, 1, 1], [2, 5, 3, 2], [1, 33, 17, 3], [3, 70, 5, 4], [2, 64, 8, 16], [1, 96, 40, 1]];

#[test]
fn the_scan_number_by_number() {
    for shape in SHAPES {
        for case in [Case::new(1, shape), Case::new(1, shape).with_aside()] {
            let right = case.reference();
            assert_close(&format!("f64, {shape:?}"), &case.run::<f64>().0, &right, 1e-13);
            assert_close(&format!("f32, {shape:?}"), &case.run::<f32>().0, &right, 1e-5);
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for shape in [[1, 1, 1, 1], [2, 5, 3, 2], [1, 34, 2, 3]] {
        for case in [Case::new(2, shape), Case::new(2, shape).with_aside()] {
            let (_, gradients) = case.run::<f64>();
            for (i, name) in ["steps", "u", "a", "b", "c"].into_iter().enumerate() {
                assert_gradient(&format!("{shape:?}: {name}"), &case.arrays[i], &gradients[i], |x| {
                    let mut moved = case.clone();
                    moved.arrays[i] = x.to_vec();
                    dot(&moved.forward(), &case.weights)
                });
            }
            let (_, single) = case.run::<f32>();
            for i in 0..5 {
                assert_close(&format!("f32, {shape:?}, gradient {i}"), &single[i], &gradients[i], 1e-5);
            }
        }
    }
}

#[test]
fn steps_are_those_of_the_scan() {
    let case = Case::new(3, [1, 20, 5, 3]);
    let ([rates, u, a, b, c], Selective { channels, states }) = (&case.arrays, case.scan);
    let (mut state, mut y, right) = (vec![0.0; case.scan.size()], vec![0.0; channels], case.forward());
    for t in 0..20 {
        let [rates, u] = [rates, u].map(|array| &array[t * channels..][..channels]);
        let [b, c] = [b, c].map(|array| &array[t * states..][..states]);
        step(a, &mut state, [rates, u], [b, c], &mut y).unwrap();
        assert_close(&format!("step {t}"), &y, &right[t * channels..][..channels], 1e-14);
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new(4, [7, 70, 9, 5]);
    let [one, four] = [1, 4].map(|threads| on_threads(threads, || case.run::<f32>()));
    assert_eq!(one, four);
}

#[test]
fn errors_say_what_and_where() {
    let case = Case::new(5, [2, 3, 4, 2]);
    let error = |arrays: &[Vec<f64>; 5]| case.scan.forward(&case.input(arrays)).unwrap_err();
    let mut short = case.arrays.clone();
    short[2].pop();
    assert!(error(&short).to_string().contains("2 states x 4 channels"), "{}", error(&short));
    let mut wrong = case.arrays.clone();
    wrong[1][13] = f64::NAN;
    assert!(error(&wrong).to_string().contains("series 1, step 0, number 1"), "{}", error(&wrong));
    let mut large = case.arrays.clone();
    (large[0][0], large[2][0]) = (1e3, 1.0);
    large[1][0] = 1e300;
    assert!(matches!(error(&large), Error::Exploded { .. }), "{}", error(&large));
    assert!(Selective { channels: 0, states: 1 }.forward(&case.input(&case.arrays)).is_err());
}
