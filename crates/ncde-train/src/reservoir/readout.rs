//! The readout: from features, less their means and scaled, to outputs.

use ncde_reservoir::sums::Sums;
use ncde_runtime::NamedWeight;
use ncde_runtime::random::Stream;
use rayon::prelude::*;

use super::choose::{Choice, STEP};
use super::down_the_valley;
use super::rows::{CaseRows, Wanted};
use super::table::{Computer, Table};

/// Cases whose features are computed together, the share of cases that is held out to choose a penalty by, and how far that may be from the one before, in steps.
const AT_ONCE: usize = 512;
const HELD_OUT: f64 = 0.1;
const MAX_POWER: i32 = 8;

/// A fitted readout: `y = W^T f (x - m) + b`.
#[derive(Debug)]
pub(super) struct Readout {
    pub(super) shift: Vec<f32>,
    pub(super) factor: Vec<f32>,
    /// `[features, outputs]`.
    pub(super) weight: Vec<f64>,
    pub(super) bias: Vec<f64>,
}

impl Readout {
    /// Of blocks that are mixed, from the products of all pairs of rows.
    pub(super) fn paired(table: &Table, choice: &Choice) -> Self {
        let outputs = table.means.len();
        let mut own = Self { shift: Vec::new(), factor: Vec::new(), weight: Vec::new(), bias: table.means.clone() };
        let mut start = 0;
        for (b, (block, w)) in table.blocks.iter().zip(choice.mix()).enumerate() {
            let size = block.len() / table.rows.max(1);
            if w > 0.0 {
                own.shift.extend(&table.shift[start..start + size]);
                own.factor.extend(&table.factor[start..start + size]);
                let from = own.weight.len();
                own.weight.resize(from + size * outputs, 0.0);
                let weight = &mut own.weight[from..];
                let mut alpha = vec![0.0; table.rows * outputs];
                for (share, member) in &choice.0 {
                    alpha.iter_mut().zip(&member.fit.alpha).for_each(|(sum, alpha)| *sum += share * member.mix[b] * alpha);
                }
                for (row, alpha) in block.chunks_exact(size.max(1)).zip(alpha.chunks_exact(outputs)) {
                    for (weight, &x) in weight.chunks_exact_mut(outputs).zip(row) {
                        weight.iter_mut().zip(alpha).for_each(|(w, alpha)| *w += f64::from(x) * alpha);
                    }
                }
            }
            start += size;
        }
        own
    }

    /// Of very many rows, from sums of products: each is computed once and not stored. `table` has some of the rows, to standardise by. Returned with the error on those
    /// held out, by which the penalty is chosen; none if no fit is possible. `stream` draws them, whole groups at once: files are often sorted by class.
    pub(super) fn summed(
        computer: &Computer,
        cases: &[CaseRows<'_>],
        all: &[Wanted],
        table: Table,
        [mix, weight_of]: [&[f64]; 2],
        per_row: f64,
        stream: &Stream,
    ) -> Option<(Self, f64)> {
        let outputs = table.means.len();
        let sizes: Vec<usize> = table.blocks.iter().map(|block| block.len() / table.rows.max(1)).collect();
        let roots = sizes.iter().zip(mix).flat_map(|(&size, w)| std::iter::repeat_n(w.sqrt() as f32, size));
        let factor: Vec<f32> = table.factor.iter().zip(roots).map(|(factor, root)| factor * root).collect();
        let shift = table.shift;
        let mut parts = [(); 2].map(|()| Sums::new(shift.len(), outputs));
        for some in all.chunks(AT_ONCE) {
            let of = |scratch: &mut _, wanted: &Wanted| -> (Vec<f32>, Vec<f64>) {
                let features = computer.features(&cases[wanted.case], &wanted.observations, scratch);
                let rows = features.chunks_exact(shift.len().max(1)).zip(wanted.targets.chunks_exact(outputs));
                let scaled =
                    |x: &[f32]| x.iter().zip(shift.iter().zip(&factor)).map(|(x, (m, f))| (x - m) * f).collect::<Vec<_>>();
                let row = |(x, y): (&[f32], &[f64])| [scaled(x), y.iter().map(|&y| y as f32).collect()].concat();
                let weight = |y: &[f64]| y.iter().zip(weight_of).map(|(y, weight)| y * weight).sum::<f64>();
                let weights = wanted.targets.chunks_exact(outputs).map(|y| if weight_of.is_empty() { 1.0 } else { weight(y) });
                (rows.flat_map(row).collect(), weights.collect())
            };
            let made: Vec<(Vec<f32>, Vec<f64>)> = some.par_iter().map_init(Default::default, of).collect();
            let mut cut = [(); 2].map(|()| (Vec::new(), Vec::new()));
            for (wanted, (rows, weights)) in some.iter().zip(made) {
                let own = &mut cut[usize::from(stream.uniform(wanted.group as u64) < HELD_OUT)];
                own.0.extend(rows);
                own.1.extend(weights);
            }
            parts.iter_mut().zip(cut).for_each(|(part, (rows, weights))| part.add(&rows, &weights));
        }
        let scale = vec![1.0; shift.len()];
        let at = |power: i32| {
            let lambda = per_row * STEP.powi(power);
            let line = parts[0].fit(&scale, lambda)?;
            let error = parts[1].errors(&line).iter().sum::<f64>() / (parts[1].rows() * outputs as f64).max(1.0);
            (power.abs() <= MAX_POWER).then_some((lambda, error))
        };
        let (lambda, error) = down_the_valley(0, at, |(_, error)| *error)?;
        let line = parts[0].plus(&parts[1]).fit(&scale, lambda)?;
        let features = shift.len();
        let weight = (0..features).flat_map(|f| line.weight.iter().skip(f).step_by(features).copied()).collect();
        Some((Self { shift, factor, weight, bias: line.bias }, error))
    }

    /// The weights of the last two of so many layers; scores are multiplied with `temperature`.
    pub(super) fn named(self, layers: usize, temperature: f64) -> Vec<NamedWeight> {
        let (features, outputs) = (self.shift.len(), self.bias.len());
        let named = |from_end: usize, name: &str, shape: Vec<usize>, values| NamedWeight {
            name: format!("layers.{}.{name}", layers - from_end),
            shape,
            values,
        };
        let warm = |values: &[f64]| values.iter().map(|&x| (temperature * x) as f32).collect();
        vec![
            named(1, "weight", vec![features, outputs], warm(&self.weight)),
            named(1, "bias", vec![outputs], warm(&self.bias)),
            named(2, "shift", vec![features], self.shift),
            named(2, "factor", vec![features], self.factor),
        ]
    }
}
