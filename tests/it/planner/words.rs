//! Words in files.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

const IN_FOLDER: &str = "grep -rl '{word}' '{folder}'";
const ANYWHERE: &str = "grep -rl '{word}' *";

pub(super) const INTENTS: [Intent; 2] = [
    Intent {
        name: "files that mention a word",
        english: &[
            ("Which files under {folder} mention '{word}'?", IN_FOLDER),
            ("What files in {folder} contain the word {word}?", IN_FOLDER),
            ("Search {folder} for \"{word}\" and tell me the files", IN_FOLDER),
            ("Where is {word} mentioned under {folder}?", IN_FOLDER),
            ("grep {word} in {folder}", IN_FOLDER),
            ("Which files talk about {word}?", ANYWHERE),
            ("Does any file below {folder} use the term “{word}”? Which ones?", IN_FOLDER),
        ],
        chinese: &[
            ("{folder} 下哪些文件提到了“{word}”？", IN_FOLDER),
            ("在{folder}里搜索 {word}，出现在哪些文件中", IN_FOLDER),
            ("哪些文件包含 {word}？", ANYWHERE),
            ("找一下 {folder} 中含有“{word}”的文件", IN_FOLDER),
            ("{folder}目录里有哪些文件出现过{word}这个词", IN_FOLDER),
        ],
        values: planted,
        check: Check::Named,
    },
    Intent {
        name: "how often a word occurs",
        english: &[
            ("How many times does {word} appear in {file}?", TIMES),
            ("Count the occurrences of '{word}' in {file}", TIMES),
            ("How often is the word {word} used in {file}?", TIMES),
            ("How many files under {folder} mention {word}?", FILES),
            ("In how many files below {folder} does \"{word}\" occur?", FILES),
        ],
        chinese: &[
            ("{word} 在 {file} 中出现了几次？", TIMES),
            ("统计“{word}”在{file}里出现的次数", TIMES),
            ("{folder} 下有多少个文件提到了{word}？", FILES),
            ("{file} 里有多少处 {word}", TIMES),
            ("有几个文件包含“{word}”？", "grep -rl '{word}' * | wc -l"),
        ],
        values: planted,
        check: Check::Counted,
    },
];

const TIMES: &str = "grep -o '{word}' '{file}' | wc -l";
const FILES: &str = "grep -rl '{word}' '{folder}' | wc -l";

fn planted(draw: &mut Draw, scene: &Scene, is_chinese: bool) -> Values {
    let some = if is_chinese && draw.coin() { &scene.planted_chinese } else { &scene.planted };
    let planted = draw.pick(some);
    vec![
        ("word", same(planted.word)),
        ("folder", same(planted.folder)),
        ("file", same(planted.file)),
    ]
}
