//! Texts of users inside other languages: a name may hold anything and must stay a name.

/// Each character as `written` has it; with a backslash before it if it is one of `special`; a space if it is a control character; else as it is.
fn escape(text: &str, special: &str, written: &[(char, &str)]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match written.iter().find(|(known, _)| *known == character) {
            Some((_, words)) => escaped.push_str(words),
            None if special.contains(character) => escaped.extend(['\\', character]),
            None => escaped.push(if character.is_control() { ' ' } else { character }),
        }
    }
    escaped
}

/// For HTML and SVG, in text and in quoted attributes. Control characters that no page may hold become spaces.
///
/// # Examples
///
/// `<b>` becomes `&lt;b&gt;`.
pub(crate) fn html(text: &str) -> String {
    let entities = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;"), ('\n', "\n"), ('\t', "\t")];
    escape(text, "", &entities)
}

/// For a line or a cell of a table in Markdown: one line, and every character that could mean something escaped.
pub(crate) fn markdown(text: &str) -> String {
    escape(text, "\\`*_[]|#~$!", &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")])
}

/// For text in LaTeX: one line, every character that could mean something escaped; `±` as in formulas.
pub(crate) fn latex(text: &str) -> String {
    let commands = [('\\', "\\textbackslash{}"), ('~', "\\textasciitilde{}"), ('^', "\\textasciicircum{}")];
    let formulas = [('<', "$<$"), ('>', "$>$"), ('±', "$\\pm$")];
    escape(text, "&%$#_{}", &[commands, formulas].concat())
}

/// A block of code in Markdown, with a fence longer than any run of backticks in it.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// For a terminal: one line, no control characters, so that a name cannot move the cursor or set colours.
pub(crate) fn terminal(text: &str) -> String {
    escape(text, "", &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_has_no_markup_left() {
        assert_eq!(html("<a href=\"x\">'&\u{7}</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp; &lt;/a&gt;");
    }

    #[test]
    fn markdown_stays_in_its_cell() {
        assert_eq!(markdown("a|b\n*c* <i>"), "a\\|b \\*c\\* &lt;i&gt;");
    }

    #[test]
    fn latex_has_no_commands_left() {
        assert_eq!(latex("a_b \\input{x} 5 %\n1 ± 2 <"), "a\\_b \\textbackslash{}input\\{x\\} 5 \\% 1 $\\pm$ 2 $<$");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("x = \"````\"\n", "toml"), "`````toml\nx = \"````\"\n`````\n");
        assert_eq!(fenced("plain", ""), "```\nplain\n```\n");
    }

    #[test]
    fn a_terminal_sees_no_escape_codes() {
        assert_eq!(terminal("a\u{1b}[31mb\nc"), "a [31mb c");
    }
}
