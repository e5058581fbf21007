//! The hash chain: every event carries a digest of itself and of all events before it, so that a
//! changed, lost or swapped row shows. Rows that change carry a seal, a digest of themselves.
//!
//! Neither is a secret: who can write the file can write digests as well. Next: `verify`.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Epoch;

/// A link of the chain, or a seal.
pub(super) type Hash = [u8; 32];

/// What the first event of a session is linked to.
pub(super) const GENESIS: Hash = [0; 32];

/// An event as it is stored, without its links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) session: &'a str,
    pub(super) seq: u64,
    pub(super) epoch: Epoch,
    pub(super) append_id: Uuid,
    pub(super) kind: &'a str,
    pub(super) schema: u32,
    pub(super) wall_ms: i64,
    pub(super) payload: &'a [u8],
}

/// The link of `row` to the event before it.
pub(super) fn link(previous: &Hash, row: &Row<'_>) -> Hash {
    let mut digest = Fields::new(b"callboard.journal.event.1");
    digest.bytes(previous);
    digest.bytes(row.session.as_bytes());
    digest.number(row.seq);
    digest.number(row.epoch.generation);
    digest.number(row.epoch.revision);
    digest.bytes(row.append_id.as_bytes());
    digest.bytes(row.kind.as_bytes());
    digest.number(u64::from(row.schema));
    digest.number(row.wall_ms.cast_unsigned());
    digest.bytes(row.payload);
    digest.finish()
}

/// A digest over fields; the length of each goes in before it, so that no two rows read alike.
#[derive(Debug)]
pub(super) struct Fields(Sha256);

impl Fields {
    /// Digests of different `purpose`s never agree.
    pub(super) fn new(purpose: &[u8]) -> Self {
        let mut fields = Self(Sha256::new());
        fields.bytes(purpose);
        fields
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    pub(super) fn optional(&mut self, number: Option<i64>) {
        self.number(u64::from(number.is_some()));
        self.number(number.unwrap_or_default().cast_unsigned());
    }

    pub(super) fn finish(self) -> Hash {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Epoch, GENESIS, Row, link};

    /// Worked out in another language from the description in [`link`]:
    /// `sha256` over each field, numbers as eight big-endian bytes, texts after their length.
    #[test]
    fn a_link_is_what_another_language_computes() {
        let row = Row {
            session: "s-1",
            seq: 1,
            epoch: Epoch { generation: 1, revision: 7 },
            append_id: Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff),
            kind: "session.opened",
            schema: 1,
            wall_ms: 1_700_000_000_000,
            payload: b"\x08\x05",
        };
        let text = link(&GENESIS, &row).map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(text, "3e92e9545a0deddefe117d611d2d8214beb874f10d6290ca62a3f5f3d762d706");
    }

    #[test]
    fn every_field_is_part_of_the_link() {
        let row = Row {
            session: "s",
            seq: 2,
            epoch: Epoch { generation: 1, revision: 1 },
            append_id: Uuid::from_u128(1),
            kind: "run.ended",
            schema: 1,
            wall_ms: 3,
            payload: b"abc",
        };
        let other_epoch = |generation, revision| Epoch { generation, revision };
        let changed = [
            Row { session: "t", ..row },
            Row { seq: 3, ..row },
            Row { epoch: other_epoch(2, 1), ..row },
            Row { epoch: other_epoch(1, 2), ..row },
            Row { append_id: Uuid::from_u128(2), ..row },
            Row { kind: "run.endee", ..row },
            Row { schema: 2, ..row },
            Row { wall_ms: 4, ..row },
            Row { payload: b"abd", ..row },
            Row { payload: b"ab", ..row },
        ];
        let mut links: Vec<_> = changed.iter().map(|row| link(&GENESIS, row)).collect();
        links.push(link(&GENESIS, &row));
        links.push(link(&[1; 32], &row));
        let count = links.len();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), count);
    }
}
