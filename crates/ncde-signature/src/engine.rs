//! The kernels that generic callers can run, one entry for each, see [`ncde_simd::engine`]. Predictions need those marked `always`.

use crate::Error;
use crate::algebra::series::{self, Function};
use crate::algebra::{Shape, Tensor, tensor};
use crate::signature::convert;
use crate::signature::stepper::{self, Stepper};
use crate::signature::{Interval, Paths, Signature};

ncde_simd::engine! {
    fn intervals(signature: &Signature, paths: &Paths<'_, Self>, intervals: &[Interval]) -> Result<Vec<Self>, Error>
        = Signature::intervals_of;
    fn intervals_backward(signature: &Signature, paths: &Paths<'_, Self>, intervals: &[Interval], gradient: &[Self]) -> Result<Vec<Self>, Error>
        = Signature::intervals_backward_of;
    fn stream(signature: &Signature, paths: &Paths<'_, Self>) -> Result<Vec<Self>, Error> = Signature::stream_of;
    fn stream_backward(signature: &Signature, paths: &Paths<'_, Self>, gradient: &[Self]) -> Result<Vec<Self>, Error>
        = Signature::stream_backward_of;
    fn log(signature: &Signature, signatures: &[Self], out: &mut [Self]) = convert::log;
    fn log_backward(signature: &Signature, signatures: &[Self], gradient: &[Self], out: &mut [Self]) = convert::log_backward;
    fn exp_backward(shape: &Shape, lie: &[Self], gradient: &[Self], out: &mut [Self]) = convert::exp_backward;
    fn join(shape: &Shape, a: &[Self], b: &[Self], out: &mut [Self]) = convert::join;
    fn join_backward(shape: &Shape, a: &[Self], b: &[Self], gradient: &[Self], da: &mut [Self], db: &mut [Self]) = convert::join_backward;
    #[always(f64)]
    fn step(stepper: &mut Stepper<Self>, signature: &Signature, state: &mut [Self], x: &[Self]) = stepper::step;
    #[always(f64)]
    fn read(stepper: &mut Stepper<Self>, signature: &Signature, state: &[Self]) -> Vec<Self> = stepper::read;
    fn product(a: &Tensor<Self>, b: &Tensor<Self>, out: &mut [Self]) = tensor::product;
    fn series(shape: &Shape, series: Function, s: &[Self], stages: &mut [Self], out: &mut [Self]) = series::power_series;
}
