//! Words of a text for a search over tools: lower-case words without a plural's `s`, and pairs of
//! neighbours where a script writes without spaces.

/// Words that say nothing about what is wanted.
const EMPTY: [&str; 44] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for",
    "from", "how", "i", "in", "is", "it", "its", "me", "my", "not", "of", "on", "or", "please",
    "some", "that", "the", "there", "these", "this", "to", "use", "was", "what", "which", "who",
    "with", "would", "you", "your",
];

/// The words of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    for character in text.chars() {
        if is_unspaced(character) {
            finish_word(&mut word, &mut tokens);
            run.push(character);
            continue;
        }
        finish_run(&mut run, &mut tokens);
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        } else {
            finish_word(&mut word, &mut tokens);
        }
    }
    finish_word(&mut word, &mut tokens);
    finish_run(&mut run, &mut tokens);
    tokens
}

/// Chinese, Japanese and Korean characters.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn finish_word(word: &mut String, tokens: &mut Vec<String>) {
    if word.is_empty() || EMPTY.contains(&word.as_str()) {
        word.clear();
        return;
    }
    let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    if is_plural {
        word.pop();
    }
    tokens.push(std::mem::take(word));
}

fn finish_run(run: &mut Vec<char>, tokens: &mut Vec<String>) {
    match run.as_slice() {
        [] => {}
        [only] => tokens.push(only.to_string()),
        several => tokens.extend(several.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_pairs_of_characters_are_told_apart() {
        for (text, expected) in [
            ("Reads files, by_name; READ2!", vec!["read", "file", "name", "read2"]),
            ("读取文件", vec!["读取", "取文", "文件"]),
            ("用calculator算", vec!["用", "calculator", "算"]),
            ("What is the class of a glass?", vec!["class", "glass"]),
            ("", vec![]),
        ] {
            assert_eq!(tokens(text), expected);
        }
    }
}
