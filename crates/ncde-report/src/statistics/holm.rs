//! Holm's correction: of `m` p-values, so that the chance to call any true "no difference" false is at most the level, whatever depends on whatever.
//!
//! ```text
//! p_(1) <= ... <= p_(m);   corrected p_(i) = min(1, max over j <= i of (m - j + 1) p_(j))
//! ```

/// The corrected values, in the order in which the values came.
///
/// ```
/// use ncde_report::statistics::holm;
/// assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut corrected = vec![0.0; values.len()];
    let mut least = 0.0_f64;
    for (at, i) in order.into_iter().enumerate() {
        least = least.max((values.len() - at) as f64 * values[i]).min(1.0);
        corrected[i] = least;
    }
    corrected
}
