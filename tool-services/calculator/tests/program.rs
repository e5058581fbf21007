//! The calculator as the program that a team would run: it finds its place by the environment,
//! answers, and ends with exit code 0 after SIGTERM.

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use callboard_discovery::State;
    use callboard_proto::tool as wire;
    use callboard_tool::testing::Program;
    use rustix::process::{Pid, Signal, kill_process};
    use tokio::process::Command;

    #[tokio::test]
    async fn the_program_is_found_answers_many_at_once_and_ends_when_it_is_told_to() {
        let folder = std::env::temp_dir().join(format!("cb-calc-{}", std::process::id()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_callboard-calculator"));
        command.env_clear().env("CALLBOARD_TEAM", "finance");
        let mut program = Program::start(command, &folder).await.unwrap();
        let instance = &program.instance;
        assert_eq!((instance.name.as_str(), instance.team.as_str()), ("calculator", "finance"));
        assert_eq!((instance.state, Some(instance.pid)), (State::Serving, program.pid()));

        let answers = (0..50u32).map(|number| {
            let arguments = serde_json::json!({"expression": format!("{number} * {number} + 0.5")});
            let mut call = program.call("calculate", &arguments);
            call.team = "finance".to_owned();
            let caller = program.clone();
            tokio::spawn(async move {
                let outcome = caller.outcome(&call, wire::InvokeMode::Start).await.unwrap();
                (call.call_id, outcome)
            })
        });
        for (number, answer) in answers.collect::<Vec<_>>().into_iter().enumerate() {
            let (call_id, outcome) = answer.await.unwrap();
            let Some(wire::outcome::Result::Output(output)) = outcome.result else { panic!() };
            assert_eq!(outcome.call_id, call_id);
            assert_eq!(output.content, format!("{}.5", number * number));
        }

        let pid = Pid::from_raw(i32::try_from(program.pid().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(program.ended().await.unwrap().code(), Some(0));
        let gone = program.client().describe(wire::DescribeRequest {}).await;
        assert!(gone.is_err());
        // A temporary folder: what stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[tokio::test]
    async fn settings_that_cannot_work_end_it_with_exit_code_two() {
        let output = Command::new(env!("CARGO_BIN_EXE_callboard-calculator"))
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let expected = "error: set CALLBOARD_ETCD (endpoints) or CALLBOARD_DIRECTORY (a folder), \
            one of the two\n";
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
}
