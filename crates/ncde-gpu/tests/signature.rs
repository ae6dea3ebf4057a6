//! Signatures and log-signatures, and their gradients, against `ncde-signature` in `f64`.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::signature::{Arrays, Coordinates, Output, Over, Signature};
use ncde_gpu::{Error, Gpu, Limits};
use ncde_signature::{Basis, Paths, Signature as Reference};

use crate::device::gpu;
use ncde_reference::{assert_close, dot, narrow, normal, wide};

/// `None`: signatures.
const KINDS: [Option<Basis>; 4] = [None, Some(Basis::Lyndon), Some(Basis::Hall), Some(Basis::Expanded)];

fn reference(channels: usize, depth: usize, basis: Option<Basis>) -> Reference {
    basis.map_or_else(|| Reference::new(channels, depth), |basis| Reference::log(channels, depth, basis)).unwrap()
}

/// The same transform on the device.
fn device(of: &Reference) -> Signature {
    let (channels, depth) = (of.shape().width(), of.shape().depth());
    let output = match of.basis() {
        None => Output::Signature,
        Some(basis) if basis.basis() == Basis::Expanded => Output::Expanded,
        Some(basis) => Output::Basis(Coordinates::new(channels, depth, basis.combinations().unwrap()).unwrap()),
    };
    Signature { channels, depth, output }
}

struct Case {
    of: Reference,
    over: Over,
    batch: usize,
    length: usize,
    path: Vec<f64>,
    /// The gradient of results.
    weights: Vec<f64>,
}

impl Case {
    /// Random walks whose increments grow smaller as there are more of them: coordinates of all levels matter.
    fn new(basis: Option<Basis>, [channels, depth]: [usize; 2], over: Over, [batch, length]: [usize; 2]) -> Self {
        let of = reference(channels, depth, basis);
        let mut path = normal(1, batch * length * channels, 1.0 / (length as f64).sqrt());
        for row in 1..batch * length {
            for i in 0..channels {
                if !row.is_multiple_of(length) {
                    path[row * channels + i] += path[(row - 1) * channels + i];
                }
            }
        }
        // As the device sees it.
        let path = wide::<f32>(&narrow::<f32>(&path));
        let weights = wide::<f32>(&narrow::<f32>(&normal(2, batch * over.results(length) * of.len(), 1.0)));
        Self { of, over, batch, length, path, weights }
    }

    fn name(&self) -> String {
        let (shape, basis) = (self.of.shape(), self.of.basis().map(|basis| basis.basis()));
        let [d, n, b, l] = [shape.width(), shape.depth(), self.batch, self.length];
        format!("{basis:?} of {d} channels at depth {n} over {:?}, {b} x {l}", self.over)
    }

    fn expected(&self, path: &[f64]) -> Vec<f64> {
        let paths = Paths::new(path, self.batch, self.length, self.of.shape().width()).unwrap();
        match self.over {
            Over::Whole => self.of.of(&paths),
            Over::Prefixes => self.of.stream(&paths),
            Over::Windows(size) => self.of.intervals(&paths, &paths.windows(size).unwrap()),
        }
        .unwrap()
    }

    fn expected_gradient(&self) -> Vec<f64> {
        let paths = Paths::new(&self.path, self.batch, self.length, self.of.shape().width()).unwrap();
        match self.over {
            Over::Whole => self.of.of_backward(&paths, &self.weights),
            Over::Prefixes => self.of.stream_backward(&paths, &self.weights),
            Over::Windows(size) => self.of.intervals_backward(&paths, &paths.windows(size).unwrap(), &self.weights),
        }
        .unwrap()
    }

    fn arrays<R: Runtime>(&self, gpu: &Gpu<R>) -> Arrays {
        Arrays { batch: self.batch, length: self.length, path: gpu.put(&narrow::<f32>(&self.path)) }
    }

    fn run<R: Runtime>(&self, gpu: &Gpu<R>) -> (Vec<f64>, Vec<f64>) {
        let (own, arrays) = (device(&self.of), self.arrays(gpu));
        assert!(own.fits(gpu, self.over, self.batch, self.length) && own.len() == self.of.len(), "{}", self.name());
        let values = own.forward(gpu, self.over, &arrays).unwrap();
        let weights = gpu.put(&narrow::<f32>(&self.weights));
        let gradient = own.backward(gpu, self.over, &arrays, &weights).unwrap();
        let get = |handle, count: usize| wide::<f32>(&gpu.get(handle).unwrap()[..count]);
        (get(&values, self.weights.len()), get(&gradient, self.path.len()))
    }

    fn compare<R: Runtime>(&self, gpu: &Gpu<R>) {
        let (values, gradient) = self.run(gpu);
        assert_close(&format!("values: {}", self.name()), &values, &self.expected(&self.path), 1e-4);
        assert_close(&format!("gradient: {}", self.name()), &gradient, &self.expected_gradient(), 1e-4);
    }
}

/// Limits under which paths are cut into as many chunks as possible.
fn cut() -> Gpu<impl Runtime> {
    gpu().with_limits(Limits { units: 1 << 24, ..Limits::default() })
}

#[test]
fn signatures_of_windows() {
    let gpu = gpu();
    for (algebra, size, shape) in [
        ([1, 3], 4, [3, 17]),
        ([2, 1], 4, [3, 17]),
        ([2, 5], 12, [1, 50]),
        ([3, 3], 1, [3, 3]),
        ([3, 3], 4, [3, 17]),
        ([5, 3], 12, [1, 50]),
        ([7, 2], 100, [3, 2]),
        ([40, 2], 4, [1, 6]),
    ] {
        Case::new(None, algebra, Over::Windows(size), shape).compare(&gpu);
    }
}

#[test]
fn signatures_of_whole_paths_and_prefixes() {
    let gpu = gpu();
    for (algebra, shape) in [([1, 3], [1, 17]), ([2, 1], [3, 2]), ([3, 3], [3, 17]), ([5, 2], [1, 50]), ([2, 5], [1, 3])] {
        for over in [Over::Whole, Over::Prefixes] {
            Case::new(None, algebra, over, shape).compare(&gpu);
        }
    }
}

/// The same from chunks that are joined.
#[test]
fn signatures_in_chunks() {
    let gpu = cut();
    for (algebra, shape) in [([2, 1], [3, 50]), ([5, 2], [1, 50]), ([2, 5], [3, 83]), ([3, 3], [2, 301])] {
        for over in [Over::Whole, Over::Prefixes] {
            Case::new(None, algebra, over, shape).compare(&gpu);
        }
    }
    Case::new(Some(Basis::Lyndon), [3, 3], Over::Whole, [2, 301]).compare(&gpu);
}

#[test]
fn log_signatures_in_every_basis() {
    let gpu = gpu();
    for basis in KINDS {
        for (algebra, over, shape) in [
            ([1, 3], Over::Windows(4), [1, 17]),
            ([2, 1], Over::Windows(4), [3, 17]),
            ([5, 2], Over::Windows(4), [3, 17]),
            ([3, 3], Over::Whole, [3, 17]),
            ([2, 5], Over::Prefixes, [1, 17]),
        ] {
            Case::new(basis, algebra, over, shape).compare(&gpu);
        }
        Case::new(basis, [3, 4], Over::Windows(12), [1, 50]).compare(&gpu);
    }
    Case::new(Some(Basis::Lyndon), [7, 4], Over::Windows(12), [1, 17]).compare(&gpu);
    Case::new(Some(Basis::Hall), [3, 5], Over::Whole, [1, 17]).compare(&gpu);
}

/// Gradients of neighbouring windows are sums in one order.
#[test]
fn runs_agree_to_the_last_bit() {
    let gpu = gpu();
    let case = Case::new(Some(Basis::Lyndon), [3, 3], Over::Windows(4), [3, 17]);
    assert_eq!(case.run(&gpu), case.run(&gpu));
}

#[test]
fn gradients_are_those_of_differences() {
    let case = Case::new(Some(Basis::Lyndon), [2, 3], Over::Windows(2), [1, 4]);
    let (_, gradient) = case.run(&gpu());
    let (h, f) = (1e-4, |path: &[f64]| dot(&case.expected(path), &case.weights));
    let slope = |i: usize| {
        let moved = [h, -h].map(|by| {
            let mut path = case.path.clone();
            path[i] += by;
            f(&path)
        });
        (moved[0] - moved[1]) / (2.0 * h)
    };
    let slopes: Vec<f64> = (0..case.path.len()).map(slope).collect();
    assert_close("differences", &gradient, &slopes, 1e-5);
}

/// On the CPU it is an error; the device is not asked.
#[test]
fn values_that_are_not_finite_are_handed_on() {
    let gpu = gpu();
    let case = Case::new(None, [2, 2], Over::Windows(2), [1, 7]);
    let mut path = narrow::<f32>(&case.path);
    path[0] = f32::NAN;
    let arrays = Arrays { path: gpu.put(&path), ..case.arrays(&gpu) };
    let values = gpu.get(&device(&case.of).forward(&gpu, case.over, &arrays).unwrap()).unwrap();
    assert!(values[0].is_nan() && values[6..18].iter().all(|x| x.is_finite()), "{values:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let gpu = gpu();
    let case = Case::new(Some(Basis::Lyndon), [3, 2], Over::Whole, [2, 5]);
    let (own, arrays) = (device(&case.of), case.arrays(&gpu));
    let refused = |own: &Signature, over, arrays: &Arrays| own.forward(&gpu, over, arrays).unwrap_err();
    assert_eq!(refused(&own, Over::Whole, &Arrays { batch: 0, ..arrays.clone() }), Error::Empty { what: "the batch" });
    assert_eq!(refused(&own, Over::Windows(0), &arrays), Error::Empty { what: "the window" });
    let single = Arrays { length: 1, ..arrays.clone() };
    assert_eq!(refused(&own, Over::Whole, &single), Error::Empty { what: "the number of increments" });
    let long = Arrays { length: 50, ..arrays.clone() };
    assert!(matches!(refused(&own, Over::Whole, &long), Error::Size { what: "the path", .. }));
    let other = Signature { depth: 3, ..own.clone() };
    assert!(matches!(refused(&other, Over::Whole, &arrays), Error::Size { what: "the list of words of coordinates", .. }));
    let short = own.backward(&gpu, Over::Whole, &arrays, &gpu.put(&[0.0; 3])).unwrap_err();
    assert!(matches!(short, Error::Size { what: "the gradient", .. }));
    for (channels, depth) in [(100, 4), (1000, 30)] {
        let large = Signature { channels, depth, output: Output::Signature };
        assert!(!large.fits(&gpu, Over::Whole, 1, 2), "{channels} {depth}");
    }
}
