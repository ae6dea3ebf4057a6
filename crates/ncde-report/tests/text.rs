//! Reports as text: Markdown and the terminal.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use crate::common;

use common::{Made, classifier, empty, hostile, many_classes, regressor, several};
use ncde_report::metrics::spread;
use ncde_report::record::Prediction;
use ncde_report::{Glyphs, RunRecord, html, markdown, terminal};

/// Every run that tests show.
fn all() -> Vec<RunRecord> {
    let mut runs = several();
    runs.extend([hostile(), empty(), many_classes(13), many_classes(60)]);
    runs
}

#[test]
fn markdown_of_one_run_says_what_matters() {
    let text = markdown(&[classifier(Made::default())]);
    for wanted in [
        "# slice on Motions\n",
        "| test accuracy            | 89.6 %  | 95 % interval 85.1 to 92.8 %, 240 cases",
        "| parameters               | 48,213  |",
        "| **running**        | 3 (3 %)   | 89 (93 %) | 4 (4 %)        |",
        "| 1,100 (best) | 1 min 50 s |",
        "```sh\nncde train --data motions.csv --model slice --seed 1 --out runs/slice\n```",
        "```toml\nseed = 1\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn markdown_of_several_runs_compares_them() {
    let runs = several();
    let text = markdown(&runs);
    let row =
        |letter: &str| text.lines().find(|line| line.starts_with("| Motions") && line.contains(&format!("| {letter} "))).unwrap();
    assert!(text.starts_with("# 14 training runs on 2 data sets\n"), "{text:.80}");
    // Five seeds are one row with their mean: 89.6, 88.3, 82.9, 90.8 and 87.5 %, and t = 2.776 for four degrees of freedom.
    let cells: Vec<&str> = row("A").split('|').map(str::trim).collect();
    assert_eq!(
        cells[2..10],
        [
            "A",
            "slice: block 4, H = 64, depth 2, windows of 16",
            "accuracy",
            "87.8 %",
            "± 3.8",
            "intervals overlap",
            "40.0 % majority class",
            "5"
        ]
    );
    // The slowest is not the best; one nearly as fast as A is better.
    let frontier: Vec<bool> =
        ["A", "B", "C", "D", "E"].iter().map(|letter| row(letter).trim_end().ends_with("yes             |")).collect();
    assert_eq!(frontier, [true, true, true, false, true]);
    // The best is first.
    let letters: Vec<&str> = text.lines().filter(|line| line.starts_with("| Motions")).map(|line| &line[16..17]).collect();
    assert_eq!(letters, ["C", "E", "A", "D", "B"], "{text:.3000}");
    // A single run has the interval of its cases: of 240 numbers, that of the mean square of their errors.
    let square = |case: &Prediction| (case.truth.number().unwrap() - case.predicted.number().unwrap()).powi(2);
    let squares: Vec<f64> = runs[13].predictions.iter().map(square).collect();
    let half = spread(&squares).unwrap().half.unwrap();
    let mse = squares.iter().sum::<f64>() / 240.0;
    let row_of_numbers = text.lines().find(|line| line.starts_with("| Heart rates")).unwrap();
    let interval = format!(" {:.3} to {:.3} ", mse - half, mse + half);
    assert!(row_of_numbers.contains(&interval), "{interval}: {row_of_numbers}");
    assert!(row("E").contains("| 85.6 to 93.2 "), "{}", row("E"));
    assert!(text.contains("\n## Run 14: slice on Heart rates, seed 1\n"));
}

#[test]
fn runs_are_put_together_if_nothing_but_the_seed_differs() {
    let run = |seed| classifier(Made { seed, ..Made::default() });
    let rows = |runs: &[RunRecord]| markdown(runs).lines().filter(|line| line.contains("| slice: ")).count();
    let mut other = run(2);
    assert_eq!(rows(&[run(1), other.clone()]), 1);
    // A random mask or split makes no new model; another configuration does.
    other.model.parameters += 1;
    (other.data.train, other.data.test) = (other.data.train - 1, other.data.test + 1);
    assert_eq!(rows(&[run(1), other.clone()]), 1);
    other.config += "rate = 0.1\n";
    assert_eq!(rows(&[run(1), other]), 2);
}

#[test]
fn a_run_that_was_not_tested_says_so() {
    let mut run = classifier(Made::default());
    run.validation = run.test.take();
    let text = markdown(&[run.clone(), classifier(Made { seed: 2, detail: "H = 1", ..Made::default() })]);
    assert!(text.contains("| 89.6 % (validation) |") && text.contains("| validation accuracy "), "{text:.600}");
    assert!(terminal(&run, 80, Glyphs::Ascii).contains("\nvalidation accuracy "));
}

#[test]
fn markdown_tables_stay_tables() {
    for run in all() {
        let text = markdown(&[run]);
        let mut fenced = String::new();
        for line in text.lines() {
            match line.strip_prefix("```") {
                Some(_) if fenced.is_empty() => fenced = line.chars().take_while(|character| *character == '`').collect(),
                _ if !fenced.is_empty() && line == fenced => fenced.clear(),
                _ => assert!(!fenced.is_empty() || !line.contains("<script"), "{line}"),
            }
        }
        assert!(fenced.is_empty(), "a fence is left open");
        // All rows of a table have as many cells.
        for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let cells = |line: &str| line.replace("\\|", "").matches('|').count();
            assert!(block.lines().all(|line| cells(line) == cells(block.lines().next().unwrap())), "{block}");
        }
        assert!(!text.contains("NaN") && !text.contains("| inf"), "{text}");
    }
}

#[test]
fn a_terminal_is_never_overrun() {
    for run in all() {
        for width in [0, 32, 40, 57, 80, 500] {
            for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                let text = terminal(&run, width, glyphs);
                let room = width.clamp(32, 80);
                for line in text.lines() {
                    assert!(line.chars().count() <= room, "{width}: {line}");
                    assert_eq!(line, line.trim_end());
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                }
                assert!(glyphs == Glyphs::Unicode || text.is_ascii(), "{text}");
                assert!(!text.contains("NaN") && text.ends_with('\n'));
            }
        }
    }
}

#[test]
fn a_terminal_shows_numbers_curves_and_confusion() {
    let text = terminal(&classifier(Made::default()), 80, Glyphs::Unicode);
    for wanted in [
        "slice on Motions\n\ntest accuracy              89.6 %  95 % interval 85.1 to 92.8 %, 240 cases\n",
        "\ntraining loss\n  1.056 |",
        "\nvalidation accuracy (more is better)\n93.4 % |",
        "                walking  running  standing still\nwalking              82        8               6\nrunning               3       89               4\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let regression = terminal(&regressor(Made::default()), 80, Glyphs::Ascii);
    assert!(regression.contains("test MSE") && regression.contains("R2 0.9844") && !regression.contains("column for each"));
    // Names are cut where they do not fit, and columns have numbers where cut names would be the same.
    let narrow = terminal(&classifier(Made::default()), 40, Glyphs::Unicode);
    assert!(narrow.contains("               walking  running  standi…\nwalking             82        8        6\n"), "{narrow}");
    let mut alike = classifier(Made::default());
    alike.data.classes = (1..=3).map(|i| format!("movement number {i}")).collect();
    alike.data.classes[2] = "movement number 1, again number 1".into();
    let narrow = terminal(&alike, 40, Glyphs::Unicode);
    assert!(narrow.contains("   1   2   3\n1 movement number 1           82   8   6\n"), "{narrow}");
    // Many classes are too wide for a matrix.
    assert!(!terminal(&many_classes(60), 80, Glyphs::Unicode).contains("column for each"));
}

#[test]
fn a_curve_on_a_terminal_is_empty_where_the_loss_was_none() {
    let mut run = classifier(Made::default());
    run.best = None;
    let last = run.history.len();
    for point in &mut run.history[last / 2..] {
        point.loss = f64::NAN;
    }
    let text = terminal(&run, 60, Glyphs::Ascii);
    let bottom = text.lines().skip_while(|line| !line.starts_with("training loss")).nth(6).unwrap();
    let bar = bottom.split('|').nth(1).unwrap();
    assert!((20..30).contains(&bar.len()) && text.contains(" 1,500\n"), "{text}");
}

#[test]
fn a_curve_on_a_terminal_goes_where_the_values_go() {
    let mut run = classifier(Made::default());
    run.best = None;
    let last = run.history.len() - 1;
    for (at, point) in run.history.iter_mut().enumerate() {
        point.loss = at as f64;
    }
    let text = terminal(&run, 60, Glyphs::Unicode);
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("training loss")).skip(1).take(6).collect();
    let bars: Vec<&str> = rows.iter().map(|row| row.split('|').nth(1).unwrap()).collect();
    // A ramp fills each row from further left than the one above, and reaches the top at the end.
    let starts: Vec<usize> = bars.iter().map(|bar| bar.chars().position(|block| block != ' ').unwrap()).collect();
    assert!(starts.windows(2).all(|pair| pair[0] > pair[1]) && starts[5] == 0, "{starts:?}");
    assert!(bars[0].ends_with('█') && bars[5].starts_with('▁'), "{bars:?}");
    assert!(rows[0].starts_with(&format!("{last} |")) && rows[5].trim_start().starts_with("0 |"), "{rows:?}");
}

/// Four models on three data sets, one of which has no run of the last.
pub(crate) fn over_data_sets() -> Vec<RunRecord> {
    let mut runs = Vec::new();
    for (at, set) in ["motions", "hearts|beats", "words"].into_iter().enumerate() {
        for (model, skill) in [("slice", 3.5), ("ncde", 0.8), ("log-ncde", 2.0), ("nrde", 1.2)] {
            // Settings may differ between data sets, where names are enough.
            let detail = format!("H = {}", 16 << at);
            let mut run = classifier(Made { model, detail: &detail, skill, ..Made::default() });
            run.data.name = set.into();
            runs.extend((model != "nrde" || at > 0).then_some(run));
        }
    }
    runs
}

#[test]
fn models_on_several_data_sets_are_ranked_over_them() {
    let runs = over_data_sets();
    let text = markdown(&runs);
    assert!(text.contains("## All data sets: accuracy") && text.contains("| hearts\\|beats |"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.ends_with("| average rank |") || line.ends_with(".00         |")).collect();
    assert!(rows.len() == 4 && rows[1].starts_with("| slice ") && rows[3].starts_with("| ncde "), "{rows:?}");
    assert!(text.contains("Friedman test, corrected for ties: chi-square = 6.00 with 2 degrees of freedom"), "{text}");
    let page = html(&runs);
    assert!(page.contains("<h2>All data sets</h2>") && page.contains("slice (1.00)") && page.contains("class=\"clique\""));
    // Two data sets with two models in common are only shown by themselves.
    assert!(!markdown(&runs[..5]).contains("All data sets"));
}
