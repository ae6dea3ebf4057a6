//! The sizes that kernels are compiled for, and where numbers lie. Everything is counted in fours: rows of weights, states and layers are filled up with zeros to whole vectors of four numbers.
//!
//! | array | layout |
//! | --- | --- |
//! | weights | layer after layer `[4 inputs, outputs]`, or `[4 outputs, inputs]` transposed; then all biases. Outputs of the last layer: `[channels, h]` |
//! | inputs of layers in a slab of `E` evaluations | for each layer `[E, inputs]`, then for each layer tangents `[channels, E, inputs]` |
//! | gradients in what layers give, before activations | for each layer `[E, outputs]`, then tangents `[channels, E, outputs]`, of the last layer `[channels, E, h]` |
//! | record of an evaluation | `z` and `u` of hidden layers, `f`, tangents of the last layer before `tau'` |

use super::{Last, MAX_LAYERS};
use crate::kernel::rows::activation::Activation;

/// Numbers of a vector.
pub(crate) const FOUR: usize = 4;

/// Sections of a buffer begin at multiples of this: 256 bytes, so that each can be bound separately.
const ALIGNED: usize = 16;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) hidden: usize,
    pub(crate) channels: usize,
    /// Widths of the hidden layers, of which there are `top`.
    pub(crate) widths: [usize; MAX_LAYERS],
    pub(crate) top: usize,
    pub(crate) activation: Activation,
    pub(crate) before_last: Activation,
    pub(crate) last: Last,
    /// Whether brackets take part.
    pub(crate) brackets: bool,
    pub(crate) stages: usize,
}

impl Shape {
    /// Fours of a state.
    pub(crate) fn h(&self) -> usize {
        self.hidden.div_ceil(FOUR)
    }

    /// Fours of all outputs.
    pub(crate) fn all(&self) -> usize {
        self.channels * self.h()
    }

    /// Channels that have tangents: all or none.
    pub(crate) fn tangents(&self) -> usize {
        if self.brackets { self.channels } else { 0 }
    }

    /// Numbers that go into layer `l`.
    pub(crate) fn size(&self, l: usize) -> usize {
        if l == 0 { self.hidden } else { self.widths[l - 1] }
    }

    /// The same in fours.
    pub(crate) fn inputs(&self, l: usize) -> usize {
        self.size(l).div_ceil(FOUR)
    }

    /// Fours that come out of layer `l`.
    pub(crate) fn outputs(&self, l: usize) -> usize {
        if l == self.top { self.all() } else { self.inputs(l + 1) }
    }

    /// The most fours that go into a layer.
    pub(crate) fn widest(&self) -> usize {
        (0..=self.top).map(|l| self.inputs(l)).max().unwrap_or(1)
    }

    /// Coefficients of a row of the control.
    pub(crate) fn coefficients(&self) -> usize {
        let d = self.channels;
        if self.brackets { d + d * (d - 1) / 2 } else { d }
    }

    /// What follows hidden layer `l`.
    pub(crate) fn function(&self, l: usize) -> Activation {
        if l + 1 == self.top { self.before_last } else { self.activation }
    }

    /// Where the weight of layer `l` begins, as it is or transposed; of the layer behind the last one: the end.
    pub(crate) fn weight(&self, l: usize) -> usize {
        (0..l).map(|l| FOUR * self.inputs(l) * self.outputs(l)).sum()
    }

    /// Fours of all weights.
    pub(crate) fn weights(&self) -> usize {
        self.weight(self.top + 1)
    }

    /// Where outputs of layer `l` begin among those of all layers.
    pub(crate) fn output(&self, l: usize) -> usize {
        (0..l).map(|l| self.outputs(l)).sum()
    }

    /// Fours of the biases of all layers.
    pub(crate) fn biases(&self) -> usize {
        self.output(self.top + 1)
    }

    /// Where parameters of layer `l` begin in the flat array of the caller, in numbers.
    pub(crate) fn parameter(&self, l: usize) -> usize {
        (0..l).map(|l| (self.size(l) + 1) * self.numbers(l)).sum()
    }

    /// Numbers of all parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.parameter(self.top + 1)
    }

    /// Numbers that come out of layer `l`.
    pub(crate) fn numbers(&self, l: usize) -> usize {
        if l == self.top { self.channels * self.hidden } else { self.widths[l] }
    }

    /// Fours of `z` of all hidden layers.
    pub(crate) fn hidden_outputs(&self) -> usize {
        self.output(self.top)
    }

    /// Where `u` of hidden layer `l` lies in a record, `[channels, outputs]`.
    pub(crate) fn u(&self, l: usize) -> usize {
        self.hidden_outputs() + self.tangents() * self.output(l)
    }

    /// Where `f` lies in a record.
    pub(crate) fn f(&self) -> usize {
        self.u(self.top)
    }

    /// Where the tangents of the last layer lie in a record.
    pub(crate) fn v(&self) -> usize {
        self.f() + self.all()
    }

    /// Fours of a record.
    pub(crate) fn record(&self) -> usize {
        self.v() + if self.brackets { self.all() } else { 0 }
    }

    /// Fours of the inputs of all layers before layer `l`.
    pub(crate) fn input(&self, l: usize) -> usize {
        (0..l).map(|l| self.inputs(l)).sum()
    }

    /// Fours that tangents of one channel have behind layer `l`: the block of the channel behind the last one.
    pub(crate) fn block(&self, l: usize) -> usize {
        if l == self.top { self.h() } else { self.outputs(l) }
    }

    /// Where inputs of layer `l` of a slab begin, of values or of tangents; of the layer behind the last one: the end.
    pub(crate) fn input_at(&self, l: usize, tangents: bool, rows: Rows) -> usize {
        if tangents {
            self.input(self.top + 1) * rows.values + self.input(l) * rows.tangents
        } else {
            self.input(l) * rows.values
        }
    }

    /// Where gradients in outputs of layer `l` of a slab begin, of values or of tangents; of the layer behind the last one: the end.
    pub(crate) fn gradient_at(&self, l: usize, tangents: bool, rows: Rows) -> usize {
        let blocks: usize = (0..l).map(|l| self.block(l)).sum();
        if tangents { self.biases() * rows.values + blocks * rows.tangents } else { self.output(l) * rows.values }
    }

    /// Rows of sections of a slab of so many evaluations.
    pub(crate) fn rows(&self, evaluations: usize) -> Rows {
        let aligned = |rows: usize| rows.next_multiple_of(ALIGNED);
        Rows { values: aligned(evaluations), tangents: aligned(self.tangents() * evaluations) }
    }

    /// Bytes that an evaluation of a slab takes.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.rows(ALIGNED);
        let all = self.input_at(self.top + 1, true, rows) + self.gradient_at(self.top + 1, true, rows);
        (all / ALIGNED + self.record()) * FOUR * size_of::<f32>()
    }
}

/// Rows of the sections of a slab, those that are not used included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) values: usize,
    pub(crate) tangents: usize,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn shape(hidden: usize, channels: usize, layers: &[usize], brackets: bool) -> Shape {
        let mut widths = [0; MAX_LAYERS];
        widths[..layers.len()].copy_from_slice(layers);
        let (activation, before_last) = (Activation::Silu, Activation::Tanh);
        Shape { hidden, channels, widths, top: layers.len(), activation, before_last, last: Last::Tanh, brackets, stages: 2 }
    }

    #[test]
    fn parameters_lie_as_those_of_the_processor() {
        let shape = shape(4, 3, &[8, 8], true);
        assert_eq!([0, 1, 2, 3].map(|l| shape.parameter(l)), [0, 40, 112, 220]);
        assert_eq!([0, 1, 2, 3].map(|l| shape.weight(l)), [0, 8, 24, 48]);
        assert_eq!((shape.biases(), shape.coefficients()), (7, 6));
    }

    #[test]
    fn sections_do_not_overlap_and_begin_where_buffers_may_be_bound() {
        for shape in [shape(5, 3, &[7, 11], true), shape(1, 1, &[], false), shape(17, 2, &[19, 3, 13], true)] {
            for evaluations in [1, 15, 16, 1000] {
                let all = shape.rows(evaluations);
                let mut inputs = Vec::new();
                let mut gradients = Vec::new();
                for (tangents, rows) in [(false, evaluations), (true, shape.tangents() * evaluations)] {
                    for l in 0..=shape.top {
                        let out = if tangents { shape.block(l) } else { shape.outputs(l) };
                        inputs.push((shape.input_at(l, tangents, all), rows * shape.inputs(l)));
                        gradients.push((shape.gradient_at(l, tangents, all), rows * out));
                    }
                }
                let ends = [shape.input_at(shape.top + 1, true, all), shape.gradient_at(shape.top + 1, true, all)];
                for (sections, end) in [inputs, gradients].into_iter().zip(ends) {
                    let starts = sections.iter().skip(1).map(|&(start, _)| start).chain([end]);
                    for (&(start, fours), next) in sections.iter().zip(starts) {
                        assert!(start % ALIGNED == 0 && start + fours <= next, "{shape:?} {evaluations}: {start} {fours} {next}");
                    }
                }
            }
        }
    }

    #[test]
    fn records_hold_every_part() {
        let shape = shape(5, 3, &[7, 11], true);
        assert_eq!(
            [shape.hidden_outputs(), shape.u(0), shape.u(1), shape.f(), shape.v(), shape.record()],
            [5, 5, 11, 20, 26, 32]
        );
    }
}
