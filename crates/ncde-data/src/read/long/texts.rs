//! The different texts of a column: tokens as they stand, or categories, in which a number has one name however it is written.

use crate::Error;
use crate::error::Location;
use crate::text::number;
use crate::vocabulary::Seen;

/// More different texts than this are no categories.
const MAX_CATEGORIES: usize = 256;

/// The texts of a column, numbered as they come.
#[derive(Debug, Default)]
pub(in super::super) struct Texts {
    seen: Seen,
    /// The category of each text.
    category_of: Vec<usize>,
    categories: Vec<String>,
    /// Where there were too many categories first.
    beyond: Option<Location>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str, at: impl FnOnce() -> Location) -> usize {
        let number = self.seen.number(text);
        if number == self.category_of.len() {
            let name = number::category(text);
            let found = self.categories.iter().position(|category| *category == name);
            self.category_of.push(found.unwrap_or_else(|| {
                if self.categories.len() == MAX_CATEGORIES {
                    self.beyond.get_or_insert_with(at);
                    return MAX_CATEGORIES + number;
                }
                self.categories.push(name.into_owned());
                self.categories.len() - 1
            }));
        }
        number
    }

    /// The category of a text.
    pub(super) fn category(&self, number: f64) -> usize {
        self.category_of[number as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.category_of.len()
    }

    /// The names of the categories.
    pub(super) fn categories(&self) -> Result<&[String], Error> {
        match &self.beyond {
            Some(at) => Err(Error::TooManyCategories { at: at.clone(), limit: MAX_CATEGORIES }),
            None => Ok(&self.categories),
        }
    }

    /// The vocabulary, and the place in it of each text by its number.
    pub(super) fn vocabulary(self) -> (Vec<String>, Vec<usize>) {
        self.seen.vocabulary()
    }
}
