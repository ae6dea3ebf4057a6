//! The `.arff` format of Weka: `@attribute` lines, then a line for each case.
//!
//! A multivariate case is one relational attribute: a quoted text in which `\n` (a backslash and an n) separates dimensions
//! and `,` values: `'1,2,3\n4,5,6',up`. A univariate case is a plain line `1,2,3,up`, an attribute a value. The label is the
//! attribute that is not part of the series: beside a relational one any, in a plain file the last if it is nominal or
//! named as a label, or the one that the caller names.

use super::rows::{LabelKind, NUMBER, Parsed, Row, Rows};
use super::{Loaded, ReadOptions, long};
use crate::error::{at_line, listed, shown};
use crate::text::lines::{Line, Lines, Source, utf8};
use crate::{Columns, Error};

#[derive(Debug, PartialEq)]
enum Kind {
    Numeric,
    Nominal(Vec<String>),
    Text,
    Relational,
}

#[derive(Debug)]
struct Attribute {
    name: String,
    kind: Kind,
}

/// What a line of data looks like.
struct Layout {
    attributes: usize,
    /// Which attribute holds the dimensions, if one holds them all.
    relational: Option<usize>,
    label: Option<usize>,
}

pub(super) fn read(source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let by_label = ReadOptions { columns: Columns { label: None, ..options.columns.clone() }, ..options.clone() };
    super::refuse(&source, "an .arff file", &by_label)?;
    let mut lines = Lines::new(source)?;
    let file = lines.file().to_string();
    let (relation, attributes) = header(&mut lines)?;
    let (layout, labels) = layout(&file, &attributes, options)?;
    let mut rows = Rows::new(&file, labels, None);
    rows.take(&mut lines, |line| layout.parse(&file, line))?;
    rows.finish(relation.unwrap_or_else(|| name.into()), options)
}

/// The name of the relation and the attributes that a line has, those inside a relational one left out.
fn header(lines: &mut Lines<'_>) -> Result<(Option<String>, Vec<Attribute>), Error> {
    let file = lines.file().to_string();
    let mut relation = None;
    let mut attributes = Vec::new();
    let mut is_inside = false;
    let mut last = 0;
    while let Some(line) = lines.next()? {
        last = line.number;
        let text = line.text.trim_ascii();
        if text.is_empty() || text[0] == b'%' {
            continue;
        }
        let at = || at_line(&file, line.number);
        let text = utf8(text, at)?;
        let (key, rest) = text.split_once(|c: char| c.is_whitespace()).unwrap_or((text, ""));
        let rest = rest.trim();
        match key.to_ascii_lowercase().as_str() {
            "@relation" => relation = Some(word(rest).0.to_string()).filter(|name| !name.is_empty()),
            "@end" => is_inside = false,
            "@data" => return Ok((relation, attributes)),
            "@attribute" => {
                let attribute =
                    attribute(rest).map_err(|fix| Error::header(at(), format!("`{}` is not understood", shown(text)), fix))?;
                if !is_inside {
                    is_inside = attribute.kind == Kind::Relational;
                    attributes.push(attribute);
                }
            }
            _ => {
                let fix = "an .arff file starts with `@relation` and `@attribute` lines, then `@data`";
                return Err(Error::header(at(), format!("`{}` stands before `@data`", shown(text)), fix));
            }
        }
    }
    let fix = "put `@data` between the attributes and the series, or copy the file again";
    Err(Error::header(at_line(&file, last), "the file ends without a line `@data`", fix))
}

/// The first word, with or without quotes, and what comes after it.
fn word(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('\'' | '"')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        _ => text.split_once(|c: char| c.is_whitespace() || c == '{').map_or((text, ""), |(word, _)| (word, &text[word.len()..])),
    }
}

fn attribute(text: &str) -> Result<Attribute, String> {
    let (name, kind) = word(text);
    let kind = kind.trim();
    let kind = if let Some(inside) = kind.strip_prefix('{') {
        let inside = inside.strip_suffix('}').ok_or("wanted a `}` after the classes")?;
        let classes = inside.split(',').map(|class| word(class.trim()).0.to_string());
        Kind::Nominal(classes.filter(|class| !class.is_empty()).collect())
    } else {
        match kind.split_whitespace().next().unwrap_or("").to_ascii_lowercase().as_str() {
            "numeric" | "real" | "integer" => Kind::Numeric,
            "string" => Kind::Text,
            "relational" => Kind::Relational,
            _ => return Err("wanted `@attribute NAME TYPE` with numeric, real, integer, string, relational or {a,b}".into()),
        }
    };
    Ok(Attribute { name: name.into(), kind })
}

fn layout(file: &str, attributes: &[Attribute], options: &ReadOptions) -> Result<(Layout, LabelKind), Error> {
    let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    let wrong = |seen: String, fix: &str| Err(Error::header(at_line(file, 0), seen, fix));
    let relational: Vec<usize> = (0..names.len()).filter(|&i| attributes[i].kind == Kind::Relational).collect();
    if relational.len() > 1 {
        let seen = format!("it has {} relational attributes", relational.len());
        return wrong(seen, "one can be read: put all dimensions into it");
    }
    let relational = relational.first().copied();
    let label = match (&options.columns.label, relational) {
        (Some(wanted), _) => {
            let found = names.iter().position(|name| name == wanted);
            Some(found.ok_or_else(|| Error::no_column(file, "labels", wanted, &names))?)
        }
        (None, Some(series)) if names.len() > 2 => {
            let others: Vec<&str> = (0..names.len()).filter(|&i| i != series).map(|i| names[i]).collect();
            return Err(Error::SeveralColumns { file: file.into(), role: "the label", names: listed(&others), flag: "--label" });
        }
        (None, Some(series)) => (0..names.len()).find(|&i| i != series),
        (None, None) => attributes
            .iter()
            .rposition(|_| true)
            .filter(|&last| matches!(attributes[last].kind, Kind::Nominal(_)) || long::is_label(&attributes[last].name)),
    };
    let is_value = |i: usize| if let Some(series) = relational { i == series } else { attributes[i].kind == Kind::Numeric };
    if let Some(other) = (0..names.len()).find(|&i| Some(i) != label && !is_value(i)) {
        let seen = format!("attribute `{}` is neither a number nor the label", names[other]);
        return wrong(seen, "remove it, or name the label");
    }
    if names.len() <= usize::from(label.is_some()) {
        let seen = "it has no attribute that holds a series".into();
        return wrong(seen, "give it one attribute a value, or a relational one");
    }
    let kind = match label.map(|label| &attributes[label]) {
        None => LabelKind::None,
        Some(Attribute { kind: Kind::Nominal(classes), .. }) => LabelKind::Classes(classes.clone()),
        Some(attribute) => LabelKind::Either(attribute.name.clone()),
    };
    Ok((Layout { attributes: names.len(), relational, label }, kind))
}

impl Layout {
    fn parse(&self, file: &str, line: Line<'_>) -> Result<Option<Parsed>, Error> {
        let text = line.text.trim_ascii();
        if text.is_empty() || text[0] == b'%' {
            return Ok(None);
        }
        if text[0] == b'{' {
            let seen = "the line is in the sparse form `{index value, ...}`";
            return Err(Error::header(at_line(file, line.number), seen, "save the file in the dense form"));
        }
        let row = Row { file, line: line.number, fix: NUMBER };
        let parsed = match self.relational {
            Some(series) => {
                let fix = "put the whole series into one pair of quotes";
                let fields = fields(text).map_err(|seen| Error::Quotes { at: at_line(file, line.number), seen, fix })?;
                self.count(file, line.number, fields.len())?;
                let label = self.label.map_or(&b""[..], |label| fields[label]).to_vec();
                row.plain(dimensions(fields[series]), label)
            }
            None => {
                self.count(file, line.number, text.iter().filter(|&&byte| byte == b',').count() + 1)?;
                let (values, label) = self.cut(text);
                row.plain(std::iter::once(values.as_slice()), unquoted(label).to_vec())
            }
        };
        parsed.map(Some)
    }

    fn count(&self, file: &str, line: u64, seen: usize) -> Result<(), Error> {
        if seen == self.attributes {
            return Ok(());
        }
        Err(Error::Count {
            at: at_line(file, line),
            seen,
            unit: "fields",
            wanted: self.attributes,
            because: "one for each `@attribute`",
            fix: "check that the line is whole, and that its series is in quotes if it is relational",
        })
    }

    /// A plain line without its label, and the label.
    fn cut<'a>(&self, text: &'a [u8]) -> (Vec<u8>, &'a [u8]) {
        let Some(label) = self.label else {
            return (text.to_vec(), b"");
        };
        let mut fields: Vec<&[u8]> = text.split(|&byte| byte == b',').collect();
        let label = fields.remove(label);
        (fields.join(&b','), label)
    }
}

/// The fields of a line, without their quotes.
fn fields(text: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let text = text.trim_ascii_start();
        let (field, after) = match text.first() {
            Some(&quote @ (b'\'' | b'"')) => {
                let end = text[1..].iter().position(|&byte| byte == quote).ok_or("a quote is not closed on this line")?;
                (&text[1..=end], text[end + 2..].trim_ascii_start())
            }
            _ => text.split_at(text.iter().position(|&byte| byte == b',').unwrap_or(text.len())),
        };
        fields.push(field.trim_ascii());
        rest = match after.first() {
            None => None,
            Some(b',') => Some(&after[1..]),
            Some(_) => return Err("there is text after a closing quote"),
        };
    }
    Ok(fields)
}

fn unquoted(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    match text {
        [b'\'', inside @ .., b'\''] | [b'"', inside @ .., b'"'] => inside,
        _ => text,
    }
}

/// The parts of a relational value, cut at each `\n` of two characters.
fn dimensions(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.windows(2).position(|two| two == br"\n");
        rest = end.map(|end| &text[end + 2..]).filter(|rest| !rest.is_empty());
        Some(end.map_or(text, |end| &text[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_in_their_forms() {
        let read = |text: &str| attribute(text).map(|attribute| (attribute.name, attribute.kind));
        assert_eq!(read("x numeric"), Ok(("x".into(), Kind::Numeric)));
        assert_eq!(read("'a b'  REAL"), Ok(("a b".into(), Kind::Numeric)));
        assert_eq!(read("class {'a b', c,d}"), Ok(("class".into(), Kind::Nominal(vec!["a b".into(), "c".into(), "d".into()]))));
        assert_eq!(read("class{1,2}"), Ok(("class".into(), Kind::Nominal(vec!["1".into(), "2".into()]))));
        assert!(read("x colour").is_err());
        assert!(read("x {a,b").is_err());
    }

    #[test]
    fn fields_may_be_quoted() {
        assert_eq!(fields(br"'1,2\n3,4',a b"), Ok(vec![br"1,2\n3,4".as_slice(), b"a b"]));
        assert_eq!(fields(b"x,\"1,2\""), Ok(vec![b"x".as_slice(), b"1,2"]));
        assert_eq!(fields(b"'1,2"), Err("a quote is not closed on this line"));
        let parts: Vec<&[u8]> = dimensions(br"1,2\n3,4\n").collect();
        assert_eq!(parts, [b"1,2", b"3,4"]);
    }
}
