//! Numbers for people: four significant digits, thousands in groups, time in its unit.

use std::borrow::Cow;

/// What stands for a number that is not there.
pub(crate) const MISSING: &str = "n/a";

/// Four significant digits: `0.1235`, `12.3`, `4.2e-6`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // Rounded first: 9.99996 has one digit before the point only until it is rounded.
    let scientific = format!("{value:.3e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent @ -3..=5) => {
            let decimals = usize::try_from(3 - exponent).unwrap_or(0);
            trim(&format!("{value:.decimals$}")).into()
        }
        _ => format!("{}e{exponent}", trim(digits)),
    }
}

/// Without the zeros that end a decimal fraction.
pub(crate) fn trim(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A count in groups of three digits: `12,345`.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and what is counted: `1 case`, `2 cases`.
pub(crate) fn counted(value: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A share: `93.1 %`.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { MISSING.into() }
}

/// A time in the unit that suits it: `3.2 ms`, `12.5 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return MISSING.into();
    }
    let whole = seconds.round() as u64;
    match seconds {
        0.0 => "0 s".into(),
        s if s < 0.999_5e-3 => format!("{} \u{b5}s", three(s * 1e6)),
        s if s < 0.999_5 => format!("{} ms", three(s * 1e3)),
        s if s < 59.95 => format!("{} s", three(s)),
        _ if whole < 3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => {
            let minutes = (seconds / 60.0).round() as u64;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

/// Three significant digits of a number below 1000.
fn three(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    trim(&format!("{value:.decimals$}")).into()
}

/// At most `most` characters, with an ellipsis for those that are left out.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['\u{2026}']).collect()
}

/// With a capital first letter.
pub(crate) fn capital(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// The name of a metric as people write it.
pub(crate) fn metric_name(name: &str) -> Cow<'_, str> {
    match name {
        "loss" => "log loss".into(),
        "auroc" => "AUROC".into(),
        "f1" => "macro F1".into(),
        "mse" => "MSE".into(),
        "rmse" => "RMSE".into(),
        "mae" => "MAE".into(),
        "mase" => "MASE".into(),
        "r2" => "R\u{b2}".into(),
        other => other.replace('_', " ").into(),
    }
}

/// Whether a metric is a share of cases, shown in percent.
pub(crate) fn is_share(name: &str) -> bool {
    matches!(name, "accuracy" | "balanced_accuracy" | "coverage" | "average_precision")
}

/// The value of a metric: a share in percent, anything else as a number.
pub(crate) fn metric(name: &str, value: f64) -> String {
    if is_share(name) { percent(value) } else { number(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_whatever_their_size() {
        let seen = [0.0, 1.0, -2.5, 0.123_456, 9.999_96, 1234.567, 123_456.7, 1e7, 0.000_042, f64::NAN].map(number);
        assert_eq!(seen, ["0", "1", "-2.5", "0.1235", "10", "1235", "123457", "1e7", "4.2e-5", "n/a"]);
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.931_49, 1.0, f64::INFINITY].map(percent), ["0.0 %", "93.1 %", "100.0 %", "n/a"]);
        assert_eq!(counted(1, "case", "cases") + &counted(2000, " case", " cases"), "1 case2,000  cases");
    }

    #[test]
    fn times_change_their_unit_where_they_should() {
        let times = [0.0, 12.34e-6, 0.999_6e-3, 0.0123, 0.999_7, 12.345, 59.96, 200.0, 3599.6, 7500.0, -1.0];
        let wanted = [
            "0 s",
            "12.3 \u{b5}s",
            "1 ms",
            "12.3 ms",
            "1 s",
            "12.3 s",
            "1 min 0 s",
            "3 min 20 s",
            "1 h 0 min",
            "2 h 5 min",
            "n/a",
        ];
        assert_eq!(times.map(duration), wanted);
    }
}
