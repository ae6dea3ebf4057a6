//! A Linear NCDE with random matrices that nothing trains, and its last state: features of series for a linear readout.
//!
//! ```text
//! h_t = h_0 + ∫ sum_i A^i h dX^i + ∫ B dX,   X = (t, x),   A^i ~ N(0, 1/H),   B, h_0 ~ N(0, 1)
//! ```
//!
//! Thesis, theorem on the maximal probabilistic expressivity of Linear NCDEs: for H large, a linear readout of the state is close to any function of the path.
//!
//! ```
//! // Two series of 5 observations of one channel.
//! let states = ncde_layers::expressive::features(&[0.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.5, 1.0, 0.5, 0.0], [5, 1], 16, 0)?;
//! assert_eq!(states.len(), 2 * 16);
//! assert!(ncde_layers::expressive::features(&[0.0; 7], [5, 1], 16, 0).is_err() && ncde_layers::expressive::features(&[], [0, 1], 16, 0).is_err());
//! # Ok::<(), ncde_layers::layer::Error>(())
//! ```

use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde_kernels::Transition;
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Drive, Initial, InputTerm, LinearCde, Over, Pool, Scale, Signal, Stability, StructureSpec};

use crate::layer::{Context, Error, Network, Places, Rows};
use ncde_runtime::random::Stream;

/// The stream of `B`.
const VECTORS: u64 = 41;
/// Series a pass.
const PASS: usize = 64;

/// The last states of series `[n, length, channels]`, regular in time from 0 to 1: `[n, hidden]`. The flow over each straight piece is exact.
///
/// # Errors
/// If there are no channels or observations, `values` are not whole series, or a state overflows.
pub fn features(values: &[f32], [length, channels]: [usize; 2], hidden: usize, seed: u64) -> Result<Vec<f32>, Error> {
    let size = length * channels;
    if size == 0 || !values.len().is_multiple_of(size) {
        let (seen, wanted) =
            (format!("{} numbers", values.len()), format!("a multiple of {length} x {channels}, at least 1 x 1,"));
        return Err(Error::Shape { operation: "features", what: "the list of values", seen, wanted });
    }
    let cde = LinearCde {
        hidden,
        structure: StructureSpec::Dense {},
        drive: Drive::Increments { time: true },
        input: InputTerm::Path,
        initial: Initial::Learned,
        transition: Transition::Exp,
        scale: 1.0,
        init: Scale::MaximallyExpressive {},
        forget: None,
        stability: Stability::Free {},
    };
    let layers = [LayerSpec::LinearCde(cde), LayerSpec::Pool(Pool { over: Over::Last })];
    let (signal, device) = (Signal::values(channels), Default::default());
    let mut weights = Network::<Flex>::drawn(&layers, &signal, seed, &device)?.values();
    let stream = Stream::new(seed, VECTORS);
    // Layers begin with smaller ones, as they are to be trained.
    for b in weights.iter_mut().filter(|weight| weight.name.ends_with(".b")) {
        b.values.iter_mut().enumerate().for_each(|(i, x)| *x = stream.normal(i as u64) as f32);
    }
    let network = Network::<Flex>::with_values(&layers, &signal, &weights, &device)?;
    let times: Vec<f64> = (0..length).map(|t| t as f64 / (length - 1).max(1) as f64).collect();
    let mut all = Vec::new();
    for series in values.chunks(PASS * size) {
        let n = series.len() / size;
        let places = Places { times: times.repeat(n), ..Places::regular(&vec![length; n]) };
        let values = Tensor::from_data(TensorData::new(series.to_vec(), [n, length, channels]), &device);
        let last = network.forward(Rows { values, places: places.into() }, &Context::predict())?;
        all.extend(last.values.to_data().iter::<f32>());
    }
    Ok(all)
}
