//! The pre-commit hook refuses a bad line and lets a good one pass.

use std::{
    path::Path,
    process::{Command, Output},
};

fn git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "core.hooksPath=.githooks",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("PATH", "/usr/bin:/bin:/usr/local/bin")
        .output()
        .unwrap()
}

#[test]
fn a_badly_formatted_line_is_refused_and_a_good_one_is_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(git(at, &["init", "--quiet"]).status.success());
    std::fs::create_dir(at.join(".githooks")).unwrap();
    for file in [".githooks/pre-commit", "rustfmt.toml"] {
        std::fs::copy(root.join(file), at.join(file)).unwrap();
    }
    let commit = |text: &str| {
        std::fs::write(at.join("a.rs"), text).unwrap();
        assert!(git(at, &["add", "a.rs"]).status.success());
        git(at, &["commit", "--quiet", "-m", "test"])
    };
    for bad in ["fn  main( ) {}\n", "fn main() {\n    dbg!(1);\n}\n", "fn main( {\n"] {
        let refused = commit(bad);
        assert!(!refused.status.success(), "{bad:?} was committed");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("a.rs"), "{refused:?}");
    }
    let passed = commit("fn main() {}\n");
    assert!(passed.status.success(), "{passed:?}");
}
