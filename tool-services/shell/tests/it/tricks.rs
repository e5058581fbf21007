//! Ways around the walls that take more than one command, or that leave something for later.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::place::{ALL, Place};

const CANARY: &str = "the-canary-sings";

#[tokio::test]
async fn a_git_folder_is_no_place_to_hide_sensitive_files_in() {
    for isolation in ALL {
        let place = Place::with(isolation).await;
        place.write("sub/.env", CANARY);
        place.write("x/.git/plain", "");
        std::fs::hard_link(place.ws("sub/.env"), place.ws("x/.git/hl")).unwrap();
        place.run("mkdir -p y/.git && mv sub y/.git/sub").await;
        let done = place.run("cat y/.git/sub/.env sub/.env x/.git/hl").await;
        assert!(!done.content.contains(CANARY), "{isolation:?}: {}", done.content);
    }
}

#[tokio::test]
async fn a_path_too_long_for_the_kernel_is_no_place_either() {
    let place = Place::new().await;
    place.write("sub/.env", CANARY);
    let dig = "d=$(printf 'd%.0s' {1..250}); for i in {1..20}; do mkdir -p $d; cd $d; done; ";
    let done = place.run(&format!("{dig} mv \"$OLDPWD\"/x . ; mkdir in; cd in; pwd | wc -c")).await;
    assert_eq!(done.exit_code, 0, "{}", done.content);
    let up = "../".repeat(20);
    place.run(&format!("{dig} mv {up}sub sub; ls")).await;
    assert!(!place.ws("sub").exists(), "it was moved");
    let done =
        place.try_run(json!({ "command": format!("{dig} ls; cat sub/.env") })).await.unwrap();
    assert!(done.stdout.contains("sub"), "{}", done.content);
    assert!(!done.content.contains(CANARY), "{}", done.content);
}

#[tokio::test]
async fn a_command_that_moves_files_does_not_open_the_walls_of_another() {
    let place = Place::new().await;
    place.write("a/.env", CANARY);
    let moves = "for i in {1..2000}; do mv a b; mv b a; done 2>/dev/null; true";
    let reads = async {
        for _ in 0..10 {
            let done = place.run("cat a/.env b/.env").await;
            assert!(!done.content.contains(CANARY), "{}", done.content);
        }
    };
    tokio::join!(place.run(moves), reads);
}

#[tokio::test]
async fn no_file_gets_the_rights_of_its_owner() {
    for isolation in ALL {
        let place = Place::with(isolation).await;
        place.write("sub/plain", "");
        let script = "import os, ctypes\n\
            for mode in (0o4755, 0o2755, 0o6755):\n\
            \x20for make in (lambda: os.open('o%o' % mode, os.O_CREAT | os.O_WRONLY, mode),\n\
            \x20             lambda: os.mknod('n%o' % mode, 0o100000 | mode),\n\
            \x20             lambda: os.chmod('sub/plain', mode),\n\
            \x20             lambda: os.fchmod(os.open('sub/plain', os.O_RDONLY), mode)):\n\
            \x20 try: make(); print('made')\n\
            \x20 except PermissionError: pass\n\
            how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)\n\
            if ctypes.CDLL(None).syscall(437, -100, b'how', how, 24) >= 0: print('made')\n";
        place.write("try.py", script);
        let command = "cp /bin/bash s && chmod 6755 s; chmod u+s s; install -m 4755 /bin/bash t; \
                       /usr/bin/python3 try.py; echo done";
        let done = place.run(command).await;
        assert_eq!(done.stdout, "done\n", "{isolation:?}: {}", done.content);
        for folder in ["", "sub"] {
            for entry in std::fs::read_dir(place.ws(folder)).unwrap().flatten() {
                let is_folder = entry.file_type().unwrap().is_dir();
                let mode = entry.metadata().unwrap().permissions().mode();
                assert!(is_folder || mode & 0o6000 == 0, "{isolation:?}: {:?}", entry.path());
            }
        }
    }
    let place = Place::new().await;
    let done = place.run("touch x && chmod 1755 x && chmod 644 x && mkdir -m 700 y").await;
    assert_eq!(done.exit_code, 0, "other modes are set: {}", done.content);
}

#[tokio::test]
async fn hooks_that_a_command_leaves_are_told() {
    for isolation in ALL {
        for (command, path) in [
            ("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", "`.git/hooks/pre-commit`"),
            ("echo x > old/.git/hooks/post-merge", "`old/.git/hooks/post-merge`"),
            ("echo x > callboard.toml; false", "`callboard.toml`"),
        ] {
            let place = Place::with(isolation).await;
            place.write("old/.git/hooks/post-merge", "");
            let told = place.run(command).await.output.diagnostics;
            assert!(told.iter().any(|text| text.contains(path)), "{isolation:?}: {told:?}");
        }
        let place = Place::with(isolation).await;
        place.write("old/.git/hooks/post-merge", "");
        let told = place.run("ls; touch y").await.output.diagnostics;
        assert!(told.is_empty(), "{isolation:?}: {told:?}");
    }
}
