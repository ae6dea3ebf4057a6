//! One run in a few lines of text, for the end of a training on a terminal.
//!
//! ```text
//! test accuracy              93.1 %  95 % interval 91.2 to 94.6 %, 420 cases
//!
//! loss
//!  0.69 |█▄
//!       |  ▇▄▂
//! 0.021 |     ▆▃▂▁▁▁▁
//!        0       1,000
//! ```
//!
//! A column of the curve is the mean over its share of the steps, in eighths of a line.

use std::fmt::Write;

use crate::ahead;
use crate::escape::terminal as plain;
use crate::format::{count, metric, metric_name, number, shortened};
use crate::metrics::{Classification, Forecast, higher_is_better};
use crate::tables::Table;
use crate::{Metrics, RunRecord};

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Block characters.
    #[default]
    Unicode,
    /// Nothing but ASCII. Names of users that hold more are shown with question marks.
    Ascii,
}

/// The narrowest rendering; a smaller width is taken as this.
const NARROWEST: usize = 32;
/// Beyond these a wider terminal gains nothing.
const WIDEST: usize = 80;
/// Lines of a curve.
const HEIGHT: usize = 6;
/// The most classes of a confusion matrix.
const CLASSES: usize = 10;

/// Renders one run in at most `width` columns (80 if that is less, 32 if that is more).
///
/// Ends with a line break. Lines have no trailing spaces.
pub fn terminal(record: &RunRecord, width: usize, glyphs: Glyphs) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut text = format!("{}\n\n", plain(&record.title()));
    // Where it is better, the baselines below say so.
    if let Some((false, verdict)) = record.verdict() {
        text += &(wrapped(&plain(&verdict), "", width) + "\n");
    }
    keys(&mut text, record, width);
    let loss: Vec<[f64; 2]> = record.history.iter().map(|point| [point.step as f64, point.loss]).collect();
    curve(&mut text, "training loss", number, &loss, width);
    if let Some(best) = &record.best {
        let points: Vec<[f64; 2]> = record.history.iter().filter_map(|point| Some([point.step as f64, point.metric?])).collect();
        let title = format!("validation {} ({} is better)", metric_name(&best.metric), direction(&best.metric));
        curve(&mut text, &title, |value| metric(&best.metric, value), &points, width);
    }
    if let Some((whose, Metrics::Classification(metrics))) = record.outcome() {
        confusion(&mut text, &record.data.classes, whose, metrics, width);
    }
    if let Some((_, Metrics::Forecast(metrics))) = record.outcome() {
        forecast(&mut text, metrics);
    }
    shown(text, width, glyphs)
}

/// The matrix of counts in at most `width` columns, below a line of what it is; empty if it would be wider, or is of more than ten classes. `whose` says of
/// which cases it is.
pub fn confusion_matrix(metrics: &Classification, classes: &[String], whose: &str, width: usize, glyphs: Glyphs) -> String {
    let mut text = String::new();
    let width = width.clamp(NARROWEST, WIDEST);
    confusion(&mut text, classes, whose, metrics, width);
    shown(text, width, glyphs)
}

/// As a terminal can show it.
fn shown(text: String, width: usize, glyphs: Glyphs) -> String {
    let text = if glyphs == Glyphs::Ascii { ascii(&text) } else { text };
    text.lines().map(|line| cut(line.trim_end(), width, glyphs) + "\n").collect()
}

fn direction(metric: &str) -> &'static str {
    if higher_is_better(metric) { "more" } else { "less" }
}

/// Label, value and note of each key number; the notes go below where the line is too narrow for the longest.
fn keys(text: &mut String, record: &RunRecord, width: usize) {
    let keys = record.keys();
    let labels = keys.iter().map(|key| key.label.chars().count()).max().unwrap_or(0);
    let values = keys.iter().map(|key| key.value.chars().count()).max().unwrap_or(0);
    for key in &keys {
        let (label, value, note) = (plain(&key.label), plain(&key.value), plain(&key.note));
        let _ = write!(text, "{label:labels$}  {value:>values$}");
        if note.is_empty() {
            text.push('\n');
        } else if labels + values + 4 + note.chars().count() <= width {
            let _ = writeln!(text, "  {note}");
        } else {
            text.push('\n');
            text.push_str(&wrapped(&note, "    ", width));
        }
    }
}

/// Words in lines of at most `width` characters, each after an indent. A longer word has a line for itself.
pub fn wrapped(words: &str, indent: &str, width: usize) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    for word in words.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(text, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text + indent + &line + "\n"
}

/// A curve of bars from the smallest value to the largest.
fn curve(text: &mut String, title: &str, show: impl Fn(f64) -> String, points: &[[f64; 2]], width: usize) {
    let finite: Vec<[f64; 2]> = points.iter().copied().filter(|point| point[1].is_finite()).collect();
    if finite.len() < 2 {
        return;
    }
    let low = finite.iter().map(|point| point[1]).fold(f64::INFINITY, f64::min);
    let high = finite.iter().map(|point| point[1]).fold(f64::NEG_INFINITY, f64::max);
    let (top, bottom) = (show(high), show(low));
    let margin = top.chars().count().max(bottom.chars().count());
    let columns = width - margin - 3;
    let means = columns_of(points, columns);

    let _ = writeln!(text, "\n{}", plain(title));
    for row in (0..HEIGHT).rev() {
        let label = if row + 1 == HEIGHT {
            &top
        } else if row == 0 {
            &bottom
        } else {
            ""
        };
        let _ = write!(text, "{label:>margin$} |");
        for mean in &means {
            // The lowest value still shows one eighth, so that a bar is there wherever there was a step.
            let eighths = 1.0 + (mean - low) / (high - low).max(f64::MIN_POSITIVE) * (8 * HEIGHT - 1) as f64;
            text.push(block(eighths.round() as usize, row));
        }
        text.push('\n');
    }
    let (first, last) = (count(points[0][0] as usize), count(points[points.len() - 1][0] as usize));
    let _ = writeln!(text, "{:margin$}  {first}{last:>room$}", "", room = means.len().saturating_sub(first.len()));
}

/// The character of a bar of so many eighths in one row, the lowest of which is 0.
fn block(eighths: usize, row: usize) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BLOCKS[eighths.saturating_sub(8 * row).min(8)]
}

/// The mean value of each column; a column without points repeats the one before it, one with none that is finite
/// is empty (not a number).
fn columns_of(points: &[[f64; 2]], columns: usize) -> Vec<f64> {
    let (first, last) = (points[0][0], points[points.len() - 1][0]);
    let mut values = vec![Vec::new(); columns];
    for [step, value] in points {
        let share = (step - first) / (last - first).max(1.0);
        values[((share * columns as f64) as usize).min(columns - 1)].push(*value);
    }
    let mut current = points[0][1];
    let mean = |values: Vec<f64>| {
        if !values.is_empty() {
            let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
            current = finite.iter().sum::<f64>() / finite.len() as f64;
        }
        current
    };
    values.into_iter().map(mean).collect()
}

/// Forecasts by horizon and channel, beside naive ones; columns as wide as they must be.
fn forecast(text: &mut String, metrics: &Forecast) {
    for (title, Table { columns, rows }) in ahead::tables(metrics) {
        let _ = writeln!(text, "\n{}", title.to_lowercase());
        let header = columns.into_iter().map(|(title, _)| title).collect();
        let rows: Vec<Vec<String>> =
            std::iter::once(header).chain(rows).map(|row: Vec<String>| row.iter().map(|cell| plain(cell)).collect()).collect();
        let wide =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(wide).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  "));
        }
    }
}

/// The fewest characters of a short name.
const SHORTEST: usize = 4;

/// Names in at most so many characters: their beginnings, or their ends where two beginnings are the same. None if they would be too short, or two of them the same.
fn short_names(names: &[String], most: usize) -> Option<Vec<String>> {
    let end = |name: &String| {
        let left_out = name.chars().count().saturating_sub(most);
        if left_out == 0 { name.clone() } else { std::iter::once('…').chain(name.chars().skip(left_out + 1)).collect() }
    };
    let is_distinct = |all: &Vec<String>| (1..all.len()).all(|i| !all[..i].contains(&all[i]));
    let begin = |name: &String| shortened(name, most.max(1));
    [names.iter().map(begin).collect(), names.iter().map(end).collect()]
        .into_iter()
        .find(is_distinct)
        .filter(|_| most >= SHORTEST)
}

/// The matrix of counts, if it is narrow enough. Names of classes are cut where they do not fit; columns have numbers where cut names would be the same.
fn confusion(text: &mut String, known: &[String], whose: &str, metrics: &Classification, width: usize) {
    let classes = metrics.confusion.len();
    if !(2..=CLASSES).contains(&classes) {
        return;
    }
    let wide = |name: &String| name.chars().count();
    let names: Vec<String> =
        (0..classes).map(|class| known.get(class).map_or_else(|| class.to_string(), |name| plain(name))).collect();
    let digits = metrics.confusion.iter().flatten().map(|count| count.to_string().len()).max().unwrap_or(1);
    let longest = names.iter().map(wide).max().unwrap_or(0);
    let columns = |titles: &[String]| titles.iter().map(|title| wide(title).max(digits) + 2).collect::<Vec<usize>>();
    let fits = |titles: &Vec<String>, margin: usize| columns(titles).iter().sum::<usize>() + margin <= width;
    // Names of rows take a third of the line at most, if those of columns are cut.
    let margin = longest.min(width / 3);
    let cut = || short_names(&names, ((width - margin) / classes).saturating_sub(2)).filter(|titles| fits(titles, margin));
    let (titles, rows) = match Some(names.clone()).filter(|titles| fits(titles, longest)).or_else(cut) {
        Some(titles) => (titles, names),
        None => {
            let numbered = names.iter().enumerate().map(|(class, name)| format!("{} {name}", class + 1)).collect();
            ((1..=classes).map(|class| class.to_string()).collect(), numbered)
        }
    };
    let columns = columns(&titles);
    let longest = rows.iter().map(wide).max().unwrap_or(0);
    let Some(room) = width.checked_sub(columns.iter().sum()).filter(|room| *room >= longest.min(6)) else { return };
    let margin = longest.min(room);
    let rows = short_names(&rows, margin).unwrap_or_else(|| rows.iter().map(|name| shortened(name, margin)).collect());
    let words = format!("{whose} cases: a row for each true class, a column for each predicted one");
    let _ = write!(text, "\n{}{:margin$}", wrapped(&words, "", width), "");
    for (title, cell) in titles.iter().zip(&columns) {
        let _ = write!(text, "{title:>cell$}");
    }
    text.push('\n');
    for (row, name) in metrics.confusion.iter().zip(&rows) {
        let _ = write!(text, "{name:margin$}");
        for (count, cell) in row.iter().zip(&columns) {
            let _ = write!(text, "{count:>cell$}");
        }
        text.push('\n');
    }
}

/// Blocks as `#` where they fill at least half of a cell, `.` below; other characters that are not ASCII as `?`.
fn ascii(text: &str) -> String {
    let map = |character| match character {
        '▄' | '▅' | '▆' | '▇' | '█' => '#',
        '▁' | '▂' | '▃' => '.',
        '…' => '~',
        '\u{b2}' => '2',
        '\u{b5}' => 'u',
        other if other.is_ascii() => other,
        _ => '?',
    };
    text.chars().map(map).collect()
}

/// At most `width` characters, with a mark where some are missing.
fn cut(line: &str, width: usize, glyphs: Glyphs) -> String {
    if line.chars().count() <= width {
        return line.into();
    }
    let mark = if glyphs == Glyphs::Ascii { "~" } else { "…" };
    line.chars().take(width - 1).collect::<String>() + mark
}

#[cfg(test)]
mod tests {
    use super::short_names;

    #[test]
    fn names_become_short_or_stay_numbers() {
        let names = ["lying", "walking_upstairs", "walking_downstairs"].map(String::from);
        assert_eq!(short_names(&names, 9).unwrap(), ["lying", "…upstairs", "…wnstairs"]);
        assert_eq!(short_names(&names[..2], 6).unwrap(), ["lying", "walki…"]);
        assert_eq!(short_names(&names[..2], 3), None);
        assert_eq!(short_names(&["movement 1 of 2".into(), "movement 2 of 2".into()], 6), None);
    }
}
