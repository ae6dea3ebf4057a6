//! Random elementwise recurrences and an obviously right one: number by number.

use ncde_kernels::scan::{Gradients, Input, Numbers, Scan};
use ncde_kernels::{Error, Float};

use super::{assert_close, narrow, scaled, uniform, wide};

#[derive(Clone)]
pub struct Case {
    pub scan: Scan,
    pub batch: usize,
    pub length: usize,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub initial: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Case {
    pub fn new(seed: u64, numbers: Numbers, [batch, length, width]: [usize; 3]) -> Self {
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

    pub fn input(&self) -> Input<'_, f64> {
        Input { batch: self.batch, length: self.length, a: &self.a, b: &self.b, initial: &self.initial }
    }

    pub fn forward(&self) -> Result<Vec<f64>, Error> {
        self.scan.forward(&self.input())
    }

    pub fn run<T: Float>(&self) -> (Vec<f64>, Gradients<f64>) {
        let (a, b, initial): (Vec<T>, Vec<T>, Vec<T>) = (narrow(&self.a), narrow(&self.b), narrow(&self.initial));
        let input = Input { batch: self.batch, length: self.length, a: &a, b: &b, initial: &initial };
        let states = self.scan.forward(&input).unwrap();
        let Gradients { a, b, initial } = self.scan.backward(&input, &states, &narrow::<T>(&self.weights)).unwrap();
        (wide(&states), Gradients { a: wide(&a), b: wide(&b), initial: wide(&initial) })
    }

    pub fn name(&self) -> String {
        format!("{:?}, batch {}, length {}", self.scan, self.batch, self.length)
    }

    /// Where the parts of number `i` at step `t` of series `b` are.
    pub fn place(&self, b: usize, t: usize, i: usize) -> [usize; 2] {
        let row = (b * self.length + t) * self.row();
        [row + i, row + (self.scan.numbers.parts() - 1) * self.scan.width + i]
    }

    pub fn row(&self) -> usize {
        self.scan.numbers.parts() * self.scan.width
    }

    /// Number by number, each a pair.
    pub fn reference(&self) -> (Vec<f64>, Gradients<f64>) {
        let complex = self.scan.numbers == Numbers::Complex;
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
            for i in 0..self.scan.width {
                let start = [b * self.row() + i, (b * self.row()) + self.row() - self.scan.width + i];
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
pub fn compare(name: &str, (states, gradients): (Vec<f64>, Gradients<f64>), right: &(Vec<f64>, Gradients<f64>), tolerance: f64) {
    assert_close(&format!("{name}: states"), &states, &right.0, tolerance);
    assert_close(&format!("{name}: gradient of a"), &gradients.a, &right.1.a, tolerance);
    assert_close(&format!("{name}: gradient of b"), &gradients.b, &right.1.b, tolerance);
    assert_close(&format!("{name}: gradient of the initial state"), &gradients.initial, &right.1.initial, tolerance);
}

pub const KINDS: [Numbers; 2] = [Numbers::Real, Numbers::Complex];
