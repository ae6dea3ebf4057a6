//! The elementwise recurrence: number by number, finite differences, chunks, threads and messages.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{assert_close, assert_gradient, dot, narrow, scaled, uniform, wide};
use ncde_kernels::scan::{Gradients, Input, Numbers, Scan};
use ncde_kernels::{Error, Float, Mode};

#[derive(Clone)]
struct Case {
    scan: Scan,
    batch: usize,
    length: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    initial: Vec<f64>,
    weights: Vec<f64>,
}

impl Case {
    fn new(seed: u64, numbers: Numbers, [batch, length, width]: [usize; 3]) -> Self {
        let row = numbers.parts() * width;
        let round = |x: Vec<f64>| x.into_iter().map(|x| f64::from(x as f32)).collect::<Vec<_>>();
        Self {
            scan: Scan::new(numbers, width),
            batch,
            length,
            a: round(scaled(&uniform(seed, batch * length * row), 2.0)),
            b: round(uniform(seed + 1, batch * length * row)),
            initial: round(uniform(seed + 2, batch * row)),
            weights: round(uniform(seed + 3, batch * length * row)),
        }
    }

    fn input(&self) -> Input<'_, f64> {
        Input { batch: self.batch, length: self.length, a: &self.a, b: &self.b, initial: &self.initial }
    }

    fn forward(&self) -> Result<Vec<f64>, Error> {
        self.scan.forward(&self.input())
    }

    fn run<T: Float>(&self) -> (Vec<f64>, Gradients<f64>) {
        let (a, b, initial): (Vec<T>, Vec<T>, Vec<T>) = (narrow(&self.a), narrow(&self.b), narrow(&self.initial));
        let input = Input { batch: self.batch, length: self.length, a: &a, b: &b, initial: &initial };
        let states = self.scan.forward(&input).unwrap();
        let gradients = self.scan.backward(&input, &states, &narrow::<T>(&self.weights)).unwrap();
        let gradients = Gradients { a: wide(&gradients.a), b: wide(&gradients.b), initial: wide(&gradients.initial) };
        (wide(&states), gradients)
    }

    fn name(&self) -> String {
        format!("{:?}, batch {}, length {}", self.scan, self.batch, self.length)
    }

    /// Where the parts of number `i` at step `t` of series `b` are.
    fn place(&self, b: usize, t: usize, i: usize) -> [usize; 2] {
        let row = (b * self.length + t) * self.row();
        [row + i, row + (self.scan.numbers().parts() - 1) * self.scan.width() + i]
    }

    fn row(&self) -> usize {
        self.scan.numbers().parts() * self.scan.width()
    }

    /// Number by number, each a pair.
    fn reference(&self) -> (Vec<f64>, Gradients<f64>) {
        let complex = self.scan.numbers() == Numbers::Complex;
        let read = |x: &[f64], [re, im]: [usize; 2]| [x[re], if complex { x[im] } else { 0.0 }];
        let write = |x: &mut [f64], [re, im]: [usize; 2], value: [f64; 2]| {
            if complex {
                x[im] = value[1];
            }
            x[re] = value[0];
        };
        let times = |x: [f64; 2], y: [f64; 2]| [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]];
        let plus = |x: [f64; 2], y: [f64; 2]| [x[0] + y[0], x[1] + y[1]];
        let conjugate = |x: [f64; 2]| [x[0], -x[1]];
        let mut states = vec![0.0; self.a.len()];
        let (mut da, mut db, mut d_initial) = (states.clone(), states.clone(), vec![0.0; self.initial.len()]);
        for b in 0..self.batch {
            for i in 0..self.scan.width() {
                let start = [b * self.row() + i, (b * self.row()) + self.row() - self.scan.width() + i];
                let mut h = read(&self.initial, start);
                for t in 0..self.length {
                    let at = self.place(b, t, i);
                    h = plus(times(read(&self.a, at), h), read(&self.b, at));
                    write(&mut states, at, h);
                }
                let mut r = [0.0; 2];
                for t in (0..self.length).rev() {
                    let at = self.place(b, t, i);
                    let before = if t == 0 { read(&self.initial, start) } else { read(&states, self.place(b, t - 1, i)) };
                    let g = plus(read(&self.weights, at), r);
                    write(&mut db, at, g);
                    write(&mut da, at, times(g, conjugate(before)));
                    r = times(conjugate(read(&self.a, at)), g);
                }
                write(&mut d_initial, start, r);
            }
        }
        (states, Gradients { a: da, b: db, initial: d_initial })
    }
}

#[track_caller]
fn compare(name: &str, (states, gradients): (Vec<f64>, Gradients<f64>), right: &(Vec<f64>, Gradients<f64>), tolerance: f64) {
    assert_close(&format!("{name}: states"), &states, &right.0, tolerance);
    assert_close(&format!("{name}: gradient of a"), &gradients.a, &right.1.a, tolerance);
    assert_close(&format!("{name}: gradient of b"), &gradients.b, &right.1.b, tolerance);
    assert_close(&format!("{name}: gradient of the initial state"), &gradients.initial, &right.1.initial, tolerance);
}

const KINDS: [Numbers; 2] = [Numbers::Real, Numbers::Complex];

#[test]
fn the_recurrence_number_by_number() {
    for numbers in KINDS {
        for batch in [1, 3] {
            for length in [1, 2, 7, 40] {
                for width in [1, 3, 8, 16, 17, 40] {
                    let case = Case::new(1, numbers, [batch, length, width]);
                    let right = case.reference();
                    compare(&format!("f64, {}", case.name()), case.run::<f64>(), &right, 1e-14);
                    compare(&format!("f32, {}", case.name()), case.run::<f32>(), &right, 3e-6);
                }
            }
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    for numbers in KINDS {
        for (length, width) in [(1, 1), (1, 3), (5, 1), (4, 3), (3, 17)] {
            for mode in [Mode::Recurrent, Mode::Parallel] {
                let mut case = Case::new(2, numbers, [2, length, width]);
                case.scan = case.scan.with_mode(mode).with_chunk(2);
                let (_, gradients) = case.run::<f64>();
                let loss = |case: Case| dot(&case.forward().unwrap(), &case.weights);
                let name = case.name();
                assert_gradient(&format!("{name}: a"), &case.a, &gradients.a, |a| loss(Case { a: a.to_vec(), ..case.clone() }));
                assert_gradient(&format!("{name}: b"), &case.b, &gradients.b, |b| loss(Case { b: b.to_vec(), ..case.clone() }));
                assert_gradient(&format!("{name}: initial"), &case.initial, &gradients.initial, |x| {
                    loss(Case { initial: x.to_vec(), ..case.clone() })
                });
            }
        }
    }
}

#[test]
fn parallel_is_recurrent() {
    for numbers in KINDS {
        for (length, width) in [(1, 3), (7, 1), (8, 17), (9, 3), (100, 5)] {
            for chunk in [1, 3, 8, 1000] {
                let case = Case::new(3, numbers, [2, length, width]);
                let with = |mode: Mode| Case { scan: case.scan.with_mode(mode).with_chunk(chunk), ..case.clone() };
                let right = with(Mode::Recurrent).run::<f64>();
                compare(&with(Mode::Parallel).name(), with(Mode::Parallel).run::<f64>(), &right, 1e-13);
                compare(&with(Mode::Auto).name(), with(Mode::Auto).run::<f64>(), &right, 1e-13);
                compare(&with(Mode::Parallel).name(), with(Mode::Parallel).run::<f32>(), &right, 1e-5);
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for numbers in KINDS {
        for mode in [Mode::Recurrent, Mode::Parallel, Mode::Auto] {
            let mut case = Case::new(4, numbers, [5, 111, 19]);
            case.scan = case.scan.with_mode(mode).with_chunk(8);
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| (case.run::<f32>(), case.run::<f64>()))
            };
            let one = run(1);
            assert!(one == run(2), "2 threads, {}", case.name());
            assert!(one == run(5), "5 threads, {}", case.name());
        }
    }
}

#[test]
fn a_closed_form() {
    // A geometric sum: a constant, b = 1: h_t = a^t h_0 + (1 - a^t) / (1 - a).
    let (a, length) = (0.9_f64, 50);
    let input = Input { batch: 1, length, a: &vec![a; length], b: &vec![1.0; length], initial: &[2.0] };
    for mode in [Mode::Recurrent, Mode::Parallel] {
        let states = Scan::new(Numbers::Real, 1).with_mode(mode).with_chunk(7).forward(&input).unwrap();
        for (t, h) in states.iter().enumerate() {
            let power = a.powi(t as i32 + 1);
            assert!((h - (2.0 * power + (1.0 - power) / (1.0 - a))).abs() < 1e-13);
        }
    }
}

#[test]
fn errors() {
    let message = |case: &Case| case.forward().unwrap_err().to_string();
    let case = Case::new(5, Numbers::Complex, [2, 3, 4]);
    let wrong = Case { length: 0, ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has length 0; at least 1 is needed");
    let wrong = Case { batch: 0, ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has size 0; at least 1 is needed");
    let wrong = Case { scan: Scan::new(Numbers::Real, 0), ..case.clone() };
    assert_eq!(message(&wrong), "the elementwise recurrence: the batch has width 0; at least 1 is needed");
    let wrong = Case { a: vec![0.0; 47], ..case.clone() };
    let tail = "48 = batch 2 x length 3 x 4 complex numbers of 2 parts are needed";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: a holds 47 numbers, but {tail}"));
    let wrong = Case { b: vec![0.0; 49], ..case.clone() };
    assert_eq!(message(&wrong), format!("the elementwise recurrence: b holds 49 numbers, but {tail}"));
    let wrong = Case { initial: vec![0.0; 8], ..case.clone() };
    let tail = "16 = batch 2 x 4 complex numbers of 2 parts are needed";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: the initial state holds 8 numbers, but {tail}"));
    let states = case.forward().unwrap();
    let error = case.scan.backward(&case.input(), &states[1..], &states).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the array of states", seen: 47, wanted: 48, .. }), "{error}");
    let error = case.scan.backward(&case.input(), &states, &states[1..]).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", seen: 47, wanted: 48, .. }), "{error}");

    let tail = "remove or fill such values first";
    let mut wrong = case.clone();
    wrong.b[24 + 8 + 5] = f64::NAN;
    let place = "b holds NaN at series 1, step 1, number 1, imaginary part";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: {place}; {tail}"));
    let mut wrong = case.clone();
    wrong.initial[8 + 3] = f64::INFINITY;
    let place = "the initial state holds inf at series 1, number 3, real part";
    assert_eq!(message(&wrong), format!("the elementwise recurrence: {place}; {tail}"));

    let mut wrong = Case::new(5, Numbers::Real, [2, 9, 3]);
    wrong.a[27 + 4 * 3..27 + 6 * 3].fill(1e300);
    wrong.b[27 + 4 * 3..27 + 6 * 3].fill(1e300);
    for mode in [Mode::Recurrent, Mode::Parallel] {
        wrong.scan = wrong.scan.with_mode(mode).with_chunk(2);
        assert_eq!(wrong.forward(), Err(Error::Exploded { structure: "elementwise", step: 5, series: 1 }));
    }
    let start = "the state of the elementwise recurrence overflows at step 5 of series 1";
    assert!(message(&wrong).starts_with(start), "{}", message(&wrong));

    let right = Case::new(5, Numbers::Real, [2, 9, 3]);
    let states = right.forward().unwrap();
    let mut weights = vec![0.0; states.len()];
    weights[27..].fill(f64::MAX);
    let error = right.scan.backward(&right.input(), &states, &weights).unwrap_err();
    assert_eq!(error, Error::GradientExploded { structure: "elementwise", series: 1 });
}
