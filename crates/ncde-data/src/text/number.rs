//! Decimal numbers from bytes, correctly rounded: `x = m 10^e`.
//!
//! If the digits make an integer `m <= 2^53` and `|e| <= 22`, then `m` and `10^|e|` are both exact as `f64`, and one product
//! or quotient rounds once: the right answer (Clinger, 1990). Nearly all numbers in files are such; the standard library
//! reads the rest.

use std::borrow::Cow;

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    /// Nothing: blank, `?`, `NA`, `NaN`, `null` and their kin; `-`, `--`, `.`, `none` and `missing` among numbers.
    Missing,
    /// A finite number.
    Number(f64),
    /// Something else, infinity among it.
    Other,
}

impl Cell {
    /// The cell as a channel holds it, or `None` if it is no number.
    pub(crate) fn value(self) -> Option<f64> {
        match self {
            Self::Missing => Some(f64::NAN),
            Self::Number(x) => Some(x),
            Self::Other => None,
        }
    }

    /// The number, if it is one.
    pub(crate) fn number(self) -> Option<f64> {
        if let Self::Number(x) = self { Some(x) } else { None }
    }
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];

/// What a whole cell holds; spaces around it do not count.
pub(crate) fn cell(text: &[u8]) -> Cell {
    let text = text.trim_ascii();
    if let Some((x, used)) = prefix(text)
        && used == text.len()
    {
        return Cell::Number(x);
    }
    if is_missing(text) || is_placeholder(text) {
        return Cell::Missing;
    }
    match str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) {
        Some(x) if x.is_finite() => Cell::Number(x),
        _ => Cell::Other,
    }
}

/// The name of a category: the same number has the same, however it is written.
pub(crate) fn category(text: &str) -> Cow<'_, str> {
    match cell(text.as_bytes()) {
        Cell::Number(x) => Cow::Owned((x + 0.0).to_string()),
        Cell::Missing | Cell::Other => Cow::Borrowed(text),
    }
}

/// Whether a cell holds nothing, of whatever column.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    matches!(text, b"" | b"?")
        || [b"na".as_slice(), b"nan", b"n/a", b"null", b"#n/a", b"<na>"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a cell holds nothing in a column of numbers; among texts it may be one of them, such as the class `-` beside `+`.
pub(crate) fn is_placeholder(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    matches!(text, b"-" | b"--" | b"." | b"\xe2\x80\x93" | b"\xe2\x80\x94")
        || [b"none".as_slice(), b"missing"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a text is a number that is not finite.
pub(crate) fn is_infinite(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    // Nearly all texts are told from their first letter.
    matches!(text.first(), Some(b'+' | b'-' | b'i' | b'I' | b'0'..=b'9' | b'.'))
        && str::from_utf8(text).is_ok_and(|text| text.parse().is_ok_and(f64::is_infinite))
}

/// The number that a text starts with and how many bytes it takes, if the short way gives it exactly.
#[inline]
pub(crate) fn prefix(text: &[u8]) -> Option<(f64, usize)> {
    let is_negative = text.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let mut at = start;
    let mut mantissa: u64 = 0;
    let mut exponent: i32 = 0;
    at = digits(text, at, &mut mantissa);
    let mut count = at - start;
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        at = digits(text, point, &mut mantissa);
        let behind = at - point;
        count += behind;
        exponent = -i32::try_from(behind).ok()?;
    }
    // 19 digits fit into 64 bits; more may have wrapped round.
    if count == 0 || count > 19 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = text.get(at + 1).copied();
        let from = at + 1 + usize::from(matches!(sign, Some(b'+' | b'-')));
        let mut power = 0;
        at = digits(text, from, &mut power);
        if at == from || at - from > 4 {
            return None;
        }
        let power = i32::try_from(power).ok()?;
        exponent += if sign == Some(b'-') { -power } else { power };
    }
    if mantissa > 1 << 53 {
        return None;
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    let size = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    Some((if is_negative { -size } else { size }, at))
}

/// Reads digits from `at` on; says where they end.
#[inline]
fn digits(text: &[u8], mut at: usize, into: &mut u64) -> usize {
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        *into = into.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_missing_and_what_is_wrong() {
        for text in [
            "", "  ", "?", "NA", "nan", "NaN", "n/a", "NULL", " na\t", "#N/A", "<NA>", "-", " -- ", ".", "None", "missing",
            "\u{2013}",
        ] {
            assert_eq!(cell(text.as_bytes()), Cell::Missing, "{text:?}");
        }
        for text in ["x", "1.2.3", "1,5", "inf", "-Infinity", "1e999", "--1", "1e", "0x10", "1 2", "\u{ff11}"] {
            assert_eq!(cell(text.as_bytes()), Cell::Other, "{text:?}");
        }
        assert_eq!(cell(b"\xff"), Cell::Other);
    }

    #[test]
    fn forms_of_numbers() {
        for (text, x) in [
            ("+1.5", 1.5),
            (" -2. ", -2.0),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("9007199254740993", 9007199254740993_u64 as f64),
        ] {
            assert_eq!(cell(text.as_bytes()), Cell::Number(x), "{text:?}");
        }
        assert_eq!(prefix(b"1.25,7"), Some((1.25, 4)));
        assert_eq!(prefix(b"-"), None);
        assert!(matches!(cell(b"-0.0"), Cell::Number(x) if x == 0.0 && x.is_sign_negative()));
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "-?[0-9]{0,22}(\\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?") {
            let wanted = text.parse::<f64>().ok().filter(|x| x.is_finite());
            match cell(text.as_bytes()) {
                Cell::Number(x) => prop_assert_eq!(Some(x.to_bits()), wanted.map(f64::to_bits)),
                Cell::Missing => prop_assert!(text.is_empty() || is_placeholder(text.as_bytes())),
                Cell::Other => prop_assert_eq!(wanted, None),
            }
        }

        #[test]
        fn reads_back_what_is_written(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            let same = |text: String| matches!(cell(text.as_bytes()), Cell::Number(y) if y.to_bits() == bits);
            let (plain, scientific) = (format!("{x}"), format!("{x:e}"));
            prop_assert!(same(plain) && same(scientific));
        }
    }
}
