//! A linear layer: `y = W^T x + b`.
//!
//! Weights: `weight` `[inputs, outputs]`, `bias` `[outputs]`, both uniform on `±1 / sqrt(inputs)` at first. Cost a row: `inputs x outputs`.

use ncde_simd::Number;
use num_traits::AsPrimitive;
use serde::{Deserialize, Serialize};

use super::per_row::per_row;
use super::signal::{at_least_one, counted, product, refuse};
use super::state_memory::narrow;
use super::{Init, Layer, Row, Share, Signal, Step, StepChain, Values, Weight};
use crate::Error;

/// A linear layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// How many numbers come out. In a configuration the last layer may leave it out: as many as the task needs.
    #[serde(default)]
    pub outputs: usize,
}

impl Layer for Linear {
    fn describe(&self) -> String {
        format!("a linear map to {}", counted(self.outputs, "number"))
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        input.numbers("linear")?;
        if self.outputs == 0 {
            return refuse("outputs", "missing or 0; only the last layer of a model may leave it out");
        }
        at_least_one(&[("outputs", self.outputs)])?;
        Ok(input.with_width(self.outputs))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[input.width(), self.outputs])
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let inputs = input.numbers("linear")?;
        Ok(vec![
            Weight::trained("weight", [inputs, self.outputs], Init::linear(inputs)),
            Weight::trained("bias", [self.outputs], Init::linear(inputs)),
        ])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (weight, bias) = (weights.take("weight")?, weights.take("bias")?);
        let inputs = weight.len() / bias.len().max(1);
        if inputs >= MANY_INPUTS {
            return Ok(Box::new(Columns::new(&weight, bias, vec![0.0; inputs], &vec![1.0; inputs])));
        }
        let mut y = bias.clone();
        per_row(move |row, out| {
            y.copy_from_slice(&bias);
            affine(row.values, &weight, &mut y);
            out.extend(y.iter().map(|&y| f64::from(y)));
            Ok(())
        })
    }
}

impl Linear {
    /// A `standardise` with these weights and this layer behind it: one pass over the row instead of three.
    pub(super) fn behind(standardise: &mut Values, weights: &mut Values) -> Result<Columns, Error> {
        let (shift, factor) = (standardise.take("shift")?, standardise.take("factor")?);
        Ok(Columns::new(&weights.take("weight")?, weights.take("bias")?, shift, &factor))
    }
}

/// From so many inputs on, an output is a product of two long vectors: rows of a few outputs do not fill a register.
pub(super) const MANY_INPUTS: usize = 2048;

/// Outputs that are products of long vectors each: `y = (W f)^T (x - m) + b`.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Vec<f32>>,
    bias: Vec<f32>,
    shift: Vec<f32>,
    x: Vec<f32>,
}

impl Columns {
    fn new(weight: &[f32], bias: Vec<f32>, shift: Vec<f32>, factor: &[f32]) -> Self {
        let column = |o: usize| weight.iter().skip(o).step_by(bias.len()).zip(factor).map(|(w, f)| w * f).collect();
        Self { columns: (0..bias.len()).map(column).collect(), bias, shift, x: Vec::new() }
    }

    /// The weights of the first inputs for each output, and what they add for inputs of 0.
    pub(super) fn of_first(&self, inputs: usize) -> (Vec<Vec<f32>>, Vec<f64>) {
        let columns: Vec<Vec<f32>> = self.columns.iter().map(|column| column[..inputs.min(column.len())].to_vec()).collect();
        let constant =
            |column: &Vec<f32>| -column.iter().zip(&self.shift).map(|(w, m)| f64::from(*w) * f64::from(*m)).sum::<f64>();
        let constants = columns.iter().map(constant).collect();
        (columns, constants)
    }

    /// Leaves the first inputs out.
    pub(super) fn skip_first(&mut self, inputs: usize) {
        self.shift.drain(..inputs.min(self.shift.len()));
        self.columns.iter_mut().for_each(|column| drop(column.drain(..inputs.min(column.len()))));
    }

    /// What comes out for `x`, which is used up.
    pub(super) fn read(&self, x: &mut [f32], out: &mut Vec<f64>) {
        subtract(x, &self.shift);
        out.clear();
        out.extend(self.columns.iter().zip(&self.bias).map(|(column, bias)| f64::from(inner_product(x, column) + bias)));
    }
}

impl Step for Columns {
    fn push(&mut self, _: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let mut x = std::mem::take(&mut self.x);
        x.resize(row.values.len(), 0.0);
        narrow(row.values, &mut x);
        self.read(&mut x, out);
        self.x = x;
        Ok(true)
    }
}

ncde_simd::kernel! {
    /// `x - m`.
    dispatch fn subtract<'a, S: Simd>(_simd: S, x: &'a mut [f32], shift: &'a [f32]) {
        x.iter_mut().zip(shift).for_each(|(x, m)| *x -= m);
    }
}

ncde_simd::kernel! {
    dispatch fn inner_product<'a, S: Simd>(simd: S, x: &'a [f32], y: &'a [f32]) -> f32 {
        f32::dot(simd, x, y)
    }
}

/// Rows of weights that are read together: each number of `y` is then loaded and stored once for all of them.
const ROWS: usize = 8;

ncde_simd::kernel! {
    /// `y += W^T x`.
    pub(crate) dispatch fn affine<'a, S: Simd, X: AsPrimitive<f32>>(simd: S, x: &'a [X], weight: &'a [f32], y: &'a mut [f32]) {
        let (groups, rest) = x.as_chunks::<ROWS>();
        let (of_groups, of_rest) = weight.split_at(groups.len() * ROWS * y.len());
        for (x, rows) in groups.iter().zip(of_groups.chunks_exact(ROWS * y.len())) {
            let (mut factors, mut terms) = ([[0.0]; ROWS], [rows; ROWS]);
            for (i, row) in rows.chunks_exact(y.len()).enumerate() {
                (factors[i], terms[i]) = ([x[i].as_()], row);
            }
            f32::add_outer::<S, ROWS>(simd, y, None, factors.each_ref().map(<[f32; 1]>::as_slice), terms);
        }
        for (x, row) in rest.iter().zip(of_rest.chunks_exact(y.len())) {
            f32::axpy(simd, y, x.as_(), row);
        }
    }
}
