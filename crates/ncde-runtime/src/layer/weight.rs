//! A weight of a layer: name, shape, and how its first values are found. Said once, by the layer's spec.

use std::collections::BTreeMap;

use crate::Error;
use crate::random::Stream;

/// A weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Its name in the layer, or in a model: `layers.2.a`.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How its first values are found.
    pub init: Init,
    /// Whether it is trained, fitted or frozen.
    pub role: Role,
}

/// Whether a weight is trained, fitted or frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Updated by the optimizer, with weight decay.
    Trained,
    /// Updated by the optimizer, without weight decay: gains and offsets.
    Undecayed,
    /// Fitted once to the training data, then frozen.
    Fitted,
    /// Frozen at its first values.
    Fixed,
}

/// How the first values of a weight are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// All the same.
    Constant(f64),
    /// Uniform on `[-bound, bound]`.
    Uniform(f64),
    /// Normal with mean 0 and this deviation.
    Normal(f64),
    /// One piece after the other: how many numbers, and how they are found.
    Pieces(Vec<(usize, Init)>),
    /// Drawn, then these numbers are added at these places.
    Moved(Box<Init>, Vec<(usize, f64)>),
    /// Different whole numbers below this one in each row, in order.
    Subset(usize),
}

impl Weight {
    /// A weight that is trained and decays.
    pub fn trained(name: &str, shape: impl Into<Vec<usize>>, init: Init) -> Self {
        Self { name: name.into(), shape: shape.into(), init, role: Role::Trained }
    }

    /// The same weight with another role.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// How many numbers it has.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the optimizer updates it.
    pub fn is_trained(&self) -> bool {
        matches!(self.role, Role::Trained | Role::Undecayed)
    }

    /// Its first values.
    pub fn draw(&self, stream: &Stream) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.count());
        self.init.draw(self.count(), self.shape.last().copied().unwrap_or(1), stream, &mut values);
        values.into_iter().map(|x| x as f32).collect()
    }
}

impl Init {
    /// Uniform on `±1 / sqrt(inputs)`, as for the weight and the bias of a linear layer.
    pub fn linear(inputs: usize) -> Self {
        Self::Uniform(1.0 / (inputs.max(1) as f64).sqrt())
    }

    /// These numbers.
    pub fn listed(values: impl IntoIterator<Item = f64>) -> Self {
        Self::Pieces(values.into_iter().map(|value| (1, Self::Constant(value))).collect())
    }

    fn draw(&self, count: usize, row: usize, stream: &Stream, out: &mut Vec<f64>) {
        let start = out.len() as u64;
        let places = start..start + count as u64;
        match self {
            Self::Constant(value) => out.resize(out.len() + count, *value),
            Self::Uniform(bound) => out.extend(places.map(|i| bound * (2.0 * stream.uniform(i) - 1.0))),
            Self::Normal(deviation) => out.extend(places.map(|i| deviation * stream.normal(i))),
            Self::Pieces(pieces) => pieces.iter().for_each(|(count, init)| init.draw(*count, row, stream, out)),
            Self::Moved(init, offsets) => {
                init.draw(count, row, stream, out);
                offsets.iter().for_each(|&(place, offset)| out[start as usize + place] += offset);
            }
            Self::Subset(below) => {
                for k in 0..count / row.max(1) {
                    let mut chosen = stream.child(k as u64).permutation(*below);
                    chosen.truncate(row);
                    chosen.sort_unstable();
                    out.extend(chosen.into_iter().map(|i| i as f64));
                }
            }
        }
    }
}

/// The values of the weights of one layer, by name.
#[derive(Debug, Clone, Default)]
pub struct Values {
    values: BTreeMap<String, Vec<f32>>,
}

impl Values {
    /// Adds a weight.
    pub fn insert(&mut self, name: &str, values: Vec<f32>) {
        self.values.insert(name.to_owned(), values);
    }

    /// The values of a weight of the layer, once.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn take(&mut self, name: &str) -> Result<Vec<f32>, Error> {
        self.values.remove(name).ok_or_else(|| Error::State(format!("there is no weight `{name}`")))
    }
}
