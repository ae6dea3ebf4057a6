//! Structures that are not closed under products: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ncde_gpu::action::{Acting, Action, Entries};
use ncde_gpu::{Arrays, Error, Gpu, Limits, Shapes};
use ncde_kernels::{Bound, Contraction, Gradients, Recurrence, Structure, Transition};

use crate::device::{gpu, some};
use crate::linear::{STEPS, case, flow, gentle};
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::{self, assert_gradients};
use ncde_reference::{assert_close, narrow, wide};

/// The same structure on the device; none for those that are closed.
fn acting(model: &Model) -> Option<Acting> {
    match model.field.structure() {
        Structure::WalshHadamard { hidden, bound } => {
            Some(Acting::WalshHadamard { hidden: *hidden, bounded: *bound == Bound::Tanh })
        }
        Structure::Sparse { pattern } => {
            let channels: Vec<_> = (0..pattern.channels()).map(|k| pattern.channel_entries(k)).collect();
            Some(Acting::Sparse(Arc::new(Entries::new(pattern.hidden(), &channels).unwrap())))
        }
        Structure::Dplr { hidden, rank } => Some(Acting::Dplr { hidden: *hidden, rank: *rank }),
        _ => None,
    }
}

fn shapes(case: &Case) -> Shapes {
    Shapes { batch: case.batch, length: case.length, columns: case.columns, coefficients: case.recurrence.coefficients() }
}

fn arrays<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> Arrays {
    let put = |x: &[f64]| gpu.put(&narrow::<f32>(x));
    Arrays {
        a: put(&case.a),
        coefficients: put(&case.coefficients),
        initial: put(&case.initial),
        affine: case.affine.as_deref().map(put),
        lengths: case.lengths.clone(),
    }
}

fn action(case: &Case) -> Action {
    let own = Action::new(acting(&case.model).unwrap(), flow(case)).unwrap();
    match case.recurrence.contraction() {
        Contraction::Matrices => own,
        Contraction::Words { depth } => own.with_words(case.model.field.channels(), depth),
    }
}

fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> (Vec<f64>, Gradients<f64>) {
    let get = |handle: Handle, count: usize| wide::<f32>(&gpu.get(&handle).unwrap()[..count]);
    let (own, shapes, arrays) = (action(case), shapes(case), arrays(gpu, case));
    let states = own.forward(gpu, shapes, &arrays).unwrap();
    let weights = gpu.put(&narrow::<f32>(&case.weights));
    let of = own.backward(gpu, shapes, &arrays, (&states, &weights), true).unwrap();
    let gradients = Gradients {
        a: get(of.a, case.a.len()),
        coefficients: get(of.coefficients.unwrap(), case.coefficients.len()),
        initial: get(of.initial, case.initial.len()),
        affine: of.affine.map(|of| get(of, case.weights.len())),
    };
    (get(states, case.weights.len()), gradients)
}

fn check<R: Runtime>(gpu: &Gpu<R>, case: &Case) {
    let case = case.clone().rounded();
    let states = reference::states(&case);
    let gradients = reference::gradients(&case, &states);
    let (seen, seen_gradients) = run(gpu, &case);
    assert_close(&case.name(), &seen, &states, 1e-4);
    assert_gradients(&case.name(), &seen_gradients, &gradients, 1e-4);
}

fn models(all: Vec<Model>) -> Vec<Model> {
    all.into_iter().filter(|model| acting(model).is_some()).collect()
}

fn is_dplr(model: &Model) -> bool {
    matches!(model.field.structure(), Structure::Dplr { .. })
}

/// Exact flows of DPLR are dense blocks, whose kernels have tests of their own and take long to compile: small ones are enough here.
fn is_worth(model: &Model, (transition, _): (Transition, Option<ncde_kernels::Affine>)) -> bool {
    !is_dplr(model) || transition == Transition::Euler || some(&[7, 6], 1).contains(&model.hidden())
}

/// All models of a structure with every kind of step, at odd shapes.
fn sweep(mut seed: u64, wanted: impl Fn(&Structure) -> bool) {
    let gpu = gpu();
    for model in some(&[small(3), large(9), small(1)], 2).iter().flatten().filter(|model| wanted(model.field.structure())) {
        for step in STEPS.into_iter().filter(|&step| is_worth(model, step)) {
            let (length, batch, columns) =
                ([1, 2, 7, 40][seed as usize % 4], [1, 3][seed as usize / 4 % 2], [1, 1, 3][seed as usize % 3]);
            let case = case(seed, model, step, [batch, length, columns]);
            let case = if length > 7 { gentle(case) } else { case };
            check(&gpu, &if seed.is_multiple_of(2) { case } else { case.ragged() });
            seed += 1;
        }
    }
}

#[test]
fn walsh_hadamard() {
    sweep(1200, |structure| matches!(structure, Structure::WalshHadamard { .. }));
}

#[test]
fn sparse() {
    sweep(1230, |structure| matches!(structure, Structure::Sparse { .. }));
}

#[test]
fn dplr() {
    sweep(1260, |structure| matches!(structure, Structure::Dplr { .. }));
}

/// Coefficients of words of two and three letters, of matrices in all structures.
#[test]
fn words_of_letters() {
    let gpu = gpu();
    for (i, model) in models(small(3)).iter().enumerate() {
        let (transition, affine) = STEPS[i % 5];
        let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine.unwrap_or_default());
        let recurrence = recurrence.with_contraction(Contraction::Words { depth: 2 + usize::from(i % 3 == 0) }).unwrap();
        let case = gentle(Case::new(1350 + i as u64, model, recurrence, [2, 5, 1 + i % 2]));
        let case = if affine.is_some() { case } else { case.without_affine() };
        check(&gpu, &if i.is_multiple_of(2) { case } else { case.ragged() });
    }
    let wrong =
        Case::new(1, &models(small(2))[0], Recurrence::new(models(small(2))[0].field.clone()), [1, 2, 1]).without_affine();
    let own = action(&wrong).with_words(2, 2);
    let problem = own.forward(&gpu, shapes(&wrong), &arrays(&gpu, &wrong)).unwrap_err();
    assert!(matches!(problem, Error::Size { what: "a row of coefficients", seen: 8, wanted: 24 }), "{problem:?}");
}

/// Numbers of a few steps at a time.
#[test]
fn slabs() {
    let mut seed = 1300;
    for model in some(&[models(small(3)), models(large(2))], 1).iter().flatten() {
        for &step in some(&[STEPS[seed as usize % 5], STEPS[(seed as usize + 3) % 5]], 1) {
            if !is_worth(model, step) {
                continue;
            }
            let gpu = gpu().with_limits(Limits { slab: 1 << 12, ..Limits::default() });
            let case = gentle(case(seed, model, step, [2, 11, 1 + seed as usize % 2]));
            check(&gpu, &if seed.is_multiple_of(2) { case } else { case.ragged() });
            seed += 1;
        }
    }
}

/// Steps of a norm that takes several stages.
#[test]
fn large_norms() {
    let gpu = gpu();
    for (i, model) in models(large(2)).iter().filter(|model| !is_dplr(model)).enumerate() {
        let case = case(1400 + i as u64, model, STEPS[i % 3], [2, 1, 2]);
        let coefficients = case.coefficients.iter().map(|x| 6.0 * x).collect();
        check(&gpu, &Case { coefficients, ..case });
    }
}

/// More states, or coordinates of low rank, than a cube has units.
#[test]
fn many_states() {
    let gpu = gpu();
    let wide = Model::new(Structure::WalshHadamard { hidden: 256, bound: Bound::Tanh }, 2);
    let mask = |k: usize| (0..700).map(|r| (r, (7 * r + 3 * k) % 700)).collect();
    let sparse = Model::with_masks(700, vec![mask(0), mask(1)]);
    let dplr = Model::new(Structure::Dplr { hidden: 20, rank: 7 }, 90);
    for (i, model) in [wide, sparse, dplr].iter().enumerate() {
        let case = gentle(case(1500 + i as u64, model, STEPS[4], [2, 3, 1]));
        check(&gpu, &case);
    }
}

/// What lies past the end of a series is not looked at.
#[test]
fn padding_may_hold_anything() {
    let gpu = gpu();
    for model in models(small(2)) {
        for &step in some(&[STEPS[1], STEPS[3]], 1) {
            let mut case = Case { lengths: Some(vec![2, 4]), ..case(1600, &model, step, [2, 4, 1]) }.rounded();
            let right = run(&gpu, &case);
            case.coefficients[2 * 2..4 * 2].fill(f64::NAN);
            if let Some(affine) = &mut case.affine {
                affine[2 * model.hidden()..4 * model.hidden()].fill(f64::NAN);
            }
            assert!(run(&gpu, &case) == right, "{}", case.name());
        }
    }
}

#[test]
fn a_norm_beyond_reason_is_not_a_number() {
    let gpu = gpu();
    for model in models(small(2)).into_iter().filter(|model| !is_dplr(model)) {
        let case = case(1700, &model, STEPS[0], [1, 2, 1]);
        let case = Case { coefficients: case.coefficients.iter().map(|x| 1e6 * x).collect(), ..case };
        let (states, gradients) = run(&gpu, &case);
        assert!(states.iter().all(|x| x.is_nan()) && gradients.initial.iter().all(|x| x.is_nan()), "{}", case.name());
        assert!(gradients.a.iter().any(|x| x.is_nan()), "{}", case.name());
    }
}

#[test]
fn errors() {
    let gpu = gpu();
    let flow = ncde_gpu::Flow { exact: true, affine: ncde_gpu::Affine::None };
    let of = |hidden| Action::new(Acting::WalshHadamard { hidden, bounded: false }, flow);
    assert_eq!(of(12).unwrap_err(), Error::NoPowerOfTwo { seen: 12 });
    assert_eq!(of(0).unwrap_err(), Error::Empty { what: "the number of states" });
    assert!(of(64).unwrap().fits(&gpu, 1) && !of(1 << 20).unwrap().fits(&gpu, 1));
    let dplr = |exact, rank| Action::new(Acting::Dplr { hidden: 40, rank }, ncde_gpu::Flow { exact, ..flow });
    assert_eq!(dplr(true, 0).unwrap_err(), Error::Empty { what: "the rank" });
    assert!(dplr(true, 9).unwrap().fits(&gpu, 1 << 20) && !dplr(false, 9).unwrap().fits(&gpu, 1 << 20));
    let case = case(1800, &Model::sparse(5, 2, 3), STEPS[0], [2, 3, 1]);
    let (own, right) = (Action::new(acting(&case.model).unwrap(), flow).unwrap(), arrays(&gpu, &case));
    let refused = |shapes: Shapes, arrays: &Arrays| own.forward(&gpu, shapes, arrays).unwrap_err();
    let wrong = Shapes { coefficients: 1, ..shapes(&case) };
    assert!(matches!(refused(wrong, &right), Error::Size { what: "a row of coefficients", .. }));
    let wrong = Arrays { lengths: Some(vec![1, 4]), ..right.clone() };
    assert_eq!(refused(shapes(&case), &wrong), Error::Length { series: 1, length: 4, longest: 3 });
    assert!(matches!(refused(Shapes { length: 30, ..shapes(&case) }, &right), Error::Size { .. }));
}
