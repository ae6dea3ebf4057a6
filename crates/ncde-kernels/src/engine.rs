//! The kernels that generic callers can run, one entry for each, see [`ncde_simd::engine`]. Predictions need those marked `always`; those marked
//! `never` are not used in this workspace's programs.

use crate::linear::{self, Commutators, Gradients, Input, Recurrence, Stream};
use crate::neural::{self, Exploded, Outputs, Solve};
use crate::permutation::{self, PermutationDiagonal};
use crate::scan::{self, Scan};

ncde_simd::engine! {
    fn forward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &mut [Self]) -> bool = linear::forward;
    fn backward(recurrence: &Recurrence, input: &Input<'_, Self>, states: &[Self], gradient: &[Self], gradients: &mut Gradients<Self>)
        = linear::backward;
    #[always(f32)]
    fn push(stream: &mut Stream<Self>, state: &mut [Self], lambda: &[Self], beta: Option<&[Self]>) = linear::push;
    fn commutators(sizes: &Commutators, numbers: usize, matrices: &[Self]) -> Vec<Self> = linear::commutators;
    fn commutators_backward(sizes: &Commutators, numbers: usize, matrices: &[Self], gradient: &[Self]) -> Vec<Self>
        = linear::commutators_backward;
    #[never]
    fn scan_forward(scan: &Scan, input: &scan::Input<'_, Self>) -> Vec<Self> = scan::forward;
    #[never]
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
}
