//! A workspace with folders and files that were drawn, and what a prompt may be about in it.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs::File,
    path::Path,
    time::{Duration, SystemTime},
};

use callboard_tests::Callboard;

use super::draw::Draw;

/// Kinds of files.
const KINDS: [&str; 6] = ["rs", "py", "md", "txt", "toml", "csv"];

/// A folder of the workspace.
pub(super) struct Folder {
    pub(super) path: String,
    /// Paths of the files in it and below it.
    pub(super) files: Vec<String>,
}

/// A word that was put into some files, and the only line of one of them that holds it.
#[derive(Clone)]
pub(super) struct Planted {
    pub(super) word: &'static str,
    pub(super) folder: String,
    /// A file with the word in one line.
    pub(super) file: String,
}

/// A workspace.
pub(super) struct Scene {
    callboard: Callboard,
    /// Folders without folders in them.
    pub(super) flat: Vec<Folder>,
    /// Folders with folders in them.
    pub(super) deep: Vec<Folder>,
    /// Markdown with headings.
    pub(super) documents: Vec<String>,
    /// Text of a few dozen lines.
    pub(super) texts: Vec<String>,
    /// Files whose names hold spaces or Chinese.
    pub(super) odd: Vec<String>,
    /// Flat folders whose names mean something in a request, too, or are Chinese.
    pub(super) odd_folders: Vec<String>,
    pub(super) planted: Vec<Planted>,
    pub(super) planted_chinese: Vec<Planted>,
}

impl Scene {
    pub(super) fn new(draw: &mut Draw) -> Self {
        let mut scene = Self {
            callboard: Callboard::new(),
            flat: Vec::new(),
            deep: Vec::new(),
            documents: Vec::new(),
            texts: Vec::new(),
            odd: Vec::new(),
            odd_folders: Vec::new(),
            planted: Vec::new(),
            planted_chinese: Vec::new(),
        };
        let (name, title) = (draw.name(), draw.title());
        scene.document(draw, &format!("{name}.md"));
        scene.document(draw, &format!("{title}.md"));
        let text = scene.text(draw, "", "txt");
        scene.texts.push(text);
        for _ in 0..3 {
            scene.folders(draw);
        }
        scene.odd(draw);
        for is_chinese in [false, true] {
            for _ in 0..2 {
                scene.plant(draw, is_chinese);
            }
        }
        scene.age(draw);
        scene
    }

    pub(super) fn callboard(&self) -> &Callboard {
        &self.callboard
    }

    /// Names of all files, without the folders above them.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut folders = vec![self.callboard.workspace().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                names.insert(entry.file_name().into_string().unwrap());
            }
        }
        names
    }

    /// A flat folder and a deep one.
    fn folders(&mut self, draw: &mut Draw) {
        let path = draw.name();
        let mut files = Vec::new();
        for _ in 0..draw.whole(4, 7) {
            let kind = draw.pick(&KINDS);
            files.push(self.text(draw, &path, kind));
        }
        self.flat.push(Folder { path, files });
        let path = draw.name();
        let below =
            [path.clone(), format!("{path}/{}", draw.name()), format!("{path}/{}", draw.name())];
        let mut files = Vec::new();
        for kind in KINDS {
            for _ in 0..draw.whole(2, 4) {
                let folder = draw.pick(&below);
                files.push(self.text(draw, &folder, kind));
            }
        }
        let name = draw.name();
        self.document(draw, &format!("{path}/{name}.md"));
        files.push(self.documents.last().unwrap().clone());
        self.texts.push(draw.pick(&files));
        self.deep.push(Folder { path, files });
    }

    /// Files and folders with names of more kinds.
    fn odd(&mut self, draw: &mut Draw) {
        let (awkward, chinese) = (draw.awkward(), draw.chinese_name());
        for folder in [awkward, chinese.to_owned()] {
            for kind in ["txt", "md", "csv"] {
                self.text(draw, &folder, kind);
            }
            self.odd_folders.push(folder);
        }
        let (title, folder) = (draw.title(), draw.name());
        let spaced = format!("{} {}", draw.word(), draw.name());
        let names = [
            format!("{folder}/{spaced}.txt"),
            format!("{chinese}/{title}.md"),
            format!("{title} {spaced}.md"),
        ];
        for name in names {
            let lines: Vec<String> = (0..draw.whole(4, 30)).map(|_| draw.line()).collect();
            self.callboard.file(&name, lines.join("\n") + "\n");
            self.odd.push(name);
        }
    }

    /// A text file; its last line may be without an end.
    fn text(&mut self, draw: &mut Draw, folder: &str, kind: &str) -> String {
        let lines: Vec<String> = (0..draw.whole(12, 60)).map(|_| draw.line()).collect();
        let end = if draw.coin() { "\n" } else { "" };
        let name = format!("{}.{kind}", draw.name());
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        self.callboard.file(&path, lines.join("\n") + end);
        path
    }

    /// Markdown with headings, and with lines in code that look like some.
    fn document(&mut self, draw: &mut Draw, path: &str) {
        let mut text = format!("# {}\n\n", draw.line());
        for _ in 0..draw.whole(3, 6) {
            let level = "#".repeat(usize::try_from(draw.whole(2, 3)).unwrap());
            let _ = write!(text, "{level} {}\n\n{}\n\n", draw.line(), draw.line());
            if draw.coin() {
                let _ = write!(text, "```sh\n# {} in code\nls\n```\n\n", draw.line());
            }
        }
        self.callboard.file(path, text);
        self.documents.push(path.to_owned());
    }

    /// Puts a word into some files of one deep folder and into one of another.
    fn plant(&mut self, draw: &mut Draw, is_chinese: bool) {
        let known: Vec<&str> =
            self.planted.iter().chain(&self.planted_chinese).map(|planted| planted.word).collect();
        let word = loop {
            let word = draw.rare(is_chinese);
            if !known.contains(&word) {
                break word;
            }
        };
        let mut order: Vec<usize> = (0..self.deep.len()).collect();
        draw.shuffle(&mut order);
        let (here, elsewhere) = (&self.deep[order[0]], &self.deep[order[1]]);
        let mut files = here.files.clone();
        draw.shuffle(&mut files);
        for (nth, file) in files.iter().take(3).chain(&elsewhere.files[..1]).enumerate() {
            let times = if nth == 0 { 1 } else { draw.whole(1, 2) };
            let path = self.callboard.workspace().join(file);
            let mut lines: Vec<String> =
                std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
            for _ in 0..times {
                let at = draw.whole(1, lines.len() as u64 - 1);
                let line = format!("{} {word} {}", draw.line(), draw.word());
                lines.insert(usize::try_from(at).unwrap(), line);
            }
            std::fs::write(path, lines.join("\n") + "\n").unwrap();
        }
        let planted = Planted { word, folder: here.path.clone(), file: files[0].clone() };
        if is_chinese { self.planted_chinese.push(planted) } else { self.planted.push(planted) }
    }

    /// Gives every file an age and a size of its own.
    fn age(&self, draw: &mut Draw) {
        let mut files: Vec<&String> =
            self.flat.iter().chain(&self.deep).flat_map(|folder| &folder.files).collect();
        draw.shuffle(&mut files);
        let mut sizes = BTreeSet::new();
        for (nth, file) in files.iter().enumerate() {
            let path = self.callboard.workspace().join(file);
            while !sizes.insert(size(&path)) {
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(&path, format!("{} {text}", draw.word())).unwrap();
            }
            let age = Duration::from_secs(100 + 4000 * nth as u64 + draw.whole(0, 3000));
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}
