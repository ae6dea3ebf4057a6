//! A diagonal state-space model, which is a Linear NCDE with diagonal matrices that time alone drives.
//!
//! ```text
//! h_k = a(dt_k) h_{k-1} + g(dt_k) (B x_k),   y_k = Re(C h_k) + D x_k,   h_0 = 0,   h complex, products with a, g and D number by number
//! ```
//!
//! | [`Discretisation`] | `a(dt)`, with `lambda = -exp(decay) + i turn`, `z = lambda exp(step) dt` | `g(dt)` | known as |
//! | --- | --- | --- | --- |
//! | `powers` | `exp(dt (-exp(decay) + i exp(turn)))` | `exp(gain)` | LRU (Orvieto et al., 2023) |
//! | `zero-order-hold` | `exp(z)` | `(a - 1) / lambda` | S5 (Smith et al., 2023), S4D (Gu et al., 2022) |
//! | `bilinear` | `(1 + z/2) / (1 - z/2)` | `exp(step) dt / (1 - z/2)` | the same |
//!
//! `dt` is 1, or with `gap` the time since the row before in gaps, 1 at the first row. All rows share the states, as in LRU and S5; with `per_channel`
//! every number of a row has so many states of its own that see it alone, as in S4D.
//! Cost a row: `4 S n`, `S` states and `n` numbers of a row; with `per_channel` `8 S n`.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `decay`, `turn` | `[S]`, or `[n S]` | `powers`: radii spread over `[0.9, 0.999]`, angles over `[0, pi/10]`; else `Re lambda = -1/2`, `Im lambda = 2 S / pi (2 S / (2 k + 1) - 1)`, close to the eigenvalues of HiPPO-N (S4D-Inv); with `per_channel` `pi k` (S4D-Lin) |
//! | `gain` or `step` | the same | such that states have the size of inputs; steps spread over `[0.001, 0.1]` by their logarithms |
//! | `input` (`B`), the real parts, then the imaginary ones | `[n, 2 S]`, or `[2 n S]` | normal, `1 / sqrt(2 n)`; with `per_channel` 1 |
//! | `output` (`Re C`, then `-Im C`) | `[2 S, n]`, or `[2 n S]` | normal, `1 / sqrt(S)` |
//! | `skip` (`D`) | `[n]` | normal, 1 |

use ncde_simd::Number;
use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::signal::{at_least_one, counted, positive, product};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A diagonal state-space model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSpace {
    /// `S`: how many complex states.
    pub states: usize,
    /// From weights to a step.
    pub discretisation: Discretisation,
    /// Whether every number of a row has states of its own.
    #[serde(default)]
    pub per_channel: bool,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

/// How a step follows from the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Discretisation {
    /// Powers of a number in the unit disc, and a gain.
    Powers,
    /// The input is constant during a step.
    ZeroOrderHold,
    /// The trapezoidal rule.
    Bilinear,
}

/// The radii and the largest angle of first states.
const RADII: [f64; 2] = [0.9, 0.999];
const ANGLE: f64 = std::f64::consts::PI / 10.0;
/// The first steps.
const STEPS: [f64; 2] = [0.001, 0.1];

/// Number `i` of a sequence that fills `[0, 1]` evenly.
pub(super) fn spread(i: usize) -> f64 {
    ((i as f64 + 0.5) * 0.618_033_988_749_894_9).fract()
}

/// A number between two others, of which the logarithms are as far apart as the share says.
fn between([least, most]: [f64; 2], share: f64) -> f64 {
    least * (most / least).powf(share)
}

/// First biases of so many steps: `softplus` takes them to [`STEPS`].
pub(super) fn step_biases(count: usize) -> Init {
    Init::listed((0..count).map(|i| between(STEPS, spread(i))).map(|step| step + (-(-step).exp_m1()).ln()))
}

/// How much time a row brings, in gaps; 1 at the first row, and where every row is one step.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) gap: Option<f64>,
}

impl Clock {
    /// The numbers that it remembers: whether there was a row, and its time.
    pub(super) const MEMORY: usize = 2;

    pub(super) fn passes(&self, memory: &mut [f64], time: f64) -> f64 {
        let began = std::mem::replace(&mut memory[0], 1.0) == 1.0;
        let before = std::mem::replace(&mut memory[1], time);
        self.gap.filter(|_| began).map_or(1.0, |gap| (time - before) / gap)
    }
}

impl StateSpace {
    /// `S`, or `n S`.
    fn count(&self, input: &Signal) -> usize {
        if self.per_channel { product(&[input.width(), self.states]) } else { self.states }
    }

    /// The name of the third number of a state.
    fn third(&self) -> &'static str {
        if self.discretisation == Discretisation::Powers { "gain" } else { "step" }
    }

    /// The first `decay`, `turn`, and `gain` or `step` of state `i`.
    fn first(&self, i: usize) -> [f64; 3] {
        let (k, count) = (i % self.states, self.states as f64);
        if self.discretisation == Discretisation::Powers {
            let square = RADII[0].powi(2) + spread(k) * (RADII[1].powi(2) - RADII[0].powi(2));
            let angle = ANGLE * (k as f64 + 0.5) / count;
            return [(-0.5 * square.ln()).ln(), angle.ln(), 0.5 * (1.0 - square).ln()];
        }
        let at = if self.per_channel { spread(i / self.states) } else { spread(k) };
        let pi = std::f64::consts::PI;
        let turn = if self.per_channel { pi * k as f64 } else { 2.0 * count / pi * (2.0 * count / (2 * k + 1) as f64 - 1.0) };
        [0.5_f64.ln(), turn, between(STEPS, at).ln()]
    }

    /// `a` and `g`, complex, of a state with these numbers after the time `dt`.
    fn step_of(&self, [decay, turn, third]: [f64; 3], dt: f64) -> [Complex; 2] {
        if self.discretisation == Discretisation::Powers {
            return [Complex(-decay.exp() * dt, turn.exp() * dt).exp(), Complex(third.exp(), 0.0)];
        }
        let (lambda, step) = (Complex(-decay.exp(), turn), third.exp() * dt);
        let z = lambda.times(Complex(step, 0.0));
        if self.discretisation == Discretisation::ZeroOrderHold {
            let a = z.exp();
            return [a, Complex(a.0 - 1.0, a.1).over(lambda)];
        }
        let below = Complex(1.0 - z.0 / 2.0, -z.1 / 2.0);
        [Complex(1.0 + z.0 / 2.0, z.1 / 2.0).over(below), Complex(step, 0.0).over(below)]
    }
}

/// A complex number.
#[derive(Debug, Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }

    fn over(self, other: Self) -> Self {
        let square = other.0 * other.0 + other.1 * other.1;
        self.times(Self(other.0 / square, -other.1 / square))
    }

    fn exp(self) -> Self {
        Self(self.0.exp() * self.1.cos(), self.0.exp() * self.1.sin())
    }
}

impl Layer for StateSpace {
    fn describe(&self) -> String {
        let of_each = if self.per_channel { " for each number" } else { "" };
        let times = if self.gap.is_some() { ", in real time" } else { "" };
        format!(
            "{}{of_each} that decay and turn{times}, each for itself, and a linear map of them: a diagonal Linear NCDE driven by time",
            counted(self.states, "state")
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("state-space")?;
        at_least_one(&[("states", self.states), ("states", self.count(input))])?;
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[4, self.states, input.width()])
    }

    fn cost(&self, input: &Signal) -> Cost {
        Cost { bytes: product(&[64, self.count(input)]), work: product(&[16, self.count(input)]) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (width, count) = (input.width(), self.count(input));
        let firsts: Vec<[f64; 3]> = (0..count).map(|i| self.first(i)).collect();
        let listed = |name: &str, which: usize| {
            Weight::trained(name, [count], Init::listed(firsts.iter().map(|first| first[which]))).with_role(Role::Undecayed)
        };
        let output = Init::Normal(1.0 / (self.states as f64).sqrt());
        let [b, c] = match self.per_channel {
            true => [
                Weight::trained(
                    "input",
                    [2 * count],
                    Init::Pieces(vec![(count, Init::Constant(1.0)), (count, Init::Constant(0.0))]),
                ),
                Weight::trained("output", [2 * count], output),
            ],
            false => [
                Weight::trained("input", [width, 2 * count], Init::Normal(1.0 / (2.0 * width as f64).sqrt())),
                Weight::trained("output", [2 * count, width], output),
            ],
        };
        let skip = Weight::trained("skip", [width], Init::Normal(1.0)).with_role(Role::Undecayed);
        Ok(vec![listed("decay", 0), listed("turn", 1), listed(self.third(), 2), b, c, skip])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let [decay, turn, third] = ["decay", "turn", self.third()].map(|name| weights.take(name));
        let (decay, turn, third) = (decay?, turn?, third?);
        let numbers = (0..decay.len()).map(|i| [decay[i], turn[i], third[i]].map(f64::from)).collect();
        let mut step = StateSpaceStep {
            spec: self.clone(),
            clock: Clock { gap: self.gap },
            numbers,
            parts: vec![0.0; 4 * decay.len()],
            dt: f64::NAN,
            input: weights.take("input")?,
            output: weights.take("output")?,
            skip: weights.take("skip")?,
            driven: vec![0.0; 2 * decay.len()],
            y: vec![0.0; input.width()],
        };
        step.after(1.0);
        Ok(Box::new(step))
    }
}

#[derive(Debug)]
struct StateSpaceStep {
    spec: StateSpace,
    clock: Clock,
    /// What a step of each state follows from.
    numbers: Vec<[f64; 3]>,
    /// The real parts of all `a` after the time `dt`, their imaginary parts, and those of `g`.
    parts: Vec<f32>,
    dt: f64,
    input: Vec<f32>,
    output: Vec<f32>,
    skip: Vec<f32>,
    /// `B x`.
    driven: Vec<f32>,
    y: Vec<f32>,
}

impl StateSpaceStep {
    /// Sets what a step of this duration needs.
    fn after(&mut self, dt: f64) {
        if dt.to_bits() == self.dt.to_bits() {
            return;
        }
        self.dt = dt;
        let count = self.numbers.len();
        for (i, &numbers) in self.numbers.iter().enumerate() {
            let [a, g] = self.spec.step_of(numbers, dt);
            for (part, x) in [a.0, a.1, g.0, g.1].into_iter().enumerate() {
                self.parts[part * count + i] = x as f32;
            }
        }
    }
}

ncde_simd::kernel! {
    /// `h <- a h + g (B x)`, real parts before imaginary ones.
    dispatch fn advance<'a, S: Simd>(_simd: S, h: &'a mut [f32], driven: &'a [f32], parts: &'a [f32]) {
        let count = h.len() / 2;
        let (re, im) = h.split_at_mut(count);
        let [u, v] = [0, 1].map(|i| &driven[i * count..][..count]);
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| &parts[i * count..][..count]);
        for (i, (re, im)) in re.iter_mut().zip(im).enumerate() {
            let (x, y) = (*re, *im);
            *re = a[i] * x - b[i] * y + c[i] * u[i] - d[i] * v[i];
            *im = a[i] * y + b[i] * x + c[i] * v[i] + d[i] * u[i];
        }
    }
}

ncde_simd::kernel! {
    /// `B x` where every number drives a bank of states of its own.
    dispatch fn drive<'a, S: Simd>(_simd: S, x: &'a [f64], input: &'a [f32], driven: &'a mut [f32]) {
        let bank = driven.len() / (2 * x.len());
        for ((driven, input), &x) in driven.chunks_exact_mut(bank).zip(input.chunks_exact(bank)).zip(x.iter().chain(x)) {
            driven.iter_mut().zip(input).for_each(|(driven, b)| *driven = x as f32 * b);
        }
    }
}

ncde_simd::kernel! {
    /// `y += Re(C h)` of every bank.
    dispatch fn read<'a, S: Simd>(simd: S, h: &'a [f32], output: &'a [f32], y: &'a mut [f32]) {
        let (half, bank) = (h.len() / 2, h.len() / (2 * y.len()));
        for (h, output) in h.chunks_exact(half).zip(output.chunks_exact(half)) {
            for ((h, c), y) in h.chunks_exact(bank).zip(output.chunks_exact(bank)).zip(&mut *y) {
                *y += f32::dot(simd, h, c);
            }
        }
    }
}

impl Step for StateSpaceStep {
    /// What the clock remembers; real parts of states, then imaginary ones.
    fn memory(&self) -> Size {
        Size { wide: Clock::MEMORY, narrow: 2 * self.numbers.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let dt = self.clock.passes(memory.wide, row.time);
        self.after(dt);
        self.y.iter_mut().zip(row.values.iter().zip(&self.skip)).for_each(|(y, (&x, d))| *y = x as f32 * d);
        if self.spec.per_channel {
            drive(row.values, &self.input, &mut self.driven);
            advance(memory.narrow, &self.driven, &self.parts);
            read(memory.narrow, &self.output, &mut self.y);
        } else {
            self.driven.fill(0.0);
            affine(row.values, &self.input, &mut self.driven);
            advance(memory.narrow, &self.driven, &self.parts);
            affine(memory.narrow, &self.output, &mut self.y);
        }
        out.clear();
        out.extend(self.y.iter().map(|&y| f64::from(y)));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::reference::{Numbers, outputs};

    /// What `discretax.sequence_mixers.lru.LRUSequenceMixer` of discretax 0.2.1 makes of consecutive [`Numbers`] in the order `nu_log - 1.5`, `theta_log`,
    /// `B_re`, `B_im`, `C_re`, `C_im`, `D`, `gamma_log`, `x` for 6 rows of 2 numbers and 3 states, in double precision.
    #[test]
    fn powers_are_the_lru_of_discretax() {
        let (n, s, mut next) = (2, 3, Numbers::default());
        let decay = next.take(s).into_iter().map(|x| x - 1.5).collect();
        let turn = next.take(s);
        let input = [next.transposed(s, n), next.transposed(s, n)];
        let output = [next.transposed(n, s), next.transposed(n, s)];
        let (skip, gain) = (next.take(n), next.take(s));
        let weights = [
            ("decay", decay),
            ("turn", turn),
            ("gain", gain),
            ("input", beside(input, s)),
            ("output", above(output)),
            ("skip", skip),
        ];
        let rows = next.rows(6, n);
        let wanted = [
            -0.102_006_263_931,
            0.005_430_588_238_71,
            -0.120_010_409_277,
            -0.169_206_972_767,
            -0.115_945_565_272,
            0.057_834_470_362_8,
            0.235_899_305_251,
            0.182_526_082_473,
            0.147_729_764_401,
            -0.129_495_765_924,
            0.042_401_624_174_7,
            0.000_243_911_846_526,
        ];
        outputs(r#"[{"layer": "state-space", "states": 3, "discretisation": "powers"}]"#, &weights, &rows, &wanted);
    }

    /// What `discretax.sequence_mixers.s5.S5SequenceMixer` makes of them in the order `Lambda_re - 0.5`, `4 Lambda_im`, `B` and `C` with real and imaginary parts
    /// beside each other, `D`, `log_step - 1`, `x` for 5 rows of 2 numbers and 2 states with their conjugates: `C` counts twice.
    #[test]
    fn holds_and_trapezoids_are_the_s5_of_discretax() {
        let zero_order_hold = [
            0.044_637_863_956_1,
            -0.166_263_977_183,
            0.097_120_379_131_6,
            0.066_697_635_148_7,
            0.022_107_431_360_3,
            0.090_597_712_359,
            -0.105_714_841_23,
            -0.103_412_035_005,
            -0.005_599_220_404_54,
            0.098_495_182_692_2,
        ];
        let bilinear = [
            0.037_037_836_478_1,
            -0.164_454_143_167,
            0.099_079_480_708,
            0.057_852_005_791_7,
            0.038_551_464_086,
            0.088_067_397_544_3,
            -0.106_616_490_465,
            -0.092_165_159_068_7,
            -0.011_987_759_489_4,
            0.100_281_746_736,
        ];
        for (rule, wanted) in [("zero-order-hold", zero_order_hold), ("bilinear", bilinear)] {
            let (n, s, mut next) = (2, 2, Numbers::default());
            let decay = next.take(s).into_iter().map(|x| (0.5 - x).max(1e-4).ln()).collect();
            let turn = next.take(s).into_iter().map(|x| 4.0 * x).collect();
            let (b, c) = (next.take(2 * s * n), next.take(2 * n * s));
            let part = |all: &[f64], which: usize, [rows, columns]: [usize; 2]| {
                let place = |row: usize, column: usize| all[2 * (column * rows + row) + which];
                (0..rows).flat_map(|row| (0..columns).map(move |column| place(row, column))).collect::<Vec<f64>>()
            };
            let input = beside([0, 1].map(|which| part(&b, which, [n, s])), s);
            let output = above([0, 1].map(|which| part(&c, which, [s, n]))).into_iter().map(|x| 2.0 * x).collect();
            let (skip, step) = (next.take(n), next.take(s).into_iter().map(|x| x - 1.0).collect());
            let weights =
                [("decay", decay), ("turn", turn), ("step", step), ("input", input), ("output", output), ("skip", skip)];
            let layers = format!(r#"[{{"layer": "state-space", "states": 2, "discretisation": "{rule}"}}]"#);
            outputs(&layers, &weights, &next.rows(5, n), &wanted);
        }
    }

    /// What `lrnnx.models.lti.s4d.S4D` of lrnnx 1.0.0.post1 makes of them, without its output layer, in the order `inv_dt - 1.5`, `A_real`, `4 A_imag` (of which it
    /// takes the negative), `B` and `C` with real and imaginary parts beside each other, `D`; then 6 numbers that it does not read here, and `x`.
    #[test]
    fn numbers_with_states_of_their_own_are_the_s4d_of_lrnnx() {
        let wanted = [
            0.011_986_923_315_6,
            0.102_779_361_166,
            0.023_418_018_488_8,
            -0.015_829_619_060_5,
            -0.039_301_752_620_6,
            -0.197_293_258_186,
            -0.005_884_407_206_97,
            0.138_216_233_568,
            0.015_238_813_626,
            0.071_176_541_546_3,
            -0.039_794_690_489_5,
            -0.067_526_605_849,
        ];
        let (n, s, mut next) = (2, 2, Numbers::default());
        let step = next.take(n).into_iter().flat_map(|x| [x - 1.5; 2]).collect();
        let decay = next.take(n * s);
        let turn = next.take(n * s).into_iter().map(|x| -4.0 * x).collect();
        let (b, c) = (next.take(2 * n * s), next.take(2 * n * s));
        let part = |all: &[f64], which: usize| all.iter().skip(which).step_by(2).copied().collect::<Vec<f64>>();
        let input = [part(&b, 0), part(&b, 1)].concat();
        let output = above([part(&c, 0), part(&c, 1)]).into_iter().map(|x| 2.0 * x).collect();
        let skip = next.take(n);
        next.take(6);
        let weights = [("decay", decay), ("turn", turn), ("step", step), ("input", input), ("output", output), ("skip", skip)];
        let layers = r#"[{"layer": "state-space", "states": 2, "discretisation": "zero-order-hold", "per_channel": true}]"#;
        outputs(layers, &weights, &next.rows(6, n), &wanted);
    }

    /// `B`: real parts, then imaginary parts of each row.
    fn beside([re, im]: [Vec<f64>; 2], states: usize) -> Vec<f64> {
        re.chunks(states).zip(im.chunks(states)).flat_map(|(re, im)| [re, im].concat()).collect()
    }

    /// `Re C`, then `-Im C`.
    fn above([re, im]: [Vec<f64>; 2]) -> Vec<f64> {
        re.into_iter().chain(im.into_iter().map(|x| -x)).collect()
    }
}
