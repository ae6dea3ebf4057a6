//! Banks of filters: finite differences, steps aside, the impulse response, threads and messages. Values number by number are those of the layer's steps.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::filters::{Gradients, Input, backward, forward};
use ncde_kernels::{Error, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, on_threads, uniform, wide};

#[derive(Clone)]
struct Case {
    /// Batch, length, channels.
    shape: [usize; 3],
    /// `u`, `a` and `c`.
    arrays: [Vec<f64>; 3],
    aside: Option<Vec<bool>>,
    weights: Vec<f64>,
}

impl Case {
    fn new(seed: u64, [batch, length, channels, states]: [usize; 4], aside: bool) -> Self {
        let drawn = |i: u64, count: usize| uniform(seed + i, count).into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        let rows = batch * length;
        let a = drawn(1, 2 * states * channels).into_iter().map(|x| 0.6875 * x).collect();
        Self {
            shape: [batch, length, channels],
            arrays: [drawn(0, rows * channels), a, drawn(2, 2 * states * channels)],
            aside: aside.then(|| (0..rows).map(|i| i % 3 == 1).collect()),
            weights: drawn(3, rows * channels),
        }
    }

    fn input<'a, T>(&'a self, [u, a, c]: &'a [Vec<T>; 3]) -> Input<'a, T> {
        let [batch, length, channels] = self.shape;
        Input { batch, length, channels, u, a, c, aside: self.aside.as_deref() }
    }

    fn run<T: Float>(&self) -> (Vec<f64>, [Vec<f64>; 3]) {
        let arrays = self.arrays.each_ref().map(|array| narrow::<T>(array));
        let (y, starts) = forward(&self.input(&arrays)).unwrap();
        let Gradients { u, a, c } = backward(&self.input(&arrays), &starts, &narrow::<T>(&self.weights)).unwrap();
        (wide(&y), [u, a, c].map(|array| wide(&array)))
    }
}

#[test]
fn gradients_are_finite_differences() {
    for shape in [[1, 1, 1, 1], [2, 5, 3, 2], [1, 7, 17, 3], [2, 67, 2, 5]] {
        for aside in [false, true] {
            let case = Case::new(2, shape, aside);
            let (y, gradients) = case.run::<f64>();
            for (i, name) in ["u", "a", "c"].into_iter().enumerate() {
                assert_gradient(&format!("{shape:?}, {aside}: {name}"), &case.arrays[i], &gradients[i], |x| {
                    let mut moved = case.clone();
                    moved.arrays[i] = x.to_vec();
                    dot(&forward(&moved.input(&moved.arrays)).unwrap().0, &case.weights)
                });
            }
            let (single, of_single) = case.run::<f32>();
            assert_close(&format!("f32, {shape:?}"), &single, &y, 1e-5);
            for i in 0..3 {
                assert_close(&format!("f32, {shape:?}, gradient {i}"), &of_single[i], &gradients[i], 1e-5);
            }
        }
    }
}

/// After one push `y` is a sum of powers of the poles, over several parts.
#[test]
fn a_push_is_answered_by_powers() {
    let (length, radius, angle) = (100, 0.97_f64, 0.3_f64);
    let mut u = vec![0.0; length];
    u[0] = 1.0;
    let a = [radius * angle.cos(), 0.5, radius * angle.sin(), 0.0];
    let input = Input { batch: 1, length, channels: 1, u: &u, a: &a, c: &[2.0, 1.0, 3.0, 0.0], aside: None };
    let wanted = |t: i32| {
        let turned = f64::from(t) * angle;
        radius.powi(t) * (2.0 * turned.cos() + 3.0 * turned.sin()) + 0.5_f64.powi(t)
    };
    let y = forward(&input).unwrap().0;
    assert_close("powers", &y, &(0..length as i32).map(wanted).collect::<Vec<_>>(), 1e-13);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new(4, [7, 40, 9, 4], true);
    let [one, four] = [1, 4].map(|threads| on_threads(threads, || case.run::<f32>()));
    assert_eq!(one, four);
}

#[test]
fn errors_say_what() {
    let case = Case::new(5, [2, 3, 4, 2], false);
    let error = |arrays: &[Vec<f64>; 3]| forward(&case.input(arrays)).unwrap_err();
    let mut short = case.arrays.clone();
    short[0].pop();
    assert!(error(&short).to_string().contains("batch 2 x length 3 x 4"), "{}", error(&short));
    let mut odd = case.arrays.clone();
    odd[1].pop();
    assert!(error(&odd).to_string().contains("2 x states x 4 channels"), "{}", error(&odd));
    let mut wrong = case.arrays.clone();
    wrong[1][5] = f64::NAN;
    assert!(error(&wrong).to_string().contains("row 1, channel 1"), "{}", error(&wrong));
    let mut large = case.arrays.clone();
    (large[0][0], large[0][4], large[1][0]) = (1e300, 1e300, 1e300);
    assert!(matches!(error(&large), Error::Exploded { .. }), "{}", error(&large));
}
