//! The way to the server, encrypted: certificates are checked, always.

use std::{path::Path, process::Command};

use callboard_orchestrator::journal::{
    Journal as _, JournalError,
    postgres::{Config, PostgresJournal},
};
use callboard_tests::Postgres;
use tempfile::TempDir;

/// A CA, and a certificate for `localhost` that it signed.
fn certificates(folder: &Path) {
    let openssl = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let ca = ["-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(&[&new[..], &ca].concat());
    let request = ["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
    openssl(&[&new[..], &request].concat());
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(&[
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "names",
        "-out",
        "server.pem",
    ]);
}

#[tokio::test]
async fn the_servers_certificate_is_checked_against_the_ca_that_is_named() {
    let folder = TempDir::new().unwrap();
    certificates(folder.path());
    let postgres = Postgres::start(&[]).await;
    let url = postgres.database().await.replace("127.0.0.1", "localhost");
    postgres.encrypt(&folder.path().join("server.pem"), &folder.path().join("server.key")).await;

    let ca_file = Some(folder.path().join("ca.pem"));
    let journal = PostgresJournal::open(Config { ca_file: ca_file.clone(), ..Config::new(&url) });
    let journal = journal.await.unwrap();
    assert_eq!(journal.generation().await.unwrap(), 1);
    let admin = postgres.admin("postgres").await;
    let plain = "SELECT count(*) FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)
        WHERE a.usename = 'callboard' AND NOT s.ssl";
    assert_eq!(admin.query_one(plain, &[]).await.unwrap().get::<_, i64>(0), 0);

    for (url, ca_file) in [
        // Nobody trusts it without its CA, and TLS is taken where the server offers it.
        (url.clone(), None),
        (format!("{url}?sslmode=require"), None),
        // Another name than the certificate's.
        (url.replace("localhost", "127.0.0.1"), ca_file),
    ] {
        let error = PostgresJournal::open(Config { ca_file, ..Config::new(&url) }).await;
        let error = error.unwrap_err();
        assert!(matches!(error, JournalError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("certificate"), "{error}");
        assert!(error.to_string().contains("`orchestrator.journal.ca_file`"), "{error}");
    }
    let config = Config::new(format!("{url}?sslmode=disable"));
    PostgresJournal::open(config).await.unwrap();
}
