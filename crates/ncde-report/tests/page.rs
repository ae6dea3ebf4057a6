//! The page: well formed, closed in itself, and with what it should show. `.ci/pages` looks at it in a browser.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use crate::common;

use std::fs;
use std::path::Path;

use common::{Made, classifier, empty, forecaster, hostile, many_classes, rare_class, regressor, several};
use ncde_report::plot::{Axis, Chart, Layer, Ranking, Spacing};
use ncde_report::record::{Outcome, StopReason};
use ncde_report::{Cell, Column, Metrics, Page, RunRecord, html};

/// Pages of all kinds, by name.
fn pages() -> Vec<(&'static str, String)> {
    let mut single = classifier(Made::default());
    single.history.truncate(1);
    let crowd: Vec<_> = (0..30)
        .map(|at| {
            let detail = format!("H = {at}");
            classifier(Made { detail: &detail, seconds_per_step: 0.01 + 1e-4 * f64::from(at), ..Made::default() })
        })
        .collect();
    vec![
        ("nothing", html(&[])),
        ("classifier", html(&[classifier(Made::default())])),
        ("regressor", html(&[regressor(Made::default())])),
        ("forecaster", html(&[forecaster(3.0)])),
        ("bad forecaster", html(&[forecaster(30.0)])),
        ("rare class", html(&[rare_class()])),
        ("several", html(&several().into_iter().enumerate().map(placed).collect::<Vec<_>>())),
        ("data sets", html(&crate::text::over_data_sets())),
        ("13 classes", html(&[many_classes(13)])),
        ("20 classes", html(&[many_classes(20)])),
        ("60 classes", html(&[many_classes(60)])),
        ("hostile", html(&[hostile()])),
        ("hostile among others", html(&[hostile(), empty(), classifier(Made::default())])),
        ("empty", html(&[empty()])),
        ("one point", html(&[single])),
        ("scales", html(&scales())),
        ("experiment", experiment()),
        ("crowd", html(&crowd)),
    ]
}

/// A run that was read from a directory.
fn placed((place, run): (usize, RunRecord)) -> RunRecord {
    RunRecord { directory: format!("experiments/motions/run-{place}"), ..run }
}

/// A page of tables and plots of others: an odd number of plots, one alone, and a diagram of ranks.
fn experiment() -> String {
    let names = ["dense", "block-diagonal", "a structure with a name that is long"].map(String::from);
    let chart = |title: &str| {
        let line = |colour: usize| Layer::Line { points: vec![[0.0, colour as f64], [1e4, 2.0]], colour, dashed: false };
        let (x, y) = (Axis::new("step", Spacing::Whole), Axis::new("accuracy (%)", Spacing::Linear));
        Chart { title: title.into(), x, y, layers: (0..3).map(line).collect() }
    };
    let charts = ["length 5", "length 10", "length 20"].map(chart);
    let mut page = Page::new("An experiment");
    page.list(&names);
    let columns = [("model", Column::Name), ("length 5", Column::Number), ("length 10", Column::Number)];
    page.table(
        "Accuracy (%)",
        &columns,
        vec![vec![Cell::from(names[0].clone()), Cell::bold("99.1"), Cell::from("80.0".to_owned())]],
    );
    page.charts(&charts.iter().map(|chart| (chart, &names[..])).collect::<Vec<_>>());
    page.charts(&[(&charts[0], &names[..])]);
    let ranks = Ranking { models: names.into_iter().zip([1.2, 2.0, 2.8]).collect(), cliques: vec![[0, 1]] };
    page.ranking("Average ranks", &ranks);
    page.finish()
}

/// Runs whose losses, steps, times and predictions are tiny and huge, with the best step at every place.
fn scales() -> Vec<RunRecord> {
    let scaled = |power: i32| {
        let detail = format!("times ten to {power}");
        let mut run = regressor(Made { detail: &detail, seconds_per_step: 10_f64.powi(power), ..Made::default() });
        let scale = 10_f64.powi(power) * 1.7;
        let stretch = 7_usize.pow(power.unsigned_abs());
        for point in &mut run.history {
            (point.loss, point.step) = (point.loss * scale, point.step * stretch);
            point.metric = point.metric.map(|value| value * scale);
        }
        for case in &mut run.predictions {
            let shift = |value: &Outcome| Outcome::from(value.number().unwrap() * scale - 3.0 * scale);
            (case.truth, case.predicted) = (shift(&case.truth), shift(&case.predicted));
        }
        run.best.as_mut().unwrap().step = 1500 * stretch / 12 * usize::try_from(power + 6).unwrap();
        run
    };
    (-6..=6).map(scaled).collect()
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for (name, page) in pages() {
        balanced(name, &page);
        for foreign in ["http", "NaN", "<script src", "<link", "<img", "@import", "url(", " onerror=alert(2)>\"", "\"inf"] {
            assert!(!page.contains(foreign), "{name}: {foreign}");
        }
        assert_eq!(page.matches("<script").count(), 1, "{name}");
    }
}

/// Panics at the first tag that closes something else than what is open.
fn balanced(name: &str, page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("{name}: a tag without an end: {piece:.60}"));
        let word = tag.split_whitespace().next().unwrap_or_default();
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: quotes in {tag}");
        match word.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}: closed by </{closed}>"),
            None if tag.ends_with('/') || matches!(word, "!doctype" | "meta") => (),
            None => open.push(word),
        }
    }
    assert!(open.is_empty(), "{name}: {open:?} left open");
}

#[test]
fn a_page_shows_what_it_should() {
    let one = html(&[classifier(Made::default())]);
    for wanted in [
        "<title>slice on Motions</title>",
        "<dt>test accuracy</dt><dd class=\"value\">89.6 %</dd><dd class=\"note\">95 % interval 85.1 to 92.8 %, 240 cases</dd>",
        "aria-label=\"training and validation loss against steps\"",
        ">best</text>",
        "<td class=\"deep\" style=\"background:rgba(var(--shade),0.93)\">89<small>93 %</small></td>",
        "<details><summary>Configuration</summary><pre>seed = 1\n",
    ] {
        assert!(one.contains(wanted), "{wanted}");
    }
    assert!(!one.contains("Predicted against true"));
    let numbers = html(&[regressor(Made::default())]);
    let scatter = numbers.split("aria-label=\"predicted against true values\"").nth(1).unwrap();
    assert_eq!(scatter.split("</svg>").next().unwrap().matches("<circle").count(), 240);
    // The line where both are equal goes up from the left.
    let guide = scatter.split("class=\"guide\" d=\"M").nth(1).unwrap().split('"').next().unwrap();
    let ends: Vec<f64> = guide.split([' ', 'L']).map(|number| number.parse().unwrap()).collect();
    assert!(ends[0] < ends[2] && ends[1] > ends[3], "{guide}");
    let many = html(&several());
    assert!(many.contains("aria-label=\"accuracy against the time of a step\"") && many.contains("id=\"run-14\""));
    // Fourteen runs: each has its own two curves, and each board its own one.
    assert_eq!(many.matches("aria-label=\"validation ").count(), 14 + 2);
    // Of many entries the curves of the best eight are shown, each with its own colour.
    let (_, crowd) = pages().pop().unwrap();
    let curves = crowd.split("Training of the best").nth(1).unwrap().split("</figure>").next().unwrap();
    assert_eq!((curves.matches("<path class=\"line").count(), curves.matches("<li>").count()), (8, 8));
}

/// For `.ci/pages`, which opens them in a browser.
#[test]
fn pages_are_written_for_a_browser() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    // None of an earlier version stays.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, page) in pages() {
        fs::write(folder.join(name.replace(' ', "-") + ".html"), page).unwrap();
    }
}

#[test]
fn what_is_solved_for_has_no_time_of_a_step_and_no_curve() {
    let stepped = |detail| classifier(Made { detail, ..Made::default() });
    let page = html(&[stepped("H = 8"), stepped("H = 16")]);
    assert!(page.contains("against time"));
    let mut solved = stepped("closed form");
    (solved.stopped, solved.best) = (StopReason::Solved, None);
    solved.history.clear();
    let page = html(&[solved.clone(), stepped("H = 8")]);
    assert!(page.contains("Training of all runs") && !page.contains("against time"));
    let legend = page.split("<ul class=\"legend\">").find(|part| part.contains("H = 8</li>")).unwrap();
    assert!(!legend[..legend.find("</ul>").unwrap()].contains("closed form"), "{legend}");
    // What has nothing to show has no heading, and no column where it says how long a step takes.
    let page = html(&[solved.clone(), solved.clone()].map(|run| RunRecord { baselines: Vec::new(), ..run }));
    assert!(page.contains("Runs by seed") && !page.contains("time a step") && !page.contains("best baseline"));
    let mut other = solved.clone();
    other.data.name = "others".into();
    assert!(!html(&[solved.clone(), other]).contains("<h2>others</h2>"));
}

#[test]
fn a_leaderboard_says_where_runs_lie() {
    let page = html(&several().into_iter().enumerate().map(placed).collect::<Vec<_>>());
    let board = page.split("Leaderboard").nth(1).unwrap().split("</figure>").next().unwrap();
    for words in [">experiments/motions/run-0 and 4 more<", ">experiments/motions/run-12<"] {
        assert!(board.contains(words), "{words}: {board}");
    }
    assert!(page.contains(">experiments/motions/run-4<"));
}

#[test]
fn the_columns_of_the_file_are_on_the_page() {
    let mut run = classifier(Made::default());
    assert!(!html(&[run.clone()]).contains("Columns of the file"));
    run.data.roles = vec![["day".into(), "time".into(), "ISO, UTC".into()], ["<b>".into(), "ignored".into(), String::new()]];
    let page = html(&[run]);
    for part in ["Columns of the file", ">day<", ">ISO, UTC<", ">&lt;b&gt;<", ">ignored<"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn times_that_are_dates_are_shown_as_dates() {
    let mut run = forecaster(3.0);
    let page = html(std::slice::from_ref(&run));
    for words in [">18 Apr<", ">20 Apr<", ">2024-04-18 to 2024-04-21 (UTC)<"] {
        assert!(page.contains(words), "{words}");
    }
    run.data.dates = false;
    let page = html(&[run]);
    assert!(page.contains(">time<") && !page.contains(" Apr<"));
}

#[test]
fn a_class_with_a_threshold_has_its_curve() {
    let page = html(&[rare_class()]);
    let card = page.split("<h3>Precision and recall</h3>").nth(1).unwrap().split("</figure>").next().unwrap();
    let ours = |run: &RunRecord| {
        let Some(Metrics::Classification(metrics)) = &run.test else { panic!() };
        let score = metrics.by_class()[1];
        [score.recall, score.precision].map(|share| format!("{:.1} %", 100.0 * share.unwrap()))
    };
    let [recall, precision] = ours(&rare_class());
    for words in [
        "<title>threshold 0.31</title>",
        &format!("threshold 0.31: recall {recall}, precision {precision}"),
        "bearing fault, at each threshold",
    ] {
        assert!(card.contains(words), "{words}: {card}");
    }
    assert!(!html(&[classifier(Made::default())]).contains("Precision and recall"));
}
