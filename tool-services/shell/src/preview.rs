//! What a person sees before a command runs: how long it may run and where, in the first line, and
//! then the command itself, every character of it. Two calls that differ never look the same.
//!
//! Nothing is judged here: a command is text, and what it does is only known when it is done. What
//! it can reach is decided in `reach.rs`. Next: `turns.rs`.

use callboard_files::shown::line;

use crate::reach::Checked;

/// The preview: control and invisible characters are escaped, lines stay lines.
pub(crate) fn preview(checked: &Checked) -> String {
    let Checked { command, cwd, is_writable, seconds } = checked;
    let rights = if *is_writable { "" } else { "without changing the workspace, " };
    // The folder comes last: nothing in its name can be taken for the rest.
    let place = if cwd.is_root() { "workspace".to_owned() } else { format!("folder {cwd}") };
    // What already looks like an escaped character is told from one.
    let command = command.replace("\\u{", "\\u{5c}u{");
    let lines: Vec<String> = command.split('\n').map(|text| line(text.as_bytes())).collect();
    format!("For at most {seconds} s, {rights}in the {place}:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use callboard_files::relative::RelativePath;

    use super::*;

    fn shown(command: &str, cwd: RelativePath, is_writable: bool) -> String {
        preview(&Checked { command: command.to_owned(), cwd, is_writable, seconds: 60 })
    }

    fn command(command: &str) -> String {
        let shown = shown(command, RelativePath::root(), true);
        shown.strip_prefix("For at most 60 s, in the workspace:\n").unwrap().to_owned()
    }

    #[test]
    fn a_plain_command_is_shown_as_it_is() {
        for text in ["uname -s", "cat <<'EOF'\n\thi\\n\nEOF\n", r"printf '\u00e9 \\ \x41'"] {
            assert_eq!(command(text), text);
        }
    }

    #[test]
    fn the_folder_and_what_was_taken_away_are_told() {
        let folder = RelativePath::root().join(b"work dir").join("子目录".as_bytes());
        let first = "For at most 60 s, in the folder work dir/子目录:\nls";
        assert_eq!(shown("ls", folder, true), first);
        let first = "For at most 60 s, without changing the workspace, in the workspace:\nls";
        assert_eq!(shown("ls", RelativePath::root(), false), first);
    }

    #[test]
    fn nothing_hides_from_the_person_who_decides() {
        assert_eq!(command("echo ok\rrm -r ."), "echo ok\\u{d}rm -r .");
        assert_eq!(command("echo \u{202e}x"), "echo \\u{202e}x");
        assert_eq!(command("\u{1b}[8mid"), "\\u{1b}[8mid");
    }

    #[test]
    fn different_calls_never_look_the_same() {
        assert_eq!(command(r"echo \u{202e}x"), r"echo \u{5c}u{202e}x");
        assert_eq!(command(r"echo \u{5c}u{202e}x"), r"echo \u{5c}u{5c}u{202e}x");
        let folder = RelativePath::root().join(b"src");
        let faked = "For at most 60 s, in the folder src:\nls";
        assert_ne!(shown(faked, RelativePath::root(), true), shown("ls", folder, true));
        let lines = RelativePath::root().join(b"src:\nls");
        assert_eq!(shown("x", lines, true), "For at most 60 s, in the folder src:\\u{a}ls:\nx");
    }
}
