//! GRU-D: a gated recurrent unit that forgets by the time since each channel was last seen (Z. Che and others, 2018).
//!
//! ```text
//! m_i = 1 where the count of channel i has risen, else 0;   delta_i = the time since the row before, and, where m_i was 0 there, its delta_i;   0 at the first row
//! x'_i = m_i x_i + (1 - m_i) exp(-max(0, u_i delta_i + v_i)) x_i,   h' = exp(-max(0, D^T delta + e)) h_{k-1},   h_k = GRU((x', m), h')
//! ```
//!
//! `x_i` is the last value that was seen, as preparation fills it in: what is missing fades towards 0, the centre of its channel, which with `prepare.scale = "standard"` is the mean. The mask `m`
//! follows from the counts of a knot (`prepare.missing = "counts"`); without `counts` every value is seen in every row, and there is no `m`. Time is in gaps, or 1 a row without `gap`.
//! The cell is that of `gru`, weights included. Cost a row: `3 H (2 c + H) + c H`, `c` channels.
//!
//! | weight | shape | first values |
//! | --- | --- | --- |
//! | those of `gru`, `input` `[2 c, 3 H]`, without counts `[c, 3 H]` | | |
//! | `decay_state` (`D`), `decay_state_bias` (`e`) | `[c, H]`, `[H]` | uniform on `±1 / sqrt(H)` |
//! | `decay_input` (`u`), `decay_input_bias` (`v`) with counts | `[c]` each | uniform on `±1 / sqrt(c)` |

use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::signal::{at_least_one, counted, positive, product, refuse};
use super::state_space::Clock;
use super::{Gru, Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A gated recurrent unit with decays by the time since each channel was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GruD {
    /// `H`.
    pub hidden: usize,
    /// Which numbers of a row are values: from the first number to before the second.
    pub values: [usize; 2],
    /// Where their counts begin; without them every value is seen in every row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<usize>,
    /// The time that counts as one step; without it every row is one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

impl GruD {
    /// `c`: how many values a row has.
    pub fn channels(&self) -> usize {
        self.values[1].saturating_sub(self.values[0])
    }

    /// `delta` and `m` of a channel, from the time since the row before (none at the first one), the time that was left there, and the counts of both rows.
    pub fn observe(passed: Option<f64>, left: f64, counts: Option<[f64; 2]>) -> (f64, bool) {
        (passed.map_or(0.0, |passed| passed + left), counts.is_none_or(|[before, now]| now > before))
    }

    fn gru(&self) -> Gru {
        Gru { hidden: self.hidden }
    }

    /// What the cell is given.
    fn inputs(&self) -> Signal {
        Signal::values(if self.counts.is_some() { 2 * self.channels() } else { self.channels() })
    }
}

impl Layer for GruD {
    fn describe(&self) -> String {
        let states = counted(self.hidden, "state");
        format!("{states} that gates reset and renew, and that fade with the time since each number was seen")
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.sequence("gru-d")?;
        at_least_one(&[("hidden", self.hidden), ("values", self.channels())])?;
        positive(&[("gap", self.gap.unwrap_or(1.0))])?;
        let [from, to] = self.values;
        if to > width {
            return refuse("values", format!("[{from}, {to}], but a row has {width} numbers"));
        }
        match self.counts {
            Some(first) if first.saturating_add(self.channels()) > width => refuse(
                "counts",
                format!("{first}; {} counts from there on are more than the {width} numbers of a row", self.channels()),
            ),
            _ => Ok(input.with_width(self.hidden)),
        }
    }

    fn demand(&self, _: &Signal) -> usize {
        self.gru().demand(&self.inputs()).saturating_add(product(&[self.channels(), self.hidden]))
    }

    fn weights(&self, _: &Signal) -> Result<Vec<Weight>, Error> {
        let (c, hidden) = (self.channels(), self.hidden);
        let mut all = self.gru().weights(&self.inputs())?;
        all.push(Weight::trained("decay_state", [c, hidden], Init::linear(hidden)));
        all.push(Weight::trained("decay_state_bias", [hidden], Init::linear(hidden)));
        if self.counts.is_some() {
            let of_input = ["decay_input", "decay_input_bias"].map(|name| Weight::trained(name, [c], Init::linear(c)));
            all.extend(of_input);
        }
        Ok(all)
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let mut of_input = |name: &str| if self.counts.is_some() { weights.take(name) } else { Ok(Vec::new()) };
        let decay_input = [of_input("decay_input")?, of_input("decay_input_bias")?];
        Ok(Box::new(GruDStep {
            spec: self.clone(),
            clock: Clock { gap: self.gap },
            decay_input,
            decay_state: weights.take("decay_state")?,
            decay_state_bias: weights.take("decay_state_bias")?,
            cell: self.gru().step(&self.inputs(), weights, Vec::new())?,
            delta: vec![0.0; self.channels()],
            fade: vec![0.0; self.hidden],
            inputs: vec![0.0; self.inputs().width()],
        }))
    }
}

#[derive(Debug)]
struct GruDStep {
    spec: GruD,
    clock: Clock,
    decay_input: [Vec<f32>; 2],
    decay_state: Vec<f32>,
    decay_state_bias: Vec<f32>,
    cell: Box<dyn Step>,
    delta: Vec<f64>,
    fade: Vec<f32>,
    inputs: Vec<f64>,
}

impl Step for GruDStep {
    /// What the clock remembers, the time left of each channel, the counts of the last row; `h`.
    fn memory(&self) -> Size {
        Size::wide(Clock::MEMORY + 2 * self.delta.len()).plus(self.cell.memory())
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let c = self.delta.len();
        let (clock, rest) = memory.wide.split_at_mut(Clock::MEMORY);
        let (left, before) = rest.split_at_mut(c);
        let began = clock[0] == 1.0;
        let passed = Some(self.clock.passes(clock, row.time)).filter(|_| began);
        for i in 0..c {
            let x = row.values[self.spec.values[0] + i];
            let now = self.spec.counts.map(|first| row.values[first + i]);
            let counts = now.map(|now| [std::mem::replace(&mut before[i], now), now]);
            let (delta, seen) = GruD::observe(passed, left[i], counts);
            (self.delta[i], left[i]) = (delta, if seen { 0.0 } else { delta });
            self.inputs[i] = x;
            if counts.is_some() {
                self.inputs[c + i] = f64::from(u8::from(seen));
            }
            if !seen {
                let [u, v] = &self.decay_input;
                self.inputs[i] *= f64::from((-(u[i] * delta as f32 + v[i]).max(0.0)).exp());
            }
        }
        self.fade.copy_from_slice(&self.decay_state_bias);
        affine(&self.delta, &self.decay_state, &mut self.fade);
        memory.narrow.iter_mut().zip(&self.fade).for_each(|(h, fade)| *h *= (-fade.max(0.0)).exp());
        self.cell.push(Share { wide: &mut [], narrow: memory.narrow }, Row { values: &self.inputs, ..row }, out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Numbers, outputs_at};

    /// What `pypots.nn.modules.grud.BackboneGRUD` of pypots 1.5 makes of consecutive [`Numbers`], twice those of `x`, for 6 rows of 2 channels, in double precision. (Its cell is also given the faded states as
    /// inputs, which the equations of the paper do not have: their weights are 0.)
    ///
    /// ```python
    /// m = BackboneGRUD(6, 2, 3)  # weight_ih for x and m, weight_hh, bias_ih, bias_hh of the new state, temp_decay_h.W, .b, the diagonal of temp_decay_x.W, .b, x
    /// mask = [[1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0]]
    /// h = m(mask * x, mask, deltas of the times below, empirical_mean=0, x filled forward)[1]
    /// ```
    #[test]
    fn values_are_those_of_pypots() {
        let (c, hidden, mut next) = (2, 3, Numbers::default());
        let weights = [
            ("input", next.transposed(3 * hidden, 2 * c)),
            ("recurrent", next.transposed(3 * hidden, hidden)),
            ("bias", next.take(3 * hidden)),
            ("recurrent_bias", next.take(hidden)),
            ("decay_state", next.transposed(hidden, c)),
            ("decay_state_bias", next.take(hidden)),
            ("decay_input", next.take(c)),
            ("decay_input_bias", next.take(c)),
        ];
        let mask = [[true, false], [false, true], [true, true], [false, false], [false, true], [true, false]];
        let mut knot = vec![0.0; 2 * c];
        let row = |(x, seen): (Vec<f64>, [bool; 2])| {
            for i in (0..c).filter(|&i| seen[i]) {
                (knot[i], knot[c + i]) = (2.0 * x[i], knot[c + i] + 0.25);
            }
            knot.clone()
        };
        let rows: Vec<Vec<f64>> = next.rows(6, c).into_iter().zip(mask).map(row).collect();
        let times = [0.0, 0.5, 2.0, 2.25, 4.0, 5.0];
        let wanted = [
            0.416_425_505_928,
            -0.228_173_414_773,
            -0.158_241_118_245,
            0.661_999_861_752,
            -0.140_164_490_134,
            -0.518_007_204_066,
            0.277_215_488_842,
            -0.083_548_520_605,
            -0.221_100_686_462,
            0.281_939_926_019,
            0.007_823_935_674_55,
            -0.190_679_607_983,
            0.430_359_392_107,
            0.211_893_725_066,
            -0.421_738_319_629,
            0.524_223_177_973,
            -0.018_855_521_473,
            -0.469_506_341_189,
        ];
        let layers = r#"[{"layer": "gru-d", "hidden": 3, "values": [0, 2], "counts": 2, "gap": 1.0}]"#;
        outputs_at(layers, &weights, &times, &rows, &wanted);
    }
}
