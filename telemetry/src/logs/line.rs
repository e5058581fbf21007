//! How a log line looks, for people and for programs. Nothing that comes from outside can break out
//! of its line: control and invisible characters are escaped, long values are cut.

use std::fmt::{self, Write as _};

use opentelemetry::trace::{SpanContext, SpanId, TraceId};
use serde::Serialize;
use serde_json::{Map, Number, Value};
use tracing::{
    Level,
    field::{Field, Visit},
};
use tracing_subscriber::fmt::{
    format::Writer,
    time::{FormatTime, SystemTime},
};

/// Bytes of one value that are kept.
pub(super) const VALUE: usize = 8 * 1024;
/// Hex digits of the trace id that people are shown; the file has all of them.
const SHORT: usize = 8;

/// Which process a line comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) role: String,
    pub(crate) instance: String,
}

/// Where in a trace a line belongs.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

impl Ids {
    pub(super) fn of(span: &SpanContext) -> Self {
        Self { trace: span.trace_id(), span: span.span_id() }
    }
}

/// The message and the fields of one event, in order.
#[derive(Debug, Default)]
pub(super) struct Fields {
    message: String,
    rest: Map<String, Value>,
}

/// `2026-11-30T12:00:00.000000Z  INFO target: message key=value trace=0af76519`
pub(super) fn human(level: Level, target: &str, fields: &Fields, ids: Option<&Ids>) -> String {
    let mut line = now();
    // Writing to a `String` cannot fail, here and below.
    let _ = write!(line, " {:>5} {target}: ", level.as_str());
    escape(&mut line, &fields.message);
    for (name, value) in &fields.rest {
        let _ = write!(line, " {name}=");
        match value {
            Value::String(text) if is_plain(text) => line.push_str(text),
            Value::String(text) => {
                let _ = write!(line, "{text:?}");
            }
            value => {
                let _ = write!(line, "{value}");
            }
        }
    }
    if let Some(ids) = ids {
        let trace = ids.trace.to_string();
        let _ = write!(line, " trace={}", trace.get(..SHORT).unwrap_or(&trace));
    }
    line.push('\n');
    line
}

/// One JSON object: `ts`, `level`, `role`, `instance`, `pid`, `target`, `message`, `fields`, and in
/// a span `trace_id` and `span_id`.
pub(super) fn json(
    origin: &Origin,
    level: Level,
    target: &str,
    fields: &Fields,
    ids: Option<&Ids>,
) -> String {
    let object = Line {
        ts: now(),
        level: name(level),
        role: &origin.role,
        instance: &origin.instance,
        pid: std::process::id(),
        target,
        message: &fields.message,
        fields: &fields.rest,
        trace_id: ids.map(|ids| ids.trace.to_string()),
        span_id: ids.map(|ids| ids.span.to_string()),
    };
    // Nothing of it can fail: it is made of texts, numbers and JSON.
    let mut line = serde_json::to_string(&object).unwrap_or_default();
    line.push('\n');
    line
}

#[derive(Serialize)]
struct Line<'a> {
    ts: String,
    level: &'static str,
    role: &'a str,
    instance: &'a str,
    pid: u32,
    target: &'a str,
    message: &'a str,
    fields: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
}

fn now() -> String {
    let mut text = String::with_capacity(96);
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}

/// Escapes as `{:?}` does, but leaves quotes and backslashes of a sentence readable.
fn escape(line: &mut String, text: &str) {
    for character in text.chars() {
        if matches!(character, '"' | '\'' | '\\') {
            line.push(character);
        } else {
            line.extend(character.escape_debug());
        }
    }
}

/// Cuts at a character's border.
fn cut(text: &str) -> String {
    if text.len() <= VALUE {
        return text.to_owned();
    }
    format!("{}… ({} bytes)", &text[..text.floor_char_boundary(VALUE)], text.len())
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.rest.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Number::from_f64(value).map_or(Value::Null, Value::Number));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, cut(value).into());
    }

    /// An error with its sources: the inner text is for this place and no other.
    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.put(field, cut(&text).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, cut(&format!("{value:?}")).into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fields, escape, human};

    /// What stands after the time.
    fn line(message: &str, fields: serde_json::Value) -> String {
        let serde_json::Value::Object(rest) = fields else { unreachable!("an object") };
        let fields = Fields { message: message.to_owned(), rest };
        let line = human(tracing::Level::INFO, "callboard_x", &fields, None);
        line.split_once("Z ").unwrap().1.to_owned()
    }

    #[test]
    fn a_line_for_people_is_one_line() {
        let rows = [
            (
                "run ended",
                json!({"status": "ok", "steps": 3}),
                " INFO callboard_x: run ended status=ok steps=3\n",
            ),
            ("it's \"so\"", json!({}), " INFO callboard_x: it's \"so\"\n"),
            ("a\nb\u{1b}[31m", json!({}), " INFO callboard_x: a\\nb\\u{1b}[31m\n"),
            (
                "m",
                json!({"path": "a b", "empty": ""}),
                " INFO callboard_x: m path=\"a b\" empty=\"\"\n",
            ),
            ("m", json!({"x": "1\n2 INFO fake"}), " INFO callboard_x: m x=\"1\\n2 INFO fake\"\n"),
        ];
        for (message, fields, expected) in rows {
            assert_eq!(line(message, fields), expected);
        }
    }

    #[test]
    fn text_of_any_script_stays_readable() {
        let mut text = String::new();
        escape(&mut text, "读取 é \u{202e}");
        assert_eq!(text, "读取 é \\u{202e}");
    }
}
