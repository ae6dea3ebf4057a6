//! Random permutation-diagonal recurrences and an obviously right one: full matrices in `f64`.

use ncde_kernels::Float;
use ncde_kernels::permutation::{Diagonal, Gradients, Input, OneHot, PermutationDiagonal};

use super::{assert_close, narrow, uniform, wide};

type Complex = [f64; 2];

fn times(x: Complex, y: Complex) -> Complex {
    [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]
}

#[derive(Clone)]
pub struct Case {
    pub spec: PermutationDiagonal,
    pub batch: usize,
    pub length: usize,
    pub dictionary: Vec<f64>,
    pub control: Vec<f64>,
    pub initial: Vec<f64>,
    pub spans: Option<Vec<f64>>,
    pub lengths: Option<Vec<usize>>,
    pub weights: Vec<f64>,
}

/// Numbers that `f32` holds exactly.
fn drawn(seed: u64, count: usize, factor: f64) -> Vec<f64> {
    uniform(seed, count).into_iter().map(|x| f64::from((factor * x) as f32)).collect()
}

impl Case {
    pub fn new(seed: u64, diagonal: Diagonal, input: bool, [batch, length, hidden, matrices]: [usize; 4]) -> Self {
        let spec = PermutationDiagonal { input, ..PermutationDiagonal::new(hidden, matrices, diagonal) };
        Self {
            spec,
            batch,
            length,
            dictionary: drawn(seed, spec.dictionary(), 4.0),
            control: drawn(seed + 1, batch * length * spec.columns(), 4.0),
            initial: drawn(seed + 2, batch * spec.width(), 2.0),
            spans: None,
            lengths: None,
            weights: drawn(seed + 3, batch * length * spec.width(), 2.0),
        }
    }

    pub fn by(self, one_hot: OneHot) -> Self {
        Self { spec: PermutationDiagonal { one_hot, ..self.spec }, ..self }
    }

    /// Ragged, with times, and few distinct rows of scores.
    pub fn harder(mut self) -> Self {
        let (columns, matrices, batch, length) = (self.spec.columns(), self.spec.matrices, self.batch, self.length);
        self.spans = Some(uniform(9, batch * length).into_iter().map(|x| 1.0 + x).collect());
        self.lengths = Some((0..batch).map(|b| 1 + (b * 7 + length - 1) % length).collect());
        for row in 0..batch * length {
            self.control.copy_within(row % 3 * columns..row % 3 * columns + matrices, row * columns);
        }
        self
    }

    pub fn arrays(&self) -> Input<'_, f64> {
        Input {
            batch: self.batch,
            length: self.length,
            dictionary: &self.dictionary,
            control: &self.control,
            initial: &self.initial,
            spans: self.spans.as_deref(),
            lengths: self.lengths.as_deref(),
        }
    }

    pub fn run<T: Float>(&self) -> (Vec<f64>, Gradients<f64>) {
        let (dictionary, control, initial): (Vec<T>, Vec<T>, Vec<T>) =
            (narrow(&self.dictionary), narrow(&self.control), narrow(&self.initial));
        let Input { batch, length, spans, lengths, .. } = self.arrays();
        let input = Input { batch, length, dictionary: &dictionary, control: &control, initial: &initial, spans, lengths };
        let states = self.spec.forward(&input).unwrap();
        let Gradients { dictionary, control, initial } =
            self.spec.backward(&input, &states, &narrow::<T>(&self.weights)).unwrap();
        (wide(&states), Gradients { dictionary: wide(&dictionary), control: wide(&control), initial: wide(&initial) })
    }

    /// `S`, the soft-max of the lines of the matrix that scores mix: `[H, H]`, line after line.
    pub fn soft(&self, row: usize) -> Vec<f64> {
        let softmax = |x: &[f64]| {
            let most = x.iter().copied().fold(f64::MIN, f64::max);
            let e: Vec<f64> = x.iter().map(|x| (x - most).exp()).collect();
            let sum: f64 = e.iter().sum();
            e.into_iter().map(|x| x / sum).collect::<Vec<_>>()
        };
        let hidden = self.spec.hidden;
        let s = softmax(&self.control[row * self.spec.columns()..][..self.spec.matrices]);
        let entry = |e: usize| s.iter().zip(self.dictionary.chunks(hidden * hidden)).map(|(s, m)| s * m[e]).sum::<f64>();
        let mixed: Vec<f64> = (0..hidden * hidden).map(entry).collect();
        mixed.chunks(hidden).flat_map(softmax).collect()
    }

    /// `P`, one-hot by lines.
    pub fn hard(&self, row: usize) -> Vec<f64> {
        let hidden = self.spec.hidden;
        let mut all = self.soft(row);
        for line in all.chunks_mut(hidden) {
            let best = (0..hidden).fold(0, |best, i| if line[i] > line[best] { i } else { best });
            line.iter_mut().enumerate().for_each(|(i, x)| *x = f64::from(u8::from(i == best)));
        }
        all
    }

    /// Full matrices, with `P` of each step as given, line after line.
    pub fn reference(&self, p: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
        let (hidden, width, columns) = (self.spec.hidden, self.spec.width(), self.spec.columns());
        let complex = width > hidden;
        let pair = |x: &[f64], j: usize| [x[j], if complex { x[hidden + j] } else { 0.0 }];
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let mut states = Vec::new();
        for b in 0..self.batch {
            let mut h: Vec<Complex> = (0..hidden).map(|j| pair(&self.initial[b * width..][..width], j)).collect();
            for t in 0..self.length {
                let row = b * self.length + t;
                if t < self.lengths.as_ref().map_or(self.length, |lengths| lengths[b]) {
                    let control = &self.control[row * columns..][..columns];
                    let raw = &control[self.spec.matrices..];
                    let dt = self.spans.as_ref().map_or(1.0, |spans| spans[row]);
                    let d = |j: usize| match self.spec.diagonal {
                        Diagonal::One => [1.0, 0.0],
                        Diagonal::Real => [sigmoid(raw[j]).powf(dt), 0.0],
                        Diagonal::Complex => {
                            let (m, phase) = (sigmoid(raw[j]).powf(dt), std::f64::consts::TAU * dt * sigmoid(raw[hidden + j]));
                            [m * phase.cos(), m * phase.sin()]
                        }
                    };
                    let p = p(row);
                    let mut next: Vec<Complex> = (0..hidden)
                        .map(|i| if self.spec.input { pair(&control[columns - width..], i) } else { [0.0; 2] })
                        .collect();
                    for (j, &h) in h.iter().enumerate() {
                        for (i, next) in next.iter_mut().enumerate() {
                            let (p, d) = match self.spec.one_hot {
                                OneHot::Columns => (p[j * hidden + i], d(j)),
                                OneHot::Rows => (p[i * hidden + j], d(i)),
                            };
                            let u = times(d, h);
                            *next = [next[0] + p * u[0], next[1] + p * u[1]];
                        }
                    }
                    h = next;
                }
                states.extend(h.iter().map(|h| h[0]));
                states.extend(h.iter().filter(|_| complex).map(|h| h[1]));
            }
        }
        states
    }

    pub fn name(&self) -> String {
        format!("{:?}, batch {}, length {}, lengths {:?}", self.spec, self.batch, self.length, self.lengths)
    }
}

pub const KINDS: [Diagonal; 3] = [Diagonal::One, Diagonal::Real, Diagonal::Complex];

/// Odd shapes of every kind: batch, length, states, matrices.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for diagonal in KINDS {
        for input in [false, true] {
            for shape in [[1, 1, 1, 1], [2, 3, 2, 1], [1, 7, 5, 3], [3, 5, 3, 2], [2, 4, 17, 4]] {
                for one_hot in [OneHot::Columns, OneHot::Rows] {
                    let case = Case::new(1, diagonal, input, shape).by(one_hot);
                    all.extend([case.clone(), case.harder()]);
                }
            }
        }
    }
    all
}

#[track_caller]
pub fn compare(name: &str, seen: &(Vec<f64>, Gradients<f64>), right: &(Vec<f64>, Gradients<f64>), tolerance: f64) {
    assert_close(&format!("{name}: states"), &seen.0, &right.0, tolerance);
    assert_close(&format!("{name}: dictionary"), &seen.1.dictionary, &right.1.dictionary, tolerance);
    assert_close(&format!("{name}: control"), &seen.1.control, &right.1.control, tolerance);
    assert_close(&format!("{name}: initial"), &seen.1.initial, &right.1.initial, tolerance);
}
