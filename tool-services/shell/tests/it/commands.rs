//! What commands answer.

use serde_json::json;

use crate::place::{ALL, Place};

#[tokio::test]
async fn a_command_answers_with_its_exit_code_and_what_it_wrote() {
    for isolation in ALL {
        let place = Place::with(isolation).await;
        let done = place.run("echo out; echo err >&2; exit 3").await;
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!((done.exit_code, &done.structured["success"]), (3, &json!(false)));
        let (status, rest) = done.content.split_once('\n').unwrap();
        assert!(status.starts_with("Exit code 3 after 0.") && status.ends_with(" s."), "{status}");
        assert_eq!(rest, "\nout\n\nStandard error:\nerr\n");
        let done = place.run("true").await;
        assert_eq!((done.exit_code, &done.structured["success"]), (0, &json!(true)));
        assert!(done.content.ends_with(" s. No output."), "{}", done.content);
    }
}

#[tokio::test]
async fn input_is_at_its_end_at_once() {
    let place = Place::new().await;
    assert_eq!(place.run("read -r line; echo \"read says $?\"").await.stdout, "read says 1\n");
    let done = place.run("cat <<'END'\nfrom here\nEND\nread -r more; echo \"then $?\"").await;
    assert_eq!(done.stdout, "from here\nthen 1\n");
    assert_eq!(place.run("cat").await.exit_code, 0);
}

#[tokio::test]
async fn a_command_is_run_to_the_letter() {
    let place = Place::new().await;
    assert_eq!(place.run("cat <<'END'\nlast line\nEND").await.stdout, "last line\n");
    assert_eq!(place.run("echo a # and no more").await.stdout, "a\n");
    assert_eq!(place.run("printf '%s|' \"a  b\" 'c\"d' $'e\\tf'").await.stdout, "a  b|c\"d|e\tf|");
    assert_eq!(place.run("x=1\nif [ $x = 1 ]; then\n  echo yes\nfi\n").await.stdout, "yes\n");
}

#[tokio::test]
async fn a_signal_is_told_as_one() {
    for isolation in ALL {
        let place = Place::with(isolation).await;
        let done = place.run("printf 'so far\\n'; kill -KILL $$").await;
        assert_eq!(done.stdout, "so far\n");
        assert_eq!((done.exit_code, &done.structured["signal"]), (137, &json!(9)));
        assert_eq!(done.structured["success"], json!(false));
        assert!(done.content.starts_with("Killed by signal 9 (SIGKILL) after "));
        // The shell survives, and says it in its own way.
        assert_eq!(place.run("sh -c 'kill -TERM $$'; echo $?").await.stdout, "143\n");
    }
}

#[tokio::test]
async fn a_folder_with_any_name_can_be_worked_in() {
    let place = Place::new().await;
    std::fs::create_dir_all(place.ws("two words/деревья 木")).unwrap();
    let arguments = json!({
        "command": "basename \"$PWD\"; touch 'c d.txt'; ls",
        "cwd": "two words/деревья 木",
    });
    let done = place.try_run(arguments).await.unwrap();
    assert_eq!(done.stdout, "деревья 木\nc d.txt\n");
    assert!(place.ws("two words/деревья 木/c d.txt").exists());
}

#[tokio::test]
async fn a_folder_that_is_none_or_lies_outside_is_refused() {
    let place = Place::new().await;
    place.write("file", "x");
    std::os::unix::fs::symlink(place.out(""), place.ws("link")).unwrap();
    for cwd in ["nowhere", "file", "..", "../out", "link", "/etc"] {
        let arguments = json!({ "command": "touch made", "cwd": cwd });
        let failure = place.try_run(arguments).await.unwrap_err();
        assert!(!failure.message.contains("internal"), "{cwd}: {}", failure.message);
    }
    assert!(!place.out("made").exists() && !place.ws("made").exists());
}

#[tokio::test]
async fn the_workspace_can_be_changed_and_temporary_files_are_not_left() {
    for isolation in ALL {
        let place = Place::with(isolation).await;
        let command = "mkdir -p a/b && echo hi > a/b/c && echo t > $TMPDIR/t && cat $TMPDIR/t && \
                       mv a/b/c d && ln d e && rm -r a && ls";
        let done = place.run(command).await;
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("t\nd\ne\n", ""));
        assert_eq!(std::fs::read_to_string(place.ws("d")).unwrap(), "hi\n");
        assert_eq!(place.run("ls $TMPDIR").await.stdout, "", "the next one starts afresh");
    }
    let place = Place::new().await;
    let done = place.run("printf '#!/bin/sh\\necho ran' > x && chmod +x x && ./x").await;
    assert_eq!(done.stdout, "ran\n", "{}", done.content);
}

#[tokio::test]
async fn programs_find_what_they_need_and_nothing_of_the_service() {
    let place = Place::new().await;
    let done = place.run("env | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo $HOME $TERM").await;
    assert_eq!(
        done.stdout,
        "HOME LANG OLDPWD PAGER PATH PWD SHELL SHLVL TERM TMPDIR _ \n/tmp dumb\n"
            .replace("OLDPWD ", "")
    );
    let done = place.run("cat <(echo one) && echo two > /dev/stdout && ls /dev && id -u").await;
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(
        done.stdout,
        format!(
            "one\ntwo\nfd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n{uid}\n"
        )
    );
    let done =
        place.run("printf 'b\\na\\n' | sort | awk '{print NR\": \"$0}'; ps -e | wc -l").await;
    assert!(done.stdout.starts_with("1: a\n2: b\n"), "{done:?}");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_as_an_artifact() {
    let place = Place::new().await;
    let done = place.run("seq 1 20000; echo the end >&2").await;
    assert!(done.content.len() < 40_000);
    assert!(done.stdout.starts_with("1\n2\n3\n") && done.stdout.ends_with("\n19999\n20000\n"));
    // `seq 1 20000 | wc -c` says 108894.
    assert!(done.stdout.contains("[… 96,6"), "{}", done.stdout.len());
    assert_eq!(done.structured["truncated"], json!(true));
    let whole = String::from_utf8(done.output.artifact.to_vec()).unwrap();
    assert!(whole.contains("\n10000\n") && whole.contains("the end"));
}

#[tokio::test]
async fn a_flood_of_output_blocks_nobody() {
    let place = Place::new().await;
    let done = place.run("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo done").await;
    assert_eq!(done.exit_code, 0);
    assert!(done.stdout.ends_with("xxx\ndone\n"));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_escaped_and_flagged() {
    let place = Place::new().await;
    let done = place.run("printf 'caf\\xe9\\n'").await;
    assert_eq!(done.stdout, "caf\\xe9\n");
    assert_eq!(done.output.diagnostics, ["Bytes that are not UTF-8 are shown as \\xHH."]);
    assert_eq!(place.run("echo café").await.output.diagnostics, [] as [&str; 0]);
}

#[tokio::test]
async fn arguments_that_cannot_be_are_told_all_at_once() {
    let place = Place::new().await;
    let arguments = json!({ "command": " \n", "timeout_s": 601 });
    let failure = place.try_run(arguments).await.unwrap_err();
    let violations: Vec<_> = failure
        .violations
        .iter()
        .map(|violation| (violation.pointer.as_str(), violation.message.as_str()))
        .collect();
    assert_eq!(violations, [("/command", "must not be empty"), ("/timeout_s", "must be 1 to 600")]);
    let long = "x".repeat(17 * 1024);
    for command in ["a\0b", &long] {
        let failure = place.try_run(json!({ "command": command })).await.unwrap_err();
        assert_eq!(
            failure.violations.first().map(|it| it.pointer.as_str()),
            Some("/command"),
            "{failure:?}"
        );
    }
    let arguments = json!({ "command": "ls", "shell": "zsh" });
    let failure = place.served.invoke("run_command", arguments).await.unwrap_err();
    assert!(failure.violations[0].message.contains("unknown field `shell`"), "{failure:?}");
}

#[tokio::test]
async fn as_root_a_command_becomes_the_owner_of_the_workspace() {
    if !rustix::process::geteuid().is_root() {
        // Anybody else is the owner already, or may not do more than that.
        return;
    }
    for isolation in ALL {
        let place = Place::with(isolation).await;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.ws(".."), open).unwrap();
        std::os::unix::fs::chown(place.ws(""), Some(65_534), Some(65_534)).unwrap();
        place.write(".env", "SECRET=1");
        std::fs::create_dir(place.ws("sub")).unwrap();
        std::os::unix::fs::chown(place.ws("sub"), Some(65_534), Some(65_534)).unwrap();
        let done = place.run("id -u; touch sub/made; cat .env; cat /etc/shadow").await;
        assert_eq!(done.stdout, "65534\n", "{}", done.content);
        let made = std::fs::metadata(place.ws("sub/made")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&made), 65_534);
    }
}
