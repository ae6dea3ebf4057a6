//! `formal`: four regular languages, trained on words up to 40 and validated on words of 40 to 256.
//!
//! Published: thesis, "Structured Linear NCDEs", tables of regular language tasks; mean and deviation over five runs.

use std::rc::Rc;

use ncde_kernels::permutation::OneHot;
use ncde_runtime::layer::{PermutationDiagonal, StructureSpec};
use serde_json::json;

use super::a5::SEEDS;
use super::tokens::{ACCURACY, BEST, Recipe, TIME};
use crate::Error;
use crate::frontier::frontier;
use crate::plan::{Budget, Entry, Plan, Published, Request};
use crate::record::Record;
use crate::report::learning_curves;
use crate::table::{Mean, mean, names};
use crate::token::{Around, Fit, Flow, Formal, Language, Matrices, Rates, Row, Slice, WALSH_HADAMARD};

pub(super) const ENTRY: Entry = Entry {
    name: "formal",
    summary: "regular languages: cycle navigation, even pairs, modular arithmetic, parity",
    needs: "nothing; words are drawn",
    settings: true,
    plan,
};

const fn block(block: usize) -> StructureSpec {
    StructureSpec::Block { block }
}

const fn tail(block: usize) -> StructureSpec {
    StructureSpec::DiagonalDense { block }
}

/// One-hot matrices and a real diagonal that hardly decays at first, with nothing added to states: what is held is held over any length. By rows, from learned states and with sharp choices, all four
/// languages are learned; small models by columns learn three of them in the few steps of `quick`. At 0.99 a state that nothing changes loses 92 % over a word of 256, at 0.999 a quarter.
fn permutation(budget: Budget) -> Row {
    let rows = PermutationDiagonal {
        one_hot: OneHot::Rows,
        scores: 3.0,
        sharpness: 10.0,
        keep: 0.999,
        ..PermutationDiagonal::new(64, 16)
    };
    Row::permutation(PERMUTATION, budget.of(PermutationDiagonal::new(32, 8), rows), Around::Skips)
}

const PERMUTATION: &str = "permutation-diagonal";

/// What was published for permutation-diagonal matrices since the thesis (PD-SSM, two blocks of 128 complex states; five seeds, of each run its best look).
const PUBLISHED_SINCE: [[f64; 2]; 4] = [[99.5, 0.7], [99.7, 0.3], [96.2, 3.4], [99.9, 0.1]];

const fn dplr(rank: usize) -> StructureSpec {
    StructureSpec::Dplr { rank }
}

/// A row and what was published for it: mean and deviation in percent of the four languages in order.
type Known = (Row, [[f64; 2]; 4]);

/// The sixteen rows of the table: 512 parameters a matrix, two rows of 128 aside.
fn rows() -> Vec<Known> {
    let row = |name, hidden, structure, known| (Row::new(name, hidden, structure), known);
    let diagonal = StructureSpec::Diagonal {};
    vec![
        row("diagonal-128", 128, diagonal.clone(), [[69.5, 6.3], [100.0, 0.0], [20.8, 0.2], [89.12, 18.6]]),
        row("diagonal-512", 512, diagonal, [[59.7, 5.1], [100.0, 0.0], [20.9, 0.1], [100.0, 0.0]]),
        row("walsh-hadamard-128", 128, WALSH_HADAMARD, [[69.7, 8.8], [93.1, 13.9], [20.5, 0.3], [50.7, 0.3]]),
        row("walsh-hadamard-512", 512, WALSH_HADAMARD, [[35.5, 1.8], [58.5, 2.5], [23.8, 1.1], [71.4, 12.9]]),
        row("block-256-2", 256, block(2), [[92.5, 14.0], [72.7, 3.0], [37.7, 2.6], [99.6, 0.8]]),
        row("block-128-4", 128, block(4), [[99.8, 0.2], [85.9, 11.3], [54.0, 12.5], [95.3, 3.9]]),
        row("block-64-8", 64, block(8), [[99.9, 0.1], [91.3, 6.3], [70.6, 21.4], [54.1, 4.9]]),
        row("block-32-16", 32, block(16), [[97.6, 3.5], [94.7, 6.5], [76.6, 22.1], [50.8, 0.3]]),
        row("diagonal-dense-510-2", 510, tail(2), [[61.9, 20.4], [91.3, 11.5], [20.8, 0.2], [97.8, 2.9]]),
        row("diagonal-dense-500-4", 500, tail(4), [[81.6, 15.0], [85.3, 18.0], [29.4, 15.4], [83.7, 9.4]]),
        row("diagonal-dense-456-8", 456, tail(8), [[90.6, 9.4], [90.7, 3.0], [31.0, 4.2], [79.9, 3.5]]),
        row("diagonal-dense-272-16", 272, tail(16), [[73.3, 29.4], [84.8, 8.5], [98.4, 0.7], [83.8, 11.3]]),
        row("dplr-171-1", 171, dplr(1), [[46.5, 26.3], [91.1, 4.4], [25.8, 10.2], [87.8, 9.5]]),
        row("dplr-102-2", 102, dplr(2), [[53.1, 14.7], [96.8, 5.1], [43.9, 9.0], [79.7, 14.4]]),
        row("dplr-57-4", 57, dplr(4), [[81.1, 16.6], [100.0, 0.0], [68.3, 19.3], [91.0, 18.0]]),
        row("dplr-30-8", 30, dplr(8), [[90.1, 10.2], [100.0, 0.0], [60.3, 19.7], [50.7, 0.3]]),
    ]
}

/// The models that the thesis compares with, two blocks each.
fn baselines(budget: Budget) -> Vec<Known> {
    let row = |name, known| (Row::baseline(name, budget.of(64, 128)), known);
    vec![
        row("lstm", [[100.0, 0.0], [100.0, 0.0], [99.9, 0.1], [100.0, 0.0]]),
        row("slstm", [[32.5, 0.4], [100.0, 0.0], [27.7, 0.6], [100.0, 0.0]]),
        row("xlstm", [[53.5, 5.6], [99.0, 1.9], [29.3, 1.6], [100.0, 0.0]]),
        row("deltanet", [[49.8, 4.7], [100.0, 0.0], [42.2, 4.8], [57.8, 0.8]]),
        row("deltanet-negative", [[46.7, 6.1], [100.0, 0.0], [66.4, 8.8], [97.7, 2.0]]),
        row("gated-deltanet", [[53.8, 8.8], [100.0, 0.0], [42.8, 8.2], [56.5, 1.9]]),
        row("gated-delta-product", [[46.3, 6.6], [100.0, 0.0], [78.4, 10.9], [98.0, 1.4]]),
        row("rwkv7", [[37.8, 5.0], [88.1, 14.2], [39.5, 6.1], [51.1, 0.3]]),
        row("mlstm", [[52.4, 10.5], [99.9, 0.1], [28.8, 3.1], [53.0, 2.1]]),
        row("transformer", [[24.4, 0.5], [90.4, 10.4], [23.6, 0.7], [52.2, 0.4]]),
        row("mamba", [[48.4, 2.2], [100.0, 0.0], [33.1, 6.6], [54.2, 2.1]]),
        row("s4d", [[23.7, 1.1], [68.7, 4.7], [21.7, 0.4], [51.2, 1.0]]),
    ]
}

/// The rows that `quick` trains beside a small one of its own: those with the fewest numbers.
const QUICK: [&str; 3] = ["diagonal-128", "walsh-hadamard-128", "dplr-30-8"];

/// The row of `quick` alone, which does all languages: 128 parameters a matrix.
const SMALL: Row = Row::new("block-32-4", 32, block(4));

fn recipe(budget: Budget, row: Row, seed: u64) -> Recipe {
    // Published models learn not to grow over words of 256 in 100,000 steps. Small blocks are kept from growing at all.
    let blocks = matches!(row.structure, Matrices::Linear(StructureSpec::Block { .. }));
    let (flow, scale, init) = match budget {
        Budget::Quick if blocks => (Flow::Contractive, 0.2, 0.3),
        Budget::Quick => (Flow::Euler, 0.05, 0.3),
        Budget::Paper => (Flow::Euler, 1.0 / 40.0, 0.5),
    };
    // Gradients through choices are those of other matrices than the chosen ones: now and then far too long.
    let chooses = matches!(row.structure, Matrices::Permutation { .. });
    let slice = Slice { blocks: 2, scale, init, dropout: 0.01, flow };
    let fit = Fit {
        steps: budget.of(2000, 100_000),
        rates: Rates { peak: budget.of(5e-3, 2e-3), floor: 1e-5, warmup: budget.of(0.05, 0.1) },
        decay: 0.01,
        clip: budget.of(1.0, if chooses { 1.0 } else { 0.0 }),
        penalty: budget.of(0.0, row.penalty()),
        look: budget.of(400, 5000),
        held_out: budget.of(512, 8192),
        enough: 0.9995,
        seed,
    };
    Recipe { row, slice, fit }
}

fn plan(request: &Request) -> Result<Plan, Error> {
    let budget = request.budget;
    let batch = budget.of(64, 256);
    let mut jobs = Vec::new();
    let mut published = Vec::new();
    let small = (budget == Budget::Quick).then_some((SMALL, None));
    let since = permutation(budget);
    let known = rows().into_iter().chain(baselines(budget)).map(|(row, known)| (row, Some(known)));
    for (row, known) in small.into_iter().chain([(since, Some(PUBLISHED_SINCE))]).chain(known) {
        for (i, (task, language)) in Language::ALL.into_iter().enumerate() {
            if let Some([mean, deviation]) = known.map(|known| known[i]) {
                let (model, metric) = (row.name, ACCURACY.name);
                published.push(Published { model, task, metric, mean: mean / 100.0, deviation: Some(deviation / 100.0) });
            }
            let quick = if language == Language::CycleNavigation { &QUICK[..] } else { &[] };
            if !request.wants(row.name, &[&[SMALL.name, PERMUTATION], quick].concat()) {
                continue;
            }
            for seed in request.seeds(&SEEDS) {
                let source = Rc::new(Formal { language, batch, seed, train: [3, 40], held_out: [40, 256] });
                let words = json!({"language": task, "batch": batch, "train": source.train, "held_out": source.held_out});
                let who = (row.name.to_owned(), task.to_owned(), seed);
                jobs.push(
                    recipe(budget, row.clone(), seed).asked(request, row.name)?.job(who, (source, words), |_, own| Ok(own)),
                );
            }
        }
    }
    Ok(Plan {
        title: format!("Regular languages ({budget})"),
        differences: differences(budget),
        jobs,
        metrics: vec![ACCURACY, BEST, TIME],
        published,
        compared: true,
        figures: |records| {
            let mut all = vec![frontier(records, &ACCURACY, &TIME, None)];
            all.extend(learning_curves(records, "accuracy", &ACCURACY));
            all
        },
        findings,
    })
}

fn differences(budget: Budget) -> Vec<String> {
    let mut all = vec![
        "Tokens and answers are numbered by themselves; in the published code they share one list with a token for padding.".to_owned(),
        "The low-rank part of dplr is linear in the increment, as in the thesis's text; its code on tokens is quadratic.".into(),
        "A step of the flow is I + Omega, as published: exp has positive eigenvalues only, and a diagonal one then cannot count modulo 2.".into(),
        super::tokens::BLOCK.into(),
        "permutation-diagonal is not in the thesis: 98.8 % on average were published for it since (PD-SSM, two blocks of 128 complex states; of each run its best look). There inputs are added to states, which begin as (1, 0, ..., 0) \
         and decay by moduli of about 1/2 at first, all from a network; here nothing is added, states begin as they are learned and hardly decay at first, 64 are enough, and they are real; choices are learned through a sharper soft-max, with gradients of norm at most 1."
            .into(),
    ];
    if budget == Budget::Quick {
        all.push(format!(
            "Cut: {} and {PERMUTATION} with 32 real states, by columns and with nothing added to them, on all languages, which are smaller than the published rows, and {} on cycle navigation; others, and those on other languages, with \
             `--model`. 64 words a step instead of 256, 2000 steps instead of 100,000, rate 5e-3 instead of 2e-3, gradients of norm at most 1, no penalty, \
             increments times 0.2 or 0.05 instead of 1/40, 512 words to validate instead of 8192. Rows with blocks have exact flows of which no state grows \
             (skew matrices for tokens), which the published ones do not: that is what makes so few steps enough on longer words. One seed.",
            SMALL.name,
            QUICK.join(", ")
        ));
    }
    all
}

fn findings(records: &[Record]) -> Vec<String> {
    let tasks = names(records, |record| &record.task);
    let mut all = Vec::new();
    for model in names(records, |record| &record.model) {
        let own: Vec<f64> =
            tasks.iter().filter_map(|task| mean(records, model, task, ACCURACY.name)).map(|own| own.mean).collect();
        if let Some(own) = Mean::of(&own).filter(|own| own.seeds == Language::ALL.len()) {
            all.push(format!("{model}: {:.1} % on average over the four languages.", 100.0 * own.mean));
        }
    }
    all
}
