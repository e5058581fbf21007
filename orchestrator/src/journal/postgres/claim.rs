//! Claims of partitions, the deployment, the generation, and the removal of sessions: what is rare. Each is one
//! statement, so that nobody's lock waits for a client.
//!
//! Who should own what is decided by `partitions`; here only whether a claim is the newest. Next:
//! `reader`.

use tokio_postgres::Client;

use crate::journal::fault::Fault;
use crate::journal::queue::Claim;
use crate::journal::row::seal_claim;

use super::row;

/// A claim is taken if it is newer than the last one, or the last one once more, or if the last
/// one's row was changed and still is as it was found: then it says nothing any more.
const CLAIM: &str = "
INSERT INTO partition AS p (id, generation, revision, owner, seal)
SELECT w.id, w.generation, w.revision, $4, w.seal
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $5::bytea[])
       AS w (id, generation, revision, seal)
  JOIN journal j ON w.generation >= j.generation
 ORDER BY w.id
ON CONFLICT (id) DO UPDATE
   SET generation = excluded.generation, revision = excluded.revision,
       owner = excluded.owner, seal = excluded.seal
 WHERE (p.generation, p.revision) < (excluded.generation, excluded.revision)
    OR (p.generation, p.revision, p.owner)
       = (excluded.generation, excluded.revision, excluded.owner)
    OR (p.id, p.seal) IN (SELECT * FROM unnest($6::bigint[], $7::bytea[]))
RETURNING p.id";

/// Claims what may be claimed; gives those partitions.
pub(super) async fn apply(claim: &Claim, client: &Client) -> Result<Vec<u32>, Fault> {
    let ids: Vec<i64> = claim.partitions.iter().map(|(id, _)| i64::from(*id)).collect();
    let generations: Vec<i64> =
        claim.partitions.iter().map(|(_, epoch)| epoch.generation.cast_signed()).collect();
    let revisions: Vec<i64> =
        claim.partitions.iter().map(|(_, epoch)| epoch.revision.cast_signed()).collect();
    let seals: Vec<Vec<u8>> = claim
        .partitions
        .iter()
        .map(|(id, epoch)| seal_claim(*id, *epoch, &claim.owner).to_vec())
        .collect();
    let (mut changed, mut changed_seals) = (Vec::new(), Vec::new());
    let sql = "SELECT id, generation, revision, owner, seal FROM partition WHERE id = ANY($1)";
    for found in client.query(sql, &[&ids]).await? {
        let is_sealed = row::claim(&found).is_ok_and(|(_, claim)| claim.is_sealed);
        if !is_sealed {
            changed.push(row::column::<i64>(&found, 0)?);
            changed_seals.push(row::column::<Vec<u8>>(&found, 4)?);
        }
    }
    let rows = client
        .query(
            CLAIM,
            &[&ids, &generations, &revisions, &claim.owner, &seals, &changed, &changed_seals],
        )
        .await?;
    let accepted: Vec<u32> = rows.iter().map(|row| row::small(row, 0)).collect::<Result<_, _>>()?;
    let in_order = claim.partitions.iter().map(|(id, _)| *id);
    Ok(in_order.filter(|id| accepted.contains(id)).collect())
}

/// Makes the journal the deployment's, unless it is another's already; gives whose it is.
pub(super) async fn belong(client: &Client, deployment: &str) -> Result<String, Fault> {
    let sql = "INSERT INTO deployment (one, id) VALUES (1, $1) ON CONFLICT DO NOTHING";
    let whose = "SELECT id FROM deployment";
    loop {
        // Nearly always it is there: nothing is written then.
        if let Some(found) = client.query_opt(whose, &[]).await? {
            return row::column(&found, 0);
        }
        client.execute(sql, &[&deployment]).await?;
    }
}

/// Raises the generation by 1, and gives the journal to a deployment; gives the new generation.
pub(super) async fn raise_generation(client: &Client, deployment: &str) -> Result<u64, Fault> {
    let changed = || Fault::Other("the journal's settings were changed".to_owned());
    loop {
        let mut settings = row::settings(client).await?.ok_or_else(changed)?;
        let before = settings.seal();
        settings.generation += 1;
        let sql = "WITH raised AS (
            UPDATE journal SET generation = $1, seal = $2 WHERE seal = $3 RETURNING one)
            INSERT INTO deployment (one, id) SELECT one, $4 FROM raised
            ON CONFLICT (one) DO UPDATE SET id = excluded.id";
        let generation = settings.generation.cast_signed();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&generation, &&settings.seal()[..], &&before[..], &deployment];
        // Somebody else may have raised it in between.
        if client.execute(sql, &values).await? == 1 {
            return Ok(settings.generation);
        }
    }
}

/// Removes a session and its events.
pub(super) async fn delete(client: &Client, session: &str) -> Result<(), Fault> {
    let sql = "WITH gone AS (DELETE FROM session WHERE id = $1 RETURNING key)
        DELETE FROM event USING gone WHERE event.session = gone.key";
    client.execute(sql, &[&session]).await?;
    Ok(())
}
