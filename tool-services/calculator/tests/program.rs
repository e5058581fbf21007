//! The calculator as the program that a team would run: it finds its place by the environment,
//! answers, and ends with exit code 0 after SIGTERM.

#[cfg(test)]
mod tests {
    use std::{
        path::PathBuf,
        process::{ExitStatus, Stdio},
        time::Duration,
    };

    use callboard_discovery::{Config, Instance, State, transport};
    use callboard_proto::tool::{self as wire, tool_service_client::ToolServiceClient};
    use tokio::{
        process::{Child, Command},
        time::timeout,
    };

    const PATIENCE: Duration = Duration::from_secs(30);

    struct Program {
        child: Child,
        folder: PathBuf,
    }

    impl Program {
        fn start() -> Self {
            let folder = std::env::temp_dir().join(format!("cb-calc-{}", std::process::id()));
            let child = Command::new(env!("CARGO_BIN_EXE_callboard-calculator"))
                .env_clear()
                .env("CALLBOARD_DIRECTORY", &folder)
                .env("CALLBOARD_TEAM", "finance")
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            Self { child, folder }
        }

        async fn found(&self) -> Instance {
            let config = Config::Directory { path: self.folder.clone() };
            let discovery = callboard_discovery::connect(config).await.unwrap();
            let mut live = discovery.live();
            let found = live.wait_for(|live| !live.instances.is_empty());
            timeout(PATIENCE, found)
                .await
                .unwrap()
                .unwrap()
                .instances
                .values()
                .next()
                .unwrap()
                .clone()
        }

        async fn terminate(&mut self) -> ExitStatus {
            let pid = i32::try_from(self.child.id().unwrap()).unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            // A temporary folder: what stays behind harms nobody.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    fn call(instance: &Instance, number: u32) -> wire::ToolCall {
        wire::ToolCall {
            call_id: format!("call-{number}"),
            attempt: 1,
            session: "session".to_owned(),
            epoch: Some(wire::Epoch { generation: 1, revision: 1 }),
            incarnation: instance.incarnation.clone(),
            team: "finance".to_owned(),
            tool: "calculate".to_owned(),
            arguments: format!(r#"{{"expression":"{number} * {number} + 0.5"}}"#).into(),
            ..wire::ToolCall::default()
        }
    }

    #[tokio::test]
    async fn the_program_is_found_answers_many_at_once_and_ends_when_it_is_told_to() {
        let mut program = Program::start();
        let instance = program.found().await;
        assert_eq!((instance.name.as_str(), instance.team.as_str()), ("calculator", "finance"));
        assert_eq!((instance.state, instance.pid), (State::Serving, program.child.id().unwrap()));

        let channel = transport::channel(&instance.address, &transport::Credentials::default());
        let client = ToolServiceClient::new(channel.unwrap());
        let answers = (0..50u32).map(|number| {
            let (mut client, call) = (client.clone(), call(&instance, number));
            tokio::spawn(async move {
                let mode = wire::InvokeMode::Start.into();
                let request = wire::InvokeRequest { call: Some(call), mode };
                let mut stream = client.invoke(request).await.unwrap().into_inner();
                stream.message().await.unwrap().unwrap().piece.unwrap()
            })
        });
        for (number, answer) in answers.collect::<Vec<_>>().into_iter().enumerate() {
            let wire::invoke_response::Piece::Outcome(outcome) = answer.await.unwrap() else {
                panic!()
            };
            let Some(wire::outcome::Result::Output(output)) = outcome.result else { panic!() };
            assert_eq!(outcome.call_id, format!("call-{number}"));
            assert_eq!(output.content, format!("{}.5", number * number));
        }

        assert_eq!(program.terminate().await.code(), Some(0));
        let gone = client.clone().describe(wire::DescribeRequest {}).await;
        assert!(gone.is_err());
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
