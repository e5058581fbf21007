//! Checks the whole journal, for `doctor`: every chain, every seal, every shared text, and how safe
//! the server keeps what it acknowledges.
//!
//! It only reads, a session at a time, so that a journal in use goes on. Mending is left to people.
//! Next: `tls`.

use tokio_postgres::{Client, Row};

use crate::journal::fault::Fault;
use crate::journal::walk::Break;
use crate::journal::{Damage, blob};
use crate::run::ids::SessionId;

use super::reader::{snapshot, walk};
use super::row::{self, SESSION};

/// Sessions, or shared texts, that are asked for at once.
const PAGE: i64 = 256;

/// What is wrong.
pub(super) async fn verify(client: &mut Client) -> Result<Vec<Damage>, Fault> {
    // A whole journal takes as long as it takes.
    client.batch_execute("SET statement_timeout TO 0").await?;
    let mut damages = Vec::new();
    let keys = keys(client).await;
    for key in collect(keys, &mut damages)?.unwrap_or_default() {
        let checked = session(client, key).await;
        if let Some(found) = collect(checked, &mut damages)? {
            damages.extend(found);
        }
    }
    for found in
        [settings(client).await, orphans(client).await, claims(client).await, blobs(client).await]
    {
        if let Some(found) = collect(found, &mut damages)? {
            damages.extend(found);
        }
    }
    client.batch_execute("SET statement_timeout TO '10s'").await?;
    Ok(damages)
}

/// What the server does not promise although it could.
pub(super) async fn warnings(client: &Client) -> Result<Vec<String>, Fault> {
    let sql = "SELECT current_setting('fsync'), current_setting('full_page_writes'),
        current_setting('synchronous_standby_names')";
    let row = client.query_one(sql, &[]).await?;
    let mut warnings = Vec::new();
    for (index, name) in ["fsync", "full_page_writes"].into_iter().enumerate() {
        if row::column::<&str>(&row, index)? == "off" {
            warnings.push(format!(
                "the server runs with {name} = off: what was acknowledged is lost when its machine \
                 stops"
            ));
        }
    }
    if row::column::<&str>(&row, 2)?.is_empty() {
        warnings.push(
            "the server has no synchronous standby: what was acknowledged is on one machine, and \
             lost with it (synchronous_standby_names)"
                .to_owned(),
        );
    }
    Ok(warnings)
}

/// A part that cannot even be read is damage as well; only other faults end the check.
fn collect<T>(result: Result<T, Fault>, damages: &mut Vec<Damage>) -> Result<Option<T>, Fault> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Fault::Damaged(what)) => {
            damages.push(Damage { session: None, seq: None, what });
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

async fn keys(client: &Client) -> Result<Vec<i64>, Fault> {
    let sql = "SELECT key FROM session WHERE key > $1 ORDER BY key LIMIT $2";
    let mut keys: Vec<i64> = Vec::new();
    loop {
        let after = keys.last().copied().unwrap_or(i64::MIN);
        let page = client.query(sql, &[&after, &PAGE]).await?;
        if page.is_empty() {
            return Ok(keys);
        }
        for row in &page {
            keys.push(row::column(row, 0)?);
        }
    }
}

async fn session(client: &mut Client, key: i64) -> Result<Vec<Damage>, Fault> {
    let transaction = snapshot(client).await?;
    let sql = format!("SELECT {SESSION} FROM session s WHERE s.key = $1");
    // Deleted in the meantime.
    let Some(row) = transaction.query_opt(&sql, &[&key]).await? else { return Ok(Vec::new()) };
    let id = row::column::<&str>(&row, 1).map(SessionId::from).ok();
    let damage = |seq, what: String| vec![Damage { session: id.clone(), seq, what }];
    let stored = match row::session(&row) {
        Ok(stored) => stored,
        Err(Fault::Damaged(what)) => return Ok(damage(None, what)),
        Err(fault) => return Err(fault),
    };
    let mut good = 0;
    let walked = walk(&transaction, &stored, (0, usize::MAX), |event| good = event.seq).await;
    match walked {
        Err(Break::Damaged { seq, what }) => Ok(damage(Some(seq), what)),
        Err(Break::Failed(fault)) => Err(fault),
        // A newer version's event is no damage.
        Ok(()) | Err(Break::Unknown { .. }) if stored.is_sealed => Ok(Vec::new()),
        Ok(()) | Err(Break::Unknown { .. }) => {
            Ok(damage(Some(good + 1), "the session's own row was changed".to_owned()))
        }
    }
}

fn nowhere(what: String) -> Vec<Damage> {
    vec![Damage { session: None, seq: None, what }]
}

async fn settings(client: &Client) -> Result<Vec<Damage>, Fault> {
    let found = row::settings(client).await?;
    Ok(if found.is_some() {
        Vec::new()
    } else {
        nowhere("the journal's settings were changed".to_owned())
    })
}

async fn orphans(client: &Client) -> Result<Vec<Damage>, Fault> {
    let sql = "SELECT count(*) FROM event e
        WHERE NOT EXISTS (SELECT FROM session s WHERE s.key = e.session)";
    let count: i64 = client.query_one(sql, &[]).await?.get(0);
    let what = format!("{count} events belong to no session");
    Ok(if count == 0 { Vec::new() } else { nowhere(what) })
}

async fn claims(client: &Client) -> Result<Vec<Damage>, Fault> {
    let sql = "SELECT id, generation, revision, owner, seal FROM partition ORDER BY id";
    let changed = |row: &Row| {
        let is_sealed = row::claim(row).is_ok_and(|(_, claim)| claim.is_sealed);
        let partition: i64 = row.get(0);
        (!is_sealed).then(|| nowhere(format!("the claim of partition {partition} was changed")))
    };
    let rows = client.query(sql, &[]).await?;
    Ok(rows.iter().filter_map(changed).flatten().collect())
}

async fn blobs(client: &Client) -> Result<Vec<Damage>, Fault> {
    let sql = "SELECT digest, content FROM blob WHERE digest > $1 ORDER BY digest LIMIT $2";
    let (mut after, mut damages): (Vec<u8>, Vec<Damage>) = (Vec::new(), Vec::new());
    loop {
        let page = client.query(sql, &[&after, &PAGE]).await?;
        let Some(last) = page.last() else { return Ok(damages) };
        after = row::column(last, 0)?;
        for row in &page {
            if !blob::is_intact(row::column(row, 0)?, row::column(row, 1)?) {
                damages.extend(nowhere("a system prompt that runs share was changed".to_owned()));
            }
        }
    }
}
