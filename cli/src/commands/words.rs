//! How durations, counts and times are written for people. Next: `up`.

/// A duration: `840 µs` is too fine for people, so `1 ms`, `1.2 s`, `2 min 3 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A number of things: `1 step`, `2 steps`, `1,240 tokens`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// A number with separators of thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How long ago a moment was: `3 min ago`. Both in Unix milliseconds.
pub(crate) fn ago(at_ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(at_ms).max(0) / 1_000;
    match seconds {
        0..=1 => "now".to_owned(),
        2..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Now, in Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_millis()).ok()).unwrap_or_default()
}

/// The beginning of a text, on one line, with at most `limit` characters.
pub(crate) fn brief(text: &str, limit: usize) -> String {
    let line = crate::print::visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() <= limit {
        return line;
    }
    let mut short: String = line.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Lines of cells in columns, two spaces apart; the last column is as wide as it likes.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let gap = width(column).unwrap_or(0) - cell.chars().count() + 2;
                line.extend(std::iter::repeat_n(' ', gap));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (59_999, "59.9 s"),
            (123_000, "2 min 3 s"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn numbers_are_grouped_and_things_counted() {
        assert_eq!(count(1, "step"), "1 step");
        assert_eq!(count(0, "call"), "0 calls");
        assert_eq!(count(1_234_567, "token"), "1,234,567 tokens");
    }

    #[test]
    fn moments_are_told_from_now() {
        for (ms, text) in [
            (500, "now"),
            (90_000, "90 s ago"),
            (600_000, "10 min ago"),
            (7_200_000, "2 h ago"),
            (259_200_000, "3 days ago"),
        ] {
            assert_eq!(ago(0, ms), text);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(brief("读取 文件\n并告诉我", 6), "读取 文件…");
        assert_eq!(brief("a\u{1b}b", 20), "a\\u{1b}b");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "x".into()], vec!["bcd".into(), "y z".into()]];
        assert_eq!(columns(&rows), "a    x\nbcd  y z\n");
    }
}
