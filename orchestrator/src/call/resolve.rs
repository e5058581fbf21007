//! From the name that a model wrote to a tool of the catalog.
//!
//! Pure. A name is never guessed: what could be two tools is an error that lists both. What the
//! arguments must look like is next: `arguments`.

use std::sync::Arc;

use crate::catalog::tool::AnsweredBy;
use crate::catalog::{Snapshot, Tool};

/// Names that an error lists.
const MAX_LISTED: usize = 5;
/// How alike a name must be to be listed, 0 to 1.
const LIKENESS: f64 = 0.6;
/// What models put before a name on their own.
const DECORATIONS: [&str; 2] = ["functions", "tools"];

/// A tool, and how its name was read where it was not written exactly.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The tool.
    pub tool: Arc<Tool>,
    /// What was repaired; empty if nothing was.
    pub repair: Option<String>,
}

/// Why a name is no tool that can be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// Nothing is called so.
    #[error("there is no tool `{name}`{}", nearest(.near))]
    Unknown {
        /// The name.
        name: String,
        /// The nearest names, best first.
        near: Vec<String>,
    },
    /// Several are.
    #[error("`{name}` could be `{}`; write the whole name", candidates.join("` or `"))]
    Ambiguous {
        /// The name.
        name: String,
        /// What it could be, by name.
        candidates: Vec<String>,
    },
    /// It is known, and cannot be called now.
    #[error("`{name}` cannot be called now: {reason}")]
    Withheld {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
}

fn nearest(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!("; the nearest are `{}`", names.join("`, `")),
    }
}

/// Finds the tool that `name` means to a team: its own, or a shared one.
///
/// # Errors
/// [`Unresolved`] says what would be right.
pub fn resolve(name: &str, team: &str, snapshot: &Snapshot) -> Result<Resolved, Unresolved> {
    let written = name.trim();
    if let Some(tool) = snapshot.tool(team, written) {
        return callable(tool, None);
    }
    let tools = snapshot.tools(team);
    among(written, &tools)
}

fn among(written: &str, tools: &[Arc<Tool>]) -> Result<Resolved, Unresolved> {
    let plain = written.to_ascii_lowercase();
    let candidates: Vec<&Arc<Tool>> = tools.iter().filter(|tool| means(&plain, tool)).collect();
    match candidates.as_slice() {
        [] => Err(Unresolved::Unknown { name: clip(written), near: near(&plain, tools) }),
        [tool] => {
            let repair = format!("tool `{}` read as `{}`", clip(written), tool.descriptor.name);
            callable(tool, Some(repair))
        }
        several => Err(Unresolved::Ambiguous {
            name: clip(written),
            candidates: several.iter().map(|tool| tool.descriptor.name.clone()).collect(),
        }),
    }
}

fn callable(tool: &Arc<Tool>, repair: Option<String>) -> Result<Resolved, Unresolved> {
    if tool.withheld.is_empty() {
        return Ok(Resolved { tool: Arc::clone(tool), repair });
    }
    let name = tool.descriptor.name.clone();
    Err(Unresolved::Withheld { name, reason: tool.withheld.clone() })
}

/// Whether `plain` is the tool's name but for letters' case, a service's prefix that was dropped,
/// or one that was put before it.
fn means(plain: &str, tool: &Tool) -> bool {
    let name = tool.descriptor.name.as_str();
    if plain == name {
        return true;
    }
    let without = ["__", "."].iter().any(|separator| {
        name.strip_suffix(plain).is_some_and(|prefix| prefix.ends_with(separator))
    });
    let own_prefix = |text: &str, rest: &str| {
        let prefix = text.strip_suffix(rest).and_then(|prefix| {
            let separators = ["__", ".", ":", "/", "-", "_"];
            separators.iter().find_map(|separator| prefix.strip_suffix(separator))
        });
        prefix.map(ToOwned::to_owned)
    };
    let service = tool.descriptor.service.as_str();
    let dropped = own_prefix(name, plain).is_some_and(|prefix| prefix == service);
    let added = own_prefix(plain, name)
        .is_some_and(|prefix| prefix == service || DECORATIONS.contains(&prefix.as_str()));
    !plain.is_empty() && (without || dropped || added)
}

fn near(plain: &str, tools: &[Arc<Tool>]) -> Vec<String> {
    let callable = tools.iter().filter(|tool| tool.withheld.is_empty());
    let mut scored: Vec<(f64, bool, &str)> = callable
        .map(|tool| {
            let name = tool.descriptor.name.as_str();
            let is_own = tool.descriptor.answered_by != AnsweredBy::Service;
            (likeness(plain, name), is_own, name)
        })
        .filter(|(likeness, ..)| *likeness >= LIKENESS)
        .collect();
    // Between equals, what teams offer comes before what we offer ourselves.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    scored.truncate(MAX_LISTED);
    scored.into_iter().map(|(.., name)| name.to_owned()).collect()
}

/// A slip of the keyboard, or words of the name.
fn likeness(plain: &str, name: &str) -> f64 {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
        words.map(ToOwned::to_owned).collect()
    };
    let (written, known) = (words(plain), words(name));
    let shared = known.iter().filter(|word| written.contains(word)).count();
    let alike = strsim::normalized_damerau_levenshtein(plain, name);
    if shared == 0 {
        return alike;
    }
    let share = f64::from(u32::try_from(shared).unwrap_or(0))
        / f64::from(u32::try_from(known.len()).unwrap_or(u32::MAX));
    alike.max(LIKENESS + (1.0 - LIKENESS) * share * 0.9)
}

fn clip(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::tool::sample;

    fn snapshot(names: &[(&str, &str)]) -> Snapshot {
        Snapshot::of(names.iter().map(|(service, name)| sample::tool(service, name)))
    }

    fn resolved(name: &str, snapshot: &Snapshot) -> Result<(String, bool), Unresolved> {
        resolve(name, "team", snapshot)
            .map(|r| (r.tool.descriptor.name.clone(), r.repair.is_some()))
    }

    #[test]
    fn an_exact_name_wins_over_every_other_reading() {
        let tools = snapshot(&[("files", "read"), ("files", "files.read"), ("web", "web.read")]);
        assert_eq!(resolved("read", &tools), Ok(("read".into(), false)));
        assert_eq!(resolved(" read\n", &tools), Ok(("read".into(), false)));
    }

    #[test]
    fn one_reading_of_a_prefix_that_was_dropped_or_added_is_taken_and_told() {
        let tools =
            snapshot(&[("files", "files__read"), ("web", "web-fetch"), ("calc", "compute")]);
        for (name, tool) in [
            ("read", "files__read"),
            ("fetch", "web-fetch"),
            ("calc.compute", "compute"),
            ("functions.compute", "compute"),
            ("calc__compute", "compute"),
            ("calc:compute", "compute"),
            ("Compute", "compute"),
            ("FILES__READ", "files__read"),
        ] {
            assert_eq!(resolved(name, &tools), Ok((tool.into(), true)), "{name}");
        }
    }

    #[test]
    fn what_could_be_two_tools_is_never_guessed() {
        let tools =
            snapshot(&[("files", "files__read"), ("web", "web__read"), ("web", "web.read")]);
        let error = resolve("read", "team", &tools).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`read` could be `files__read` or `web.read` or `web__read`; write the whole name"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_nearest() {
        let tools = snapshot(&[("files", "view_file"), ("files", "edit_file"), ("shell", "run")]);
        for (name, first) in [
            ("veiw_file", Some("view_file")),
            ("open_file", Some("edit_file")),
            ("view", Some("view_file")),
            ("zzz", None),
            ("", None),
            ("file", Some("edit_file")),
            // Another service's prefix is no reading.
            ("shell.view_file", Some("view_file")),
        ] {
            let Err(Unresolved::Unknown { near, .. }) = resolve(name, "team", &tools) else {
                panic!("{name} was found")
            };
            assert_eq!(near.first().map(String::as_str), first, "{name}: {near:?}");
        }
    }

    #[test]
    fn a_team_sees_its_own_tools_and_shared_ones_only() {
        let of = |team: &str, service: &str, name: &str| {
            let mut tool = sample::tool(service, name);
            Arc::make_mut(&mut tool.descriptor).team = team.to_owned();
            tool
        };
        let tools = Snapshot::of([
            of("blue", "files", "read"),
            of("shared", "web", "read"),
            of("shared", "web", "fetch"),
            of("red", "safe", "open"),
        ]);
        let service = |team: &str, name: &str| {
            resolve(name, team, &tools).map(|r| r.tool.descriptor.service.clone()).ok()
        };
        assert_eq!(service("blue", "read").as_deref(), Some("files"), "the own one comes first");
        assert_eq!(service("red", "read").as_deref(), Some("web"));
        assert_eq!(service("blue", "fetch").as_deref(), Some("web"));
        assert_eq!(service("blue", "open"), None);
        assert_eq!(service("blue", "safe.open"), None);
    }

    #[test]
    fn a_tool_that_is_withheld_says_why() {
        let mut tool = sample::tool("files", "view_file");
        tool.withheld = "its schema is no JSON".into();
        let error = resolve("view_file", "team", &Snapshot::of([tool])).unwrap_err();
        assert_eq!(error.to_string(), "`view_file` cannot be called now: its schema is no JSON");
    }

    #[test]
    fn a_name_of_any_size_gives_a_short_error() {
        let tools = snapshot(&[("files", "view_file")]);
        let error = resolve(&"x\u{7}".repeat(100_000), "team", &tools).unwrap_err().to_string();
        assert!(error.len() < 200, "{}", error.len());
    }

    proptest! {
        #[test]
        fn a_name_is_found_exactly_or_by_a_reading_that_contains_it(
            names in prop::collection::btree_set("[a-c]{1,3}(__|_|[.-])?[a-c]{1,3}", 1..6),
            written in "[ A-Ca-c._:/-]{0,10}",
        ) {
            let tools = Snapshot::of(names.iter().map(|name| sample::tool("a", name)));
            for name in &names {
                let exact = (name.clone(), false);
                prop_assert_eq!(resolved(name, &tools), Ok(exact));
            }
            if let Ok((name, is_repaired)) = resolved(&written, &tools) {
                let plain = written.trim().to_ascii_lowercase();
                prop_assert!(name.ends_with(&plain) || plain.ends_with(&name), "{written} {name}");
                prop_assert_eq!(is_repaired, written.trim() != name);
            }
        }
    }
}
