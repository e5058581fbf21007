//! The directory backend over a real folder and, where death counts, real processes.

use std::{
    collections::BTreeMap,
    env, fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    Address, Config, Discovery, Error, FolderError, Held, Instance, InstanceId, LiveSet, Owners,
    State, connect,
    testing::{DEADLINE, folder, has, instance, lacks, orchestrator, until},
};

async fn open(path: &Path) -> Arc<dyn Discovery> {
    connect(Config::Directory { path: path.to_owned() }).await.unwrap()
}

fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Checks that the owners that everyone sees are exactly those that hold.
async fn settled(owners: &mut watch::Receiver<Owners>, held: &[(&str, &watch::Receiver<Held>)]) {
    let mut expected: BTreeMap<u32, (InstanceId, u64)> = BTreeMap::new();
    for (id, held) in held {
        for (partition, revision) in held.borrow().iter() {
            let before = expected.insert(*partition, ((*id).into(), *revision));
            assert_eq!(before, None, "partition {partition} has two owners");
        }
    }
    let same = |owners: &Owners| {
        owners.len() == expected.len()
            && owners.iter().all(|(partition, owner)| {
                expected.get(partition) == Some(&(owner.instance.clone(), owner.revision))
            })
    };
    until(owners, same).await;
}

#[tokio::test]
async fn what_is_registered_is_seen_by_all_and_gone_after_release() {
    let folder = folder();
    let (one, two) = (open(folder.path()).await, open(folder.path()).await);
    let registration = one.register(instance("c-1")).await.unwrap();
    for discovery in [&one, &two] {
        let live = until(&mut discovery.live(), has("c-1")).await;
        assert_eq!(*live.instances, BTreeMap::from([("c-1".into(), instance("c-1"))]));
        assert!(discovery.is_confirmed());
    }
    registration.release().await;
    until(&mut one.live(), lacks("c-1")).await;
    until(&mut two.live(), lacks("c-1")).await;
    assert_eq!(files(&folder.path().join("instances")), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_comes_later_sees_those_before_it_in_its_first_view() {
    let folder = folder();
    let one = open(folder.path()).await;
    let _registration = one.register(instance("c-1")).await.unwrap();
    let two = open(folder.path()).await;
    assert!(two.live().borrow().instances.contains_key(&"c-1".into()));
}

#[tokio::test]
async fn dropping_the_registration_releases_it() {
    let folder = folder();
    let one = open(folder.path()).await;
    let registration = one.register(instance("c-1")).await.unwrap();
    let mut live = one.live();
    until(&mut live, has("c-1")).await;
    drop(registration);
    until(&mut live, lacks("c-1")).await;
}

#[tokio::test]
async fn a_registration_outlives_the_handle_it_came_from() {
    let folder = folder();
    let (one, two) = (open(folder.path()).await, open(folder.path()).await);
    let registration = one.register(orchestrator("o-1")).await.unwrap();
    let mut held = one.claim(&registration, 4).await.unwrap();
    drop(one);
    until(&mut two.live(), has("o-1")).await;
    until(&mut held, |held| held.len() == 4).await;
    registration.set_state(State::Draining).await.unwrap();
    let draining = |live: &LiveSet| live.instances.values().any(|it| it.state == State::Draining);
    until(&mut two.live(), draining).await;
}

#[tokio::test]
async fn an_id_that_lives_cannot_be_taken_and_one_that_ended_can() {
    let folder = folder();
    let (one, two) = (open(folder.path()).await, open(folder.path()).await);
    let registration = one.register(instance("c-1")).await.unwrap();
    let error = two.register(instance("c-1")).await.unwrap_err();
    assert!(matches!(&error, Error::Taken(id) if id.as_str() == "c-1"), "{error}");
    registration.release().await;
    two.register(instance("c-1")).await.unwrap();
}

#[tokio::test]
async fn an_id_that_is_no_file_name_is_refused() {
    let folder = folder();
    let one = open(folder.path()).await;
    for id in ["", "a/b", "../a", ".hidden", "a b", &"x".repeat(201)] {
        let error = one.register(instance(id)).await.unwrap_err();
        assert!(matches!(error, Error::Setting { key: "instance id", .. }), "{id}: {error}");
    }
}

#[tokio::test]
async fn a_folder_that_others_can_enter_is_refused() {
    let folder = folder();
    let path = folder.path().join("open");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let refused =
        |path: PathBuf| async move { connect(Config::Directory { path }).await.err().unwrap() };
    let error = refused(path.clone()).await;
    assert!(matches!(error, Error::Folder(FolderError::NotPrivate { mode: 0o750, .. })), "{error}");
    assert!(error.to_string().contains("chmod 700"), "{error}");

    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refused(file).await.to_string();
    assert!(error.contains("/file"), "{error}");

    // A private folder may be reached by a link: what counts is where it leads.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    open(&link).await;
}

#[tokio::test]
async fn missing_folders_are_made_private() {
    let folder = folder();
    let path = folder.path().join("a/b");
    open(&path).await;
    for made in [path.clone(), path.join("instances"), path.join("partitions")] {
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn leftovers_and_broken_records_are_cleared_away_or_passed_over() {
    let folder = folder();
    let one = open(folder.path()).await;
    let instances = folder.path().join("instances");
    let _registration = one.register(instance("c-1")).await.unwrap();
    // A record without a lock, a lock without a process, a draft, a stranger's file.
    let socket = folder.path().join("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let dead = Instance { address: Address::Unix(socket.clone()), ..instance("dead") };
    fs::write(instances.join("dead.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
    fs::write(instances.join("dead.lock"), "").unwrap();
    fs::write(instances.join("bad.json"), "{").unwrap();
    fs::write(instances.join(".draft.json"), "{").unwrap();
    fs::write(instances.join("README"), "").unwrap();
    let two = open(folder.path()).await;
    let live: Vec<InstanceId> = two.live().borrow().instances.keys().cloned().collect();
    assert_eq!(live, [InstanceId::from("c-1")]);
    // Those who look at once may leave an empty lock to the next look.
    let began = Instant::now();
    while files(&instances) != [".draft.json", "README", "c-1.json", "c-1.lock"] {
        assert!(began.elapsed() < DEADLINE, "{:?}", files(&instances));
        sleep(Duration::from_millis(20)).await;
    }
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_folder_emptied_under_it_is_filled_again() {
    let folder = folder();
    let path = folder.path().join("d");
    let (one, two) = (open(&path).await, open(&path).await);
    let registration = one.register(orchestrator("o-1")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    let before = *held.borrow().get(&0).unwrap();
    until(&mut two.owners(), |owners| owners.len() == 8).await;
    fs::remove_dir_all(&path).unwrap();
    let newer =
        |owners: &Owners| owners.len() == 8 && owners.values().all(|owner| owner.revision > before);
    until(&mut two.owners(), newer).await;
    until(&mut two.live(), has("o-1")).await;
    settled(&mut two.owners(), &[("o-1", &held)]).await;
}

#[tokio::test]
async fn the_first_claim_answers_with_all_partitions() {
    let folder = folder();
    let one = open(folder.path()).await;
    let registration = one.register(orchestrator("o-1")).await.unwrap();
    let held = one.claim(&registration, 256).await.unwrap();
    assert_eq!(held.borrow().keys().copied().collect::<Vec<_>>(), (0..256).collect::<Vec<_>>());
    settled(&mut one.owners(), &[("o-1", &held)]).await;
    // Asked again it is the same claim; asked for another count it is a mistake.
    let again = one.claim(&registration, 256).await.unwrap();
    assert_eq!(*again.borrow(), *held.borrow());
    let error = one.claim(&registration, 128).await.unwrap_err();
    assert!(matches!(error, Error::Setting { key: "partition count", .. }), "{error}");
}

#[tokio::test]
async fn two_claimants_at_once_share_and_never_overlap() {
    let folder = folder();
    let (one, two) = (open(folder.path()).await, open(folder.path()).await);
    let (a, b) = tokio::join!(one.register(orchestrator("a")), two.register(orchestrator("b")));
    let (a, b) = (a.unwrap(), b.unwrap());
    until(&mut one.live(), has("b")).await;
    until(&mut two.live(), has("a")).await;
    let (mut held_a, mut held_b) =
        tokio::join!(async { one.claim(&a, 256).await.unwrap() }, async {
            two.claim(&b, 256).await.unwrap()
        });
    until(&mut one.owners(), |owners| owners.len() == 256).await;
    settled(&mut two.owners(), &[("a", &held_a), ("b", &held_b)]).await;
    assert!(!held_a.borrow().is_empty() && !held_b.borrow().is_empty());

    // What one lets go, the other takes, with a higher revision.
    let given: Vec<u32> = held_a.borrow().keys().copied().take(3).collect();
    let before = held_a.borrow()[&given[0]];
    a.let_go(given.clone()).await.unwrap();
    let taken = |held: &Held| given.iter().all(|it| held.get(it).is_some_and(|r| *r > before));
    until(&mut held_b, taken).await;
    settled(&mut one.owners(), &[("a", &held_a), ("b", &held_b)]).await;

    // What one leaves, the other takes.
    b.release().await;
    until(&mut held_a, |held| held.len() == 256).await;
    settled(&mut one.owners(), &[("a", &held_a)]).await;
}

#[tokio::test]
async fn one_that_drains_claims_no_more() {
    let folder = folder();
    let (one, two) = (open(folder.path()).await, open(folder.path()).await);
    let a = one.register(orchestrator("a")).await.unwrap();
    let held_a = one.claim(&a, 16).await.unwrap();
    let b = two.register(orchestrator("b")).await.unwrap();
    a.set_state(State::Draining).await.unwrap();
    let draining = |live: &LiveSet| {
        live.instances.get(&"a".into()).is_some_and(|it| it.state == State::Draining)
    };
    until(&mut two.live(), draining).await;
    let mut held_b = two.claim(&b, 16).await.unwrap();
    let all: Vec<u32> = held_a.borrow().keys().copied().collect();
    assert_eq!(all.len(), 16);
    a.let_go(all).await.unwrap();
    until(&mut held_b, |held| held.len() == 16).await;
    assert!(held_a.borrow().is_empty());
}

/// Runs only as a child of other tests: registers, claims, and stays until it is killed.
#[tokio::test]
async fn registrant_process() {
    let Some(path) = env::var_os("CALLBOARD_TEST_FOLDER") else { return };
    let one = open(Path::new(&path)).await;
    let registration = one.register(orchestrator("child")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    println!("\nregistered {}", held.borrow().len());
    std::future::pending::<()>().await;
}

async fn spawn_registrant(path: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "directory::tests::registrant_process", "--nocapture"])
        .env("CALLBOARD_TEST_FOLDER", path)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line == "registered 8" {
            return child;
        }
    }
    panic!("the child ended without registering");
}

#[tokio::test]
async fn a_killed_process_is_forgotten_and_its_partitions_are_claimed() {
    let folder = folder();
    let one = open(folder.path()).await;
    let mut child = spawn_registrant(folder.path()).await;
    let mut live = one.live();
    until(&mut live, has("child")).await;
    let registration = one.register(orchestrator("o-1")).await.unwrap();
    let mut held = one.claim(&registration, 8).await.unwrap();
    assert!(held.borrow().is_empty());
    let before = until(&mut one.owners(), |owners| owners.len() == 8).await;

    child.kill().await.unwrap();
    until(&mut live, lacks("child")).await;
    let after = until(&mut held, |held| held.len() == 8).await;
    assert!(after.iter().all(|(partition, revision)| *revision > before[partition].revision));
    settled(&mut one.owners(), &[("o-1", &held)]).await;
    let instances = folder.path().join("instances");
    assert!(!instances.join("child.json").exists() && instances.join("o-1.json").exists());
}

#[tokio::test]
async fn a_stopped_process_keeps_what_it_has() {
    let folder = folder();
    let child = spawn_registrant(folder.path()).await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let one = open(folder.path()).await;
    let registration = one.register(orchestrator("o-1")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    assert!(held.borrow().is_empty());
    assert!(one.live().borrow().instances.contains_key(&"child".into()));
    let error = one.register(orchestrator("child")).await.unwrap_err();
    assert!(matches!(error, Error::Taken(_)), "{error}");
}

#[tokio::test]
async fn a_successor_of_the_same_name_inherits_no_claim() {
    let folder = folder();
    let mut child = spawn_registrant(folder.path()).await;
    let one = open(folder.path()).await;
    let before = until(&mut one.owners(), |owners| owners.len() == 8).await;
    child.kill().await.unwrap();
    until(&mut one.live(), lacks("child")).await;
    let registration = one.register(orchestrator("child")).await.unwrap();
    assert!(one.owners().borrow().is_empty());
    let held = one.claim(&registration, 8).await.unwrap();
    assert_eq!(held.borrow().len(), 8);
    assert!(held.borrow().iter().all(|(it, revision)| *revision > before[it].revision));
}

#[tokio::test]
async fn many_starting_at_once_all_see_one_another() {
    let folder = folder();
    let mut all = Vec::new();
    for n in 0..6 {
        let path = folder.path().to_owned();
        all.push(tokio::spawn(async move {
            let discovery = open(&path).await;
            let registration = discovery.register(instance(&format!("i-{n}"))).await.unwrap();
            until(&mut discovery.live(), |live| live.instances.len() == 6).await;
            (discovery, registration)
        }));
    }
    let mut kept = Vec::new();
    for one in all {
        kept.push(one.await.unwrap());
    }
}

#[tokio::test]
async fn the_view_ends_with_the_last_handle() {
    let folder = folder();
    let one = open(folder.path()).await;
    let mut live = one.live();
    drop(one);
    while live.changed().await.is_ok() {}
}

#[tokio::test]
async fn without_inotify_the_folder_is_polled() {
    let folders = super::folders::Folders::new(Path::new("/nonexistent"));
    let notice = super::notice::Notice::open(&folders);
    assert_eq!(notice.changed().await, super::notice::Change::Some);
}

#[test]
fn the_io_error_names_action_and_file() {
    let error = Error::Io {
        action: "write",
        path: "/d/x.json".into(),
        source: io::Error::from(io::ErrorKind::StorageFull),
    };
    assert_eq!(error.to_string(), "cannot write /d/x.json: no storage space");
}
