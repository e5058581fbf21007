use std::{fs, os::unix::fs::symlink};

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

use super::*;

#[test]
fn sensitive_names_are_known() {
    for name in [
        ".env",
        ".env.local",
        ".env.production",
        ".envrc",
        ".ENV",
        ".env.example.bak",
        ".env.py",
        "secret",
        "secrets.yaml",
        "client_secret.json",
        "clientSecret.json",
        "my-credentials.csv",
        "credentials",
        "CREDENTIALS.TXT",
        "credential.xml",
        "password.txt",
        "db_passwords.csv",
        "dbPassword_old.txt",
        "passwd",
        "passwd-",
        "token",
        "token.json",
        "api.token",
        "tokens.db",
        "APIToken.txt",
        "refresh-token.txt",
        "GithubToken",
        "my secret plan.md",
        "server.pem",
        "SERVER.PEM",
        "tls.key",
        "id_rsa",
        "id_ed25519.pub",
        "id_dsa.bak",
        "токен_secret.txt",
    ] {
        assert!(is_sensitive(name.as_bytes()), "{name}");
    }
    assert!(is_sensitive(b"secret\xff.txt") || is_sensitive(b"secret-\xff.txt"));
}

#[test]
fn names_that_only_look_sensitive_are_readable() {
    for name in [
        ".env.example",
        ".env.sample",
        "env",
        "environment.md",
        "production.env",
        "token.rs",
        "password_reset.py",
        "tokenizer.json",
        "tokenizer_config.json",
        "TokenStream.swift",
        "id_generator.rs",
        "secrets.ts",
        "passwords.test.js",
        "credentials.go",
        "secretary.txt",
        "tokens2.txt",
        "detokenize.md",
        "monkey.txt",
        "keys.md",
        "pem.txt",
        "identity.json",
        "id.txt",
        "README.md",
        "grid_id.csv",
        "passwordless.md",
        "CHANGELOG.md",
        "",
    ] {
        assert!(!is_sensitive(name.as_bytes()), "{name}");
    }
}

#[test]
fn a_sensitive_file_is_found_under_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["app/deep", ".git", "ignored", "token"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    fs::write(at(".gitignore"), "ignored\n").unwrap();
    for path in ["app/.env", "ignored/server.key", "app/deep/plain.txt", "prod.txt", "token/a.md"] {
        fs::write(at(path), path).unwrap();
    }
    fs::hard_link(at("app/.env"), at("app/deep/notes.txt")).unwrap();
    fs::hard_link(at("app/deep/plain.txt"), at("also-plain.txt")).unwrap();
    fs::hard_link(at("app/.env"), at(".git/x")).unwrap();
    symlink("../prod.txt", at("app/secrets")).unwrap();
    symlink("/etc/passwd", at("passwd")).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let found = find(&root, &CancellationToken::new()).unwrap();
    let paths: Vec<_> = found.paths.iter().map(ToString::to_string).collect();
    let names = [".git/x", "app/.env", "app/deep/notes.txt", "ignored/server.key", "prod.txt"];
    assert_eq!(paths, names);
    assert_eq!(found.unseen, None);
    assert_eq!(found.identities.len(), 3);
}

#[test]
fn a_stopped_walk_finds_nothing_rather_than_too_little() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".env"), "").unwrap();
    let root = Root::open(folder.path()).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(find(&root, &stop), Err(WallError::Stopped));
}

#[test]
fn a_sensitive_file_is_found_in_every_git_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("x/.git/sub")).unwrap();
    fs::write(folder.path().join("x/.git/sub/.env"), "").unwrap();
    let root = Root::open(folder.path()).unwrap();
    let found = find(&root, &CancellationToken::new()).unwrap();
    assert_eq!(found.paths.first().map(ToString::to_string).as_deref(), Some("x/.git/sub/.env"));
}

#[test]
fn a_sensitive_file_is_found_below_a_path_that_is_too_long_for_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let name = "d".repeat(250);
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut deep = open(folder.path(), flags, Mode::empty()).unwrap();
    for _ in 0..40 {
        mkdirat(&deep, &name, Mode::from_raw_mode(0o755)).unwrap();
        deep = openat(&deep, &name, flags, Mode::empty()).unwrap();
    }
    let write = OFlags::CREATE | OFlags::WRONLY;
    drop(openat(&deep, ".env", write, Mode::from_raw_mode(0o644)).unwrap());
    let root = Root::open(folder.path()).unwrap();
    let found = find(&root, &CancellationToken::new()).unwrap();
    assert_eq!(found.unseen, None);
    assert_eq!(found.paths.first().map(|path| path.as_bytes().len()), Some(40 * 251 + 4));
    assert!(root.node(&found.paths[0]).is_ok());
}
