use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_folder_is_listed_in_the_order_asked_for() {
    let place = Place::new().await;
    for (name, size, second) in
        [("b.md", 300, 1_000_000_000), ("a.md", 1_240, 1_200_000_000), ("c.md", 300, 1_100_000_000)]
    {
        modified(&place.file(&format!("meetings/{name}"), "x".repeat(size)), second);
    }
    fs::create_dir(place.ws.join("meetings/old")).unwrap();
    modified(&place.ws.join("meetings/old"), 900_000_000);
    symlink("a.md", place.ws.join("meetings/latest")).unwrap();
    modified(&place.ws.join("meetings/latest"), 800_000_000);
    let a = "meetings/a.md  1,240 bytes  2008-01-10T21:20:00Z";
    let b = "meetings/b.md  300 bytes  2001-09-09T01:46:40Z";
    let c = "meetings/c.md  300 bytes  2004-11-09T11:33:20Z";
    let old = "meetings/old/  folder  1998-07-09T16:00:00Z";
    let latest = "meetings/latest -> a.md  link  1995-05-09T06:13:20Z";
    for (sort, words, rows) in [
        ("name", "by name", [a, b, c, latest, old]),
        ("modified", "newest first", [a, c, b, old, latest]),
    ] {
        let output = place.call("list_dir", json!({"path": "meetings", "sort": sort})).await;
        let status = format!("Listed meetings: 5 entries (3 files, 1 folder), {words}.");
        assert_eq!(parts(&output), (status.as_str(), rows.join("\n").as_str()));
    }
    let output =
        place.call("list_dir", json!({"path": "meetings", "sort": "size", "limit": 2})).await;
    let (status, rows) = parts(&output);
    assert_eq!(
        status,
        "Listed meetings: 5 entries (3 files, 1 folder), largest first; the first 2 of 5 are shown."
    );
    assert!(rows.starts_with(a) || rows.starts_with(old), "{rows}");
    let facts = structured(&place.call("list_dir", json!({"path": "meetings"})).await);
    assert_eq!(facts["total"], 5);
    assert_eq!(
        facts["entries"][0],
        json!({"path": "meetings/a.md", "kind": "file", "size": 1240,
               "modified": "2008-01-10T21:20:00Z"})
    );
    assert_eq!(facts["entries"][3]["target"], "a.md");
}

#[tokio::test]
async fn an_empty_folder_is_a_success_that_says_so() {
    let place = Place::new().await;
    let output = place.call("list_dir", json!({"path": "."})).await;
    assert_eq!(output.content, "Listed .: 0 entries, nothing is in it.");
}

#[tokio::test]
async fn sensitive_files_are_counted_and_not_shown() {
    let place =
        Place::with(&[(".env", "K=1"), ("id_rsa", "k"), ("token.rs", ""), (".gitignore", "x")])
            .await;
    fs::hard_link(place.ws.join(".env"), place.ws.join("notes.txt")).unwrap();
    fs::create_dir(place.ws.join("secrets")).unwrap();
    let output = place.call("list_dir", json!({})).await;
    let (status, rows) = parts(&output);
    let said = "Listed .: 3 entries (2 files, 1 folder), by name. 3 sensitive files are not shown.";
    assert_eq!(status, said);
    let names: Vec<_> = rows.lines().map(|row| row.split("  ").next().unwrap()).collect();
    assert_eq!(names, [".gitignore", "secrets/", "token.rs"]);
}

#[tokio::test]
async fn what_is_no_folder_is_told_with_a_way_out() {
    let place = Place::with(&[("docs/a.md", "a"), ("docs2/b.md", "b")]).await;
    let failed = place.fail("list_dir", json!({"path": "docs/a.md"})).await;
    let said = "`docs/a.md` is a file, not a folder; read it with read_file.";
    assert_eq!(failed, (FailureKind::Unsupported, said.to_owned()));
    let failed = place.fail("list_dir", json!({"path": "Docs"})).await;
    assert_eq!(failed, (FailureKind::NotFound, "No folder `Docs`. Nearest: `docs`.".to_owned()));
}

#[tokio::test]
async fn a_large_folder_is_listed_within_bounds() {
    let place = Place::new().await;
    for number in 0..1_500 {
        fs::write(place.ws.join(format!("{number:04}-{}", "n".repeat(200))), "").unwrap();
    }
    let output = place.call("list_dir", json!({"limit": 1000})).await;
    assert!(output.content.len() < 64 * 1024);
    let shown = structured(&output)["entries"].as_array().unwrap().len();
    assert!(parts(&output).0.ends_with(&format!("the first {shown} of 1,500 are shown.")));
    assert_eq!(parts(&output).1.lines().count(), shown);
}
