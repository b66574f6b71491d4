//! Content-Length framing: bytes of any split to whole bodies, and one value to one frame.
//! It must not know what a body says, where the bytes come from, or how long to wait for more.

use serde::Serialize;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// The longest body accepted, in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// The longest header section of one frame accepted, in bytes, line ends included.
pub const MAX_HEADERS: usize = 64 * 1024;

/// A buffer that grew beyond this for one large body is given back once it is empty.
const KEEP_CAPACITY: usize = 1024 * 1024;
/// How much of an offending header an error quotes, in bytes.
const QUOTE: usize = 80;

/// Why a byte stream is not a sequence of frames. None of them can be recovered from: where the
/// next frame begins is unknown, so the connection has to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// A header line has no colon: most often a program printed onto the protocol's stream.
    #[error(
        "expected a header such as `Content-Length: 42`, got {line:?}: something else writes to \
         this stream, or the other end is not a debug adapter"
    )]
    MalformedHeader {
        /// The start of the line.
        line: String,
    },
    /// The headers ended without a length.
    #[error("a frame's headers ended without Content-Length: the other end is not a debug adapter")]
    MissingContentLength,
    /// The length was given twice in one frame.
    #[error("a frame's headers give Content-Length twice: report it to the adapter's authors")]
    DuplicateContentLength,
    /// The length is negative, empty or not a decimal number.
    #[error(
        "Content-Length is {value:?}, expected a count of bytes: report it to the adapter's authors"
    )]
    InvalidContentLength {
        /// The start of the value.
        value: String,
    },
    /// The body announced is longer than [`MAX_BODY`], or the number does not fit at all.
    #[error(
        "a message of {announced} bytes was announced, at most {MAX_BODY} are accepted: ask for \
         less at once (fewer variables, a shorter value)"
    )]
    BodyTooLong {
        /// The number as it was written.
        announced: String,
    },
    /// The header section is longer than [`MAX_HEADERS`].
    #[error(
        "no frame began within {MAX_HEADERS} bytes of headers: the other end is not a debug adapter"
    )]
    HeadersTooLong,
    /// The stream ended inside the headers.
    #[error("the stream ended inside a frame's headers, after {received} bytes of them")]
    TruncatedHeaders {
        /// Header bytes received, at least 1.
        received: usize,
    },
    /// The stream ended inside a body.
    #[error("the stream ended inside a message, after {received} of its {announced} bytes")]
    TruncatedBody {
        /// Body bytes received.
        received: usize,
        /// Body bytes announced.
        announced: usize,
    },
}

/// A value that could not be written as JSON, such as a map whose keys are no strings.
#[derive(Debug, thiserror::Error)]
#[error("could not write a message as JSON: {0}")]
pub struct EncodeError(#[from] serde_json::Error);

/// What the decoder reads next.
#[derive(Clone, Debug)]
enum Part {
    /// Header lines; `length` once it was seen.
    Headers { length: Option<usize> },
    /// A body of this many bytes.
    Body { length: usize },
    /// Nothing any more.
    Broken(CodecError),
}

/// Cuts a byte stream into frame bodies.
///
/// Every byte is copied once into the buffer and moved at most once more on average, whatever the
/// sizes of reads and bodies; no header line is searched twice. Memory follows what was received,
/// never what a header announces.
#[derive(Clone, Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the part being read begins in `buffer`: a header line or a body.
    start: usize,
    /// `buffer[start..searched]` is known to hold no line end.
    searched: usize,
    /// Bytes of complete header lines of this frame.
    headers: usize,
    part: Part,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            headers: 0,
            part: Part::Headers { length: None },
        }
    }

    /// Adds bytes as they were read. Call [`Decoder::next`] until it gives `None` before the next
    /// push, or the buffer grows with what was not taken.
    pub fn push(&mut self, bytes: &[u8]) {
        if matches!(self.part, Part::Broken(_)) {
            return;
        }
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            self.searched = 0;
            if self.buffer.capacity() > KEEP_CAPACITY {
                self.buffer = Vec::new();
            }
        } else if self.start > self.buffer.len() / 2 {
            // Moves fewer bytes than were consumed since the last move: linear over the stream.
            self.buffer.drain(..self.start);
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole body, or `None` when more bytes are needed. After an error every further
    /// call gives the same error.
    #[expect(
        clippy::should_implement_trait,
        reason = "a body borrows the decoder's buffer, which an Iterator cannot give"
    )]
    pub fn next(&mut self) -> Result<Option<&[u8]>, CodecError> {
        let range = match self.advance() {
            Ok(Some(range)) => range,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.buffer = Vec::new();
                self.start = 0;
                self.part = Part::Broken(error.clone());
                return Err(error);
            }
        };
        Ok(self.buffer.get(range))
    }

    /// Call at the end of the stream: an error when it ended inside a frame or broke before.
    pub fn finish(&self) -> Result<(), CodecError> {
        let rest = self.buffer.len() - self.start;
        match &self.part {
            Part::Headers { .. } if self.headers + rest == 0 => Ok(()),
            Part::Headers { .. } => Err(CodecError::TruncatedHeaders {
                received: self.headers + rest,
            }),
            Part::Body { length } => Err(CodecError::TruncatedBody {
                received: rest,
                announced: *length,
            }),
            Part::Broken(error) => Err(error.clone()),
        }
    }

    fn advance(&mut self) -> Result<Option<Range<usize>>, CodecError> {
        loop {
            match self.part.clone() {
                Part::Broken(error) => return Err(error),
                Part::Body { length } => {
                    let end = self.start + length;
                    if self.buffer.len() < end {
                        return Ok(None);
                    }
                    let body = self.start..end;
                    self.start = end;
                    self.searched = end;
                    self.part = Part::Headers { length: None };
                    return Ok(Some(body));
                }
                Part::Headers { length } => {
                    if !self.header_line(length)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Reads one header line; `false` when its end was not received yet.
    fn header_line(&mut self, length: Option<usize>) -> Result<bool, CodecError> {
        let from = self.searched.max(self.start);
        let unseen = self.buffer.get(from..).unwrap_or_default();
        let Some(offset) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return if self.headers + self.buffer.len() - self.start > MAX_HEADERS {
                Err(CodecError::HeadersTooLong)
            } else {
                Ok(false)
            };
        };
        let end = from + offset;
        let line = self.buffer.get(self.start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let headers = self.headers + (end + 1 - self.start);
        if headers > MAX_HEADERS {
            return Err(CodecError::HeadersTooLong);
        }
        if line.is_empty() {
            let length = length.ok_or(CodecError::MissingContentLength)?;
            self.headers = 0;
            self.part = Part::Body { length };
        } else {
            let length = content_length(line, length)?;
            self.headers = headers;
            self.part = Part::Headers { length };
        }
        self.start = end + 1;
        self.searched = self.start;
        Ok(true)
    }
}

/// The length after this header line, given the one before it.
fn content_length(line: &[u8], before: Option<usize>) -> Result<Option<usize>, CodecError> {
    let mut halves = line.splitn(2, |byte| *byte == b':');
    let (Some(name), Some(value)) = (halves.next(), halves.next()) else {
        return Err(CodecError::MalformedHeader { line: quote(line) });
    };
    if !name.trim_ascii().eq_ignore_ascii_case(b"content-length") {
        return Ok(before);
    }
    if before.is_some() {
        return Err(CodecError::DuplicateContentLength);
    }
    let value = value.trim_ascii();
    // `parse` would take a plus sign.
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(CodecError::InvalidContentLength {
            value: quote(value),
        });
    }
    match str::from_utf8(value).map(str::parse::<usize>) {
        Ok(Ok(length)) if length <= MAX_BODY => Ok(Some(length)),
        _ => Err(CodecError::BodyTooLong {
            announced: quote(value),
        }),
    }
}

fn quote(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..QUOTE).unwrap_or(bytes)).into_owned()
}

/// One frame, headers and body, in one buffer.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    let mut frame = Vec::with_capacity(256);
    encode_onto(&mut frame, value)?;
    Ok(frame)
}

/// Adds one frame to the end of `buffer`, so that several messages go out in one write. Gives
/// where the body lies in it. On an error `buffer` is as it was.
pub fn encode_onto(
    buffer: &mut Vec<u8>,
    value: &impl Serialize,
) -> Result<Range<usize>, EncodeError> {
    let start = buffer.len();
    if let Err(error) = serde_json::to_writer(&mut *buffer, value) {
        buffer.truncate(start);
        return Err(error.into());
    }
    let header = format!("Content-Length: {}\r\n\r\n", buffer.len() - start);
    buffer.splice(start..start, header.bytes());
    Ok(start + header.len()..buffer.len())
}
