use std::os::unix::fs::PermissionsExt;

use callboard_proto::tool::{
    RollbackMode, RollbackRequest, ToolCall, preflight_response, rollback_response::Result as Ended,
};
use serde_json::json;

use super::*;

impl Place {
    /// Writes a file as a person approved it.
    async fn write(&self, path: &str, content: &str) -> (ToolCall, Output) {
        self.done("write_file", &json!({"path": path, "content": content})).await
    }

    /// Carries out a call as a person approved it.
    async fn done(&self, tool: &str, arguments: &Value) -> (ToolCall, Output) {
        let mut call = self.served.call(tool, arguments);
        if let Verdict::Ask(ask) = self.served.preflight(call.clone()).await.unwrap() {
            call.approved_preview = ask.preview_digest;
        }
        let output = self.served.start(call.clone()).await.unwrap().unwrap();
        (call, output)
    }

    pub(super) async fn back(&self, call: &ToolCall, mode: RollbackMode, dry_run: bool) -> Ended {
        let call = Some(ToolCall { arguments: Vec::new().into(), ..call.clone() });
        let request =
            RollbackRequest { call, dry_run, mode: mode.into(), ..RollbackRequest::default() };
        self.served.roll_back(request).await.unwrap()
    }

    /// A dry run, which says so, and the rollback itself.
    async fn undo(&self, call: &ToolCall) -> (String, String) {
        let said = [true, false].map(|dry_run| self.back(call, RollbackMode::Strict, dry_run));
        let [would, did] = said;
        match (would.await, did.await) {
            (Ended::Undone(would), Ended::Undone(did)) => (would, did),
            other => panic!("{other:?}"),
        }
    }

    async fn conflict(&self, call: &ToolCall) -> String {
        match self.back(call, RollbackMode::Strict, false).await {
            Ended::Conflict(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// A dry run that takes later calls for taken back.
    async fn look(&self, call: &ToolCall, later: &[&ToolCall]) -> Ended {
        let call = Some(ToolCall { arguments: Vec::new().into(), ..call.clone() });
        let assumed_undone = later.iter().map(|later| later.call_id.clone()).collect();
        let request =
            RollbackRequest { call, dry_run: true, assumed_undone, ..RollbackRequest::default() };
        self.served.roll_back(request).await.unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.ws.join(path).exists()
    }
}

#[tokio::test]
async fn a_new_file_is_removed_again_with_the_folders_that_were_made() {
    let place = Place::kept(&[("there/x.md", "x")]).await;
    let (call, output) = place.write("there/new/deep/a.md", "new\n").await;
    assert_eq!(output.undo_token, format!("kept:{}", call.call_id));
    let (would, did) = place.undo(&call).await;
    assert_eq!(would, "`there/new/deep/a.md`, a new file, would be removed.");
    assert_eq!(did, "`there/new/deep/a.md`, a new file, is removed.");
    assert!(!place.exists("there/new") && place.exists("there/x.md"));
}

#[tokio::test]
async fn a_folder_that_somebody_uses_by_now_stays() {
    let place = Place::kept(&[]).await;
    let (call, _) = place.write("new/deep/a.md", "new\n").await;
    place.file("new/b.md", "of another");
    place.undo(&call).await;
    assert!(place.exists("new/b.md") && !place.exists("new/deep"));
}

#[tokio::test]
async fn an_old_file_gets_its_content_and_permissions_back() {
    let place = Place::kept(&[("a.md", "old\r\nlines")]).await;
    let path = place.ws.join("a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let (call, output) = place.write("a.md", "new\n").await;
    assert!(!output.undo_token.is_empty());
    let (would, did) = place.undo(&call).await;
    assert_eq!(would, "The old content of `a.md` (10 bytes) would be restored.");
    assert_eq!(did, "The old content of `a.md` (10 bytes) is restored.");
    assert_eq!(place.content("a.md"), b"old\r\nlines");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // Once is enough, whoever changes the file afterwards.
    place.file("a.md", "later");
    let Ended::Undone(again) = place.back(&call, RollbackMode::Strict, false).await else {
        panic!()
    };
    let expected =
        "It was taken back already: The old content of `a.md` (10 bytes) is restored.".to_owned();
    assert_eq!((again, place.content("a.md")), (expected, b"later".to_vec()));
}

#[tokio::test]
async fn what_changed_since_is_shown_and_kept() {
    let place = Place::kept(&[("a.md", "one\ntwo\n")]).await;
    let (call, _) = place.write("a.md", "one\n2\n").await;
    place.file("a.md", "one\n2\nthree\n");
    assert_eq!(
        place.conflict(&call).await,
        "`a.md` was changed since: 6 bytes became 12 bytes; nothing was changed. Going back all \
         the same would do this:\n--- a.md (now)\n+++ a.md (before the call)\n\
         @@ -1,3 +1,2 @@\n one\n-2\n-three\n+two\n"
    );
    assert_eq!(place.content("a.md"), b"one\n2\nthree\n");
    fs::remove_file(place.ws.join("a.md")).unwrap();
    let gone = "`a.md` was removed or moved since; nothing was changed.";
    assert_eq!(place.conflict(&call).await, gone);
    // As the call left it again: nothing stands against it.
    place.file("a.md", "one\n2\n");
    fs::set_permissions(place.ws.join("a.md"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(
        place.conflict(&call).await,
        "The permissions of `a.md` were changed since, from 644 to 600; nothing was changed."
    );
}

#[tokio::test]
async fn a_person_may_go_back_all_the_same_or_beside() {
    let place = Place::kept(&[("a.md", "old\n")]).await;
    let (call, _) = place.write("a.md", "new\n").await;
    place.file("a.md", "newer\n");
    let beside = place.back(&call, RollbackMode::Beside, false).await;
    let text = "The old content of `a.md` is beside it, as `a.md.rollback`; `a.md` is as it was.";
    assert_eq!(beside, Ended::Undone(text.to_owned()));
    assert_eq!(place.content("a.md.rollback"), b"old\n");
    assert_eq!(place.content("a.md"), b"newer\n");
    let again = place.back(&call, RollbackMode::Beside, false).await;
    let text = "`a.md.rollback` exists already; move it away first.";
    assert_eq!(again, Ended::Conflict(text.to_owned()));
    let forced = place.back(&call, RollbackMode::Force, false).await;
    let text = "The old content of `a.md` (4 bytes) is restored.";
    assert_eq!(forced, Ended::Undone(text.to_owned()));
    assert_eq!(place.content("a.md"), b"old\n");
}

#[tokio::test]
async fn a_removed_file_comes_back_by_force_with_its_permissions() {
    let place = Place::kept(&[("a.md", "old\n")]).await;
    fs::set_permissions(place.ws.join("a.md"), fs::Permissions::from_mode(0o600)).unwrap();
    let (call, _) = place.write("a.md", "new\n").await;
    fs::remove_file(place.ws.join("a.md")).unwrap();
    let forced = place.back(&call, RollbackMode::Force, false).await;
    assert!(matches!(forced, Ended::Undone(_)), "{forced:?}");
    let mode = place.ws.join("a.md").metadata().unwrap().permissions().mode();
    assert_eq!((place.content("a.md"), mode & 0o777), (b"old\n".to_vec(), 0o600));
}

#[tokio::test]
async fn nothing_is_restored_through_a_link_that_came_since() {
    let place = Place::kept(&[("a.md", "old\n")]).await;
    let (call, _) = place.write("a.md", "new\n").await;
    fs::remove_file(place.ws.join("a.md")).unwrap();
    std::os::unix::fs::symlink(place.out.join("canary.txt"), place.ws.join("a.md")).unwrap();
    for mode in [RollbackMode::Strict, RollbackMode::Force] {
        let ended = place.back(&call, mode, false).await;
        assert!(matches!(ended, Ended::NotReversible(_)), "{ended:?}");
    }
    assert_eq!(fs::read(place.out.join("canary.txt")).unwrap(), b"CANARY");
}

#[tokio::test]
async fn the_preview_says_whether_there_is_a_way_back() {
    let small = "The old content is kept for some time, and can be restored.";
    let large = "Not reversible: the old content is not kept.";
    let place = Place::kept_up_to(&[("s.md", "1234\n"), ("l.md", "12345\n")], 65_541).await;
    for (path, note) in [("s.md", small), ("l.md", large)] {
        let arguments = json!({"path": path, "content": "new\n"});
        let preflight_response::Verdict::Ask(ask) = place.judge("write_file", &arguments).await
        else {
            panic!()
        };
        assert_eq!(ask.preview.lines().nth(1), Some(note));
    }
    let (call, _) = place.write("l.md", "new\n").await;
    let ended = place.back(&call, RollbackMode::Strict, false).await;
    let text = "The old content of `l.md` was not kept.";
    assert_eq!(ended, Ended::NotReversible(text.to_owned()));
}

#[tokio::test]
async fn a_write_that_changed_nothing_leaves_nothing_to_take_back() {
    let place = Place::kept(&[("a.md", "same\n")]).await;
    let (call, output) = place.write("a.md", "same\n").await;
    assert_eq!(output.undo_token, "");
    let ended = place.back(&call, RollbackMode::Strict, false).await;
    assert_eq!(ended, Ended::NotReversible("There is nothing to take back.".to_owned()));
}

#[tokio::test]
async fn a_dry_run_sees_the_file_as_it_will_be_once_later_writes_are_taken_back() {
    let place = Place::kept(&[]).await;
    let (first, _) = place.write("a.md", "one\n").await;
    let (second, _) = place.write("./a.md", "two\n").await;
    let (other, _) = place.write("b.md", "one\n").await;
    let (third, _) = place.write("a.md", "three\n").await;
    let conflict = place.look(&first, &[]).await;
    assert!(matches!(conflict, Ended::Conflict(_)), "{conflict:?}");
    let removed = Ended::Undone("`a.md`, a new file, would be removed.".to_owned());
    assert_eq!(place.look(&first, &[&third, &other, &second]).await, removed);
    let restored = "The old content of `a.md` (4 bytes) would be restored.".to_owned();
    assert_eq!(place.look(&second, &[&third]).await, Ended::Undone(restored));
    // One of them left out, or the wrong way round: that is not how it will be.
    for later in [&[&third, &other][..], &[&second, &third]] {
        let conflict = place.look(&first, later).await;
        assert!(matches!(conflict, Ended::Conflict(_)), "{conflict:?}");
    }
    assert_eq!(place.content("a.md"), b"three\n");
    for call in [&third, &second, &first] {
        let undone = place.back(call, RollbackMode::Strict, false).await;
        assert!(matches!(undone, Ended::Undone(_)), "{undone:?}");
    }
    assert!(!place.exists("a.md") && place.exists("b.md"));
}

#[tokio::test]
async fn a_change_between_two_writes_stands_against_the_first() {
    let place = Place::kept(&[("a.md", "old\n")]).await;
    let (first, _) = place.write("a.md", "one\n").await;
    place.file("a.md", "by hand\n");
    let (second, _) = place.write("a.md", "two\n").await;
    let text = "`a.md` was changed between this call and a later one that is to be taken back too; \
                nothing was changed.";
    assert_eq!(place.look(&first, &[&second]).await, Ended::Conflict(text.to_owned()));
}
