//! Reading one file.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

const CAT: &str = "cat '{file}'";
/// `wc -l`, and one more for a last line without an end.
const LINES: &str = "grep -c '' '{file}'";
const HEADINGS: &str = "sed '/^```/,/^```/d' '{document}' | grep -E '^#{1,6} ' | sed -E 's/^#+ //'";

pub(super) const INTENTS: [Intent; 5] = [
    Intent {
        name: "read a file",
        english: &[
            ("Show me {file}", CAT),
            ("What does {file} say?", CAT),
            ("Read {file} please", CAT),
            ("cat {file}", CAT),
            ("Print the contents of {file}", CAT),
            ("What's written in the file {file}?", CAT),
            ("Open `{file}` and show me what is in it.", CAT),
        ],
        chinese: &[
            ("读一下 {file}", CAT),
            ("{file} 里写了什么？", CAT),
            ("把{file}的内容显示出来", CAT),
            ("打开 {file} 给我看看", CAT),
            ("查看文件 {file} 的内容", CAT),
            ("“{file}”这个文件说了些什么", CAT),
        ],
        values: file,
        check: Check::Told,
    },
    Intent {
        name: "count lines",
        english: &[
            ("How many lines does {file} have?", LINES),
            ("Count the lines in {file}", LINES),
            ("line count of {file}?", LINES),
            ("What's the number of lines in {file}?", LINES),
            ("How long is {file}, in lines?", LINES),
            ("how many lines are there in {file}", LINES),
        ],
        chinese: &[
            ("{file} 有多少行？", LINES),
            ("数一下 {file} 的行数", LINES),
            ("统计{file}一共几行", LINES),
            ("{file}这个文件总共有多少行内容", LINES),
            ("告诉我 {file} 的总行数", LINES),
            ("读取 {file}，看看它一共有多少行", LINES),
        ],
        values: file,
        check: Check::Counted,
    },
    Intent {
        name: "section headings",
        english: &[
            ("What are the section headings of {document}?", HEADINGS),
            ("List the headings in {document}", HEADINGS),
            ("Give me an outline of {document}", HEADINGS),
            ("Which sections does {document} have?", HEADINGS),
            ("Show the table of contents of {document}", HEADINGS),
            ("what headings are in {document}?", HEADINGS),
        ],
        chinese: &[
            ("{document} 有哪些章节标题？", HEADINGS),
            ("列出 {document} 的所有标题", HEADINGS),
            ("列一下 {document} 的大纲", HEADINGS),
            ("{document} 都有哪些小节", HEADINGS),
            ("给我看看{document}的标题", HEADINGS),
        ],
        values: file,
        check: Check::OnlyTold,
    },
    Intent {
        name: "some lines of a file",
        english: &[
            ("What does line {n} of {text} say?", "sed -n {n}p '{text}'"),
            ("Show me the first {n} lines of {text}", "head -n {n} '{text}'"),
            ("What's the last line of {text}?", "tail -n 1 '{text}'"),
            ("Show lines 2 to {n} of {text}", "sed -n 2,{n}p '{text}'"),
            ("Print the first line of {text}", "head -n 1 '{text}'"),
            ("the last {n} lines of {text}", "tail -n {n} '{text}'"),
            ("What is the second to last line of {text}?", "tail -n 2 '{text}' | head -n 1"),
            ("print the third line of {text}", "sed -n 3p '{text}'"),
        ],
        chinese: &[
            ("{text}的第{n}行是什么？", "sed -n {n}p '{text}'"),
            ("显示 {text} 的前{n}行", "head -n {n} '{text}'"),
            ("{text} 最后一行写的是什么", "tail -n 1 '{text}'"),
            ("给我看 {text} 的第2到{n}行", "sed -n 2,{n}p '{text}'"),
            ("{text}的倒数第二行是什么", "tail -n 2 '{text}' | head -n 1"),
            ("{text}第一行的内容是什么", "head -n 1 '{text}'"),
        ],
        values: |draw, scene, _| {
            vec![("text", same(draw.pick(&scene.texts))), ("n", draw.number(3, 5))]
        },
        check: Check::OnlyTold,
    },
    Intent {
        name: "line of a word",
        english: &[
            ("On which line of {file} does '{word}' appear?", LINE),
            ("What line is {word} on in {file}?", LINE),
            ("Which line in {file} mentions {word}?", LINE),
            ("Find the line number of \"{word}\" in {file}", LINE),
            ("Where in {file} does it say {word}?", LINE),
            ("In {file}, what line has the word {word}?", LINE),
        ],
        chinese: &[
            ("{word} 在 {file} 的第几行？", LINE),
            ("{file}里哪一行出现了“{word}”", LINE),
            ("“{word}”在{file}中位于哪一行", LINE),
            ("查一下{file}中{word}的行号", LINE),
            ("{file}第几行提到了{word}？", LINE),
        ],
        values: |draw, scene, is_chinese| {
            let some =
                if is_chinese && draw.coin() { &scene.planted_chinese } else { &scene.planted };
            let planted = draw.pick(some);
            vec![("file", same(planted.file)), ("word", same(planted.word))]
        },
        check: Check::Counted,
    },
];

const LINE: &str = "grep -n '{word}' '{file}' | cut -d: -f1";

fn file(draw: &mut Draw, scene: &Scene, _: bool) -> Values {
    let file = if draw.coin() { draw.pick(&scene.texts) } else { draw.pick(&scene.documents) };
    vec![("file", same(file)), ("document", same(draw.pick(&scene.documents)))]
}
