//! What is needed of a tool, and by which words of its description and its schema a tool that can
//! give it is known. Which tool is taken is decided in `choose.rs`.

use super::goals::Order;

/// Something that a tool can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Skill {
    Calculate,
    Read,
    List,
    Find,
    Search,
    Write,
    Run,
    LookUpTools,
    /// Whatever an example of a tool is about.
    Follow,
}

/// What a property of a tool's arguments is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Expression,
    Places,
    File,
    Folder,
    Glob,
    Query,
    Content,
    Command,
    Sort,
    Limit,
    Offset,
    Lines,
    Exact,
}

/// A value for a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Text(String),
    /// Digits.
    Number(String),
    First(Order),
    Yes,
}

/// What is needed: a skill, and values for roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) skill: Skill,
    /// Without these a tool is of no use.
    pub(super) must: Vec<(Role, Wish)>,
    /// These are given where a tool takes them.
    pub(super) may: Vec<(Role, Wish)>,
}

impl Need {
    pub(super) fn new(skill: Skill) -> Self {
        Self { skill, must: Vec::new(), may: Vec::new() }
    }

    /// With a value that the tool must take.
    pub(super) fn with(mut self, role: Role, wish: Wish) -> Self {
        self.must.push((role, wish));
        self
    }

    /// With a text that the tool must take.
    pub(super) fn with_text(self, role: Role, text: impl Into<String>) -> Self {
        self.with(role, Wish::Text(text.into()))
    }

    /// With a value that the tool may take.
    pub(super) fn may(mut self, role: Role, wish: Wish) -> Self {
        self.may.push((role, wish));
        self
    }
}

/// How a tool with a skill describes itself.
pub(super) struct Profile {
    pub(super) skill: Skill,
    /// Words of what it is for; a star stands for the rest of a word.
    pub(super) words: &'static str,
    /// Words of tools for something else.
    pub(super) others: &'static str,
}

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        skill: Skill::Calculate,
        words: "calculat*, arithmetic, expression, evaluat*, math*, comput*, works out, formula, \
            计算, 算术, 算一下",
        others: "text file, folder, shell",
    },
    Profile {
        skill: Skill::Read,
        words: "reads, read, text file, contents, content of, what it says, open, shows, 读取, \
            查看, 文件内容",
        others: "artifact, writes, folder of, web page",
    },
    Profile {
        skill: Skill::List,
        words: "lists, list, folder, directory, entries, what is in, 列出, 目录, 文件夹",
        others: "inside files, tools",
    },
    Profile {
        skill: Skill::Find,
        words: "finds, find, files by name, by name, extension, glob, pattern, locate, 查找文件, \
            按名称",
        others: "inside the files, inside files, tools, web",
    },
    Profile {
        skill: Skill::Search,
        words: "searches, search, inside the files, inside files, text, lines that match, word, \
            mention, contain, grep, 搜索, 检索, 包含, 提到",
        others: "tools, web, memory",
    },
    Profile {
        skill: Skill::Write,
        words: "writes, write, save, create, new file, replace, 写入, 保存, 创建文件",
        others: "memory, remember",
    },
    Profile {
        skill: Skill::Run,
        words: "runs, run, command, shell, execute, program, terminal, 运行, 执行, 命令",
        others: "tools by",
    },
    Profile {
        skill: Skill::LookUpTools,
        words: "tools, further tools, looks up, find tools, 查找可用的工具, 工具",
        others: "files of the workspace, text file",
    },
];

/// How a property for a role is named and described.
pub(super) struct Clue {
    pub(super) role: Role,
    /// Names, the likeliest first.
    pub(super) names: &'static str,
    /// Words of its description.
    pub(super) words: &'static str,
    /// Words that speak against it.
    pub(super) others: &'static str,
    /// Its JSON types.
    pub(super) kinds: &'static str,
}

const TEXT: &str = "string";
const NUMBER: &str = "integer, number";

pub(super) const CLUES: &[Clue] = &[
    Clue {
        role: Role::Expression,
        names: "expression, expr, formula, calculation, equation, math, arithmetic",
        words: "arithmetic, expression, formula, to work out, to calculate, to evaluate, 算式",
        others: "regular expression, glob",
        kinds: TEXT,
    },
    Clue {
        role: Role::Places,
        names: "precision, places, decimals, decimal_places, digits, scale",
        words: "decimal, digits after, round",
        others: "",
        kinds: NUMBER,
    },
    Clue {
        role: Role::File,
        names: "path, file, file_path, filepath, filename, file_name",
        words: "path of the file, path of a file, file to, 文件路径",
        others: "",
        kinds: TEXT,
    },
    Clue {
        role: Role::Folder,
        names: "path, folder, dir, directory, root, base, in, under",
        words: "folder, directory, where to, 目录, 文件夹",
        others: "",
        kinds: TEXT,
    },
    Clue {
        role: Role::Glob,
        names: "glob, pattern, name_pattern, file_pattern, filename_pattern, include, name",
        words: "glob, wildcard, 通配",
        others: "regular expression, text to search",
        kinds: TEXT,
    },
    Clue {
        role: Role::Query,
        names: "query, pattern, text, needle, search, term, phrase, keyword, keywords, regex, q",
        words: "text to search, search for, to look for, words, what the tool should do, 关键词",
        others: "glob, wildcard",
        kinds: TEXT,
    },
    Clue {
        role: Role::Content,
        names: "content, contents, text, body, data",
        words: "content of the file, whole content, to write, 内容",
        others: "",
        kinds: TEXT,
    },
    Clue {
        role: Role::Command,
        names: "command, cmd, command_line, script, shell",
        words: "command, shell, 命令",
        others: "",
        kinds: TEXT,
    },
    Clue {
        role: Role::Sort,
        names: "sort, sort_by, order_by, order, by",
        words: "comes first, sort, order, 排序",
        others: "",
        kinds: TEXT,
    },
    Clue {
        role: Role::Limit,
        names: "limit, max_results, max, max_matches, max_entries, top, n, page_size",
        words: "most, at most, maximum",
        others: "lines",
        kinds: NUMBER,
    },
    Clue {
        role: Role::Offset,
        names: "offset, start_line, first_line, from_line, start, from, line",
        words: "first line, start at, line to start",
        others: "",
        kinds: NUMBER,
    },
    Clue {
        role: Role::Lines,
        names: "limit, lines, max_lines, count, line_count",
        words: "most lines, lines to read, number of lines",
        others: "",
        kinds: NUMBER,
    },
    Clue {
        role: Role::Exact,
        names: "literal, fixed_strings, fixed_string, case_sensitive, plain",
        words: "",
        others: "",
        kinds: "boolean",
    },
];
