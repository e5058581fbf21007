//! A file's text as it is edited, and the bytes that it is written down in: what is not edited
//! comes back byte for byte, or nothing is written at all. Where the edits go is in `apply.rs`.

use std::borrow::Cow;

use callboard_tool::Failure;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::{
    encoding::{Content, judge},
    relative::RelativePath,
};

/// How a file's text is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Coded {
    encoding: &'static Encoding,
    mark: Vec<u8>,
    /// The text in UTF-8. In a UTF-8 file, bytes that are none stay what they are.
    pub(super) text: Vec<u8>,
}

impl Coded {
    /// Takes a file's bytes apart.
    ///
    /// # Errors
    /// `unsupported` for what is no text, or could not be written down again as it is.
    pub(super) fn new(path: &RelativePath, bytes: &[u8]) -> Result<Self, Failure> {
        let kind = match judge(bytes, true) {
            Content::Text(kind) => kind,
            Content::Binary(name) => {
                return Err(Failure::unsupported(format!(
                    "`{path}` is no text ({name}), so no text in it can be replaced. It is \
                     unchanged."
                )));
            }
        };
        let (mark, rest) = bytes.split_at(usize::from(kind.mark));
        let text = if kind.encoding == UTF_8 {
            rest.to_vec()
        } else {
            kind.encoding.decode_without_bom_handling(rest).0.into_owned().into_bytes()
        };
        let coded = Self { encoding: kind.encoding, mark: mark.to_vec(), text };
        match coded.bytes(path) {
            Ok(again) if again == bytes => Ok(coded),
            Ok(_) | Err(_) => Err(Failure::unsupported(format!(
                "`{path}` looks like {} but holds bytes that are none, and editing it would \
                 change them. It is unchanged; ask the person how it is encoded.",
                kind.encoding.name()
            ))),
        }
    }

    /// The text written down as the file was.
    ///
    /// # Errors
    /// `unsupported` if the file's encoding lacks a character.
    pub(super) fn bytes(&self, path: &RelativePath) -> Result<Vec<u8>, Failure> {
        let mut bytes = self.mark.clone();
        if self.encoding == UTF_8 {
            bytes.extend_from_slice(&self.text);
            return Ok(bytes);
        }
        let text = self.shown();
        if self.encoding == UTF_16LE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else if self.encoding == UTF_16BE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        } else {
            let (encoded, _, is_lossy) = self.encoding.encode(&text);
            if is_lossy {
                return Err(Failure::unsupported(format!(
                    "The new text has a character that {}, the encoding of `{path}`, does not \
                     have. Nothing was changed; use other characters.",
                    self.encoding.name()
                )));
            }
            bytes.extend_from_slice(&encoded);
        }
        Ok(bytes)
    }

    /// The text as it is shown.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }
}
