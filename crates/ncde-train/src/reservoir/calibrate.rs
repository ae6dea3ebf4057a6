//! From scores to probabilities: `p = softmax(tau s)`, with the `tau` that maximises the likelihood of held-out rows.

/// `tau` from the scores of held-out rows and their one-hot targets, both `[rows, classes]` with the column `means` subtracted.
pub(crate) fn temperature(left_out: &[f64], targets: &[f64], means: &[f64]) -> f64 {
    let classes = means.len().max(1);
    let loss = |tau: f64| -> f64 {
        left_out
            .chunks_exact(classes)
            .zip(targets.chunks_exact(classes))
            .map(|(scores, targets)| {
                let logits: Vec<f64> = scores.iter().zip(means).map(|(score, mean)| tau * (score + mean)).collect();
                let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = logits.iter().map(|y| (y - most).exp()).sum();
                // The right class is the one whose target lies above its mean.
                let right =
                    (0..classes).max_by(|&a, &b| (targets[a] + means[a]).total_cmp(&(targets[b] + means[b]))).unwrap_or(0);
                most + sum.ln() - logits[right]
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

/// The largest `tau`: scores that differ by 1 then have odds of e^12 to 1.
const MAX_TEMPERATURE: f64 = 12.0;

#[cfg(test)]
mod tests {
    use super::temperature;

    #[test]
    fn scores_that_are_right_nine_times_of_ten_become_nine_to_one() {
        // Two classes, margin 1; of ten cases one is wrong: tau = ln 9.
        let (mut left_out, mut targets) = (Vec::new(), Vec::new());
        for i in 0..10 {
            left_out.extend([0.5, -0.5]);
            targets.extend(if i == 0 { [-0.5, 0.5] } else { [0.5, -0.5] });
        }
        let tau = temperature(&left_out, &targets, &[0.5, 0.5]);
        assert!((tau - 9.0_f64.ln()).abs() < 1e-6, "{tau}");
    }
}
