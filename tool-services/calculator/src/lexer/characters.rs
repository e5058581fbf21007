//! What single characters of other input methods and alphabets stand for.

/// The plain character that an input method's variant stands for.
pub(super) fn plain(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(character as u32 - 0xfee0).unwrap_or(character),
        '×' | '✕' | '⋅' | '·' | '∙' | '∗' => '*',
        '÷' | '∕' | '⁄' => '/',
        '−' | '–' | '﹣' | '‐' | '‑' => '-',
        '、' => ',',
        '【' | '〔' => '[',
        '】' | '〕' => ']',
        _ if character.is_whitespace() => ' ',
        _ => character,
    }
}

/// The digit or sign that is written above the line.
pub(super) fn superscript(character: char) -> Option<char> {
    Some(match character {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        '⁹' => '9',
        '⁻' => '-',
        '⁺' => '+',
        _ => return None,
    })
}

/// The constant that one letter stands for.
pub(super) fn constant(character: char) -> Option<&'static str> {
    Some(match character {
        'π' => "pi",
        'τ' => "tau",
        'φ' => "phi",
        _ => return None,
    })
}
