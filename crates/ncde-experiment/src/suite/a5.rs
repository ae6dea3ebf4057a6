//! `a5`: how many blocks it takes to follow products in `A5`.
//!
//! Published, as a figure (thesis, "Structured Linear NCDEs", results): one block is enough at all lengths from 3 to 20 for dense, block-diagonal, DPLR, sparse
//! and Walsh-Hadamard matrices; diagonal and diagonal-dense ones take more as words get longer.

use std::rc::Rc;

use ncde_kernels::Bound;
use ncde_kernels::permutation::{Diagonal, OneHot};
use ncde_report::plot::{Axis, Spacing};
use ncde_report::statistics::Better;
use ncde_runtime::layer::{PermutationDiagonal, StructureSpec};
use serde_json::json;

use super::tokens::{ACCURACY, Recipe, TIME};
use crate::plan::{Budget, Entry, Metric, Plan, Request};
use crate::record::Record;
use crate::report::learning_curves;
use crate::table::names;
use crate::token::{A5, Around, Fit, Flow, Lengths, Rates, Row, Slice, WALSH_HADAMARD, curve};
use crate::{Error, Figure};

pub(super) const ENTRY: Entry = Entry {
    name: "a5",
    summary: "word problem on the group A5: the fewest blocks that exceed 90 %",
    needs: "nothing; words are drawn",
    settings: true,
    plan,
};

/// The seed of which words are held out, whatever the seed of a run.
pub(super) const SPLIT: u64 = 1234;
/// The seeds of published runs.
pub(super) const SEEDS: [u64; 5] = [1234, 1235, 1236, 1237, 1238];
pub(super) const ENOUGH: f64 = 0.9;
/// The most blocks that are tried.
const MAX_BLOCKS: usize = 4;

const BLOCKS: Metric =
    Metric { name: "blocks", title: "fewest blocks above 90 %", factor: 1.0, digits: 0, better: Some(Better::Less) };

/// The rows of the figure: 1024 parameters a matrix.
pub(super) fn rows(budget: Budget) -> Vec<Row> {
    let of = |quick, paper| budget.of(quick, paper);
    vec![
        Row::new("diagonal", of(256, 1024), StructureSpec::Diagonal {}),
        Row::new("block", of(64, 256), StructureSpec::Block { block: 4 }),
        Row::new("diagonal-dense", of(128, 518), StructureSpec::DiagonalDense { block: of(12, 23) }),
        Row::new("dense", 32, StructureSpec::Dense {}),
        Row::new("dplr", of(64, 205), StructureSpec::Dplr { rank: 2 }),
        Row::new("sparse", of(64, 128), StructureSpec::Sparse { epsilon: 3.0 / 7.0 }),
        Row::new("walsh-hadamard", of(512, 1024), budget.of(UNBOUNDED, WALSH_HADAMARD)),
        Row::permutation(PERMUTATION, permutation(), Around::Skips),
        Row::baseline("lstm", of(64, 1024)),
        Row::baseline("slstm", of(64, 1024)),
        Row::baseline("mlstm", of(64, 1024)),
        Row::baseline("mamba", of(64, 1024)),
        Row::baseline("mamba2", of(64, 1024)),
        Row::baseline("s4d", of(64, 1024)),
        Row::baseline("transformer", of(64, 1024)),
        Row::baseline("gated-delta-product", of(64, 1024)),
    ]
}

const PERMUTATION: &str = "permutation-diagonal";

/// A group is followed exactly by choices alone, and `A5` by the places of five states. Scores are large enough for a token to have few matrices, and small enough for no two tokens to have the same:
/// with larger ones that is what training does not get away from.
fn permutation() -> PermutationDiagonal {
    let (diagonal, one_hot) = (Diagonal::One, OneHot::Rows);
    PermutationDiagonal { diagonal, one_hot, scores: 3.0, sharpness: 10.0, ..PermutationDiagonal::new(64, 60) }
}

/// Of a small model, learned faster than with bounded diagonals.
const UNBOUNDED: StructureSpec = StructureSpec::WalshHadamard { bound: Bound::None };

/// What increments are multiplied with, the largest rate and the most steps of a row at `quick`: small models with few channels need larger increments.
fn quick(row: &str) -> (f64, f64, usize) {
    match row {
        "lstm" | "slstm" | "mlstm" | "mamba" | "mamba2" | "s4d" | "transformer" | "gated-delta-product" => (0.0, 3e-3, 4000),
        "dense" => (0.3, 1e-2, 4000),
        "dplr" => (0.2, 1e-2, 4000),
        "sparse" => (0.4, 1e-2, 4000),
        "walsh-hadamard" => (0.3, 1e-2, 6000),
        _ => (0.15, 1e-2, 4000),
    }
}

pub(super) fn recipe(budget: Budget, row: Row, blocks: usize, seed: u64) -> Recipe {
    // Choices are learned at a larger rate, and hold their states exactly or not at all: nothing is dropped from them.
    let (own_rate, own_dropout) = if row.name == PERMUTATION { (1e-2, 0.0) } else { (1e-3, 0.1) };
    let (scale, rate, steps) = budget.of(quick(row.name), (1.0 / 40.0, own_rate, 1_000_000));
    let slice = Slice { blocks, scale, init: 1.0, dropout: budget.of(0.0, own_dropout), flow: Flow::Euler };
    let fit = Fit {
        steps,
        rates: Rates { peak: rate, floor: 1e-5, warmup: 0.1 },
        decay: 0.01,
        clip: budget.of(1.0, 0.0),
        penalty: budget.of(0.0, row.penalty()),
        look: budget.of(200, 10_000),
        held_out: budget.of(1000, 200_000),
        enough: ENOUGH,
        seed,
    };
    Recipe { row, slice, fit }
}

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    let lengths: Vec<usize> = budget.of(vec![8], (3..=20).collect());
    let batch = budget.of(64, 256);
    let most = budget.of(1, MAX_BLOCKS);
    let mut jobs = Vec::new();
    for row in rows(budget).into_iter().filter(|row| row.is_trained(request)) {
        for &length in &lengths {
            for seed in request.seeds(&SEEDS) {
                for blocks in 1..=most {
                    let source = Rc::new(A5::new(Lengths::One(length), batch, SPLIT, seed));
                    let words = json!({"length": length, "batch": batch, "split": SPLIT});
                    let (model, task) = (name(row.name, blocks), format!("length-{length}"));
                    let own = recipe(budget, row.clone(), blocks, seed).asked(request, &model)?;
                    let mut job = own.job((model, task.clone(), seed), (source, words), move |fitted, own| {
                        let mut own = own;
                        if curve(fitted).last().is_some_and(|point| point[1] > ENOUGH) {
                            own.values.insert("blocks".into(), blocks as f64);
                        }
                        Ok(own)
                    });
                    // Fewer blocks were enough.
                    let own = row.name;
                    job.spare = Some(Box::new(move |records| {
                        records.iter().any(|record| {
                            let same = structure(&record.model) == own && record.task == task && record.seed == seed;
                            same && record.value("blocks").is_some()
                        })
                    }));
                    jobs.push(job);
                }
            }
        }
    }
    Ok(Plan {
        title: format!("A5: products of even permutations ({budget})"),
        differences: differences(budget),
        jobs,
        metrics: vec![ACCURACY, BLOCKS, TIME],
        published: Vec::new(),
        // Runs stop above 90 %: their accuracies say nothing more.
        compared: false,
        figures,
        findings,
    })
}

fn differences(budget: Budget) -> Vec<String> {
    let mut all = vec![
        "Published: a figure, in which one block is enough at all lengths for dense, block, dplr, sparse and walsh-hadamard.".to_owned(),
        "Words are drawn, not read from a file: word i is the i-th of a random order of all words of its length, so that words are distinct; \
         the parts are the first 80 % and the rest of that order (split seed 1234)."
            .into(),
        "The low-rank part of dplr is linear in the increment, as in the thesis's text; its code on tokens is quadratic.".into(),
        super::tokens::BLOCK.into(),
        "permutation-diagonal is not in the thesis; one layer was published to be enough at all lengths since (PD-SSM), its settings were not: here 64 states, choices alone, rate 1e-2, no dropout.".into(),
        "lstm, slstm, mlstm, mamba, mamba2, s4d, transformer and gated-delta-product are trained where they are asked for (`--model lstm`); their blocks are our presets of these names.".into(),
        "diagonal-dense is in the thesis's figure, but not in its public code on tokens; here it is trained like the others.".into(),
    ];
    if budget == Budget::Quick {
        all.push(
            "Cut: length 8 alone, one block alone, 64 words a step instead of 256, at most 4000 steps (walsh-hadamard 6000) instead of a \
             million, 1000 words to validate; no dropout and no penalty; rate 1e-2 instead of 1e-3, gradients of norm at most 1; \
             256 parameters a matrix or about that instead of 1024 (dense excepted, and walsh-hadamard, which has 512), increments times 0.15 to 0.4 instead of 1/40, diagonals of walsh-hadamard \
             without a bound."
                .into(),
        );
    }
    all
}

/// The name of a model of so many blocks.
fn name(row: &str, blocks: usize) -> String {
    if blocks == 1 { row.into() } else { format!("{row}-x{blocks}") }
}

fn structure(model: &str) -> &str {
    model.split_once("-x").map_or(model, |(own, _)| own)
}

/// The fewest blocks that were enough, over all seeds the worst.
fn fewest(records: &[Record], row: &str, task: &str) -> Option<f64> {
    let own = records.iter().filter(|record| structure(&record.model) == row && record.task == task);
    own.filter_map(|record| record.value("blocks")).reduce(f64::max)
}

fn figures(records: &[Record]) -> Vec<Figure> {
    let length = |task: &str| task.strip_prefix("length-").and_then(|length| length.parse::<f64>().ok());
    let structures = names(records, |record| structure(&record.model));
    let line = |row: &&str| {
        let point = |task: &str| Some([length(task)?, fewest(records, row, task)?]);
        ((*row).to_owned(), names(records, |record| &record.task).into_iter().filter_map(point).collect())
    };
    let (x, y) = (Axis::new("length of words", Spacing::Whole), Axis::new("blocks", Spacing::Whole));
    let mut all = vec![Figure::lines("Fewest blocks above 90 %", x, y, structures.iter().map(line).collect())];
    all.extend(learning_curves(records, "accuracy", &ACCURACY));
    all
}

fn findings(records: &[Record]) -> Vec<String> {
    let mut all = Vec::new();
    for task in names(records, |record| &record.task) {
        let one = |record: &&Record| record.task == task && structure(&record.model) == record.model;
        let (enough, not): (Vec<&Record>, Vec<&Record>) =
            records.iter().filter(one).partition(|record| record.value("blocks").is_some());
        let list = |records: &[&Record]| {
            let mut own: Vec<&str> = records.iter().map(|record| record.model.as_str()).collect();
            own.dedup();
            if own.is_empty() { "none".into() } else { own.join(", ") }
        };
        all.push(format!("{task}: one block exceeds 90 % for {}; it does not for {}.", list(&enough), list(&not)));
    }
    all
}
