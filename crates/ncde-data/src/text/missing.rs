//! What stands for a missing cell beside the usual words: as the caller says, such as `9999`.

use super::number;

/// Texts and numbers that stand for a missing cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Missing {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

impl Missing {
    pub(crate) fn new(stated: &[String]) -> Self {
        let texts = stated.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let numbers = stated.iter().filter_map(|text| number(text.as_bytes()));
        Self { numbers: numbers.collect(), texts: texts.collect() }
    }

    /// Whether a cell is one of them: by its text, or by its number however that is written.
    pub(crate) fn is(&self, cell: &[u8]) -> bool {
        if self.texts.is_empty() {
            return false;
        }
        let cell = cell.trim_ascii();
        self.texts.iter().any(|text| text.as_bytes().eq_ignore_ascii_case(cell))
            || (!self.numbers.is_empty() && number(cell).is_some_and(|x| self.is_number(x)))
    }

    pub(crate) fn is_number(&self, x: f64) -> bool {
        self.numbers.contains(&x)
    }

    /// The cell, or a blank one if it is missing.
    pub(crate) fn clean<'a>(&self, cell: &'a [u8]) -> &'a [u8] {
        if self.is(cell) { b"" } else { cell }
    }
}

/// A number with a decimal point or a decimal comma.
fn number(cell: &[u8]) -> Option<f64> {
    number::cell(cell).number().or_else(|| {
        let text = str::from_utf8(cell).ok()?.trim();
        let infinite = text.parse().ok().filter(|x: &f64| x.is_infinite());
        infinite.or_else(|| number::cell(text.replacen(',', ".", 1).as_bytes()).number())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_missing_by_text_or_by_number() {
        let missing = Missing::new(&["9999".into(), "-99.9".into(), "unknown".into()]);
        for cell in ["9999", "9999.0", " 9999,00 ", "-99.90", "Unknown"] {
            assert!(missing.is(cell.as_bytes()), "{cell}");
        }
        for cell in ["999", "-9999", "", "known"] {
            assert!(!missing.is(cell.as_bytes()), "{cell}");
        }
        assert!(!Missing::default().is(b""));
        assert_eq!(missing.clean(b"1"), b"1");
    }
}
