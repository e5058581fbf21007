//! Follows links one by one, as the kernel would, but below the root only and remembering every
//! name on the way: a file is as sensitive as any name that leads to it. The result holds no link,
//! so that opening it, which follows none, opens just what was judged.

use super::{Root, WallError, steps_below, target};
use crate::{
    meta::Kind,
    relative::{RelativePath, Step},
};

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;
/// How often a path is resolved anew because a name turned into a link in between.
const MAX_TURNS: u32 = 32;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without any link.
    pub path: RelativePath,
    /// The links that were followed, in order.
    pub through: Vec<RelativePath>,
}

impl Root {
    /// Resolves a path as written, following links that stay inside. It was there a moment ago.
    ///
    /// # Errors
    /// It leads out, is not there, or cannot be followed.
    pub fn resolve(&self, written: &[u8]) -> Result<Resolved, WallError> {
        check(written)?;
        for _ in 0..MAX_TURNS {
            match self.follow(written) {
                // A plain name became a link after it was looked at.
                Err(WallError::Link { .. }) => {}
                resolved => return resolved,
            }
        }
        Err(WallError::Unsettled { path: RelativePath::root() })
    }

    /// Resolves a path that is to be changed: no link is followed, and its end need not exist.
    ///
    /// # Errors
    /// It leads out, goes through a link or through something that is no folder.
    pub fn resolve_for_change(&self, written: &[u8]) -> Result<RelativePath, WallError> {
        check(written)?;
        let mut path = RelativePath::root();
        let mut missing = None;
        let steps = steps_below(self, written)?;
        let count = steps.len();
        for (index, step) in steps.into_iter().enumerate() {
            match (step, &missing) {
                (Step::Up, Some(missing)) => {
                    return Err(WallError::NotFound { path: RelativePath::clone(missing) });
                }
                (Step::Up, None) => climb(&mut path, written)?,
                (Step::Name(name), Some(_)) => path.push(&name),
                (Step::Name(name), None) => {
                    path.push(&name);
                    match self.node(&path).map(|node| node.meta.kind) {
                        Ok(Kind::Link) => return Err(WallError::Link { path }),
                        Ok(Kind::Folder) => {}
                        Ok(_) if index + 1 < count => return Err(WallError::NotAFolder { path }),
                        Ok(_) => {}
                        Err(WallError::NotFound { .. }) => missing = Some(path.clone()),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(path)
    }

    fn follow(&self, written: &[u8]) -> Result<Resolved, WallError> {
        let mut todo = steps_below(self, written)?;
        let mut path = RelativePath::root();
        let mut through: Vec<RelativePath> = Vec::new();
        while let Some(step) = todo.pop_front() {
            let Step::Name(name) = step else {
                climb(&mut path, written).map_err(|error| blame(error, through.last()))?;
                continue;
            };
            path.push(&name);
            let node = self.node(&path)?;
            if node.meta.kind == Kind::Link {
                if through.len() == MAX_LINKS {
                    return Err(WallError::TooManyLinks { path });
                }
                let target = target(&node, &path)?;
                let onward = steps_below(self, &target).map_err(|e| blame(e, Some(&path)))?;
                onward.into_iter().rev().for_each(|step| todo.push_front(step));
                through.push(path.clone());
                path = if target.starts_with(b"/") { None } else { path.parent() }
                    .unwrap_or_else(RelativePath::root);
            } else if node.meta.kind != Kind::Folder && !todo.is_empty() {
                return Err(WallError::NotAFolder { path });
            }
        }
        Ok(Resolved { path, through })
    }
}

/// A way out that a link opened is told as the link's.
fn blame(error: WallError, link: Option<&RelativePath>) -> WallError {
    match (error, link) {
        (WallError::Outside { .. }, Some(link)) => WallError::LinkOutside { link: link.clone() },
        (error, _) => error,
    }
}

fn climb(path: &mut RelativePath, written: &[u8]) -> Result<(), WallError> {
    if path.pop() { Ok(()) } else { Err(WallError::Outside { written: written.to_vec() }) }
}

fn check(written: &[u8]) -> Result<(), WallError> {
    if written.is_empty() {
        return Err(WallError::Malformed { reason: "the path is empty" });
    }
    if written.contains(&0) {
        return Err(WallError::Malformed { reason: "the path holds a NUL character" });
    }
    Ok(())
}
