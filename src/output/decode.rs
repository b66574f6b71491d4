//! Bytes that come in pieces, as valid text in pieces. It must not know of lines or of control
//! sequences.

use std::borrow::Cow;

/// Turns chunks of bytes into valid UTF-8 without cutting a character: the start of one that a
/// chunk ends in is kept for the next. What cannot be UTF-8 becomes U+FFFD, as
/// [`String::from_utf8_lossy`] of the whole would make it.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The bytes of an unfinished character, at most three.
    kept: Vec<u8>,
}

impl Decoder {
    /// The text that `bytes` completes. Borrows when nothing had to be changed.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        if self.kept.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Cow::Borrowed(text);
        }
        let mut whole = std::mem::take(&mut self.kept);
        whole.extend_from_slice(bytes);
        let mut text = String::with_capacity(whole.len());
        let mut chunks = whole.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_unfinished(invalid) {
                self.kept = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Cow::Owned(text)
    }

    /// The end of the bytes: what an unfinished character has become, if there is one.
    pub fn finish(&mut self) -> Option<char> {
        (!std::mem::take(&mut self.kept).is_empty()).then_some(char::REPLACEMENT_CHARACTER)
    }
}

/// Whether more bytes could make a character of these.
fn is_unfinished(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_character_cut_anywhere_comes_whole() {
        let text = "aß€😀z";
        for cut in 0..=text.len() {
            let mut decoder = Decoder::default();
            let (left, right) = text.as_bytes().split_at(cut);
            let got = decoder.push(left).into_owned() + &decoder.push(right);
            assert_eq!(got, text);
            assert_eq!(decoder.finish(), None);
        }
    }

    #[test]
    fn an_unfinished_end_is_replaced_once() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xf0\x9f"), "a");
        assert_eq!(decoder.push(b"\x98"), "");
        assert_eq!(decoder.finish(), Some('\u{fffd}'));
        assert_eq!(decoder.finish(), None);
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(pieces in prop::collection::vec(
            prop::collection::vec(prop_oneof![any::<u8>(), 0xc0..=0xff_u8, 0x80..=0xbf_u8], 0..8), 0..8)
        ) {
            let mut decoder = Decoder::default();
            let mut got: String = pieces.iter().map(|piece| decoder.push(piece).into_owned()).collect();
            got.extend(decoder.finish());
            let whole = pieces.concat();
            prop_assert_eq!(got, String::from_utf8_lossy(&whole));
        }
    }
}
