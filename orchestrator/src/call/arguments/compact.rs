//! A JSON text without its insignificant white space, every token as it was written.

/// Compacts a valid JSON text.
pub(super) fn compact(text: &str) -> String {
    let mut compacted = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            ' ' | '\n' | '\r' | '\t' if !in_string => continue,
            _ => {}
        }
        compacted.push(character);
    }
    compacted
}
