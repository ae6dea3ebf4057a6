//! The page: well formed and closed in itself, and right in a browser where there is one.
//!
//! The browser is the program that the variable `CHROMIUM` names, or the first of `chromium`, `chromium-browser` and
//! `google-chrome` that starts. It opens every page at the width of a phone and of a desktop.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use crate::common;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use common::{Made, classifier, empty, hostile, many_classes, regressor, several};
use ncde_report::record::{Outcome, StopReason};
use ncde_report::{RunRecord, html};

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
        ("several", html(&several())),
        ("13 classes", html(&[many_classes(13)])),
        ("60 classes", html(&[many_classes(60)])),
        ("hostile", html(&[hostile()])),
        ("hostile among others", html(&[hostile(), empty(), classifier(Made::default())])),
        ("empty", html(&[empty()])),
        ("one point", html(&[single])),
        ("scales", html(&scales())),
        ("crowd", html(&crowd)),
    ]
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
        for foreign in ["http", "NaN", "<script", "<link", "<img", "@import", "url(", " onerror=alert(2)>\"", "\"inf"] {
            assert!(!page.contains(foreign), "{name}: {foreign}");
        }
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

/// Written into the page that holds all others: it reports everything that is wrong as a line of text.
const CHECK: &str = r#"
const problems = [];
let texts = 0;
for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument, where = frame.title;
  for (const details of page.querySelectorAll('details')) details.open = true;
  const root = page.documentElement;
  if (root.scrollWidth > root.clientWidth) problems.push(`${where}: ${root.scrollWidth} wide in ${root.clientWidth}`);
  for (const box of page.querySelectorAll('.card, .keys div, .scroll, pre')) {
    if (box.getBoundingClientRect().right > root.clientWidth) problems.push(`${where}: a box sticks out`);
  }
  for (const cell of page.querySelectorAll('th, td')) {
    if (cell.scrollWidth > cell.clientWidth + 1) problems.push(`${where}: ${cell.textContent} is too long for its cell`);
  }
  for (const box of page.querySelectorAll('.scroll')) {
    const hint = box.previousElementSibling, said = hint && hint.matches('.sideways') && hint.getBoundingClientRect().height > 0;
    if (box.scrollWidth > box.clientWidth + 1 && !said) problems.push(`${where}: a table scrolls and does not say so: ${box.textContent.slice(0, 40)}`);
  }
  for (const svg of page.querySelectorAll('svg')) {
    const edge = svg.getBoundingClientRect(), boxes = [];
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect(), words = text.textContent;
      texts += 1;
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1 || box.bottom > edge.bottom + 1)
        problems.push(`${where}: ${words} sticks out of its plot`);
      if (box.height < 9) problems.push(`${where}: ${words} is ${box.height} pixels high`);
      for (const [other, name] of boxes) {
        if (box.left < other.right - 1 && other.left < box.right - 1 && box.top < other.bottom - 3 && other.top < box.bottom - 3)
          problems.push(`${where}: ${words} lies on ${name}`);
      }
      boxes.push([box, words]);
    }
  }
}
document.body.textContent = '';
const report = document.createElement('pre');
report.textContent = `checked ${texts} texts\n` + problems.map(problem => 'problem: ' + problem).join('\n');
document.body.append(report);
"#;

#[test]
fn pages_are_right_in_a_browser() {
    let Some(browser) = browser() else {
        // Without one, what a browser would choke on is still checked.
        return pages().iter().for_each(|(name, page)| balanced(name, page));
    };
    let mut holder = String::from("<!doctype html><meta charset=\"utf-8\"><body>");
    for (name, page) in pages() {
        let source = page.replace('&', "&amp;").replace('"', "&quot;");
        for width in [360, 1280] {
            let _ = write!(
                holder,
                "<iframe title=\"{name}, {width}\" style=\"width:{width}px;height:700px;border:0\" srcdoc=\"{source}\"></iframe>"
            );
        }
    }
    let _ = write!(holder, "<script>addEventListener('load', () => {{ {CHECK} }});</script>");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pages.html"), holder).unwrap();
    let (seen, said) = open(&browser, &folder);
    let checked: usize = seen.split("checked ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
    assert!(checked > 1000, "the check did not run to its end: {seen:.500}\n{said}");
    let problems: Vec<&str> = seen.lines().filter(|line| line.contains("problem: ")).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let console: Vec<&str> = said.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{}", console.join("\n"));
}

/// The first browser that starts.
fn browser() -> Option<String> {
    if let Ok(named) = env::var("CHROMIUM") {
        return Some(named);
    }
    let starts = |name: &&str| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].iter().find(|name| starts(name)).map(ToString::to_string)
}

/// What is left of the page after its scripts ran, and what the browser said meanwhile.
fn open(browser: &str, folder: &Path) -> (String, String) {
    let (seen, said) = (folder.join("seen.txt"), folder.join("said.txt"));
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--window-size=1400,900",
        ])
        .args(["--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", folder.join("pages.html").display()))
        .stdout(fs::File::create(&seen).unwrap())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("the browser `{browser}` did not end within two minutes; set `CHROMIUM` to another one");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = |file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    (read(seen), read(said))
}

#[test]
fn what_is_solved_for_has_no_time_of_a_step_and_no_curve() {
    let stepped = |detail| classifier(Made { detail, ..Made::default() });
    let page = html(&[stepped("H = 8"), stepped("H = 16")]);
    assert!(page.contains("against time"));
    let mut solved = stepped("closed form");
    (solved.stopped, solved.best) = (StopReason::Solved, None);
    solved.history.clear();
    let page = html(&[solved, stepped("H = 8")]);
    assert!(page.contains("Training of all runs") && !page.contains("against time"));
    let legend = page.split("<ul class=\"legend\">").find(|part| part.contains("H = 8</li>")).unwrap();
    assert!(!legend[..legend.find("</ul>").unwrap()].contains("closed form"), "{legend}");
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
