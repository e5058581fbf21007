//! What a URL says, and what an error about it must not say.

use super::{Config, Server};

#[test]
fn a_place_is_named_without_user_and_password() {
    let place = |url: &str| Server::new(&Config::new(url)).ok().unwrap().place().to_owned();
    for (url, expected) in [
        ("postgresql://cb:hunter2@db/callboard", "postgresql://db:5432/callboard"),
        ("postgres://cb@db:6000/x?sslmode=require", "postgresql://db:6000/x"),
        ("host=/run/postgresql user=cb password=hunter2", "postgresql:///run/postgresql:5432/cb"),
        ("postgresql://cb@a:1,b:2/x", "postgresql://a:1,b:2/x"),
        ("postgresql://cb@[::1]:7000/x", "postgresql://[::1]:7000/x"),
    ] {
        assert_eq!(place(url), expected);
    }
}

#[test]
fn a_url_that_cannot_be_read_is_refused_and_never_repeated() {
    for url in [
        "postgresql://cb:hunter2/oops@db:port/callboard",
        "postgresql://cb:hunter2@db:5432/x?hunter2=1",
        "hunter2",
        "user=cb password=hunter2",
        "",
    ] {
        let config = Config::new(url);
        let error = Server::new(&config).err().unwrap().to_string();
        assert!(error.contains("`orchestrator.journal`"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}

#[test]
fn a_ca_file_that_holds_none_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("ca.pem");
    let refused = |file: &std::path::Path| {
        let mut config = Config::new("postgresql://cb@db/x");
        config.ca_file = Some(file.to_owned());
        Server::new(&config).err().unwrap().to_string()
    };
    assert!(refused(&file).contains("ca.pem"));
    std::fs::write(&file, "no certificate\n").unwrap();
    assert!(refused(&file).contains("it holds no certificate"), "{}", refused(&file));
}
