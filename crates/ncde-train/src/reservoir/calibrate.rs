//! From scores to probabilities: `p = softmax(tau s)`, with the `tau` that maximises the likelihood of held-out rows.

use ncde_runtime::softmax;

/// The largest `tau`: scores that differ by 1 then have odds of e^12 to 1.
const MAX_TEMPERATURE: f64 = 12.0;

/// Scores of held-out rows and what they should be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldOut<'a> {
    /// `[rows, classes]`, with the column `means` subtracted.
    pub(crate) scores: &'a [f64],
    /// One-hot, `[rows, classes]`, with the column `means` subtracted, then multiplied with `roots`.
    pub(crate) targets: &'a [f64],
    pub(crate) means: &'a [f64],
    /// The square roots of the weights of rows.
    pub(crate) roots: &'a [f64],
}

impl HeldOut<'_> {
    fn logits(&self, row: &[f64], tau: f64) -> Vec<f64> {
        row.iter().zip(self.means).map(|(score, mean)| tau * (score + mean)).collect()
    }

    /// The true class of each row: the one whose target is largest.
    pub(crate) fn truth(&self) -> Vec<usize> {
        let classes = self.means.len().max(1);
        let right = |(targets, root): (&[f64], &f64)| {
            let target = |class: usize| targets[class] / root + self.means[class];
            (0..classes).max_by(|&a, &b| target(a).total_cmp(&target(b))).unwrap_or(0)
        };
        self.targets.chunks_exact(classes).zip(self.roots).map(right).collect()
    }

    /// `[rows, classes]`.
    pub(crate) fn probabilities(&self, tau: f64) -> Vec<f64> {
        self.scores.chunks_exact(self.means.len().max(1)).flat_map(|row| softmax(&self.logits(row, tau))).collect()
    }

    /// `tau`.
    pub(crate) fn temperature(&self) -> f64 {
        let truth = self.truth();
        let loss = |tau: f64| -> f64 {
            let rows = self.scores.chunks_exact(self.means.len().max(1)).zip(truth.iter().zip(self.roots));
            rows.map(|(scores, (&right, root))| {
                let logits = self.logits(scores, tau);
                let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = logits.iter().map(|y| (y - most).exp()).sum();
                root * root * (most + sum.ln() - logits[right])
            })
            .sum()
        };
        // The loss is convex in tau: golden-section search over its logarithm, between 0.1 and 1000.
        let (mut low, mut high) = (0.1_f64.ln(), 1000.0_f64.ln());
        let ratio = 0.618_033_988_749_894_9;
        for _ in 0..40 {
            let [a, b] = [high - ratio * (high - low), low + ratio * (high - low)];
            if loss(a.exp()) < loss(b.exp()) { high = b } else { low = a }
        }
        // If every row is classified right the likelihood grows with tau for ever, so tau is bounded.
        f64::midpoint(low, high).exp().min(MAX_TEMPERATURE)
    }
}

#[cfg(test)]
mod tests {
    use super::HeldOut;

    #[test]
    fn scores_that_are_right_nine_times_of_ten_become_nine_to_one() {
        // Two classes, margin 1; of ten cases one is wrong: tau = ln 9. If that one counts nine times, scores say nothing.
        let (mut scores, mut targets) = (Vec::new(), Vec::new());
        for i in 0..10 {
            scores.extend([0.5, -0.5]);
            targets.extend(if i == 0 { [-0.5, 0.5] } else { [0.5, -0.5] });
        }
        let held_out = HeldOut { scores: &scores, targets: &targets, means: &[0.5, 0.5], roots: &[1.0; 10] };
        let tau = held_out.temperature();
        assert!((tau - 9.0_f64.ln()).abs() < 1e-6, "{tau}");
        assert_eq!(held_out.truth(), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let (mut weighed, mut roots) = (targets.clone(), [1.0; 10]);
        weighed[..2].iter_mut().for_each(|y| *y *= 3.0);
        roots[0] = 3.0;
        let tau = HeldOut { targets: &weighed, roots: &roots, ..held_out }.temperature();
        assert!(tau < 0.11, "{tau}");
    }
}
