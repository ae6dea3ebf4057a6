//! Gradients in f64 against central differences, along random directions.

use burn_tensor::{DType, FloatDType, Tensor};
use ncde_layers::layer::{Context, Network, Rows};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Weight;
use serde_json::json;

use crate::common::{B, numbers, values};
use crate::run::{Branched, Data, any_of, tensor};
use crate::samples::{Sample, all, numbers as signal, sample};

const STEP: f64 = 1e-5;

/// What a loss depends on: the weights, the rows, the statics.
struct Point {
    weights: Vec<Tensor<B, 1>>,
    rows: Tensor<B, 3>,
    statics: Option<Tensor<B, 2>>,
}

/// A sum over all rows but padding, in which no gradient vanishes.
fn loss(network: &mut Network<B>, places: &Rows<B>, point: &Point) -> Tensor<B, 1> {
    network.tensors.clone_from(&point.weights);
    let context = Context { statics: point.statics.clone(), ..Context::predict() };
    let out = network.forward(places.with(point.rows.clone()), &context).unwrap();
    let [batch, count, width] = out.values.dims();
    let own = |b: usize, t: usize| t < out.places.lengths[b] || t >= out.places.trunk;
    let mut weights = values(batch * count * width, 1.0, 7);
    for (i, weight) in weights.iter_mut().enumerate() {
        *weight *= f64::from(u8::from(own(i / width / count, i / width % count)));
    }
    (out.values.clone() * tensor(weights, [batch, count, width], DType::F64)).sum()
}

/// Moves one of the tensors along a direction.
fn moved<const D: usize>(of: &Tensor<B, D>, direction: &[f64], by: f64) -> Tensor<B, D> {
    let values = numbers(of.clone()).iter().zip(direction).map(|(x, d)| x + by * d).collect();
    tensor(values, of.dims(), DType::F64)
}

/// The gradient of one tensor along random directions; the answer is how large it is.
fn along(what: &str, gradient: Vec<f64>, value: &mut dyn FnMut(&[f64], f64) -> f64) -> f64 {
    let size = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
    for seed in 0..2 {
        let direction = values(gradient.len(), 1.0, 40 + seed);
        let seen: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let wanted = (value(&direction, STEP) - value(&direction, -STEP)) / (2.0 * STEP);
        let error = (seen - wanted).abs() / (1e-2 + size);
        assert!(error < 1e-6, "{what}: {seen} but {wanted} by differences");
    }
    size
}

/// Whether rows and statics go through a reservoir or a memory, which no gradient comes through.
fn is_cut(layers: &[LayerSpec]) -> bool {
    any_of(layers, &|layer| matches!(layer, LayerSpec::Reservoir(_) | LayerSpec::Memory(_)))
}

/// The last layer that chooses, and whether rows decide what: a choice is passed straight through, and has no differences. (Those of its soft surrogate
/// are with the kernel's tests.)
fn choice(layers: &[LayerSpec]) -> Option<(usize, bool)> {
    fn of(layer: &LayerSpec) -> Option<bool> {
        match layer {
            LayerSpec::PermutationDiagonal(own) => Some(own.matrices > 1),
            _ => layer.layer().inside().into_iter().flatten().find_map(of),
        }
    }
    layers.iter().enumerate().rev().find_map(|(i, layer)| of(layer).map(|by_rows| (i, by_rows)))
}

/// Whether a weight acts through a choice.
fn chooses(name: &str, last: usize) -> bool {
    let place = name.split('.').nth(1).and_then(|i| i.parse::<usize>().ok());
    name.ends_with(".select") || name.ends_with(".dictionary") || place.is_some_and(|place| place < last)
}

fn check(sample: &Sample, rows: &Rows<B>, data: &Data) {
    let mut network = sample.network::<B>();
    let chosen = choice(&sample.layers);
    let cut = is_cut(&sample.layers) || chosen.is_some_and(|(_, by_rows)| by_rows);
    if cut && network.parameters() == 0 {
        return;
    }
    let trained: Vec<bool> = network.weights().iter().map(Weight::is_trained).collect();
    let names: Vec<String> = network.weights().iter().map(|weight| weight.name.clone()).collect();
    let double = |tensor: &Tensor<B, 1>| tensor.clone().cast(FloatDType::F64);
    let context = data.context::<B>(DType::F64);
    let weights = network.tensors.iter().zip(&trained);
    let point = Point {
        weights: weights.map(|(own, &trained)| if trained { double(own).require_grad() } else { double(own) }).collect(),
        rows: if sample.is_tokens() { rows.values.clone() } else { rows.values.clone().require_grad() },
        statics: context.statics.map(Tensor::require_grad),
    };
    let gradients = loss(&mut network, rows, &point).backward();
    let mut at = |point: &Point| numbers(loss(&mut network, rows, point))[0];
    let still = || Point {
        weights: point.weights.iter().map(|own| own.clone().detach()).collect(),
        rows: point.rows.clone().detach(),
        statics: point.statics.clone().map(Tensor::detach),
    };
    let smooth = |name: &str| !chosen.is_some_and(|(last, _)| chooses(name, last));
    for (i, name) in names.iter().enumerate().filter(|(i, name)| trained[*i] && smooth(name)) {
        let what = format!("{}, `{name}`", sample.name);
        let gradient = point.weights[i].grad(&gradients).unwrap_or_else(|| panic!("{what} has no gradient"));
        let size = along(&what, numbers(gradient), &mut |direction, by| {
            let mut point = still();
            point.weights[i] = moved(&point.weights[i], direction, by);
            at(&point)
        });
        // A row of one number is 0 when it is normalised.
        assert!(size > 1e-6 || (name.ends_with("gain") && sample.input.width() == 1), "{what}: nothing depends on it");
    }
    // What nothing depends on has no gradient, and differences must agree with that.
    if !sample.is_tokens() && !cut {
        let count = point.rows.shape().num_elements();
        let gradient = point.rows.grad(&gradients).map_or_else(|| vec![0.0; count], numbers);
        along(&format!("{}, rows", sample.name), gradient, &mut |direction, by| {
            let mut point = still();
            point.rows = moved(&point.rows, direction, by);
            at(&point)
        });
    }
    if let Some(statics) = point.statics.as_ref().filter(|_| !cut) {
        let count = statics.shape().num_elements();
        let gradient = statics.grad(&gradients).map_or_else(|| vec![0.0; count], numbers);
        along(&format!("{}, statics", sample.name), gradient, &mut |direction, by| {
            let mut point = still();
            point.statics = point.statics.map(|own| moved(&own, direction, by));
            at(&point)
        });
    }
}

#[test]
fn gradients_are_those_of_differences() {
    for sample in all() {
        let _graph = ncde_layers::graph::lock();
        let data = Data::new(&sample.input, &[1, 4, 5], 2);
        check(&sample, &data.batch(6, 0.0, DType::F64), &data);
    }
}

#[test]
fn gradients_in_the_middle_of_windows() {
    for sample in all() {
        let data = Data::new(&sample.input, &[1, 6, 5], 2);
        let Some(branched) = Branched::new(&sample, &data) else { continue };
        let _graph = ncde_layers::graph::lock();
        check(&branched.rest, &branched.rows(DType::F64), &data);
    }
}

/// A choice of sharpness `c` from matrices `M` is that of sharpness 1 from `c M`: the same states, and a gradient in `M` that is `c` times the one in `c M`.
#[test]
fn sharp_choices_are_those_of_larger_matrices() {
    const SHARPNESS: f64 = 3.0;
    let _graph = ncde_layers::graph::lock();
    let of = |sharpness: f64, factor: f64| {
        let layer =
            json!({"layer": "permutation-diagonal", "hidden": 5, "matrices": 3, "initial": "learned", "sharpness": sharpness});
        let sample = sample("sharp", signal(3, 0), json!([layer]));
        let (mut network, data) = (sample.network::<B>(), Data::new(&sample.input, &[1, 4, 5], 2));
        let dictionary = network.weights().iter().position(|weight| weight.name == "layers.0.dictionary").unwrap();
        let own = network.tensors.iter().enumerate().map(|(i, own)| {
            let own = own.clone().cast(FloatDType::F64);
            if i == dictionary { (own * factor).require_grad() } else { own }
        });
        let rows = data.batch(6, 0.0, DType::F64);
        let point = Point { weights: own.collect(), rows: rows.values.clone(), statics: None };
        let value = loss(&mut network, &rows, &point);
        let gradient = point.weights[dictionary].grad(&value.backward()).unwrap();
        (numbers(value)[0], numbers(gradient))
    };
    let ((sharp, seen), (large, wanted)) = (of(SHARPNESS, 1.0), of(1.0, SHARPNESS));
    assert!((sharp - large).abs() < 1e-12, "{sharp} but {large}");
    let size = wanted.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(size > 1e-3);
    let error = seen.iter().zip(&wanted).map(|(seen, wanted)| (seen - SHARPNESS * wanted).abs()).fold(0.0, f64::max);
    assert!(error < 1e-9 * size, "{error} of {size}");
}
