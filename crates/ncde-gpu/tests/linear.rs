//! The recurrence against full matrices in `f64`: the test body of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::{Affine, Arrays, Flow, Gpu, Limits, Shapes};
use ncde_kernels::{Gradients, Recurrence, Transition};

use crate::device::{EVERY, gpu, some};
use ncde_reference::model::{Case, Model, large, small};
use ncde_reference::reference::{self, assert_gradients};
use ncde_reference::{assert_close, narrow, wide};

pub(crate) const STEPS: [(Transition, Option<ncde_kernels::Affine>); 5] = [
    (Transition::Exp, None),
    (Transition::Exp, Some(ncde_kernels::Affine::Exact)),
    (Transition::Exp, Some(ncde_kernels::Affine::Approximate)),
    (Transition::Euler, None),
    (Transition::Euler, Some(ncde_kernels::Affine::Exact)),
];

pub(crate) fn flow(case: &Case) -> Flow {
    let affine = match (&case.affine, case.recurrence.affine()) {
        (None, _) => Affine::None,
        (_, ncde_kernels::Affine::Exact) => Affine::Exact,
        (_, ncde_kernels::Affine::Approximate) => Affine::Plain,
    };
    Flow { exact: case.recurrence.transition() == Transition::Exp, affine }
}

fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case) -> (Vec<f64>, Gradients<f64>) {
    let client = gpu.client();
    let put = |x: &[f64]| client.create_from_slice(bytemuck::cast_slice(&narrow::<f32>(x)));
    let get = |handle| wide::<f32>(bytemuck::cast_slice(&client.read_one(handle).unwrap()));
    let blocks = case.model.field.structure().sizes().unwrap();
    let shapes =
        Shapes { batch: case.batch, length: case.length, columns: case.columns, coefficients: case.recurrence.coefficients() };
    let arrays = Arrays {
        a: put(&case.a),
        coefficients: put(&case.coefficients),
        initial: put(&case.initial),
        affine: case.affine.as_deref().map(put),
        lengths: case.lengths.clone(),
    };
    let recurrence = ncde_gpu::Recurrence::new(blocks, flow(case)).unwrap();
    let (states, kept) = recurrence.forward_kept(gpu, shapes, &arrays).unwrap();
    let of = recurrence.backward(gpu, shapes, &arrays, (&states, &put(&case.weights)), kept.as_ref(), true).unwrap();
    if kept.is_some() {
        // What is computed again is the same, but for the order of sums.
        let again = recurrence.backward(gpu, shapes, &arrays, (&states, &put(&case.weights)), None, true).unwrap();
        assert_close("without what was kept", &get(again.a), &get(of.a.clone()), 1e-4);
        assert_close("without what was kept", &get(again.initial), &get(of.initial.clone()), 1e-4);
    }
    let gradients = Gradients {
        a: get(of.a),
        coefficients: get(of.coefficients.unwrap()),
        initial: get(of.initial),
        affine: of.affine.map(get),
    };
    (get(states), gradients)
}

fn check<R: Runtime>(gpu: &Gpu<R>, case: &Case) {
    let case = case.clone().rounded();
    let states = reference::states(&case);
    let gradients = reference::gradients(&case, &states);
    let (seen, seen_gradients) = run(gpu, &case);
    assert_close(&case.name(), &seen, &states, 1e-4);
    assert_gradients(&case.name(), &seen_gradients, &gradients, 1e-4);
}

pub(crate) fn case(
    seed: u64,
    model: &Model,
    (transition, affine): (Transition, Option<ncde_kernels::Affine>),
    shape: [usize; 3],
) -> Case {
    let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine.unwrap_or_default());
    let case = Case::new(seed, model, recurrence, shape);
    if affine.is_some() { case } else { case.without_affine() }
}

/// Smaller steps, or rounding grows with the states.
pub(crate) fn gentle(case: Case) -> Case {
    Case { coefficients: case.coefficients.iter().map(|x| 0.3 * x).collect(), ..case }
}

fn closed(models: Vec<Model>) -> Vec<Model> {
    models.into_iter().filter(|model| model.field.structure().is_closed()).collect()
}

#[test]
fn all_shapes_steps_and_structures() {
    let gpu = gpu();
    let mut seed = 900;
    // In software without blocks of 5 to 8 in registers: their kernels take longest to compile.
    let is_small = |model: &Model| model.field.structure().sizes().unwrap().iter().all(|b| !(5..=8).contains(b));
    let large: Vec<Model> = closed(large(9)).into_iter().filter(|model| EVERY || is_small(model)).collect();
    for (channels, models) in [(1, closed(small(1))), (9, large)] {
        for (i, model) in models.iter().enumerate() {
            for &step in some(&[STEPS[(i + channels) % 5], STEPS[(i + channels + 2) % 5]], 1) {
                let (length, batch, columns) =
                    ([1, 2, 7, 40][seed as usize % 4], [1, 3][seed as usize / 4 % 2], [1, 1, 3][seed as usize % 3]);
                let case = case(seed, model, step, [batch, length, columns]);
                let case = if length > 7 { gentle(case) } else { case };
                check(&gpu, &if seed.is_multiple_of(2) { case } else { case.ragged() });
                seed += 1;
            }
        }
    }
}

/// Series in chunks, chunks in slabs: the same numbers however they are cut.
#[test]
fn chunks_and_slabs() {
    let mut seed = 700_u64;
    for model in closed(small(3)).into_iter().chain(closed(large(2)).into_iter().take(1)) {
        for &step in some(&[STEPS[seed as usize % 5], STEPS[(seed as usize + 3) % 5]], 1) {
            let slabs = [1 << 28, 1 << 10];
            for &slab in some(&if seed.is_multiple_of(2) { slabs } else { [slabs[1], slabs[0]] }, 1) {
                let limits = Limits { units: 1 << 14, slab };
                let case = case(seed, &model, step, [2, 67, 1 + seed as usize % 2]);
                let case = gentle(case);
                check(&gpu().with_limits(limits), &if seed.is_multiple_of(2) { case } else { case.ragged() });
                seed += 1;
            }
        }
    }
}

/// A block whose numbers are read four at a time.
#[test]
fn a_dense_block_of_64() {
    let model = Model::new(ncde_kernels::Structure::Dense { hidden: 64 }, 2);
    for &(step, shape) in some(&[(STEPS[4], [2, 70, 2]), (STEPS[3], [2, 70, 1])], 1) {
        let case = gentle(case(55, &model, step, shape));
        check(&gpu().with_limits(Limits { units: 1 << 14, slab: 1 << 18 }), &case);
        check(&gpu().with_limits(Limits { units: 1 << 14, slab: 1 << 18 }), &case.ragged());
    }
}

/// A dense block of first order in one chunk and in several, and beside a diagonal: gradients as products of matrices.
#[test]
fn a_dense_block_of_first_order() {
    let all = Limits { units: 1 << 14, slab: 1 << 28 };
    let structures = [
        ncde_kernels::Structure::Dense { hidden: 33 },
        ncde_kernels::Structure::DiagonalDense { hidden: 40, block: 18 },
        ncde_kernels::Structure::Dense { hidden: 20 },
    ];
    let mut seed = 640;
    for structure in some(&structures, 2) {
        let model = Model::new(structure.clone(), 3);
        for limits in [Limits { units: 1, ..all }, all, Limits { slab: 1 << 14, ..all }] {
            let case = gentle(case(seed, &model, STEPS[3 + seed as usize % 2], [[2, 67, 1], [3, 70, 2]][seed as usize / 2 % 2]));
            check(&gpu().with_limits(limits), &if seed.is_multiple_of(3) { case.ragged() } else { case });
            seed += 1;
        }
    }
}

/// Blocks that a team of units has, alone and beside others: all kinds of steps, in one chunk, in several, and those in slabs.
#[test]
fn blocks_of_9_to_32() {
    let blocks = |sizes: &[usize]| ncde_kernels::Structure::Block { sizes: sizes.to_vec() };
    let structures = [
        blocks(&[9; 3]),
        blocks(&[16; 4]),
        blocks(&[17, 17]),
        blocks(&[24, 3, 24]),
        blocks(&[32; 3]),
        ncde_kernels::Structure::DiagonalDense { hidden: 40, block: 32 },
        blocks(&[12; 5]),
        blocks(&[31]),
        ncde_kernels::Structure::DiagonalDense { hidden: 30, block: 16 },
    ];
    let all = Limits { units: 1 << 14, slab: 1 << 28 };
    let cuts = [Limits { units: 1, ..all }, all, Limits { slab: 1 << 14, ..all }];
    let mut seed = 500;
    for structure in some(&structures, 4) {
        let model = Model::new(structure.clone(), 3);
        for &step in some(&[STEPS[seed as usize % 5], STEPS[(seed as usize + 2) % 5]], 1) {
            let shape = [[2, 67, 1], [3, 9, 2], [3, 70, 2]][seed as usize % 3];
            let case = gentle(case(seed, &model, step, shape));
            let case = if seed.is_multiple_of(2) { case } else { case.ragged() };
            check(&gpu().with_limits(cuts[seed as usize / 2 % 3]), &case);
            seed += 1;
        }
    }
}

/// Norms that take several stages of the exponential.
#[test]
fn blocks_of_a_team_with_large_norms() {
    for (seed, b) in [(600, 11), (601, 18)] {
        let model = Model::new(ncde_kernels::Structure::Block { sizes: vec![b; 3] }, 2);
        let case = case(seed, &model, STEPS[seed as usize % 2], [2, 4, 1]);
        check(&gpu(), &Case { coefficients: case.coefficients.iter().map(|x| 3.0 * x).collect(), ..case });
    }
}

/// Beyond reason a state is not a number; others that are worked on beside it do not notice.
#[test]
fn a_block_of_a_team_that_overflows_is_alone() {
    let model = Model::new(ncde_kernels::Structure::Dense { hidden: 12 }, 2);
    let case = case(610, &model, STEPS[0], [2, 3, 1]).rounded();
    let (right, mut wrong) = (reference::states(&case), case.clone());
    wrong.coefficients[..6].iter_mut().for_each(|x| *x *= 1e5);
    let states = run(&gpu(), &wrong).0;
    assert!(states[..12].iter().any(|x| x.is_nan()) && states[24..36].iter().all(|x| x.is_nan()), "{states:?}");
    assert_close("the other series", &states[36..], &right[36..], 1e-4);
}

/// `phi_1` of numbers and its derivative, each to a few units of rounding: gradients are sums in which terms a hundred times as large cancel.
#[test]
fn functions_of_numbers_do_not_cancel() {
    const HIDDEN: usize = 256;
    let model = Model::new(ncde_kernels::Structure::Diagonal { hidden: HIDDEN }, 1);
    let x: Vec<f64> = (0..HIDDEN).map(|i| 3.0 * (i as f64 + 0.5) / HIDDEN as f64 - 1.5).collect();
    let of = Case { a: x, coefficients: vec![1.0], initial: vec![0.0; HIDDEN], ..case(620, &model, STEPS[1], [1, 1, 1]) };
    let case = Case { affine: Some(vec![1.0; HIDDEN]), weights: vec![1.0; HIDDEN], ..of }.rounded();
    let (states, gradients) = run(&gpu(), &case);
    for (i, &x) in case.a.iter().enumerate() {
        let phi = x.exp_m1() / x;
        let slope = (0..40).rev().fold(0.0, |sum, k| 1.0 / f64::from(k + 2) + x / f64::from(k + 1) * sum);
        assert!((states[i] / phi - 1.0).abs() < 5e-7, "phi_1({x}) is {phi}, not {}", states[i]);
        assert!((gradients.a[i] / slope - 1.0).abs() < 1e-6, "its derivative at {x} is {slope}, not {}", gradients.a[i]);
    }
}

/// Few channels and many blocks, the generators made on the way, and the same without that.
#[test]
fn few_channels() {
    let mut seed = 300;
    let blocks = |hidden, b| Model::new(ncde_kernels::Structure::blocks(hidden, b).unwrap(), 3);
    let models = [Model::new(ncde_kernels::Structure::Diagonal { hidden: 64 }, 2), blocks(128, 4), blocks(64, 2), blocks(96, 3)];
    for model in models {
        for &step in some(&[STEPS[seed as usize % 5], STEPS[(seed as usize + 3) % 5]], 1) {
            let case = gentle(case(seed, &model, step, [2, [5, 71][seed as usize % 2], 1 + seed as usize / 2 % 2]));
            let case = if seed.is_multiple_of(3) { case.ragged() } else { case };
            let limits = Limits { units: 1 << 12, ..Limits::default() };
            check(&gpu().with_limits(limits), &case);
            if seed.is_multiple_of(4) {
                check(&gpu().with_limits(limits).with_few_channels(false), &case);
            }
            seed += 1;
        }
    }
}

/// So many channels that generators, of all steps or of slabs, and their gradients are products of matrices by tiles.
#[test]
fn many_channels() {
    let blocks = |hidden, b| Model::new(ncde_kernels::Structure::blocks(hidden, b).unwrap(), 21);
    let models = [blocks(12, 4), Model::new(ncde_kernels::Structure::DiagonalDense { hidden: 40, block: 19 }, 17)];
    for (i, model) in models.into_iter().enumerate() {
        let cuts = [([3, 9, 1], 1 << 28), ([2, 70, 1], 1 << 16), ([2, 67, 2], 1 << 28)];
        for (k, &(shape, slab)) in some(&cuts, 2).iter().enumerate() {
            let case = gentle(gentle(case(400 + i as u64, &model, STEPS[(i + k) % 5], shape)));
            check(&gpu().with_limits(Limits { units: 1 << 14, slab }), &if k == 0 { case } else { case.ragged() });
        }
    }
}
