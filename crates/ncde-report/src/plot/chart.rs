//! A chart as SVG: layers over two axes, 360 units wide, so that one unit is about one pixel on a phone.
//!
//! Colours and sizes of text are classes, set in the style of the page. Widths of texts are estimated: a character
//! is at most 0.64 of its size wide, which holds for digits and nearly all letters of common fonts.

use std::fmt::Write;

use super::scale::{Scale, Spacing, Tick};
use crate::escape;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 230.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 38.0;
/// The size of text, and the width of one character of it.
const SIZE: f64 = 11.5;
const CHARACTER: f64 = 0.64 * SIZE;
/// The radius of a large point.
const RADIUS: f64 = 4.5;
/// How many colours the style of the page has.
pub(crate) const COLOURS: usize = 8;

/// What is drawn, in the units of the axes. Colours count from 0, and there are eight.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "as the comments of the variants say")]
pub enum Layer {
    /// A line through points; broken where one is not finite.
    Line { points: Vec<[f64; 2]>, colour: usize, dashed: bool },
    /// The space between two lines that run to the right: the lower one, then the upper one.
    Band { points: Vec<[f64; 3]>, colour: usize },
    /// A dashed line.
    Guide { points: Vec<[f64; 2]> },
    /// Small points.
    Dots { points: Vec<[f64; 2]>, colour: usize },
    /// A large point, so many times the usual area, with a short name, which is left out where there is no room for it.
    Mark { at: [f64; 2], name: String, tip: String, colour: usize, area: f64 },
    /// A vertical interval.
    Bar { at: f64, low: f64, high: f64, colour: usize },
    /// A vertical line with a short text at its top.
    Rule { at: f64, text: String },
}

/// What an axis is called and how it is spaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it is called.
    pub label: String,
    /// How it is spaced.
    pub spacing: Spacing,
}

impl Axis {
    /// An axis of this name.
    pub fn new(label: impl Into<String>, spacing: Spacing) -> Self {
        Self { label: label.into(), spacing }
    }
}

/// Layers over two axes.
///
/// ```
/// use ncde_report::plot::{Axis, Chart, Layer, Spacing};
/// let line = Layer::Line { points: vec![[0.0, 1.0], [10.0, 2.0]], colour: 0, dashed: false };
/// let (x, y) = (Axis::new("steps", Spacing::Whole), Axis::new("loss", Spacing::Linear));
/// let chart = Chart { title: "loss against steps".into(), x, y, layers: vec![line] };
/// assert!(chart.svg().is_some_and(|svg| svg.starts_with("<svg ")));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is shown, for those who cannot see it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub layers: Vec<Layer>,
}

/// The axes in pixels.
struct Frame {
    x: Scale,
    y: Scale,
    left: f64,
    right: f64,
}

impl Frame {
    fn place(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let px = self.left + self.x.place(x) * (self.right - self.left);
        let py = HEIGHT - BOTTOM - self.y.place(y) * (HEIGHT - BOTTOM - TOP);
        (px.is_finite() && py.is_finite()).then_some([px, py])
    }
}

impl Chart {
    /// Layers over linear axes of these names.
    pub(super) fn linear(title: impl Into<String>, x: &str, y: &str, layers: Vec<Layer>) -> Self {
        Self { title: title.into(), x: Axis::new(x, Spacing::Linear), y: Axis::new(y, Spacing::Linear), layers }
    }

    /// The chart; `None` if it would be empty.
    pub fn svg(&self) -> Option<String> {
        let points: Vec<[f64; 2]> =
            self.layers.iter().flat_map(Layer::points).filter(|p| p[0].is_finite() && p[1].is_finite()).collect();
        let x = Scale::of(points.iter().map(|point| point[0]), self.x.spacing)?;
        let y = Scale::of(points.iter().map(|point| point[1]), self.y.spacing)?;
        let rows = y.ticks(6);
        let widest = rows.iter().map(|tick| width(&tick.label)).fold(0.0, f64::max);
        let frame = Frame { x, y, left: widest + 8.0, right: WIDTH - 10.0 };
        let columns = fit(&x, frame.right - frame.left);

        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape::html(&self.title));
        self.axes(&mut svg, &frame, &rows, &columns);
        for layer in &self.layers {
            draw(&mut svg, &frame, layer, width(&self.y.label) + 8.0);
        }
        names(&mut svg, &frame, &self.layers);
        svg.push_str("</svg>");
        Some(svg)
    }

    fn axes(&self, svg: &mut String, frame: &Frame, rows: &[Tick], columns: &[Tick]) {
        let (left, right, floor) = (frame.left, frame.right, HEIGHT - BOTTOM);
        for tick in rows {
            let y = floor - frame.y.place(tick.value) * (floor - TOP);
            line(svg, "grid-line", [left, y], [right, y]);
            text(svg, [left - 5.0, y + 4.0], Anchor::End, &tick.label);
        }
        for tick in columns {
            let x = left + frame.x.place(tick.value) * (right - left);
            line(svg, "axis", [x, floor], [x, floor + 4.0]);
            let half = 0.5 * width(&tick.label);
            text(svg, [x.clamp(half, WIDTH - half), floor + 17.0], Anchor::Middle, &tick.label);
        }
        line(svg, "axis", [left, floor], [right, floor]);
        text(svg, [0.0, 12.0], Anchor::Start, &self.y.label);
        text(svg, [right, HEIGHT - 5.0], Anchor::End, &self.x.label);
    }
}

impl Layer {
    /// The points that the axes must show.
    fn points(&self) -> Vec<[f64; 2]> {
        match self {
            Self::Line { points, .. } | Self::Guide { points } | Self::Dots { points, .. } => points.clone(),
            Self::Band { points, .. } => points.iter().flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]).collect(),
            Self::Mark { at, .. } => vec![*at],
            Self::Bar { at, low, high, .. } => vec![[*at, *low], [*at, *high]],
            Self::Rule { .. } => Vec::new(),
        }
    }
}

/// As many ticks as have room side by side.
fn fit(scale: &Scale, room: f64) -> Vec<Tick> {
    let fits = |ticks: &[Tick]| {
        ticks.windows(2).all(|pair| {
            let gap = (scale.place(pair[1].value) - scale.place(pair[0].value)) * room;
            // Labels at the ends are pushed inwards by up to half their width.
            gap > width(&pair[0].label).max(width(&pair[1].label)) + 8.0
        })
    };
    (2..=7).rev().map(|most| scale.ticks(most)).find(|ticks| fits(ticks)).unwrap_or_default()
}

/// Draws a layer; `taken` is where the name of the vertical axis ends.
fn draw(svg: &mut String, frame: &Frame, layer: &Layer, taken: f64) {
    match layer {
        Layer::Line { points, colour, dashed } => {
            path(svg, frame, points, &format!("line c{}{}", colour % COLOURS, if *dashed { " dashed" } else { "" }));
        }
        Layer::Band { points, colour } => {
            let lower = points.iter().map(|[x, low, _]| [*x, *low]);
            let upper = points.iter().rev().map(|[x, _, high]| [*x, *high]);
            path(svg, frame, &lower.chain(upper).collect::<Vec<_>>(), &format!("band f{}", colour % COLOURS));
        }
        Layer::Guide { points } => path(svg, frame, points, "guide"),
        Layer::Dots { points, colour } => {
            for [x, y] in points.iter().filter_map(|point| frame.place(*point)) {
                let _ = write!(svg, "<circle class=\"dot f{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>", colour % COLOURS);
            }
        }
        Layer::Mark { at, tip, colour, area, .. } => {
            if let Some([x, y]) = frame.place(*at) {
                let (colour, tip, radius) = (colour % COLOURS, escape::html(tip), RADIUS * area.sqrt());
                let _ = write!(
                    svg,
                    "<circle class=\"mark f{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{tip}</title></circle>"
                );
            }
        }
        Layer::Bar { at, low, high, colour } => {
            if let (Some(low), Some(high)) = (frame.place([*at, *low]), frame.place([*at, *high])) {
                line(svg, &format!("bar c{}", colour % COLOURS), low, high);
            }
        }
        Layer::Rule { at, text: words } => {
            let x = frame.left + frame.x.place(*at) * (frame.right - frame.left);
            if (frame.left..=frame.right).contains(&x) {
                line(svg, "rule", [x, TOP - 6.0], [x, HEIGHT - BOTTOM]);
                let half = 0.5 * width(words);
                let centre = x.min(WIDTH - half);
                // Above the plot, where nothing is drawn, unless the name of the axis is there.
                if centre - half > taken {
                    text(svg, [centre, 12.0], Anchor::Middle, words);
                } else {
                    text(svg, [x + 5.0, TOP + 8.0], Anchor::Start, words);
                }
            }
        }
    }
}

/// The names of marks, each at the first side of its mark where it covers no mark and no other name.
fn names(svg: &mut String, frame: &Frame, layers: &[Layer]) {
    let marks: Vec<([f64; 2], &str)> = layers
        .iter()
        .filter_map(|layer| match layer {
            Layer::Mark { at, name, .. } if !name.is_empty() => Some((frame.place(*at)?, name.as_str())),
            _ => None,
        })
        .collect();
    // Boxes are [left, top, right, bottom].
    let mut taken: Vec<[f64; 4]> = marks.iter().map(|([x, y], _)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0]).collect();
    for ([x, y], name) in marks {
        let wide = width(name);
        let centres = [
            [x + 7.0 + 0.5 * wide, y],
            [x - 7.0 - 0.5 * wide, y],
            [x, y - 13.0],
            [x, y + 13.0],
            [x + 6.0 + 0.5 * wide, y - 11.0],
            [x - 6.0 - 0.5 * wide, y - 11.0],
            [x + 6.0 + 0.5 * wide, y + 11.0],
            [x - 6.0 - 0.5 * wide, y + 11.0],
        ];
        let free = centres.into_iter().find_map(|[cx, cy]| {
            let area = [cx - 0.5 * wide, cy - 7.0, cx + 0.5 * wide, cy + 7.0];
            let inside = area[0] > frame.left && area[2] < WIDTH && area[1] > TOP - 8.0 && area[3] < HEIGHT - BOTTOM;
            (inside && !taken.iter().any(|other| overlap(&area, other))).then_some((area, [cx, cy]))
        });
        if let Some((area, [cx, cy])) = free {
            taken.push(area);
            text(svg, [cx, cy + 4.0], Anchor::Middle, name);
        }
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

pub(super) fn width(label: &str) -> f64 {
    CHARACTER * label.chars().count() as f64
}

/// Which part of a text is at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) fn text(svg: &mut String, [x, y]: [f64; 2], anchor: Anchor, words: &str) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape::html(words));
}

pub(super) fn line(svg: &mut String, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
    let _ = write!(svg, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn path(svg: &mut String, frame: &Frame, points: &[[f64; 2]], class: &str) {
    let mut commands = String::new();
    let mut pen = 'M';
    for point in points {
        match frame.place(*point) {
            Some([x, y]) => {
                let _ = write!(commands, "{pen}{x:.1} {y:.1}");
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    if !commands.is_empty() {
        let _ = write!(svg, "<path class=\"{class}\" d=\"{commands}\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(layers: Vec<Layer>) -> Chart {
        Chart::linear("a <title>", "steps", "loss", layers)
    }

    #[test]
    fn a_line_breaks_where_a_value_is_missing() {
        let points = vec![[0.0, 1.0], [1.0, 2.0], [2.0, f64::NAN], [3.0, 1.0], [4.0, 0.0]];
        let svg = chart(vec![Layer::Line { points, colour: 9, dashed: false }]).svg().unwrap();
        let path = svg.split("<path").nth(1).unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(svg.contains("line c1") && svg.contains("a &lt;title&gt;") && !svg.contains("NaN"));
    }

    #[test]
    fn nothing_finite_is_no_chart() {
        assert!(chart(vec![Layer::Dots { points: vec![[f64::NAN, 1.0]], colour: 0 }]).svg().is_none());
        assert!(chart(vec![Layer::Rule { at: 1.0, text: "best".into() }]).svg().is_none());
    }

    #[test]
    fn names_of_marks_that_lie_together_do_not_overlap() {
        let mark = |at| Layer::Mark { at, name: "AB".into(), tip: String::new(), colour: 0, area: 1.0 };
        let mut layers: Vec<Layer> = (0..40).map(|_| mark([1.0, 1.0])).collect();
        layers.extend([mark([0.0, 0.0]), mark([2.0, 2.0])]);
        let svg = chart(layers).svg().unwrap();
        // Around one place there is room for a few names only; the others are left out, those far away are not.
        let named = svg.matches(">AB</text>").count();
        assert!((4..=10).contains(&named), "{named}");
    }
}
