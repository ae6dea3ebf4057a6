//! `ncde bench slice`: one forward and one reverse pass of a linear recurrence, loss = mean square of all states.

use ncde_kernels::{Bracket, Brackets, Contraction, Field, Float, Gradients, Input, Recurrence};
use ncde_signature::Basis;
use ncde_signature::algebra::{LieBasis, Shape, Tree};
use rayon::prelude::*;
use serde::Serialize;

use super::linear::{COEFFICIENTS, INITIAL, not_here, refused};
use super::{best, normal, on_device, report};
use crate::args::{BenchSliceArgs, Dtype};
use crate::error::Failure;
use crate::memory;

pub(super) const WHAT: &str = "bench slice";

/// Deviation of the coefficients.
pub(super) const STEP: f64 = 0.05;

#[derive(Serialize)]
pub(super) struct Parameters<'a> {
    #[serde(flatten)]
    pub(super) args: &'a BenchSliceArgs,
    pub(super) coefficients: usize,
    pub(super) norm: f64,
    pub(super) restart: Option<usize>,
}

pub(super) fn run(args: &BenchSliceArgs) -> Result<(), Failure> {
    on_device(args, &args.run.on, || match args.run.dtype {
        Dtype::F32 => time::<f32>(args),
        Dtype::F64 => Err(not_here()),
    })
}

struct Job<T> {
    recurrence: Recurrence,
    brackets: Option<Brackets>,
    a: Vec<T>,
    coefficients: Vec<T>,
    initial: Vec<T>,
    lengths: Vec<usize>,
    longest: usize,
}

impl<T: Float> Job<T> {
    /// Series whose states start anew every `restart` steps: as many steps in all, in shorter series.
    fn new(args: &BenchSliceArgs, recurrence: Recurrence, brackets: Option<Brackets>, a: Vec<T>, restart: usize) -> Self {
        let pieces = args.length.div_ceil(restart);
        let piece = |i: usize| restart.min(args.length - i % pieces * restart);
        let lengths: Vec<usize> = (0..args.batch * pieces).map(piece).collect();
        let count = lengths.len() * restart * recurrence.coefficients();
        let step = STEP * args.scale;
        Self {
            recurrence,
            brackets,
            a,
            coefficients: (0..count).map(|i| T::from_f64(step * normal(COEFFICIENTS, i as u64))).collect(),
            initial: (0..lengths.len() * args.field.hidden).map(|i| T::from_f64(normal(INITIAL, i as u64))).collect(),
            lengths,
            longest: restart,
        }
    }

    fn input<'a>(&'a self, a: &'a [T]) -> Input<'a, T> {
        Input {
            batch: self.lengths.len(),
            length: self.longest,
            columns: 1,
            a,
            coefficients: &self.coefficients,
            initial: &self.initial,
            affine: None,
            lengths: Some(&self.lengths),
        }
    }

    /// One forward and one reverse pass: gradients of A, coefficients and initial state.
    fn run(&self, memory: &mut Memory<T>) -> Result<(), ncde_kernels::Error> {
        let matrices = self.brackets.as_ref().map(|brackets| brackets.matrices(&self.a)).transpose()?;
        let input = self.input(matrices.as_deref().unwrap_or(&self.a));
        let Memory { states, gradient, gradients } = memory;
        self.recurrence.forward_into(&input, states)?;
        let factor = T::from_f64(2.0 / states.len() as f64);
        states.par_iter().map(|&x| x * factor).collect_into_vec(gradient);
        self.recurrence.backward_into(&input, states, gradient, gradients)?;
        if let Some(brackets) = &self.brackets {
            gradients.a = brackets.matrices_backward(&self.a, &gradients.a)?;
        }
        Ok(())
    }
}

/// What a training loop keeps from step to step.
struct Memory<T> {
    states: Vec<T>,
    gradient: Vec<T>,
    gradients: Gradients<T>,
}

impl<T> Memory<T> {
    fn new() -> Self {
        let gradients = Gradients { a: Vec::new(), coefficients: Vec::new(), initial: Vec::new(), affine: None };
        Self { states: Vec::new(), gradient: Vec::new(), gradients }
    }
}

fn time<T: Float>(args: &BenchSliceArgs) -> Result<(), Failure> {
    let field = args.field.field(WHAT)?;
    fits::<T>(args, &field)?;
    let (recurrence, brackets) = recurrence(args, &field)?;
    let coefficients = recurrence.coefficients();
    let mut job = Job::<T>::new(args, recurrence, brackets, args.field.parameters(&field)?, args.length);
    let mut memory = Memory::new();
    // Large steps make states grow until they overflow. The work of a step does not depend on that: start states anew.
    loop {
        let restart = match job.run(&mut memory) {
            Err(ncde_kernels::Error::Exploded { step, .. }) if job.longest > 1 => step / 2,
            Err(ncde_kernels::Error::GradientExploded { .. }) if job.longest > 1 => job.longest / 2,
            other => {
                other.map_err(refused(WHAT))?;
                break;
            }
        };
        job = Job::new(args, job.recurrence, job.brackets, job.a, restart.max(1));
    }
    let seconds = best(args.run.repeat, || job.run(&mut memory).map_err(refused(WHAT)))?;
    let restart = (job.longest < args.length).then_some(job.longest);
    report("slice", &Parameters { args, coefficients, norm: norm(&job)?, restart }, seconds)
}

/// Increments drive the matrices themselves; log-signatures their brackets, where those have the same structure, or words.
fn recurrence(args: &BenchSliceArgs, field: &Field) -> Result<(Recurrence, Option<Brackets>), Failure> {
    let mut brackets = None;
    let mut recurrence = Recurrence::new(field.clone());
    if args.depth > 1 && field.structure().is_closed() {
        let signature = |source: ncde_signature::Error| Failure::Refused(format!("{WHAT}: {source}"));
        let shape = Shape::new(args.field.channels, args.depth).map_err(signature)?;
        let basis = LieBasis::new(&shape, Basis::Lyndon).map_err(signature)?;
        let bracket = |tree: &Tree| match *tree {
            Tree::Letter(letter) => Bracket::Letter(letter - 1),
            Tree::Bracket(p, q) => Bracket::Pair(p, q),
        };
        let table: Vec<Bracket> = basis.trees().iter().map(bracket).collect();
        let formed = Brackets::new(field, 0, &table).map_err(refused(WHAT))?;
        recurrence = Recurrence::new(formed.widened().map_err(refused(WHAT))?);
        brackets = Some(formed);
    } else if args.depth > 1 {
        recurrence = recurrence.with_contraction(Contraction::Words { depth: args.depth }).map_err(refused(WHAT))?;
    }
    let recurrence = recurrence.with_transition(args.field.transition).with_chunk(args.chunk);
    Ok((recurrence.with_mode(args.mode).map_err(refused(WHAT))?, brackets))
}

/// Refuses what cannot be held: states, their gradient, coefficients and theirs.
fn fits<T: Float>(args: &BenchSliceArgs, field: &Field) -> Result<(), Failure> {
    let steps = args.batch as u128 * args.length as u128;
    let numbers = 2 * steps * (args.field.hidden as u128 + args.field.channels as u128) + 3 * field.parameters() as u128;
    let (batch, length, hidden) = (args.batch, args.length, args.field.hidden);
    memory::check(numbers * size_of::<T>() as u128, |shortage| {
        format!("{WHAT}: for {batch} x {length} x {hidden} states {shortage}; lower `--batch` or `--length`")
    })
}

/// The mean 2-norm of the first generators, by power iteration.
fn norm<T: Float>(job: &Job<T>) -> Result<f64, Failure> {
    const STEPS: usize = 16;
    let field = job.recurrence.field();
    if job.recurrence.contraction() != Contraction::Matrices {
        return Ok(f64::NAN);
    }
    let matrices = job.brackets.as_ref().map(|brackets| brackets.matrices(&job.a)).transpose().map_err(refused(WHAT))?;
    let hidden = field.hidden();
    if field.channels() * hidden * hidden > 1 << 24 {
        return Ok(f64::NAN);
    }
    let dense = field.densify(matrices.as_deref().unwrap_or(&job.a)).map_err(refused(WHAT))?;
    let steps = STEPS.min(job.longest);
    let mut sum = 0.0;
    for lambda in job.coefficients.chunks_exact(field.channels()).take(steps) {
        let mut omega = vec![0.0; hidden * hidden];
        for (l, matrix) in lambda.iter().zip(dense.chunks_exact(hidden * hidden)) {
            omega.iter_mut().zip(matrix).for_each(|(o, a)| *o += l.to_f64() * a.to_f64());
        }
        let mut v: Vec<f64> = (0..hidden).map(|i| normal(INITIAL, i as u64)).collect();
        let mut size = 0.0;
        for _ in 0..50 {
            let w: Vec<f64> = omega.chunks_exact(hidden).map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum()).collect();
            let length = w.iter().map(|x| x * x).sum::<f64>().sqrt();
            let before = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            size = length / before.max(f64::MIN_POSITIVE);
            v = (0..hidden)
                .map(|c| (0..hidden).map(|r| omega[r * hidden + c] * w[r]).sum::<f64>() / length.max(1e-300))
                .collect();
        }
        sum += size;
    }
    Ok(sum / steps as f64)
}
