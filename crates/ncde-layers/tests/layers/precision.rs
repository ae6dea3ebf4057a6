//! Every composition of layers in f32: its outputs and the gradients of its weights are those of f64.

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::backend::AutodiffBackend;
use burn_tensor::{DType, FloatDType};
use ncde_layers::layer::{LayerBackend, Network, Rows};

use crate::common::difference;
use crate::run::{Branched, Data, own_rows, tensor};
use crate::samples::{Sample, all};

/// What is told apart: the rows that come out, and the gradient of each trained weight.
#[derive(Debug)]
struct Seen {
    rows: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

fn seen<B: LayerBackend>(sample: &Sample, rows: Rows<Autodiff<B>>, data: &Data, numbers: FloatDType) -> Seen
where
    Autodiff<B>: LayerBackend + AutodiffBackend<InnerBackend = B>,
{
    let _graph = ncde_layers::graph::lock();
    let dtype = DType::from(numbers);
    let mut inner = sample.network::<B>();
    inner.tensors.iter_mut().for_each(|own| *own = own.clone().cast(numbers));
    let mut network: Network<Autodiff<B>> = sample.network();
    network.track(&inner);
    let out = network.forward(rows, &data.context(dtype)).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
    let kept: Vec<f64> = own_rows(&out).into_iter().flatten().flatten().collect();
    // Another weight for every number; none for what lies past the end of a series.
    let [batch, count, width] = out.values.dims();
    let (lengths, trunk) = (&out.places.lengths, out.places.trunk);
    let weight = |e: usize| {
        let (b, place) = (e / (count * width), e / width % count);
        if place >= lengths[b] && place < trunk { 0.0 } else { 0.1 + (e % 7) as f64 / 7.0 }
    };
    let weights = tensor((0..batch * count * width).map(weight).collect(), [batch, count, width], dtype);
    let loss = (out.values * weights).sum();
    let gradients = if network.parameters() == 0 { Vec::new() } else { network.gradients(&loss.backward()).unwrap() };
    let gradients = gradients.into_iter().flatten().map(|own| own.to_data().iter().collect()).collect();
    Seen { rows: kept, gradients }
}

/// What is at least `allowed` apart, in words.
fn compare(sample: &Sample, right: &Seen, own: &Seen, allowed: f64) -> Vec<String> {
    assert_eq!(own.gradients.len(), right.gradients.len());
    let gradients = own.gradients.iter().zip(&right.gradients).enumerate();
    let gradients = gradients.map(|(i, (own, right))| (format!("gradient {i}"), difference(own, right)));
    let all = [("rows".to_owned(), difference(&own.rows, &right.rows))].into_iter().chain(gradients);
    // What is no number is not close.
    let far = all.filter(|(_, apart)| apart.is_nan() || *apart >= allowed);
    far.map(|(what, apart)| format!("{}: {what}: {apart:e} apart", sample.name)).collect()
}

/// All compositions in f32 on `B`, whole and in the middle of windows, beside f64 on the processor.
pub(crate) fn check<B: LayerBackend>(allowed: f64)
where
    Autodiff<B>: LayerBackend + AutodiffBackend<InnerBackend = B>,
{
    let (single, double) = (FloatDType::F32, FloatDType::F64);
    let mut far = Vec::new();
    for sample in all() {
        let data = sample.data();
        let trunk = data.longest() + 1;
        let right = seen::<Flex>(&sample, data.batch(trunk, 0.0, DType::F64), &data, double);
        let own = seen::<B>(&sample, data.batch(trunk, 0.0, DType::F32), &data, single);
        far.extend(compare(&sample, &right, &own, allowed));
        if let Some(branched) = Branched::new(&sample, &data) {
            let right = seen::<Flex>(&branched.rest, branched.rows(DType::F64), &data, double);
            let own = seen::<B>(&branched.rest, branched.rows(DType::F32), &data, single);
            far.extend(compare(&branched.rest, &right, &own, allowed));
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

/// A composition in which terms cancel that are a hundred times as large as their sum would say nothing about a device: it fails here.
#[test]
fn single_precision_gives_what_double_precision_gives() {
    check::<Flex>(1e-5);
}
