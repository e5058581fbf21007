//! Patterns of requests, and texts made from what they catch.
//!
//! In a pattern `{name}` catches one value (a number, a call such as `sqrt(2)`, or anything in
//! brackets), `{name*}` a list of at least two, `(a|b)` is a choice, `[a]` may be missing, and a
//! space is any white space or none. Words match as whole words, whatever their case.

use super::words;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Space,
    Value(String),
    List(String),
    Choice(Vec<Vec<Part>>),
}

/// What a pattern caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caught {
    pub(super) start: usize,
    pub(super) end: usize,
    values: Vec<(String, Vec<String>)>,
}

/// A pattern that was taken apart once, to be held against many texts.
#[derive(Debug)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// Of each of these groups one text must occur in whatever matches.
    needs: Vec<Vec<String>>,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Self {
        let parts = parse(pattern);
        let needs = parts.iter().filter_map(need).collect();
        Self { parts, needs }
    }

    /// The first place where it matches.
    pub(super) fn find(&self, text: &str) -> Option<Caught> {
        // Most patterns are about something else, which is soon seen.
        let occurs = |group: &Vec<String>| group.iter().any(|needed| words::occurs(text, needed));
        if !self.needs.iter().all(occurs) {
            return None;
        }
        let mut values = Vec::new();
        // White space before a match is not part of it, even where the first word may be missing.
        let starts = text.char_indices().filter(|(_, first)| !first.is_whitespace());
        starts.map(|(at, _)| at).find_map(|start| {
            values.clear();
            let end = matches(Then { parts: &self.parts, next: None }, text, start, &mut values)?;
            (end > start).then(|| Caught { start, end, values: std::mem::take(&mut values) })
        })
    }
}

/// The first place where a pattern matches.
pub(super) fn find(pattern: &str, text: &str) -> Option<Caught> {
    Pattern::new(pattern).find(text)
}

impl Caught {
    /// A text with the caught values in place of `{name}`; a list takes what joins it: `{name*, }`,
    /// and `{name#}` is how many there are.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len() + 16);
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let Some((slot, after)) = after.split_once('}') else { break };
            let (name, joiner) = slot.split_once('*').unwrap_or((slot, ""));
            let values = self.get(name.trim_end_matches('#'));
            if name.ends_with('#') {
                filled.push_str(&values.len().to_string());
            } else {
                filled.push_str(&values.join(joiner));
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    fn get(&self, name: &str) -> &[String] {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.map_or(&[], |(_, values)| values.as_slice())
    }
}

/// Texts of which one must occur where a part matches; `None` if none has to.
fn need(part: &Part) -> Option<Vec<String>> {
    match part {
        Part::Text(text) => Some(vec![text.clone()]),
        Part::Choice(choices) => choices
            .iter()
            .map(|choice| choice.iter().find_map(need))
            .collect::<Option<Vec<_>>>()
            .map(|groups| groups.concat()),
        Part::Space | Part::Value(_) | Part::List(_) => None,
    }
}

fn parse(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let (part, after) = match first {
            ' ' => (Part::Space, rest.trim_start()),
            '{' => {
                let (name, after) = rest[1..].split_once('}').unwrap_or((&rest[1..], ""));
                let part = match name.strip_suffix('*') {
                    Some(list) => Part::List(list.to_owned()),
                    None => Part::Value(name.to_owned()),
                };
                (part, after)
            }
            '(' | '[' => {
                let (inner, after) = group(rest);
                let mut choices: Vec<_> = split(inner).into_iter().map(parse).collect();
                if first == '[' {
                    choices.push(Vec::new());
                }
                (Part::Choice(choices), after)
            }
            _ => {
                let end = rest.find([' ', '{', '(', '[']).unwrap_or(rest.len());
                (Part::Text(rest[..end].to_owned()), &rest[end..])
            }
        };
        parts.push(part);
        rest = after;
    }
    parts
}

/// What is between the first bracket and its partner, and what follows.
fn group(text: &str) -> (&str, &str) {
    match closing(text) {
        Some(end) => (&text[1..end], &text[end + 1..]),
        None => (&text[1..], ""),
    }
}

/// Where the bracket that opens `text` is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Choices, without splitting those of inner brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut choices) = (0_usize, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                choices.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    choices.push(&text[from..]);
    choices
}

type Values = Vec<(String, Vec<String>)>;

/// Parts that must follow, and what must follow them.
#[derive(Clone, Copy)]
struct Then<'a> {
    parts: &'a [Part],
    next: Option<&'a Then<'a>>,
}

/// The end of a match that begins at `at`; the longest list is tried first.
fn matches(then: Then<'_>, text: &str, at: usize, values: &mut Values) -> Option<usize> {
    let Some((first, rest)) = then.parts.split_first() else {
        return match then.next {
            Some(next) => matches(*next, text, at, values),
            None => Some(at),
        };
    };
    let here = &text[at..];
    let rest = Then { parts: rest, next: then.next };
    match first {
        Part::Space => {
            let after = text.len() - here.trim_start().len();
            matches(rest, text, after, values)
        }
        Part::Text(wanted) => {
            let end = at + word(text, at, wanted)?;
            matches(rest, text, end, values)
        }
        Part::Value(name) => {
            let length = value(text, at)?;
            values.push((name.clone(), vec![here[..length].to_owned()]));
            let end = matches(rest, text, at + length, values);
            end.or_else(|| values.pop().and(None))
        }
        Part::List(name) => {
            let mut items = list(text, at);
            let place = values.len();
            values.push((name.clone(), Vec::new()));
            while let [_, .., (_, end)] = items[..] {
                if let Some(end) = matches(rest, text, end, values) {
                    let texts = items.iter().map(|(start, end)| text[*start..*end].to_owned());
                    values[place].1 = texts.collect();
                    return Some(end);
                }
                values.truncate(place + 1);
                items.pop();
            }
            values.truncate(place);
            None
        }
        Part::Choice(choices) => choices.iter().find_map(|choice| {
            let known = values.len();
            let end = matches(Then { parts: choice, next: Some(&rest) }, text, at, values);
            if end.is_none() {
                values.truncate(known);
            }
            end
        }),
    }
}

/// The length of `wanted` at `at`, if it stands there as a whole word.
fn word(text: &str, at: usize, wanted: &str) -> Option<usize> {
    let here = text.as_bytes().get(at..at + wanted.len())?;
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let (first, last) = (wanted.as_bytes().first(), wanted.as_bytes().last());
    let bytes = text.as_bytes();
    let cuts_before = is_letter(first) && at > 0 && is_letter(bytes.get(at - 1));
    let cuts_after = is_letter(last) && is_letter(bytes.get(at + wanted.len()));
    (here.eq_ignore_ascii_case(wanted.as_bytes()) && !cuts_before && !cuts_after)
        .then_some(wanted.len())
}

/// The length of the value that begins at `at`: digits with a point, a call, or brackets.
pub(super) fn value(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.') {
        return None;
    }
    let here = &text[at..];
    let sign = usize::from(here.starts_with('-'));
    let name = here[sign..].bytes().take_while(u8::is_ascii_lowercase).count();
    let body = &here[sign + name..];
    if body.starts_with('(') {
        return closing(body).map(|end| sign + name + end + 1);
    }
    if name > 0 {
        let is_constant = &here[sign..sign + name] == "pi"
            && !body.starts_with(|next: char| next.is_ascii_alphanumeric());
        return is_constant.then_some(sign + name);
    }
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let fraction = body[digits..].strip_prefix('.').map_or(0, |rest| {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 { 0 } else { count + 1 }
    });
    let length = sign + digits + fraction;
    let goes_on = here.as_bytes().get(length).is_some_and(u8::is_ascii_alphabetic);
    (!goes_on).then_some(length)
}

/// Longest list.
const MOST_ITEMS: usize = 200;

/// Whether a number stands before the comma that a text ends with.
fn items_before(text: &str) -> bool {
    let text = text.trim_end_matches([',', '，', '、', ' ']);
    text.ends_with(|last: char| last.is_ascii_digit())
}

/// The values of a list that begins at `at`; white space alone may stand between them.
fn list(text: &str, at: usize) -> Vec<(usize, usize)> {
    const JOINERS: &[&str] = &["and", "&", "和", "与", "跟", "以及", "or", "还是", "、", "，", ","];
    let mut items = Vec::new();
    let mut next = at;
    // A list is tried from its beginning only.
    let before = text[..at].trim_end();
    if before.len() < at && before.ends_with([',', '，', '、']) && items_before(before) {
        return items;
    }
    while let Some(length) = value(text, next).filter(|_| items.len() < MOST_ITEMS) {
        let end = next + length;
        items.push((next, end));
        next = end;
        loop {
            next = text.len() - text[next..].trim_start().len();
            let joiner = JOINERS.iter().find(|joiner| word(text, next, joiner).is_some());
            let Some(joiner) = joiner else { break };
            next += joiner.len();
        }
        let has_joiner = text[end..next].contains(|one: char| !one.is_whitespace());
        let is_number = text[next..].starts_with(|one: char| one.is_ascii_digit());
        if next == end || !(has_joiner || is_number) {
            break;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, template: &str, expected: Option<&str>) {
        let filled = find(pattern, text).map(|caught| {
            format!("{}{}{}", &text[..caught.start], caught.fill(template), &text[caught.end..])
        });
        assert_eq!(filled.as_deref(), expected, "{pattern} on {text}");
    }

    #[test]
    fn values_choices_and_lists_are_caught() {
        let sum = "[the] (sum|total) of {x*}";
        let rows = [
            ("{a}% of {b}", "what is 15% of 240?", "({b}*{a}/100)", Some("what is (240*15/100)?")),
            ("{a}% of {b}", "15% of (3+4)", "({b}*{a}/100)", Some("((3+4)*15/100)")),
            ("{a}% of {b}", "15 percent of 4", "", None),
            (sum, "the sum of 3, 4 and 5", "({x* + })/{x#}", Some("(3 + 4 + 5)/3")),
            (sum, "Total of 3 and 4.", "({x* + })", Some("(3 + 4).")),
            (sum, "sum of 3", "", None),
            ("{a}(乘以|乘){b}", "用3乘以4.5得多少", "{a}*{b}", Some("用3*4.5得多少")),
            ("{x*} 的 和", "12、7和 3的和", "({x* + })", Some("(12 + 7 + 3)")),
            ("square root of {a}", "square root of sqrt(16)", "sqrt({a})", Some("sqrt(sqrt(16))")),
            ("{a} squared", "-3 squared", "({a})^2", Some("(-3)^2")),
            ("over {a}", "moreover 3", "", None),
            ("{a} years", "a20 years", "", None),
        ];
        for (pattern, text, template, expected) in rows {
            check(pattern, text, template, expected);
        }
    }
}
