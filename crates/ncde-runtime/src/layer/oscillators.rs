//! Oscillators that rows drive (LinOSS; T. K. Rusch, D. Rus, 2025; damped: J. Boyer and others, 2025): a Linear NCDE with blocks of two states.
//!
//! ```text
//! z_k = p (z_{k-1} + d (B x_k - a y_{k-1})),   y_k = y_{k-1} + d z_k,   out: Re(C y_k) + D x_k,   y_0 = z_0 = 0,   y and z complex, each number for itself
//! ```
//!
//! with `d = sigmoid(step) dt`, and by [`Scheme`]
//!
//! | scheme | `p` | `a` | known as |
//! | --- | --- | --- | --- |
//! | `implicit` | `1 / (1 + d^2 a)` | `max(stiffness, 0)` | LinOSS-IM |
//! | `explicit` | 1 | `max(stiffness, 0)` | LinOSS-IMEX; diverges where `d^2 a` comes above 4 |
//! | `damped` | `1 / (1 + d g)`, `g = max(damping, 0)` | `stiffness`, at least `(2 + d g - 2 r) / d^2`, at most `(2 + d g + 2 r) / d^2`, `r = sqrt(1 + d g)` | D-LinOSS |
//!
//! `dt` is 1, or with `gap`, which only `implicit` takes, the time since the row before in gaps, 1 at the first row. Cost a row: `4 S n`, `S` oscillators and `n` numbers of a row.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | `stiffness` | `[S]` | spread over `[0, 1]`; `damped` such that angles of a step are spread over `[0, pi]` |
//! | `damping`, of `damped` | `[S]` | such that `p` is spread over `[0.81, 1]` |
//! | `step` | `[S]` | 0 |
//! | `input` (`B`), the real parts, then the imaginary ones | `[n, 2 S]` | uniform on `±1 / sqrt(n)` |
//! | `output` (`Re C`, then `-Im C`) | `[2 S, n]` | uniform on `±1 / sqrt(S)` |
//! | `skip` (`D`) | `[n]` | normal, 1 |

use serde::{Deserialize, Serialize};

use super::activation::sigmoid;
use super::linear::affine;
use super::signal::{at_least_one, counted, positive, product, refuse};
use super::state_space::{Clock, spread};
use super::{Cost, Init, Layer, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// Oscillators that rows drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oscillators {
    /// `S`: how many.
    pub states: usize,
    /// How a step is made.
    pub scheme: Scheme,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

/// How a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// With the force at its end.
    Implicit,
    /// With the force at its begin, and the place at its end.
    Explicit,
    /// The same with damping.
    Damped,
}

impl Oscillators {
    /// The first stiffness and damping of oscillator `i`, for steps of 1/2.
    fn first(&self, i: usize) -> [f64; 2] {
        let share = spread(i);
        if self.scheme != Scheme::Damped {
            return [share, 0.0];
        }
        let (d, p) = (0.5, 0.81 + 0.19 * share);
        let damping = (1.0 / p - 1.0) / d;
        let angle = std::f64::consts::PI * (i as f64 + 0.5) / self.states as f64;
        [(2.0 + d * damping - 2.0 * angle.cos() * (1.0 + d * damping).sqrt()) / (d * d), damping]
    }
}

impl Layer for Oscillators {
    fn describe(&self) -> String {
        let times = if self.gap.is_some() { ", in real time" } else { "" };
        let states = counted(self.states, "oscillator");
        format!(
            "{states} that rows push{times}, and a linear map of where they are: a Linear NCDE in blocks of two driven by time"
        )
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("oscillators")?;
        at_least_one(&[("states", self.states)])?;
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        if self.gap.is_some() && self.scheme != Scheme::Implicit {
            return refuse(
                "gap",
                "set, but only the scheme `implicit` is stable for gaps of any length; take that, or leave `gap` out",
            );
        }
        Ok(input.with_width(width))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[4, self.states, input.width()])
    }

    fn cost(&self, _: &Signal) -> Cost {
        Cost { bytes: product(&[64, self.states]), work: product(&[16, self.states]) }
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (n, states) = (input.width(), self.states);
        let free = |name: &str, count: usize, init| Weight::trained(name, [count], init).with_role(Role::Undecayed);
        let listed = |name: &str, which: usize| free(name, states, Init::listed((0..states).map(|i| self.first(i)[which])));
        let mut all = vec![listed("stiffness", 0)];
        if self.scheme == Scheme::Damped {
            all.push(listed("damping", 1));
        }
        all.extend([
            free("step", states, Init::Constant(0.0)),
            Weight::trained("input", [n, 2 * states], Init::linear(n)),
            Weight::trained("output", [2 * states, n], Init::linear(states)),
            free("skip", n, Init::Normal(1.0)),
        ]);
        Ok(all)
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let stiffness = weights.take("stiffness")?;
        let damping = if self.scheme == Scheme::Damped { weights.take("damping")? } else { vec![0.0; self.states] };
        let steps: Vec<f32> = weights.take("step")?.into_iter().map(sigmoid).collect();
        let bounded = |((a, g), d): ((f32, f32), f32)| {
            if self.scheme != Scheme::Damped {
                return a.max(0.0);
            }
            let damped = d * g.max(0.0);
            let [least, most] = [-2.0, 2.0].map(|sign| (2.0 + damped + sign * (1.0 + damped).sqrt()) / (d * d));
            a.max(least).min(most)
        };
        let rates = stiffness.into_iter().zip(damping.iter().copied()).zip(steps.iter().copied());
        Ok(Box::new(OscillatorsStep {
            scheme: self.scheme,
            clock: Clock { gap: self.gap },
            stiffness: rates.map(bounded).collect(),
            damping,
            steps,
            input: weights.take("input")?,
            output: weights.take("output")?,
            skip: weights.take("skip")?,
            force: vec![0.0; 2 * self.states],
            out: vec![0.0; input.width()],
        }))
    }
}

#[derive(Debug)]
struct OscillatorsStep {
    scheme: Scheme,
    clock: Clock,
    stiffness: Vec<f32>,
    damping: Vec<f32>,
    steps: Vec<f32>,
    input: Vec<f32>,
    output: Vec<f32>,
    skip: Vec<f32>,
    force: Vec<f32>,
    out: Vec<f32>,
}

impl Step for OscillatorsStep {
    /// What the clock remembers; places, then speeds, of both the real parts before the imaginary ones.
    fn memory(&self) -> Size {
        Size { wide: Clock::MEMORY, narrow: 4 * self.steps.len() }
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let states = self.steps.len();
        let dt = self.clock.passes(memory.wide, row.time) as f32;
        self.force.fill(0.0);
        affine(row.values, &self.input, &mut self.force);
        let (places, speeds) = memory.narrow.split_at_mut(2 * states);
        for (i, (&step, &a)) in self.steps.iter().zip(&self.stiffness).enumerate() {
            let d = step * dt;
            let p = match self.scheme {
                Scheme::Implicit => 1.0 / (1.0 + d * d * a),
                Scheme::Explicit => 1.0,
                Scheme::Damped => 1.0 / (1.0 + d * self.damping[i].max(0.0)),
            };
            for at in [i, states + i] {
                speeds[at] = p * (speeds[at] + d * (self.force[at] - a * places[at]));
                places[at] += d * speeds[at];
            }
        }
        self.out.iter_mut().zip(row.values.iter().zip(&self.skip)).for_each(|(out, (&x, d))| *out = x as f32 * d);
        affine(places, &self.output, &mut self.out);
        out.clear();
        out.extend(self.out.iter().map(|&x| f64::from(x)));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs};

    /// What `discretax.sequence_mixers.linoss.LinOSSSequenceMixer` of discretax 0.2.1 makes of consecutive [`Numbers`] in the order `A_diag` (1 + 3 number), `G_diag` (0.3 + number),
    /// `B` and `C` with real and imaginary parts beside each other, `D`, `steps`, `x` for 6 rows of 2 numbers and 3 oscillators, in double precision.
    #[test]
    fn values_are_those_of_discretax() {
        let implicit = [
            0.121_720_664_599,
            0.120_135_246_363,
            0.013_320_046_255_1,
            -0.126_855_148_984,
            -0.132_669_886_875,
            -0.033_115_132_602,
            0.212_750_798_871,
            0.039_583_143_249_7,
            0.097_940_125_923_8,
            -0.188_314_634_786,
            -0.046_200_821_767_1,
            -0.071_328_715_990_5,
        ];
        let explicit = [
            0.125_576_267_567,
            0.117_191_450_345,
            0.021_243_409_680_8,
            -0.133_058_338_563,
            -0.126_083_507_515,
            -0.041_204_595_983,
            0.218_682_399_59,
            0.029_431_465_732_4,
            0.103_005_712_855,
            -0.197_438_859_793,
            -0.045_235_767_010_4,
            -0.075_121_464_995_3,
        ];
        let damped = [
            0.121_174_861_506,
            0.118_147_620_571,
            0.011_834_937_383_8,
            -0.131_054_063_483,
            -0.140_045_682_818,
            -0.034_779_693_441_4,
            0.197_531_376_144,
            0.040_965_565_273_9,
            0.076_576_690_567_3,
            -0.183_991_881_133,
            -0.073_533_346_814_6,
            -0.061_727_150_779_3,
        ];
        for (scheme, wanted) in [("implicit", implicit), ("explicit", explicit), ("damped", damped)] {
            let (n, s, mut next) = (2, 3, Numbers::default());
            let stiffness = next.take(s).into_iter().map(|x| 1.0 + 3.0 * x).collect();
            let damping = next.take(s).into_iter().map(|x| 0.3 + x).collect();
            let (b, c) = (next.take(2 * s * n), next.take(2 * n * s));
            let input = (0..n)
                .flat_map(|i| (0..2).flat_map(move |part| (0..s).map(move |k| (k * n + i) * 2 + part)))
                .map(|at| b[at])
                .collect();
            let sign = [1.0, -1.0];
            let output = (0..2).flat_map(|part| (0..s).flat_map(move |k| (0..n).map(move |i| ((i * s + k) * 2 + part, part))));
            let output = output.map(|(at, part)| sign[part] * c[at]).collect();
            let (skip, step) = (next.take(n), next.take(s));
            let weights = [
                ("stiffness", stiffness),
                ("damping", damping),
                ("step", step),
                ("input", input),
                ("output", output),
                ("skip", skip),
            ];
            let layers = format!(r#"[{{"layer": "oscillators", "states": 3, "scheme": "{scheme}"}}]"#);
            outputs(&layers, &weights, &next.rows(6, n), &wanted);
        }
    }
}
