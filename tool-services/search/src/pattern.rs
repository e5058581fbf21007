//! What to look for: plain text unless a regular expression is asked for. A pattern that cannot
//! match is refused with the place of the fault. Where it is looked for is in `scan.rs`, next.

use callboard_tool::Failure;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Longest pattern in bytes.
const MAX_LENGTH: usize = 4 * 1024;
/// Room for a compiled pattern in bytes.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// Deepest nesting of a regular expression.
const MAX_DEPTH: u32 = 64;

/// Compiles a pattern. Matching takes time linear in the text, whatever the pattern.
///
/// # Errors
/// `invalid_arguments`: what is wrong with it, and where.
pub(crate) fn compile(
    pattern: &str,
    is_regex: bool,
    ignore_case: bool,
) -> Result<RegexMatcher, Failure> {
    check(pattern)?;
    if is_regex {
        parse(pattern)?;
    }
    RegexMatcherBuilder::new()
        .fixed_strings(!is_regex)
        .case_insensitive(ignore_case)
        // `^` and `$` are about lines, with either kind of line end.
        .multi_line(true)
        .crlf(true)
        .nest_limit(MAX_DEPTH)
        .size_limit(MAX_COMPILED)
        .build(pattern)
        .map_err(|error| {
            let what = error.to_string().replace('\n', " ");
            refuse(&format!("The pattern cannot be searched for: {what}"))
        })
}

/// Whether somebody may have meant a regular expression.
pub(crate) fn looks_like_regex(pattern: &str) -> bool {
    [".*", ".+", "\\", "|", "^", "$", "[", "?"].iter().any(|mark| pattern.contains(mark))
}

fn check(pattern: &str) -> Result<(), Failure> {
    if pattern.is_empty() {
        return Err(refuse("The pattern is empty; give the text to search for."));
    }
    if pattern.len() > MAX_LENGTH {
        return Err(refuse(&format!("The pattern is longer than {MAX_LENGTH} bytes.")));
    }
    if pattern.contains(['\n', '\r', '\0']) {
        return Err(refuse(
            "The pattern holds a line end or a NUL character, but only single lines of text are \
             searched. Search for a part of one line.",
        ));
    }
    Ok(())
}

/// Checks the syntax by itself, because only the parser says where a fault is.
fn parse(pattern: &str) -> Result<(), Failure> {
    let parsed =
        regex_syntax::ParserBuilder::new().nest_limit(MAX_DEPTH).utf8(false).build().parse(pattern);
    let (what, at) = match &parsed {
        Ok(_) => return Ok(()),
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.span().start),
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start)
        }
        Err(error) => return Err(refuse(&format!("The pattern cannot be used: {error}."))),
    };
    Err(refuse(&format!(
        "The pattern is no regular expression: {what}, at character {}. To search for it as plain \
         text, leave `regex` out.",
        at.column
    )))
}

fn refuse(what: &str) -> Failure {
    Failure::invalid_arguments(what).violation("/pattern", what)
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher;

    use super::*;

    #[test]
    fn plain_text_is_matched_as_it_is() {
        for (pattern, text, matches) in [
            ("fencing", "the fencing number", true),
            ("fencing", "Fencing", false),
            ("a.c", "abc", false),
            ("a.c", "a.c", true),
            ("f(x)[0]*", "f(x)[0]*", true),
            ("中文", "一个中文词", true),
            ("\\n", "literal \\n here", true),
        ] {
            let matcher = compile(pattern, false, false).unwrap();
            assert_eq!(matcher.is_match(text.as_bytes()).unwrap(), matches, "{pattern} in {text}");
        }
        assert!(compile("ÜBER", false, true).unwrap().is_match("über".as_bytes()).unwrap());
    }

    #[test]
    fn a_regular_expression_is_about_lines() {
        for (pattern, text, matches) in [
            ("^b$", "a\nb\nc", true),
            ("^b$", "a\r\nb\r\nc", true),
            ("a.*c", "a\nc", false),
            (r"\bfn\s+\w+", "pub fn main", true),
            ("[0-9]{3}", "12", false),
        ] {
            let matcher = compile(pattern, true, false).unwrap();
            assert_eq!(matcher.is_match(text.as_bytes()).unwrap(), matches, "{pattern} in {text}");
        }
    }

    #[test]
    fn a_bad_pattern_is_refused_with_the_place_of_the_fault() {
        for (pattern, is_regex, says) in [
            ("", false, "is empty"),
            ("a\nb", false, "only single lines"),
            ("foo(", true, "unclosed group, at character 4"),
            ("中[a", true, "unclosed character class, at character 2"),
            ("*a", true, "repetition operator missing expression, at character 1"),
            ("(?=a)", true, "look-around, including look-ahead and look-behind, is not supported"),
            (r"\p{Nope}", true, "Unicode property not found, at character 1"),
            ("a{99999}{99999}", true, "cannot be searched for"),
        ] {
            let failure = compile(pattern, is_regex, false).unwrap_err();
            assert!(failure.message.contains(says), "{pattern}: {}", failure.message);
            assert_eq!(failure.violations[0].pointer, "/pattern");
        }
        let deep = "(".repeat(1_000) + &")".repeat(1_000);
        assert!(compile(&deep, true, false).is_err());
    }
}
