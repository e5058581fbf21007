//! Adverbs of manner in front of a request: `kindly read a.md`, `could you swiftly run ls`. They change
//! nothing of what is wanted. There are more of them than a list could hold, so all words that are made
//! like one are taken for one, but for those that do change something.

use super::words::each;

/// These say how often, how far, where or whether, and stay for others to stumble over.
const MEANINGFUL: &str = "only, hardly, barely, scarcely, rarely, partially, partly, mostly, nearly, roughly, \
    approximately, daily, weekly, monthly, yearly, hourly, nightly, quarterly, annually, repeatedly, regularly, \
    continuously, continually, constantly, simultaneously, remotely, locally, periodically, conditionally, \
    possibly, falsely, wrongly, incorrectly, separately, randomly, alphabetically, reversely, recursively, \
    directly, immediately, jointly, respectively, exactly, reply, apply, supply, multiply, family, assembly, \
    italy, july, early, anomaly, fly, rely, bully, lily, jelly, belly, homely, secretly, silently, invisibly, \
    unconditionally, initially, finally, lastly, firstly, secondly, thirdly, previously, currently, recently, \
    newly, differently, symbolically, numerically, orally, verbally, visually, graphically, manually";
/// Words that may stand before such an adverb.
const POLITE: &str = "please, pls, can, could, would, will, you, i, we, want, need, to, let, let's, me, us, just, \
    now, so, and, then, hi, hello, hey, might, do, go, ahead";

/// The text without adverbs among its first words.
pub(super) fn without(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    loop {
        let begin = rest.len() - rest.trim_start().len();
        let word = rest[begin..].split(char::is_whitespace).next().unwrap_or_default();
        let bare = word.trim_end_matches(',');
        let (end, is_last) = (begin + word.len(), rest[begin + word.len()..].trim().is_empty());
        if is_last {
            break;
        }
        // What stands before a language without such adverbs is a name: `daily 下有哪些文件`.
        let is_foreign = |next: char| next.is_alphanumeric() && !next.is_ascii();
        if is_adverb(bare) && !rest[end..].trim_start().starts_with(is_foreign) {
            rest = &rest[end..];
        } else if each(POLITE).any(|known| known.eq_ignore_ascii_case(bare)) {
            kept.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            break;
        }
    }
    kept.push_str(rest);
    if kept.len() < text.len() { kept.trim_start().to_owned() } else { kept }
}

fn is_adverb(word: &str) -> bool {
    word.len() > 4
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && word.len().checked_sub(2).is_some_and(|at| word[at..].eq_ignore_ascii_case("ly"))
        && !each(MEANINGFUL).any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_manner_go_and_all_others_stay() {
        let rows = [
            ("Kindly run uname -s", "run uname -s"),
            ("swiftly, and then nimbly read a.md", "and then read a.md"),
            ("Could you please kindly read a.md?", "Could you please read a.md?"),
            ("Honestly, how many files are in docs?", "how many files are in docs?"),
            ("Please read a.md slowly", "Please read a.md slowly"),
            ("Only read a.md", "Only read a.md"),
            ("Multiply 3 by 4", "Multiply 3 by 4"),
            ("Reply with 3 + 4", "Reply with 3 + 4"),
            ("family.md", "family.md"),
            ("swiftly", "swiftly"),
            ("请 kindly 3+4", "请 kindly 3+4"),
            ("zyxdly 下哪些文件提到了“x”？", "zyxdly 下哪些文件提到了“x”？"),
            ("kindly “run” it", "“run” it"),
            ("  3 + 4", "  3 + 4"),
            ("", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(without(text), expected, "{text}");
        }
    }
}
