use super::{super::intent, *};

fn check(text: &str, is_whole: bool) {
    let understood = intent::understand(text);
    let is_known = !understood.goals.contains(&Goal::Beyond) && !understood.goals.is_empty();
    assert_eq!(is_known && understood.unclear.is_empty(), is_whole, "{text}: {understood:?}");
}

#[test]
fn what_is_left_out_of_a_calculation_is_seen() {
    for text in [
        "5 + 3 but ignore the 3",
        "4 plus 5 zorp 6",
        "What is 12 + 7 in hexadecimal?",
        "Do not calculate 5 + 3",
        "不要计算5+3",
        "What is 5 + 3, and who won the cup?",
        "2 + 2, 并解释一下",
        "A bag of 5kg costs 10 and I take 3 bags",
        "the sine of the sum of 3, 4 and 5, cubed",
        "the geometric mean of 2 and 8",
        "2 和 8 的几何平均数",
        "5 + 3 ≠ ?",
        "5 + 3 != ?",
        "3 + 4 ≤ ?",
        "2 * 3 ± 1",
        "∛27 + 1",
    ] {
        check(text, false);
    }
    for text in [
        "What is 45 as a percentage of 180?",
        "Hi! What is 6 * 7? Thanks!",
        "三百二十五加四十七",
        "What is the total of 3, 4 and 5?",
        "一共有3个人，每人20元，一共多少钱？",
        "Loan of 120,000 at 4% over 10 years, monthly payment?",
        "5 + 3 = ?",
        "5 + 3 -> ?",
        "Swiftly, what is 5 + 3?",
    ] {
        check(text, true);
    }
}

#[test]
fn what_is_left_out_of_a_request_about_files_is_seen() {
    for text in [
        "Which files under a1 do not mention kiwi?",
        "a1 下哪些文件没有提到 kiwi",
        "List the files in a1 except b.md",
        "列出 a1 里除了 b.md 以外的文件",
        "How many lines of a.md are longer than 40 characters?",
        "Which files in a1 are larger than 500 bytes?",
        "Which files mention \"kiwi\" and \"plum\"?",
        "Which files mention kiwi or plum?",
        "How many files are in a1 and b2?",
        "Do not run: ls",
        "不要运行 `ls`",
        "Order a pizza. How many lines does a.md have?",
        "Read a.md and sing it",
        "Count the blank lines in a.md",
        "Show the odd lines of a.md",
        "How many lines start with # in a.md?",
        "List the files in a1 sorted by owner",
        "列出 a1 和 b2 里的文件",
        "Run `ls` if a.md exists",
        "Find lime or lemon in a1",
        "the largest and the smallest file in a1",
        "a1 里最大的文件和最小的文件",
        "ls -S a1",
        "ls -lR a1",
        "cat -n a.md",
        "wc -w a.md",
        "find a1 -newer a.md",
        "find a1 -name '*.md' -mtime 1",
        "grep -v kiwi a1",
        "grep -c kiwi a1",
        "grep kiwi a1 | wc -l",
        "grep kiwi a1 b2",
    ] {
        check(text, false);
    }
    for text in [
        "Which files mention “not now”?",
        "Write \"do not open\" to a.txt",
        "Run `test ! -e a && echo not`",
        "a.md 里有没有提到 kiwi？",
        "Which file in a1 hasn't been touched for the longest time?",
        "I'm writing a report. How many lines does a.md have?",
    ] {
        check(text, true);
    }
}
