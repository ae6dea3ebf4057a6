//! The Linear NCDE: against naive flows, over Log-ODE windows, ragged, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::{FloatDType, Tensor};
use common::linear::{BATCH, INPUTS, OMEGA, STEPS, config, drive, model, structures};
use common::{B, apply, difference, exponential, numbers, tensor, values};
use ncde::model::{Drive, Driving, Init, Initial, InputTerm, LinearNcde, LinearNcdeConfig, Route, StructureConfig, cast};
use ncde::random::Stream;
use ncde_kernels::{Affine, Bound, Mode, Transition};

/// One series and one column, step by step with full matrices: the flow of `[[Omega, beta], [0, 0]]` or its first order.
fn naive(model: &LinearNcde<B>, omega: &[f64], beta: &[Vec<f64>], start: &[f64], transition: Transition) -> Vec<f64> {
    let hidden = start.len();
    let dense = model.field().densify(&numbers(model.a.val())).unwrap();
    let (mut state, mut all) = (start.to_vec(), Vec::new());
    state.push(1.0);
    for (omega, beta) in omega.chunks(OMEGA).zip(beta) {
        let wide = hidden + 1;
        let mut generator = vec![0.0; wide * wide];
        for r in 0..hidden {
            for c in 0..hidden {
                generator[r * wide + c] = (0..OMEGA).map(|k| omega[k] * dense[(k * hidden + r) * hidden + c]).sum();
            }
            generator[r * wide + hidden] = beta[r];
        }
        let flow = match transition {
            Transition::Exp => exponential(&generator, wide),
            Transition::Euler => (0..wide * wide).map(|i| generator[i] + f64::from(u8::from(i % (wide + 1) == 0))).collect(),
        };
        state = apply(&flow, &state);
        all.extend_from_slice(&state[..hidden]);
    }
    all
}

#[test]
fn every_structure_is_its_densified_self() {
    for structure in structures() {
        for transition in [Transition::Exp, Transition::Euler] {
            let config = config(structure.clone())
                .with_transition(transition)
                .with_initial(Initial::FromFirst { channels: 2 })
                .with_input(InputTerm::Vector { channels: INPUTS });
            let (model, drive) = (model(&config), drive(STEPS, 0.7, INPUTS));
            let seen = model.forward(&drive).unwrap();
            assert_eq!(seen.dims(), [BATCH, STEPS, 4]);
            let (first, omega) = (numbers(drive.first.clone()), numbers(drive.omega.clone()));
            let (xi, b) = (numbers(drive.xi.clone().unwrap()), numbers(model.b.as_ref().unwrap().val()));
            let (map, bias) = (numbers(model.first.as_ref().unwrap().val()), numbers(model.start.val()));
            let mut expected = Vec::new();
            for series in 0..BATCH {
                let x = &first[series * 2..][..2];
                let start: Vec<f64> = (0..4).map(|h| bias[h] + x[0] * map[h] + x[1] * map[4 + h]).collect();
                let own = &xi[series * STEPS * INPUTS..][..STEPS * INPUTS];
                let beta = own.chunks(2).map(|xi| (0..4).map(|h| xi[0] * b[h] + xi[1] * b[4 + h]).collect());
                let beta: Vec<Vec<f64>> = beta.collect();
                expected.extend(naive(&model, &omega[series * STEPS * OMEGA..][..STEPS * OMEGA], &beta, &start, transition));
            }
            let error = difference(&numbers(seen), &expected);
            assert!(error < 1e-12, "{structure:?} {transition:?}: {error}");
        }
    }
}

#[test]
fn columns_of_a_matrix_are_vectors_with_their_own_input() {
    let columns = 3;
    let config = config(StructureConfig::Block { block: 2 }).with_columns(columns).with_input(InputTerm::Columns);
    let (model, drive) = (model(&config), drive(STEPS, 0.7, columns));
    let states = model.states(&drive).unwrap();
    assert_eq!(states.dims(), [BATCH, STEPS, columns, 4]);
    assert_eq!(numbers(model.forward(&drive).unwrap()), numbers(states.clone()));
    let (omega, xi) = (numbers(drive.omega.clone()), numbers(drive.xi.clone().unwrap()));
    let (b, start) = (numbers(model.b.as_ref().unwrap().val()), numbers(model.start.val()));
    for series in 0..BATCH {
        for k in 0..columns {
            let own = &xi[series * STEPS * columns..][..STEPS * columns];
            let beta: Vec<Vec<f64>> = own.chunks(columns).map(|xi| b[k * 4..][..4].iter().map(|b| b * xi[k]).collect()).collect();
            let omega = &omega[series * STEPS * OMEGA..][..STEPS * OMEGA];
            let expected = naive(&model, omega, &beta, &start[k * 4..][..4], Transition::Exp);
            let seen = numbers(states.clone().slice([series..series + 1, 0..STEPS, k..k + 1]));
            assert!(difference(&seen, &expected) < 1e-12);
        }
    }
    // The thesis's approximation adds B dxi as it is: to first order the same, and not beyond.
    let approximate = cast(config.with_affine(Affine::Approximate).init::<B>(&Default::default(), 1).unwrap(), FloatDType::F64);
    let gap = difference(&numbers(approximate.states(&drive).unwrap()), &numbers(states));
    assert!(gap > 1e-3, "{gap}");
}

/// The error of one window of 4 steps at depth `depth`, of a path of size `scale`, against exact steps.
fn window_error(config: &LinearNcdeConfig, depth: usize, scale: f64) -> f64 {
    let drive = drive(4, scale, config.inputs().joined());
    let exact = model(config).states(&drive).unwrap().narrow(1, 3, 1);
    let windows = model(&config.clone().with_driving(Driving::LogOde { depth, steps: 4 })).states(&drive).unwrap();
    assert_eq!(windows.dims()[1], 1);
    numbers((windows - exact).abs().max())[0]
}

#[test]
fn windows_have_the_order_of_their_depth() {
    for structure in [StructureConfig::Dense, StructureConfig::DiagonalDense { block: 3 }, StructureConfig::Dplr { rank: 1 }] {
        for bracket_bytes in [0, 1 << 20] {
            let inputs =
                [(1, InputTerm::None), (1, InputTerm::Path), (1, InputTerm::Vector { channels: 2 }), (2, InputTerm::Columns)];
            for (columns, input) in inputs {
                let config =
                    LinearNcdeConfig { bracket_bytes, ..config(structure.clone()) }.with_columns(columns).with_input(input);
                for depth in 1..=3 {
                    let (coarse, fine) = (window_error(&config, depth, 0.08), window_error(&config, depth, 0.04));
                    let order = (coarse / fine).log2();
                    assert!((order - (depth as f64 + 1.0)).abs() < 0.4, "{structure:?} {input:?} depth {depth}: order {order}");
                }
            }
        }
    }
}

#[test]
fn the_routes_agree() {
    let driving = Driving::LogOde { depth: 3, steps: 2 };
    for (columns, input) in [(1, InputTerm::Vector { channels: 2 }), (2, InputTerm::Columns)] {
        let config = config(StructureConfig::Block { block: 2 }).with_columns(columns).with_input(input).with_driving(driving);
        let (ahead, nested) = (model(&config), model(&LinearNcdeConfig { bracket_bytes: 0, ..config.clone() }));
        assert_eq!((ahead.plan().route(), nested.plan().route()), (Route::Brackets, Route::Words));
        // 5 steps in windows of 2: the last one is shorter.
        let drive = drive(5, 0.6, 2);
        let (ahead, nested) = (ahead.states(&drive).unwrap(), nested.states(&drive).unwrap());
        assert_eq!(ahead.dims()[1], 3);
        assert!(difference(&numbers(ahead), &numbers(nested)) < 1e-12);
    }
}

#[test]
fn diagonal_matrices_need_no_brackets() {
    // They commute: without an input one window is exact at any depth.
    let config = config(StructureConfig::Diagonal);
    let windows = config.clone().with_driving(Driving::LogOde { depth: 2, steps: STEPS });
    assert_eq!(model(&windows).plan().route(), Route::Letters);
    let drive = drive(STEPS, 1.0, 0);
    let exact = model(&config).forward(&drive).unwrap().narrow(1, STEPS - 1, 1);
    assert!(difference(&numbers(model(&windows).forward(&drive).unwrap()), &numbers(exact)) < 1e-13);
    let affine = config.with_input(InputTerm::Vector { channels: 2 });
    let order = (window_error(&affine, 2, 0.08) / window_error(&affine, 2, 0.04)).log2();
    assert!((order - 3.0).abs() < 0.4, "{order}");
}

#[test]
fn ready_log_signatures_give_the_same_states() {
    let config = config(StructureConfig::Dplr { rank: 1 }).with_driving(Driving::LogOde { depth: 2, steps: 2 });
    let (model, drive) = (model(&config), drive(4, 0.5, 0));
    let plan = model.plan();
    let transform = Arc::new(ncde_signature::Signature::log(OMEGA, 2, plan.basis()).unwrap());
    assert_eq!(transform.len(), plan.coordinates());
    let path = Tensor::cat(vec![drive.omega.clone().narrow(1, 0, 1) * 0.0, drive.omega.clone().cumsum(1)], 1);
    let log = ncde::signature::windows(&transform, path, 2).unwrap();
    let initial = model.initial(&drive.first).unwrap();
    let ready = model.over_windows(initial.clone(), log, None).unwrap();
    assert!(difference(&numbers(ready), &numbers(model.states(&drive).unwrap())) < 1e-13);
    let message = model.over_windows(initial, tensor(values(12, 1.0, 0), [2, 2, 3]), None).unwrap_err().to_string();
    assert_eq!(message, "Linear NCDE: the log-signature has 3 coordinates, but 12 = depth 2 in the basis Expanded is needed");
}

#[test]
fn gradients_reach_every_parameter_through_windows() {
    for bracket_bytes in [0, 1 << 20] {
        let config = config(StructureConfig::Block { block: 2 })
            .with_input(InputTerm::Vector { channels: 2 })
            .with_initial(Initial::FromFirst { channels: 2 })
            .with_driving(Driving::LogOde { depth: 2, steps: 2 });
        let model = model(&LinearNcdeConfig { bracket_bytes, ..config });
        let drive = drive(3, 0.6, 2);
        let omega = drive.omega.clone().require_grad();
        let drive = Drive { omega: omega.clone(), ..drive };
        let loss = |model: &LinearNcde<B>, drive: &Drive<B>| model.forward(drive).unwrap().square().sum();
        let grads = loss(&model, &drive).backward();
        let step = 1e-5;
        let check = |gradient: Vec<f64>, at: &dyn Fn(usize, f64) -> f64| {
            let expected: Vec<f64> = (0..gradient.len()).map(|i| (at(i, step) - at(i, -step)) / (2.0 * step)).collect();
            assert!(expected.iter().any(|x| x.abs() > 1e-3));
            assert!(difference(&gradient, &expected) < 1e-7);
        };
        fn nudge<const D: usize>(tensor: &Tensor<B, D>, i: usize, by: f64) -> Tensor<B, D> {
            let mut values = numbers(tensor.clone());
            values[i] += by;
            common::tensor(values, tensor.dims())
        }
        check(numbers(model.a.grad(&grads).unwrap()), &|i, by| {
            let mut moved = model.clone();
            moved.a = Param::from_tensor(nudge(&model.a.val(), i, by));
            numbers(loss(&moved, &drive))[0]
        });
        let b = model.b.as_ref().unwrap();
        check(numbers(b.grad(&grads).unwrap()), &|i, by| {
            let mut moved = model.clone();
            moved.b = Some(Param::from_tensor(nudge(&b.val(), i, by)));
            numbers(loss(&moved, &drive))[0]
        });
        let first = model.first.as_ref().unwrap();
        check(numbers(first.grad(&grads).unwrap()), &|i, by| {
            let mut moved = model.clone();
            moved.first = Some(Param::from_tensor(nudge(&first.val(), i, by)));
            numbers(loss(&moved, &drive))[0]
        });
        check(numbers(omega.grad(&grads).unwrap()), &|i, by| {
            let moved = Drive { omega: nudge(&drive.omega, i, by), ..drive.clone() };
            numbers(loss(&model, &moved))[0]
        });
    }
}

#[test]
fn padding_is_never_read() {
    for driving in [Driving::Increments, Driving::LogOde { depth: 2, steps: 2 }] {
        let config =
            config(StructureConfig::Block { block: 2 }).with_input(InputTerm::Vector { channels: 2 }).with_driving(driving);
        let model = model(&config);
        let whole = drive(6, 0.5, 2);
        let short = Drive {
            first: whole.first.clone().narrow(0, 1, 1),
            omega: whole.omega.clone().slice([1..2, 0..3]),
            xi: whole.xi.clone().map(|xi| xi.slice([1..2, 0..3])),
            lengths: None,
        };
        let alone = model.forward(&short).unwrap();
        let steps = alone.dims()[1];
        let ragged = Drive {
            omega: whole.omega.clone().slice_fill([1..2, 3..6], f64::NAN),
            xi: whole.xi.clone().map(|xi| xi.slice_fill([1..2, 3..6], f64::NAN)),
            lengths: Some(Arc::from([6, 3])),
            ..whole.clone()
        };
        let all = model.forward(&ragged).unwrap();
        let own = all.clone().slice([1..2, 0..steps]);
        assert!(difference(&numbers(own), &numbers(alone.clone())) < 1e-14, "{driving:?}");
        // Past its end a series stays where it is.
        let last = all.clone().slice([1..2, all.dims()[1] - 1..all.dims()[1]]);
        assert_eq!(numbers(last), numbers(alone.narrow(1, steps - 1, 1)));
        // A series without any step stays at its start.
        let none = Drive { lengths: Some(Arc::from([6, 0])), ..ragged };
        let start = numbers(model.initial(&none.first).unwrap().narrow(0, 1, 1));
        assert_eq!(numbers(model.forward(&none).unwrap().slice([1..2, 0..1])), start);
    }
}

#[test]
fn the_start_comes_first() {
    let (model, drive) = (model(&config(StructureConfig::Dense)), drive(STEPS, 0.5, 0));
    let (with, without) = (model.forward_with_start(&drive).unwrap(), model.forward(&drive).unwrap());
    assert_eq!(with.dims(), [BATCH, STEPS + 1, 4]);
    assert_eq!(numbers(with.clone().narrow(1, 1, STEPS)), numbers(without));
    assert_eq!(numbers(with.slice([0..1, 0..1])), numbers(model.start.val()));
}

#[test]
fn the_penalty_is_the_mean_norm_of_channels() {
    for structure in structures() {
        let model = model(&config(structure));
        let a = numbers(model.a.val());
        let norm = |k: usize| a[model.field().channel(k)].iter().map(|x| x * x).sum::<f64>().sqrt();
        let expected = (0..OMEGA).map(norm).sum::<f64>() / OMEGA as f64;
        let penalty = model.penalty();
        assert!((numbers(penalty.clone())[0] - expected).abs() < 1e-12 * expected);
        let slope = numbers(model.a.grad(&penalty.backward()).unwrap());
        let own = model.field().channel(1);
        let expected: Vec<f64> = own.clone().map(|i| a[i] / (norm(1) * OMEGA as f64)).collect();
        assert!(difference(&slope[own], &expected) < 1e-12);
    }
}

#[test]
fn a_penalty_at_zero_has_a_finite_gradient() {
    let mut zero = model(&config(StructureConfig::Dense));
    zero.a = Param::from_tensor((zero.a.val() * 0.0).detach());
    let slope = numbers(zero.a.grad(&zero.penalty().backward()).unwrap());
    assert!(slope.iter().all(|&x| x == 0.0));
}

/// `|A^k h|^2 / H` and `|A^k A^l h|^2 / H` are 1 on average, products with different words 0.
#[test]
fn expressive_initialisations_keep_norms() {
    let (hidden, channels) = (128, 48);
    let log = 5; // ceil(log 128)
    for structure in [
        StructureConfig::Dense,
        StructureConfig::Blocks { sizes: [vec![log; 25], vec![3]].concat() },
        StructureConfig::Dplr { rank: log },
        StructureConfig::Sparse { epsilon: 0.5 },
        StructureConfig::WalshHadamard { bound: Bound::None },
    ] {
        let stream = Stream::new(11, 0);
        let field = structure.field(hidden, channels, &stream.child(0)).unwrap();
        let a = Init::MaximallyExpressive.draw(&structure, &field, &stream.child(1)).unwrap();
        let dense = field.densify(&a).unwrap();
        let h: Vec<f64> = (0..hidden as u64).map(|i| stream.child(2).normal(i)).collect();
        let matrix = |k: usize| &dense[k * hidden * hidden..][..hidden * hidden];
        let inner = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / hidden as f64;
        let once: Vec<Vec<f64>> = (0..channels).map(|k| apply(matrix(k), &h)).collect();
        let mean = |f: &dyn Fn(usize) -> f64| (0..channels).map(f).sum::<f64>() / channels as f64;
        let twice = |k: usize| apply(matrix((k + 1) % channels), &once[k]);
        let (first, second) = (mean(&|k| inner(&once[k], &once[k])), mean(&|k| inner(&twice(k), &twice(k))));
        let cross = mean(&|k| inner(&once[k], &once[(k + 1) % channels]));
        assert!((first - 1.0).abs() < 0.3 && (second - 1.0).abs() < 0.5, "{structure:?}: {first} {second}");
        assert!(cross.abs() < 0.15, "{structure:?}: {cross}");
    }
}

#[test]
fn scaled_initialisations_have_their_deviations() {
    let deviation = |x: &[f64]| (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt();
    let draw = |structure: StructureConfig| {
        let field = structure.field(64, 16, &Stream::new(0, 0)).unwrap();
        (Init::Scaled { std: 0.5 }.draw(&structure, &field, &Stream::new(0, 1)).unwrap(), field)
    };
    for (structure, expected) in [
        (StructureConfig::Dense, 0.5 / 8.0),
        (StructureConfig::Diagonal, 0.5),
        (StructureConfig::Block { block: 4 }, 0.25),
        (StructureConfig::Sparse { epsilon: 0.5 }, 0.5 / 8.0),
        (StructureConfig::WalshHadamard { bound: Bound::None }, 0.5),
    ] {
        let seen = deviation(&draw(structure).0);
        assert!((seen / expected - 1.0).abs() < 0.06, "{seen} {expected}");
    }
    let (a, field) = draw(StructureConfig::Dplr { rank: 4 });
    let parts = |range: std::ops::Range<usize>| -> Vec<f64> {
        (0..16).flat_map(|k| a[field.channel(k)][range.clone()].to_vec()).collect()
    };
    assert!((deviation(&parts(0..64)) / 0.5 - 1.0).abs() < 0.06 && (deviation(&parts(64..576)) / 0.25 - 1.0).abs() < 0.06);
    let (a, field) = draw(StructureConfig::DiagonalDense { block: 16 });
    let tail: Vec<f64> = (0..16).flat_map(|k| a[field.channel(k)][48..].to_vec()).collect();
    assert!((deviation(&tail) / 0.125 - 1.0).abs() < 0.06);
    // No number is used twice.
    let mut sorted = a;
    sorted.sort_by(f64::total_cmp);
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_seed_decides_everything() {
    let config = config(StructureConfig::Sparse { epsilon: 0.5 });
    let weights = |seed| numbers(config.init::<B>(&Default::default(), seed).unwrap().a.val());
    assert_eq!(weights(3), weights(3));
    assert_ne!(weights(3), weights(4));
}

#[test]
fn settings_survive_json() {
    let config = config(StructureConfig::WalshHadamard { bound: Bound::None })
        .with_transition(Transition::Euler)
        .with_input(InputTerm::Vector { channels: 2 })
        .with_driving(Driving::LogOde { depth: 2, steps: 12 });
    let text = serde_json::to_string(&config).unwrap();
    assert!(text.contains(r#""transition":"euler""#) && text.contains(r#""kind":"walsh-hadamard""#), "{text}");
    assert_eq!(serde_json::from_str::<LinearNcdeConfig>(&text).unwrap(), config);
}

#[test]
fn nonsense_is_refused() {
    let refused = |config: LinearNcdeConfig| config.init::<B>(&Default::default(), 0).unwrap_err().to_string();
    let base = || config(StructureConfig::Dense);
    assert_eq!(refused(base().with_columns(0)), "setting `columns`: there are 0; a vector-valued state has 1");
    let shared = refused(base().with_columns(2).with_input(InputTerm::Vector { channels: 1 }));
    assert!(shared.ends_with("use `columns`"), "{shared}");
    assert!(refused(base().with_driving(Driving::LogOde { depth: 2, steps: 0 })).contains("at least 1"));
    assert!(refused(base().with_driving(Driving::LogOde { depth: 0, steps: 1 })).contains("depth"));
    assert!(refused(base().with_init(Init::Scaled { std: -1.0 })).contains("-1"));
    assert!(refused(base().with_initial(Initial::FromFirst { channels: 0 })).contains("learned"));
    let blocks = refused(config(StructureConfig::Blocks { sizes: vec![2, 3] }));
    assert_eq!(blocks, "setting `structure`: the blocks have 5 states in all, but `hidden` is 4");
    assert!(refused(config(StructureConfig::Block { block: 3 })).contains("divisor"));
    for structure in [StructureConfig::Diagonal, StructureConfig::WalshHadamard { bound: Bound::Tanh }] {
        assert!(refused(config(structure).with_init(Init::MaximallyExpressive)).contains("maximally-expressive"));
    }
    let scan = refused(config(StructureConfig::Dplr { rank: 1 }).with_mode(Mode::Parallel));
    assert!(scan.contains("not closed under products"), "{scan}");

    let model = model(&base().with_input(InputTerm::Vector { channels: 2 }).with_initial(Initial::FromFirst { channels: 2 }));
    let good = drive(STEPS, 0.5, 2);
    let refused = |drive: Drive<B>| model.forward(&drive).unwrap_err().to_string();
    let xi = refused(Drive { xi: None, ..good.clone() });
    assert_eq!(xi, "Linear NCDE: xi has no values, but shape [2, 5, 2] is needed");
    let omega = refused(Drive { omega: good.omega.clone().narrow(2, 0, 2), ..good.clone() });
    assert_eq!(omega, "Linear NCDE: omega has 2 channels, but 3 is needed");
    let lengths = refused(Drive { lengths: Some(Arc::from([5])), ..good.clone() });
    assert_eq!(
        lengths,
        "Linear NCDE: the list of lengths has [5], but one length between 0 and 5 for each of 2 series is needed"
    );
    let single = refused(Drive { xi: good.xi.clone().map(|xi| xi.cast(FloatDType::F32)), ..good.clone() });
    assert!(single.contains("xi holds F32, but A holds F64"), "{single}");
    let first = refused(Drive { first: tensor(vec![0.0; 6], [2, 3]), ..good });
    assert_eq!(first, "Linear NCDE: the first observation has 3 channels, but 2 is needed");
}
