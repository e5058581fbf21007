//! Masks secrets in text: every configured one in all its spellings, and whatever has the shape of
//! one. The only place that knows these shapes.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

use crate::digest::hex;

/// What stands in a secret's place.
const MASK: &str = "[redacted]";

/// Configured secrets shorter than this are not looked for: they would mask ordinary words.
const SHORTEST: usize = 6;

/// Shapes that are secrets as a whole.
const WHOLE: [&str; 8] = [
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
];

/// Shapes of which the last group is the secret.
const PARTS: [&str; 3] = [
    r"(?i)(\bbearer\s+)([A-Za-z0-9._~+/-]{16,}=*)",
    r"(://[^\s/:@]+:)([^\s/@]{3,})@",
    r#"(?ix)
      (\b[a-z0-9_-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)
      ["']?\s*[=:]\s*)
      ("[^"\\\n]{4,}"|'[^'\\\n]{4,}'|[^\s"',;&<>()\[\]{}\\]{4,})"#,
];

static ANY: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(WHOLE.iter().chain(&PARTS)).ok());
static WHOLE_FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&WHOLE));
static PART_FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&PARTS));

fn compiled(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
}

/// Masks secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Spellings of configured secrets, longest first.
    spellings: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("spellings", &self.spellings.len()).finish()
    }
}

impl Redactor {
    /// Masks these secrets besides the known shapes.
    pub fn new(secrets: &[String]) -> Self {
        let long = secrets.iter().filter(|secret| secret.len() >= SHORTEST);
        let mut spellings: Vec<String> = long.flat_map(|secret| spellings(secret)).collect();
        spellings.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        spellings.dedup();
        Self { spellings }
    }

    /// The text without secrets; borrowed if there are none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for spelling in &self.spellings {
            if text.contains(spelling.as_str()) {
                text = Cow::Owned(text.replace(spelling.as_str(), MASK));
            }
        }
        if ANY.as_ref().is_some_and(|any| !any.is_match(&text)) {
            return text;
        }
        for form in WHOLE_FORMS.iter() {
            text = replaced(form, text, |_| Some(MASK.to_owned()));
        }
        for form in PART_FORMS.iter() {
            text = replaced(form, text, masked_part);
        }
        text
    }
}

fn replaced<'a>(
    form: &Regex,
    text: Cow<'a, str>,
    mask: impl Fn(&Captures<'_>) -> Option<String>,
) -> Cow<'a, str> {
    let masked = form.replace_all(&text, |captures: &Captures<'_>| {
        mask(captures).unwrap_or_else(|| captures[0].to_owned())
    });
    match masked {
        Cow::Owned(masked) if masked != text => Cow::Owned(masked),
        Cow::Owned(_) | Cow::Borrowed(_) => text,
    }
}

/// The match with its secret masked; `None` for what is code and no secret, such as
/// `password = settings.read()`.
fn masked_part(captures: &Captures<'_>) -> Option<String> {
    let (whole, before, secret) = (captures.get(0)?, captures.get(1)?, captures.get(2)?);
    let quote = secret.as_str().chars().next().filter(|c| matches!(c, '"' | '\''));
    let is_spaced = before.as_str().ends_with(char::is_whitespace);
    let is_assignment = before.as_str().trim_end().ends_with(['=', ':']);
    let has_digit = secret.as_str().contains(|c: char| c.is_ascii_digit());
    if is_assignment && is_spaced && quote.is_none() && !has_digit || secret.as_str() == MASK {
        return None;
    }
    let quote = quote.map(String::from).unwrap_or_default();
    let after = &whole.as_str()[secret.end() - whole.start()..];
    Some(format!("{}{quote}{MASK}{quote}{after}", before.as_str()))
}

/// A secret as it is, in base64, in hex and in a URL.
fn spellings(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex = hex(bytes);
    let url: String = bytes
        .iter()
        .map(|&byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let base64 = base64(bytes);
    let url_base64 = base64.replace('+', "-").replace('/', "_");
    vec![secret.to_owned(), hex.to_uppercase(), hex, url, url_base64, base64]
}

/// Without padding, so that it is found with and without.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |nth: usize| u32::from(chunk.get(nth).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..=chunk.len() {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(usize::try_from(index).map_or('=', |index| char::from(DIGITS[index])));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        Redactor::default().redact(text).into_owned()
    }

    #[test]
    fn what_has_the_shape_of_a_secret_is_masked() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----";
        for (text, masked) in [
            ("key sk-proj-abcdefghijklmnop1234 end".to_owned(), "key [redacted] end"),
            (format!("ghp_{}", "a1B2".repeat(9)), "[redacted]"),
            (format!("github_pat_{}", "a1B2".repeat(9)), "[redacted]"),
            ("xoxb-123456789012-abc".to_owned(), "[redacted]"),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[redacted]"),
            (format!("AIza{}", "x".repeat(35)), "[redacted]"),
            (format!("token: {jwt}."), "token: [redacted]."),
            (format!("a\n{pem}\nb"), "a\n[redacted]\nb"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE".to_owned(), "[redacted]"),
            (
                "Authorization: Bearer abcdefghijklmnop0123==".to_owned(),
                "Authorization: Bearer [redacted]",
            ),
            ("postgres://me:s3cr3t@db/x".to_owned(), "postgres://me:[redacted]@db/x"),
            ("password=hunter2&x=1".to_owned(), "password=[redacted]&x=1"),
            ("DB_PASSWORD=correct-horse".to_owned(), "DB_PASSWORD=[redacted]"),
            ("password: hunter22".to_owned(), "password: [redacted]"),
            (r#"{"api_key": "abcd-efgh"}"#.to_owned(), r#"{"api_key": "[redacted]"}"#),
            ("client_secret = 'abcd'".to_owned(), "client_secret = '[redacted]'"),
        ] {
            assert_eq!(redacted(&text), masked);
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in [
            "",
            "the password is asked for at the door",
            "fn password(&self) -> &Secret",
            "password = settings.read()",
            "let secret = load(path)?;",
            "sk-short",
            "https://example.com:8080/a@b",
            "task-list-of-things-to-do-today",
            "token",
            "eyJ is how JSON begins in base64",
        ] {
            assert!(
                matches!(Redactor::default().redact(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_configured_secret_is_found_in_every_spelling() {
        let redactor = Redactor::new(&["p@ss/w+rd?1".to_owned(), "tiny".to_owned()]);
        for text in [
            "p@ss/w+rd?1",
            "cEBzcy93K3JkPzE=",
            "cEBzcy93K3JkPzE",
            "7040",
            "p%40ss%2Fw%2Brd%3F1",
            "704073732f772b72643f31",
            "704073732F772B72643F31",
        ] {
            let is_hit = text.len() > 4;
            let masked = redactor.redact(text).into_owned();
            assert_eq!(masked.contains(MASK), is_hit, "{text}: {masked}");
        }
        assert_eq!(redactor.redact("tiny"), "tiny");
        assert!(!format!("{redactor:?}").contains("p@ss"));
    }

    #[test]
    fn base64_is_as_others_write_it() {
        for (text, encoded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn every_shape_is_a_pattern() {
        assert_eq!(WHOLE_FORMS.len(), WHOLE.len());
        assert_eq!(PART_FORMS.len(), PARTS.len());
        assert!(ANY.is_some());
    }
}
