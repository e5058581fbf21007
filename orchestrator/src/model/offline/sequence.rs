//! One operation after the other: "multiply 3 by 4, then add 5", `3减1再乘以4`. What was said first
//! comes first, whatever binds tighter.

use std::sync::LazyLock;

use super::pattern::Pattern;

/// More operations than any honest request has.
const MOST: usize = 20;

/// What leads over to the next operation.
const THEN: &str = "(, and then|, then|and then|, after that|after that|, and|then|and|， 再|。 再|然后 再|再|， 然后|\
    然后|接着|之后|随后|， 最后|最后|并|，|,|;|.)";
/// The number that was found before.
const IT: &str = "[把|将|用] [it|that|this|the result|the sum|the product|that result|the total|结果|它|和|差|积|商|得数|所得结果]";

/// Operations on what came before, which is `{it}`.
const STEPS: &[(&str, &str)] = &[
    ("(subtract|take|deduct) {b} from (it|that|this|the result)", "{it} - {b}"),
    ("(add|plus|加上|加) {b} [to (it|that|this|the result)]", "{it} + {b}"),
    ("(subtract|minus|take away|take off|deduct|减去|减掉|减) {b}", "{it} - {b}"),
    ("(multiply|multiplied|times|乘以|乘上|乘) IT [by|with] {b}", "{it} * {b}"),
    ("(divide|divided|除以) IT [by] {b}", "{it} / {b}"),
    ("(take|find|get|calculate) [the] square root [of (it|that|this|the result)]", "sqrt{it}"),
    ("(开平方|开方|求平方根|取平方根)", "sqrt{it}"),
    ("(square (it|that|this|the result)|squared)", "{it}^2"),
    ("(cube (it|that|this|the result)|cubed)", "{it}^3"),
    ("(double (it|that|this|the result)|翻倍)", "{it} * 2"),
    ("halve (it|that|this|the result)", "{it} / 2"),
    ("(take|find|get|calculate) {p}% of (it|that|this|the result)", "{it}*{p}/100"),
    ("raise (it|that|this|the result) to the power [of] {b}", "{it}^({b})"),
];

static ROWS: LazyLock<Vec<(Pattern, &'static str)>> = LazyLock::new(|| {
    let row = |step: &str| Pattern::new(&format!("{THEN} {IT} {}", step.replace("IT", IT)));
    STEPS.iter().map(|(step, template)| (row(step), *template)).collect()
});

/// The expression for a text with several operations; `first` finds that of the text before them.
pub(super) fn find(text: &str, first: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut found: Option<String> = None;
    let mut rest = text;
    for _ in 0..MOST {
        let next = ROWS.iter().filter_map(|(row, template)| Some((row.find(rest)?, *template)));
        let Some((caught, template)) =
            next.min_by_key(|(caught, _)| (caught.start, usize::MAX - caught.end))
        else {
            return found;
        };
        let it = match found {
            // Something else that is asked for in between is not left out.
            Some(_) if rest[..caught.start].contains(|one: char| one.is_ascii_digit()) => {
                return None;
            }
            Some(it) => it,
            None => first(&rest[..caught.start])?,
        };
        found = Some(format!("({})", caught.fill(&template.replace("{it}", &it))));
        rest = &rest[caught.end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_first_comes_first() {
        let first = |text: &str| match text {
            _ if text.contains('+') => Some("(1 + 2)".to_owned()),
            _ if text.contains("12") => Some("(12)".to_owned()),
            _ => None,
        };
        let rows = [
            ("take 12, add 5, then multiply by 3", Some("(((12) + 5) * 3)")),
            ("1 + 2, then divide the result by 4", Some("((1 + 2) / 4)")),
            ("1 + 2 and then subtract 3 from that", Some("((1 + 2) - 3)")),
            ("1 + 2 再乘以4", Some("((1 + 2) * 4)")),
            ("1 + 2，然后除以4，最后减去3", Some("(((1 + 2) / 4) - 3)")),
            ("1 + 2 and take the square root of the result", Some("(sqrt(1 + 2))")),
            ("1 + 2 and 3", None),
            ("add 3 to it", None),
        ];
        for (text, expected) in rows {
            assert_eq!(find(text, first).as_deref(), expected, "{text}");
        }
    }
}
