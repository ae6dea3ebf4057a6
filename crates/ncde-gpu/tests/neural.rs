//! Whole neural solves: the cases of the CPU kernels, on the device.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::*;
use ncde_gpu::neural::{Arrays, Last, MAX_LAYERS, Method, Network, NeuralSolve};
use ncde_gpu::{Activation, Error, Gpu, Limits};
use ncde_kernels::neural::{self as cpu, Controls, Depth, Gradients, Outputs};

use crate::device::{EVERY, gpu, some};
use ncde_reference::neural::case::{Case, chosen, numbers};
use ncde_reference::{assert_close, narrow, wide};

const TOLERANCE: f64 = 1e-4;

fn activation(own: cpu::Activation) -> Activation {
    match own {
        cpu::Activation::Silu => Activation::Silu,
        cpu::Activation::Relu => Activation::Relu,
        cpu::Activation::Tanh => Activation::Tanh,
        cpu::Activation::Softplus => Activation::Softplus,
        cpu::Activation::ShiftedSoftplus => Activation::ShiftedSoftplus,
        cpu::Activation::Identity => Activation::Identity,
    }
}

fn network(own: &cpu::Network) -> Network {
    Network {
        hidden: own.hidden(),
        channels: own.channels(),
        widths: own.widths().to_vec(),
        activation: activation(own.activation()),
        before_last: activation(own.activation_of(own.widths().len().max(1) - 1)),
        last: if own.last() == cpu::Last::Tanh { Last::Tanh } else { Last::Linear },
    }
}

fn method(own: cpu::Method) -> Method {
    let (tableau, stages) = (own.tableau(), own.stages());
    Method { a: (0..stages).map(|s| narrow(tableau.row(s))).collect(), b: narrow(&tableau.b[..stages]) }
}

fn spec(case: &Case) -> NeuralSolve {
    let solve = &case.solve;
    NeuralSolve::new(&network(solve.network()), &method(solve.method()), solve.depth() == Depth::Two).unwrap()
}

/// A case on the device.
struct Held<'a> {
    case: &'a Case,
    dt: Vec<f32>,
}

impl<'a> Held<'a> {
    fn new(case: &'a Case) -> Self {
        Self { case, dt: narrow(&case.dt) }
    }

    fn arrays<R: Runtime>(&self, gpu: &Gpu<R>) -> Arrays<'_> {
        let case = self.case;
        Arrays {
            batch: case.batch,
            steps: case.steps,
            control: case.control,
            parameters: gpu.put(&narrow::<f32>(&case.parameters)),
            coefficients: gpu.put(&narrow::<f32>(&case.coefficients)),
            initial: gpu.put(&narrow::<f32>(&case.initial)),
            dt: &self.dt,
            rows: &case.rows,
        }
    }
}

/// States at the outputs, and gradients of `sum weights states`.
fn run<R: Runtime>(gpu: &Gpu<R>, case: &Case, at: Option<&[usize]>, weights: &[f64]) -> (Vec<f64>, Gradients<f64>) {
    let (spec, held) = (spec(case), Held::new(case));
    let arrays = held.arrays(gpu);
    let get = |handle, count: usize| wide::<f32>(&gpu.get(handle).unwrap()[..count]);
    let states = spec.forward(gpu, &arrays).unwrap();
    let outputs = at.map_or_else(|| states.clone(), |at| spec.states_at(gpu, &arrays, &states, at).unwrap());
    let of = spec.backward(gpu, &arrays, (&states, &gpu.put(&narrow::<f32>(weights))), at, true).unwrap();
    let gradients = Gradients {
        parameters: get(&of.parameters, case.parameters.len()),
        initial: get(&of.initial, case.initial.len()),
        coefficients: of.coefficients.as_ref().map(|of| get(of, case.coefficients.len())),
    };
    (get(&outputs, weights.len()), gradients)
}

/// The same on the processor, in f64.
fn right(case: &Case, at: Option<&[usize]>, weights: &[f64]) -> (Vec<f64>, Gradients<f64>) {
    let outputs = at.map_or(Outputs::Every, Outputs::At);
    let solve = case.solve.clone().with_controls(Controls::Variable);
    let (mut all, mut chosen) = (Vec::new(), Vec::new());
    solve.forward_into(&case.input(), Outputs::Every, &mut all).unwrap();
    assert_close(&case.name, &all, &case.reference(), 1e-9);
    solve.forward_into(&case.input(), outputs, &mut chosen).unwrap();
    (chosen, solve.backward(&case.input(), &all, outputs, weights).unwrap())
}

fn check<R: Runtime>(gpu: &Gpu<R>, case: &Case, at: Option<&[usize]>) {
    let count = at.map_or(case.batch * case.steps, <[usize]>::len);
    let weights = numbers(77, count * case.solve.network().hidden());
    let (seen, right) = (run(gpu, case, at, &weights), right(case, at, &weights));
    let name = |what: &str| format!("{what} of {}", case.name);
    assert_close(&name("states"), &seen.0, &right.0, TOLERANCE);
    assert_close(&name("gradient of parameters"), &seen.1.parameters, &right.1.parameters, TOLERANCE);
    assert_close(&name("gradient of initial states"), &seen.1.initial, &right.1.initial, TOLERANCE);
    assert_close(&name("gradient of controls"), &seen.1.coefficients.unwrap(), &right.1.coefficients.unwrap(), TOLERANCE);
}

/// Odd shapes, activations and methods; lengths that differ, and pauses. In parts: kernels of a process are compiled one after the other. Two functions for each shape, of four, and
/// one for every other shape in software: every function is a kernel of its own. Cases come in pairs of both depths: in software one of the first pair, the other one of the next.
fn as_on_the_processor(of: impl Fn(&Case) -> bool) {
    let (gpu, all) = (gpu(), chosen(|i, j| (i + j) % if EVERY { 2 } else { 8 } == 1));
    let own = all.iter().enumerate().filter(|&(i, case)| (EVERY || (i + i / 2) % 2 == 0) && of(case));
    let own: Vec<&Case> = own.map(|(_, case)| case).collect();
    assert!(!own.is_empty());
    own.into_iter().for_each(|case| check(&gpu, case, None));
}

#[test]
fn neural_solves_of_depth_1() {
    as_on_the_processor(|case| case.solve.depth() == Depth::One);
}

#[test]
fn neural_solves_of_depth_2_with_one_or_two_stages() {
    as_on_the_processor(|case| case.solve.depth() == Depth::Two && case.solve.method().stages() < 3);
}

#[test]
fn neural_solves_of_depth_2_with_more_stages() {
    as_on_the_processor(|case| case.solve.depth() == Depth::Two && case.solve.method().stages() >= 3);
}

/// A step at a time in reverse; outputs at some steps, one of them twice.
#[test]
fn neural_slabs_and_outputs() {
    let gpu = gpu().with_limits(Limits { slab: 1, ..Limits::default() });
    let functions = (cpu::Activation::Silu, cpu::Last::Tanh);
    for depth in [Depth::One, Depth::Two] {
        let case = Case::new(90, ((5, 3, &[7, 9]), [2, 4, 3]), functions, depth, cpu::Method::Heun);
        check(&gpu, &case, None);
        check(&gpu, &case, Some(&[0, 2, 2, 1, 3, 3]));
    }
}

/// More columns, steps and channels than a cube has units, than a piece reads at once, than registers hold; so many channels that units share them.
#[test]
fn neural_wide_layers_and_many_channels() {
    let functions = (cpu::Activation::Tanh, cpu::Last::Tanh);
    let cases = [
        (Depth::One, 32, ((70, 5, &[134_usize][..]), [1, 2, 2])),
        (Depth::Two, 1 << 12, ((6, 17, &[37]), [2, 2, 2])),
        (Depth::Two, 1 << 12, ((33, 3, &[130]), [1, 2, 2])),
        (Depth::Two, 32, ((6, 17, &[37]), [2, 2, 2])),
        (Depth::Two, 1 << 12, ((33, 3, &[130, 66]), [1, 2, 2])),
    ];
    for &(depth, units, shape) in some(&cases, 3) {
        let gpu = gpu().with_limits(Limits { units, ..Limits::default() });
        check(&gpu, &Case::new(95, shape, functions, depth, cpu::Method::Euler), None);
    }
}

#[test]
fn the_same_numbers_of_neural_solves_every_time() {
    let gpu = gpu();
    let functions = (cpu::Activation::Silu, cpu::Last::Tanh);
    let case = Case::new(96, ((9, 3, &[21, 13]), [5, 6, 4]), functions, Depth::Two, cpu::Method::Heun);
    let weights = numbers(7, 5 * 6 * 9);
    assert!(run(&gpu, &case, None, &weights) == run(&gpu, &case, None, &weights));
}

/// One launch of a solve, whatever the number of its steps.
#[test]
fn neural_steps_are_not_launches() {
    let gpu = gpu();
    let launches = |steps| {
        let functions = (cpu::Activation::Silu, cpu::Last::Tanh);
        let case = Case::new(97, ((4, 2, &[5]), [2, steps, 3]), functions, Depth::Two, cpu::Method::Heun);
        let (spec, held) = (spec(&case), Held::new(&case));
        let arrays = held.arrays(&gpu);
        let before = gpu.launches();
        let states = spec.forward(&gpu, &arrays).unwrap();
        let forwards = gpu.launches() - before;
        let gradient = gpu.put(&vec![1.0; 2 * steps * 4]);
        spec.backward(&gpu, &arrays, (&states, &gradient), None, false).unwrap();
        (forwards, gpu.launches() - before - forwards)
    };
    // The weights are laid out, then all steps are taken.
    assert_eq!(launches(3).0, 2);
    assert_eq!(launches(40), launches(90));
}

#[test]
fn errors_of_neural_solves() {
    let gpu = gpu();
    let functions = (cpu::Activation::Silu, cpu::Last::Tanh);
    let case = Case::new(98, ((4, 2, &[5]), [2, 3, 3]), functions, Depth::Two, cpu::Method::Heun);
    let (own, held) = (spec(&case), Held::new(&case));
    let right = held.arrays(&gpu);
    let refused = |arrays: &Arrays<'_>| own.forward(&gpu, arrays).unwrap_err();
    assert_eq!(refused(&Arrays { batch: 0, ..right.clone() }), Error::Empty { what: "the batch" });
    assert!(matches!(refused(&Arrays { steps: 2, ..right.clone() }), Error::Size { what: "the list of step lengths", .. }));
    let rows = vec![3; 12];
    let wrong = Arrays { rows: &rows, ..right.clone() };
    assert_eq!(refused(&wrong), Error::NoRow { what: "of the control", row: 3, rows: 3 });
    let states = own.forward(&gpu, &right).unwrap();
    let at = own.states_at(&gpu, &right, &states, &[0, 3]).unwrap_err();
    assert_eq!(at, Error::NoRow { what: "of the states", row: 3, rows: 3 });
    let network = network(case.solve.network());
    let method = method(cpu::Method::Heun);
    let deep = Network { widths: vec![2; MAX_LAYERS + 1], ..network.clone() };
    assert!(matches!(NeuralSolve::new(&deep, &method, true).unwrap_err(), Error::TooLarge { .. }));
    let wide = NeuralSolve::new(&Network { widths: vec![1 << 16], ..network }, &method, true).unwrap();
    assert!(!wide.fits(&gpu) && own.fits(&gpu));
}
