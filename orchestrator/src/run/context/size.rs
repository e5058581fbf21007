//! Measures text in tokens and cuts it at character boundaries.

/// Tokens that a message costs besides its text.
pub(super) const PER_MESSAGE: u32 = 4;

/// Tokens of a text, estimated on the safe side without a tokenizer: one per four ASCII characters
/// (a common rule of thumb for English), one per character beyond ASCII.
pub fn estimate(text: &str) -> u32 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let wide = text.chars().filter(|c| !c.is_ascii()).count();
    u32::try_from(ascii.div_ceil(4) + wide).unwrap_or(u32::MAX)
}

/// At most `max` characters of a text on one line, with `…` where something is missing.
pub fn cut(text: &str, max: usize) -> String {
    let mut chars = text.chars().map(|c| if c == '\n' { ' ' } else { c });
    let mut kept: String = chars.by_ref().take(max).collect();
    if chars.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}
