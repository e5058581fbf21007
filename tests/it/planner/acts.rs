//! What changes something, with an approval given beforehand.

use super::{
    draw::{Draw, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

/// The file's last line may end or not.
const WRITTEN: &str = "[ \"$(cat '{new}' 2>&1)\" = '{text}' ] && echo yes || echo no";

pub(super) const INTENTS: [Intent; 2] = [
    Intent {
        name: "write a file",
        english: &[
            ("Create a file {new} containing \"{text}\"", WRITTEN),
            ("Write '{text}' to {new}", WRITTEN),
            ("Save the text \"{text}\" as {new}", WRITTEN),
            ("Make a new file called {new} with the content: {text}", WRITTEN),
            ("Put \"{text}\" into {new}", WRITTEN),
            ("Please write a file named {new} that says {text}", WRITTEN),
            ("Create {new} and write \"{text}\" in it.", WRITTEN),
            ("I'd like a file {new} containing {text}", WRITTEN),
            ("Put the following into {new}: {text}", WRITTEN),
            ("Could you save this to {new}: {text}", WRITTEN),
            ("{new} should contain the text {text}", WRITTEN),
            ("Could you jot down \"{text}\" in {new}?", WRITTEN),
        ],
        chinese: &[
            ("新建文件 {new}，内容是“{text}”", WRITTEN),
            ("把“{text}”写入 {new}", WRITTEN),
            ("创建一个名为 {new} 的文件，写上：{text}", WRITTEN),
            ("将「{text}」保存到 {new}", WRITTEN),
            ("在 {new} 里写“{text}”", WRITTEN),
            ("将以下内容写入{new}：{text}", WRITTEN),
            ("请把下面的内容保存到 {new}：{text}", WRITTEN),
            ("新建一个文件 {new} 内容是 {text}", WRITTEN),
            ("创建{new}并写入“{text}”", WRITTEN),
        ],
        values: new_file,
        check: Check::Done,
    },
    Intent {
        name: "run a command",
        english: &[
            ("Run: {command}", "{command}"),
            ("Run the command `{command}`", "{command}"),
            ("Please execute {command} in the shell", "{command}"),
            ("Can you run '{command}' for me?", "{command}"),
            ("What does `{command}` print?", "{command}"),
            ("run {command}", "{command}"),
            ("run this: {command}", "{command}"),
            ("execute `{command}`", "{command}"),
            ("In the terminal, run `{command}`", "{command}"),
            ("Run this command: {command}", "{command}"),
            ("What's the output of `{command}`?", "{command}"),
        ],
        chinese: &[
            ("运行：{command}", "{command}"),
            ("执行命令 {command}", "{command}"),
            ("帮我跑一下 `{command}`", "{command}"),
            ("运行以下命令：{command}", "{command}"),
            ("请在终端执行 `{command}`", "{command}"),
            ("请运行 {command} 这个命令", "{command}"),
            ("在终端里执行“{command}”，告诉我输出", "{command}"),
        ],
        values: |draw, _, _| vec![("command", same(command(draw)))],
        check: Check::Told,
    },
];

fn new_file(draw: &mut Draw, _: &Scene, is_chinese: bool) -> Values {
    let kind = draw.pick(&["txt", "md"]);
    let name = format!("{}.{kind}", draw.name());
    let folder = draw.name();
    let new = if draw.coin() { name } else { format!("{folder}/{name}") };
    let text = if is_chinese && draw.coin() {
        let (word, number) = (draw.rare(true), draw.whole(2, 30));
        format!("{word}在{number}号之前完成")
    } else {
        draw.line()
    };
    vec![("new", same(new)), ("text", same(text))]
}

fn command(draw: &mut Draw) -> String {
    let (a, b) = (draw.whole(100, 999), draw.whole(100, 999));
    match draw.whole(0, 4) {
        0 => format!("echo {}", draw.line()),
        1 => format!("expr {a} + {b}"),
        2 => format!("seq {a} {b} | tail -n 2 | head -n 1 ; echo {b}"),
        3 => format!("printf %05d {a}"),
        _ => "uname -s".to_owned(),
    }
}
