//! Forced oscillators: finite differences, steps aside, a known motion, threads and messages. Values number by number are those of the layer's steps.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::oscillator::{Gradients, Input, backward, forward};
use ncde_kernels::{Error, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, uniform, wide};

#[derive(Clone)]
struct Case {
    shape: [usize; 2],
    /// `p`, `d`, `k` and the force.
    arrays: [Vec<f64>; 4],
    aside: Option<Vec<bool>>,
    weights: Vec<f64>,
}

impl Case {
    fn new(seed: u64, [batch, length, width]: [usize; 3], each: bool, aside: bool) -> Self {
        let drawn = |i: u64, count: usize| uniform(seed + i, count).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        let (rows, rates) = (batch * length, if each { batch * length * width } else { width });
        let above = |i: u64, count: usize, least: f64| drawn(i, count).into_iter().map(|x| x.abs() + least).collect();
        Self {
            shape: [batch, length],
            arrays: [above(0, rates, 0.375), above(1, rates, 0.125), above(2, width, 0.25), drawn(3, rows * 2 * width)],
            aside: aside.then(|| (0..rows).map(|i| i % 3 == 1).collect()),
            weights: drawn(4, rows * 2 * width),
        }
    }

    fn input<'a, T>(&'a self, [p, step, stiffness, force]: &'a [Vec<T>; 4]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, p, step, stiffness, force, aside: self.aside.as_deref() }
    }

    fn run<T: Float>(&self) -> (Vec<f64>, [Vec<f64>; 4]) {
        let arrays = self.arrays.each_ref().map(|array| narrow::<T>(array));
        let (y, states) = forward(&self.input(&arrays)).unwrap();
        let Gradients { p, step, stiffness, force } =
            backward(&self.input(&arrays), &states, &narrow::<T>(&self.weights)).unwrap();
        (wide(&y), [p, step, stiffness, force].map(|array| wide(&array)))
    }
}

#[test]
fn gradients_are_finite_differences() {
    for shape in [[1, 1, 1], [2, 5, 3], [1, 7, 17]] {
        for (each, aside) in [(false, false), (true, false), (false, true), (true, true)] {
            let case = Case::new(2, shape, each, aside);
            let (y, gradients) = case.run::<f64>();
            for (i, name) in ["p", "steps", "k", "force"].into_iter().enumerate() {
                assert_gradient(&format!("{shape:?}, {each}, {aside}: {name}"), &case.arrays[i], &gradients[i], |x| {
                    let mut moved = case.clone();
                    moved.arrays[i] = x.to_vec();
                    dot(&forward(&moved.input(&moved.arrays)).unwrap().0, &case.weights)
                });
            }
            let (single, of_single) = case.run::<f32>();
            assert_close(&format!("f32, {shape:?}"), &single, &y, 1e-5);
            for i in 0..4 {
                assert_close(&format!("f32, {shape:?}, gradient {i}"), &of_single[i], &gradients[i], 1e-5);
            }
        }
    }
}

/// Small explicit steps follow the cosine of a released spring: a push at first, nothing behind.
#[test]
fn a_pushed_spring_swings() {
    let (steps, d, k) = (1000, 0.01, 4.0);
    let mut force = vec![0.0; 2 * steps];
    force[0] = 1.0 / d;
    let input = Input { batch: 1, length: steps, p: &[1.0], step: &[d], stiffness: &[k], force: &force, aside: None };
    let (y, _) = forward(&input).unwrap();
    for t in [100, 500, 999] {
        let wanted = (2.0 * d * (t + 1) as f64).sin() / 2.0;
        assert!((y[2 * t] - wanted).abs() < 0.01, "step {t}: {} and {wanted}", y[2 * t]);
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new(4, [7, 40, 9], true, true);
    let [one, four] = [1, 4].map(|threads| on_threads(threads, || case.run::<f32>()));
    assert_eq!(one, four);
}

#[test]
fn errors_say_what() {
    let case = Case::new(5, [2, 3, 4], true, false);
    let error = |arrays: &[Vec<f64>; 4]| forward(&case.input(arrays)).unwrap_err();
    let mut short = case.arrays.clone();
    short[3].pop();
    assert!(error(&short).to_string().contains("batch 2 x length 3 x 2 x 4"), "{}", error(&short));
    let mut wrong = case.arrays.clone();
    wrong[0][5] = f64::NAN;
    assert!(error(&wrong).to_string().contains("row 1, number 1"), "{}", error(&wrong));
    let mut large = case.arrays.clone();
    (large[3][0], large[1][0]) = (1e300, 1e300);
    assert!(matches!(error(&large), Error::Exploded { .. }), "{}", error(&large));
}
