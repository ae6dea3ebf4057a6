//! The `@` lines of a `.ts` file.
//!
//! Only what the data needs is believed: name, time stamps, dimensions and labels. Claims that the data itself shows
//! (lengths, missing values, one dimension or more) are checked to be well formed, no more: published files get them wrong.

use std::ops::ControlFlow;

use super::LabelKind;
use crate::Error;
use crate::error::{at_line, closest, shown};
use crate::text::lines::{Line, Lines, utf8};

#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) name: Option<String>,
    /// Whether values carry their times.
    pub(super) has_stamps: bool,
    pub(super) dimensions: Option<usize>,
    pub(super) labels: LabelKind,
}

const KEYS: [&str; 10] = [
    "problemName",
    "timeStamps",
    "missing",
    "univariate",
    "dimensions",
    "equalLength",
    "seriesLength",
    "classLabel",
    "targetLabel",
    "data",
];

/// Reads up to the line `@data`.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Header, Error> {
    let file = lines.file().to_string();
    let mut header = Header { name: None, has_stamps: false, dimensions: None, labels: LabelKind::None };
    let mut last = 0;
    while let Some(line) = lines.next()? {
        let text = line.text.trim_ascii();
        last = line.number;
        match text.first() {
            None | Some(b'#' | b'%') => {}
            Some(b'@') => {
                if header.take(&file, Line { text, ..line })?.is_break() {
                    return Ok(header);
                }
            }
            Some(_) => {
                let seen = format!("`{}` stands before `@data`", shown(text));
                let fix = "a .ts file starts with lines such as `@problemName x` and `@classLabel true a b`, then `@data`";
                return Err(Error::header(at_line(&file, line.number), seen, fix));
            }
        }
    }
    let seen = "the file ends without a line `@data`";
    Err(Error::header(at_line(&file, last), seen, "put `@data` between the header and the series, or copy the file again"))
}

impl Header {
    /// Reads a line; breaks at `@data`.
    fn take(&mut self, file: &str, line: Line<'_>) -> Result<ControlFlow<()>, Error> {
        let at = || at_line(file, line.number);
        let text = utf8(line.text, at)?;
        let mut words = text[1..].split_whitespace();
        let word = words.next().unwrap_or("");
        let known = KEYS.iter().find(|known| known.eq_ignore_ascii_case(word));
        let key = known.copied().unwrap_or(if word.eq_ignore_ascii_case("dimension") { "dimensions" } else { word });
        let rest: Vec<&str> = words.collect();
        let wrong =
            |wanted: &str| Error::header(at(), format!("`{}` is not understood", shown(line.text)), format!("wanted {wanted}"));
        let truth = || match rest.first().map(|word| word.to_ascii_lowercase()).as_deref() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(wrong(&format!("`@{key} true` or `@{key} false`"))),
        };
        let size = || match rest.first().and_then(|word| word.parse().ok()) {
            Some(size) if size > 0 => Ok(size),
            _ => Err(wrong(&format!("`@{key}` and a number above zero"))),
        };
        match key {
            "data" => return Ok(ControlFlow::Break(())),
            "problemName" => self.name = Some(rest.join(" ")).filter(|name| !name.is_empty()),
            "timeStamps" => self.has_stamps = truth()?,
            "dimensions" => self.dimensions = Some(size()?),
            "seriesLength" => {
                size()?;
            }
            "missing" | "univariate" | "equalLength" => {
                truth()?;
            }
            "classLabel" if truth()? => {
                let classes: Vec<String> = rest[1..].iter().map(|&class| class.into()).collect();
                if let Some((i, class)) = classes.iter().enumerate().find(|(i, class)| classes[..*i].contains(class)) {
                    return Err(wrong(&format!("each class once: `{}` is there again as number {}", shown(class), i + 1)));
                }
                self.labels = LabelKind::Classes(classes);
            }
            "targetLabel" if truth()? => self.labels = LabelKind::Target,
            "classLabel" | "targetLabel" => {}
            _ => {
                // A key of its own is no harm; a misspelt one would be.
                if let Some(known) = closest(key, &KEYS) {
                    let seen = format!("`@{}` is not known", shown(word));
                    return Err(Error::header(at(), seen, format!("did you mean `@{known}`?")));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
