//! What a person sees before a command runs: the command itself, every character of it, and where
//! it runs.
//!
//! Nothing is judged here: a command is text, and what it does is only known when it is done. What
//! it can reach is decided in `reach.rs`, which is next.

use callboard_files::relative::RelativePath;
use callboard_files::shown::line;

/// The preview: control and invisible characters are escaped, lines stay lines.
pub(crate) fn preview(command: &str, cwd: &RelativePath, is_writable: bool) -> String {
    let lines: Vec<String> = command.split('\n').map(|text| line(text.as_bytes())).collect();
    let mut preview = lines.join("\n");
    if !cwd.is_root() {
        preview = format!("In the folder {cwd}:\n{preview}");
    }
    if !is_writable {
        preview.push_str("\n(The workspace cannot be changed by it.)");
    }
    preview
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_command_is_its_own_preview() {
        let root = RelativePath::root();
        assert_eq!(preview("uname -s", &root, true), "uname -s");
        let script = "cat <<'EOF'\n\thi\\n\nEOF\n";
        assert_eq!(preview(script, &root, true), script);
    }

    #[test]
    fn the_folder_and_what_was_taken_away_are_told() {
        let folder = RelativePath::root().join(b"work dir").join("子目录".as_bytes());
        assert_eq!(preview("ls", &folder, true), "In the folder work dir/子目录:\nls");
        assert_eq!(
            preview("ls", &RelativePath::root(), false),
            "ls\n(The workspace cannot be changed by it.)"
        );
    }

    #[test]
    fn nothing_hides_from_the_person_who_decides() {
        let root = RelativePath::root();
        assert_eq!(preview("echo ok\rrm -r .", &root, true), "echo ok\\u{d}rm -r .");
        assert_eq!(preview("echo \u{202e}x", &root, true), "echo \\u{202e}x");
        assert_eq!(preview("\u{1b}[8mid", &root, true), "\\u{1b}[8mid");
    }
}
