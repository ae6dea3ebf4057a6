//! What was seen, in words for a message.

/// What was seen, short enough for a message.
pub(crate) fn shown(seen: impl AsRef<[u8]>) -> String {
    const LONGEST: usize = 40;
    let seen = seen.as_ref();
    if seen.is_empty() {
        return "(blank)".into();
    }
    let start = &seen[..seen.len().min(4 * LONGEST)];
    let text = String::from_utf8_lossy(start);
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST {
        short.push_str("...");
    }
    short
}

/// Names as `a`, `b`, `c`; of many only the first.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const MAX_NAMES: usize = 12;
    if names.is_empty() {
        return "none".into();
    }
    let first: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{}`", shown(name.as_ref()))).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// `; did you mean ...?` if one of the names is close to this one.
pub(crate) fn hint<S: AsRef<str>>(name: &str, names: &[S]) -> String {
    closest(name, names).map_or_else(String::new, |close| format!("; did you mean `{close}`?"))
}

/// The name most like this one, if any is.
pub(crate) fn closest<'a, S: AsRef<str>>(name: &str, names: &'a [S]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let likeness = |other: &str| strsim::jaro_winkler(&name, &other.to_lowercase());
    let best = names.iter().map(|other| (likeness(other.as_ref()), other.as_ref())).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.85).then_some(best.1)
}

/// ` (and 3 more)`, or nothing.
pub(crate) fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (nor {others} more)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_odd_text_is_shown_short() {
        assert_eq!(shown(b"abc"), "abc");
        assert_eq!(shown(b"a\tb\xff"), "a\\tb\u{fffd}");
        assert_eq!(shown(vec![b'1'; 10_000_000]), format!("{}...", "1".repeat(40)));
        assert_eq!(listed::<&str>(&[]), "none");
        assert_eq!(listed(&["a"; 14]), format!("{}`a` and 2 more", "`a`, ".repeat(11)));
    }

    #[test]
    fn close_names_are_suggested_and_others_not() {
        assert_eq!(hint("Temprature", &["pressure", "temperature"]), "; did you mean `temperature`?");
        assert_eq!(hint("x", &["pressure", "temperature"]), "");
    }
}
