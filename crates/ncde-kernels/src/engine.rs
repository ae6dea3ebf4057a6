//! The kernels that generic callers can run, one entry for each, see [`ncde_simd::engine`]. Predictions need those marked `always`; those marked
//! `never` are not used in this workspace's programs.

use crate::attention::{self, Attention};
use crate::filters;
use crate::linear::{self, Commutators, Gradients, Input, Recurrence, Stream};
use crate::matrix_state::{self, MatrixState};
use crate::neural::{self, Exploded, Outputs, Solve};
use crate::oscillator;
use crate::permutation::{self, PermutationDiagonal};
use crate::recurrent::{self, Recurrent};
use crate::rowwise::{self, Rowwise};
use crate::scan::{self, Scan};
use crate::selective::{self, Selective};

ncde_simd::engine! {
    fn forward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &mut [Self]) -> bool = linear::forward;
    fn backward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &[Self], gradient: &[Self], gradients: &mut Gradients<Self>)
        = linear::backward;
    #[always(f32)]
    fn push(stream: &mut Stream<Self>, state: &mut [Self], lambda: &[Self], beta: Option<&[Self]>) = linear::push;
    fn commutators(sizes: &Commutators, numbers: usize, matrices: &[Self]) -> Vec<Self> = linear::commutators;
    fn commutators_backward(sizes: &Commutators, numbers: usize, matrices: &[Self], gradient: &[Self]) -> Vec<Self>
        = linear::commutators_backward;
    fn scan_forward(scan: &Scan, input: &scan::Input<'_, Self>) -> Vec<Self> = scan::forward;
    fn scan_backward(scan: &Scan, input: &scan::Input<'_, Self>, states: &[Self], gradient: &[Self]) -> scan::Gradients<Self>
        = scan::backward;
    #[always(f32)]
    fn neural_forward(solve: &Solve, input: &neural::Input<'_, Self>, outputs: Outputs<'_>, states: &mut [Self]) -> Option<Exploded>
        = neural::forward;
    fn neural_backward(solve: &Solve, input: &neural::Input<'_, Self>, states: &[Self], outputs: Outputs<'_>, gradient: &[Self],
        gradients: &mut neural::Gradients<Self>) = neural::backward;
    fn permutation_forward(spec: &PermutationDiagonal, input: &permutation::Input<'_, Self>) -> Vec<Self> = permutation::forward;
    fn permutation_backward(spec: &PermutationDiagonal, input: &permutation::Input<'_, Self>, states: &[Self], gradient: &[Self])
        -> permutation::Gradients<Self> = permutation::backward;
    #[always(f32)]
    fn permutation_push(stream: &mut permutation::Stream<Self>, state: &[Self], control: &[Self], dt: f64) = permutation::push;
    fn selective_forward(spec: &Selective, input: &selective::Input<'_, Self>) -> selective::Outputs<Self> = selective::forward;
    fn selective_backward(spec: &Selective, input: &selective::Input<'_, Self>, starts: &[Self], gradient: &[Self])
        -> selective::Gradients<Self> = selective::backward;
    #[always(f32)]
    fn selective_push(a: &[Self], state: &mut [Self], of_channels: [&[Self]; 2], of_states: [&[Self]; 2], y: &mut [Self]) = selective::push;
    fn matrix_state_forward(spec: &MatrixState, input: &matrix_state::Input<'_, Self>) -> (matrix_state::Outputs<Self>, bool)
        = matrix_state::forward;
    fn matrix_state_backward(spec: &MatrixState, input: &matrix_state::Input<'_, Self>, checkpoints: &[Self], gradients: [&[Self]; 2])
        -> (matrix_state::Gradients<Self>, bool) = matrix_state::backward;
    #[always(f32)]
    fn matrix_state_push(spec: &MatrixState, input: &matrix_state::Input<'_, Self>, output: &mut [Self], next: &mut [Self]) -> bool
        = matrix_state::push;
    fn attention_forward(spec: &Attention, input: &attention::Input<'_, Self>) -> attention::Outputs<Self> = attention::forward;
    fn attention_backward(spec: &Attention, input: &attention::Input<'_, Self>, stored: &[Self], gradient: &[Self]) -> Vec<Self>
        = attention::backward;
    fn filters_forward(input: &filters::Input<'_, Self>) -> (Vec<Self>, Vec<Self>) = filters::forward_all;
    fn filters_backward(input: &filters::Input<'_, Self>, starts: &[Self], gradient: &[Self]) -> filters::Gradients<Self>
        = filters::backward_all;
    fn recurrent_forward(spec: &Recurrent, input: &recurrent::Input<'_, Self>) -> recurrent::Outputs<Self> = recurrent::forward;
    fn recurrent_backward(spec: &Recurrent, input: &recurrent::Input<'_, Self>, stored: &[Self], gradient: &[Self])
        -> recurrent::Gradients<Self> = recurrent::backward;
    #[always(f32)]
    fn recurrent_push(spec: &Recurrent, x: &[Self], u: &[Self], state: &mut [Self]) = recurrent::push;
    fn oscillator_forward(input: &oscillator::Input<'_, Self>) -> (Vec<Self>, Vec<Self>) = oscillator::forward_all;
    fn oscillator_backward(input: &oscillator::Input<'_, Self>, states: &[Self], gradient: &[Self]) -> oscillator::Gradients<Self>
        = oscillator::backward_all;
    fn rowwise_forward(of: &Rowwise, x: &[Self], other: &[Self]) -> Vec<Self> = rowwise::forward_all;
    fn rowwise_backward(of: &Rowwise, x: &[Self], other: &[Self], gradient: &[Self]) -> [Vec<Self>; 2] = rowwise::backward_all;
}
