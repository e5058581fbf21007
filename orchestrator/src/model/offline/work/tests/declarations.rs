//! Tools that describe themselves as the real ones do, under names that mean nothing: they must be
//! chosen by what they say.

use super::super::super::super::ToolDeclaration;

/// Name, description, the body of the schema, and an example.
const TOOLS: &[[&str; 5]] = &[
    [
        "t1",
        "Works out an arithmetic expression: exact fractions and decimals.\nNot for: Counting \
         words, lines or files, dates, units.\nAsked for as: calculate, compute, sum, loan; \
         计算, 算一下",
        r#""required":["expression"],"properties":{"expression":{"type":"string","description":"The expression, such as `(1 + 2) * 3`."},"precision":{"type":["integer","null"],"description":"Digits after the decimal point to round the value to."}}"#,
        "What is 1 + 2?",
        r#"{"expression":"1 + 2"}"#,
    ],
    [
        "t2",
        "Reads a text file of the workspace: what it says, its section headings, how many lines \
         it has. The first line of the answer is a status.\nNot for: Listing the files of a \
         folder, finding a file whose path is not known, finding which files mention a \
         word.\nAsked for as: read, open, show a file; 读取, 查看",
        r#""required":["path"],"properties":{"path":{"type":"string","description":"Path of the file, relative to the workspace."},"offset":{"type":["integer","null"],"description":"Number of the first line to read, from 1."},"limit":{"type":["integer","null"],"description":"Most lines to read."}}"#,
        "What does notes.md say?",
        r#"{"path":"notes.md"}"#,
    ],
    [
        "t3",
        "Lists what is in one folder of the workspace, with type, size in bytes and time of the \
         last change (UTC), sorted by name, by size or by time.\nNot for: Searching the folders \
         below, reading a file, searching text inside files.\nAsked for as: list, ls, show a \
         folder; 列出, 目录",
        r#""properties":{"path":{"type":["string","null"],"description":"Path of the folder, relative to the workspace. Default: the workspace itself."},"sort":{"description":"What comes first: `name` (the default), `size` (largest first) or `modified` (newest first).","oneOf":[{"const":"name","type":"string"},{"const":"size","type":"string"},{"const":"modified","type":"string"}]},"limit":{"type":["integer","null"],"minimum":1,"description":"Most entries to show, at most 1,000. Default: 100."}}"#,
        "What is in the folder docs?",
        r#"{"path":"docs"}"#,
    ],
    [
        "t4",
        "Finds files by name or extension in a folder of the workspace and all folders below \
         it, with size in bytes and time of the last change (UTC).\nNot for: Searching for \
         words inside files, listing one folder, reading a file.\nAsked for as: find, locate, \
         glob; 查找文件",
        r#""required":["pattern"],"properties":{"pattern":{"type":"string","description":"Glob over the file's path below `path`: `*`, `?`, `[ab]`, and `**` for any number of folders."},"path":{"type":["string","null"],"description":"Folder to search, relative to the workspace. Default: the whole workspace."},"sort":{"description":"What comes first: `name` (the default), `size` (largest first) or `modified` (newest first).","oneOf":[{"const":"name","type":"string"},{"const":"size","type":"string"},{"const":"modified","type":"string"}]},"limit":{"type":["integer","null"],"minimum":1,"description":"Most entries to show, at most 1,000. Default: 100."}}"#,
        "Find all Rust files below src",
        r#"{"pattern":"*.rs","path":"src"}"#,
    ],
    [
        "t5",
        "Writes a text file of the workspace as a whole: makes a new file with its folders, or \
         replaces all that is in an old one.\nNot for: Looking at a file, running a \
         program.\nAsked for as: write, save, create; 写入, 保存",
        r#""required":["path","content"],"properties":{"path":{"type":"string","description":"Path of the file, relative to the workspace."},"content":{"type":"string","description":"The whole content of the file afterwards."}}"#,
        "Create hello.txt with the text hello",
        r#"{"path":"hello.txt","content":"hello"}"#,
    ],
    [
        "t6",
        "Searches inside the files of the workspace, or of one folder, for a word, a text or a \
         regular expression, and shows the lines that match.\nNot for: Finding files by their \
         name, reading a whole file.\nAsked for as: search, grep, which files mention, contain \
         a word; 搜索, 提到",
        r#""required":["pattern"],"properties":{"pattern":{"type":"string","description":"The text to search for, within one line; upper and lower case count."},"path":{"type":["string","null"],"description":"Folder or file to search, relative to the workspace."},"regex":{"type":"boolean","description":"Whether `pattern` is a regular expression. Default: false, plain text."},"glob":{"type":["string","null"],"description":"Only search files whose name or path matches this glob."},"ignore_case":{"type":"boolean"},"limit":{"type":["integer","null"],"minimum":1,"description":"Most entries to show, at most 1,000. Default: 100."}}"#,
        "哪些文件提到了“超时”？",
        r#"{"pattern":"超时"}"#,
    ],
    [
        "t7",
        "Runs a command of the shell (bash) in the workspace and returns its exit code and what \
         it wrote.\nNot for: Reading, finding, searching or writing files.\nAsked for as: run, \
         execute; 运行, 执行",
        r#""required":["command"],"properties":{"command":{"type":"string","description":"The command, as for `bash -c`."},"cwd":{"type":["string","null"]}}"#,
        "Run the tests",
        r#"{"command":"make test"}"#,
    ],
    [
        "t8",
        "Reads on in a result that was too large to show whole (artifact). Not for files: those \
         have tools of their own.",
        r#""required":["id"],"properties":{"id":{"type":"string","description":"The artifact's id, as the result named it."},"offset":{"type":"integer","description":"Where to read on, in bytes."}}"#,
        "Read on in the long result",
        r#"{"id":"x","offset":2000}"#,
    ],
    [
        "t9",
        "Looks up further tools by what they should do, when none of the offered ones fits. Not \
         for finding files, text or anything but tools. 查找可用的工具。",
        r#""required":["query"],"properties":{"query":{"type":"string","description":"What the tool should do, in a few words."}}"#,
        "Is there a tool that converts currencies?",
        r#"{"query":"convert currencies"}"#,
    ],
];

fn declared([name, description, schema, request, arguments]: [&str; 5]) -> ToolDeclaration {
    let schema = format!("{{\"type\":\"object\",{schema}}}");
    ToolDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: serde_json::from_str(&schema).unwrap(),
        examples: vec![(request.to_owned(), arguments.to_owned())],
    }
}

/// The tools, the calculator first.
pub(super) fn tools() -> Vec<ToolDeclaration> {
    TOOLS[..8].iter().copied().map(declared).collect()
}

/// A tool that finds tools.
pub(super) fn finder() -> ToolDeclaration {
    declared(TOOLS[8])
}
