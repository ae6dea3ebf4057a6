//! What an experiment says: Markdown for people, LaTeX for papers, a page with plots.

use std::fmt::Write;

use ncde_report::plot::{Axis, Chart, Layer, Ranking, Spacing};
use ncde_report::{Column, Page, latex_paragraph, latex_table, markdown_table};

use crate::plan::{Metric, Plan};
use crate::record::Record;
use crate::standing::{Standing, standing};
use crate::table::{Table, names, tables};

/// A plot, and the names of its colours in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The plot.
    pub chart: Chart,
    /// What colours 0, 1, 2, ... mean.
    pub names: Vec<String>,
}

impl Figure {
    /// Lines over two axes, each with a name and its points.
    pub fn lines(title: &str, x: Axis, y: Axis, lines: Vec<(String, Vec<[f64; 2]>)>) -> Self {
        let layers = lines.iter().enumerate().flat_map(|(colour, (_, points))| {
            let line = Layer::Line { points: points.clone(), colour, dashed: colour >= COLOURS };
            [line, Layer::Dots { points: if points.len() < 40 { points.clone() } else { Vec::new() }, colour }]
        });
        let layers = layers.collect();
        Self { chart: Chart { title: title.into(), x, y, layers }, names: lines.into_iter().map(|(name, _)| name).collect() }
    }
}

/// How many colours a page has; lines beyond them are dashed.
const COLOURS: usize = 8;

/// The line of every record, one figure a task: a metric against steps.
pub(crate) fn learning_curves(records: &[Record], curve: &str, metric: &Metric) -> Vec<Figure> {
    let figure = |task: &str| {
        let own: Vec<&Record> =
            records.iter().filter(|record| record.task == task && record.measured.curves.contains_key(curve)).collect();
        // Of many runs one seed of each model, so that lines can be told apart.
        let many = own.len() > 2 * COLOURS;
        let first = |at: usize| !own[..at].iter().any(|record| record.model == own[at].model);
        let own: Vec<&Record> = (0..own.len()).filter(|&at| !many || first(at)).map(|at| own[at]).collect();
        let line = |record: &&Record| {
            let points = record.measured.curves[curve].iter().map(|[x, y]| [*x, y * metric.factor]).collect();
            (format!("{}, seed {}", record.model, record.seed), points)
        };
        let (x, y) = (Axis::new("step", Spacing::Whole), Axis::new(metric.title, Spacing::Linear));
        Figure::lines(&format!("{task}: {} against steps", metric.title), x, y, own.iter().map(line).collect())
    };
    names(records, |record| &record.task).into_iter().map(figure).collect()
}

/// The tables, findings and differences as Markdown.
pub fn markdown(plan: &Plan, records: &[Record]) -> String {
    let mut text = format!("# {}\n", plan.title);
    for Table { title, columns, rows } in tables(plan, records) {
        let header: Vec<&str> = columns.iter().map(String::as_str).collect();
        let _ = write!(text, "\n**{title}**\n\n{}", markdown_table(&header, rows));
    }
    for (title, points) in sections(plan, records) {
        let _ = write!(text, "\n**{title}**\n\n");
        points.iter().for_each(|point| {
            let _ = writeln!(text, "- {point}");
        });
    }
    text
}

/// The tables as LaTeX, each with its caption, and the tests in words.
pub fn latex(plan: &Plan, records: &[Record]) -> String {
    let mut text = "% Needs \\usepackage{booktabs}.\n".to_owned();
    for Table { title, columns, rows } in tables(plan, records) {
        let header: Vec<&str> = columns.iter().map(String::as_str).collect();
        let caption = format!("{}: {title}. Mean and population deviation over seeds; the best of a column is bold.", plan.title);
        let _ = write!(text, "\n{}", latex_table(&caption, &header, rows));
    }
    for words in standing(plan, records).iter().flat_map(Standing::words) {
        let _ = write!(text, "\n{}", latex_paragraph(&words));
    }
    text
}

/// The same as a page, with plots.
pub fn page(plan: &Plan, records: &[Record]) -> String {
    let mut page = Page::new(&plan.title);
    for Table { title, columns, rows } in tables(plan, records) {
        let column = |(i, name): (usize, &'_ String)| (name.clone(), if i == 0 { Column::Name } else { Column::Number });
        let columns: Vec<(String, Column)> = columns.iter().enumerate().map(column).collect();
        let columns: Vec<(&str, Column)> = columns.iter().map(|(name, column)| (name.as_str(), *column)).collect();
        page.table(&title, &columns, rows);
    }
    if let Some(own) = standing(plan, records) {
        page.ranking("Average ranks", &Ranking::of(&own.comparison, &own.models));
    }
    let figures = (plan.figures)(records);
    if !figures.is_empty() {
        page.heading("Plots");
        page.charts(&figures.iter().map(|figure| (&figure.chart, &figure.names[..])).collect::<Vec<_>>());
    }
    for (title, points) in sections(plan, records) {
        page.heading(title);
        page.list(&points);
    }
    page.finish()
}

fn sections(plan: &Plan, records: &[Record]) -> Vec<(&'static str, Vec<String>)> {
    let seconds: f64 = records.iter().map(|record| record.seconds).sum();
    let mut differences = plan.differences.clone();
    differences.push(format!("{} runs took {seconds:.0} s in all.", records.len()));
    let exploded: Vec<String> = records.iter().filter(|record| record.has_exploded()).map(Record::title).collect();
    if !exploded.is_empty() {
        let (count, all) = (exploded.len(), records.len());
        differences.push(format!(
            "{count} of {all} runs diverged; the best weights before that were tested, where there were some: {}.",
            exploded.join("; ")
        ));
    }
    let tests = standing(plan, records).as_ref().map_or_else(Vec::new, Standing::words);
    let all = [("What was found", (plan.findings)(records)), ("Statistics", tests), ("How it was done", differences)];
    all.into_iter().filter(|(_, points)| !points.is_empty()).collect()
}
