//! Names that somebody may have meant. Only names inside the workspace that are not sensitive are
//! ever offered.

use std::ops::ControlFlow;

use tokio_util::sync::CancellationToken;

use crate::{
    beneath::Root,
    meta::Kind,
    relative::{RelativePath, Step, steps},
    sensitive::is_sensitive,
    walk::{Ignoring, Walk},
};

/// Names looked at before giving up, on each thread.
const MOST_TRIED: u32 = 20_000;
/// Names offered.
const MOST_OFFERED: usize = 3;
/// What is as much further away than the best one is not offered beside it.
const MUCH_WORSE: u32 = 200;
/// How much of a name must be the same, 0 to 1.
const SIMILAR: f64 = 0.7;

/// The files, folders or ([`Kind::Unknown`]) both whose names come closest to a path that does not
/// exist, best first.
pub(crate) fn nearest(
    root: &Root,
    written: &str,
    kind: Kind,
    stop: &CancellationToken,
) -> Vec<RelativePath> {
    let wanted = Wanted::new(written);
    if wanted.name.is_empty() {
        return Vec::new();
    }
    let walk = Walk { root, start: RelativePath::root(), ignoring: Ignoring::Rules, stop };
    let walked = walk.run(
        || (0, Vec::new()),
        |(tried, found): &mut (u32, Vec<(u32, RelativePath)>), entry| {
            *tried += 1;
            let is_wanted = if kind == Kind::Unknown {
                matches!(entry.kind, Kind::File | Kind::Folder)
            } else {
                entry.kind == kind
            };
            if is_wanted && !is_sensitive(entry.name()) {
                let path = entry.path();
                if let Some(distance) = wanted.distance(&path, entry.name()) {
                    found.push((distance, path));
                }
            }
            if *tried < MOST_TRIED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    let Ok((parts, _)) = walked else { return Vec::new() };
    let mut found: Vec<_> = parts.into_iter().flat_map(|(_, found)| found).collect();
    found.sort_unstable();
    let best = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance < best + MUCH_WORSE);
    found.truncate(MOST_OFFERED);
    found.into_iter().map(|(_, path)| path).collect()
}

/// The path that does not exist, in lower case.
struct Wanted {
    path: String,
    name: String,
}

impl Wanted {
    fn new(written: &str) -> Self {
        let names: Vec<_> = steps(written.to_lowercase().as_bytes())
            .into_iter()
            .filter_map(|step| match step {
                Step::Name(name) => String::from_utf8(name).ok(),
                Step::Up => None,
            })
            .collect();
        Self { path: names.join("/"), name: names.last().cloned().unwrap_or_default() }
    }

    /// How far a candidate is away, in thousandths; `None` if it is something else.
    fn distance(&self, path: &RelativePath, name: &[u8]) -> Option<u32> {
        let name = String::from_utf8_lossy(name).to_lowercase();
        let path = String::from_utf8_lossy(path.as_bytes()).to_lowercase();
        if path == self.path {
            return Some(0);
        }
        if name == self.name {
            return Some(100);
        }
        let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        let elsewhere = if parent(&path) == parent(&self.path) { 0 } else { 150 };
        if stem(&name) == stem(&self.name) {
            return Some(150 + elsewhere);
        }
        let similarity = strsim::normalized_damerau_levenshtein(&name, &self.name);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 300")]
        let far = ((1.0 - similarity) * 1000.0) as u32;
        (similarity >= SIMILAR).then_some(200 + far + elsewhere)
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[&str], written: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let root = Root::open(folder.path()).unwrap();
        let found = nearest(&root, written, Kind::File, &CancellationToken::new());
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{written}");
    }

    #[test]
    fn near_names_are_offered_best_first() {
        let files = ["A.md", "notes/a.md", "README.md", "docs/guide.txt", "src/main.rs", ".env"];
        check(&files, "a.md", &["A.md", "notes/a.md"]);
        check(&files, "readme", &["README.md"]);
        check(&files, "docs/guide.md", &["docs/guide.txt"]);
        check(&files, "src/mian.rs", &["src/main.rs"]);
        check(&files, "~/notes/a.md", &["A.md", "notes/a.md"]);
        check(&files, "envv", &[]);
        check(&files, ".envv", &[]);
        check(&files, "nothing-like-it.xyz", &[]);
        check(&files, "..", &[]);
    }
}
