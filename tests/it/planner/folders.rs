//! What is in a folder, by name, age, size and kind.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

const LS: &str = "ls -p '{any}'";
const NEWEST: &str =
    "find '{dir}' -type f -printf '%T@ %p\\n' | sort -rn | head -n 1 | cut -d' ' -f2-";
const OLDEST: &str =
    "find '{dir}' -type f -printf '%T@ %p\\n' | sort -n | head -n 1 | cut -d' ' -f2-";
const LARGEST: &str =
    "find '{dir}' -type f -printf '%s %p\\n' | sort -rn | head -n 1 | cut -d' ' -f2-";
const SECOND_LARGEST: &str = "ls -S '{dir}' | sed -n 2p";
const SECOND_SMALLEST: &str = "ls -Sr '{dir}' | sed -n 2p";
const SECOND_NEWEST: &str = "ls -t '{dir}' | sed -n 2p";
const THIRD_NEWEST: &str = "ls -t '{dir}' | sed -n 3p";
const LARGEST_THREE: &str = "ls -S '{dir}' | head -n 3";
const NEWEST_THREE: &str = "ls -t '{dir}' | head -n 3";
const LARGEST_BELOW: &str =
    "find '{deep}' -type f -printf '%s %p\\n' | sort -rn | head -n 1 | cut -d' ' -f2-";
const SMALLEST: &str =
    "find '{dir}' -type f -printf '%s %p\\n' | sort -n | head -n 1 | cut -d' ' -f2-";
const LARGEST_KIND: &str = "find '{deep}' -type f -name '*.{kind}' -printf '%s %p\\n' | sort -rn | head -n 1 | cut -d' ' -f2-";
const KIND: &str = "find '{deep}' -type f -name '*.{kind}'";
const KIND_COUNT: &str = "find '{deep}' -type f -name '*.{kind}' | wc -l";

pub(super) const INTENTS: [Intent; 8] = [
    Intent {
        name: "list a folder",
        english: &[
            ("What's in the {any} folder?", LS),
            ("List the files in {dir}", "ls -p '{dir}'"),
            ("ls {any}", LS),
            ("Show me everything in {any}/", LS),
            ("What files are there in {dir}?", "ls -p '{dir}'"),
            ("What does the directory {any} contain?", LS),
        ],
        chinese: &[
            ("{dir} 目录下有哪些文件？", "ls -p '{dir}'"),
            ("列出 {any} 里的内容", LS),
            ("看看 {any} 文件夹里有什么", LS),
            ("{dir}里面都有些什么文件", "ls -p '{dir}'"),
            ("显示{dir}目录的文件列表", "ls -p '{dir}'"),
        ],
        values: folder,
        check: Check::Told,
    },
    Intent {
        name: "newest and oldest file",
        english: &[
            ("Which is the newest file in {dir}?", NEWEST),
            ("What's the most recently modified file in {dir}?", NEWEST),
            ("Which file in {dir} was changed last?", NEWEST),
            ("Find the oldest file in {dir}", OLDEST),
            ("What is the latest file in the folder {dir}?", NEWEST),
            ("Which file in {dir} hasn't been touched for the longest time?", OLDEST),
        ],
        chinese: &[
            ("{dir} 里最新的文件是哪个？", NEWEST),
            ("{dir}目录下最近修改的文件是什么", NEWEST),
            ("哪个文件是{dir}里最旧的？", OLDEST),
            ("{dir} 中最后修改的是哪个文件", NEWEST),
            ("找出{dir}文件夹里最早的文件", OLDEST),
        ],
        values: folder,
        check: Check::Named,
    },
    Intent {
        name: "largest and smallest file",
        english: &[
            ("Which file in {dir} is the largest?", LARGEST),
            ("What's the biggest file under {deep}?", LARGEST_BELOW),
            ("Find the smallest file in {dir}", SMALLEST),
            ("Which .{kind} file takes up the most space under {deep}?", LARGEST_KIND),
            ("largest file in {dir}?", LARGEST),
            ("Name the biggest .{kind} file anywhere below {deep}.", LARGEST_KIND),
        ],
        chinese: &[
            ("{dir} 里最大的文件是哪个？", LARGEST),
            ("{dir}目录中哪个文件最大", LARGEST),
            ("找出 {dir} 下面最小的文件", SMALLEST),
            ("{deep}下体积最大的.{kind}文件是什么", LARGEST_KIND),
            ("{dir} 里哪个文件占用空间最多？", LARGEST),
        ],
        values: folder,
        check: Check::Named,
    },
    Intent {
        name: "one further down an order",
        english: &[
            ("What's the second largest file in {dir}?", SECOND_LARGEST),
            ("Which file in {dir} is the 2nd biggest?", SECOND_LARGEST),
            ("Name the second newest file in {dir}", SECOND_NEWEST),
            ("the third most recent file in {dir}", THIRD_NEWEST),
            ("Find the second smallest file in {dir}.", SECOND_SMALLEST),
        ],
        chinese: &[
            ("{dir}里第二大的文件是哪个？", SECOND_LARGEST),
            ("{dir} 目录下第二新的文件叫什么", SECOND_NEWEST),
            ("找出{dir}中第三新的文件", THIRD_NEWEST),
            ("{dir} 里面第二小的文件是什么", SECOND_SMALLEST),
            ("哪个是{dir}文件夹里第二大的文件", SECOND_LARGEST),
        ],
        values: folder,
        check: Check::Named,
    },
    Intent {
        name: "the first few of an order",
        english: &[
            ("What are the 3 largest files in {dir}?", LARGEST_THREE),
            ("List the three newest files in {dir}", NEWEST_THREE),
            ("top 3 biggest files in {dir}", LARGEST_THREE),
            ("Show the 3 most recent files in {dir}.", NEWEST_THREE),
            ("which three files in {dir} are the largest", LARGEST_THREE),
        ],
        chinese: &[
            ("{dir}里最大的3个文件是哪些？", LARGEST_THREE),
            ("列出 {dir} 中最新的三个文件", NEWEST_THREE),
            ("{dir}目录下最大的三个文件", LARGEST_THREE),
            ("{dir} 里最近修改的三个文件是什么", NEWEST_THREE),
            ("找出{dir}里最大的前三个文件", LARGEST_THREE),
        ],
        values: folder,
        check: Check::Named,
    },
    Intent {
        name: "find by kind or name",
        english: &[
            ("Find all .{kind} files under {deep}", KIND),
            ("Where is {name}?", "find * -name '{name}'"),
            ("Is there a file called {name} somewhere?", "find * -name '{name}'"),
            ("Which {kind} files are there below {deep}?", KIND),
            ("find files whose name contains {stem}", "find * -type f -name '*{stem}*'"),
            ("List every *.{kind} file in {deep} and its subfolders", KIND),
        ],
        chinese: &[
            ("找出 {deep} 下所有的 .{kind} 文件", KIND),
            ("{name} 在哪个目录？", "find * -name '{name}'"),
            ("查找名字里带有{stem}的文件", "find * -type f -name '*{stem}*'"),
            ("{deep}下面有哪些 {kind} 文件？", KIND),
            ("有没有叫 {name} 的文件，在哪里", "find * -name '{name}'"),
        ],
        values: folder,
        check: Check::Located,
    },
    Intent {
        name: "find by kind and nothing else",
        english: &[
            ("Which Python files are below {deep}?", PYTHON),
            ("Show all the Markdown files under {deep}", "find '{deep}' -type f -name '*.md'"),
            ("give me a list of the .{kind} files in {deep}, including subdirectories", KIND),
            ("search {deep} for *.{kind}", KIND),
            ("Please locate the {kind} files below {deep}.", KIND),
        ],
        chinese: &[
            ("{deep} 下面的 Python 文件有哪些？", PYTHON),
            ("列出{deep}及其子目录中的所有.{kind}文件", KIND),
            ("帮我找一下{deep}里后缀为{kind}的文件，包括子目录", KIND),
            ("查找 {deep} 下的 *.{kind}", KIND),
            ("{deep} 底下有什么 Markdown 文件", "find '{deep}' -type f -name '*.md'"),
        ],
        values: folder,
        check: Check::Named,
    },
    Intent {
        name: "count files",
        english: &[
            ("How many .{kind} files are under {deep}?", KIND_COUNT),
            ("Count the {kind} files in {deep} and all its subfolders", KIND_COUNT),
            ("What's the number of .{kind} files below {deep}?", KIND_COUNT),
            ("How many files are there in {dir}?", "ls '{dir}' | wc -l"),
            (
                "How many Python files are there under {deep}?",
                "find '{deep}' -type f -name '*.py' | wc -l",
            ),
            ("How many files in total are below {deep}?", "find '{deep}' -type f | wc -l"),
        ],
        chinese: &[
            ("{deep} 下有多少个 .{kind} 文件？", KIND_COUNT),
            ("统计一下 {deep} 下 {kind} 文件的数量", KIND_COUNT),
            ("{deep}下面一共有几个{kind}文件", KIND_COUNT),
            ("数数{deep}下有多少 Python 文件", "find '{deep}' -type f -name '*.py' | wc -l"),
            ("{dir} 文件夹里有多少个文件", "ls '{dir}' | wc -l"),
        ],
        values: folder,
        check: Check::Counted,
    },
];

const PYTHON: &str = "find '{deep}' -type f -name '*.py'";

fn folder(draw: &mut Draw, scene: &Scene, _: bool) -> Values {
    let (flat, deep) = (draw.whole(0, 2) as usize, draw.whole(0, 2) as usize);
    let (flat, deep) = (&scene.flat[flat], &scene.deep[deep]);
    let file = draw.pick(&deep.files);
    let name = file.rsplit('/').next().unwrap();
    let (stem, kind) = name.rsplit_once('.').unwrap();
    let any = if draw.coin() { &flat.path } else { &deep.path };
    vec![
        ("dir", same(&flat.path)),
        ("deep", same(&deep.path)),
        ("any", same(any)),
        ("name", same(name)),
        ("stem", same(stem)),
        ("kind", same(kind)),
    ]
}
