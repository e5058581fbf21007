//! Digests of requests' bodies: two requests under one key are the same if these are. What a client
//! wants to hear, and ids that the gateway chose, are no part of a body.

use callboard_proto::agent;

use crate::digest::Digest;

/// The body of a request for a run.
pub(crate) fn start_digest(request: &agent::StartRequest) -> String {
    let mut digest = Digest::default();
    digest.field(&request.input);
    approvals(&mut digest, request.approver_attached, &request.approve);
    let limits = request.limits.unwrap_or_default();
    let bounds = [u64::from(limits.max_steps), u64::from(limits.max_calls)];
    for bound in bounds.into_iter().chain([limits.max_time_ms, limits.max_tokens]) {
        digest.field(&bound.to_string());
    }
    if let Some(open) = &request.open {
        opening(&mut digest, open);
    }
    digest.finish()
}

/// The body of a request for a direct call.
pub(crate) fn direct_digest(request: &agent::InvokeToolRequest, arguments: &str) -> String {
    let mut digest = Digest::default();
    digest.field(&request.tool);
    digest.field(arguments);
    approvals(&mut digest, request.approver_attached, &request.approve);
    digest.finish()
}

/// The body of a request for a session.
pub(crate) fn open_digest(request: &agent::OpenSessionRequest) -> String {
    let mut digest = Digest::default();
    opening(&mut digest, request);
    digest.finish()
}

/// The body of a decision.
pub(crate) fn decision_digest(request: &agent::DecideRequest) -> String {
    let mut digest = Digest::default();
    digest.field(if request.approve { "approve" } else { "deny" });
    digest.field(&request.note);
    digest.field(&request.preview_digest);
    digest.finish()
}

/// The body of a choice.
pub(crate) fn choice_digest(request: &agent::ChooseRequest) -> String {
    let mut digest = Digest::default();
    digest.field(&request.choice);
    digest.field(&request.note);
    digest.finish()
}

/// The body of a rollback.
pub(crate) fn rollback_digest(request: &agent::RollbackRequest) -> String {
    let mut digest = Digest::default();
    match &request.what {
        Some(agent::rollback_request::What::CallId(call)) => {
            digest.field("call");
            digest.field(call);
        }
        Some(agent::rollback_request::What::ToStep(step)) => {
            digest.field("step");
            digest.field(&step.to_string());
        }
        None => digest.field(""),
    }
    digest.finish()
}

fn approvals(digest: &mut Digest, is_attached: bool, globs: &[String]) {
    digest.field(if is_attached { "approver" } else { "" });
    list(digest, globs);
}

fn opening(digest: &mut Digest, open: &agent::OpenSessionRequest) {
    digest.field(&open.agent);
    list(digest, &open.models);
    digest.field(&open.title);
}

fn list(digest: &mut Digest, texts: &[String]) {
    digest.field(&texts.len().to_string());
    for text in texts {
        digest.field(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_body_counts_and_nothing_else() {
        let base = || agent::StartRequest {
            input: "hello".to_owned(),
            approve: vec!["a".to_owned(), "b".to_owned()],
            open: Some(agent::OpenSessionRequest::default()),
            ..agent::StartRequest::default()
        };
        let same = agent::StartRequest {
            run: "another".to_owned(),
            watch: agent::Watch::All.into(),
            ..base()
        };
        assert_eq!(start_digest(&same), start_digest(&base()));
        let limits = agent::RunLimits { max_steps: 3, ..agent::RunLimits::default() };
        let open = agent::OpenSessionRequest {
            models: vec!["offline".to_owned()],
            ..agent::OpenSessionRequest::default()
        };
        for other in [
            agent::StartRequest { input: "hello!".to_owned(), ..base() },
            agent::StartRequest { approver_attached: true, ..base() },
            agent::StartRequest { approve: vec!["ab".to_owned()], ..base() },
            agent::StartRequest { limits: Some(limits), ..base() },
            agent::StartRequest { open: Some(open), ..base() },
        ] {
            assert_ne!(start_digest(&other), start_digest(&base()), "{other:?}");
        }
    }
}
