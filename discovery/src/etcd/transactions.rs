//! The writes, each one transaction that changes nothing unless the store is as its writer thinks:
//! a record is put only where it is new or bound to our lease, a partition is claimed only if it
//! has no owner, and given back only if it is still the same claim. When they are due is decided in
//! `registrar.rs`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    client::Client,
    cluster::Failure,
    keys::{Claimed, Keys},
    wire::{
        delete,
        etcdserverpb::{
            RequestOp, TxnRequest, TxnResponse, request_op::Request, response_op::Response,
        },
        get, is_bound_to, is_created_at,
        mvccpb::KeyValue,
        put,
    },
};
use crate::Instance;

/// Partitions in one transaction; etcd allows 128 operations by default.
pub(super) const BATCH: usize = 64;

/// What became of a batch of claims.
#[derive(Debug)]
pub(super) enum Claim {
    /// All are ours, created at this revision.
    Won(i64),
    /// None is: these have an owner already.
    Taken(Vec<KeyValue>),
}

/// Writes our record. None if the key is bound to another lease; else the revision.
pub(super) async fn present(
    client: &mut Client,
    key: &str,
    instance: &Instance,
    lease: i64,
) -> Result<Option<i64>, Failure> {
    let record = to_json(instance)?;
    let renew = TxnRequest {
        compare: vec![is_bound_to(key, lease)],
        success: vec![put(key, &record, lease)],
        failure: Vec::new(),
    };
    let answer = client
        .txn(TxnRequest {
            compare: vec![is_created_at(key, 0)],
            success: vec![put(key, &record, lease)],
            failure: vec![RequestOp { request: Some(Request::RequestTxn(renew)) }],
        })
        .await?;
    let revision = answer.header.unwrap_or_default().revision;
    let is_renewed = answer.responses.iter().any(|response| {
        matches!(&response.response, Some(Response::ResponseTxn(inner)) if inner.succeeded)
    });
    Ok((answer.succeeded || is_renewed).then_some(revision))
}

/// The value of a key that stays: what is there, or else `value` from now on.
pub(super) async fn keep(client: &mut Client, key: &str, value: &str) -> Result<String, Failure> {
    let answer = client
        .txn(TxnRequest {
            compare: vec![is_created_at(key, 0)],
            success: vec![put(key, value.as_bytes(), 0)],
            failure: vec![get(key)],
        })
        .await?;
    if answer.succeeded {
        return Ok(value.to_owned());
    }
    let there = found(answer).pop().and_then(|found| String::from_utf8(found.value).ok());
    there.ok_or_else(|| Failure::Answer(format!("the key {key} holds no text")))
}

/// Claims all of `partitions`, at most [`BATCH`], or none.
pub(super) async fn claim(
    client: &mut Client,
    keys: &Keys,
    partitions: &[u32],
    claimed: &Claimed,
    lease: i64,
) -> Result<Claim, Failure> {
    let value = to_json(claimed)?;
    let names: Vec<String> = partitions.iter().map(|it| keys.partition(*it)).collect();
    let answer = client
        .txn(TxnRequest {
            compare: names.iter().map(|key| is_created_at(key, 0)).collect(),
            success: names.iter().map(|key| put(key, &value, lease)).collect(),
            failure: names.iter().map(|key| get(key)).collect(),
        })
        .await?;
    if answer.succeeded {
        return Ok(Claim::Won(answer.header.unwrap_or_default().revision));
    }
    Ok(Claim::Taken(found(answer)))
}

/// Gives back those of `partitions` (with the revision of their claim) that are still so claimed.
pub(super) async fn let_go(
    client: &mut Client,
    keys: &Keys,
    partitions: &BTreeMap<u32, u64>,
) -> Result<(), Failure> {
    let claims: Vec<(String, i64)> = partitions
        .iter()
        .filter_map(|(it, revision)| Some((keys.partition(*it), i64::try_from(*revision).ok()?)))
        .collect();
    for batch in claims.chunks(BATCH) {
        let whole = guarded_delete(batch);
        if client.txn(whole).await?.succeeded {
            continue;
        }
        // One of them has another owner by now: each for itself.
        for claim in batch {
            client.txn(guarded_delete(std::slice::from_ref(claim))).await?;
        }
    }
    Ok(())
}

fn guarded_delete(claims: &[(String, i64)]) -> TxnRequest {
    TxnRequest {
        compare: claims.iter().map(|(key, revision)| is_created_at(key, *revision)).collect(),
        success: claims.iter().map(|(key, _)| delete(key)).collect(),
        failure: Vec::new(),
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::Answer(error.to_string()))
}

fn found(answer: TxnResponse) -> Vec<KeyValue> {
    let mut found = Vec::new();
    for response in answer.responses {
        if let Some(Response::ResponseRange(range)) = response.response {
            found.extend(range.kvs);
        }
    }
    found
}
