//! A session with its runs, whole, however many messages an orchestrator needs to tell it.

use callboard_proto::agent::{GetSessionRequest, GetSessionResponse, Principal, RunSummary};

use super::{Ask, Client, Orchestrators, request};
use crate::problem::{Kind, Problem};

impl Orchestrators {
    /// A session and its runs, oldest first; only the run that is named, where one is.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn session(
        &self,
        principal: Option<Principal>,
        session: &str,
        run: &str,
    ) -> Result<GetSessionResponse, Problem> {
        let mut get = GetSessionRequest {
            principal,
            session: session.to_owned(),
            run: run.to_owned(),
            ..GetSessionRequest::default()
        };
        let mut whole = self.page(&get).await?;
        loop {
            let next = std::mem::take(&mut whole.next_page_token);
            if next.is_empty() {
                return Ok(whole);
            }
            if next == get.page_token {
                return Err(Problem::new(Kind::Internal, "The session's pages do not go on."));
            }
            get.page_token = next;
            let page = self.page(&get).await?;
            append(&mut whole.runs, page.runs);
            whole.next_page_token = page.next_page_token;
        }
    }

    /// The session alone, as lists show it, with no more of its runs than one message holds.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn page(
        &self,
        get: &GetSessionRequest,
    ) -> Result<GetSessionResponse, Problem> {
        let send = async |mut client: Client| client.get_session(request(get.clone())).await;
        self.ask(Ask::about(&get.session), send).await
    }
}

/// Adds a page: a run in which the last page ended goes on with its next calls.
fn append(runs: &mut Vec<RunSummary>, page: Vec<RunSummary>) {
    let mut page = page.into_iter().peekable();
    if let (Some(last), Some(first)) = (runs.last_mut(), page.peek_mut())
        && last.id == first.id
    {
        last.calls.append(&mut first.calls);
        page.next();
    }
    runs.extend(page);
}

#[cfg(test)]
mod tests {
    use callboard_proto::agent::{CallSummary, RunSummary};

    use super::append;

    fn run(id: &str, calls: &[&str]) -> RunSummary {
        let call = |id: &&str| CallSummary { call_id: (*id).to_owned(), ..Default::default() };
        RunSummary {
            id: id.to_owned(),
            calls: calls.iter().map(call).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn a_run_that_goes_on_is_one_run() {
        let mut runs = vec![run("a", &["1"]), run("b", &["2"])];
        append(&mut runs, vec![run("b", &["3", "4"]), run("c", &[])]);
        append(&mut runs, vec![run("d", &["5"])]);
        append(&mut runs, Vec::new());
        let whole = [run("a", &["1"]), run("b", &["2", "3", "4"]), run("c", &[]), run("d", &["5"])];
        assert_eq!(runs, whole);
    }
}
