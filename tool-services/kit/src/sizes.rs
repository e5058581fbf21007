//! Keeps what a tool returns within the sizes of the wire. An effect that was had must not be told
//! as a failure, so what is too large is shortened and the remark says so.

use callboard_proto::size;
use serde_json::Value;

use crate::Output;

/// Text for a model; more than this goes into the artifact.
pub(crate) const CONTENT: usize = 64 * 1024;
/// Longest message of a failure, reason of a verdict or remark.
pub(crate) const MESSAGE: usize = 16 * 1024;
/// Most violations or remarks.
pub(crate) const ENTRIES: usize = 100;
/// What a person is shown before deciding; nobody can judge more.
pub(crate) const PREVIEW: usize = size::CHUNK;
/// Room in a message for all but structured content and artifact.
const RESERVE: usize = 256 * 1024;
/// A whole result that is sent beside `content`.
const ARTIFACT: usize = 1024 * 1024;

/// The output with everything over its limit shortened, and a remark for each.
pub(crate) fn fit(mut output: Output) -> Output {
    let mut remarks = Vec::new();
    let structured = output.structured.as_ref().map_or(0, encoded_len);
    if structured > size::STRUCTURED {
        output.structured = None;
        remarks.push(format!(
            "The structured content was left out: {structured} bytes, the limit is {}.",
            size::STRUCTURED
        ));
    }
    if output.content.len() > CONTENT {
        let whole = std::mem::take(&mut output.content);
        head(&whole, CONTENT).clone_into(&mut output.content);
        remarks.push(format!(
            "The text was cut: {} of {} bytes are shown.",
            output.content.len(),
            whole.len()
        ));
        output.artifact.get_or_insert(whole);
    }
    let taken = output.structured.as_ref().map_or(0, |_| structured);
    let room = ARTIFACT.min(size::MESSAGE - RESERVE - taken);
    if let Some(artifact) = &mut output.artifact
        && artifact.len() > room
    {
        remarks.push(format!(
            "The whole result was cut: {room} of {} bytes are kept.",
            artifact.len()
        ));
        artifact.truncate(head(artifact, room).len());
    }
    output.diagnostics.truncate(ENTRIES);
    output.diagnostics.extend(remarks);
    for remark in &mut output.diagnostics {
        remark.truncate(head(remark, RESERVE / 4 / ENTRIES).len());
    }
    output
}

/// The longest start of `text` with at most `limit` bytes that cuts no character.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn encoded_len(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and every `Value` has a JSON text.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_output_stays_as_it_is() {
        let output = Output::text("45").structured(json!({"value": "45"})).diagnostic("exact");
        assert_eq!(fit(output.clone()), output);
    }

    #[test]
    fn long_text_is_cut_between_characters_and_kept_whole_as_an_artifact() {
        let whole = format!("a{}", "数".repeat(30_000));
        let output = fit(Output::text(whole.clone()));
        assert_eq!(output.content.len(), 65_536);
        assert!(whole.starts_with(&output.content));
        assert_eq!(output.artifact, Some(whole));
        assert_eq!(output.diagnostics, ["The text was cut: 65536 of 90001 bytes are shown."]);
    }

    #[test]
    fn an_artifact_of_the_tool_is_not_replaced() {
        let output = fit(Output::text("x".repeat(70_000)).artifact("the tool's own"));
        assert_eq!(output.artifact.as_deref(), Some("the tool's own"));
    }

    #[test]
    fn structured_content_over_the_limit_is_left_out_with_a_remark() {
        let value = json!("y".repeat(1_048_575));
        let output = fit(Output::text("done").structured(value));
        assert_eq!(output.structured, None);
        assert_eq!(output.content, "done");
        let remark = "The structured content was left out: 1048577 bytes, the limit is 1048576.";
        assert_eq!(output.diagnostics, [remark]);
    }

    #[test]
    fn everything_at_its_limit_fits_one_message() {
        let output = Output::text("t".repeat(200_000))
            .structured(json!("s".repeat(1_048_574)))
            .artifact("a".repeat(3_000_000));
        let output = (0..500).fold(output, |output, _| output.diagnostic("d".repeat(10_000)));
        let output = fit(output);
        assert!(output.structured.is_some());
        let remarks: usize = output.diagnostics.iter().map(String::len).sum();
        let total = output.content.len()
            + 1_048_576
            + output.artifact.as_ref().map_or(0, String::len)
            + remarks;
        assert!(total < size::MESSAGE - 1024, "{total}");
    }
}
