//! The token that a cluster with authentication on wants beside each question: fetched before the
//! first, and anew when a refusal shows that it has aged, at most once a second since the password
//! check is dear to the cluster.

use std::time::Duration;

use tokio::time::Instant;
use tonic::{Code, Request, Status, metadata::AsciiMetadataValue};

use super::{
    client::{Client, answer},
    cluster::{Cluster, Failure},
    wire::etcdserverpb::{AuthenticateRequest, auth_client::AuthClient},
};

/// Logins of one client are at least this far apart.
const PACE: Duration = Duration::from_secs(1);

/// What a client knows of its login.
#[derive(Debug, Default)]
pub(super) struct Pass {
    token: Option<AsciiMetadataValue>,
    asked: Option<Instant>,
    is_open: bool,
}

impl Pass {
    /// Logs in again before the next question.
    pub(super) fn forget(&mut self) {
        self.token = None;
        self.is_open = false;
    }

    /// Whether the question that met with `status` is worth asking again after a new login.
    pub(super) fn renew(&mut self, cluster: &Cluster, status: &Status) -> bool {
        let is_refusal = matches!(
            status.code(),
            // The last is what an old revision of the user table meets with.
            Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument
        );
        let is_worth_it = cluster.login.is_some()
            && is_refusal
            && self.asked.is_none_or(|asked| asked.elapsed() > PACE);
        if is_worth_it {
            self.forget();
        }
        is_worth_it
    }
}

impl Client {
    /// A request with the token where one is wanted.
    pub(super) async fn request<Q>(&mut self, question: Q) -> Result<Request<Q>, Failure> {
        let mut request = Request::new(question);
        if self.pass.token.is_none() && !self.pass.is_open {
            self.log_in().await?;
        }
        if let Some(token) = &self.pass.token {
            request.metadata_mut().insert("token", token.clone());
        }
        Ok(request)
    }

    async fn log_in(&mut self) -> Result<(), Failure> {
        let Some(login) = self.cluster.login.clone() else {
            self.pass.is_open = true;
            return Ok(());
        };
        self.pass.asked = Some(Instant::now());
        let channel = self.channel.clone();
        let question = AuthenticateRequest { name: login.user, password: login.password };
        let asked = async move { AuthClient::new(channel).authenticate(question).await };
        match answer(Box::pin(asked)).await {
            Ok(answer) => {
                let token = answer.token.parse();
                self.pass.token =
                    Some(token.map_err(|_| Failure::Answer("unreadable token".to_owned()))?);
                Ok(())
            }
            // The cluster has authentication switched off: there is nothing to show.
            Err(status) if status.code() == Code::FailedPrecondition => {
                self.pass.is_open = true;
                Ok(())
            }
            // So it answers to a wrong user or password.
            Err(status) if status.code() == Code::InvalidArgument => {
                Err(Failure::Denied(status.message().to_owned()))
            }
            Err(status) => Err(self.fail(&status)),
        }
    }
}
