//! The cells of a csv line: `a,"b, c","say ""so"""`.

use std::borrow::Cow;

/// The cells of a line, without the spaces and quotes around them.
///
/// # Errors
///
/// What is wrong with the quotes.
pub(crate) fn cells(line: &[u8], separator: u8) -> Result<Vec<Cow<'_, [u8]>>, &'static str> {
    let mut cells = Vec::new();
    if !line.contains(&b'"') {
        cells.extend(line.split(|&byte| byte == separator).map(|cell| Cow::Borrowed(cell.trim_ascii())));
        return Ok(cells);
    }
    let mut rest = Some(line);
    while let Some(text) = rest {
        let inside = text.trim_ascii_start();
        if inside.first() == Some(&b'"') {
            let (cell, after) = quoted(&inside[1..])?;
            cells.push(Cow::Owned(cell));
            let after = after.trim_ascii_start();
            rest = match after.first() {
                None => None,
                Some(&byte) if byte == separator => Some(&after[1..]),
                Some(_) => return Err("there is text after a closing quote"),
            };
        } else {
            let end = text.iter().position(|&byte| byte == separator);
            cells.push(Cow::Borrowed(text[..end.unwrap_or(text.len())].trim_ascii()));
            rest = end.map(|end| &text[end + 1..]);
        }
    }
    Ok(cells)
}

/// Whether a line ends within quotes.
pub(crate) fn is_open(line: &[u8], is_separator: impl Fn(u8) -> bool) -> bool {
    let (mut starts, mut rest) = (true, line);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if starts && byte == b'"' {
            loop {
                match rest {
                    [] => return true,
                    [b'"', b'"', after @ ..] => rest = after,
                    [b'"', after @ ..] => {
                        rest = after;
                        break;
                    }
                    [_, after @ ..] => rest = after,
                }
            }
            starts = false;
        } else {
            starts = is_separator(byte) || (starts && byte.is_ascii_whitespace());
        }
    }
    false
}

/// What stands before the closing quote, and what comes after it.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), &'static str> {
    let mut cell = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'"' {
            cell.push(byte);
            at += 1;
        } else if text.get(at + 1) == Some(&b'"') {
            cell.push(b'"');
            at += 2;
        } else {
            return Ok((cell, &text[at + 1..]));
        }
    }
    Err("a quote is not closed")
}

/// A cell as it is written: in quotes where it must be.
pub(crate) fn written(cell: &str) -> Cow<'_, str> {
    let is_plain = !cell.contains(['"', ',', ';', '\t', '\n', '\r']) && cell.trim() == cell;
    if is_plain { Cow::Borrowed(cell) } else { Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\""))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        cells(line.as_bytes(), b',').unwrap().iter().map(|cell| String::from_utf8(cell.to_vec()).unwrap()).collect()
    }

    #[test]
    fn quotes_hold_separators_and_quotes() {
        assert_eq!(split("a, b ,,"), ["a", "b", "", ""]);
        assert_eq!(split(r#""a,b", "say ""so""" ,5",x"#), ["a,b", "say \"so\"", "5\"", "x"]);
        assert_eq!(split(r#"1,"""#), ["1", ""]);
        assert_eq!(cells(b"1,\"a", b','), Err("a quote is not closed"));
        assert_eq!(cells(b"1,\"a\"b", b','), Err("there is text after a closing quote"));
    }

    #[test]
    fn lines_go_on_within_quotes() {
        let open = |line: &str| is_open(line.as_bytes(), |byte| byte == b',');
        for line in ["\"a", "1, \"a\"\"", "1,\"a,\"\"b\"\""] {
            assert!(open(line), "{line}");
        }
        for line in ["", "1,\"a\"", "5\",x", "a \"b", "\"\"", "\"a\"\"b\",\"c\""] {
            assert!(!open(line), "{line}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for cell in ["a", "a b", "a,b", "say \"so\"", "x;y"] {
            assert_eq!(split(&format!("1,{},2", written(cell))), ["1", cell, "2"], "{cell}");
        }
    }
}
