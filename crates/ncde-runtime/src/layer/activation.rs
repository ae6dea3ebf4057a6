//! A function of each number, `y_i = s(x_i)`, or a gated linear unit, `y = u sigmoid(v)` for `x = (u, v)`. No weights.

use ncde_kernels::neural::Activation as Pointwise;
use num_traits::Float;
use serde::de::{Error as _, IntoDeserializer, value};
use serde::{Deserialize, Deserializer, Serialize};

use super::per_row::per_row;
use super::signal::misplaced;
use super::state_memory::narrow;
use super::{Layer, Signal, Step, StepChain, Values};
use crate::Error;

/// An activation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activation {
    /// Which function.
    pub function: Function,
}

/// What becomes of a row: `silu` and so on, or `glu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// `u sigmoid(v)`, the first and the second half of a row.
    Glu,
    /// A function of each number.
    #[serde(untagged)]
    Each(Pointwise),
}

impl<'de> Deserialize<'de> for Function {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if name == "glu" {
            return Ok(Self::Glu);
        }
        let pointwise: Result<Pointwise, value::Error> = Pointwise::deserialize(name.as_str().into_deserializer());
        pointwise.map(Self::Each).map_err(|error| D::Error::custom(format!("{error}, `glu`")))
    }
}

impl Function {
    /// How many numbers come out.
    pub fn width(self, input: usize) -> usize {
        if self == Self::Glu { input / 2 } else { input }
    }

    /// The function of a row.
    pub fn apply<T: Float>(self, x: &[T], y: &mut [T]) {
        match self {
            Self::Each(Pointwise::Silu) => each(x, y, |x| x * sigmoid(x)),
            Self::Each(Pointwise::Relu) => each(x, y, |x| x.max(T::zero())),
            Self::Each(Pointwise::Tanh) => each(x, y, T::tanh),
            Self::Each(Pointwise::Softplus) => each(x, y, softplus),
            Self::Each(Pointwise::ShiftedSoftplus) => {
                let shift = softplus(T::zero());
                each(x, y, |x| softplus(x) - shift);
            }
            Self::Each(Pointwise::Identity) => y.copy_from_slice(x),
            Self::Glu => {
                let (u, v) = x.split_at(x.len() / 2);
                y.iter_mut().zip(u.iter().zip(v)).for_each(|(y, (&u, &v))| *y = u * sigmoid(v));
            }
        }
    }

    /// The gradient in `x` from that in `y`.
    pub fn reverse<T: Float>(self, x: &[T], dy: &[T], dx: &mut [T]) {
        let (zero, one) = (T::zero(), T::one());
        let each = |dx: &mut [T], slope: fn(T) -> T| {
            dx.iter_mut().zip(x.iter().zip(dy)).for_each(|(dx, (&x, &dy))| *dx = dy * slope(x));
        };
        match self {
            Self::Each(Pointwise::Silu) => each(dx, |x| {
                let s = sigmoid(x);
                s * (T::one() + x * (T::one() - s))
            }),
            Self::Each(Pointwise::Identity) => dx.copy_from_slice(dy),
            Self::Each(Pointwise::Relu) => {
                dx.iter_mut().zip(x.iter().zip(dy)).for_each(|(dx, (&x, &dy))| *dx = if x > zero { dy } else { zero });
            }
            Self::Each(Pointwise::Tanh) => each(dx, |x| T::one() - x.tanh() * x.tanh()),
            Self::Each(Pointwise::Softplus | Pointwise::ShiftedSoftplus) => each(dx, sigmoid),
            Self::Glu => {
                let n = dy.len();
                for i in 0..n {
                    let s = sigmoid(x[n + i]);
                    dx[i] = dy[i] * s;
                    dx[n + i] = dy[i] * x[i] * s * (one - s);
                }
            }
        }
    }
}

fn each<T: Float>(x: &[T], y: &mut [T], function: impl Fn(T) -> T) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = function(x));
}

pub(super) fn sigmoid<T: Float>(x: T) -> T {
    T::one() / (T::one() + (-x).exp())
}

pub(super) fn softplus<T: Float>(x: T) -> T {
    x.max(T::zero()) + (T::one() + (-x.abs()).exp()).ln()
}

impl Layer for Activation {
    fn describe(&self) -> String {
        match self.function {
            Function::Glu => "a gate: one half of the numbers lets the other pass".into(),
            Function::Each(function) => format!("{} of each number", format!("{function:?}").to_lowercase()),
        }
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let width = input.numbers("activation")?;
        if self.function == Function::Glu && !width.is_multiple_of(2) {
            return Err(misplaced(
                "activation",
                format!("`glu` halves rows, but they have {width} numbers; give it an even count"),
            ));
        }
        Ok(input.with_width(self.function.width(width)))
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (function, width) = (self.function, input.width());
        let (mut x, mut y) = (vec![0.0_f32; width], vec![0.0; function.width(width)]);
        per_row(move |row, out| {
            narrow(row.values, &mut x);
            function.apply(&x, &mut y);
            out.extend(y.iter().map(|&y| f64::from(y)));
            Ok(())
        })
    }
}
