//! The words by which people show what they want, in English and Chinese. A star stands for the
//! rest of a word.

/// A number is wanted.
pub(super) const COUNT: &str = "how many, number of, count, count of, total number, amount of, 多少, 几个, 数量, 个数, \
    总数, 统计, 数目, 数一下, 数一数";
pub(super) const FILES: &str = "file, files, document, documents, 文件, 文档";
pub(super) const FOLDERS: &str =
    "folders, directories, subfolders, subdirectories, 子目录, 子文件夹, 个文件夹, 个目录";
pub(super) const LINES: &str = "wc -l, lines, line count, line counts, line number, linecount, how long is, loc, 多少行, 行数, 几行";
pub(super) const CHARACTERS: &str = "how many characters, number of characters, character count, 多少个字符, 多少字符, 字符数, \
    多少个字, 多少字";
pub(super) const HEADINGS: &str = "heading, headings, section titles, section names, titles of the sections, sections, \
    table of contents, toc, outline, chapters, chapter titles, headers, 标题, 章节, 大纲, \
    小节, 提纲, 目录结构";
/// The same, where they are said of a file.
pub(super) const PARTS: &str =
    "structure, topics, table of content, 结构, 几章, 哪些章, 哪几部分, 哪些部分, 的目录";
pub(super) const BYTES: &str = "how big, how large, size of, file size, the size, how many bytes, bytes, its size, \
    byte size, 多大, 大小, 多少字节, 字节数";
pub(super) const ALL_BYTES: &str = "total size, combined size, size in total, altogether, in total, sum of the sizes, 总大小, \
    合计大小, 一共多大, 总共多大, 一共有多大, 总共有多大, 加起来多大";
pub(super) const CHANGED: &str = "what time was, when were, when was, when did, last modified, last changed, last updated, last edited, \
    modification time, modified time, modification date, mtime, time of the last change, \
    什么时候修改, 什么时候改, 什么时候更新, 修改时间, 最后修改, 何时修改, 上次修改, 更新时间";
pub(super) const NEWEST: &str = "changed last, modified last, edited last, updated last, 最后改动, 最后更新, newest, latest, most recent, most recently, last modified, last changed, last updated, \
    recently modified, freshest, youngest, 最新, 最近修改, 最近更新, 最近改, 最近编辑, 最近一次, 最近的, \
    最近动过, 刚刚修改, 刚修改, 第二新, 第三新, 最后修改, 最后改, 最后编辑, 最后一次修改, 最晚";
pub(super) const OLDEST: &str = "for the longest time, longest time, longest ago, untouched the longest, 最久没, 最久未, 最长时间没, oldest, earliest, least recent, least recently, 最旧, 从旧到新, 最老, 最早, 最久, 第二旧, 第三旧, 第二老, 第三老, 第二早, 第三早";
pub(super) const LARGEST: &str = "the most space, most disk space, 占用空间最多, 占用空间最大, 占空间最多, 占空间最大, 占地最大, largest, biggest, heaviest, greatest, 第二大, 第三大, 第2大, 第3大, most bytes, takes the most space, 最大, 最占空间, \
    体积最大";
pub(super) const SMALLEST: &str = "the least space, 占用空间最少, 占用空间最小, smallest, tiniest, fewest bytes, least bytes, 最小, 从小到大, 由小到大, 体积最小, 第二小, 第三小, 第2小, 第3小";

/// What is done to files that are looked for by their last change, beside "last".
pub(super) const CHANGES: &str = "change, changed, modify, modified, edit, edited, update, updated, touch, touched, saved, written";
/// All files are meant, in an order.
pub(super) const SORTED: &str = "sorted, sort, ordered by, order by, newest first, latest first, oldest first, largest first, \
    biggest first, smallest first, 排序, 排列, 按大小, 按时间, 按修改时间, 按日期, 从大到小, 从小到大, \
    从新到旧, 从旧到新, 由大到小, 由小到大";
/// An order from one end to the other: its beginning counts.
pub(super) const NEWEST_DOWN: &str = "ls -t, ls -lt, newest to oldest, latest to the oldest, newest to the oldest, latest to oldest, newest to earliest, latest to earliest, most recent to oldest";
pub(super) const OLDEST_UP: &str = "oldest to newest, earliest to latest, oldest to latest, earliest to newest, oldest to most recent";
pub(super) const LARGEST_DOWN: &str =
    "largest to smallest, biggest to smallest, large to small, big to small";
pub(super) const SMALLEST_UP: &str =
    "smallest to largest, smallest to biggest, small to large, small to big";
pub(super) const BY_SIZE: &str = "by size, by file size, 按大小, 按文件大小, 从大到小, 由大到小";
pub(super) const BY_TIME: &str =
    "by date, by time, by modification, by age, 按时间, 按修改时间, 按日期, 从新到旧";
/// A time is asked for.
pub(super) const WHEN: &str = "when, what time, which time, what date";

/// A file is to be shown, whatever else is said.
pub(super) const READ: &str = "what's written, what is written, written in, 说了些什么, 说些什么, 讲了什么, 讲了些什么, 讲什么, 写了些什么, 写些什么, read, open, cat, print, type out, contents, content, what does, what do, says, text of, 读取, 打开, \
    读一下, 读出, 读读, 朗读, 念给我, 念一下, 读, 内容, 全文, 原文, 写了什么, 写着什么, 说了什么";
/// A file is to be shown if one is named.
pub(super) const SHOW: &str = "show, display, view, see, look at, output, dump, what is in, what's in, what's inside, \
    inside, give me, 查看, 显示, 看看, 看一下, 看, 展示, 输出, 有什么, 有啥, 有哪些内容, 里面有, \
    里有";
pub(super) const LIST: &str = "what is inside, listing, contain, contains, everything in, 有些什么, 些什么文件, 有什么文件, 文件列表, list, ls, dir, show, what is in, what's in, what's inside, what files, which files, \
    what are the files, contents, content, enumerate, what do, what does, 列出, 列一下, 列举, \
    显示, 查看, 看看, 有哪些文件, 有什么文件, 有什么, 有哪些, 清单, 列表, 都有什么, 有啥";
pub(super) const FIND: &str = "find, locate, where is, where's, where are, where can, where do, which folder, which directory, \
    what folder, what directory, is there, are there, exist, exists, look for, search for, do we have, \
    have we got, do i have, path of, path to, 查找, 找, 寻找, 定位, 在哪, 放在, 有没有, 是否有, 存在, \
    文件吗, 的路径, 的位置";
pub(super) const NAMED: &str = "named, called, with the name, by the name of, name is, 名为, 叫做, 叫, 名字是, 名字叫, \
    名称为, 名称是, 文件名为, 文件名是";
pub(super) const NAME_HOLDS: &str = "whose name contains, whose names contain, with names containing, name contains, \
    names contain, in its name, in their name, in their names, in the name, starting with, \
    beginning with, start with, starts with, begin with, begins with, whose name starts with, \
    whose names start with";
/// The same in Chinese, as a pattern.
pub(super) const HAN_NAME_HOLDS: &str =
    "(名字|名称|文件名|名) [里面|里|中] [都] [是] (含有|包含有|包含|含|带有|带|有)";

/// Words stand in files.
pub(super) const MENTION: &str = "use the term, use the word, uses the term, use, uses, talk about, speak of, include, includes, 出现过, 含有, 带, mention, mentions, mentioning, mentioned, contain, contains, containing, \
    reference, references, referencing, refer to, refers to, talk about, \
    talks about, use the word, uses the word, have the word, has the word, with the word, \
    with the text, with the string, with the phrase, 提到了, 提到过, 提到, 提及了, 提及, \
    包含了, 包含, 含有, 用到了, 用到, 引用了, 引用, 写到了, 写到, 涉及, 带有, 出现了, 出现过";
pub(super) const SEARCH: &str = "say about, says about, said about, say on, 关于, is the word, is the text, is the phrase, is the string, is the term, find the line that contains, find the line containing, find the lines containing, \
    find the line with, find lines that contain, find the lines that contain, who uses, who calls, what uses, what calls, 有多少处, 有几处, 多少处, 几处, where it says, does it say, search the files for, search files for, search for, search, grep for, grep, \
    look for the word, look for the text, look for, find the text, find the word, \
    find the string, find the phrase, find all occurrences of, find every occurrence of, \
    find occurrences of, find all mentions of, find mentions of, find uses of, \
    find usages of, find all uses of, occurrences of, mentions of, usages of, \
    find lines with, find lines containing, all lines with, all lines containing, 全文搜索, \
    全文检索, 搜索一下, 搜索, 搜一下, 搜, 检索, 查找文字, 查找文本, 查找关键词, 查找关键字, \
    查找字符串, 查找单词, 查找内容, 查一下, 查找";
/// Before the words that are asked for.
pub(super) const WHERE: &str = "where is, where are, where's, where does, where do, in which files is, \
    in which files does, in which file is, in which file does, in what files does, \
    which files is, how many times is, how many times does, how many times do, how often is, \
    how often does, number of times";
/// Behind the words that are asked for.
pub(super) const STANDS: &str = "mentioned, used, defined, declared, referenced, found, called, appear, appears, occur, \
    occurs, come up, show up, stand, written, implemented, 出现在, 出现, 在哪里, 在哪儿, \
    在哪些, 在哪个, 被提到, 被用到, 用在";
pub(super) const TIMES: &str = "出现了几次, 出现几次, how many times, how often, number of times, number of occurrences, count occurrences, \
    count the occurrences, how many occurrences, how many matches, how many lines mention, \
    how many lines contain, how many hits, 多少次, 几次, 出现次数, 多少处, 次数, 多少行包含, 多少行提到";

pub(super) const WRITE: &str = "i'd like a file, i'd like a new file, i would like a file, i would like a new file, i want a file, \
    i want a new file, i need a file, should contain, should say, should read, should hold, write down, add a file, add a new file, 添加文件, write, save, store, create, make, put, record, jot down, note down, new file, replace the contents, replace the content, overwrite, 写入, 写到, 写进, 写一个, 写, \
    保存, 存为, 存到, 存入, 另存为, 创建, 新建, 建立, 生成, 记录, 覆盖";
/// Between a content and the path that it goes to.
pub(super) const INTO: &str = "to a file named, to a file called, to the file, to file, into the file, \
    into a file called, in a file called, in a file named, in the file, as the file, as file, \
    to, into, in, as, 写入到, 写入, 写到, 写进, 保存到, 保存为, 保存在, 存为, 存到, 存入, \
    另存为, 放进, 放到, 记录到";
/// Before a content.
pub(super) const CONTAINING: &str = "should contain the text, should contain the words, should contain the word, should contain the line, \
    should contain, should say, should read, should hold, with the following content, with the following text, with the contents, with the content, \
    with contents, with content, with the text, with text, with the line, with the words, \
    that contains the text, that contains, that says, that reads, containing the text, \
    containing the words, containing, saying, which says, whose content is, 内容为, 内容是, \
    内容：, 内容, 写着, 里面写上, 里面写, 写上, 文字为, 文字是";
/// What was found before.
pub(super) const RESULT: &str = "the following, following, 以下内容, the result, that result, result, the results, the answer, answer, the output, output, it, \
    that, this, them, the list, the number, the value, the sum, the total, 结果, 答案, 它, \
    输出, 列表, 该结果, 这个结果, 上面的结果, 数字, 得数, 其";
pub(super) const RUN: &str = "run, execute, 运行, 执行, 跑一下, 跑下, 跑个, 跑";
/// Words that may stand before "run" without changing what is meant.
pub(super) const BEFORE_RUN: &str = "please, can, could, would, will, you, use, using, with, the, a, shell, terminal, console, \
    bash, to, in, on, me, for, now, just, go, ahead, and, then, i, want, need, let's, let, \
    us, try";
/// Words between "run" and the command.
pub(super) const AFTER_RUN: &str = "the following shell command, the following command, the shell command, \
    this shell command, a shell command, the command line, the command, this command, \
    command, the program, the script, 一下命令, 以下命令, 下面的命令, 这条命令, 这个命令, \
    命令行, shell 命令, shell命令, 命令, 一下";
/// Words that begin no command.
pub(super) const NO_COMMANDS: &str = "nothing, everything, something, anything, both, the, a, an, this, that, it, them, some, my, all, for, through, out, over";

pub(super) const INTRODUCE: &str = "who are you, what are you, what can you do, what do you do, help, your name, \
    how do you work, are you an ai, which model are you, \
    你是谁, 你是什么, 你能做什么, 你会做什么, 你可以做什么, 你会什么, 帮助, 你叫什么, 你有什么功能, 你有哪些功能, 你是哪个模型";
/// What takes a language model.
pub(super) const BEYOND: &str = "summari*, summary, translate, translation, explain, poem, essay, joke, why, opinion, \
    rewrite, refactor, fix, improve, debug, weather, compare, recommend, describe, analy*, \
    imagine, delete, remove, rename, move, append, download, 总结, 概括, 摘要, 翻译, 解释, \
    诗, 故事, 笑话, 为什么, 改写, 重构, 修复, 改进, 评价, 天气, 新闻, 推荐, 描述, 分析, 对比, \
    比较, 删除, 重命名, 移动, 追加, 下载, 怎么看";
/// Points at something that was found before.
pub(super) const POINTERS: &str = "it, that, this, its, them, those, the result, that number, this number, the file, \
    that file, 结果, 它, 其, 该, 这个数, 那个数, 这个数字, 那个数字, 得数, 上述";
/// As a clause of its own, only asks to be told what was asked for.
pub(super) const ECHOES: &str = "go ahead, tell me, let me know, which ones, which one, which ones are they, which files, what are they, show it to me, show me, 给我看看, 给我看, 告诉我, \
    是哪些, 分别是哪些, 有哪些, 是哪个, 哪些";
/// The same, with a few words around it.
pub(super) const FILLERS: &str = "show me what is in it, show me what it says, tell me the output, tell me the result, tell me the answer, show me the output, \
    show me the result, show the output, show the result, give me the result, \
    give me the answer, give me the output, report the result, report the output, tell me, \
    thanks, thank you, report back, let me know, print the result, print the output, \
    告诉我结果, 告诉我答案, 告诉我输出, 给我结果, 给我看结果, 把结果告诉我, 把输出告诉我, \
    显示结果, 显示输出, 输出结果, 谢谢, 告诉我";
/// Beginnings of what is said beside a request.
pub(super) const REMARKS: &str = "hello, hi, hey, good morning, good evening, good afternoon, i am, i'm, we are, we're, i have, \
    we have, thanks, thank you, please, quick question, one more thing, sorry, excuse me, 你好, 您好, 早上好, 下午好, 嗨, \
    in the terminal, in the shell, in a shell, in a terminal, on the command line, 请问, 谢谢, 我在, 我正在, 我们在, 我们正在, 我有, 打扰一下, 麻烦你, 麻烦了";
/// Numbers of several things are wanted as one.
pub(super) const TOGETHER: &str = "add, add up, 相加, in total, total, together, altogether, combined, sum, sum of, in all, 之和, 总和, 一共, \
    总共, 加起来, 合计, 总计";
/// Contents that have to be found out before they are written.
pub(super) const FINDINGS: &str = "headings, number of, line count, count of, names of, list of, total, output of, 标题, 行数, \
    数量, 个数, 列表, 章节";
/// The same where a file is named with them.
pub(super) const PARTS_OF_FILES: &str = "lines of, lines from, lines in, line of, line from, line in, contents of, content of, text of, 行, 内容";
pub(super) const AVERAGE_SIZE: &str =
    "average size, average file size, mean size, average number of bytes, 平均大小";
/// The number of a line is wanted.
pub(super) const LINE_OF: &str = "which line, what line, which lines, what lines, line number, line numbers, 第几行, 哪一行, \
    哪几行, 行号, 在哪行";
/// All folders below count.
pub(super) const BELOW: &str = "subfolders, subfolder, subdirectories, subdirectory, recursively, recursive, anywhere, including, \
    nested, all levels, every level, any level, any depth, all depths, whole, entire, everywhere, somewhere, tree, 整个, 子目录, \
    子文件夹, 递归, 包括, 及其, 任意层, 各级, 所有层";
/// A list is wanted of all below a folder.
pub(super) const AT_ANY_DEPTH: &str = "under, below, beneath, throughout, its subfolders, all subfolders, and subfolders, \
    including subfolders, its subdirectories, all subdirectories, and subdirectories, including subdirectories, recursively, \
    recursive, nested, all levels, any depth, 及其子目录, 及其子文件夹, 包括子目录, 包括子文件夹, 递归, 各级";
/// Only what lies in the folder itself counts.
pub(super) const DIRECTLY: &str = "directly, immediately, top level, top-level, first level, itself, 直接, 顶层, 最上层, 第一层, 本层, 本身";
/// A file is to be shown that has to be found first.
pub(super) const WHATS_IN: &str = "what is in, what's in, what does, what is inside, what's inside, contents of, content of, \
    print, display, 内容, 写了什么, 给我看, 显示内容";
pub(super) const GREETINGS: &str =
    "hello, hi, hey, good morning, good evening, 你好, 您好, 早上好, 嗨";
