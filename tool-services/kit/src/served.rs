//! Tools of different argument types behind one face, so that a service holds them in one list.
//! Parsing the arguments is done here, once for judging and invoking.

use std::{fmt::Debug, sync::Arc};

use futures_util::future::BoxFuture;
use serde_path_to_error::{Path, Segment};

use crate::{About, Call, Failure, Intent, Output, Recovered, Rollback, Tool, Undo, Verdict};

/// A tool whose argument type is hidden.
pub(crate) trait Served: Debug + Send + Sync {
    fn about(&self) -> &About;
    fn prepare(&self, arguments: &[u8]) -> Result<Box<dyn Prepared>, Failure>;
    fn recover<'a>(
        &'a self,
        intent: Option<&'a Intent>,
        call: &'a Call,
    ) -> BoxFuture<'a, Recovered>;
    fn rollback<'a>(&'a self, undo: &'a Undo, call: &'a Call) -> BoxFuture<'a, Rollback>;
}

/// A tool with parsed arguments.
pub(crate) trait Prepared: Send + Sync {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Verdict>;
    fn invoke(self: Box<Self>, call: &Call) -> BoxFuture<'_, Result<Output, Failure>>;
}

/// The only kind of [`Served`] there is.
pub(crate) struct Typed<T> {
    tool: Arc<T>,
    about: About,
}

impl<T: Tool> Typed<T> {
    pub(crate) fn new(tool: T) -> Self {
        let about = tool.about();
        Self { tool: Arc::new(tool), about }
    }
}

impl<T> Debug for Typed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Typed").field(&self.about.name).finish()
    }
}

impl<T: Tool> Served for Typed<T> {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare(&self, arguments: &[u8]) -> Result<Box<dyn Prepared>, Failure> {
        let arguments = parse::<T::Args>(arguments)?;
        Ok(Box::new(Ready { tool: Arc::clone(&self.tool), arguments }))
    }

    fn recover<'a>(
        &'a self,
        intent: Option<&'a Intent>,
        call: &'a Call,
    ) -> BoxFuture<'a, Recovered> {
        Box::pin(self.tool.recover(intent, call))
    }

    fn rollback<'a>(&'a self, undo: &'a Undo, call: &'a Call) -> BoxFuture<'a, Rollback> {
        Box::pin(self.tool.rollback(undo, call))
    }
}

struct Ready<T: Tool> {
    tool: Arc<T>,
    arguments: T::Args,
}

impl<T: Tool> Prepared for Ready<T> {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Verdict> {
        Box::pin(self.tool.preflight(&self.arguments, call))
    }

    fn invoke(self: Box<Self>, call: &Call) -> BoxFuture<'_, Result<Output, Failure>> {
        let Self { tool, arguments } = *self;
        Box::pin(async move { tool.invoke(arguments, call).await })
    }
}

fn parse<A: serde::de::DeserializeOwned>(arguments: &[u8]) -> Result<A, Failure> {
    let mut reader = serde_json::Deserializer::from_slice(arguments);
    let parsed = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = pointer(error.path());
        (pointer, error.into_inner())
    });
    let trailing = |parsed| reader.end().map(|()| parsed).map_err(|error| (String::new(), error));
    parsed.and_then(trailing).map_err(|(pointer, error)| {
        let text = error.to_string();
        if error.is_data() {
            // The place in the JSON text says less than the pointer.
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            return Failure::invalid_arguments("The arguments do not fit this tool.")
                .violation(pointer, text);
        }
        Failure::invalid_arguments("The arguments are not JSON.").violation("", text)
    })
}

/// JSON pointer (RFC 6901) of a path.
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Args {
        limit: u32,
        #[serde(default)]
        by: BTreeMap<String, Vec<bool>>,
    }

    fn refused(arguments: &str) -> (String, String, String) {
        let failure = parse::<Args>(arguments.as_bytes()).unwrap_err();
        let violation = failure.violations[0].clone();
        (failure.message, violation.pointer, violation.message)
    }

    #[test]
    fn arguments_that_fit_are_parsed() {
        let by = BTreeMap::from([("a/b".to_owned(), vec![true])]);
        let expected = Args { limit: 3, by };
        assert_eq!(parse::<Args>(br#" {"limit":3,"by":{"a/b":[true]}} "#), Ok(expected));
    }

    #[test]
    fn a_violation_names_its_place_by_json_pointer() {
        let fit = "The arguments do not fit this tool.";
        for (arguments, pointer, message) in [
            (r#"{"limit":"5"}"#, "/limit", "invalid type: string \"5\", expected u32"),
            (r#"{"limit":-1}"#, "/limit", "invalid value: integer `-1`, expected u32"),
            ("{}", "", "missing field `limit`"),
            (
                r#"{"limit":1,"by":{"a/b~":[true,1]}}"#,
                "/by/a~1b~0/1",
                "invalid type: integer `1`, expected a boolean",
            ),
            (r#"{"limit":1,"more":2}"#, "/more", "unknown field `more`, expected `limit` or `by`"),
        ] {
            let expected = (fit.to_owned(), pointer.to_owned(), message.to_owned());
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_the_place_of_the_fault() {
        for (arguments, message) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            (r#"{"limit":5"#, "EOF while parsing an object at line 1 column 10"),
            (r#"{"limit":5} x"#, "trailing characters at line 1 column 13"),
        ] {
            let refused = refused(arguments);
            assert_eq!(refused.0, "The arguments are not JSON.");
            assert_eq!((refused.1.as_str(), refused.2.as_str()), ("", message), "{arguments}");
        }
    }
}
