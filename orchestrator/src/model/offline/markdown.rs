//! Section headings of a Markdown text (<https://spec.commonmark.org/0.31.2/#atx-headings>).

/// A heading and how deep it is, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) depth: usize,
    pub(super) text: String,
}

/// The headings of a text; what stands in blocks of code is none.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut fence: Option<&str> = None;
    let mut before = "";
    let mut lines = text.lines();
    if text.starts_with("---\n") || text.starts_with("---\r\n") {
        // Front matter is data about the text.
        let end = text.lines().skip(1).position(|line| matches!(line.trim_end(), "---" | "..."));
        if let Some(end) = end {
            lines.nth(end);
            lines.next();
        }
    }
    for line in lines {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let body = line.trim();
        if let Some(open) = fence {
            let closes = body.len() >= open.len()
                && body.trim_matches(open.chars().next().unwrap_or('`')).is_empty();
            if closes && body.starts_with(open) {
                fence = None;
            }
            before = "";
            continue;
        }
        if indent < 4 && (body.starts_with("```") || body.starts_with("~~~")) {
            let mark = body.chars().next().unwrap_or('`');
            let length = body.chars().take_while(|one| *one == mark).count();
            fence = Some(&body[..length]);
            before = "";
            continue;
        }
        if indent >= 4 {
            before = "";
            continue;
        }
        if let Some(heading) = atx(body) {
            headings.push(heading);
            before = "";
            continue;
        }
        match underline(body).filter(|_| is_paragraph(before)) {
            Some(depth) => {
                headings.push(Heading { depth, text: before.to_owned() });
                before = "";
            }
            None => before = body,
        }
    }
    headings
}

/// `## Heading ##`
fn atx(line: &str) -> Option<Heading> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[depth..];
    if !(1..=6).contains(&depth) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let text = rest.trim();
    let closed = text.trim_end_matches('#');
    let text =
        if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim_end() } else { text };
    (!text.is_empty()).then(|| Heading { depth, text: text.to_owned() })
}

/// A line of `=` or `-` makes the line before it a heading.
fn underline(line: &str) -> Option<usize> {
    let is_all = |mark: char| !line.is_empty() && line.chars().all(|one| one == mark);
    match () {
        () if is_all('=') => Some(1),
        () if is_all('-') => Some(2),
        () => None,
    }
}

fn is_paragraph(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(['>', '|', '-', '*', '+', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_found_and_code_is_not() {
        let text = "---\ntitle: x\n# no\n---\n# Top\n\ntext\n## Second part ##\n```sh\n# not one\n```\n\
                    ~~~~\n```\n# nor this\n~~~~\n    # code\n####### seven\n#tag\n###### Six\n\
                    Under one\n===\nUnder two\n---\n\n---\n| a |\n|---|\n# C#\n";
        let found: Vec<_> = headings(text).into_iter().map(|one| (one.depth, one.text)).collect();
        let expected = [
            (1, "Top"),
            (2, "Second part"),
            (6, "Six"),
            (1, "Under one"),
            (2, "Under two"),
            (1, "C#"),
        ];
        assert_eq!(found, expected.map(|(depth, text)| (depth, text.to_owned())));
        assert_eq!(headings(""), []);
    }
}
