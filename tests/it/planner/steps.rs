//! Several steps in one run.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

/// Lines of the largest file of a kind, by the number of such files.
const RATIO: &str = "f=$(find '{deep}' -type f -name '*.{kind}' -printf '%s %p\\n' | sort -rn | head -n 1 \
    | cut -d' ' -f2-); echo \"$(grep -c '' \"$f\") / $(find '{deep}' -type f -name '*.{kind}' | wc -l)\"";
const NEWEST: &str = "f=$(find '{dir}' -type f -printf '%T@ %p\\n' | sort -rn | head -n 1 \
    | cut -d' ' -f2-); ";

pub(super) const INTENTS: [Intent; 4] = [
    Intent {
        name: "lines of the largest by number of files",
        english: &[
            (
                "Take the largest .{kind} file under {deep} and divide its line count by the number of \
                 .{kind} files below that folder.",
                RATIO,
            ),
            (
                "Find the biggest .{kind} file under {deep}, count its lines and divide that by how many \
                 .{kind} files there are.",
                RATIO,
            ),
            (
                "What do you get when you divide the number of lines in the largest {kind} file under \
                 {deep} by the number of {kind} files there?",
                RATIO,
            ),
            (
                "Under {deep}: line count of the biggest .{kind} file divided by the number of .{kind} \
                 files?",
                RATIO,
            ),
            (
                "How many lines does the largest .{kind} file below {deep} have, divided by the count of \
                 .{kind} files below {deep}?",
                RATIO,
            ),
        ],
        chinese: &[
            (
                "找出{deep}下最大的.{kind}文件，用它的行数除以该目录下.{kind}文件的个数，结果是多少？",
                RATIO,
            ),
            ("{deep} 下最大的 {kind} 文件的行数除以 {kind} 文件的数量等于多少", RATIO),
            (
                "先找到 {deep} 下面最大的 .{kind} 文件，再数它的行数，最后除以 .{kind} 文件的总数",
                RATIO,
            ),
            ("计算：{deep}下最大的.{kind}文件有多少行，除以{deep}下.{kind}文件的数量", RATIO),
            ("{deep}下最大的.{kind}文件的总行数 ÷ .{kind}文件数 = ？", RATIO),
        ],
        values: places,
        check: Check::Divided,
    },
    Intent {
        name: "lines of a file that is found first",
        english: &[
            ("How many lines does the newest file in {dir} have?", "{newest}grep -c '' $f"),
            ("Count the lines of the most recent file in {dir}", "{newest}grep -c '' $f"),
            ("How many lines do {one} and {two} have together?", BOTH),
            ("What's the line count of the largest .{kind} file under {deep}?", LARGEST_LINES),
            (
                "Find the newest file in {dir} and tell me how many lines are in it.",
                "{newest}grep -c '' $f",
            ),
            ("What is the total number of lines in {one} and {two}?", BOTH),
        ],
        chinese: &[
            ("{dir}里最新的文件有多少行？", "{newest}grep -c '' $f"),
            ("{one} 和 {two} 一共有多少行？", BOTH),
            ("{deep}下最大的.{kind}文件有几行", LARGEST_LINES),
            ("找到{dir}里最近修改的文件，数一下它有多少行", "{newest}grep -c '' $f"),
            ("把 {one} 的行数和 {two} 的行数加起来", BOTH),
        ],
        values: places,
        check: Check::Counted,
    },
    Intent {
        name: "a share of a number that is found out",
        english: &[
            ("What is {p}% of the number of lines in {one}?", "echo \"{lines_one} * {p} / 100\""),
            ("twice the line count of {one}", "echo \"{lines_one} * 2\""),
            (
                "Count the lines of {one} and multiply the result by {p}",
                "echo \"{lines_one} * {p}\"",
            ),
            ("How many lines does {one} have, divided by {p}?", "echo \"{lines_one} / {p}\""),
            (
                "Divide the line count of {one} by the line count of {two}.",
                "echo \"{lines_one} / {lines_two}\"",
            ),
        ],
        chinese: &[
            ("{one} 行数的两倍是多少", "echo \"{lines_one} * 2\""),
            ("{one}的行数除以{p}等于多少", "echo \"{lines_one} / {p}\""),
            ("统计 {one} 的行数，再乘以{p}", "echo \"{lines_one} * {p}\""),
            ("{one} 行数的 {p}% 是多少？", "echo \"{lines_one} * {p} / 100\""),
            ("用{one}的行数除以{two}的行数", "echo \"{lines_one} / {lines_two}\""),
        ],
        values: places,
        check: Check::Divided,
    },
    Intent {
        name: "text of a file that is found first",
        english: &[
            ("Print the newest file in {dir}", "{newest}cat $f"),
            ("What does the most recently changed file in {dir} say?", "{newest}cat $f"),
            ("Find the newest file in {dir} and print it", "{newest}cat $f"),
            ("Read the latest file in {dir}.", "{newest}cat $f"),
            ("What is in the last modified file in {dir}?", "{newest}cat $f"),
        ],
        chinese: &[
            ("读一下 {dir} 里最新的文件", "{newest}cat $f"),
            ("{dir}里最新的文件写了什么？", "{newest}cat $f"),
            ("打开{dir}目录下最近修改的文件给我看", "{newest}cat $f"),
            ("找到 {dir} 中最新的文件并显示内容", "{newest}cat $f"),
            ("显示{dir}里最新文件的内容", "{newest}cat $f"),
        ],
        values: places,
        check: Check::Told,
    },
];

const BOTH: &str =
    "cat_lines() { grep -c '' \"$1\"; }; expr $(cat_lines '{one}') + $(cat_lines '{two}')";
const LARGEST_LINES: &str = "grep -c '' \"$(find '{deep}' -type f -name '*.{kind}' -printf '%s %p\\n' \
    | sort -rn | head -n 1 | cut -d' ' -f2-)\"";

fn places(draw: &mut Draw, scene: &Scene, _: bool) -> Values {
    let (flat, deep) = (draw.whole(0, 2) as usize, draw.whole(0, 2) as usize);
    let (flat, deep) = (&scene.flat[flat], &scene.deep[deep]);
    let newest = NEWEST.replace("{dir}", &flat.path);
    vec![
        ("newest", same(newest)),
        ("p", draw.number(3, 40)),
        ("lines_one", same("$(grep -c '' '{one}')")),
        ("lines_two", same("$(grep -c '' '{two}')")),
        ("dir", same(&flat.path)),
        ("deep", same(&deep.path)),
        ("kind", same(draw.pick(&["rs", "py", "md", "toml"]))),
        ("one", same(draw.pick(&scene.documents))),
        ("two", same(draw.pick(&scene.texts))),
    ]
}
