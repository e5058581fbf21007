//! Generated messages of etcd's v3 API, and the few requests that are built in more than one place.
//! Next is `client.rs`.

#[allow(
    dead_code,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    missing_docs,
    unreachable_pub,
    reason = "generated code; the server's side is used by tests only"
)]
pub(super) mod mvccpb {
    tonic::include_proto!("mvccpb");
}

#[allow(
    dead_code,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    missing_docs,
    unreachable_pub,
    reason = "generated code; the server's side is used by tests only"
)]
pub(super) mod etcdserverpb {
    tonic::include_proto!("etcdserverpb");
}

use self::etcdserverpb::{
    Compare, DeleteRangeRequest, PutRequest, RangeRequest, RequestOp,
    compare::{CompareResult, CompareTarget, TargetUnion},
    request_op::Request,
};

/// The first key after all keys that start with `prefix`, which ends in `/`.
pub(super) fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// Holds if `key` was created at `revision`; 0 = if it does not exist.
pub(super) fn is_created_at(key: &str, revision: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Create.into(),
        key: key.as_bytes().to_vec(),
        target_union: Some(TargetUnion::CreateRevision(revision)),
    }
}

/// Holds if `key` is bound to `lease`.
pub(super) fn is_bound_to(key: &str, lease: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Lease.into(),
        key: key.as_bytes().to_vec(),
        target_union: Some(TargetUnion::Lease(lease)),
    }
}

pub(super) fn put(key: &str, value: &[u8], lease: i64) -> RequestOp {
    let put = PutRequest { key: key.as_bytes().to_vec(), value: value.to_vec(), lease };
    RequestOp { request: Some(Request::RequestPut(put)) }
}

pub(super) fn get(key: &str) -> RequestOp {
    let get = RangeRequest { key: key.as_bytes().to_vec(), ..RangeRequest::default() };
    RequestOp { request: Some(Request::RequestRange(get)) }
}

pub(super) fn delete(key: &str) -> RequestOp {
    let delete = DeleteRangeRequest { key: key.as_bytes().to_vec() };
    RequestOp { request: Some(Request::RequestDeleteRange(delete)) }
}
