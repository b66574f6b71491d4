//! Framing under every split, every bound and every malformed header.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Feeds the chunks and takes all bodies after each.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, CodecError> {
    let mut decoder = Decoder::new();
    let mut bodies = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(body) = decoder.next()? {
            bodies.push(body.to_vec());
        }
    }
    decoder.finish()?;
    Ok(bodies)
}

#[test]
fn headers_in_any_case_order_and_line_end() {
    for input in [
        "Content-Length: 2\r\n\r\n{}",
        "content-length:2\r\n\r\n{}",
        "CONTENT-LENGTH :  2  \r\n\r\n{}",
        "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        "Content-Length: 2\r\nX-Unknown: a:b: c\r\n\r\n{}",
        "Content-Length: 2\n\n{}",
        "Content-Length: 0002\r\n\n{}",
    ] {
        assert_eq!(
            decode([input.as_bytes()]),
            Ok(vec![b"{}".to_vec()]),
            "{input:?}"
        );
    }
}

#[test]
fn an_empty_body_is_a_frame() {
    assert_eq!(
        decode([b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\nx".as_slice()]),
        Ok(vec![vec![], b"x".to_vec()])
    );
}

#[test]
fn malformed_headers_are_named() {
    let invalid = |value: &str| CodecError::InvalidContentLength {
        value: value.to_owned(),
    };
    let long = |announced: &str| CodecError::BodyTooLong {
        announced: announced.to_owned(),
    };
    for (input, error) in [
        ("\r\n", CodecError::MissingContentLength),
        ("X: 1\r\n\r\n{}", CodecError::MissingContentLength),
        (
            "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            CodecError::DuplicateContentLength,
        ),
        ("Content-Length: -1\r\n\r\n", invalid("-1")),
        ("Content-Length: +1\r\n\r\n", invalid("+1")),
        ("Content-Length: \r\n\r\n", invalid("")),
        ("Content-Length: 1e3\r\n\r\n", invalid("1e3")),
        ("Content-Length: 1 2\r\n\r\n", invalid("1 2")),
        ("Content-Length: 67108865\r\n", long("67108865")),
        (
            "Content-Length: 99999999999999999999999\r\n",
            long("99999999999999999999999"),
        ),
        (
            "Debugger listening on ws\r\n",
            CodecError::MalformedHeader {
                line: "Debugger listening on ws".to_owned(),
            },
        ),
    ] {
        assert_eq!(decode([input.as_bytes()]), Err(error), "{input:?}");
    }
}

#[test]
fn the_longest_body_is_accepted_and_its_buffer_given_back() {
    let mut body = vec![b' '; MAX_BODY];
    body[0] = b'1';
    let bytes = frame(&body);
    let mut decoder = Decoder::new();
    let mut found = 0;
    for chunk in bytes.chunks(64 * 1024) {
        decoder.push(chunk);
        while let Some(got) = decoder.next().unwrap() {
            assert!(got == body);
            found += 1;
        }
    }
    assert_eq!(found, 1);
    decoder.push(b"");
    assert!(decoder.buffer.capacity() <= KEEP_CAPACITY);
}

#[test]
fn an_announced_body_takes_no_memory() {
    let mut decoder = Decoder::new();
    decoder.push(format!("Content-Length: {MAX_BODY}\r\n\r\n{{").as_bytes());
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.buffer.capacity() < 4096);
}

#[test]
fn headers_are_bounded_with_and_without_line_ends() {
    let endless = vec![b'a'; MAX_HEADERS + 1];
    assert_eq!(decode([&*endless]), Err(CodecError::HeadersTooLong));
    let lines = "X: y\r\n".repeat(MAX_HEADERS / 6 + 1);
    assert_eq!(decode([lines.as_bytes()]), Err(CodecError::HeadersTooLong));
    // The bound is per frame: many frames together may have more.
    let frames = b"Content-Length: 2\r\n\r\n{}".repeat(10_000);
    assert_eq!(decode([&*frames]).map(|bodies| bodies.len()), Ok(10_000));
}

#[test]
fn truncation_is_an_error_at_the_end_of_the_stream() {
    for (input, error) in [
        ("C", CodecError::TruncatedHeaders { received: 1 }),
        (
            "Content-Length: 5\r\n",
            CodecError::TruncatedHeaders { received: 19 },
        ),
        (
            "Content-Length: 5\r\n\r\n",
            CodecError::TruncatedBody {
                received: 0,
                announced: 5,
            },
        ),
        (
            "Content-Length: 5\r\n\r\n{}",
            CodecError::TruncatedBody {
                received: 2,
                announced: 5,
            },
        ),
    ] {
        assert_eq!(decode([input.as_bytes()]), Err(error), "{input:?}");
    }
    assert_eq!(decode([]), Ok(vec![]));
}

#[test]
fn a_broken_stream_stays_broken() {
    let mut decoder = Decoder::new();
    decoder.push(b"\n");
    assert_eq!(decoder.next(), Err(CodecError::MissingContentLength));
    decoder.push(&frame(b"{}"));
    assert_eq!(decoder.next(), Err(CodecError::MissingContentLength));
    assert_eq!(decoder.finish(), Err(CodecError::MissingContentLength));
}

#[test]
fn a_value_that_is_no_json_leaves_the_buffer_alone() {
    let keyed_by_list = std::collections::BTreeMap::from([(vec![1], 2)]);
    let mut buffer = b"before".to_vec();
    assert!(encode_onto(&mut buffer, &keyed_by_list).is_err());
    assert_eq!(buffer, b"before");
}

#[test]
fn a_frame_counts_bytes_not_characters() {
    let bytes = encode(&"ä€").unwrap();
    assert_eq!(bytes, "Content-Length: 7\r\n\r\n\"ä€\"".as_bytes());
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        (".{0,8}", 0..5000usize).prop_map(|(key, size)| json!({ key: "x".repeat(size) })),
    ];
    prop::collection::vec(value, 0..12)
}

proptest! {
    #[test]
    fn any_split_decodes_to_the_same(
        values in values(),
        sizes in prop::collection::vec(1..600usize, 1..40),
    ) {
        let mut bytes = Vec::new();
        for value in &values {
            encode_onto(&mut bytes, value).unwrap();
        }
        let mut chunks = Vec::new();
        let mut rest = bytes.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        let bodies = decode(chunks).unwrap();
        let decoded: Vec<Value> =
            bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
        prop_assert_eq!(&decoded, &values);
        let by_byte = decode(bytes.chunks(1)).unwrap();
        prop_assert_eq!(by_byte, bodies);
    }

    #[test]
    fn random_bytes_give_bodies_or_an_error(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
    ) {
        let _ = decode(chunks.iter().map(Vec::as_slice));
    }

    #[test]
    fn damaged_frames_give_bodies_or_an_error(
        values in values(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        size in 1..100usize,
    ) {
        let mut bytes = Vec::new();
        for value in &values {
            encode_onto(&mut bytes, value).unwrap();
        }
        if !bytes.is_empty() {
            for (index, byte) in damage {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let whole = decode([bytes.as_slice()]);
        prop_assert_eq!(decode(bytes.chunks(size)), whole);
    }
}
