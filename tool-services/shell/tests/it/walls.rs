//! What no command reaches, whatever it is made of.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::place::{ALL, Place};

const CANARY: &str = "the-canary-sings";

/// A place with a canary outside of the workspace.
async fn place(isolation: callboard_shell::Isolation) -> Place {
    let place = Place::with(isolation).await;
    std::fs::write(place.out("canary.txt"), CANARY).unwrap();
    place
}

#[tokio::test]
async fn files_outside_cannot_be_read_in_any_way() {
    for isolation in ALL {
        let place = place(isolation).await;
        let out = place.out("canary.txt").display().to_string();
        std::os::unix::fs::symlink(place.out("canary.txt"), place.ws("link")).unwrap();
        for command in [
            format!("cat {out}"),
            "cat ../out/canary.txt".to_owned(),
            "cat link".to_owned(),
            format!("cat /proc/self/root{out}; cat /proc/1/root{out}"),
            format!("$(printf Y2F0 | base64 -d) {out}"),
            format!("echo {out} | xargs head -n 1"),
            format!("read -r line < {out}; echo $line"),
            format!("ln -s {out} made && cat made"),
            format!("ln {out} made && cat made"),
            format!("cp -r {}/.. copied; cat copied/canary.txt", place.out("").display()),
            format!("sh -c 'cat {out}'; bash -c 'exec < {out}; cat'"),
            format!("/lib64/ld-linux-x86-64.so.2 /bin/cat {out}"),
            format!("find {} -exec cat {{}} +", place.out("").display()),
            format!("tar cf - {out} | cat"),
            "cat /etc/shadow /root/.bash_history /proc/1/environ".to_owned(),
        ] {
            let done = place.run(&command).await;
            assert!(!done.content.contains(CANARY), "{isolation:?}: {command}");
            assert!(!done.content.contains("root:"), "{isolation:?}: {command}");
        }
    }
}

#[tokio::test]
async fn files_outside_cannot_be_changed() {
    for isolation in ALL {
        let place = place(isolation).await;
        let out = place.out("").display().to_string();
        for command in [
            format!("echo x | tee {out}/written"),
            format!("echo x >> {out}/canary.txt; rm -rf {out}; mv {out} {out}2"),
            format!("chmod 777 {out}/canary.txt; touch {out}/canary.txt; mkdir {out}/new"),
            "touch ../beside; mkdir ../beside2".to_owned(),
            "touch /usr/made /etc/made /made /var/made; echo x > /etc/passwd".to_owned(),
        ] {
            place.run(&command).await;
            let left: Vec<_> = std::fs::read_dir(place.out("")).unwrap().flatten().collect();
            assert_eq!(left.len(), 1, "{isolation:?}: {command}");
            assert_eq!(std::fs::read_to_string(place.out("canary.txt")).unwrap(), CANARY);
            let beside = std::fs::read_dir(place.out("..")).unwrap().count();
            assert_eq!(beside, 2, "{isolation:?}: {command}");
        }
        assert!(!std::path::Path::new("/usr/made").exists());
    }
}

#[tokio::test]
async fn modes_owners_and_times_of_files_outside_stay() {
    for isolation in ALL {
        let place = place(isolation).await;
        let canary = place.out("canary.txt");
        let facts = |path: &std::path::Path| {
            use std::os::unix::fs::MetadataExt as _;
            let found = std::fs::metadata(path).unwrap();
            (found.mode(), found.uid(), found.mtime(), found.mtime_nsec())
        };
        let paths = [&canary, std::path::Path::new("/dev/null"), std::path::Path::new("/bin/sh")];
        for path in paths {
            let before = facts(path);
            let shown = path.display();
            let command = format!(
                "chmod 777 {shown}; chmod 0 {shown}; chown 1 {shown}; touch -d 2001-01-01 {shown}; \
                 perl -e 'open F, \"<\", $ARGV[0]; chmod 0777, *F; utime 1, 1, $ARGV[0]' {shown}"
            );
            place.run(&command).await;
            assert_eq!(facts(path), before, "{isolation:?}: {shown}");
        }
    }
}

#[tokio::test]
async fn nothing_of_the_service_is_inherited() {
    let place = Place::new().await;
    let done = place.run("ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0").await;
    // The fourth is the folder that `ls` reads.
    assert_eq!(done.stdout, "0 1 2 3 /dev/null\n");
}

#[tokio::test]
async fn sensitive_files_are_out_of_reach_under_every_name() {
    for isolation in ALL {
        let place = place(isolation).await;
        place.write(".env", CANARY);
        place.write("deep/er/id_ed25519", CANARY);
        place.write("deep/er/plain.txt", "plain");
        place.write("deep/api-token.json", CANARY);
        std::fs::hard_link(place.ws(".env"), place.ws("deep/notes.txt")).unwrap();
        std::os::unix::fs::symlink(".env", place.ws("link")).unwrap();
        for command in [
            "cat .env",
            "cat link deep/notes.txt deep/er/id_ed25519 deep/api-token.json",
            "cat .e* deep/*/* deep/*",
            "cp .env copy; cat copy; mv .env moved; cat moved; ln .env hard; cat hard",
            "chmod 777 .env; cat .env; rm -f .env; cat .env",
            "mv deep other; cat other/notes.txt other/er/id_ed25519; mv other deep",
            "tar cf - . | cat; grep -r sings .; find . -type f -exec cat {} +",
            "cd deep/er && cat ../../.env ../notes.txt",
            "cat /proc/self/cwd/.env; cat $PWD/./deep/../.env",
            "python3 -c 'print(open(\".env\").read())'; perl -pe '' .env; awk 1 .env; sed '' .env",
            "exec 3<.env; cat <&3; mapfile x < .env; echo \"${x[@]}\"",
            "dd if=.env bs=1; od -c .env; base64 .env | base64 -d; rev .env | rev",
            "dd if=/proc/self/mem bs=1 count=1; mount --bind . /tmp; umount -l .env; cat .env",
            "unshare -rm sh -c 'umount .env; cat .env'",
        ] {
            let done = place.run(command).await;
            assert!(!done.content.contains(CANARY), "{isolation:?}: {command}\n{}", done.content);
        }
        for name in [".env", "deep/er/id_ed25519", "deep/api-token.json", "deep/notes.txt"] {
            let content = std::fs::read_to_string(place.ws(name)).unwrap();
            assert_eq!(content, CANARY, "{isolation:?}: {name} was changed");
        }
        let done = place.run("cat deep/er/plain.txt; ls -a").await;
        assert!(done.stdout.starts_with("plain"), "what is not sensitive is read: {done:?}");
        assert!(done.stdout.contains(".env"), "names are no secret: {done:?}");
    }
}

#[tokio::test]
async fn what_runs_later_cannot_be_changed() {
    for isolation in ALL {
        let place = place(isolation).await;
        place.write(".git/HEAD", "ref: refs/heads/main\n");
        place.write(".git/config", "[core]\n");
        place.write(".git/hooks/pre-commit", "#!/bin/sh\n");
        place.write("callboard.toml", "# ours\n");
        place.write("sub/x", "x");
        for command in [
            "echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/new; rm -r .git/hooks",
            "echo evil >> .git/config; rm .git/config; mv .git/config c; ln -sf x .git/config",
            "mv .git away; rm -rf .git; mkdir .git; cp -r sub .git",
            "mv .git/hooks away; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
            "echo evil > callboard.toml; mv callboard.toml x; rm callboard.toml",
        ] {
            place.run(command).await;
            let read = |name| std::fs::read_to_string(place.ws(name)).unwrap();
            assert_eq!(read(".git/hooks/pre-commit"), "#!/bin/sh\n", "{isolation:?}: {command}");
            assert_eq!(read(".git/config"), "[core]\n", "{isolation:?}: {command}");
            assert_eq!(read("callboard.toml"), "# ours\n", "{isolation:?}: {command}");
            let hooks = std::fs::read_dir(place.ws(".git/hooks")).unwrap().count();
            assert_eq!(hooks, 1, "{isolation:?}: {command}");
        }
        let done = place.run("cat .git/hooks/pre-commit; echo y > sub/y; cat sub/y").await;
        assert_eq!(done.stdout, "#!/bin/sh\ny\n", "{isolation:?}: {done:?}");
    }
}

#[tokio::test]
async fn git_itself_still_works() {
    let place = Place::new().await;
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(place.ws("")).status();
    if !git.is_ok_and(|status| status.success()) {
        return;
    }
    let command = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && \
                   git log --format=%s; echo x > new && git add new && git status --short";
    let done = place.run(command).await;
    assert_eq!(done.stdout, "first\nA  new\n", "{}", done.content);
    let done =
        place.run("git --version >/dev/null && echo \"no shutdown\" > n.txt && cat n.txt").await;
    assert_eq!((done.stdout.as_str(), done.exit_code), ("no shutdown\n", 0));
}

#[tokio::test]
async fn nobody_can_be_called() {
    for isolation in ALL {
        let place = place(isolation).await;
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let outside = UnixListener::bind(place.out("s.sock")).unwrap();
        let inside = UnixListener::bind(place.ws("s.sock")).unwrap();
        for listener in [&outside, &inside] {
            listener.set_nonblocking(true).unwrap();
        }
        let (port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let command = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; echo x > /dev/udp/127.0.0.1/{udp_port}; \
             echo x > /dev/tcp/::1/{port}; curl -m 2 http://127.0.0.1:{port}/; cat > try.py <<'END'\n\
import socket, sys\n\
tries = [(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {port})),\n\
         (socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', {udp_port})),\n\
         (socket.AF_UNIX, socket.SOCK_STREAM, sys.argv[1]),\n\
         (socket.AF_UNIX, socket.SOCK_STREAM, 's.sock')]\n\
for family, kind, address in tries:\n\
    try:\n\
        s = socket.socket(family, kind); s.connect(address); s.send(b'x'); print('reached', address)\n\
    except OSError as error:\n\
        print('no', error)\n\
END\n\
             /usr/bin/python3 try.py {}",
            place.out("s.sock").display()
        );
        let done = place.run(&command).await;
        assert!(!done.content.contains("reached"), "{isolation:?}: {}", done.content);
        assert!(tcp.accept().is_err() && udp.recv(&mut [0; 9]).is_err(), "{isolation:?}");
        assert!(outside.accept().is_err() && inside.accept().is_err(), "{isolation:?}");
    }
}

#[tokio::test]
async fn processes_outside_cannot_be_seen_or_signalled() {
    for isolation in ALL {
        let place = place(isolation).await;
        let mut sleeper = std::process::Command::new("sleep").arg("318").spawn().unwrap();
        let pid = sleeper.id();
        let done = place
            .run(&format!("kill -9 {pid}; kill -9 -1; ls /proc/{pid}; cat /proc/{pid}/environ"))
            .await;
        assert!(sleeper.try_wait().unwrap().is_none(), "{isolation:?}: {}", done.content);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}

#[tokio::test]
async fn a_program_outside_of_the_system_does_not_run() {
    for isolation in ALL {
        let place = place(isolation).await;
        let program = place.out("shutdown-now");
        std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", place.ws("ran").display()))
            .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let path = program.display();
        let done = place.run(&format!("{path}; sh -c {path}; sh {path}; . {path}")).await;
        assert_ne!(done.exit_code, 0);
        assert!(!place.ws("ran").exists(), "{isolation:?}");
    }
}

#[tokio::test]
async fn deleting_in_the_workspace_works_once_it_was_agreed_to() {
    let place = Place::new().await;
    place.write("build/a", "x");
    place.write("kept", "x");
    assert_eq!(place.run("rm -rf ./build").await.exit_code, 0);
    assert!(!place.ws("build").exists() && place.ws("kept").exists());
}

#[tokio::test]
async fn a_workspace_of_the_machine_is_refused() {
    let config = callboard_shell::Config {
        launcher: crate::place::LAUNCHER.into(),
        isolation: Some(callboard_shell::Isolation::Namespaces),
    };
    for path in ["/", "/proc", "/dev"] {
        let service = callboard_shell::service_with(&config);
        let served =
            callboard_tool::testing::start_in(service, std::path::Path::new(path)).await.unwrap();
        let arguments = json!({ "command": "true" });
        let failure = served.approve_and_invoke("run_command", arguments).await.unwrap_err();
        assert!(failure.message.contains("belongs to the machine"), "{}", failure.message);
    }
}
