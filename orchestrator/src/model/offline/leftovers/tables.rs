//! Words by which `leftovers.rs` sees that a request asks for more than a goal holds. A star stands for
//! the rest of a word.

/// Turns a wish into its opposite, or takes something out of it.
pub(super) const EXCEPTIONS: &str = "not, don't, dont, doesn't, didn't, isn't, aren't, wasn't, weren't, won't, hasn't, haven't, \
    can't, cannot, never, without, except, excepting, excluding, exclude, excludes, other than, \
    apart from, aside from, instead of, rather than, unless, ignore, ignoring, ignores, disregard*, \
    omit*, skip, skipping, skips, leave out, leaving out, lack, lacks, lacking, neither, nor, avoid, \
    avoiding, all but, non-empty, 除了, 除去, 除外, 之外, 以外, 忽略, 跳过, 排除, 剔除, 非空, 不, 没, 未, 别, 勿";
/// These hold such words and mean nothing of the kind.
pub(super) const NO_EXCEPTIONS: &str = "whether or not, not sure, don't know, do not know, don't worry, why not, if you don't mind, \
    有没有, 是不是, 能不能, 可不可以, 会不会, 要不要, 在不在, 不知道, 不好意思, 不客气, 差不多, 对不起, 未来, 个别, 分别, \
    特别, 级别, 类别, 性别, 识别, 区别, 最久没, 最久未, 最长时间没, 多不多, 不多";
/// Narrow down which files or lines are meant, in a way that no tool is asked for.
pub(super) const LIMITS: &str = "larger than, bigger than, smaller than, longer than, shorter than, older than, newer than, \
    more than, less than, fewer than, greater than, at least, at most, owned by, written by, \
    authored, created by, edited by, today, yesterday, this week, last week, this month, last month, \
    this year, last year, since, hidden, duplicate*, unique, distinct, case-insensitive, \
    case insensitive, whole word, 大于, 小于, 超过, 多于, 少于, 至少, 至多, 以内, 今天, 昨天, 本周, 上周, 这周, 本月, 上个月, \
    今年, 去年, 隐藏, 重复, 大小写, 空行, 空白行, 奇数, 偶数, 注释行, 或者, 或, \
    or, twice, backwards, backward, reversed, in reverse, sort the lines, sort lines, until the, up to the, after the, \
    before the, 倒序, 逆序, browser, editor, 浏览器, 编辑器";
/// Operations by their words, and signs of which an expression has one where it does them.
pub(super) const OPERATIONS: &[(&str, &str)] = &[
    ("multiply, multiplied, multiplying, 乘以, 乘上, 相乘", "*"),
    ("divide, divided, dividing, 除以", "/ % gcd"),
    ("plus, 加上", "+"),
    ("minus, subtract, subtracted, subtracting, 减去, 减掉", "-"),
    ("squared, square root, sqrt, 平方根, 开平方", "^2 ^ sqrt"),
    ("cubed, cube root, 立方根, 开立方", "^3 ^ cbrt"),
    ("factorial", "!"),
    ("remainder, modulo, 余数", "%"),
    ("logarithm, 对数", "log ln"),
    ("sine, 正弦", "sin"),
    ("cosine, 余弦", "cos"),
    ("tangent, 正切", "tan"),
    ("median, 中位数", "median"),
    ("standard deviation, 标准差", "stdev"),
    ("variance, 方差", "var"),
    ("halve, halved", "/"),
    ("doubled, tripled, 翻倍", "*"),
    ("percent, percentage, 百分之", "100 %"),
];
/// The same, where nothing else but a calculation is asked for.
pub(super) const MORE_OPERATIONS: &[(&str, &str)] = &[
    ("times, product, twice, triple, double, 乘, 倍", "* ^"),
    ("quotient, ratio, half, 平分, 一半, 除", "/ % gcd 0.5"),
    ("average, mean, 平均", "/ mean"),
    ("sum, add, added, 加", "+ sum ^"),
    ("square, 平方", "^ sqrt"),
    ("cube, 立方", "^ cbrt"),
    ("log, ln, lg, log10, log2", "log ln"),
    ("sin, cos, tan", "sin cos tan"),
    ("减", "-"),
    ("mod, gcd, lcm", "% gcd lcm"),
];
/// These hold such words and are no operations.
pub(super) const NO_OPERATIONS: &str = "how many times, number of times, square met*, square feet, square k*, cubic, how many percent, 平方米, \
    平方公里, 立方米, 参加, 加班, 加油, 除非, 更加, 增加, 减少, in addition, 阶乘, 乘坐, 乘客, 乘车, 减肥, 倍数, 公倍数, 加拿大, 双倍";
/// Ask for something else than a number, at the beginning of a clause without numbers.
pub(super) const FOREIGN: &str = "who, whose, whom, where, why, when, explain, translate, summari*, describe, write, save, store, \
    read, list, search, run, execute, delete, remove, open, send, email, remind, draw, sing, 谁, 哪里, \
    哪儿, 为什么, 何时, 什么时候, 解释, 翻译, 写, 读, 保存, 列出, 搜索, 运行, 执行, 删除, 打开, 发送, 提醒, 画, 唱";

/// Commands that people type as a wish, and letters of options that change nothing of what is told.
pub(super) const COMMANDS: &[(&str, &str)] =
    &[("ls", "la1hAF"), ("grep", "rRnHsI"), ("wc", "l"), ("cat", ""), ("find", FIND)];
/// `find` takes words, not letters.
pub(super) const FIND: &str = " ";
/// Signs that say more than the numbers around them, where no expression holds them.
pub(super) const SIGNS: &str = "≠ ≤ ≥ ≦ ≧ != == <= >= < ± ∓ ∑ ∏ ∫ ∂ ∞ ∧ ∨ ⊕ ⊗ ∈ ∪ ∩ ∠ ⌊ ⌈ ∛ ∜";
/// Forms of a number that no answer is given in, and means that are not the plain one.
pub(super) const FORMS: &str = "geometric, harmonic, weighted, trimmed, 几何, 调和, 加权, hexadecimal, hex, binary, octal, roman, scientific notation, in words, as a fraction, 十六进制, 二进制, \
    八进制, 罗马数字, 科学计数法, 科学记数法";
/// Behind an order to run something these belong to no command.
pub(super) const NO_COMMAND: &str = "unless, only if, only when, but not, except, provided that";
/// Make an order depend on something.
pub(super) const CONDITIONS: &str =
    "if, only when, as long as, provided, 如果, 假如, 要是, 除非, 只有当";
/// These hold such words and are none.
pub(super) const NO_CONDITIONS: &str = "if possible, if you can, if any, see if, check if, tell me if, know if, find out if, as if, 如果可以, 如果有";
/// Narrow lines down.
pub(super) const LINE_LIMITS: &str = "start with, starts with, starting with, begin with, begins with, beginning with, end with, ends with, \
    ending with, that are, which are, that have, which have, 开头, 结尾";
/// Speak of the text of files, where files are found by their names.
pub(super) const MENTIONS: &str =
    "mention, mentions, mentioning, mentioned, talk about, talks about, 提到, 提及";
/// Nouns before which a word narrows down what is meant.
pub(super) const NOUNS: &str = "lines, files, line, file, headings, sections, folders, documents";
/// Words before such a noun that narrow nothing down, or that are known.
pub(super) const BEFORE_NOUNS: &str = "the, of, all, many, a, an, every, each, any, no, which, what, and, in, other, new, more, these, those, \
    this, that, such, their, its, my, our, your, text, source, code, script, document, section, \
    matching, first, last, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, next, \
    top, bottom, final, penultimate, largest, biggest, smallest, newest, oldest, latest, heaviest, \
    greatest, earliest, tiniest, freshest, youngest, recent, recently, modified, changed, updated, \
    edited, touched, list, show, count, find, read, open, print, display, see, give, tell, me, us, search, for, by, \
    to, from, with, into, number, how, have, has, are, is, does, do, total, single, whole, entire, \
    existing, individual, containing, named, called, project, workspace, regular, plain, out, up, \
    get, name, enumerate, same, one, two, three, four, five, six, seven, eight, nine, ten, them, it, at, on, \
    holds, contain, contains, mention, mentions, wc, middle, there, between, as, also, section, chapter, \
    markdown, table, main, here, md, than, was, be, were, combined, so, only, just, contained";
/// Behind "sorted by".
pub(super) const SORT_KEYS: &str = "size, file, filesize, modification, modified, time, date, age, name, bytes, last, the, most, newest, \
    oldest, largest, smallest, how, when, their, its, descending, ascending";
