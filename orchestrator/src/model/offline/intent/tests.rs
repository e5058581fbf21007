//! What people say, and what they want by it.

use super::{
    super::{
        goals::{Combination, Content, Pick},
        sums,
    },
    *,
};

/// Goals in a form that is easy to write down.
fn short(goals: &[Goal]) -> String {
    goals.iter().map(goal).collect::<Vec<_>>().join(" | ")
}

fn goal(goal: &Goal) -> String {
    match goal {
        Goal::Calculate(sums) => {
            let sums: Vec<_> = sums.iter().map(sums::Sum::rounded).collect();
            format!("calc {}", sums.join("; "))
        }
        Goal::Combine(Combination { left, operator, right, places }) => {
            let places = places.as_ref().map(|places| format!(" to {places}")).unwrap_or_default();
            format!("{} {operator} {}{places}", quantity(left), quantity(right))
        }
        Goal::Read { file: of, part } => match part {
            Part::All => format!("read {}", file(of)),
            Part::First(count) => format!("first {count} of {}", file(of)),
            Part::Last(count) => format!("last {count} of {}", file(of)),
            Part::FromEnd(line) => format!("line {line} from the end of {}", file(of)),
            Part::Lines(from, to) => format!("lines {from}-{to} of {}", file(of)),
        },
        Goal::Tell(told) => format!("tell {}", quantity(told)),
        Goal::Headings(of) => format!("headings {}", file(of)),
        Goal::List(folder) => format!("list {}", folder.as_deref().unwrap_or("?")),
        Goal::Pick(picked) => pick(picked),
        Goal::Find(found) => format!("find {}", files(found)),
        Goal::Search(search) => {
            let shows = if search.shows == Shows::Files { "files with" } else { "places of" };
            format!("{shows} '{}' {}", search.query, files(&search.files))
        }
        Goal::Write { path, content } => match content {
            Content::Text(text) => format!("write '{text}' to {path}"),
            Content::Last => format!("write it to {path}"),
        },
        Goal::Run(command) => format!("run {command}"),
        Goal::Changed(of) => format!("changed {}", file(of)),
        Goal::Introduce => "introduce".to_owned(),
        Goal::Beyond => "beyond".to_owned(),
    }
}

fn quantity(of: &Quantity) -> String {
    match of {
        Quantity::Lines(of) => format!("lines({})", file(of)),
        Quantity::Characters(of) => format!("characters({})", file(of)),
        Quantity::Bytes(of) => format!("bytes({})", file(of)),
        Quantity::Headings(of) => format!("headings({})", file(of)),
        Quantity::Files(of) => format!("files({})", files(of)),
        Quantity::Folders(of) => format!("folders({})", of.as_deref().unwrap_or("?")),
        Quantity::AllBytes(of) => format!("all bytes({})", files(of)),
        Quantity::Matches(search) => {
            format!("matches('{}' {})", search.query, files(&search.files))
        }
        Quantity::Occurrences(search) => {
            format!("occurrences('{}' {})", search.query, files(&search.files))
        }
        Quantity::MatchingFiles(search) => {
            format!("files with('{}' {})", search.query, files(&search.files))
        }
        Quantity::Total(parts) => parts.iter().map(quantity).collect::<Vec<_>>().join(" + "),
        Quantity::Given(text) => text.clone(),
        Quantity::Last => "it".to_owned(),
    }
}

fn file(of: &FileRef) -> String {
    match of {
        FileRef::Path(path) => path.clone(),
        FileRef::Picked(picked) => pick(picked),
        FileRef::It => "it".to_owned(),
    }
}

fn pick(of: &Pick) -> String {
    let count = if of.count == 1 { String::new() } else { format!("{} ", of.count) };
    let nth = if of.nth == 1 { String::new() } else { format!("no. {} ", of.nth) };
    format!("{count}{nth}{:?} {}", of.order, files(&of.files)).to_lowercase()
}

fn files(of: &Files) -> String {
    let pattern = of.pattern.as_deref().unwrap_or("*");
    let same = if of.is_same { " same" } else { "" };
    let flat = if of.is_flat { " flat" } else { "" };
    format!("{pattern} in {}{same}{flat}", of.folder.as_deref().unwrap_or("?"))
}

fn check(expected: &str, texts: &[&str]) {
    let wrong: Vec<String> = texts
        .iter()
        .map(|text| (text, short(&understand(text).goals)))
        .filter(|(_, got)| got != expected)
        .map(|(text, got)| format!("{text}\n    wanted {expected}\n    got    {got}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn sums() {
    check(
        "calc 17 * 23",
        &[
            "What is 17 * 23?",
            "17 * 23",
            "Calculate 17 * 23.",
            "How much is 17 times 23?",
            "compute 17 x 23 for me please",
            "Multiply 17 by 23".replace("Multiply 17 by 23", "what's 17 multiplied by 23").as_str(),
            "17 * 23 等于多少？",
            "帮我算一下 17 * 23",
            "计算 17 乘以 23",
            "请问17乘23是多少",
            "１７×２３＝？".replace('＝', " 得 ").as_str(),
        ],
    );
    check(
        "calc (240*15/100)",
        &[
            "What is 15% of 240?",
            "15 percent of 240",
            "How much is 15% of 240?",
            "Tell me 15 % of 240".replace("15 %", "15%").as_str(),
            "Work out 15 per cent of 240, please",
            "240 的 15% 是多少？",
            "240的百分之十五是多少".replace("十五", "15").as_str(),
            "计算 240 的 15%",
            "帮我算240的15%",
            "请算一下 240 的百分之15",
        ],
    );
    check(
        "calc ((80 + 90 + 100)/3)",
        &[
            "What is the average of 80, 90 and 100?",
            "average of 80, 90, 100",
            "Compute the mean of 80, 90 and 100",
            "80、90 和 100 的平均数是多少？",
            "求 80、90、100 的平均值",
        ],
    );
    check(
        "calc sqrt(1444)",
        &[
            "What is the square root of 1,444?",
            "square root of 1444",
            "sqrt(1444)",
            "1444 的平方根是多少",
            "求1444的平方根",
        ],
    );
}

#[test]
fn loans() {
    let formula = "calc round(350000*(3.9/100/12)/(1-(1+(3.9/100/12))^(-(25*12))), 2)";
    check(
        formula,
        &[
            "What is the monthly payment on a loan of 350,000 at 3.9% a year over 25 years, in equal instalments?",
            "If I borrow $350,000 for 25 years at 3.9% per year, what are the monthly payments?",
            "Monthly payment for a 25-year mortgage of 350000 at 3.9 percent interest",
            "A loan of 350,000 at an annual rate of 3.9% is repaid over 25 years. How much is each monthly instalment?",
            "Compute the monthly instalment: 350000 loan, 3.9% yearly, 25 years",
            "贷款 350000 元，年利率 3.9%，25 年等额本息，每月还多少？",
            "房贷35万，利率3.9%，分25年还清，月供是多少".replace("35万", "350000").as_str(),
            "借款 350,000，年利率百分之3.9，期限25年，求每月还款额",
            "我想贷款350000元，25年还清，年利率3.9%，等额本息的月供是多少？",
            "按揭贷款 350000，3.9% 年利率，25 年，月供？",
        ],
    );
}

#[test]
fn reading() {
    check(
        "read notes/plan.md",
        &[
            "Read notes/plan.md",
            "Show me notes/plan.md",
            "What does notes/plan.md say?",
            "Print the contents of notes/plan.md.",
            "open the file notes/plan.md",
            "cat notes/plan.md",
            "Could you display notes/plan.md please",
            "读取 notes/plan.md",
            "打开notes/plan.md",
            "查看 notes/plan.md 的内容",
            "notes/plan.md 里写了什么？",
            "显示文件 notes/plan.md",
            "帮我看看 notes/plan.md",
        ],
    );
    check(
        "first 5 of a.txt",
        &[
            "Show the first 5 lines of a.txt",
            "first five lines of a.txt",
            "Read the top 5 lines of a.txt",
            "显示 a.txt 的前 5 行",
            "读取a.txt前五行",
        ],
    );
    check("last 3 of a.txt", &["Show the last 3 lines of a.txt", "a.txt 的最后三行是什么"]);
    check(
        "lines 10-20 of a.txt",
        &[
            "Show lines 10 to 20 of a.txt",
            "Print lines 10-20 of a.txt",
            "显示 a.txt 的第 10 到 20 行",
        ],
    );
}

#[test]
fn counting_lines() {
    check(
        "tell lines(data/x_7.csv)",
        &[
            "How many lines does data/x_7.csv have?",
            "How many lines are in data/x_7.csv?",
            "Count the lines of data/x_7.csv",
            "Tell me the number of lines in data/x_7.csv",
            "What is the line count of data/x_7.csv?",
            "number of lines in the file data/x_7.csv",
            "data/x_7.csv 有多少行？",
            "统计 data/x_7.csv 的行数",
            "数一下data/x_7.csv有几行",
            "data/x_7.csv 一共有多少行",
            "请告诉我文件 data/x_7.csv 的行数",
        ],
    );
    check(
        "read data/x_7.csv | tell lines(it)",
        &[
            "Read data/x_7.csv and tell me how many lines it has",
            "Open data/x_7.csv, then count its lines.",
            "读取 data/x_7.csv 并告诉我一共有多少行",
            "打开 data/x_7.csv，告诉我有多少行",
            "先读取data/x_7.csv，然后统计行数".trim_start_matches('先'),
        ],
    );
}

#[test]
fn headings() {
    check(
        "headings docs/guide.md",
        &[
            "What are the section headings of docs/guide.md?",
            "List the headings in docs/guide.md",
            "Show me the table of contents of docs/guide.md",
            "Which sections does docs/guide.md have?",
            "Give me an outline of docs/guide.md",
            "docs/guide.md 有哪些章节标题？",
            "列出 docs/guide.md 的标题",
            "docs/guide.md 的章节有哪些",
            "告诉我docs/guide.md的大纲",
            "提取 docs/guide.md 里的所有小节标题",
        ],
    );
    check("tell headings(a.md)", &["How many headings does a.md have?", "a.md 有多少个标题"]);
}

#[test]
fn listing() {
    check(
        "list docs/api",
        &[
            "List the files in docs/api",
            "What is in the folder docs/api?",
            "What's in docs/api?",
            "Show me the contents of the docs/api directory",
            "ls docs/api",
            "Which files are in docs/api?",
            "列出 docs/api 下的文件",
            "docs/api 文件夹里有什么？",
            "docs/api 目录中有哪些文件",
            "查看docs/api目录",
            "显示 docs/api 文件夹的内容",
        ],
    );
    check(
        "list .",
        &[
            "List the files here",
            "What files are in this folder?",
            "列出当前目录的文件",
            "当前文件夹有哪些文件",
        ],
    );
}

#[test]
fn picking() {
    for (order, english, chinese) in [
        (
            "newest",
            ["newest", "latest", "most recent", "most recently modified", "last modified"],
            ["最新", "最近修改", "最近更新"],
        ),
        (
            "oldest",
            ["oldest", "earliest", "least recently modified", "oldest", "oldest"],
            ["最旧", "最早", "最老"],
        ),
        (
            "largest",
            ["largest", "biggest", "largest", "biggest", "heaviest"],
            ["最大", "最占空间", "体积最大"],
        ),
        (
            "smallest",
            ["smallest", "smallest", "tiniest", "smallest", "smallest"],
            ["最小", "体积最小", "最小"],
        ),
    ] {
        for word in english {
            check(
                &format!("{order} * in logs flat"),
                &[
                    &format!("Which is the {word} file in logs?"),
                    &format!("What is the {word} file in the logs folder?"),
                    &format!("Find the {word} file in logs"),
                    &format!("Tell me the {word} file inside logs."),
                ],
            );
            check(
                &format!("{order} *.rs in src/x"),
                &[
                    &format!("Which is the {word} .rs file under src/x?"),
                    &format!("the {word} Rust file below src/x"),
                ],
            );
        }
        for word in chinese {
            check(
                &format!("{order} * in logs flat"),
                &[
                    &format!("logs 里{word}的文件是哪个？"),
                    &format!("logs 文件夹中{word}的文件"),
                    &format!("找出logs目录里{word}的文件"),
                ],
            );
            check(
                &format!("{order} *.md in docs/y"),
                &[
                    &format!("docs/y 下{word}的 .md 文件是哪个"),
                    &format!("找出 docs/y 目录下{word}的 Markdown 文件"),
                ],
            );
        }
    }
}

#[test]
fn picking_several() {
    check(
        "3 largest * in src",
        &["What are the 3 largest files under src?", "src 下最大的三个文件"],
    );
}

#[test]
fn finding() {
    check(
        "find settings.toml in ?",
        &[
            "Find the file settings.toml",
            "Where is the file settings.toml?",
            "Find files named settings.toml",
            "Locate settings.toml",
            "Is there a file called settings.toml?",
            "查找文件 settings.toml",
            "settings.toml 在哪里？",
            "有没有叫 settings.toml 的文件",
            "找到名为 settings.toml 的文件",
            "寻找settings.toml",
        ],
    );
    check(
        "find *.py in tools",
        &[
            "Find all .py files under tools",
            "List all Python files below tools",
            "Which .py files are in tools and its subfolders?",
            "Show every *.py anywhere in tools",
            "查找 tools 下所有 .py 文件",
            "列出 tools 目录下的 Python 文件",
            "tools 下的所有 *.py 文件",
            "递归查找 tools 里的 .py 文件",
        ],
    );
    check(
        "find *.py in tools flat",
        &[
            "Which .py files are in tools?",
            "Show every *.py in tools",
            "Find the files ending in .py in the tools folder",
            "List the .py files directly under tools",
            "tools 里有哪些 py 文件",
            "找出tools文件夹中后缀为 py 的文件",
            "直接位于 tools 下的 py 文件有哪些",
        ],
    );
}

#[test]
fn counting_files() {
    check(
        "tell files(*.json in data)",
        &[
            "How many .json files are under data?",
            "Count the .json files below data",
            "How many .json files are in data, subfolders included?",
            "data 下有多少个 .json 文件？",
            "data 下一共有多少个 .json 文件",
            "数一下 data 目录下的 .json 文件",
            "data 里（包括子目录）有多少个 .json 文件",
        ],
    );
    check(
        "tell files(*.json in data flat)",
        &[
            "How many JSON files are there in data?",
            "number of *.json files in the data folder",
            "Tell me how many json files are in data",
            "统计 data 目录中 JSON 文件的数量",
            "data 文件夹里有几个 json 文件",
        ],
    );
}

#[test]
fn searching() {
    check(
        "files with 'lease' * in server",
        &[
            "Which files under server mention 'lease'?",
            "Which files in server contain \"lease\"?",
            "List the files below server that mention lease",
            "Find all files in server containing the word lease",
            "In which files under server does lease appear?",
            "server 下哪些文件提到了 'lease'？",
            "server 目录下哪些文件包含 lease",
            "在 server 里找出包含“lease”的文件",
            "哪些文件提到 lease？在 server 文件夹里"
                .replace(
                    "哪些文件提到 lease？在 server 文件夹里",
                    "server 文件夹里有哪些文件提到 lease",
                )
                .as_str(),
            "lease 出现在 server 下的哪些文件里"
                .replace("lease 出现在 server 下的哪些文件里", "在 server 下，哪些文件含有 lease")
                .as_str(),
        ],
    );
    check(
        "places of 'retry budget' * in ?",
        &[
            "Search for 'retry budget'",
            "Where is \"retry budget\" mentioned?",
            "grep \"retry budget\"",
            "Find all occurrences of 'retry budget'",
            "search for retry budget",
            "搜索“retry budget”",
            "查找文字 'retry budget'",
            "“retry budget”在哪里出现？",
            "全文搜索 retry budget",
            "搜一下 \"retry budget\"",
        ],
    );
    check(
        "places of 'TODO' * in src",
        &[
            "Search for TODO in src",
            "Where is TODO used under src?",
            "Find the text TODO in the src folder",
            "在 src 下搜索 TODO",
            "在 src 目录中查找文字“TODO”",
        ],
    );
    check(
        "tell occurrences('error' * in logs)",
        &[
            "How many times does 'error' appear in logs?",
            "How often is \"error\" mentioned under logs?",
            "logs 下“error”出现了多少次",
        ],
    );
    check(
        "tell files with('error' * in logs)",
        &["How many files under logs mention 'error'?", "logs 下有多少个文件提到“error”"],
    );
}

#[test]
fn writing() {
    check(
        "write 'hello world' to out/a.txt",
        &[
            "Write 'hello world' to out/a.txt",
            "Save \"hello world\" as out/a.txt",
            "Create a file out/a.txt with the text \"hello world\"",
            "Create out/a.txt containing hello world",
            "Write hello world into the file out/a.txt",
            "Make a file named out/a.txt with the content: hello world",
            "Put \"hello world\" into out/a.txt",
            "把“hello world”写入 out/a.txt",
            "将 'hello world' 保存到 out/a.txt",
            "创建文件 out/a.txt，内容为“hello world”",
            "新建 out/a.txt，写入：hello world",
            "在 out/a.txt 中写入 \"hello world\"",
        ],
    );
    check(
        "calc 3*4 | write it to r.txt",
        &[
            "Calculate 3*4 and write the result to r.txt",
            "计算 3*4，然后把结果写入 r.txt",
            "Work out 3*4, then save it as r.txt",
        ],
    );
}

#[test]
fn running() {
    check(
        "run uname -s",
        &[
            "Run: uname -s",
            "Run `uname -s`",
            "Please run the command uname -s",
            "Execute uname -s",
            "run \"uname -s\"",
            "Can you run uname -s in the shell?",
            "Run uname -s and tell me the output",
            "运行 uname -s",
            "执行命令：uname -s",
            "请运行 `uname -s`",
            "帮我执行一下 uname -s",
            "在终端里运行 uname -s",
            "运行uname -s并告诉我结果",
        ],
    );
    check(
        "run echo 'a b' && ls -l | wc -l",
        &["Run: echo 'a b' && ls -l | wc -l", "运行：echo 'a b' && ls -l | wc -l"],
    );
}

#[test]
fn several_things_at_once() {
    let expected = "largest *.rs in lib/core | lines(it) / files(*.rs in ?)";
    check(
        expected,
        &[
            "Take the largest .rs file under lib/core and divide its line count by the number of .rs files below that folder.",
            "Find the largest .rs file under lib/core, then divide its number of lines by the number of .rs files below that folder",
            "找出 lib/core 下最大的 .rs 文件，用它的行数除以该文件夹下 .rs 文件的数量",
        ],
    );
    check(
        "largest *.rs in lib/core | tell lines(it) | it / files(*.rs in ?)",
        &[
            "Find the largest .rs file under lib/core, count its lines, and divide that by the number of .rs files below that folder.",
            "Find the biggest .rs file under lib/core. How many lines does it have? Divide that by the number of .rs files below it.",
            "找出 lib/core 下最大的 .rs 文件，数它的行数，再除以该文件夹下 .rs 文件的数量",
        ],
    );
    check(
        "lines(largest *.rs in lib/core) / files(*.rs in lib/core)",
        &[
            "What is the line count of the largest .rs file under lib/core divided by the number of .rs files under lib/core?",
            "Divide the number of lines of the largest .rs file under lib/core by the number of .rs files below lib/core.",
        ],
    );
    check(
        "tell lines(newest *.md in notes)",
        &[
            "How many lines does the newest Markdown file under notes have?",
            "notes 下最新的 Markdown 文件有多少行",
        ],
    );
    check(
        "newest * in notes flat | read it",
        &[
            "Which is the newest file in notes? Read it.",
            "Find the newest file in notes and show its contents",
        ],
    );
    check("newest * in notes flat", &["In the folder notes, which is the newest file?"]);
    check(
        "tell lines(a.md) | it * 3",
        &["Count the lines of a.md and multiply the result by 3", "统计 a.md 的行数，再乘以3"],
    );
    check(
        "lines(a.md) + lines(b.md)",
        &["Add the number of lines of a.md to the number of lines of b.md"
            .replace(
                "Add the number of lines of a.md to",
                "How much is the line count of a.md plus",
            )
            .as_str()],
    );
}

#[test]
fn what_is_beyond_is_known_to_be() {
    check(
        "beyond",
        &[
            "Summarise notes/a.md",
            "Translate a.md into French",
            "Write a poem to poem.txt",
            "总结 notes/a.md",
            "把 a.md 翻译成英文",
            "Delete old.txt",
        ],
    );
    check("introduce", &["Who are you?", "What can you do?", "help", "你好", "你能做什么？"]);
    for text in ["asdf qwer", "The weather is nice today.", "嗯"] {
        let understood = understand(text);
        assert!(
            understood.goals.is_empty() || understood.goals == [Goal::Beyond],
            "{text}: {understood:?}"
        );
    }
}

#[test]
fn the_language_is_that_of_the_words() {
    for (text, expected) in [
        ("Read a.md", Language::English),
        ("Read 会议.md", Language::English),
        ("Write \"你好\" to a.txt", Language::English),
        ("读取 a.md", Language::Chinese),
        ("运行 uname -s", Language::Chinese),
        ("3 + 4", Language::English),
    ] {
        assert_eq!(language(text), expected, "{text}");
    }
}

#[test]
fn questions_about_several_files() {
    check(
        "tell lines(a.md) + lines(b.md)",
        &["How many lines do a.md and b.md have in total?", "a.md 和 b.md 的行数之和"],
    );
    check("tell lines(a.md) | tell lines(b.md)", &["How many lines do a.md and b.md have?"]);
    check("read a.md | read b.md", &["Read a.md and b.md"]);
    check("lines(a.md) - lines(b.md)", &["How many more lines does a.md have than b.md?"]);
    check("lines(b.md) - lines(a.md)", &["Subtract the lines of a.md from the lines of b.md"]);
    check("lines(a.md) / 3 to 2", &["a.md 的行数除以 3，保留两位小数"]);
}

#[test]
fn what_is_found_is_written() {
    check(
        "tell lines(a.md) | write it to n.txt",
        &[
            "Save the number of lines of a.md to n.txt",
            "把 a.md 的行数写入 n.txt",
            "Count the lines of a.md and save the result as n.txt",
        ],
    );
    check(
        "calc (12 + 8) * 3 | write it to r.txt",
        &["(12 + 8) * 3 的结果写入 r.txt", "Write the result of (12 + 8) * 3 to r.txt"],
    );
    check(
        "read a.md | headings it | write it to b.md",
        &["Read a.md, then write its headings to b.md"],
    );
    check(
        "newest * in notes flat | first 1 of it",
        &["Find the newest file in notes and tell me its first line"],
    );
    check("write '（注）１，好！' to a.txt", &["把“（注）１，好！”写入 a.txt"]);
}

#[test]
fn lines_that_hold_a_word() {
    check(
        "places of 'lease' * in a/b.toml flat",
        &[
            "On which line of a/b.toml does 'lease' appear?",
            "What line is lease on in a/b.toml?",
            "Which line in a/b.toml mentions lease?",
            "Where in a/b.toml does it say lease?",
            "In a/b.toml, what line has the word lease?",
            "lease 在 a/b.toml 的第几行？",
            "a/b.toml里哪一行出现了“lease”",
            "查一下a/b.toml中lease的行号",
            "a/b.toml第几行提到了lease？",
        ],
    );
    check(
        "tell occurrences('lease' * in a/b.toml flat)",
        &[
            "How often is the word lease used in a/b.toml?",
            "lease 在 a/b.toml 中出现了几次？",
            "a/b.toml 里有多少处 lease",
        ],
    );
}

#[test]
fn words_of_a_sentence_are_no_names() {
    check(
        "largest *.py in src",
        &[
            "Which .py file takes up the most space under src?",
            "Name the biggest .py file anywhere below src.",
            "src下体积最大的.py文件是什么",
        ],
    );
    check(
        "find *.py in src",
        &[
            "give me a list of the .py files in src, including subdirectories",
            "search src for *.py",
            "列出src及其子目录中的所有.py文件",
            "查找 src 下的 *.py",
        ],
    );
    check(
        "tell lines(读书笔记980.md)",
        &["读书笔记980.md 有多少行", "统计一下读书笔记980.md的行数"],
    );
    check(
        "oldest * in logs flat",
        &["Which file in logs hasn't been touched for the longest time?"],
    );
    check("tell files(*.py in src)", &["Count the py files in src and all its subfolders"]);
    check("read newest * in logs flat", &["What is in the last modified file in logs?"]);
    check("run echo a | wc -c ; echo 9", &["Please execute echo a | wc -c ; echo 9 in the shell"]);
}

#[test]
fn places_in_an_order() {
    check(
        "no. 2 largest * in docs flat",
        &[
            "What's the second largest file in docs?",
            "the 2nd biggest file in docs",
            "docs 里第二大的文件是哪个",
        ],
    );
    check("3 largest * in docs", &["the 3 largest files under docs"]);
    check(
        "line 2 from the end of a.md",
        &["the second to last line of a.md", "a.md 的倒数第二行", "penultimate line of a.md"],
    );
    check("lines 3-3 of a.md", &["the third line of a.md", "line 3 in a.md", "a.md 第三行"]);
}

#[test]
fn names_by_their_parts() {
    check(
        "find *report* in ?",
        &[
            "find files whose name contains report",
            "文件名里含有report的文件",
            "名字带 report 的文件有哪些",
        ],
    );
    check("find test_* in ?", &["files starting with test_", "以test_开头的文件有哪些"]);
    check("find *.lock in ?", &["Which files end with .lock?", "files ending in .lock"]);
    check("newest *.md in docs", &["the most recent .md under docs", "docs下最新的.md文件"]);
    check("newest *.md in docs flat", &["latest .md in docs", "docs里最新的.md文件"]);
    check("largest * in docs", &["the largest file below docs", "docs底下最大的文件"]);
    check("largest * in docs flat", &["the largest file in docs", "docs中最大的文件"]);
    check("largest * in .", &["the largest file in the project", "仓库里最大的文件"]);
    check("largest * in . flat", &["the largest file in this folder", "当前目录里最大的文件"]);
    check("find a.md in ?", &["Where can I find a.md?", "a.md 放在哪里了", "有 a.md 这个文件吗"]);
}

#[test]
fn what_is_written_may_come_in_the_next_clause() {
    check(
        "write 'hi there' to a.txt",
        &["Create a.txt and write \"hi there\" in it", "创建a.txt并写入“hi there”"],
    );
    check("write '' to a.txt", &["Make an empty file called a.txt", "新建空文件 a.txt"]);
}

#[test]
fn a_question_that_nobody_understands_is_no_search_for_a_file() {
    for text in ["Which is bigger, a.md or b.md?", "What colour is a.md?"] {
        assert_eq!(understand(text).goals, [], "{text}");
    }
}

#[test]
fn shares_and_multiples_of_what_is_found_out() {
    check(
        "lines(a.md) * (15/100)",
        &["15% of the number of lines in a.md", "a.md 行数的 15% 是多少"],
    );
    check("headings(a.md) * 2", &["twice the number of headings in a.md", "a.md 标题数的两倍"]);
    check("files(*.rs in src) / 2", &["half of the number of .rs files under src"]);
    check("calc (80/2)", &["80的一半", "half of 80"]);
}

#[test]
fn folders_in_an_order() {
    check(
        "100 largest * in docs flat",
        &["List the files in docs sorted by size", "按大小列出docs里的文件"],
    );
    check("100 newest * in docs flat", &["List the files in docs, newest first"]);
}

#[test]
fn commands_that_people_know_are_taken_as_wishes() {
    check(
        "places of 'fencing' * in src",
        &[
            "grep fencing src",
            "grep -rn fencing src/",
            "please grep \"fencing\" src",
            "grep -r fencing src",
        ],
    );
    check("places of 'fencing' * in ?", &["grep fencing", "grep -rn fencing"]);
    check("places of 'fencing' * in a.md flat", &["grep fencing a.md", "grep -n fencing a.md"]);
    check("find *.md in docs", &["find docs -name '*.md'", "find docs/ -type f -name \"*.md\""]);
    check("find *.md in ?", &["find . -name '*.md'"]);
    check("100 newest * in src flat", &["ls -t src", "ls -lt src"]);
    check("list src", &["ls -la src", "ls src"]);
    check("run echo if then", &["run echo if then", "Kindly run echo if then"]);
    check("run for i in 1 2; do echo $i; done", &["run for i in 1 2; do echo $i; done"]);
}

#[test]
fn what_is_under_a_folder_is_listed_to_any_depth() {
    check(
        "find * in src",
        &[
            "List every file below src",
            "List everything under src",
            "List the files in src and its subfolders",
            "递归列出 src 里的文件",
        ],
    );
    check(
        "list src",
        &["List everything in src", "列出 src 目录下的文件", "What are the subfolders of src?"],
    );
    check("tell files(*.rs in src flat)", &["src has how many .rs files?"]);
    check("newest * in src flat", &["src: newest file?"]);
    check("100 largest *.md in src", &["List md files under src by size"]);
}

#[test]
fn what_is_asked_beside_something_is_no_better_word_for_it() {
    check(
        "tell files(* in logs flat) | tell all bytes(* in logs flat)",
        &["logs 里有多少个文件，总大小是多少"],
    );
    check(
        "tell matches('kiwi' * in a.md flat)",
        &["统计 a.md 里 kiwi 出现的行数", "统计 a.md 中有多少行包含 kiwi"],
    );
    check(
        "first 2 of a.md | write it to b.txt",
        &["save the first 2 lines of a.md to b.txt", "把 a.md 的前 2 行写入 b.txt"],
    );
    check("read a.md | write it to b.txt", &["write the contents of a.md to b.txt"]);
}

#[test]
fn an_order_may_be_named_from_end_to_end() {
    for (order, words) in [
        ("newest", ["from newest to oldest", "newest first", "from the latest to the oldest"]),
        ("oldest", ["from oldest to newest", "oldest first", "earliest to latest"]),
        ("largest", ["from largest to smallest", "largest first", "biggest to smallest"]),
        ("smallest", ["from smallest to largest", "smallest first", "small to large"]),
    ] {
        for words in words {
            let expected = format!("100 {order} * in src flat");
            check(&expected, &[&format!("List the files in src {words}")]);
        }
    }
    check("places of 'kiwi' * in docs", &["docs 下哪里出现了 kiwi", "docs 里什么地方提到了 kiwi"]);
}

#[test]
fn a_content_may_be_introduced_by_what_kind_of_thing_it_is() {
    check(
        "write '42' to a.txt",
        &[
            "store the number 42 in a.txt",
            "Write the value 42 to a.txt",
            "put the word 42 into a.txt",
            "把数字 42 存到 a.txt",
            "将数字42写入a.txt",
        ],
    );
    check("write '42' to total", &["store 42 in the file total", "save 42 to a file named total"]);
    // Signs are a content like any other, unless it is their result that is wanted.
    check("write '12 + 3' to a.txt", &["write 12 + 3 to a.txt", "把 12 + 3 写入 a.txt"]);
    check(
        "calc 12 + 3 | write it to a.txt",
        &["write the result of 12 + 3 to a.txt", "calculate 12 + 3 and write it to a.txt"],
    );
    check(
        "tell lines(b.md) | write it to a.txt",
        &["store the number of lines of b.md in a.txt", "write the line count of b.md to a.txt"],
    );
}

#[test]
fn a_folder_that_is_named_once_is_meant_twice() {
    check(
        "tell files(*.rs in src) | tell files(*.py in src)",
        &["How many .rs files and how many .py files are under src?"],
    );
    check(
        "tell files(*.rs in src flat) | tell files(*.py in src flat)",
        &["How many .rs files and how many .py files are in src?"],
    );
}

#[test]
fn names_without_extension_are_files_and_numbers_may_be_folders() {
    check("read Makefile", &["Show me the Makefile", "cat Makefile"]);
    check("tell lines(.gitignore)", &["How many lines are in .gitignore?"]);
    check("tell lines(a.md)", &["HOW MANY LINES DOES a.md HAVE"]);
    check("places of 'FIXME' * in src", &["Search for FIXME in src"]);
    check("newest * in 2024 flat", &["Which is the newest file in 2024?"]);
    check("list data/2024-05", &["What is in data/2024-05?"]);
    check("files with 'a*b' * in src", &["Which files under src contain \"a*b\"?"]);
}
