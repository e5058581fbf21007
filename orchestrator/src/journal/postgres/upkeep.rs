//! The writer's connection: made again when it broke, with what an earlier one had begun ended
//! first, and with a look at which server it is now.
//!
//! Left to others: what is written over it. Next: `claim`.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Statement;

use crate::journal::fault::Fault;

use super::append;
use super::row;
use super::schema::SCHEMA;
use super::server::Link;
use super::writer::Writer;

/// First pause between tries to connect; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Longest pause between tries to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Everything that the writer does is by key; stale statistics must not have it read whole tables.
const WRITER_SET_UP: &str = "SET enable_seqscan TO off";

/// Ends what an earlier connection of ours had begun, and waits for that: afterwards a statement
/// whose answer was lost is done, or never will be.
const END_EARLIER: &str = "
SELECT coalesce(bool_and(pg_terminate_backend(pid, 3000)), true) FROM pg_stat_activity
 WHERE application_name = $1 AND pid <> pg_backend_pid() AND usename = current_user";

/// A cluster, a history of it, a database in it: another one may lack what was told to clients.
const LINEAGE: &str = "
SELECT c.system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
       || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
  FROM pg_control_system() c";

/// A connection that can be written to.
pub(super) struct Ready {
    pub(super) link: Link,
    pub(super) append: Statement,
}

/// The fault of a connection that is not there.
pub(super) fn not_connected() -> Fault {
    Fault::Unreachable("the connection broke".to_owned())
}

impl Writer {
    /// Makes sure that there is a connection.
    ///
    /// # Errors
    /// `Unreachable` if there is none at `deadline`, or now if the journal is to be closed.
    pub(super) async fn connected(&mut self, deadline: Instant) -> Result<(), Fault> {
        if self.ready.as_ref().is_some_and(|ready| !ready.link.is_closed()) {
            return Ok(());
        }
        self.disconnect();
        let mut pause = FIRST_PAUSE;
        loop {
            let fault = match self.connect().await {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            };
            tracing::debug!(?fault, "journal not connected");
            if let Fault::Unreachable(_) | Fault::Other(_) = &fault {
                self.counters.pulse.met(&Fault::Unreachable(fault.text().to_owned()));
            }
            // Jitter: many processes lost the same server.
            let wait = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
            if Instant::now() + wait >= deadline || self.closing.is_cancelled() {
                return Err(match fault {
                    Fault::Unreachable(text) | Fault::Other(text) => Fault::Unreachable(text),
                    other => other,
                });
            }
            // Closing ends the wait, and the next try is the last one.
            self.closing.run_until_cancelled(tokio::time::sleep(wait)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Lets the connection go; what it had begun stays unknown until there is another one.
    pub(super) fn disconnect(&mut self) {
        self.heads.clear();
        if self.ready.take().is_some() {
            self.counters.set_unsure(true);
        }
    }

    async fn connect(&mut self) -> Result<(), Fault> {
        let link = self.server.connect(&self.name).await?;
        let client = &link.client;
        client.batch_execute(WRITER_SET_UP).await?;
        let are_gone: bool = client.query_one(END_EARLIER, &[&self.name]).await?.get(0);
        if !are_gone {
            return Err(Fault::Unreachable("an earlier connection does not end".to_owned()));
        }
        let lineage: String = client.query_one(LINEAGE, &[]).await?.get(0);
        let settings = row::settings(client).await?;
        if settings.is_none_or(|settings| settings.schema != SCHEMA) {
            let what = "its schema is not this program's any more; start a newer one";
            return Err(Fault::Other(what.to_owned()));
        }
        let append = append::prepare(client).await?;
        if self.lineage.as_ref().is_some_and(|known| *known != lineage) {
            tracing::error!(
                "the journal's server is another one than before: everything is claimed anew"
            );
            self.claimed.clear();
            self.replaced.send_modify(|count| *count += 1);
        }
        self.lineage = Some(lineage);
        self.ready = Some(Ready { link, append });
        self.counters.set_unsure(false);
        // A disk that was full may still be: a commit says more.
        self.counters.pulse.answers();
        Ok(())
    }
}
