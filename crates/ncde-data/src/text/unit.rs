//! Numbers with a unit: `€1,134`, `-$5`, `10.2 %`, `12 kg`.

use std::borrow::Cow;

use super::marks::{Evidence, Marks};
use super::number::Cell;

/// The longest unit, in characters.
const MAX_UNIT: usize = 8;

/// The unit of a cell and the number without it; `None` of a cell that is not both.
pub(crate) fn split(cell: &[u8]) -> Option<(&str, Cow<'_, [u8]>)> {
    let text = str::from_utf8(cell).ok()?.trim();
    let (sign, rest) = text.split_at(usize::from(text.starts_with(['-', '+'])));
    let first = rest.chars().next()?;
    let (unit, number) = if is_currency(first) {
        let (unit, number) = rest.split_at(first.len_utf8());
        (unit, Cow::Owned(format!("{sign}{}", number.trim_start()).into_bytes()))
    } else {
        let (number, unit) = text.split_at(text.rfind(|c: char| c.is_ascii_digit())? + 1);
        (unit.trim_start(), Cow::Borrowed(number.as_bytes()))
    };
    let is_unit = |c: char| c.is_alphabetic() || is_sign(c) || matches!(c, '/' | '°' | '²' | '³' | '·');
    let is_whole = !unit.is_empty() && unit.chars().count() <= MAX_UNIT && unit.chars().all(is_unit);
    (is_whole && Evidence::default().add(&number)).then_some((unit, number))
}

/// What a cell of a column with this unit holds; the unit may be left out.
pub(crate) fn cell(marks: Marks, unit: &str, text: &[u8]) -> Cell {
    match marks.cell(text) {
        Cell::Other if !unit.is_empty() => match split(text) {
            Some((seen, number)) if seen == unit => marks.cell(&number),
            _ => Cell::Other,
        },
        read => read,
    }
}

/// Whether a unit means the same wherever it stands, so that a column may hold plain numbers too.
pub(crate) fn is_symbol(unit: &str) -> bool {
    unit.chars().all(is_sign)
}

/// Whether a unit is money, which nobody writes with three decimals.
pub(crate) fn is_money(unit: &str) -> bool {
    unit.chars().all(is_currency)
}

fn is_sign(c: char) -> bool {
    is_currency(c) || matches!(c, '%' | '‰')
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_before_or_behind() {
        for (text, unit, number) in [
            ("€1,134", "€", "1,134"),
            ("-$5", "$", "-5"),
            (" $ 5.50 ", "$", "5.50"),
            ("10.2%", "%", "10.2"),
            ("10,2 ‰", "‰", "10,2"),
            ("1 234,5 €", "€", "1 234,5"),
            ("12 kg", "kg", "12"),
            ("-3 °C", "°C", "-3"),
            ("7m/s", "m/s", "7"),
        ] {
            let (seen, rest) = split(text.as_bytes()).unwrap();
            assert_eq!((seen, str::from_utf8(&rest).unwrap()), (unit, number), "{text}");
        }
        for text in ["", "5", "kg", "a5", "€", "€5 kg", "12 of 13", "5 (a)", "12:30 h", "5 somethings", "1.2.3 m"] {
            assert_eq!(split(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_column_has_one_unit() {
        let point = Marks { decimal: '.', thousands: Some(',') };
        assert_eq!(cell(point, "€", "€1,134".as_bytes()), Cell::Number(1134.0));
        assert_eq!(cell(point, "€", b"7"), Cell::Number(7.0));
        assert_eq!(cell(point, "€", b"$7"), Cell::Other);
        assert_eq!(cell(point, "", b"$7"), Cell::Other);
        assert_eq!(cell(point, "kg", b"NA"), Cell::Missing);
    }
}
