//! Development, blocks, stacks, readouts, dropout: against their equations.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{FloatDType, Int, Tensor};
use common::{B, apply, difference, exponential, numbers, product, tensor, values};
use ncde::model::{
    Activation, Algebra, Block, BlockConfig, DevelopmentConfig, Encoder, First, Head, Over, Phase, Readout, ReadoutConfig, Stack,
    StackConfig, StructureConfig, cast,
};
use ncde::random::Stream;

fn transpose(m: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|i| m[i % n * n + i / n]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect()
}

/// The last state of a development of random increments, and its size.
fn developed(algebra: Algebra) -> (Vec<f64>, usize) {
    let config = DevelopmentConfig::new(algebra, 2).with_std(1.0);
    let layer = cast(config.init::<B>(&Default::default(), 1).unwrap(), FloatDType::F64);
    let states = layer.forward(tensor(values(3 * 6 * 2, 1.0, 4), [3, 6, 2]), None).unwrap();
    let n = algebra.size();
    assert_eq!(states.dims(), [3, 6, n, n]);
    (numbers(states.slice([2..3, 5..6])), n)
}

#[test]
fn developments_stay_in_their_group() {
    let (h, n) = developed(Algebra::SpecialOrthogonal { size: 4 });
    assert!(difference(&product(&transpose(&h, n), &h, n), &identity(n)) < 1e-13);
    assert!(difference(&h, &identity(n)) > 0.1, "it moves");

    let (h, n) = developed(Algebra::SpecialLinear { size: 3 });
    let minor = |a: usize, b: usize| h[3 + a] * h[6 + b] - h[3 + b] * h[6 + a];
    let determinant = h[0] * minor(1, 2) - h[1] * minor(0, 2) + h[2] * minor(0, 1);
    assert!((determinant - 1.0).abs() < 1e-12, "{determinant}");
    assert!(difference(&product(&transpose(&h, n), &h, n), &identity(n)) > 0.1, "not a rotation");

    let (h, n) = developed(Algebra::Symplectic { half: 2 });
    let j: Vec<f64> = (0..16).map(|i| [[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]][i / 4][i % 4].into()).collect();
    assert!(difference(&product(&transpose(&h, n), &product(&j, &h, n), n), &j) < 1e-12);
}

#[test]
fn algebras_have_their_dimensions() {
    let dimension = |algebra: Algebra| algebra.basis().len();
    assert_eq!(dimension(Algebra::GeneralLinear { size: 5 }), 25);
    assert_eq!(dimension(Algebra::SpecialLinear { size: 5 }), 24);
    assert_eq!(dimension(Algebra::SpecialOrthogonal { size: 5 }), 10);
    assert_eq!(dimension(Algebra::Symplectic { half: 3 }), 21);
    assert!(DevelopmentConfig::new(Algebra::SpecialOrthogonal { size: 1 }, 2).init::<B>(&Default::default(), 0).is_err());
}

#[test]
fn later_increments_multiply_from_the_left() {
    let config = DevelopmentConfig::new(Algebra::GeneralLinear { size: 3 }, 2).with_std(1.0);
    let layer = cast(config.init::<B>(&Default::default(), 1).unwrap(), FloatDType::F64);
    let generators = numbers(layer.generators());
    let increments = values(4, 1.0, 2);
    let flow =
        |dx: &[f64]| exponential(&(0..9).map(|i| dx[0] * generators[i] + dx[1] * generators[9 + i]).collect::<Vec<_>>(), 3);
    let expected = product(&flow(&increments[2..]), &flow(&increments[..2]), 3);
    let states = layer.forward(tensor(increments, [1, 2, 2]), None).unwrap();
    assert!(difference(&numbers(states.narrow(1, 1, 1)), &expected) < 1e-13);
    assert!(layer.weights.grad(&layer.forward(tensor(values(4, 1.0, 2), [1, 2, 2]), None).unwrap().sum().backward()).is_some());
}

const DIM: usize = 4;

fn block(config: &BlockConfig) -> Block<B> {
    cast(config.init::<B>(&Default::default(), &Stream::new(2, 0)).unwrap(), FloatDType::F64)
}

fn config(first: First, activation: Activation) -> BlockConfig {
    BlockConfig::new(DIM)
        .with_structure(StructureConfig::Block { block: 2 })
        .with_scale(0.3)
        .with_first(first)
        .with_activation(activation)
}

#[test]
fn a_block_is_its_equation() {
    let (length, x) = (5, values(5 * DIM, 1.0, 3));
    for first in [First::Starts, First::Drives] {
        for activation in [Activation::Tanh, Activation::Glu] {
            let block = block(&config(first, activation));
            let input = tensor(x.clone(), [1, length, DIM]);
            let seen = numbers(block.forward(input, None, Phase::Predict).unwrap());
            let recurrence = &block.recurrence;
            let dense = recurrence.field().densify(&numbers(recurrence.a.val())).unwrap();
            let (weight, bias) = (numbers(block.mix.weight.val()), numbers(block.mix.bias.as_ref().unwrap().val()));
            let start = numbers(recurrence.start.val());
            let mut h: Vec<f64> = match first {
                First::Drives => start,
                First::Starts => {
                    let map = numbers(recurrence.first.as_ref().unwrap().val());
                    (0..DIM).map(|i| start[i] + (0..DIM).map(|j| x[j] * map[j * DIM + i]).sum::<f64>()).collect()
                }
            };
            let mut expected = Vec::new();
            for (t, x) in x.chunks(DIM).enumerate() {
                if t > 0 || first == First::Drives {
                    let omega = |k: usize| 0.3 * if k == 0 { 1.0 } else { x[k - 1] };
                    let generator: Vec<f64> =
                        (0..DIM * DIM).map(|i| (0..=DIM).map(|k| omega(k) * dense[k * DIM * DIM + i]).sum()).collect();
                    h = apply(&exponential(&generator, DIM), &h);
                }
                let y: Vec<f64> = h.iter().zip(x).map(|(h, x)| h + x).collect();
                let mixed = |o: usize| bias[o] + (0..DIM).map(|i| y[i] * weight[i * bias.len() + o]).sum::<f64>();
                let act = |o: usize| match activation {
                    Activation::Tanh => mixed(o).tanh(),
                    Activation::Glu => mixed(o) / (1.0 + (-mixed(DIM + o)).exp()),
                };
                let z: Vec<f64> = (0..DIM).map(|o| y[o] + act(o)).collect();
                let mean = z.iter().sum::<f64>() / DIM as f64;
                let variance = z.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / DIM as f64;
                expected.extend(z.iter().map(|z| (z - mean) / (variance + 1e-5).sqrt()));
            }
            let error = difference(&seen, &expected);
            assert!(error < 1e-12, "{first:?} {activation:?}: {error}");
        }
    }
}

#[test]
fn a_state_knows_its_token_and_nothing_later() {
    for first in [First::Starts, First::Drives] {
        let block = block(&config(first, Activation::Tanh));
        let x = values(6 * DIM, 1.0, 3);
        let run = |x: &[f64]| numbers(block.states(tensor(x.to_vec(), [1, 6, DIM]), None).unwrap());
        let before = run(&x);
        for t in 0..6 {
            let mut moved = x.clone();
            moved[t * DIM] += 0.5;
            let after = run(&moved);
            assert_eq!(before[..t * DIM], after[..t * DIM], "{first:?}: token {t} changes the past");
            assert_ne!(before[t * DIM..(t + 1) * DIM], after[t * DIM..(t + 1) * DIM], "{first:?}: state {t} misses its token");
        }
    }
}

#[test]
fn dropout_drops_and_scales() {
    let half = config(First::Drives, Activation::Tanh).with_dropout(0.5);
    let (with, without) = (block(&half), block(&config(First::Drives, Activation::Tanh)));
    let x = tensor(values(8 * 50 * DIM, 1.0, 3), [8, 50, DIM]);
    let run = |block: &Block<B>, phase| numbers(block.forward(x.clone(), None, phase).unwrap());
    let kept = run(&without, Phase::Predict);
    assert_eq!(run(&with, Phase::Predict), kept);
    let stream = Stream::new(9, 0);
    let dropped = run(&with, Phase::Train(stream));
    assert_eq!(dropped, run(&with, Phase::Train(stream)));
    assert_ne!(dropped, run(&with, Phase::Train(stream.child(1))));
    let zeros = dropped.iter().filter(|&&x| x == 0.0).count() as f64 / dropped.len() as f64;
    assert!((zeros - 0.5).abs() < 0.06, "{zeros}");
    assert!(dropped.iter().zip(&kept).all(|(d, k)| *d == 0.0 || (d - 2.0 * k).abs() < 1e-12));
    assert!(half.with_dropout(1.0).init::<B>(&Default::default(), &stream).is_err());
}

fn readout(config: ReadoutConfig) -> Readout<B> {
    cast(config.init::<B>(3, &Default::default(), &Stream::new(0, 0)), FloatDType::F64)
}

#[test]
fn readouts_read_what_they_say() {
    let states = tensor(values(2 * 4 * 3, 1.0, 1), [2, 4, 3]);
    let lengths = [4, 2];
    let every = readout(ReadoutConfig::new(2).with_over(Over::EveryStep)).forward(states.clone(), Some(&lengths)).unwrap();
    assert_eq!(every.dims(), [2, 4, 2]);
    let last = readout(ReadoutConfig::new(2)).forward(states.clone(), Some(&lengths)).unwrap();
    assert_eq!(last.dims(), [2, 1, 2]);
    assert_eq!(numbers(last.clone().narrow(0, 0, 1)), numbers(every.clone().slice([0..1, 3..4])));
    assert_eq!(numbers(last.narrow(0, 1, 1)), numbers(every.clone().slice([1..2, 1..2])));
    // The head is affine, so the mean of outputs is the output of the mean.
    let padded = states.clone().slice_fill([1..2, 2..4], f64::NAN);
    let mean = readout(ReadoutConfig::new(2).with_over(Over::Mean)).forward(padded, Some(&lengths)).unwrap();
    assert!(difference(&numbers(mean.clone().narrow(0, 0, 1)), &numbers(every.clone().narrow(0, 0, 1).mean_dim(1))) < 1e-14);
    assert!(difference(&numbers(mean.narrow(0, 1, 1)), &numbers(every.slice([1..2, 0..2]).mean_dim(1))) < 1e-14);
    assert!(readout(ReadoutConfig::new(2)).forward(states.clone(), Some(&[4, 5])).is_err());
    assert!(readout(ReadoutConfig::new(2)).forward(states, Some(&[4])).is_err());
}

#[test]
fn a_network_has_its_layers() {
    let net = readout(ReadoutConfig::new(2).with_head(Head::Network { width: 5, layers: 2 }));
    assert_eq!(net.num_params(), 3 * 5 + 5 + 5 * 5 + 5 + 5 * 2 + 2);
    let x = values(3, 1.0, 1);
    let mut expected = x.clone();
    for (i, layer) in net.layers.iter().enumerate() {
        let (weight, bias) = (numbers(layer.weight.val()), numbers(layer.bias.as_ref().unwrap().val()));
        let input: Vec<f64> = expected.iter().map(|x| if i == 0 { *x } else { x / (1.0 + (-x).exp()) }).collect();
        expected = (0..bias.len())
            .map(|o| bias[o] + (0..input.len()).map(|j| input[j] * weight[j * bias.len() + o]).sum::<f64>())
            .collect();
    }
    let seen = net.forward(tensor(x, [1, 1, 3]), None).unwrap();
    assert!(difference(&numbers(seen), &expected) < 1e-14);
}

fn stack(encoder: Encoder, over: Over) -> Stack<B> {
    let config = StackConfig {
        encoder,
        block: config(First::Starts, Activation::Glu),
        blocks: 2,
        readout: ReadoutConfig::new(3).with_over(over),
    };
    cast(config.init::<B>(&Default::default(), 5).unwrap(), FloatDType::F64)
}

#[test]
fn padding_does_not_change_a_stack() {
    for over in [Over::Last, Over::Mean, Over::EveryStep] {
        let model = stack(Encoder::Values { channels: 2 }, over);
        let x = tensor(values(3 * 6 * 2, 1.0, 1), [3, 6, 2]);
        let lengths: Arc<[usize]> = Arc::from([6, 4, 1]);
        let all = model.forward_values(x.clone(), Some(&lengths), Phase::Predict).unwrap();
        for (series, &length) in lengths.iter().enumerate() {
            let alone = model.forward_values(x.clone().slice([series..series + 1, 0..length]), None, Phase::Predict).unwrap();
            let own = all.clone().slice([series..series + 1, 0..alone.dims()[1]]);
            assert!(difference(&numbers(own), &numbers(alone)) < 1e-13, "{over:?} series {series}");
        }
    }
}

#[test]
fn tokens_and_values_have_their_own_door() {
    let (tokens, series) =
        (stack(Encoder::Tokens { vocabulary: 7 }, Over::EveryStep), stack(Encoder::Values { channels: 2 }, Over::Last));
    let ids = Tensor::<B, 2, Int>::from_data([[3, 6, 0], [1, 1, 2]], &Default::default());
    let out = tokens.forward_tokens(ids.clone(), None, Phase::Predict).unwrap();
    assert_eq!(out.dims(), [2, 3, 3]);
    let x = tensor(values(12, 1.0, 0), [2, 3, 2]);
    assert_eq!(series.forward_values(x.clone(), None, Phase::Predict).unwrap().dims(), [2, 1, 3]);
    assert!(series.forward_tokens(ids, None, Phase::Predict).unwrap_err().to_string().ends_with("call `forward_values`"));
    assert!(tokens.forward_values(x.clone(), None, Phase::Predict).unwrap_err().to_string().ends_with("call `forward_tokens`"));
    let narrow = series.forward_values(x.narrow(2, 0, 1), None, Phase::Predict).unwrap_err().to_string();
    assert_eq!(narrow, "stack: the series has 1 channels, but 2 is needed");
    let penalty = series.penalty().unwrap();
    let expected: f64 = series.blocks.iter().map(|block| numbers(block.recurrence.penalty())[0]).sum();
    assert!((numbers(penalty)[0] - expected).abs() < 1e-12);
    // Every parameter has a gradient.
    let grads = out.square().sum().backward();
    let embedding = tokens.embedding.as_ref().unwrap().weight.grad(&grads).unwrap();
    assert!(numbers(embedding)[..4].iter().any(|x| x.abs() > 1e-9));
    assert!(
        tokens.blocks.iter().all(|block| block.recurrence.a.grad(&grads).is_some() && block.mix.weight.grad(&grads).is_some())
    );
}
