//! `search_text`: lines in the files of a workspace. Where it may look is decided by the walls of
//! the files service; what matches, in `pattern.rs`, which is next.

use std::{num::NonZero, ops::ControlFlow};

use callboard_files::{
    answer::json,
    beneath::WallError,
    glob::Pattern,
    meta::Kind,
    relative::RelativePath,
    walk::{Ignoring, Unseen, Walk},
    workspace::{Met, Walls, within},
};
use callboard_tool::{About, Call, Effect, Example, Failure, Output, Tool, Verdict};
use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    hits::Hits,
    pattern::compile,
    report::{Answer, Question, report},
    scan::Scanner,
};

/// Matches of an answer if nobody asks for a number of them.
const DEFAULT_LIMIT: u32 = 100;
/// Most matches of an answer.
const MAX_LIMIT: u32 = 1000;
/// Most lines before and after a match.
const MAX_CONTEXT: u32 = 10;

/// Searches files for text.
#[derive(Debug)]
pub(crate) struct SearchText;

/// What to search for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The text to search for, within one line; upper and lower case count.
    pattern: String,
    /// Folder or file to search, relative to the workspace. Default: the whole workspace.
    path: Option<String>,
    /// Whether `pattern` is a regular expression (Rust's syntax). Default: false, plain text.
    #[serde(default)]
    regex: bool,
    /// Lines to show before and after each match, at most 10. Default: 0.
    #[serde(default)]
    context: u32,
    /// Only search files whose name or path matches this glob, such as `*.rs` or `src/**/*.md`.
    glob: Option<String>,
    /// Whether upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// Most matches to show, at most 1,000. Default: 100. All are counted anyway.
    limit: Option<NonZero<u32>>,
}

impl Tool for SearchText {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "search_text",
            "Searches inside the files of the workspace, or of one folder, for a word, a text or a \
             regular expression, and shows the lines that match with file and line number. The \
             first line of the answer says how many matches there are in how many files. What \
             .gitignore and .ignore name is left out; nothing found is an answer, too.",
            "Finding files by their name (find_files), reading a whole file (read_file), searching \
             the web.",
            Example::new(
                "Which files under orchestrator mention 'fencing'?",
                r#"{"pattern":"fencing","path":"orchestrator"}"#,
            ),
        )
        .words(
            "search, grep, look for text in files; which files mention, contain, use a word; where \
             does a word occur, occurrences, usages; in which file is a function, an error message; \
             find lines with a text. 搜索, 查找文字, 包含, 提到, 出现在哪些文件, 哪些文件里有, \
             全文搜索, 检索内容",
        )
        .example(Example::new(
            "Where is the function parse_args defined?",
            r#"{"pattern":"fn parse_args","glob":"*.rs"}"#,
        ))
        .example(Example::new("哪些文件提到了“超时”？", r#"{"pattern":"超时"}"#))
        .example(Example::new(
            "Show all TODO and FIXME lines in src with two lines around them",
            r#"{"pattern":"TODO|FIXME","path":"src","regex":true,"context":2}"#,
        ))
        .effects(&[Effect::Read])
        .read_only()
        .asks()
        .output::<Answer>()
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        let Some(path) = args.path.clone() else { return Verdict::Allow };
        Walls::verdict(within(call, move |walls| walls.find(&path).map(drop)).await)
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        within(call, move |walls| {
            let matcher = compile(&args.pattern, args.regex, args.ignore_case)?;
            let written = args.path.as_deref().unwrap_or(".");
            let (path, meta) = walls.find(written)?;
            let question = Question {
                pattern: &args.pattern,
                is_regex: args.regex,
                glob: args.glob.as_deref(),
                path,
                is_folder: meta.kind == Kind::Folder,
                limit: u64::from(args.limit.map_or(DEFAULT_LIMIT, NonZero::get).min(MAX_LIMIT)),
            };
            let search = Search { walls, args: &args, matcher: &matcher, question: &question };
            let (hits, unseen) =
                if question.is_folder { search.folder(written)? } else { search.file(written)? };
            let (text, answer) = report(&question, &hits, unseen.folders);
            Ok(Output::text(text).structured(json(&answer)?))
        })
        .await
    }
}

/// One search.
struct Search<'a> {
    walls: &'a Walls,
    args: &'a Args,
    matcher: &'a RegexMatcher,
    question: &'a Question<'a>,
}

impl Search<'_> {
    fn scanner(&self) -> Scanner<'_> {
        let context = self.args.context.min(MAX_CONTEXT) as usize;
        let is_wide = !self.args.pattern.is_ascii();
        Scanner::new(self.matcher, is_wide, context, self.question.limit, self.walls.stop())
    }

    fn file(&self, written: &str) -> Result<(Hits, Unseen), Failure> {
        let file = self.walls.read(written)?;
        let mut hits = Hits::new(self.question.limit);
        hits.tally.searched = 1;
        let scanned = self.scanner().scan(file.open.file).map_err(|error| {
            Failure::unavailable(format!("`{}` cannot be searched: {error}.", file.path))
        })?;
        hits.tally.binary = u64::from(scanned.is_binary);
        hits.add(file.path, scanned.hits);
        Ok((hits, Unseen::default()))
    }

    fn folder(&self, written: &str) -> Result<(Hits, Unseen), Failure> {
        let glob = self.args.glob.as_deref().map(Pattern::new).transpose();
        let glob = glob
            .map_err(|wrong| Failure::invalid_arguments(wrong.clone()).violation("/glob", wrong))?;
        let start = self.question.path.clone();
        let above = if start.is_root() { 0 } else { start.as_bytes().len() + 1 };
        let (root, stop) = (self.walls.root(), self.walls.stop());
        let walk = Walk { root, start, ignoring: Ignoring::Rules, stop };
        let new = || Hits::new(self.question.limit);
        let walked = walk.run(
            || Part { hits: new(), scanner: self.scanner(), failed: None },
            |part, entry| {
                let matches =
                    |glob: &Pattern| glob.matches(&entry.path().as_bytes()[above..], entry.name());
                if entry.kind != Kind::File || !glob.as_ref().is_none_or(matches) {
                    return ControlFlow::Continue(());
                }
                let met = self.walls.open_entry(entry);
                match met.and_then(|met| part.take(met, || entry.path(), self.walls)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        part.failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            },
        );
        let refuse = |error: WallError| self.walls.refuse(written, Kind::Folder, &error);
        let (parts, unseen) = walked.map_err(refuse)?;
        let mut all = new();
        for part in parts {
            if let Some(error) = part.failed {
                return Err(refuse(error));
            }
            all.merge(part.hits);
        }
        Ok((all, unseen))
    }
}

/// What one thread of the walk works with.
struct Part<'a> {
    hits: Hits,
    scanner: Scanner<'a>,
    failed: Option<WallError>,
}

impl Part<'_> {
    /// Searches a file that the walk came across.
    fn take(
        &mut self,
        met: Met,
        path: impl FnOnce() -> RelativePath,
        walls: &Walls,
    ) -> Result<(), WallError> {
        let tally = &mut self.hits.tally;
        match met {
            Met::Gone => {}
            Met::Hidden => tally.hidden += 1,
            Met::Closed => tally.failed += 1,
            Met::File(open) => {
                tally.searched += 1;
                match self.scanner.scan(open.file) {
                    Ok(scanned) => {
                        tally.binary += u64::from(scanned.is_binary);
                        if scanned.hits.matches == 0 {
                            return Ok(());
                        }
                        // Where a sensitive name leads here, it is as if nothing had been found:
                        // even a count would tell what the file holds, question by question.
                        let path = path();
                        if !walls.is_pointed_at(&path, open.meta)? {
                            self.hits.add(path, scanned.hits);
                        }
                    }
                    Err(_) => tally.failed += 1,
                }
            }
        }
        Ok(())
    }
}
