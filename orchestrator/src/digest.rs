//! SHA-256 as lower-case hex, which is how digests travel: of one text, or of several, each kept
//! apart from the next.

use sha2::{Digest as _, Sha256};

/// A digest over several texts that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Adds a text; its length goes with it, so that two texts never read like one.
    pub(crate) fn field(&mut self, text: &str) {
        self.0.update(text.len().to_be_bytes());
        self.0.update(text.as_bytes());
    }

    /// The digest, lower-case hex.
    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Bytes as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// SHA-256 of a text, lower-case hex.
pub(crate) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_as_others_write_them() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(
            sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    /// Worked out with `hashlib`, each text after its length as eight big-endian bytes.
    #[test]
    fn texts_are_kept_apart() {
        let of = |texts: &[&str]| {
            let mut digest = Digest::default();
            for text in texts {
                digest.field(text);
            }
            digest.finish()
        };
        assert_eq!(
            of(&["ab", "c"]),
            "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f"
        );
        assert_eq!(
            of(&["a", "bc"]),
            "3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205"
        );
    }
}
