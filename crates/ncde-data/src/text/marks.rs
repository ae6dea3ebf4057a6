//! How numbers are written: `1234.5`, `1,234.5`, `1.234,5`, `1 234,5`, `1'234.5`.
//!
//! A decimal mark and, if thousands are set apart, the mark between them. Of a single number `1,234` or `1.234` nobody can
//! tell which mark it holds; of a column, the other numbers often can.

use serde::{Deserialize, Serialize};

use super::number::{self, Cell};

/// The marks in the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// What stands before the fraction: `.` or `,`.
    pub decimal: char,
    /// What stands between thousands, if anything does: `,`, `.`, `'` or a space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
}

impl Marks {
    /// A decimal point, and nothing between thousands.
    pub const PLAIN: Self = Self { decimal: '.', thousands: None };

    pub(crate) fn cell(self, text: &[u8]) -> Cell {
        if self == Self::PLAIN {
            return number::cell(text);
        }
        let Some(Written { digits, thousands, decimal, .. }) = Written::of(text) else {
            return match number::cell(text) {
                // Such as `1.5` where the comma is the mark: another number than it seems.
                Cell::Number(_) => Cell::Other,
                other => other,
            };
        };
        let is_mine =
            decimal.is_none_or(|mark| mark == self.decimal) && thousands.is_none_or(|mark| Some(mark) == self.thousands);
        // One mark with three digits behind it is whichever of the two the column has.
        let either = match (thousands, decimal) {
            (None, Some(mark)) => Some(mark) == self.thousands && Written::is_grouped(&digits),
            _ => false,
        };
        match (is_mine, either) {
            (true, _) => number::cell(digits.as_bytes()),
            (false, true) => number::cell(digits.replacen('.', "", 1).as_bytes()),
            (false, false) => Cell::Other,
        }
    }
}

/// A number taken apart.
struct Written {
    /// The number with a decimal point and without marks between thousands.
    digits: String,
    thousands: Option<char>,
    decimal: Option<char>,
    /// Whether thousands stand apart by a mark that can only be that.
    is_clear: bool,
}

impl Written {
    /// `None` of a text that is no number in any way of writing.
    fn of(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?.trim();
        let (sign, rest) = match text.as_bytes().first()? {
            b'-' => ("-", &text[1..]),
            b'+' => ("", &text[1..]),
            _ => ("", text),
        };
        let (rest, exponent) = rest.find(['e', 'E']).map_or((rest, ""), |at| rest.split_at(at));
        let is_power = |power: &str| !power.is_empty() && power.bytes().all(|byte| byte.is_ascii_digit());
        if !exponent.is_empty() && !is_power(exponent[1..].strip_prefix(['-', '+']).unwrap_or(&exponent[1..])) {
            return None;
        }
        let mut groups = vec![String::new()];
        let mut marks = Vec::new();
        for c in rest.chars() {
            match c {
                '0'..='9' => groups.last_mut()?.push(c),
                '.' | ',' | '\'' | ' ' => {
                    marks.push(c);
                    groups.push(String::new());
                }
                '\u{a0}' | '\u{202f}' | '\u{2009}' => {
                    marks.push(' ');
                    groups.push(String::new());
                }
                '\u{2019}' => {
                    marks.push('\'');
                    groups.push(String::new());
                }
                _ => return None,
            }
        }
        if groups.iter().all(String::is_empty) {
            return None;
        }
        let count = |mark: char| marks.iter().filter(|&&other| other == mark).count();
        // The last mark is the decimal one, unless it is there often or only ever stands between thousands.
        let decimal = marks.last().copied().filter(|&mark| matches!(mark, '.' | ',') && count(mark) == 1);
        let between = &marks[..marks.len() - usize::from(decimal.is_some())];
        let thousands = between.first().copied();
        if between.iter().any(|&mark| Some(mark) != thousands) {
            return None;
        }
        let whole = &groups[..=between.len()];
        let is_grouped = whole.len() == 1 || (matches!(whole[0].len(), 1..=3) && whole[1..].iter().all(|group| group.len() == 3));
        let fraction = decimal.map_or("", |_| groups.last().map_or("", String::as_str));
        if !is_grouped {
            return None;
        }
        let point = if decimal.is_some() { "." } else { "" };
        let digits = format!("{sign}{}{point}{fraction}{exponent}", whole.concat());
        let is_clear = thousands.is_some_and(|mark| decimal.is_some() || between.len() > 1 || !matches!(mark, '.' | ','));
        Some(Self { digits, thousands, decimal, is_clear })
    }

    /// Whether `12.345` could also be twelve thousand.
    fn is_grouped(digits: &str) -> bool {
        let digits = digits.trim_start_matches('-');
        digits.split_once('.').is_some_and(|(whole, rest)| {
            matches!(whole.len(), 1..=3) && !whole.starts_with('0') && rest.len() == 3 && rest.bytes().all(|b| b.is_ascii_digit())
        })
    }
}

/// What the numbers of a column say of their marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Some can only have a decimal point, as `2.5` and `1,234.5`.
    pub(crate) point: bool,
    /// Some can only have a decimal comma.
    pub(crate) comma: bool,
    /// Some are `1.234`, and some `1,234`.
    pub(crate) either_point: bool,
    pub(crate) either_comma: bool,
    /// What stands between thousands where that is clear.
    pub(crate) thousands: Option<char>,
    /// Thousands stand apart in two ways.
    pub(crate) is_mixed: bool,
    /// Some are whole and have no mark: below a thousand, or not.
    pub(crate) is_small: bool,
    pub(crate) is_large: bool,
    /// They are amounts of money.
    pub(crate) is_money: bool,
}

impl Evidence {
    /// Takes a cell into account; whether it is a number.
    pub(crate) fn add(&mut self, text: &[u8]) -> bool {
        // The usual way first: a column may have millions of cells.
        if let Cell::Number(x) = number::cell(text) {
            self.is_small |= x.abs() < 1000.0;
            self.is_large |= x.abs() >= 1000.0;
            if text.contains(&b'.') {
                let is_either = str::from_utf8(text).is_ok_and(|text| Written::is_grouped(text.trim()));
                if is_either { self.either_point = true } else { self.point = true }
            }
            return true;
        }
        let Some(written) = Written::of(text) else {
            return false;
        };
        let Written { digits, thousands, decimal, is_clear } = written;
        if !matches!(number::cell(digits.as_bytes()), Cell::Number(_)) {
            return false;
        }
        if is_clear {
            self.is_mixed |= self.thousands.is_some_and(|known| Some(known) != thousands);
            self.thousands = thousands;
        }
        match (thousands, decimal) {
            (None, Some('.')) if Written::is_grouped(&digits) => self.either_point = true,
            (None, Some(',')) if Written::is_grouped(&digits) => self.either_comma = true,
            (_, Some('.')) | (Some(','), None) => self.point = true,
            (_, Some(_)) | (Some('.'), None) => self.comma = true,
            (_, None) => {}
        }
        true
    }

    /// Two columns together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            point: self.point || other.point,
            comma: self.comma || other.comma,
            either_point: self.either_point || other.either_point,
            either_comma: self.either_comma || other.either_comma,
            thousands: self.thousands.or(other.thousands),
            is_mixed: self.is_mixed || other.is_mixed,
            is_small: self.is_small || other.is_small,
            is_large: self.is_large || other.is_large,
            is_money: self.is_money || other.is_money,
        }
    }

    /// Whether `1,234` can only be thousands: beside `980` and nothing like `1234`, or of money.
    fn groups_thousands(self) -> bool {
        self.either_comma && !self.either_point && (self.is_money || (self.is_small && !self.is_large))
    }

    /// The marks of a column in a file whose numbers together are `file`, the decimal mark as the caller says or as it is
    /// seen; `None` if that cannot be told.
    pub(crate) fn marks(self, file: Self, requested: Option<char>) -> Option<Marks> {
        let of_column = match (self.point, self.comma) {
            (true, true) => return None,
            (true, false) => Some('.'),
            (false, true) => Some(','),
            (false, false) => None,
        };
        let of_file = match (file.point, file.comma) {
            (true, false) => Some('.'),
            (false, true) => Some(','),
            // Two ways in one file: a column must say itself.
            (true, true) => None,
            (false, false) => (!file.either_comma).then_some('.'),
        };
        let needs = self.either_comma || self.either_point;
        let decimal = match requested.or(of_column).or(of_file) {
            Some(decimal) => decimal,
            None if self.groups_thousands() => '.',
            None if needs => return None,
            None => '.',
        };
        // A point before three digits beside decimal commas elsewhere: thousands or a fraction?
        if requested.is_none() && of_column.is_none() && self.either_point && file.comma {
            return None;
        }
        if self.is_mixed {
            return None;
        }
        let other = if decimal == '.' { self.either_comma.then_some(',') } else { self.either_point.then_some('.') };
        Some(Marks { decimal, thousands: self.thousands.or(other) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(cells: &[&str]) -> Evidence {
        let mut evidence = Evidence::default();
        for cell in cells {
            assert!(evidence.add(cell.as_bytes()), "{cell}");
        }
        evidence
    }

    fn alone(cells: &[&str]) -> Option<Marks> {
        let evidence = evidence(cells);
        evidence.marks(evidence, None)
    }

    #[test]
    fn a_column_says_what_its_marks_are() {
        let marks = |decimal, thousands| Some(Marks { decimal, thousands });
        assert_eq!(alone(&["1", "2.5", "1.234"]), marks('.', None));
        assert_eq!(alone(&["1.234"]), marks('.', None));
        assert_eq!(alone(&["1", "2,5", "1,234"]), marks(',', None));
        assert_eq!(alone(&["0,125"]), marks(',', None));
        assert_eq!(alone(&["1.234,5"]), marks(',', Some('.')));
        assert_eq!(alone(&["1,234.5", "12"]), marks('.', Some(',')));
        assert_eq!(alone(&["1,234,567"]), marks('.', Some(',')));
        assert_eq!(alone(&["1 234,5", "7"]), marks(',', Some(' ')));
        assert_eq!(alone(&["1'234.5"]), marks('.', Some('\'')));
        assert_eq!(alone(&["1,234", "980"]), marks('.', Some(',')));
        // Nobody can tell.
        assert_eq!(alone(&["1,234"]), None);
        assert_eq!(alone(&["1,234", "1234"]), None);
        assert_eq!(alone(&["1,5", "1.5"]), None);
        // Another column can.
        let (of_column, file) = (evidence(&["1,234"]), evidence(&["1,234", "2,5"]));
        assert_eq!(of_column.marks(file, None), marks(',', None));
        assert_eq!(of_column.marks(evidence(&["1,234", "2.5"]), None), marks('.', Some(',')));
        assert_eq!(of_column.marks(of_column, Some(',')), marks(',', None));
        assert_eq!(evidence(&["1.234"]).marks(evidence(&["1.234", "2,5"]), None), None);
    }

    #[test]
    fn cells_are_read_with_their_marks() {
        let comma = Marks { decimal: ',', thousands: Some('.') };
        for (text, wanted) in [("1.234,5", 1234.5), ("-0,25", -0.25), ("7", 7.0), ("1.234", 1234.0), ("1,5e-3", 0.0015)] {
            assert_eq!(comma.cell(text.as_bytes()), Cell::Number(wanted), "{text}");
        }
        for text in ["1.5", "1.23,4", "a", "1,2,3", "12.34"] {
            assert_eq!(comma.cell(text.as_bytes()), Cell::Other, "{text}");
        }
        assert_eq!(comma.cell(b" NA "), Cell::Missing);
        let bare = Marks { decimal: ',', thousands: None };
        assert_eq!(bare.cell(b"1.234"), Cell::Other);
        assert_eq!(bare.cell(b"1,234"), Cell::Number(1.234));
        let point = Marks { decimal: '.', thousands: Some(',') };
        assert_eq!(point.cell(b"1,234"), Cell::Number(1234.0));
        assert_eq!(point.cell("1\u{a0}234".as_bytes()), Cell::Other);
        let space = Marks { decimal: ',', thousands: Some(' ') };
        assert_eq!(space.cell("1\u{202f}234,5".as_bytes()), Cell::Number(1234.5));
    }

    #[test]
    fn what_is_no_number_says_nothing() {
        for text in ["", "x", "1..2", "1,2.3,4", "12,34,567", ".", "1e", "--1", "10 20"] {
            assert!(!Evidence::default().add(text.as_bytes()), "{text:?}");
        }
    }
}
