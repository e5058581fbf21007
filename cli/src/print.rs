//! The only place that writes to standard output and standard error.
//!
//! A reader that went away (`callboard tools list | head -1`) is no failure: what is left is
//! dropped and the command ends as it would have. Next: `exit`.

mod closed;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use owo_colors::OwoColorize as _;

use crate::exit::{Exit, Refused, usage};

/// Set by `--no-color` and `NO_COLOR`; colours are for terminals only in any case.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// Turns colours off for the whole program.
pub(crate) fn no_colors() {
    PLAIN.store(true, Ordering::Relaxed);
}

/// Whether standard error may be coloured.
pub(crate) fn err_has_colors() -> bool {
    !PLAIN.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// Whether there is a standard output to write to. Asked before anything is begun whose answer
/// would be lost.
///
/// # Errors
/// When it was closed at the start.
pub(crate) fn has_stdout() -> anyhow::Result<()> {
    if closed::is_stdout_closed() {
        return Err(usage(
            "standard output is closed, so no answer could be given and nothing was begun: leave \
             it open, or send it to a file or to /dev/null",
        ));
    }
    Ok(())
}

/// Writes one line, or several, to standard output.
///
/// # Errors
/// When the text cannot be written, a full disk for example; a closed pipe is none.
pub(crate) fn out(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match write_line(&mut stdout, text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refused {
            exit: Exit::Failed,
            message: format!("cannot write to standard output: {error}"),
        }
        .into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes what a model or a tool said to standard output: as it is where a program reads it, and
/// with everything visible on a terminal.
///
/// # Errors
/// As [`out`].
pub(crate) fn content(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() { out(&visible(text)) } else { out(text) }
}

/// Writes one JSON document to standard output: on one line, or indented on a terminal.
///
/// # Errors
/// As [`out`].
pub(crate) fn json(document: &serde_json::Value) -> anyhow::Result<()> {
    out(&if io::stdout().is_terminal() { format!("{document:#}") } else { document.to_string() })
}

/// `text` in the background, where standard error has colours.
pub(crate) fn dim(text: &str) -> String {
    if err_has_colors() { text.dimmed().to_string() } else { text.to_owned() }
}

/// Writes a line to standard error. Where that is gone too there is nobody left to tell.
pub(crate) fn err(text: &str) {
    let _ = write_line(&mut io::stderr().lock(), text);
}

/// Writes a question to standard error; the answer goes onto the same line.
pub(crate) fn prompt(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn write_line(to: &mut impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        to.write_all(b"\n")?;
    }
    to.flush()
}

/// `text` with control and invisible characters made visible, so that what is shown cannot move
/// the cursor, hide a word or reverse the reading direction. Line breaks and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            _ if character.is_control() || is_invisible(character) => {
                shown.extend(character.escape_unicode());
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// Characters without a glyph of their own that change how others read.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_a_reader_is_escaped() {
        assert_eq!(visible("ls -l\n\tok"), "ls -l\n\tok");
        assert_eq!(visible("rm\u{1b}[2Kls"), "rm\\u{1b}[2Kls");
        assert_eq!(visible("a\rb"), "a\\u{d}b");
        assert_eq!(visible("user\u{202e}txt"), "user\\u{202e}txt");
        assert_eq!(visible("zero\u{200b}width"), "zero\\u{200b}width");
        assert_eq!(visible("读取 é"), "读取 é");
    }
}
