//! One step of a Linear NCDE on plain numbers: `h <- exp(Omega) h + phi_1(Omega) beta`.

use std::ops::Range;

use ncde_kernels::{Commutators, Stream};

use super::drive::Start;
use super::state_memory::{narrow, widen};
use super::{Drive, InputTerm, LinearCde, Prepared, Row, Share, Signal, Size, Step, Values};
use crate::Error;

/// The layer with its weights.
#[derive(Debug)]
pub(super) struct LinearStep {
    hidden: usize,
    drive: Drive,
    input: InputTerm,
    scale: f32,
    stream: Stream<f32>,
    generator: Generator,
    start: Start,
    driving: Range<usize>,
    starting: Range<usize>,
    width: usize,
    state: Vec<f32>,
    omega: Vec<f32>,
    xi: Vec<f32>,
    beta: Vec<f32>,
}

/// How the coefficients of the recurrence are made.
#[derive(Debug)]
enum Generator {
    /// The first coordinates as they are; those at `places` go with `vectors`, `[places, H]`.
    Coordinates { coefficients: usize, places: Vec<usize>, vectors: Vec<f32> },
    /// From increments: the matrices (and vectors) of each, `[channels, numbers]`, entry after entry with the blocks side by side.
    Increments { commutators: Commutators, columns: Vec<f32>, channels: usize, blocks: usize },
}

impl LinearStep {
    pub(super) fn new(spec: &LinearCde, input: &Signal, prepared: &Prepared, weights: &mut Values) -> Result<Self, Error> {
        let (free, hidden) = (weights.take("a")?, spec.hidden);
        let a = prepared.contractive.as_ref().map_or_else(|| free.clone(), |contractive| contractive.matrices(&free));
        let b = if spec.input == InputTerm::None { None } else { Some(weights.take("b")?) };
        let (matrices, generator) = match (&prepared.plan, prepared.commutators) {
            (Some(plan), _) => {
                let vectors = match (&b, plan.vector_brackets()) {
                    (None, _) => Vec::new(),
                    (Some(b), Some(brackets)) => brackets.vectors(&a, b)?,
                    (Some(b), None) => b.clone(),
                };
                let matrices = match plan.brackets() {
                    Some(brackets) => brackets.matrices(&a)?,
                    None => a,
                };
                let places = plan.vector_places().to_vec();
                (matrices, Generator::Coordinates { coefficients: plan.coefficients(), places, vectors })
            }
            (None, Some(commutators)) => {
                let (channels, blocks) = (prepared.field.channels(), hidden / commutators.block);
                let columns = columns(&a, b.as_deref(), channels, blocks, commutators.block);
                (
                    LinearCde::units(commutators.block, prepared.field.channel(0).len()),
                    Generator::Increments { commutators, columns, channels, blocks },
                )
            }
            (None, None) => return Err(Error::State("a linear CDE without a plan".into())),
        };
        Ok(Self {
            hidden,
            drive: spec.drive,
            input: spec.input,
            scale: spec.scale as f32,
            stream: Stream::new(&prepared.recurrence, &matrices)?,
            generator,
            start: spec.initial.take(weights, hidden)?,
            driving: prepared.driving.clone(),
            starting: prepared.first.clone(),
            width: input.width(),
            state: vec![0.0; hidden],
            omega: Vec::new(),
            xi: Vec::new(),
            beta: vec![0.0; hidden],
        })
    }

    /// Takes the state over what `omega` (and `xi`) hold.
    fn advance(&mut self) -> Result<(), Error> {
        if self.scale != 1.0 {
            self.omega.iter_mut().for_each(|x| *x *= self.scale);
        }
        match &self.generator {
            Generator::Coordinates { coefficients, places, vectors } => {
                let lambda = &self.omega[..*coefficients];
                if self.input == InputTerm::None {
                    return Ok(self.stream.push(&mut self.state, lambda, None)?);
                }
                self.beta.fill(0.0);
                for (row, vector) in vectors.chunks_exact(self.hidden).enumerate() {
                    let mu = if self.input == InputTerm::Path { self.omega[places[row]] } else { self.xi[row] };
                    self.beta.iter_mut().zip(vector).for_each(|(beta, &c)| *beta += mu * c);
                }
                Ok(self.stream.push(&mut self.state, lambda, Some(&self.beta))?)
            }
            Generator::Increments { commutators, columns, channels, blocks } => {
                let numbers = columns.len() / channels;
                let mut matrices = vec![0.0; commutators.steps * numbers];
                for (x, out) in self.omega.chunks_exact(*channels).zip(matrices.chunks_exact_mut(numbers)) {
                    for (&x, row) in x.iter().zip(columns.chunks_exact(numbers)) {
                        out.iter_mut().zip(row).for_each(|(out, &m)| *out += x * m);
                    }
                }
                let generators = commutators.forward(numbers, &matrices)?;
                let (omega, vector) = generators.split_at(self.hidden * commutators.block);
                if !commutators.vectors {
                    return Ok(self.stream.push(&mut self.state, omega, None)?);
                }
                for (i, beta) in self.beta.iter_mut().enumerate() {
                    *beta = vector[i % commutators.block * blocks + i / commutators.block];
                }
                Ok(self.stream.push(&mut self.state, omega, Some(&self.beta))?)
            }
        }
    }
}

/// `[channels, numbers]`: entry after entry of the blocks, the blocks side by side, then the vectors in the same order.
fn columns(a: &[f32], b: Option<&[f32]>, channels: usize, blocks: usize, block: usize) -> Vec<f32> {
    let mut all = Vec::new();
    for k in 0..channels {
        for (from, entries) in std::iter::once((a, block * block)).chain(b.map(|b| (b, block))) {
            let channel = &from[k * blocks * entries..(k + 1) * blocks * entries];
            all.extend((0..entries).flat_map(|entry| (0..blocks).map(move |j| channel[j * entries + entry])));
        }
    }
    all
}

impl LinearCde {
    /// The matrices that the numbers of a generator are coefficients of, where windows come as increments: `[numbers, numbers]`, one row for each unit
    /// matrix, row `(entry, block)` with its one at `(block, entry)`.
    pub fn units(block: usize, numbers: usize) -> Vec<f32> {
        let (entries, blocks) = (block * block, numbers / (block * block));
        let mut values = vec![0.0; numbers * numbers];
        (0..numbers).for_each(|row| values[row * numbers + row % blocks * entries + row / blocks] = 1.0);
        values
    }
}

impl Step for LinearStep {
    /// Whether there was a row and its time; the state; the last row, where the drive needs it.
    fn memory(&self) -> Size {
        Size::wide(2 + self.hidden + if self.drive.looks_back() { self.width } else { 0 })
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let (head, rest) = memory.wide.split_at_mut(2);
        let (state, last) = rest.split_at_mut(self.hidden);
        let first = head[0] == 0.0;
        if first {
            self.start.set(&row.values[self.starting.clone()], row.statics, &mut self.state);
        } else {
            narrow(state, &mut self.state);
        }
        // Tokens drive from the first on, unless that sets the initial state.
        if !first || (self.drive == (Drive::Tokens {}) && !self.start.reads_first_row()) {
            let driving = Row { values: &row.values[self.driving.clone()], ..row };
            self.drive.increment((head[1], last), driving, &mut self.omega);
            if self.input == InputTerm::Values {
                let dt = row.time - head[1];
                self.xi.clear();
                self.xi.extend(last.iter().map(|x| (x * dt) as f32));
            }
            self.advance()?;
        }
        (head[0], head[1]) = (1.0, row.time);
        widen(&self.state, state);
        if self.drive.looks_back() {
            last.copy_from_slice(row.values);
        }
        out.clear();
        out.extend_from_slice(state);
        Ok(true)
    }
}
