//! How commands end, and that nothing of them stays.

use std::time::Duration;

use callboard_proto::tool as wire;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;

use crate::place::{ALL, Place, processes_with};

#[tokio::test]
async fn time_that_is_up_ends_the_whole_tree() {
    for (isolation, marker) in ALL.into_iter().zip(["311.1", "311.2"]) {
        let place = Place::with(isolation).await;
        let command =
            format!("echo begun; sleep {marker} & setsid sleep {marker} & sleep {marker}");
        let began = Instant::now();
        let arguments = json!({ "command": command, "timeout_s": 1 });
        let failure = place.try_run(arguments).await.unwrap_err();
        assert_eq!(processes_with(marker), [] as [&str; 0], "{isolation:?}");
        assert_eq!(failure.kind(), wire::FailureKind::Timeout);
        assert!(failure.message.starts_with("Stopped after 1."), "{}", failure.message);
        assert!(failure.message.contains("its time limit is 1 s"), "{}", failure.message);
        assert!(failure.message.ends_with("begun\n"), "{}", failure.message);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_deadline_that_comes_first_is_named_as_what_it_is() {
    let place = Place::new().await;
    for (deadline_ms, says) in [
        (1_900, "the deadline of the run or of the call left it 0."),
        (900, "Nothing was started: the deadline of the run or of the call left no time"),
    ] {
        let arguments = json!({ "command": "echo begun; sleep 315", "timeout_s": 30 });
        let failure = place.run_within(arguments, Duration::from_millis(deadline_ms)).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind(), wire::FailureKind::Timeout, "{failure:?}");
        assert!(failure.message.contains(says), "{}", failure.message);
        assert!(!failure.message.contains("limit is"), "{}", failure.message);
    }
    let failure =
        place.run_within(json!({ "command": "sleep 316.7" }), Duration::from_millis(1_900));
    let message = failure.await.unwrap_err().message;
    assert!(message.contains(" s of its time limit of 60 s. "), "{message}");
    assert_eq!(processes_with("316.7"), [] as [&str; 0]);
}

#[tokio::test]
async fn a_process_that_ignores_the_wish_to_end_is_ended() {
    for (isolation, marker) in ALL.into_iter().zip(["312.1", "312.2"]) {
        let place = Place::with(isolation).await;
        let command = format!("trap '' TERM; while :; do sleep {marker}; done");
        let failure =
            place.try_run(json!({ "command": command, "timeout_s": 1 })).await.unwrap_err();
        assert_eq!(failure.kind(), wire::FailureKind::Timeout);
        assert_eq!(processes_with(marker), [] as [&str; 0], "{isolation:?}");
    }
}

#[tokio::test]
async fn a_command_may_tidy_up_before_it_ends() {
    let place = Place::new().await;
    let command = "trap 'echo tidied > tidied; exit 1' TERM; sleep 313 & wait";
    let failure = place.try_run(json!({ "command": command, "timeout_s": 1 })).await.unwrap_err();
    assert_eq!(failure.kind(), wire::FailureKind::Timeout);
    assert_eq!(std::fs::read_to_string(place.ws("tidied")).unwrap(), "tidied\n");
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    for (isolation, marker) in ALL.into_iter().zip(["314.1", "314.2"]) {
        let place = Place::with(isolation).await;
        let command = format!("(setsid nohup sleep {marker} &) >/dev/null 2>&1; echo left");
        let began = Instant::now();
        assert_eq!(place.run(&command).await.stdout, "left\n");
        assert_eq!(processes_with(marker), [] as [&str; 0], "{isolation:?}");
        // One that holds on to the output does not keep the answer.
        let done = place.run(&format!("sleep {marker} & echo held")).await;
        assert_eq!(done.stdout, "held\n");
        assert!(began.elapsed() < Duration::from_mins(1));
        assert_eq!(processes_with(marker), [] as [&str; 0], "{isolation:?}");
    }
}

#[tokio::test]
async fn a_cancelled_command_is_gone_when_that_is_told() {
    for (isolation, marker) in ALL.into_iter().zip(["315.1", "315.2"]) {
        let place = Place::with(isolation).await;
        let command = format!("touch begun; setsid sleep {marker} & sleep {marker}");
        let mut call = place.served.call("run_command", &json!({ "command": command }));
        let verdict = place.served.preflight(call.clone()).await.unwrap();
        let wire::preflight_response::Verdict::Ask(ask) = verdict else { panic!("{verdict:?}") };
        call.approved_preview = ask.preview_digest;
        let cancel = wire::CancelRequest {
            deployment: call.deployment.clone(),
            session: call.session.clone(),
            call_id: call.call_id.clone(),
            partition: call.partition,
            epoch: call.epoch,
            team: call.team.clone(),
        };
        let cancelling = async {
            while !place.ws("begun").exists() {
                tokio::task::yield_now().await;
            }
            place.served.client().cancel(cancel).await.unwrap()
        };
        let (outcome, _) = tokio::join!(place.served.start(call), cancelling);
        let failure = outcome.unwrap().unwrap_err();
        assert_eq!(failure.kind(), wire::FailureKind::Cancelled);
        assert!(failure.message.contains("Cancelled after "), "{}", failure.message);
        assert_eq!(processes_with(marker), [] as [&str; 0], "{isolation:?}");
    }
}

#[tokio::test]
async fn many_commands_leave_no_zombie_and_no_mount() {
    let place = Place::new().await;
    let mounts = || std::fs::read_to_string("/proc/self/mounts").unwrap();
    let before = mounts();
    for round in 0..10 {
        let at_once = (0..10).map(async |number| {
            let command = format!("echo {round}-{number}; (exit 3) & wait");
            assert_eq!(place.run(&command).await.stdout, format!("{round}-{number}\n"));
        });
        join_all(at_once).await;
    }
    assert_eq!(zombies(), 0);
    assert_eq!(mounts(), before);
}

#[tokio::test]
async fn commands_at_the_same_time_do_not_meet() {
    let (place, other) = (Place::new().await, Place::new().await);
    let one = place.run("echo one > $TMPDIR/x; until [ -e go ]; do :; done; cat $TMPDIR/x; ps -e");
    let two = async {
        let done = other.run("ls $TMPDIR; ps -e | grep -c sleep").await;
        place.write("go", "");
        done
    };
    let (one, two) = tokio::join!(one, two);
    assert!(one.stdout.starts_with("one\n"), "{one:?}");
    assert_eq!(two.stdout, "0\n");
}

#[tokio::test]
async fn too_many_processes_are_ended_before_they_hurt() {
    let place = Place::new().await;
    let command = "for i in $(seq 400); do sleep 317 & done; wait";
    let failure = place.try_run(json!({ "command": command })).await.unwrap_err();
    assert_eq!(failure.kind(), wire::FailureKind::TooLarge);
    assert!(failure.message.contains("more than 256 processes at once"), "{}", failure.message);
    assert_eq!(processes_with("sleep 317"), [] as [&str; 0]);
}

#[tokio::test]
async fn a_file_over_the_limit_is_not_written() {
    let place = Place::new().await;
    let done = place.run("truncate -s 600M big; echo $?; ulimit -c; ulimit -n").await;
    assert_ne!(done.exit_code, -1);
    assert!(!place.ws("big").exists() || std::fs::metadata(place.ws("big")).unwrap().len() == 0);
}

/// Children of this process that ended and were not waited for.
fn zombies() -> usize {
    let pid = std::process::id().to_string();
    let is_zombie = |stat: String| {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        Some(fields.next()? == "Z" && fields.next()? == pid)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| is_zombie(stat.clone()) == Some(true))
        .count()
}
