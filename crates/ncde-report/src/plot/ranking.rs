//! A critical-difference diagram: models on an axis of average ranks, bars over those that no test tells apart.
//!
//! The best is on the right, as such diagrams have it since Demsar (2006). The picture is as wide as its names need.

use super::chart::{Anchor, line, text, width};
use crate::escape;
use crate::format::shortened;
use crate::statistics::Comparison;

/// Between the axis and the top, where its numbers are.
const TOP: f64 = 24.0;
/// From one bar to the next, and from one name to the next.
const BAR: f64 = 8.0;
const ROW: f64 = 17.0;
/// The longest name of a model.
const LONGEST_NAME: usize = 32;
/// Between names and the axis.
const GAP: f64 = 10.0;

/// Models by average rank, and which of them are not told apart.
///
/// ```
/// use ncde_report::{plot::Ranking, statistics::{Better, Comparison}};
/// let scores = [vec![0.9, 0.8], vec![0.7, 0.6], vec![0.5, 0.4]];
/// let diagram = Ranking::of(&Comparison::of(&scores, Better::More)?, &["a", "b", "c"]);
/// assert!(diagram.svg().is_some_and(|svg| svg.contains("a (1.00)") && svg.matches("clique").count() == 1));
/// # Ok::<(), ncde_report::statistics::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The models with their average ranks, the best first.
    pub models: Vec<(String, f64)>,
    /// Runs `[first, last]` of places that a bar joins.
    pub cliques: Vec<[usize; 2]>,
}

impl Ranking {
    /// What is said below a diagram.
    pub const NOTE: &str = "The best average rank is on the right. A bar joins models of which no pair differs at the 0.05 level, by Wilcoxon signed-rank \
                            tests of all pairs with Holm's correction.";

    /// Of a comparison; `names` are those of its models.
    pub fn of(comparison: &Comparison, names: &[&str]) -> Self {
        let named = |&model: &usize| (names.get(model).map_or_else(String::new, ToString::to_string), comparison.ranks[model]);
        Self { models: comparison.order.iter().map(named).collect(), cliques: comparison.cliques.clone() }
    }

    /// The diagram; `None` of fewer than two models.
    pub fn svg(&self) -> Option<String> {
        let count = self.models.len();
        if count < 2 || self.models.iter().any(|(_, rank)| !rank.is_finite()) {
            return None;
        }
        let label = |(name, rank): &(String, f64)| format!("{} ({rank:.2})", shortened(name, LONGEST_NAME));
        let labels: Vec<String> = self.models.iter().map(label).collect();
        let side = labels.iter().map(|label| width(label)).fold(0.0, f64::max) + GAP;
        let long = (26.0 * (count - 1) as f64).max(140.0);
        let (left, right) = (side, side + long);
        let place = |rank: f64| right - (rank - 1.0) / (count - 1) as f64 * long;
        let bars = TOP + 4.0 + BAR * self.cliques.len() as f64;
        // The better half has its names on the right, from the best down; the other half on the left, from the worst down.
        let half = count.div_ceil(2);
        let row = |at: usize| bars + ROW * (1 + if at < half { at } else { count - 1 - at }) as f64;
        let height = bars + ROW * half as f64 + 8.0;
        let title = escape::html(&format!("average ranks: {}", labels.join(", ")));
        let whole = 2.0 * side + long;
        // As wide as its names need, so that they can be read wherever it is; a narrow page scrolls it.
        let mut svg = format!(
            "<svg viewBox=\"0 0 {whole:.0} {height:.0}\" style=\"width:{whole:.0}px;max-width:none\" role=\"img\" aria-label=\"{title}\">"
        );
        line(&mut svg, "axis", [left, TOP], [right, TOP]);
        for rank in 1..=count {
            let x = place(rank as f64);
            line(&mut svg, "axis", [x, TOP - 5.0], [x, TOP]);
            text(&mut svg, [x, TOP - 9.0], Anchor::Middle, &rank.to_string());
        }
        for (at, ((_, rank), label)) in self.models.iter().zip(&labels).enumerate() {
            let (x, y) = (place(*rank), row(at));
            let (end, words, anchor) =
                if at < half { (right, right + 4.0, Anchor::Start) } else { (left, left - 4.0, Anchor::End) };
            line(&mut svg, "axis", [x, TOP], [x, y]);
            line(&mut svg, "axis", [x, y], [end, y]);
            text(&mut svg, [words, y + 4.0], anchor, label);
        }
        for (at, [first, last]) in self.cliques.iter().enumerate() {
            let y = TOP + BAR * (at + 1) as f64;
            let [from, to] = [self.models.get(*last)?.1, self.models.get(*first)?.1].map(place);
            line(&mut svg, "clique", [from - 4.0, y], [to + 4.0, y]);
        }
        svg.push_str("</svg>");
        Some(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_and_one_below_the_other() {
        let models: Vec<(String, f64)> = (0..9).map(|i| (format!("model <{i}>"), 1.0 + f64::from(i))).collect();
        let svg = Ranking { models, cliques: vec![[0, 3], [2, 8]] }.svg().unwrap();
        assert!(svg.contains("model &lt;0&gt; (1.00)") && svg.matches("class=\"clique\"").count() == 2);
        let numbers = |key: &str| -> Vec<f64> {
            svg.split(&format!(" {key}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
        };
        let sizes: Vec<f64> =
            svg.split("viewBox=\"").nth(1).unwrap().split('"').next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        let within = |values: Vec<f64>, most: f64| values.into_iter().all(|x| (0.0..=most).contains(&x));
        assert!(["x", "x1", "x2"].iter().all(|key| within(numbers(key), sizes[2])));
        assert!(["y", "y1", "y2"].iter().all(|key| within(numbers(key), sizes[3])));
        // Names on a side are a row apart: nine on the axis, then five and four.
        let mut rows: Vec<f64> = numbers("y").split_off(9);
        rows.sort_by(f64::total_cmp);
        rows.dedup();
        assert!(rows.len() == 5 && rows.windows(2).all(|pair| pair[1] - pair[0] >= ROW - 0.1), "{rows:?}");
    }

    #[test]
    fn one_model_is_no_diagram() {
        assert!(Ranking { models: vec![("a".into(), 1.0)], cliques: Vec::new() }.svg().is_none());
    }
}
