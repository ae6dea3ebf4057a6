//! The Lip(gamma) norm on a finite set: the largest of four terms over all points and pairs of points. It is a lower bound of the norm on any set
//! that holds these points, and tends to it as they fill the set. O(n^2) operator norms for `n` points.

use super::{check_gamma, operator_norm};
use crate::Error;
use crate::brackets::jvp;
use crate::error::check;
use crate::field::VectorField;

/// Points closer than this, relative to their size, count as one: differences between them are rounding.
const SAME: f64 = 1e-6;

/// Values and derivatives at points.
#[derive(Debug, Clone, PartialEq)]
pub struct Jets {
    /// The dimension of points.
    pub inputs: usize,
    /// The dimension of values.
    pub outputs: usize,
    /// `[n, inputs]`.
    pub points: Vec<f64>,
    /// `f^0`, `[n, outputs]`.
    pub values: Vec<f64>,
    /// `f^1`, `[n, outputs, inputs]`.
    pub derivatives: Vec<f64>,
}

/// The four terms; the norm is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Norm {
    /// `sup |f^0(p)|`.
    pub value: f64,
    /// `sup |f^1(p)|`.
    pub slope: f64,
    /// `sup |f^0(q) - f^0(p) - f^1(p)[q - p]| / |q - p|^gamma`.
    pub remainder: f64,
    /// `sup |f^1(q) - f^1(p)| / |q - p|^(gamma-1)`.
    pub bend: f64,
}

impl Norm {
    /// The norm.
    pub fn norm(&self) -> f64 {
        self.value.max(self.slope).max(self.remainder).max(self.bend)
    }
}

/// The Lip(gamma) norm of a field `R^H -> R^(d x H)` on points, `[n, H]`.
///
/// # Errors
/// If the sizes do not fit or `gamma` is not in `(1, 2]`.
pub fn measure<F: VectorField>(field: &F, parameters: &[f64], points: &[f64], gamma: f64) -> Result<Norm, Error> {
    Jets::of(field, parameters, points)?.norm(gamma)
}

impl Jets {
    /// The values and derivatives of a field at points.
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn of<F: VectorField>(field: &F, parameters: &[f64], points: &[f64]) -> Result<Self, Error> {
        let (inputs, outputs) = (field.hidden(), field.channels() * field.hidden());
        check("measure", "the list of parameters", parameters.len(), field.parameters())?;
        check("measure", "the table of points (as many as fit)", points.len(), points.len() / inputs * inputs)?;
        let n = points.len() / inputs;
        let (mut values, mut derivatives) = (vec![0.0; n * outputs], vec![0.0; n * outputs * inputs]);
        let (mut direction, mut column) = (vec![0.0; inputs], vec![0.0; outputs]);
        for (k, h) in points.chunks_exact(inputs).enumerate() {
            field.eval(parameters, h, &mut values[k * outputs..(k + 1) * outputs]);
            for i in 0..inputs {
                direction.fill(0.0);
                direction[i] = 1.0;
                jvp(field, parameters, h, &direction, &mut column)?;
                for (o, &x) in column.iter().enumerate() {
                    derivatives[(k * outputs + o) * inputs + i] = x;
                }
            }
        }
        Ok(Self { inputs, outputs, points: points.to_vec(), values, derivatives })
    }

    /// The norm on these points.
    ///
    /// # Errors
    /// If the sizes do not fit or `gamma` is not in `(1, 2]`.
    pub fn norm(&self, gamma: f64) -> Result<Norm, Error> {
        check_gamma(gamma)?;
        let n = self.points.len() / self.inputs;
        check("norm", "the table of values", self.values.len(), n * self.outputs)?;
        check("norm", "the table of derivatives", self.derivatives.len(), n * self.outputs * self.inputs)?;
        let mut norm = Norm::default();
        for p in 0..n {
            norm.value = norm.value.max(length(self.value(p)));
            norm.slope = norm.slope.max(operator_norm(self.derivative(p), self.outputs, self.inputs));
            for q in 0..n {
                let step = difference(self.point(q), self.point(p));
                let distance = length(&step);
                if distance <= SAME * length(self.point(q)).max(length(self.point(p))) {
                    continue;
                }
                let moved = |o: usize| (0..self.inputs).map(|i| self.derivative(p)[o * self.inputs + i] * step[i]).sum::<f64>();
                let mut rest = difference(self.value(q), self.value(p));
                for (o, rest) in rest.iter_mut().enumerate() {
                    *rest -= moved(o);
                }
                norm.remainder = norm.remainder.max(length(&rest) / distance.powf(gamma));
                // The other order of the pair has the same bend.
                if p < q {
                    let bend = operator_norm(&difference(self.derivative(q), self.derivative(p)), self.outputs, self.inputs);
                    norm.bend = norm.bend.max(bend / distance.powf(gamma - 1.0));
                }
            }
        }
        Ok(norm)
    }

    fn point(&self, p: usize) -> &[f64] {
        &self.points[p * self.inputs..(p + 1) * self.inputs]
    }

    fn value(&self, p: usize) -> &[f64] {
        &self.values[p * self.outputs..(p + 1) * self.outputs]
    }

    fn derivative(&self, p: usize) -> &[f64] {
        let size = self.outputs * self.inputs;
        &self.derivatives[p * size..(p + 1) * size]
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
