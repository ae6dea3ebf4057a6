//! The column of tokens of a csv file, if it has one: its texts become numbers of a vocabulary.

use super::cell::Kind;
use super::table::Table;
use crate::Error;
use crate::error::{at_field, at_line, listed, shown};
use crate::text::marks::Marks;
use crate::vocabulary::NO_TOKEN;

impl Table {
    /// The column that holds tokens: the only channel, if that is asked for or it holds text.
    pub(super) fn token_column(&self, is_static: &[bool]) -> Result<Option<usize>, Error> {
        let channels: Vec<usize> = (0..is_static.len()).filter(|&i| !is_static[i]).collect();
        let Some(tokens) = self.tokens() else {
            let is_text = |i: usize| matches!(self.values[i].kind, Kind::Texts(_));
            return Ok(if let [only] = channels[..] { Some(only).filter(|&i| is_text(i)) } else { None });
        };
        let name = |i: usize| self.values[i].name.as_str();
        let others: Vec<&str> = channels.into_iter().filter(|&i| i != tokens).map(name).collect();
        if !others.is_empty() {
            let tokens = shown(name(tokens));
            let seen = format!("column `{tokens}` is to hold tokens, but there are also {}", listed(&others));
            let fix =
                "tokens are a channel on their own: leave the others out (`--ignore`), or name them as statics (`--static`)";
            return Err(Error::header(at_line(self.file(), 0), seen, fix));
        }
        Ok(Some(tokens))
    }

    /// Makes the texts of a column numbers of tokens, and gives the vocabulary.
    pub(super) fn number_tokens(&mut self, column: usize) -> Result<Vec<String>, Error> {
        let width = self.values.len();
        let is_asked = self.tokens().is_some();
        let kind = std::mem::replace(&mut self.values[column].kind, Kind::Numbers(Marks::PLAIN, String::new()));
        let (vocabulary, places) = match kind {
            Kind::Texts(texts) => texts.vocabulary(),
            _ => return Ok(vec![]),
        };
        for case in &mut self.cases {
            for (i, x) in case.values.iter_mut().skip(column).step_by(width).enumerate() {
                if x.is_nan() {
                    let at = at_field(&self.files[case.file], 0, format!("column `{}`", self.values[column].name));
                    let fix = match is_asked {
                        true => NO_TOKEN,
                        false => "write one, or remove the row; if `NA` or `?` is a token, name the column as that of tokens",
                    };
                    return Err(Error::no_token(at, i, &case.id, fix));
                }
                *x = places[*x as usize] as f64;
            }
        }
        Ok(vocabulary)
    }
}
