//! Files whose names hold spaces or Chinese, and questions that name a file in passing.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

const CAT: &str = "cat '{file}'";
const LINES: &str = "grep -c '' '{file}'";
const TIMES: &str = "grep -o '{word}' '{told}' | wc -l";
const SAID: &str = "grep '{word}' '{told}'";
const COUNT: &str = "find '{folder}' -maxdepth 1 -type f | wc -l";
const FILES: &str = "find '{folder}' -maxdepth 1 -type f";

pub(super) const INTENTS: [Intent; 4] = [
    Intent {
        name: "a file with an odd name",
        english: &[
            ("Read \"{file}\"", CAT),
            ("cat `{file}`", CAT),
            ("What does '{file}' say?", CAT),
            ("Show me “{file}”, please", CAT),
            ("Print the contents of `{file}`", CAT),
        ],
        chinese: &[
            ("读取“{file}”", CAT),
            ("打开「{file}」看看", CAT),
            ("把 `{file}` 的内容给我看看", CAT),
            ("“{file}” 写了什么？", CAT),
            ("显示 \"{file}\" 的内容", CAT),
        ],
        values: odd,
        check: Check::Told,
    },
    Intent {
        name: "lines of a file with an odd name",
        english: &[
            ("How many lines are in \"{file}\"?", LINES),
            ("Count the lines in `{file}`", LINES),
            ("line count of '{file}'", LINES),
            ("“{file}”: how many lines?", LINES),
            ("Tell me how many lines `{file}` has", LINES),
        ],
        chinese: &[
            ("“{file}”有多少行？", LINES),
            ("数一下 `{file}` 有几行", LINES),
            ("统计 \"{file}\" 的行数", LINES),
            ("「{file}」一共几行", LINES),
            ("告诉我“{file}”总共有多少行", LINES),
        ],
        values: odd,
        check: Check::Counted,
    },
    Intent {
        name: "what a file says about a word",
        english: &[
            ("What does {told} say about {word}?", SAID),
            ("Does {told} mention {word}?", SAID),
            ("Is the word {word} in {told}?", SAID),
            ("look for {word} in {told}", SAID),
            ("Find the line that contains {word} in {told}", SAID),
        ],
        chinese: &[
            ("{told} 关于“{word}”说了什么", SAID),
            ("{told} 里有没有提到 {word}？", SAID),
            ("在 {told} 里搜索“{word}”", SAID),
            ("{told} 提到 {word} 了吗？", SAID),
            ("{told} 哪一行提到了“{word}”？", SAID),
        ],
        values: told,
        check: Check::Told,
    },
    Intent {
        name: "how often, and how many",
        english: &[
            ("how many times does {word} occur in {told}?", TIMES),
            ("number of occurrences of {word} in {told}", TIMES),
            ("How many files does {folder} have?", COUNT),
            ("How many files does the {folder} folder contain?", COUNT),
            ("count the files in {folder}", COUNT),
        ],
        chinese: &[
            ("{told} 中 {word} 出现了多少次？", TIMES),
            ("“{word}”在 {told} 里出现几次", TIMES),
            ("{folder} 里有几个文件？", COUNT),
            ("{folder}文件夹一共有多少个文件", COUNT),
            ("统计 {folder} 目录的文件数量", COUNT),
        ],
        values: told,
        check: Check::Counted,
    },
];

/// A folder with a name that means something in a request, too.
pub(super) const FOLDERS: [Intent; 1] = [Intent {
    name: "what is in a folder",
    english: &[
        ("list everything in {folder}", FILES),
        ("What does the {folder} folder contain?", FILES),
        ("List the {folder} directory", FILES),
        ("which files does {folder} contain?", FILES),
        ("show me what is in the folder {folder}", FILES),
    ],
    chinese: &[
        ("列出 {folder} 目录", FILES),
        ("{folder} 文件夹里有什么？", FILES),
        ("{folder}里都有哪些文件？", FILES),
        ("看看 {folder} 目录下有哪些文件", FILES),
        ("显示 {folder} 目录下的所有文件", FILES),
    ],
    values: |draw, scene, _| vec![("folder", same(draw.pick(&scene.odd_folders)))],
    check: Check::Named,
}];

fn odd(draw: &mut Draw, scene: &Scene, _: bool) -> Values {
    vec![("file", same(draw.pick(&scene.odd)))]
}

fn told(draw: &mut Draw, scene: &Scene, is_chinese: bool) -> Values {
    let some = if is_chinese && draw.coin() { &scene.planted_chinese } else { &scene.planted };
    let planted = draw.pick(some);
    vec![
        ("word", same(planted.word)),
        ("told", same(planted.file)),
        ("folder", same(draw.pick(&scene.odd_folders))),
    ]
}
