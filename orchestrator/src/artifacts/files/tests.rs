//! What is kept, for whom, and what a bad disk or a bad name does.

use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

/// SHA-256 of `hello`, as `sha256sum` prints it.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

async fn place() -> (TempDir, FileArtifacts) {
    let folder = TempDir::new().unwrap();
    let artifacts = FileArtifacts::open(folder.path()).await.unwrap();
    (folder, artifacts)
}

fn session() -> SessionId {
    "0199aa00-0000-7000-8000-000000000001".into()
}

#[tokio::test]
async fn what_is_kept_is_read_back_by_page() {
    let (_folder, artifacts) = place().await;
    let id = artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    assert_eq!(id.as_str(), HELLO);
    let page = async |offset, limit| {
        let (bytes, size) = artifacts.read("team", &session(), &id, offset, limit).await.unwrap();
        assert_eq!(size, 5);
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    assert_eq!(page(0, 100).await, "hello");
    assert_eq!(page(0, 2).await, "he");
    assert_eq!(page(3, 2).await, "lo");
    assert_eq!(page(4, usize::MAX).await, "o");
    assert_eq!(page(5, 10).await, "");
    assert_eq!(page(u64::MAX >> 1, 10).await, "");
}

#[tokio::test]
async fn an_empty_artifact_is_one() {
    let (_folder, artifacts) = place().await;
    let id = artifacts.put("team", &session(), Bytes::new()).await.unwrap();
    let read = artifacts.read("team", &session(), &id, 0, 10).await.unwrap();
    assert_eq!(read, (Bytes::new(), 0));
}

#[tokio::test]
async fn files_lie_where_they_should_for_their_owner_alone_and_once() {
    let (folder, artifacts) = place().await;
    for _ in 0..3 {
        artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    }
    let kept = folder.path().join("artifacts/team").join(session().as_str());
    let names: Vec<_> =
        std::fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [HELLO]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kept.join(HELLO)), 0o600);
    assert_eq!(mode(&kept), 0o700);
    assert_eq!(mode(&folder.path().join("artifacts")), 0o700);
}

#[tokio::test]
async fn other_sessions_and_teams_do_not_see_it() {
    let (_folder, artifacts) = place().await;
    let id = artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    for (team, session) in [("other", session()), ("team", "another".into()), ("", session())] {
        let read = artifacts.read(team, &session, &id, 0, 10).await;
        assert!(matches!(read, Err(ArtifactError::NotFound(_))));
    }
}

#[tokio::test]
async fn no_id_and_no_name_leads_out_of_the_folder() {
    let (folder, artifacts) = place().await;
    std::fs::write(folder.path().join("secret"), "s").unwrap();
    for id in ["../../../secret", "/etc/passwd", "", ".", "A", &HELLO.to_uppercase()] {
        let read = artifacts.read("team", &session(), &ArtifactId::from(id), 0, 10).await;
        assert!(matches!(read, Err(ArtifactError::NotFound(_))), "{id}");
    }
    for name in ["..", ".", "", "a/b", "/", ".incoming", "团队", &"x".repeat(5000), "a\0b"] {
        let id = artifacts.put(name, &name.into(), Bytes::from_static(b"hello")).await.unwrap();
        let read = artifacts.read(name, &name.into(), &id, 0, 10).await.unwrap();
        assert_eq!(read.0, "hello");
    }
    let outside: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 2, "{outside:?}");
}

#[test]
fn different_names_have_different_folders() {
    let names = ["a", "A", "a/b", "a%2fb", "", "%", ".", "%2e", &"x".repeat(500), &"x".repeat(501)];
    let mut folders: Vec<_> = names.iter().map(|name| encoded(name)).collect();
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), names.len());
}

#[tokio::test]
async fn too_large_a_content_is_refused_with_the_limit() {
    let (_folder, artifacts) = place().await;
    let fits = Bytes::from(vec![b'x'; size::ARTIFACT]);
    artifacts.put("team", &session(), fits).await.unwrap();
    let content = Bytes::from(vec![b'x'; size::ARTIFACT + 1]);
    let error = artifacts.put("team", &session(), content).await.unwrap_err();
    let says = "an artifact of 16777217 bytes is over the limit of 16777216";
    assert_eq!(error.to_string(), says);
}

#[tokio::test]
async fn a_changed_file_is_noticed_and_mended_by_keeping_it_again() {
    let (folder, artifacts) = place().await;
    let id = artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    let kept = folder.path().join("artifacts/team").join(session().as_str()).join(HELLO);
    std::fs::write(&kept, "hallo").unwrap();
    let read = artifacts.read("team", &session(), &id, 0, 10).await;
    assert!(matches!(read, Err(ArtifactError::Damaged(_))));
    artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    assert_eq!(artifacts.read("team", &session(), &id, 0, 10).await.unwrap().0, "hello");
}

#[tokio::test]
async fn a_deleted_session_has_no_artifacts_and_others_keep_theirs() {
    let (_folder, artifacts) = place().await;
    let id = artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    artifacts.put("team", &"other".into(), Bytes::from_static(b"hello")).await.unwrap();
    artifacts.delete("team", &session()).await.unwrap();
    artifacts.delete("team", &session()).await.unwrap();
    let gone = artifacts.read("team", &session(), &id, 0, 10).await;
    assert!(matches!(gone, Err(ArtifactError::NotFound(_))));
    assert!(artifacts.read("team", &"other".into(), &id, 0, 10).await.is_ok());
}

#[tokio::test]
async fn what_was_left_unfinished_is_removed_on_opening() {
    let (folder, artifacts) = place().await;
    let root = folder.path().join("artifacts");
    std::fs::write(root.join(INCOMING).join("half"), "hel").unwrap();
    let id = artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap();
    let artifacts = FileArtifacts::open(folder.path()).await.unwrap();
    assert_eq!(std::fs::read_dir(root.join(INCOMING)).unwrap().count(), 0);
    assert_eq!(artifacts.read("team", &session(), &id, 0, 10).await.unwrap().0, "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_content_may_be_kept_by_many_at_once() {
    let (_folder, artifacts) = place().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let artifacts = artifacts.clone();
        tasks.spawn(async move {
            artifacts.put("team", &session(), Bytes::from_static(b"hello")).await.unwrap()
        });
    }
    for id in tasks.join_all().await {
        assert_eq!(id.as_str(), HELLO);
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_an_error() {
    let error = FileArtifacts::open("/dev/null").await.unwrap_err();
    assert!(matches!(error, ArtifactError::Io(_)));
}
