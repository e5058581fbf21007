//! The probe, as it is used at start and by people.

use std::process::Command;

use crate::place::LAUNCHER;

fn probe(program: &mut Command, isolation: &str) -> (Option<i32>, String) {
    let output = program.args(["__callboard-launch", "probe", isolation]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn all_walls_stand_on_this_machine() {
    for isolation in ["namespaces", "landlock"] {
        let found = probe(&mut Command::new(LAUNCHER), isolation);
        assert_eq!(found, (Some(0), format!("{isolation}\n")));
    }
}

#[test]
fn they_stand_without_privileges_as_well() {
    if !rustix::process::geteuid().is_root() {
        // Then the test above was the unprivileged one.
        return;
    }
    // Somebody else may not enter the folder that it was built in.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("shell");
    std::fs::copy(LAUNCHER, &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    for isolation in ["namespaces", "landlock"] {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        assert_eq!(probe(&mut nobody, isolation), (Some(0), format!("{isolation}\n")));
    }
}

#[test]
fn without_walls_nothing_is_offered() {
    let config = callboard_shell::Config { launcher: "/bin/true".into(), isolation: None };
    let service = callboard_shell::service_with(&config);
    assert!(service.describe().is_err_and(|error| error.to_string().ends_with("has no tool")));
}

#[test]
fn a_launcher_without_orders_does_nothing() {
    for arguments in [&["__callboard-launch"][..], &["__callboard-launch", "dance"]] {
        let output = Command::new(LAUNCHER).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_program_that_is_no_launcher_goes_on() {
    assert!(callboard_shell::launcher_main([]).is_none());
    assert!(callboard_shell::launcher_main(["callboard".into(), "ask".into()]).is_none());
}
