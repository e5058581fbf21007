//! The one list of sensitive files: which names are, by pure rules, and which other files are the
//! same ones under another name. Every service that touches a workspace asks here; the walk that
//! finds them is `walk.rs`, which is next.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use memchr::memmem;
use tokio_util::sync::CancellationToken;

use crate::{
    beneath::{Root, WallError},
    meta::{Identity, Kind},
    relative::RelativePath,
    walk::{Ignoring, Walk},
};

/// A whole part of a name that says what the file holds.
const WORDS: [&[u8]; 9] = [
    b"secret",
    b"secrets",
    b"credential",
    b"credentials",
    b"password",
    b"passwords",
    b"passwd",
    b"token",
    b"tokens",
];
/// Environment files that hold no secret by convention.
const TEMPLATES: [&[u8]; 2] = [b".env.example", b".env.sample"];
/// What every one of [`WORDS`] starts with: names without any are not taken apart.
const STEMS: [&[u8]; 4] = [b"secret", b"credential", b"passw", b"token"];
/// Endings of source code: `token.rs` is about tokens, it holds none.
const SOURCE: &str = "adb ads asm astro bash c cc clj cljs cpp cs css cxx d dart el erl ex exs f90 \
    fish fs go h hh hpp hrl hs html java jl js jsx kt kts less lisp lua m mjs ml mli mm nim pas php \
    pl pm proto py pyi r rb rs sass scala scss sh svelte swift ts tsx v vue zig zsh";

/// Whether a file of this name is sensitive: the name starts with `.env` (but is not
/// `.env.example` or `.env.sample`), or is key material (`*.pem`, `*.key`, `id_*`), or a whole part
/// of it, split at everything that is no letter or digit and where the case changes, is secret,
/// credential, password, passwd or token, also in the plural. Source files are only sensitive if
/// they start with `.env`. Folders are never sensitive by their name.
///
/// ```
/// use callboard_files::sensitive::is_sensitive;
/// assert!(is_sensitive(b".env.local") && is_sensitive(b"clientSecret.json"));
/// assert!(!is_sensitive(b"token.rs") && !is_sensitive(b"tokenizer.json"));
/// ```
pub fn is_sensitive(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with(b".env") {
        return !TEMPLATES.contains(&&lower[..]);
    }
    let dot = lower.iter().rposition(|byte| *byte == b'.');
    let ending = dot.map_or(&b""[..], |dot| &lower[dot + 1..]);
    if matches!(ending, b"pem" | b"key") {
        return true;
    }
    let is_key = lower.starts_with(b"id_");
    if !is_key && !STEMS.iter().any(|stem| memmem::find(&lower, stem).is_some()) {
        return false;
    }
    let is_source = SOURCE.split_ascii_whitespace().any(|source| source.as_bytes() == ending);
    !is_source && (is_key || parts(name).any(|part| WORDS.contains(&&part[..])))
}

/// The parts of a name in lower case: `dbPassword_old.txt` is db, password, old, txt, and
/// `APIToken` is api, token.
fn parts(name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    name.split(move |byte| !is_part(*byte)).flat_map(|run| {
        let mut parts = Vec::new();
        let mut start = 0;
        for at in 1..run.len() {
            let humps = !run[at - 1].is_ascii_uppercase() && run[at].is_ascii_uppercase();
            // The last capital of several starts the next word: API|Token.
            let capitals = run[at - 1].is_ascii_uppercase()
                && run[at].is_ascii_uppercase()
                && run.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            if humps || capitals {
                parts.push(run[start..at].to_ascii_lowercase());
                start = at;
            }
        }
        parts.push(run[start..].to_ascii_lowercase());
        parts
    })
}

/// Which files of a workspace are sensitive, whatever they are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sensitive {
    /// Every path that leads to one, sorted: by its own name, as a hard link, or as the target of
    /// a link with such a name.
    pub paths: Vec<RelativePath>,
    /// The files themselves.
    pub identities: HashSet<Identity>,
    /// A folder or file that could not be looked at, if there is one: then others may be sensitive
    /// as well, and nothing may be taken for harmless because it is not among these.
    pub unseen: Option<RelativePath>,
}

/// Walks a whole workspace, `.git` and what is ignored not left out, for its sensitive files.
///
/// # Errors
/// The workspace cannot be walked, or the walk was stopped. What this process may not read is told
/// in [`Sensitive::unseen`].
pub fn find(root: &Root, stop: &CancellationToken) -> Result<Sensitive, WallError> {
    let walk = Walk { root, start: RelativePath::root(), ignoring: Ignoring::Nothing, stop };
    let (parts, unseen) = walk.run(Finds::default, |finds: &mut Finds, entry| {
        let named = is_sensitive(entry.name());
        if named && entry.kind == Kind::Link {
            finds.links.push(entry.path());
        } else if entry.kind == Kind::File {
            let meta = match entry.meta() {
                Ok(meta) => meta,
                Err(WallError::NotFound { .. }) => return ControlFlow::Continue(()),
                Err(_) => {
                    finds.unseen.get_or_insert_with(|| entry.path());
                    return ControlFlow::Continue(());
                }
            };
            if named {
                finds.named.push((entry.path(), meta.identity));
            } else if meta.links > 1 {
                finds.linked.entry(meta.identity).or_default().push(entry.path());
            }
        }
        ControlFlow::Continue(())
    })?;
    let mut found = Finds::sum(parts, root);
    found.unseen = unseen.closed.or(found.unseen);
    Ok(found)
}

/// What one thread of the walk came across.
#[derive(Debug, Default)]
struct Finds {
    named: Vec<(RelativePath, Identity)>,
    links: Vec<RelativePath>,
    linked: HashMap<Identity, Vec<RelativePath>>,
    unseen: Option<RelativePath>,
}

impl Finds {
    fn sum(parts: Vec<Self>, root: &Root) -> Sensitive {
        let mut found = Sensitive::default();
        let mut linked: HashMap<Identity, Vec<RelativePath>> = HashMap::new();
        for part in parts {
            found.unseen = found.unseen.or(part.unseen);
            for (path, identity) in part.named {
                found.paths.push(path);
                found.identities.insert(identity);
            }
            for link in part.links {
                // A link that leads nowhere or out has nothing to hide here.
                let Ok(resolved) = root.resolve(link.as_bytes()) else { continue };
                let Ok(node) = root.node(&resolved.path) else { continue };
                if node.meta.kind == Kind::File {
                    found.paths.push(resolved.path);
                    found.identities.insert(node.meta.identity);
                }
            }
            for (identity, mut paths) in part.linked {
                linked.entry(identity).or_default().append(&mut paths);
            }
        }
        for identity in &found.identities {
            found.paths.extend(linked.remove(identity).into_iter().flatten());
        }
        found.paths.sort_unstable();
        found.paths.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
